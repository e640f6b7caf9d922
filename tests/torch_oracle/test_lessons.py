"""The gradients and losses that a lesson prints are those that PyTorch computes, written in the same way.

lessons/lesson_NN.py has `lines()`: pieces of what lesson NN prints, with PyTorch's numbers in them.
"""

import importlib
import json
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: python -m pip install torch adds this oracle")

LESSONS = Path(__file__).parents[2] / "lessons"
TWINS = sorted(path.stem for path in (Path(__file__).parent / "lessons").glob("lesson_*.py"))


@pytest.mark.parametrize("name", TWINS)
def test_what_a_lesson_prints_is_what_pytorch_computes(name):
    printed = said_by(*LESSONS.glob(f"{name[-2:]}_*.ipynb"))

    wanted = list(importlib.import_module(f"tests.torch_oracle.lessons.{name}").lines())

    assert len(wanted) >= 3
    assert [piece for piece in wanted if piece not in printed] == []


def said_by(lesson: Path) -> str:
    """All that a notebook's cells print or show as text."""
    outputs = [output for cell in json.loads(lesson.read_text("utf-8"))["cells"] for output in cell.get("outputs", [])]
    texts = [output.get("text") or output.get("data", {}).get("text/plain", []) for output in outputs]
    return "\n".join("".join(text) for text in texts)
