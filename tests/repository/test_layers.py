"""The house: imports go up one column of rooms, on a floor no two files need each other, and no file is long."""

import ast
import sys
from functools import cache
from graphlib import TopologicalSorter
from inspect import getsource
from pathlib import Path

import minigrad
from minigrad.engine.core.backward import pullback
from minigrad.engine.tensor.tensor import Tensor
from tests.support.table import table

ROOT = Path(minigrad.__file__).parent
COLUMN = """
scalar engine/base engine/core engine/ops engine/methods engine/tensor engine/random
tracing autograd api/functions api/linalg api/special api/fft api/cuda api/func
graph/compiler graph/backends graph graph/lax laws
nn/functional nn nn/amp nn/quantization nn/zoo data optim utils files/saving files/onnx files/serving
draw profiler distributed course course/widgets course/grading
""".split()  # noqa: SIM905  (it is read as lines)
FLOORS = {room.partition("/")[0] for room in COLUMN}
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


def room(name):
    """The innermost room of the column in which a module lies; none for a folder that only holds rooms."""
    parts = name.split(".")
    heads = ("/".join(parts[:n]) for n in range(len(parts), 0, -1))
    return next((head for head in heads if head in COLUMN), None)


def floor(name):
    return name.partition(".")[0]


@cache
def all_imports():
    """Of each module in a room, the others that it imports. A folder of rooms holds nothing that one could import."""
    return {name: {*filter(room, imports(path))} - {name} for name, path in FILES.items() if room(name)}


@cache
def below(name):
    """How many floors lie under a floor that imports this one's files, at most: 0 for one that imports none."""
    needed = {floor(o) for module, others in all_imports().items() if floor(module) == name for o in others} - {name}
    return max((below(other) + 1 for other in needed), default=0)


def test_imports_come_from_above_in_the_column():
    wrong = [
        f"{name} imports {other}, which comes after it"
        for name, others in all_imports().items()
        for other in others
        if room(other) != room(name) and COLUMN.index(room(other)) >= COLUMN.index(room(name))
    ]

    assert not wrong, "\n".join(wrong)


@table("name", sorted(FLOORS))
def test_no_two_files_of_a_floor_need_each_other(name):
    imports = all_imports()
    inside = {module: {o for o in imports[module] if floor(o) == name} for module in imports if floor(module) == name}

    assert [*TopologicalSorter(inside).static_order()]  # raises CycleError, with the files


def test_the_house_has_ten_floors_and_sixteen_doors():
    entries = {path.stem for path in ROOT.iterdir() if path.suffix in ("", ".py") and path.stem[0] not in "_."}

    assert entries == FLOORS
    assert len(entries) <= 16
    assert max(map(below, FLOORS)) + 1 <= 10


def test_a_folder_of_rooms_holds_nothing_else():
    loose = {name: path for name, path in FILES.items() if name and name not in DOORS and not room(name)}

    assert all(path.name == "__init__.py" for path in loose.values()), sorted(loose)
    assert not {name for name, path in loose.items() if [*imports(path)]}


def test_the_engine_imports_numpy_and_nothing_of_the_rest():
    outside = {
        (path.name, name.partition(".")[0])
        for path in (ROOT / "engine").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        for name in imported_from_outside(node)
    }
    known = {"numpy", "ml_dtypes", *sys.stdlib_module_names}  # ml_dtypes where bfloat16 is first asked for

    assert not {one for one in outside if one[1] not in known}
    imported = {o for name, others in all_imports().items() if floor(name) == "engine" for o in others}
    assert not {name for name in imported if floor(name) != "engine"}


def imported_from_outside(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []


def test_no_file_is_longer_than_500_lines():
    assert not {name for name, path in FILES.items() if len(path.read_text("utf-8").splitlines()) > 500}


def test_the_two_hearts_stay_small():
    """`apply` and `pullback` never grow: a feature is a watcher, a mode or an op."""
    assert len(getsource(Tensor.apply).splitlines()) <= 20
    assert len(getsource(pullback).splitlines()) <= 24
