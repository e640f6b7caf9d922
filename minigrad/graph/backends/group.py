"""Fused groups in C, for CPU and GPU: the lines that compute one element, and how elements reduce to one number.

CUDA kernels and CPU loops share the computation of one element, and the combination of two partial results. They differ
in which thread computes which element, and in how the threads exchange partial results.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from ...engine.core.graph import Graph
from ...engine.core.node import Node
from ...engine.ops import BroadcastTo, Const, Max, Mean, Min, Sum
from ..compiler.passes.fuse import is_full_reduction
from .c import C, Expr, NotWritten, cast, literal, name_common_parts, register_type, round_to_half, ufunc


def statements(body: Graph, values: dict[Node, Expr]) -> Iterator[str]:
    """The lines that compute one element of a group, without full reductions. `values` must contain its inputs."""
    count = 0
    for node in body.nodes:
        if node not in values and not is_full_reduction(node):
            yield from statement(node, values, f"t{count}")
            count += bool(node.inputs)


def statement(node: Node, values: dict[Node, Expr], name: str) -> Iterator[str]:
    """The lines that compute one element of a node from its inputs. Adds the result to `values` under that name."""
    dtype = node.spec.dtype
    if isinstance(node.op, Const):
        values[node] = literal(dtype.type(node.op.value), dtype)
        return
    if isinstance(node.op, BroadcastTo):
        values[node] = values[node.inputs[0]]
        return
    y: Expr = node.op.forward(C, *(values[x] for x in node.inputs))
    if y.dtype != dtype:
        raise NotWritten(f"{node.op} → {node.spec} is {y.dtype} in C: the formula's dtype differs from NumPy's")
    lines, y = name_common_parts(y, name)
    for part, x in lines:
        yield f"const {register_type(x.dtype)} {part} = {x.bare};"
    y = round_to_half(y) if dtype == np.float16 and y.parts and not y.form.startswith("from_half") else y
    yield f"{f'const {register_type(dtype)} {name} = {y.bare};':<44}// {node.op}"
    values[node] = Expr(name, dtype)


@dataclass(frozen=True)
class Reducer:
    """A full reduction: its ufunc, its start value, and for a mean the count to divide by at the end.

    dtype    the dtype of the accumulator; single for half precision
    """

    ufunc: str
    dtype: np.dtype
    start: Any
    count: int | None

    def both(self, x: Expr, y: Expr) -> Expr:
        return ufunc(self.ufunc, x, y)

    def finish_total(self, total: Expr, dtype: np.dtype) -> Expr:
        mean = total if self.count is None else total / literal(self.count, np.result_type(self.dtype, 1.0))
        return cast(mean, dtype)


def reducer(node: Node) -> Reducer:
    """How to compute a Sum, Mean, Max or Min of all elements."""
    x = node.inputs[0].spec
    if isinstance(node.op, Sum | Mean):
        dtype = single(np.zeros(1, x.dtype).sum().dtype)
        return Reducer("add", dtype, 0, x.size if isinstance(node.op, Mean) else None)
    if not isinstance(node.op, Max | Min):
        raise NotWritten(f"{node.op} is not a reduction that a kernel with one loop can do")
    largest = isinstance(node.op, Max)
    bounds: tuple[Any, Any] = (-inf, inf) if x.dtype.kind == "f" else (False, True)
    if x.dtype.kind in "iu":
        bounds = np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
    return Reducer("maximum" if largest else "minimum", single(x.dtype), bounds[not largest], None)


def single(dtype: np.dtype) -> np.dtype:
    """The dtype to accumulate in: single for half precision, else the dtype itself."""
    return np.dtype("f4") if dtype == np.float16 else dtype
