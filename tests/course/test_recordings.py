"""The lessons' recordings of PyTorch, JAX and TensorFlow equal what these frameworks print and show."""

import sys

import pytest

import minigrad as mg
from minigrad.course.recorded import listing_from
from minigrad.course.widgets import GraphView
from tests.support.root import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

from notebooks import recorder

LESSONS = sorted((ROOT / "lessons" / "source").glob("[0-9]*.py"))
CELLS = {f"{lesson.stem}-{cell.name}": cell for lesson in LESSONS for cell in recorder.cells_of(lesson)}


@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
def test_what_a_cell_prints_and_shows_is_recorded(cell):
    pytest.importorskip(cell.package, reason=f"{cell.package} is not installed: scripts/record names its version")
    assert recorder.record(cell) == recorder.read_recording(cell)


def test_each_lesson_shows_one_of_its_claims_in_pytorch():
    has = {name[:2] for name, cell in CELLS.items() if cell.package == "torch"}
    assert has == {lesson.stem[:2] for lesson in LESSONS} - {"00", "90"}  # the start, and the gallery


def test_each_recorded_graph_belongs_to_one_cell():
    names = [cell.name for cell in CELLS.values()]
    assert {names.count(path.stem) for path in recorder.FOLDER.iterdir()} == {1}


def test_a_recorded_view_shows_the_same_as_the_view():
    view = GraphView(mg.nn.Sequential(mg.nn.Linear(3, 3), mg.nn.Sequential(mg.nn.Tanh())), mg.ones(2, 3))
    again = GraphView(listing_from(recorder.json_of(view.overview.listing)))
    for trait in ("label", "items", "arrows", "notes", "opened", "text", "svg"):
        assert getattr(again, trait) == getattr(view, trait)


def test_a_recording_is_written_into_the_lesson(tmp_path):
    lesson = tmp_path / "01_what_a_graph_is.py"
    lesson.write_text(LESSONS[1].read_text("utf-8"), "utf-8")
    for text in ("1\n  2", next(recorder.cells_of(LESSONS[1])).text):
        recorder.store(lesson, next(recorder.cells_of(lesson)), (text, ""))
        assert next(recorder.cells_of(lesson)).text == text
    assert lesson.read_text("utf-8") == LESSONS[1].read_text("utf-8")
