"""The notebooks are built: the same bytes each time, in this Python, never at the cost of the one that was there."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from typing import Any

import pytest
from nbformat.v4 import new_code_cell, new_notebook
from PIL import Image

from minigrad.course import exercise
from tests.support.root import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

from notebooks import exercise as making
from notebooks.difference import difference, same
from notebooks.execution import execute
from notebooks.source import CLOSED, BuildError, notebook

pytestmark = pytest.mark.tool

SOLUTION = ROOT / "solutions" / "source" / "01_scalar_engine.py"
HEADER = """\
# ---
# jupyter:
#   minigrad:
#     title: This | that
#     minutes: 5
#     objectives: [see, do]
#     concepts: [A1]
#     builds_on: []
# ---

"""


@pytest.fixture
def course(tmp_path):
    """A course of one lesson: give its cells, and get the status of building it and what was said."""
    root = tmp_path / "Übung eins"
    shutil.copytree(ROOT / "scripts", root / "scripts")
    concepts = root / "lessons" / "source" / "concepts.toml"
    concepts.parent.mkdir(parents=True)
    shutil.copy(ROOT / "lessons" / "source" / "concepts.toml", concepts)
    # Another program under the kernel's usual name, as an older environment may have left it.
    kernel = tmp_path / "jupyter" / "kernels" / "python3" / "kernel.json"
    kernel.parent.mkdir(parents=True)
    kernel.write_text('{"argv": ["no-such-python"], "display_name": "old", "language": "python"}', "utf-8")

    class Course:
        lessons = root / "lessons"
        path = lessons / "95_try.ipynb"
        source = lessons / "source" / "95_try.py"

        def write(self, *cells: str, header: str = HEADER, name: str = "95_try") -> None:
            self.source.parent.mkdir(parents=True, exist_ok=True)
            self.source.with_stem(name).write_text(header + "\n".join(cells), "utf-8")

        def build(self, *arguments: str) -> tuple[int, str]:
            own = {"PYTHONPATH": str(ROOT), "EXPECTED_PYTHON": sys.executable, "JUPYTER_PATH": str(kernel.parents[2])}
            command = [sys.executable, str(root / "scripts" / "build"), *arguments]
            options = {"capture_output": True, "encoding": "utf-8", "env": os.environ | own}
            done = subprocess.run(command, cwd=tmp_path, check=False, **options)
            return done.returncode, done.stdout + done.stderr

        def cells(self) -> list[dict[str, Any]]:
            return json.loads(self.path.read_text("utf-8"))["cells"]

    return Course()


MADE = ("95_try.ipynb", "README.md", "GLOSSARY.md", "map.svg")
PLOT = """\
# %%
import matplotlib.pyplot as plt
plt.plot([1, 3, 2]);
"""
SLIDER = """\
# %% name="slider"
import ipywidgets, sys
ipywidgets.IntSlider()
"""
PYTHON = """\
# %% slideshow={"slide_type": "slide"}
import os, sys
print(sys.executable == os.environ["EXPECTED_PYTHON"], os.environ["OMP_NUM_THREADS"], hash("é"))
print("é", flush=True); print("more")
"""
RAISES = """\
# %% tags=["raises-exception"]
import minigrad.engine.base.errors
print("careful", file=sys.stderr)
raise minigrad.engine.base.errors.ShapeError("as it should")
"""


def test_a_build_says_what_a_notebook_holds_and_changes_nothing_the_second_time(course):
    course.write(PYTHON, PLOT, SLIDER, RAISES)

    assert course.build() == (0, "".join(f"written lessons/{name}\n" for name in MADE))
    first = course.path.read_bytes()
    python, plot, slider, raises = course.cells()

    assert python["outputs"][0]["text"][0].startswith("True 1 ")
    assert python["outputs"][0]["text"][1:] == ["é\n", "more\n"]
    assert python["metadata"] == {"slideshow": {"slide_type": "slide"}}
    picture = Image.open(io.BytesIO(base64.b64decode(plot["outputs"][0]["data"]["image/png"])))
    assert picture.width > 400
    assert picture.text == {}
    assert (slider["id"], slider["outputs"][0]["data"]) == ("slider", {"text/plain": ["IntSlider(value=0)"]})
    assert raises["outputs"][1]["traceback"] == ["ShapeError: as it should"]
    assert [cell["execution_count"] for cell in course.cells()] == [1, 2, 3, 4]
    metadata = json.loads(first)["metadata"]
    assert metadata["language_info"] == {"name": "python"}
    assert metadata.keys() == {"kernelspec", "language_info", "minigrad"}
    assert (metadata["kernelspec"]["name"], metadata["minigrad"]["minutes"]) == ("python3", 5)
    assert first.endswith(b"}\n")
    assert "é".encode() in first

    assert course.build() == (0, "".join(f"same    lessons/{name}\n" for name in MADE))
    assert course.path.read_bytes() == first
    assert "| [95 This \\| that](95_try.ipynb) |  |  | 5 | see; do | A1 |  |  |\n" in readme(course)


def readme(course) -> str:
    return (course.lessons / "README.md").read_text("utf-8")


def test_a_check_names_the_file_and_the_cell_that_differ_and_writes_nothing(course):
    course.write("# %%\n1 + 1", "# %%\n2 + 2")
    course.build()
    edited = course.path.read_text("utf-8").replace("2 + 2", "2 + 3")
    course.path.write_text(edited, "utf-8")
    (course.lessons / "README.md").unlink()

    status, said = course.build("--check")

    assert status == 1
    assert "DIFFERS lessons/95_try.ipynb: cell 1 (" in said
    assert "has another source: stored …" in said
    assert "run `python scripts/build 95_try`" in said
    assert "DIFFERS lessons/README.md: is missing" in said
    assert course.path.read_text("utf-8") == edited
    assert not (course.lessons / "README.md").exists()


UNFIT = {
    "y = 1 / 0": ["cell 1 fails", "----> 1 y = 1 / 0", "ZeroDivisionError: division by zero"],
    "import os; os._exit(3)": ["cell 1 fails", "Kernel died"],
    "import warnings; warnings.warn('old')": ["cell 1 writes to stderr", "UserWarning: old"],
    "object()": ["cell 1 shows 0x", "give the object a __repr__"],
    "import os; os.getcwd()": ["cell 1 shows ", "Übung eins, which differs in each run"],
    "import time; time.sleep(60)": ["cell 1 fails", "Timeout of 3 seconds exceeded"],
}


QUESTION = """\
# %%
from minigrad.course import Predict, reveal
Predict("five", "How many?")

