"""Large arrays in blocks: an op, or its derivative, computed for some rows at a time, by several threads.

`Op.outer` says along which axes the parts of a result do not depend on each other. So a block of the result is the
same op on blocks of the operands: it has a plan of its own, and thereby a derivative of its own. The temporary arrays
of a block stay in the cache. NumPy releases Python's lock while it computes, so threads run at the same time.

    y, gx     each block is written at its place
    gw        the gradient of an operand that is the same in all blocks: the sum of their gradients, in order

Blocks depend on shapes only, so no bit of a result depends on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.spec import Spec
from ..base.threads import get_num_threads, helpers, share
from .codegen import function
from .precision import widen_graph

if TYPE_CHECKING:
    from .rules import CompiledRule, OpPlan

Arrays = Sequence[Any]
BLOCK = 1 << 17  # elements of the largest array of a block: with fewer, calling NumPy takes too large a share


class Blocks:
    """The blocks of an op.

    spec      of the whole result
    places    for each block, the part of the result that it computes, along the result's first axes
    is_cut    for each operand, whether a block reads a part of it; otherwise each block reads all of it
    plans     the plan of each block; equal blocks have the same
    """

    def __init__(self, whole: OpPlan, plan: Callable[..., OpPlan]):
        op, xs, self.spec = whole.op, whole.operands, whole.spec
        outer, lengths, size = op.outer(*xs), whole.spec.shape, max(x.size for x in (whole.spec, *xs))
        depth = min(map(len, outer), default=0)
        while not all(n[:depth] in (lengths[:depth], (1,) * depth) for n in outer):
            depth -= 1
        rows = [size // prod(lengths[: axis + 1]) for axis in range(depth)]  # elements of x[i], of x[i, j], …
        last = next((axis for axis, row in enumerate(rows) if row <= BLOCK), depth - 1)
        steps = [*[1] * last, max(1, BLOCK // rows[last])] if depth else []
        self.places = [*product(*([slice(i, min(i + s, n)) for i in range(0, n, s)] for s, n in zip(steps, lengths)))]
        self.is_cut = [n[: len(steps)] != (1,) * len(steps) for n in outer]
        self.plans = [plan(op, self.parts(xs, place)) for place in self.places] if len(self.places) > 1 else []

    def parts(self, xs: tuple[Spec, ...], place: tuple[slice, ...]) -> tuple[Spec, ...]:
        """The specs of a block's operands."""
        lengths = tuple(part.stop - part.start for part in place)
        return tuple(x.with_shape(lengths + x.shape[len(place) :]) if cut else x for x, cut in zip(xs, self.is_cut))

    def forward(self, whole: Callable[..., Any]) -> Callable[..., Any]:
        """The function `whole`, which computes y from the operands' arrays, in blocks."""
        runs = [plan.run if isinstance(plan.run, np.ufunc) else writing(plan.run) for plan in self.plans]
        return self.loop(whole, runs, self.is_cut, [self.spec], False, lambda xs, ys, _: ys[0])

    def pull(self, wanted: tuple[bool, ...], rule: CompiledRule) -> Callable[..., tuple[Any, ...]]:
        """The function rule.pull in blocks; rule.pull itself if it only moves elements, or cannot be cut."""
        inputs, outputs, is_cut = rule.graph.inputs, rule.graph.outputs, self.is_cut
        own = {node: k for k, node in enumerate(outputs) if is_cut[k] and node not in (None, *inputs)}
        sums = [k for k, node in enumerate(outputs) if not is_cut[k] and node is not None]
        rules = [plan.rule(wanted) for plan in self.plans]
        moves = any(node.op.is_view for node in own) or not (own or sums)
        if moves or any(outputs[k].spec.is_half for k in sums) or any(not each or each.reads != rule.reads for each in rules):
            return rule.pull
        made = {each.source: pull_into(each, [*own.values()]) for each in rules}

        def finish(arrays: Arrays, gxs: Arrays, found: Arrays) -> tuple[Any, ...]:
            known = dict(zip((*inputs, *own), (*arrays, *gxs)))
            return tuple(
                np.add.reduce([gx[k] for gx in found]) if k in sums else known.get(y) for k, y in enumerate(outputs)
            )

        reads = [True, *(slot == 0 or is_cut[slot - 1] for slot in rule.reads)]
        return self.loop(rule.pull, [made[each.source] for each in rules], reads, [y.spec for y in own], bool(sums), finish)

    def loop(
        self, whole: Callable[..., Any], parts: list[Callable[..., Any]], is_cut: list[bool], specs: list[Spec],
        sums: bool, finish: Callable[[Arrays, Arrays, Arrays], Any],
    ) -> Callable[..., Any]:  # fmt: skip
        """The function whole(*arrays), computed in blocks.

        parts     for each block, a function of arrays, and of the arrays that it writes
        is_cut    for each array, whether a block reads a part of it
        specs     of the written arrays
        sums      whether the blocks' results are added, so that bits depend on the blocks
        finish    (arrays, written arrays, results of the blocks) → result
        """

        def in_blocks(*arrays: Any) -> Any:
            if get_num_threads() == 1 and not sums or not are_alike([x for x, cut in zip(arrays, is_cut) if cut]):
                return whole(*arrays)
            ys, found = [empty(spec, arrays[0]) for spec in specs], [None] * len(parts)

            def block(i: int) -> None:
                place = self.places[i]
                found[i] = parts[i](*(x[place] if c else x for x, c in zip(arrays, is_cut)), *(y[place] for y in ys))

            return finish(arrays, ys, found) if share_quietly(block, len(parts)) else whole(*arrays)

        return in_blocks


def writing(run: Callable[..., Any]) -> Callable[..., None]:
    """A function of run's arguments, and of an array for the result."""

    def write(*arrays: Any) -> None:
        arrays[-1][...] = run(*arrays[:-1])

    return write


def pull_into(rule: CompiledRule, places: list[int]) -> Callable[..., tuple[Any, ...]]:
    """rule.pull, with an array more for each of these results, which it is written into."""
    graph = widen_graph(rule.graph)
    return function(graph, "pull", rule.spec.device, [graph.outputs[k] for k in places])


def share_quietly(block: Callable[[int], None], count: int) -> bool:
    """Call block(i) for i from 0 to count, on several threads. Returns whether no block failed or made NumPy warn.

    For the whole array NumPy warns once, from the caller's thread. So the whole is computed again to warn.
    """
    threads = get_num_threads()
    actions = {kind: action if action == "ignore" else "raise" for kind, action in np.geterr().items()}
    try:
        with np.errstate(**actions):  # type: ignore[arg-type]
            share(
                lambda first, stop, slot: [*map(block, range(first, stop))],
                count, min(threads, max(1, count // 2)), helpers(threads - 1),
            )  # fmt: skip
    except Exception:
        return False
    return True


def empty(spec: Spec, like: Any) -> Any:
    """A new array, in the memory order of `like` if it has this shape."""
    return np.empty_like(like, spec.dtype) if like.shape == spec.shape else np.empty(spec.shape, spec.dtype)


def are_alike(xs: list[Any]) -> bool:
    """Whether the arrays have one order of axes in memory, so that a result has it too."""
    return all(x.flags.c_contiguous for x in xs) or (len({x.strides for x in xs}) == 1 and min(xs[0].strides) > 0)
