"""What a cell reveals is nowhere above it in the notebook's file; and a notebook where it is, is not built."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from notebooks.gates import calls, problems, refuse_open  # noqa: E402
from notebooks.source import BuildError  # noqa: E402

LESSONS = sorted((ROOT / "lessons").glob("*.ipynb"))
OPEN = "n: How many?\nNot predicted yet. The answer is a number, such as 2 or 0.5."
GATE = "n: it is 131. No prediction was locked."
GOOD = [("Predict('n', 'How many?')", OPEN), ("reveal('n', len(x))", GATE)]


def notebook(*cells, **metadata):
    made = [
        new_code_cell(source, outputs=[new_output("execute_result", {"text/plain": said})]) for source, said in cells
    ]
    return new_notebook(cells=made, metadata=metadata)


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_no_lesson_gives_away_what_it_asks(path):
    nb = nbformat.read(path, as_version=4)

    assert list(problems(nb)) == []
    gates = sum(call.func.id == "Predict" for cell in nb.cells if cell.cell_type == "code"
                for call in calls(cell.source) if hasattr(call.func, "id"))  # fmt: skip
    assert gates >= 2 or not nb.metadata.minigrad["concepts"]  # the gallery teaches none


def test_a_good_notebook_has_no_problem():
    assert list(problems(notebook(*GOOD))) == []


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([("print(131)", "131"), *GOOD], "cell 0: 131 is what cell 2 reveals"),
        ([("x = 131", ""), *GOOD], "cell 0: 131 is what cell 2 reveals"),
        ([GOOD[0], GOOD[1][::-1] and ("reveal('n', 131)", GATE)], "is written out, and not computed"),
        ([("Predict('n', 'How many?', answer=131)", OPEN), GOOD[1]], "answer, which is no part of a question"),
        ([("Predict('n', f'How many? {x}')", OPEN), GOOD[1]], "what is asked is written out"),
        ([("Predict('n', 'How many?')", "n: How many?\nYou predict 4 (guess)."), GOOD[1]], "not shown unanswered"),
        ([GOOD[1], GOOD[0]], "no cell above it asks for it"),
        ([("Predict('n', 'How many?'); reveal('n', len(x))", OPEN)], "no cell above it asks for it"),
        ([GOOD[0]], "no cell below reveals 'n'"),
        ([GOOD[1]], "no cell above it asks for it"),
        ([("Quiz('q')", "Quiz q. 2 of 4 right.")], "the quiz is not shown unanswered"),
    ],
)
def test_an_open_gate_is_found(cells, words):
    with pytest.raises(BuildError, match="the lesson, ") as refused:
        refuse_open(notebook(*cells), "the lesson")

    assert words in str(refused.value) or any(words in problem for problem in problems(notebook(*cells)))


def test_the_state_of_widgets_is_not_kept():
    assert "the state of widgets is kept in the metadata" in problems(notebook(*GOOD, widgets={"state": {}}))
