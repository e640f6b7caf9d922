"""CuPy as the oracle of names: what ops call, CuPy has, with the parameters they use. No GPU is needed to ask."""

import ast
import importlib
import types
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import minigrad
from minigrad import ops
from minigrad.engine.base.device import GPU, HOMES, device_of
from minigrad.graph.backends.simulated_gpu import contract
from tests.support.cupy_names import listing

ROOT = Path(minigrad.__file__).parent
SOURCES = [f for f in sorted(ROOT.rglob("*.py")) if "devices" not in f.parts]
MODULES = {"cuda", "linalg", "lib", "lib.stride_tricks"}


def dotted(node):
    """'linalg.solve' of the expression xp.linalg.solve, or x.device.xp.linalg.solve; '' of any other."""
    parts = []
    while isinstance(node, ast.Attribute) and node.attr != "xp":
        parts.append(node.attr)
        node = node.value
    is_xp = isinstance(node, ast.Attribute) or (isinstance(node, ast.Name) and node.id == "xp")
    return ".".join(reversed(parts)) if is_xp else ""


def used():
    """(name, names of the keyword arguments, file:line) of every xp.NAME in the sources."""
    found = set()
    for path in SOURCES:
        tree = ast.parse(text if "xp." in (text := path.read_text("utf-8")) else "")
        called = {id(n.func): n for n in ast.walk(tree) if isinstance(n, ast.Call)}
        for node in ast.walk(tree):
            name = dotted(node)
            if name and name not in MODULES:
                call = called.get(id(node))
                options = sorted(k.arg for k in call.keywords if k.arg) if call else ()
                found.add((name, tuple(options), f"{path.relative_to(ROOT)}:{node.lineno}"))
    return sorted(found)


def test_what_ops_call_is_in_the_list_of_cupys_names():
    wrong, found = [], used()
    for name, options, where in found:
        if name.endswith((".at", ".reduce")):
            continue
        parameters = contract().get(name) or contract().get(name.split(".")[0])  # a method of a ufunc: np.add.at
        known = ["out", "dtype", "casting", "axis", "keepdims"] if parameters == ["ufunc"] else parameters
        if parameters is None:
            wrong.append(f"{where}: CuPy has no {name}")
        elif parameters.count("*") < 2 and parameters != ["*"] and not {*options} <= {*known}:
            wrong.append(f"{where}: CuPy's {name} takes {known}, and not all of {options}")

    assert not wrong, "\n".join(wrong)
    assert {"exp", "where", "bitwise_xor", "linalg.solve"} <= {name for name, *_ in found}


# -- where CuPy is installed ----------------------------------------------------------------------------


@pytest.fixture
def cupy():
    return pytest.importorskip("cupy", reason="CuPy is not installed: python -m pip install cupy-cuda13x")


def test_the_list_is_what_cupy_has(cupy):
    kept = files("minigrad.graph.backends").joinpath("cupy.txt").read_text("utf-8").splitlines()
    if cupy.__version__ not in kept[0]:
        pytest.skip(f"the list is of another version than {cupy.__version__}: {kept[0]}")

    assert kept[1:] == listing(cupy)


class Gpu:
    """What an op takes for an array of the GPU, and asks nothing of."""

    __module__ = "cupy"
    dtype = np.dtype("f8")

    def swapaxes(self, *axes):
        return self

    def __add__(self, other):
        return self

    __mul__ = __add__


def test_a_cupy_array_lives_on_the_gpu(cupy):
    """`device_of` knows an array by the module of its type, and must not import CuPy to do so."""
    assert HOMES[cupy.ndarray.__module__] is GPU


def test_a_matrix_without_a_factor_is_refused_there_too(cupy):
    """CuPy gives half a Cholesky factor of a matrix that has none, if it is not told to look."""
    cupyx = importlib.import_module("cupyx")
    seen = []
    linalg = types.SimpleNamespace(cholesky=lambda x: seen.append(cupyx.geterr()))

    ops.Cholesky().forward(types.SimpleNamespace(linalg=linalg), Gpu())

    assert seen[0]["linalg"] == "raise"
    assert cupyx.geterr()["linalg"] == "ignore"


def test_on_a_gpu_random_bits_are_those_of_the_cpu(cupy):
    works, reason = minigrad.gpu_status()
    if not works:
        pytest.skip(f"no GPU: {reason}")
    key = minigrad.engine.random.key(5)

    there = minigrad.engine.random.bits(key.to("gpu"), (1000,))

    assert there.spec.device is GPU is device_of(there.data)
    np.testing.assert_array_equal(there.numpy(), minigrad.engine.random.bits(key, (1000,)).numpy())
