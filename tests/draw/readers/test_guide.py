"""Each line of code in the first table of docs/your_own_graphs.md runs, and draws something."""

import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
GUIDE = (Path(__file__).parents[3] / "docs" / "your_own_graphs.md").read_text("utf-8")
LINES = re.findall(r"^\| [^|]+ \| `([^`]+)` \|", GUIDE.partition("## I have ported")[0], re.MULTILINE)


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    file, found = tmp_path_factory.mktemp("guide") / "guide.py", {"__name__": "guide"}
    file.write_text(re.search(r"```python\n(.*?)```", GUIDE, re.DOTALL)[1], "utf-8")
    exec(compile(file.read_text("utf-8"), file, "exec"), found)  # StaticVsDynamic shows source lines
    return found


def test_eleven_questions_have_a_line_each():
    assert len(LINES) == 11


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch.compile's own
@pytest.mark.parametrize("line", LINES)
def test_a_line_of_the_guide_shows_what_it_says(line, names):
    shown = eval(line, names)

    assert len(str(getattr(shown, "text", shown))) > 40
