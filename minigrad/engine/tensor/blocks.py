"""Large arrays in blocks: an op, or its derivative, computed for some rows at a time, by several threads.

`Op.independent_axes` counts the leading axes along which the parts of a result are independent. So a block of the
result is the same op on blocks of the operands: it has its own plan, and therefore its own derivative. The temporary
arrays of a block stay in the cache. NumPy releases Python's lock while it computes, so threads run at the same time.
Blocks depend on shapes only, so no bit of a result depends on the number of threads.

    y, gx     each block is written at its place
    gw        the gradient of an operand that every block reads whole: the sum of the blocks' gradients, in order
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ..base.hardware import keep_large_arrays
from ..base.threads import get_num_threads, helpers, share
from ..core.op import Elementwise
from .codegen import function
from .precision import widen_graph
from .rules import CompiledRule, OpPlan, plan

BLOCK = 1 << 17  # elements of a block's largest array; with fewer, the calls of NumPy take too much of the time


class BlockedOp:
    """The blocks of an op.

    whole     the plan of the whole op
    places    for each block, the part of the result that it computes, along the result's first axes
    is_cut    for each operand, whether each block reads only a part of it
    plans     for each block, its plan
    """

    def __init__(self, whole: OpPlan):
        self.whole, self.is_exact = whole, isinstance(whole.op, Elementwise)
        self.places, self.is_cut = cut_into_blocks(whole)
        self.plans = [*map(self.plan, self.places)]

    def plan(self, place: tuple[slice, ...]) -> OpPlan:
        """The plan of the block at this place."""
        op, xs, lengths = self.whole.op, self.whole.operands, tuple(part.stop - part.start for part in place)
        specs = tuple(x.with_shape(lengths + x.shape[len(place) :]) if cut else x for x, cut in zip(xs, self.is_cut))
        return op.plans.get(specs) or plan(op, specs)

    def forward(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """A function that computes the same y as `run`, in blocks."""
        keep_large_arrays()
        parts = [
            lambda *xs, f=plan.run: (
                f(*xs[:-1], out=xs[-1]) if isinstance(f, np.ufunc) else np.copyto(xs[-1], f(*xs[:-1]))
            )
            for plan in self.plans
        ]
        return self.run_in_blocks(run, parts, self.is_cut, [self.whole.spec], self.is_exact, lambda xs, ys, _: ys[0])

    def pull(self, wanted: tuple[bool, ...], rule: CompiledRule) -> Callable[..., tuple[Any, ...]]:
        """The function rule.pull in blocks; rule.pull itself if it only moves elements, or cannot be cut."""
        inputs, outputs, is_cut = rule.graph.inputs, rule.graph.outputs, self.is_cut
        rules: list[Any] = [plan.rule(wanted) for plan in self.plans]
        own: dict[Any, int] = {node: k for k, node in enumerate(outputs) if is_cut[k] and node not in (None, *inputs)}
        sums: dict[Any, int] = {node: k for k, node in enumerate(outputs) if not is_cut[k] and node is not None}
        moves = any(node.op.is_view for node in own) or not {**own, **sums}
        alike = {each and each.reads for each in rules} == {rule.reads}
        if moves or not alike or any(node.spec.is_half for node in sums):
            return rule.pull
        into, where = tuple(own.values()), rule.spec.device
        made = {each.source: function(widen_graph(each.graph), "pull", where, into) for each in rules}

        def finish(arrays: Any, gxs: Any, found: Any) -> tuple[Any, ...]:
            known = dict(zip((*inputs, *own), (*arrays, *gxs)))
            known |= {node: np.add.reduce([gx[k] for gx in found]) for node, k in sums.items()}
            return tuple(map(known.get, outputs))

        parts, reads = [made[each.source] for each in rules], [True, *([True, *is_cut][slot] for slot in rule.reads)]
        return self.run_in_blocks(rule.pull, parts, reads, [y.spec for y in own], self.is_exact and not sums, finish)

    def run_in_blocks(
        self, whole: Callable[..., Any], parts: list[Callable[..., Any]], is_cut: list[bool], specs: list[Any],
        is_exact: bool, finish: Callable[[Any, Any, Any], Any],
    ) -> Callable[..., Any]:  # fmt: skip
        """A function that computes whole(*arrays) in blocks.

        parts       for each block, a function of arrays, and of the arrays that it writes
        is_cut      for each array, whether a block reads a part of it
        specs       the specs of the written arrays
        is_exact    whether whole(*arrays) computes the same bits: then a single thread calls it instead of the blocks
        finish      (arrays, written arrays, results of the blocks) → result
        """

        def in_blocks(*arrays: Any) -> Any:
            cut = (x for x, c in zip(arrays, is_cut) if c)
            if (is_exact and get_num_threads() == 1) or not all(x.flags.c_contiguous for x in cut):
                return whole(*arrays)
            ys, found = [np.empty(spec.shape, spec.dtype) for spec in specs], [None] * len(parts)

            def block(i: int) -> None:
                place = self.places[i]
                found[i] = parts[i](*(x[place] if c else x for x, c in zip(arrays, is_cut)), *(y[place] for y in ys))

            return finish(arrays, ys, found) if share_quietly(block, len(parts)) else whole(*arrays)

        return in_blocks


def cut_into_blocks(whole: OpPlan) -> tuple[list[tuple[slice, ...]], list[bool]]:
    """The places of the blocks, and for each operand whether a block reads only a part of it."""
    y, xs, depth = whole.spec, whole.operands, whole.op.independent_axes(*whole.operands)
    shapes = [x.shape if x.ndim >= y.ndim else (1,) * (y.ndim - x.ndim) for x in xs]
    while not all(n[:depth] in (y.shape[:depth], (1,) * depth) for n in shapes):
        depth -= 1
    rows = [max(x.size for x in (y, *xs)) // prod(y.shape[: axis + 1]) for axis in range(depth)]
    last = next((axis for axis, row in enumerate(rows) if row <= BLOCK), depth - 1)
    steps = [*[1] * last, max(1, BLOCK // rows[last])] if depth else []
    places = product(*([slice(i, min(i + s, n)) for i in range(0, n, s)] for s, n in zip(steps, y.shape)))
    return [*places], [n[: len(steps)] != (1,) * len(steps) for n in shapes]


def share_quietly(block: Callable[[int], None], count: int) -> bool:
    """Call block(i) for each i below count, on several threads. Returns False if NumPy would have warned."""
    actions: Any = {kind: action if action == "ignore" else "raise" for kind, action in np.geterr().items()}
    try:
        with np.errstate(**actions):
            run, n = lambda first, stop, slot: [*map(block, range(first, stop))], get_num_threads()
            share(run, count, min(n, count // 2), helpers(n - 1))
    except FloatingPointError:  # the caller then computes the whole array, which raises it or warns once
        return False
    return True
