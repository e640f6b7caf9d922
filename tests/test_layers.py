"""The house: imports go up one column of folders, within a folder no two files need each other, and none is long."""

import ast
from functools import cache
from graphlib import TopologicalSorter
from inspect import getsource
from pathlib import Path

from table import table

import minigrad
from minigrad.engine.core.backward import pullback
from minigrad.engine.tensor.tensor import Tensor

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
    for statement in statements(without_type_checking(ast.parse(path.read_text(encoding="utf-8")))):
        if isinstance(statement, ast.ImportFrom) and statement.level:
            base = package[: len(package) - statement.level + 1]
            target = ".".join((*base, *filter(None, (statement.module or "").split("."))))
            for alias in statement.names:
                full = f"{target}.{alias.name}".strip(".")
                yield full if full in FILES else target


def without_type_checking(tree):
    tree.body = [s for s in tree.body if not (isinstance(s, ast.If) and ast.unparse(s.test) == "TYPE_CHECKING")]
    return tree


def statements(tree):
    """The tree and all statements below it, without the many nodes of their expressions."""
    found = [tree]
    for node in found:  # which grows
        for block in ("body", "orelse", "handlers", "finalbody", "cases"):
            found += getattr(node, block, [])
    return found


def folder(name):
    return name.partition(".")[0]


@cache
def all_imports():
    return {name: {*imports(path)} - {name} for name, path in FILES.items() if name and name not in DOORS}


def test_imports_come_from_above_in_the_column():
    below = [
        f"{name} imports {other}, which comes after it"
        for name, others in all_imports().items()
        for other in others
        if folder(other) != folder(name) and COLUMN.index(folder(other)) >= COLUMN.index(folder(name))
    ]

    assert not below, "\n".join(below)


@table("room", COLUMN)
def test_no_two_files_of_a_folder_need_each_other(room):
    imports = all_imports()
    inside = {name: {o for o in imports[name] if folder(o) == room} for name in imports if folder(name) == room}

    assert [*TopologicalSorter(inside).static_order()]  # raises CycleError, with the files


def test_no_file_is_longer_than_500_lines():
    assert not {name for name, path in FILES.items() if len(path.read_text("utf-8").splitlines()) > 500}


def test_the_two_hearts_stay_small():
    """`apply` and `pullback` never grow: a feature is a watcher, a mode or an op."""
    assert len(getsource(Tensor.apply).splitlines()) <= 20
    assert len(getsource(pullback).splitlines()) <= 24