# %%
reveal("five", len("12345"))

# %% [markdown]
# Five letters.
"""


def test_what_follows_a_reveal_is_folded_and_its_output_needs_no_lock(course):
    course.write(QUESTION)
    assert course.build()[0] == 0

    (note,) = course.cells()[1]["outputs"]
    assert note["data"]["text/plain"] == ["five: it is 5. No prediction was locked."]
    first, *lines = course.cells()[2]["source"]
    assert first == '<details class="mg-answer mg-answer-five"><summary>Locked? Then read why.</summary>\n'
    assert lines == ["\n", "Five letters.\n", "\n", "</details>"]
    assert course.build("--check")[0] == 0


@pytest.mark.parametrize(("minutes", "lines", "words"), [
    (10, 80, None),
    (5, 80, "the header says 5 minutes, and it takes 10.0: say 10"),
    (65, 488, "it takes 61.0 minutes, and 60 are allowed: shorten it, or fold side topics"),
])  # fmt: skip
def test_a_lesson_is_built_only_if_its_header_states_honest_minutes(course, minutes, lines, words):
    header = HEADER.replace("minutes: 5", f"minutes: {minutes}")
    course.write("# %%\n" + "x = 1\n" * lines, header=header, name="07_try")
    status, said = course.build("07")

    assert status == 1  # it lacks all else that a lesson needs
    assert ("lessons/07_try.ipynb is not finished" in said) == (words is None)
    assert words is None or f"FAILED  lessons/07_try.ipynb: {words}" in said


def test_what_a_clock_measured_is_not_kept(course):
    course.write("# %% tags=['measured', 'nbval-ignore-output']\nimport time; print(time.time())\n")
    assert course.build()[0] == 0
    (cell,) = course.cells()
    assert cell["outputs"] == []
    assert course.build("--check")[0] == 0


def test_what_ranks_measured_is_kept_for_where_there_are_none_and_is_the_same_when_built_again(course):
    load = "# %%\n# %load_ext minigrad.distributed.parallel\n"
    course.write(
        load, "# %% tags=['measured', 'nbval-ignore-output']\n# %%parallel -n 1 -o t\nimport time; t = time.time()"
    )
    assert course.build()[0] == 0
    once = course.cells()
    assert once[1]["outputs"][0]["metadata"]["minigrad"]
    assert course.build()[0] == 0
    assert course.cells() == once


def test_a_notebook_that_cannot_be_built_leaves_the_file_that_was_there_and_stops_no_other(course):
    course.lessons.mkdir(parents=True, exist_ok=True)
    files = {course.lessons / f"0{number}_bad.ipynb": cell for number, cell in enumerate(UNFIT, 1)}
    for path, cell in files.items():
        path.write_text("as it was", "utf-8")
        course.write("# %%\n1 + 1\n", f"# %%\n{cell}\n", "# %%\n3\n", name=path.stem)
    course.write("# %%\n1 + 1\n", name="99_good")

    status, said = course.build("--limit=3")

    assert status == 1
    told = {text.partition(".ipynb")[0]: text for text in said.split("FAILED  lessons/")[1:]}
    for path, cell in files.items():
        assert all(words in told[path.stem] for words in UNFIT[cell]), told[path.stem]
        assert path.read_text("utf-8") == "as it was"
    assert "written lessons/99_good.ipynb\n" in said
    assert list(course.lessons.glob(".*")) == []


def test_nobody_looks_for_a_kernel_that_has_ended():
    """The heartbeat of a lesson's kernel went on, came to the next one's port, and its error stood in that lesson."""
    before = set(threading.enumerate())
    made = execute(new_notebook(cells=[new_code_cell("6 * 7")]), "lessons/none.ipynb", 60)

    assert made.cells[0].outputs[0].data["text/plain"] == "42"
    assert set(threading.enumerate()) <= before


def test_a_cell_put_in_between_changes_the_id_of_no_other(course):
    course.write("# %%\n1", "# %%\n2", "# %%\n2")
    before = [cell.id for cell in notebook(course.source).cells]
    course.write("# %%\n1", "# %% [markdown]\n# new", "# %%\n2", "# %%\n2")

    after = [cell.id for cell in notebook(course.source).cells]

    assert [after[0], *after[2:]] == before
    assert len(set(after)) == 4


@pytest.mark.parametrize(("header", "words"), [
    ("", "95_try.py: no header"),
    (HEADER.replace("minutes: 5", "minutes: five"), "the header's 'minutes' is 'five'; expected a int"),
    (HEADER.replace("#     title: This | that\n", ""), "the header's 'title' is None"),
])  # fmt: skip
def test_a_lesson_without_its_facts_is_not_built(course, header, words):
    course.write("# %%\n1", header=header)

    with pytest.raises(BuildError) as told:
        notebook(course.source)

    assert words in str(told.value)


def test_a_name_that_no_notebook_has_is_answered_with_those_there_are(course):
    course.write("# %%\n1")

    assert course.build("07") == (2, "no notebook begins with 07; there are 95_try\n")


def test_two_plots_are_the_same_up_to_stray_pixels():
    def png(dots: int) -> dict[str, str]:
        picture = Image.new("RGB", (100, 100), "white")
        for i in range(dots):
            picture.putpixel((i % 100, i // 100), (0, 0, 0))
        file = io.BytesIO()
        picture.save(file, "PNG")
        return {"image/png": base64.b64encode(file.getvalue()).decode()}

    assert same(png(0), png(50))
    assert not same(png(0), png(51))
    assert not same(png(0), {"image/png": base64.b64encode(b"no picture").decode()}.keys())


def test_every_lesson_is_stored_with_its_outputs():
    """nbval compares nothing in a cell that was never run."""
    for path in [*(ROOT / "lessons").glob("*.ipynb"), *(ROOT / "solutions").glob("*.ipynb")]:
        cells = [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
        assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1)), path.name


# -- what the author of an exercise may get wrong -----------------------------------------------


@pytest.mark.parametrize(("old", "new", "words"), [
    ('# %% probes="visits"', '# %% probes="visit"', "probes='visit' names no part"),
    ('# %% wrong="visits"\n# Shows: ', '# %% wrong="visits"\n# Sees: ', "a wrong answer begins with"),
    ("times_at_x = 10\n", "times_at_x = 20\n", "the probes cannot tell apart"),
    ("times_at_x = 10\n", "times_at_x = 1024\n", "the probes cannot tell apart 'the solution' and"),
    ("times_at_x = 10\n", "times_at_x = 1 / 0\n", "a cell ends with ZeroDivisionError"),
    ('hints="visits"\n# 1. ', 'hints="visits"\n# ', "the hints must be a numbered list"),
    ('shows="visits"', 'shows="zero"', "'visits': it has 0 shows cells, and needs one"),
    ("would come to x more\n# than", "would. It would come to x more\n# than", "`shows` must be one sentence, not"),
    ("# %% [markdown]\n# ## What is given", "# %% [markdown] folded=true\n# ## What is given", "'Node' .* is folded"),
    ("# %% [markdown]\n# # 01", "# %% [markdown] folded=true\n# # 01", "at least one must not be optional"),
])  # fmt: skip
def test_a_defective_exercise_is_not_built(old, new, words, tmp_path):
    text = SOLUTION.read_text("utf-8")
    assert old in text
    path = tmp_path / "solutions" / "source" / SOLUTION.name
    path.parent.mkdir(parents=True)
    text = text.replace(old, new, 1).replace("# 2. Each node offers", "# Each node offers")
    path.write_text(text, "utf-8")

    with pytest.raises(BuildError, match=words):
        making.answers(notebook(path), path.stem, making.outcomes)


def test_parts_below_a_folded_heading_are_optional_and_take_no_minutes(tmp_path):
    path = tmp_path / "solutions" / "source" / SOLUTION.name
    path.parent.mkdir(parents=True)
    before, last = SOLUTION.read_text("utf-8").replace("folded=true", "").rsplit("# %% [markdown]\n# ##", 2)[:2]
    text = re.sub(r"minutes: \d+", "minutes: 34", before) + "# %% [markdown] folded=true\n# ## More\n#\n# ##" + last
    path.write_text(text, "utf-8")
    kept = making.Stored(exercise.ANSWERS / f"{path.stem}.json")
    nb = notebook(path)

    parts = json.loads(making.answers(nb, path.stem, kept))["parts"]

    assert [name for name, part in parts.items() if part.get("optional")] == ["eight_signs"]
    assert sum(part["points"] for part in parts.values()) == exercise.load_exercise(path.stem).points
    (heading,) = (cell for cell in making.exercise(making.solution(nb, path.stem)).cells if cell.metadata.get(CLOSED))
    assert heading.source.startswith("## More")
    nb.metadata.minigrad["minutes"] = 33
    with pytest.raises(BuildError, match="its parts take 34 minutes, but the header says 33"):
        making.answers(nb, path.stem, kept)


def test_a_difference_between_two_notebooks_is_named():
    text = (ROOT / "exercises" / f"{SOLUTION.stem}.ipynb").read_text("utf-8")

    assert difference(text, text) is None
    assert difference(json.dumps(json.loads(text)), text) == "the same content, laid out in another way"
    assert difference("not JSON", text) == "the file is no JSON"
    told = difference(text, text.replace("A product that remembers", "A product that forgets"))
    assert "(task-product) has another source: stored …" in str(told)
