"""A full reduction in a kernel: each thread has one number of its share, and a block's numbers become one, pairwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from ...node import Node
from ...ops import Max, Mean, Min, Sum
from .c import NotWritten, Value, cast, held, literal, ufunc


@dataclass(frozen=True)
class Reducer:
    """A full reduction: where it starts, how two become one, what is done at the end.

    dtype    in which it is accumulated; half precision in single
    """

    ufunc: str
    dtype: np.dtype
    start: Any
    count: int | None

    def both(self, x: Value, y: Value) -> Value:
        return ufunc(self.ufunc, x, y)

    def finished(self, total: Value, dtype: np.dtype) -> Value:
        mean = total if self.count is None else total / literal(self.count, np.result_type(self.dtype, 1.0))
        return cast(mean, dtype)


def reducer(node: Node) -> Reducer:
    """How to compute a Sum, Mean, Max or Min of all elements."""
    x = node.inputs[0].spec
    if isinstance(node.op, Sum | Mean):
        dtype = single(np.zeros(1, x.dtype).sum().dtype)
        return Reducer("add", dtype, 0, x.size if isinstance(node.op, Mean) else None)
    if not isinstance(node.op, Max | Min):
        raise NotWritten(f"{node.op} is no reduction that a kernel of one loop can do")
    largest = isinstance(node.op, Max)
    bounds: tuple[Any, Any] = (-inf, inf) if x.dtype.kind == "f" else (False, True)
    if x.dtype.kind in "iu":
        bounds = np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
    return Reducer("maximum" if largest else "minimum", single(x.dtype), bounds[not largest], None)


def single(dtype: np.dtype) -> np.dtype:
    """The dtype to accumulate in."""
    return np.dtype("f4") if dtype == np.float16 else dtype


def tree(j: int, r: Reducer, block: int, end: str) -> Iterator[str]:
    """The threads' numbers, pairwise, until thread 0 has all of them."""
    mine, other = (Value(f"s{j}[threadIdx.x{at}]", r.dtype) for at in ("", " + half"))
    yield f"    __shared__ {held(r.dtype)} s{j}[{block}];"
    yield f"    s{j}[threadIdx.x] = r{j};"
    yield f"    for (unsigned int half = {block // 2}u; half > 0u; half /= 2u) {{"
    yield "        __syncthreads();"
    yield f"        if (threadIdx.x < half) {mine} = {r.both(mine, other).bare};"
    yield "    }"
    yield f"    if (threadIdx.x == 0u) {end};"
