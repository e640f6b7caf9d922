"""The house: imports go up one column of folders, within a folder no two files need each other, and none is long."""

import ast
from graphlib import TopologicalSorter
from inspect import getsource
from pathlib import Path

import pytest

import minigrad
from minigrad.core.backward import pullback
from minigrad.tensor.tensor import Tensor

ROOT = Path(minigrad.__file__).parent
COLUMN = """
scalar base core ops methods tensor
tracing random functions linalg special fft cuda autograd func functional compiler backends graph lax laws
nn optim data utils amp quantization zoo saving onnx serving
draw profiler distributed course widgets grading
""".split()  # noqa: SIM905  (it is read as lines)
DOORS = {"__init__", "__main__"}


def module_name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(p for p in parts if p != "__init__")


FILES = {module_name(p): p for p in ROOT.rglob("*.py") if "_course" not in p.parts}


def imports(path):
    """Names of the modules that a file imports at run time from minigrad."""
    package = path.relative_to(ROOT).parent.parts
    for statement in ast.walk(without_type_checking(ast.parse(path.read_text(encoding="utf-8")))):
        if isinstance(statement, ast.ImportFrom) and statement.level:
            base = package[: len(package) - statement.level + 1]
            target = ".".join((*base, *filter(None, (statement.module or "").split("."))))
            for alias in statement.names:
                full = f"{target}.{alias.name}".strip(".")
                yield full if full in FILES else target


def without_type_checking(tree):
    tree.body = [s for s in tree.body if not (isinstance(s, ast.If) and ast.unparse(s.test) == "TYPE_CHECKING")]
    return tree


def folder(name):
    return name.partition(".")[0]


@pytest.mark.parametrize("name", [name for name in FILES if name and name not in DOORS])
def test_imports_come_from_above_in_the_column(name):
    place = COLUMN.index(folder(name))
    below = [i for i in imports(FILES[name]) if folder(i) != folder(name) and COLUMN.index(folder(i)) >= place]

    assert not below, f"{name} imports {below}, which come after it"


@pytest.mark.parametrize("room", COLUMN)
def test_no_two_files_of_a_folder_need_each_other(room):
    inside = {n: {i for i in imports(p) if folder(i) == room and i != n} for n, p in FILES.items() if folder(n) == room}

    assert [*TopologicalSorter(inside).static_order()]  # raises CycleError, with the files


def test_few_modules_lie_beside_the_folders():
    assert len({p.stem for p in ROOT.glob("*.py")} - DOORS) <= 8


@pytest.mark.parametrize("name", FILES)
def test_no_file_is_longer_than_500_lines(name):
    assert len(FILES[name].read_text(encoding="utf-8").splitlines()) <= 500


def test_the_two_hearts_stay_small():
    """`apply` and `pullback` never grow: a feature is a watcher, a mode or an op."""
    assert len(getsource(Tensor.apply).splitlines()) <= 20
    assert len(getsource(pullback).splitlines()) <= 24
