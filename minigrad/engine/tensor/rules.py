"""Plans: what an op on operands of given specs decides once, so that running it decides nothing.

An op says its derivative as one expression on tensors. Interpreting that expression at every backward
would be slow; writing it a second time, on arrays, would be a second truth. So it is *staged*: run once
on symbols, which writes down the graph of the derivative; simplified; and compiled into a plain function
on arrays. That is partial evaluation, and the op table stays the only place where mathematics is.

What the staged rule turns out to read, among the result and the operands, is what forward must keep.
Nobody declares it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ..base.device import META
from ..base.errors import GraphError, NoGradientError
from ..base.spec import Spec
from ..core.graph import Graph
from ..core.interpret import applied, array_function, value
from ..core.op import Op, ufunc_of
from .codegen import function
from .precision import widened
from .rewrite import optimise
from .symbol import placeholder

MOST_PLANS = 256  # per op; a program of ever new shapes starts over rather than grow


@dataclass(frozen=True)
class CompiledRule:
    """A compiled derivative.

    spec     of the op's result, and so of the gradient that arrives
    reads    the slots it needs: 0 is the result, 1, 2, … are the operands
    keep     (y, x₁, x₂, …) → the arrays at those slots, for backward
    graph    the derivative as a graph, of (gy, *kept): what `create_graph` runs on tensors
    pull     the same graph compiled: (gy, *kept) → one gradient per operand, None where none is wanted
    source   the Python text of `pull`
    lasts    whether it is the same for every call: not if arrays of the rule's own are in it
    """

    spec: Spec
    reads: tuple[int, ...]
    keep: Callable[..., tuple[Any, ...]]
    graph: Graph
    pull: Callable[..., tuple[Any, ...]]
    source: str
    lasts: bool = True

    def trace(self, node: Any, gy: Any, *saved: Any) -> tuple[Any, ...]:
        """What `node` sends to its inputs for a tensor gy: the graph run on tensors, each at its place."""
        slots = (node, *node.inputs)
        kept = (gy.placed(array, slots[slot]) for slot, array in zip(self.reads, saved))
        return applied(self.graph, (gy, *kept), lambda constant: gy.placed(value(constant), constant))


@dataclass
class Plan:
    """What (op, operand specs) decide.

    spec     of the result
    run      the operands' arrays → the result's
    rules    which operands want gradients → the compiled derivative; filled when first asked
    """

    op: Op
    operands: tuple[Spec, ...]
    spec: Spec
    run: Callable[..., Any]
    rules: dict[tuple[bool | None, ...], CompiledRule | None] = field(default_factory=dict)

    def rule(self, wanted: tuple[bool | None, ...]) -> CompiledRule | None:
        """The derivative towards the wanted operands; None where no gradient can pass.

        Raises NoGradientError where an operand was made in inference_mode.
        """
        if None in wanted:
            raise NoGradientError(
                f"operand {wanted.index(None)} of {self.op} was made in inference_mode, and no recorded op can use it: "
                "make it under no_grad() instead, or take x.clone() of it here"
            )
        known = tuple(map(bool, wanted))
        if known in self.rules:
            return self.rules[known]
        made = staged(self, known) if self.spec.is_float else None
        if made is None or made.lasts:
            self.rules[known] = made
        return made


def plan(op: Op, operands: tuple[Spec, ...]) -> Plan:
    """The plan, from the op's own book or made now. Raises what `op.infer` raises on operands that do not fit."""
    spec = op.infer(*operands)
    if not isinstance(spec, Spec):
        raise TypeError(f"{op}.infer returns a Spec, as x.with_shape(shape) is one; it gave {spec!r}")
    if len(op.plans) >= MOST_PLANS:
        op.plans.clear()
    made = op.plans[operands] = Plan(op, operands, spec, runner(op, operands, spec))
    return made


def runner(op: Op, operands: tuple[Spec, ...], spec: Spec) -> Callable[..., Any]:
    """`op.forward` on the device; the ufunc itself where forward is one, which saves a call."""
    xp = spec.device.xp
    if spec.device is META:
        return lambda *xs: xp.empty(spec.shape, spec.dtype)
    forward = array_function(op, spec, *operands)
    run = ufunc_of(op, len(operands)) if xp is np and forward == op.forward else None
    run = partial(forward, xp) if run is None else run
    return run if spec.shape or xp is not np else lambda *xs: np.asarray(run(*xs))  # NumPy gives numbers for 0-d arrays


def staged(plan: Plan, wanted: tuple[bool, ...]) -> CompiledRule | None:
    """The op's vjp run on symbols, simplified, compiled."""
    slots = [placeholder("y", plan.spec), *(placeholder(f"x{i}", s) for i, s in enumerate(plan.operands))]
    gy = placeholder("gy", plan.spec)
    try:
        gxs, lasts = plan.op.gradients(gy, *slots), True
    except (GraphError, TypeError):  # of a tensor beside a symbol
        from .slot import gradients

        gxs, lasts = gradients(plan.op, gy, slots), False  # its tensor may hold other numbers next time
    outputs = tuple(gx.node if want and gx is not None else None for gx, want in zip(gxs, wanted, strict=True))
    if not any(outputs):
        return None
    graph = optimise(Graph((), outputs))
    reads = tuple(i for i, slot in enumerate(slots) if slot.node in graph.nodes)
    graph = Graph((gy.node, *(slots[i].node for i in reads)), graph.outputs)
    pull = function(widened(graph), "pull", plan.spec.device)
    return CompiledRule(plan.spec, reads, keeper(len(slots), reads), graph, pull, pull.source, lasts)  # type: ignore[attr-defined]


@lru_cache
def keeper(count: int, reads: tuple[int, ...]) -> Callable[..., tuple[Any, ...]]:
    """The function that picks, of so many arguments (result, operand, …), what the rule reads: written out."""
    names = [f"x{i}" for i in range(count)]
    return eval(f"lambda {', '.join(names)}: ({''.join(f'{names[i]}, ' for i in reads)})")  # type: ignore[no-any-return]
