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
from typing import Any

from .compiler.codegen import function
from .compiler.graph import Graph
from .compiler.rewrite import optimise
from .device import Device
from .op import Op
from .spec import Spec
from .symbol import Symbol, placeholder

MOST_PLANS = 256  # per op; a program of ever new shapes starts over rather than grow


@dataclass(frozen=True)
class Rule:
    """A compiled derivative.

    reads    the slots it needs: 0 is the result, 1, 2, … are the operands
    keep     (y, x₁, x₂, …) → the arrays at those slots, for backward
    graph    the derivative as a graph, of (gy, *kept): what `create_graph` runs on tensors
    pull     the same graph compiled: (gy, *kept) → one gradient per operand, None where none is wanted
    source   the Python text of `pull`
    """

    reads: tuple[int, ...]
    keep: Callable[..., tuple[Any, ...]]
    graph: Graph
    pull: Callable[..., tuple[Any, ...]]
    source: str


@dataclass
class Plan:
    """What (op, operand specs) decide.

    spec     of the result
    xp       the array module that computes it
    rules    which operands want gradients → the compiled derivative; filled when first asked
    """

    op: Op
    operands: tuple[Spec, ...]
    spec: Spec
    xp: Any
    rules: dict[tuple[bool, ...], Rule | None] = field(default_factory=dict)

    def rule(self, wanted: tuple[bool, ...]) -> Rule | None:
        """The derivative towards the wanted operands; None where no gradient can pass."""
        if wanted not in self.rules:
            self.rules[wanted] = staged(self, wanted) if self.spec.is_float else None
        return self.rules[wanted]


def plan(op: Op, operands: tuple[Spec, ...]) -> Plan:
    """The plan, from the op's own book or made now. Raises what `op.infer` raises on operands that do not fit."""
    spec = op.infer(*operands)
    if not isinstance(spec, Spec):
        raise TypeError(f"{op}.infer returns a Spec, as x.with_shape(shape) is one; it gave {spec!r}")
    if len(op.plans) >= MOST_PLANS:
        op.plans.clear()
    made = op.plans[operands] = Plan(op, operands, spec, spec.device.xp)
    return made


def staged(plan: Plan, wanted: tuple[bool, ...]) -> Rule | None:
    """The op's vjp run on symbols, simplified, compiled."""
    slots = [placeholder("y", plan.spec), *(placeholder(f"x{i}", s) for i, s in enumerate(plan.operands))]
    gy = placeholder("gy", plan.spec)
    gxs = plan.op.gradients(gy, *slots)
    outputs = tuple(gx.node if want and gx is not None else None for gx, want in zip(gxs, wanted, strict=True))
    if not any(outputs):
        return None
    graph = optimise(Graph((), outputs))
    reads = tuple(i for i, slot in enumerate(slots) if slot.node in graph.nodes)
    graph = Graph((gy.node, *(slots[i].node for i in reads)), graph.outputs)
    pull = function(graph, "pull", plan.spec.device)
    return Rule(reads, keeper(slots, reads, plan.spec.device), graph, pull, pull.source)  # type: ignore[attr-defined]


def keeper(slots: list[Symbol], reads: tuple[int, ...], device: Device) -> Callable[..., tuple[Any, ...]]:
    """The function that picks, from the result and the operands, what the rule reads."""
    if not reads:
        return nothing
    return function(Graph(tuple(s.node for s in slots), tuple(slots[i].node for i in reads)), "keep", device)


def nothing(*slots: Any) -> tuple[()]:
    """What a rule keeps that reads only the gradient."""
    return ()
