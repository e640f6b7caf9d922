"""Prose says where things are, and there they are; minigrad/README.md describes the house of today."""

import ast
import re
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

import pytest
from test_layers import COLUMN, statements

from tests.support.root import ROOT

HOUSE = ROOT / "minigrad"
READING, ENGINE = HOUSE / "README.md", HOUSE / "engine" / "README.md"
ADDRESS = re.compile(r"(?<![\w./*{}<>-])((?:\w+/)*\w+\.py|minigrad/(?:\w+/)*)(?![\w*{}])")
EXAMPLE = re.compile(r"(FAMILY|NN_\w+|04_convolution|01_title|\b(model|train|json|homes|nbgrader_config))\.py$")
PROSE = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "minigrad/README.md")),
    ENGINE, *ROOT.glob("docs/**/*.md"), *ROOT.glob("lessons/*.md"), *ROOT.glob("*/source/*.py"),
]  # fmt: skip
SOURCES = [path for path in HOUSE.rglob("*.py") if "_course" not in path.parts]
NAMED = {f"/{path.relative_to(ROOT).as_posix()}" for path in (*SOURCES, *ROOT.glob("tests/**/*.py"), *PROSE)}


def missing(text, folders):
    """Addresses in a text that lead nowhere from any of the folders."""
    found = {EXAMPLE.sub("", address) for address in ADDRESS.findall(text)}
    return {address for address in found if not any((folder / address).exists() for folder in folders)}


def test_files_that_prose_names_are_there():
    lost = [(path, address) for path in PROSE for address in missing(path.read_text("utf-8"), [ROOT, HOUSE])]

    assert not [pair for pair in lost if not any(name.endswith(f"/{pair[1]}") for name in NAMED)]


def test_files_that_docstrings_and_comments_name_are_there():
    """A bare name is of the same folder; any other address begins at minigrad/, or at the root."""
    documented, lost = ast.Module | ast.ClassDef | ast.FunctionDef, []
    for path in SOURCES:
        text = path.read_text("utf-8")
        if not missing(text, [ROOT, HOUSE, path.parent]):
            continue  # nothing is lost in its prose, either
        docs = [ast.get_docstring(node) or "" for node in statements(ast.parse(text)) if isinstance(node, documented)]
        prose = "\n".join([*docs, *re.findall(r"(?:^|\s)#(.*)$", text, re.M)])
        lost += [(path, address) for address in missing(prose, [ROOT, HOUSE, path.parent])]

    assert not lost


def test_what_the_reading_order_points_at_is_in_that_file():
    text = READING.read_text("utf-8") + ENGINE.read_text("utf-8")
    pairs = re.findall(r"`(\w+)` in `([\w/]+\.py)`", text)

    assert len(re.findall(r"^\| .*\? \|", ENGINE.read_text("utf-8"), re.M)) <= 15

    assert not [pair for pair in pairs if not re.search(rf"\b{pair[0]}\b", (HOUSE / pair[1]).read_text("utf-8"))]


def test_the_rooms_are_told_from_top_to_bottom_with_their_lines():
    """`python scripts/house --rooms` counts them anew; a tenth more or less is no reason to."""
    loader = SourceFileLoader("house", str(ROOT / "scripts" / "house"))
    house = module_from_spec(spec_from_loader("house", loader))
    loader.exec_module(house)
    rows = [*house.ROOM.finditer(READING.read_text("utf-8"))]
    today = [house.ROOM.fullmatch(house.counted(row)) for row in rows]
    told, counted = ([int(row[3].replace(",", "")) for row in found] for found in (rows, today))

    assert re.findall(r"`([\w/]+?)/?(?:\.py)?`", " ".join(row[1] for row in rows)) == COLUMN
    assert told == [pytest.approx(n, rel=0.1, abs=50) for n in counted]
