"""What a cell shows below a reveal that asks for a lock is held back until there is one."""

from __future__ import annotations

import os
import sys

import pytest
from jupyter_client.manager import start_new_kernel

from minigrad.course.prediction import AT_ONCE, LOCK_FIRST

ASK = "from minigrad.course import Predict, reveal\nasked = Predict('boxes', 'How many boxes?'); asked"
REVEAL = """\
from IPython.display import HTML, Image, display
display(reveal('boxes', 5))
print('five < six')
display(HTML('<b>bold</b>'), Image(data=b'png', format='png', embed=True))
after = 5
'the last'"""
LOCK = "asked._handle_custom_msg({'name': 'boxes', 'answer': 4, 'confidence': 'certain'}, [])"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs cells in a kernel, and gives what each shows: (type of message, text or HTML)."""
    monkeypatch.delenv(AT_ONCE, raising=False)
    manager, client = start_new_kernel(cwd=tmp_path, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})

    def run_cell(code):
        shown = []

        def take(message):
            content, kind = message["content"], message["msg_type"]
            if kind not in ("status", "execute_input", "comm_msg", "comm_open"):
                data = content.get("data", {})
                shown.append((kind, content.get("text") or content.get("evalue") or data.get("text/html", str(data))))

        client.execute_interactive(code, output_hook=take, timeout=120)
        return shown

    yield run_cell
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_the_rest_of_the_cell_is_shown_in_its_place_after_the_lock(run):
    run(ASK)
    ((kind, note),) = run(REVEAL)
    assert kind == "display_data"
    assert LOCK_FIRST in note
    assert run("print(after)") == [("stream", "5\n")]  # the cell ran to its end, and later cells show what they show

    ((kind, shown),) = run(LOCK)
    assert kind == "update_display_data"
    assert LOCK_FIRST not in shown
    picture = 'src="data:image/png;base64,cG5n'
    order = ["you predicted 4", "<pre>five &lt; six\n</pre>", "<b>bold</b>", picture, "the last"]
    assert sorted(order, key=shown.index) == order
    kinds = " ".join(kind for kind, _ in run(REVEAL))
    assert kinds == "display_data stream display_data display_data execute_result"


def test_a_cell_that_runs_again_shows_all_itself_and_an_error_is_never_held_back(run):
    run(ASK)
    assert [kind for kind, _ in run("display(reveal('boxes', 5))\nprint('hidden')\n1 / 0")] == ["display_data", "error"]
    assert [kind for kind, _ in run(REVEAL)][:2] == ["display_data", "stream"]
    assert run(LOCK) == []  # nothing of the first run is brought back
