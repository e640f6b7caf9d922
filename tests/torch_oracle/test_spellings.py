"""What the lessons' tables and the page of spelling call by PyTorch's names is there in PyTorch."""

import re
from pathlib import Path
from pkgutil import resolve_name

import pytest

from tests.support.table import table

pytest.importorskip("torch", reason="PyTorch is not installed: python -m pip install torch adds this oracle")

LESSONS = Path(__file__).parents[2] / "lessons"
PAGES = [LESSONS / "CHEATSHEET.md", LESSONS / "COMPARISON.md", *sorted((LESSONS / "source").glob("*.py"))]
TABLE_ROW = re.compile(r"^(?:# )?\|.*", re.M)
NAME = re.compile(r"\btorch(?:\.\w+)+")

SPELT = {
    name: page.name  # where it was read last
    for page in PAGES
    for row in TABLE_ROW.findall(page.read_text("utf-8"))
    for name in NAME.findall(row)
}


@table("name", SPELT)
def test_a_name_of_pytorch_in_a_table_is_pytorchs(name):
    """A page that says `torch.gradcheck`, or a PyTorch that drops `torch.cond`, is heard here."""
    try:
        resolve_name(name)
    except (AttributeError, ImportError) as error:
        pytest.fail(f"lessons, {SPELT[name]}: PyTorch has no {name} ({error})")


def test_the_tables_are_found():
    assert len(SPELT) > 30
