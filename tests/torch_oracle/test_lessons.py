"""The gradients and losses that a lesson prints are those that PyTorch computes, written in the same way.

lessons/lesson_NN.py has `lines()`: pieces of what lesson NN prints, with PyTorch's numbers in them.
"""

import importlib
import json
import re
from pathlib import Path

import pytest

import minigrad
from minigrad.course.pytorch import recording, run_in_pytorch

pytest.importorskip("torch", reason="PyTorch is not installed: python -m pip install torch adds this oracle")

LESSONS = Path(__file__).parents[2] / "lessons"
WITHOUT = ("00", "90")  # the start, and the gallery
TWINS = sorted(path.stem for path in (Path(__file__).parent / "lessons").glob("lesson_*.py"))


@pytest.mark.parametrize("name", TWINS)
def test_what_a_lesson_prints_is_what_pytorch_computes(name):
    (lesson,) = LESSONS.glob(f"{name[-2:]}_*.ipynb")
    printed = said_by(lesson)

    wanted = list(importlib.import_module(f"tests.torch_oracle.lessons.{name}").lines())

    assert len(wanted) >= 3
    assert [piece for piece in wanted if piece not in printed] == []


@pytest.mark.parametrize("lesson", sorted(LESSONS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_what_a_lesson_has_recorded_of_pytorch_is_what_it_prints(lesson):
    cells = ["".join(cell["source"]) for cell in json.loads(lesson.read_text("utf-8"))["cells"]]
    recorded = [cell for cell in cells if re.search("^@in_pytorch", cell, re.M)]
    if not recorded and lesson.stem[:2] in WITHOUT:
        pytest.skip("it needs no cell for PyTorch")
    assert recorded, "each lesson shows one of its claims in PyTorch"
    for cell in recorded:
        names = {"mg": minigrad, "in_pytorch": lambda f: f}
        exec(cell.replace("from minigrad.course import in_pytorch\n", ""), names)
        f = names.popitem()[1]
        assert run_in_pytorch(f) == recording(f)


def said_by(lesson: Path) -> str:
    """All that a notebook's cells print or show as text."""
    outputs = [output for cell in json.loads(lesson.read_text("utf-8"))["cells"] for output in cell.get("outputs", [])]
    texts = [output.get("text") or output.get("data", {}).get("text/plain", []) for output in outputs]
    return "\n".join("".join(text) for text in texts)
