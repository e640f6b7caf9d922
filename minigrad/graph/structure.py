"""What parts of control flow take and return, in any structure: its values found, replaced, and agreed upon."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable
from functools import update_wrapper
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import DTypeError, GraphError, ShapeError
from ..base.pytree import leaves, leaves_beside, paths, planted
from ..base.spec import Specs
from ..core.node import spot
from ..methods import Operand
from ..tracing.builder import GraphBuilder, Tracer


def is_value(leaf: Any) -> bool:
    """Whether it has a place in a graph: a tensor, an array, a number."""
    return isinstance(leaf, Operand | np.ndarray | np.generic | int | float)


def without_ops(tree: Any) -> Any:
    """The tree with None for what is only done, and has no value: a print, a group."""
    values = (None if isinstance(getattr(leaf, "spec", None), Specs) else leaf for leaf in leaves(tree))
    return planted(tree, values)


def filled(tree: Any, ys: Iterable[Any]) -> Any:
    """The tree with the ys in the place of its values."""
    new = iter(ys)
    return planted(tree, iter([next(new) if is_value(leaf) else leaf for leaf in leaves(tree)]))


def again(loop_vars: Any, result: Any) -> Any:
    """What a body returned, as loop variables: of one, it may have returned that one itself."""
    if isinstance(loop_vars, tuple | list) and len(loop_vars) == 1 and not isinstance(result, tuple | list):
        result = (result,)
    if type(loop_vars) is list and isinstance(result, tuple):
        return list(result)
    if type(loop_vars) is tuple and isinstance(result, list):
        return tuple(result)
    return result


class Side(NamedTuple):
    """One of two that must agree.

    builder    the graph in which its values are
    tree     its values, with their structure
    words    what an error calls it
    """

    builder: GraphBuilder
    tree: Any
    words: str


def agreed(one: Side, other: Side, law: str, hint: str = "", opened: Collection[int] = ()) -> list[list[Tracer]]:
    """The values of each, as operands in its graph.

    law       what is broken where they differ in structure, dtype or shape
    hint      what to do about a shape
    opened    lengths of the one that are any length in the other
    """
    try:
        beside = leaves_beside(one.tree, other.tree)
    except ShapeError as reason:
        raise ShapeError(f"{law}: {one.words} and {other.words} differ: {reason}") from None
    found: list[list[Tracer]] = [[], []]
    for path, x, y in zip(paths(one.tree, "result"), leaves(one.tree), beside):
        if is_value(x) and is_value(y):
            found[0].append(one.builder.lift(x, y.spec if isinstance(y, Operand) else None))
            found[1].append(other.builder.lift(y, x.spec if isinstance(x, Operand) else None))
            a, b = found[0][-1].spec, found[1][-1].spec
            differ = f"{law}: {path} is {a} {one.words}, and {b} {other.words}"
            if a.dtype != b.dtype:
                raise DTypeError(f"{differ}. Use .astype(), or begin with mg.tensor(…, dtype=…)")
            if (a.ndim, a.device) != (b.ndim, b.device) or any(
                n != m and n not in opened for n, m in zip(a.shape, b.shape)
            ):
                raise ShapeError(differ + hint)
        elif x is not y and (is_value(x) or is_value(y) or x != y):
            raise GraphError(f"{law}: {path} is {shown(x)} {one.words}, and {shown(y)} {other.words}")
    return found


def shown(leaf: Any) -> str:
    """A leaf as an error shows it."""
    return str(leaf.spec) if isinstance(leaf, Operand) else repr(leaf)


def names_of_variables(body: Any, loop_vars: Any) -> list[str]:
    """What a body calls its variables; nothing, if it does not say."""
    if hasattr(body, "names"):
        return list(body.names)
    code = getattr(inspect.unwrap(body), "__code__", None)
    if code is None or code.co_argcount != len(loop_vars):
        return []
    named = [(paths(x, name), leaves(x)) for name, x in zip(code.co_varnames, loop_vars)]
    return [path for some in named for path, leaf in zip(*some) if is_value(leaf)]


def wrapping(f: Callable[..., Any], g: Callable[..., Any]) -> Callable[..., Any]:
    """g, which calls f, and which errors and pictures take for f."""
    return update_wrapper(g, f, assigned=(), updated=())


def place_of(f: Any) -> str:
    """Where a function is written."""
    code = getattr(inspect.unwrap(f), "__code__", None)
    return repr(f) if code is None else spot(code.co_filename, code.co_firstlineno)


def shapes_in(tree: Any) -> list[Any]:
    """The shapes in a structure of them: tuples or lists of numbers and None, or specs."""
    if tree is None or hasattr(tree, "shape"):
        return [getattr(tree, "shape", None)]
    if isinstance(tree, dict):
        return [shape for branch in tree.values() for shape in shapes_in(branch)]
    if all(n is None or isinstance(n, int) for n in tree):
        return [tuple(tree)]
    return [shape for branch in tree for shape in shapes_in(branch)]
