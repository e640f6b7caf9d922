"""Imports flow one way: each module imports only from those above it in this list."""

import ast
from pathlib import Path

import pytest

import minigrad

ROOT = Path(minigrad.__file__).parent
LAYERS = """
errors  device  spec  pen  op
ops.leaf ops.elementwise ops.movement ops.reduce ops.index ops.linalg ops
node
operand.base operand.arithmetic operand.pointwise operand.movement
operand.indexing operand.reduction operand.algebra operand
symbol
compiler.graph compiler.rewrite compiler.codegen compiler
plan  grad_fn  modes  pullback  tensor
autograd.gradient autograd.gradcheck autograd
laws  functions.face functions
functional
nn.module nn  optim  data.datasets data.loading data
""".split()  # noqa: SIM905  (it is read as lines)
CORE = set(LAYERS[: LAYERS.index("autograd") + 1])
USERS = {"draw", "widgets", "course"}  # packages that stand on the core; their own order is theirs
SEED = "scalar"


def module_name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(p for p in parts if p != "__init__")


def imports(path):
    """Names, as in LAYERS, of what a file imports at run time from minigrad."""
    package = path.relative_to(ROOT).parent.parts
    for statement in ast.walk(without_type_checking(ast.parse(path.read_text(encoding="utf-8")))):
        if isinstance(statement, ast.ImportFrom) and statement.level:
            base = package[: len(package) - statement.level + 1]
            target = ".".join((*base, *filter(None, (statement.module or "").split("."))))
            for alias in statement.names:
                full = f"{target}.{alias.name}".strip(".")
                yield full if full in LAYERS else target


def without_type_checking(tree):
    tree.body = [s for s in tree.body if not (isinstance(s, ast.If) and ast.unparse(s.test) == "TYPE_CHECKING")]
    return tree


FILES = [p for p in ROOT.rglob("*.py") if module_name(p) and "_course" not in p.parts]


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_imports_only_from_above(path):
    name = module_name(path)
    if name.split(".")[0] in USERS | {"__main__"}:
        return
    if name == SEED:
        assert not list(imports(path))
        return
    assert name in LAYERS, f"{name} has no place in the order of reading: give it one here"
    below = [i for i in imports(path) if i not in LAYERS or LAYERS.index(i) >= LAYERS.index(name)]

    assert not below, f"{name} imports {below}, which come after it"


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_no_file_is_longer_than_300_lines(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300


def test_the_two_hearts_stay_small():
    """`apply` and `pullback` never grow: a feature is a watcher, a mode or an op."""
    from inspect import getsource

    from minigrad.pullback import pullback
    from minigrad.tensor import Tensor

    assert len(getsource(Tensor.apply).splitlines()) <= 20
    assert len(getsource(pullback).splitlines()) <= 24
