"""What the lessons have recorded of PyTorch, JAX and TensorFlow is what these print and show."""

import sys
from collections import Counter

import pytest

import minigrad as mg
from minigrad import nn
from minigrad.course.recorded import listing_from
from minigrad.course.widgets import GraphView
from tests.support.root import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

from notebooks import recorder

LESSONS = sorted((ROOT / "lessons" / "source").glob("[0-9]*.py"))
WITHOUT = ("00", "90")  # the start, and the gallery
CELLS = {f"{lesson.stem}-{cell.name}": cell for lesson in LESSONS for cell in recorder.cells_of(lesson)}
LESSON = '''# %% [markdown]
# In PyTorch:


# %%
@in_pytorch
def double(torch):
    """
    {}
    """
    print(2 * torch.tensor([1, 2]), "is\\n  printed")
'''


@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
def test_what_a_cell_prints_and_shows_is_recorded(cell):
    pytest.importorskip(cell.package, reason=f"{cell.package} is not installed: scripts/record names its version")
    assert recorder.record(cell) == recorder.recorded(cell)


def test_each_lesson_shows_one_of_its_claims_in_pytorch():
    has = {name[:2] for name, cell in CELLS.items() if cell.package == "torch"}
    assert has == {lesson.stem[:2] for lesson in LESSONS}.difference(WITHOUT)


def test_each_recorded_graph_belongs_to_one_cell():
    names = Counter(cell.name for cell in CELLS.values())
    assert {path.stem: 1 for path in recorder.FOLDER.iterdir()}.items() <= names.items()


def test_a_recorded_view_shows_the_same_as_the_view():
    x = mg.ones(2, 3)
    view = GraphView(nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.Tanh(), nn.Linear(3, 1))), x)
    again = GraphView(listing_from(recorder.json_of(view.overview.listing)))
    for trait in ("label", "items", "arrows", "notes", "opened", "text", "svg"):
        assert getattr(again, trait) == getattr(view, trait)


def test_a_recording_is_written_into_the_lesson(tmp_path):
    lesson = tmp_path / "01_double.py"
    lesson.write_text(LESSON.format("old"), "utf-8")
    (cell,) = recorder.cells_of(lesson)
    recorder.store(lesson, cell, ("tensor([2, 4]) is\n  printed", ""))
    assert lesson.read_text("utf-8") == LESSON.format("tensor([2, 4]) is\n      printed")
    assert [cell.text for cell in recorder.cells_of(lesson)] == ["tensor([2, 4]) is\n  printed"]
