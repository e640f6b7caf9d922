"""Plans: everything about an op that depends only on the specs of its operands, computed once and cached.

An op defines its derivative as one expression on tensors. Interpreting that expression at every backward
would be slow, and a second version for arrays could contradict the first. So the expression is *staged*: run once
on symbols, which builds the graph of the derivative; simplified; and compiled into a plain function on arrays.
That is partial evaluation, and the op table stays the only place that contains mathematics.

Forward saves the operands that the staged rule reads, and the result if the rule reads it. No op has to declare these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from importlib import import_module
from typing import Any

import numpy as np

from ..base.device import CPU, META
from ..base.errors import GraphError, NoGradientError
from ..base.spec import Spec
from ..core.graph import Graph
from ..core.interpret import apply_graph, array_function, value
from ..core.op import OP_TABLE, Op, ufunc_of
from .codegen import function
from .precision import widen_graph
from .rewrite import optimise
from .symbol import placeholder

LARGE = 1 << 22  # an op whose largest array has as many elements runs in blocks: engine/tensor/blocks.py
MOST_PLANS = 256  # per op; an op with more drops its plans, so that memory stays bounded if shapes keep changing


@dataclass(frozen=True)
class CompiledRule:
    """A compiled derivative.

    spec     the spec of the op's result, and so of the gradient that arrives
    reads    the slots that the derivative reads: 0 is the result, 1, 2, … are the operands
    keep     (y, x₁, x₂, …) → the arrays at these slots, for backward
    graph    the derivative as a graph of (gy, *kept), which `create_graph` runs on tensors
    pull     the same graph compiled: (gy, *kept) → one gradient per operand, None if none is wanted
    source   the Python source of `pull`
    lasts    whether the compiled rule holds for every call; False if the rule contains arrays of its own
    """

    spec: Spec
    reads: tuple[int, ...]
    keep: Callable[..., tuple[Any, ...]]
    graph: Graph
    pull: Callable[..., tuple[Any, ...]]
    source: str
    lasts: bool = True

    def trace(self, node: Any, gy: Any, *saved: Any) -> tuple[Any, ...]:
        """The gradients of the node's inputs for a tensor gy: runs the graph on tensors, which records the ops."""
        slots = (node, *node.inputs)
        kept = (gy.with_node(array, slots[slot]) for slot, array in zip(self.reads, saved))
        return apply_graph(self.graph, (gy, *kept), lambda constant: gy.with_node(value(constant), constant))


@dataclass
class OpPlan:
    """The plan of one op for given operand specs.

    spec     the spec of the result
    run      the operands' arrays → the result's array
    rules    which operands want gradients → the compiled derivative; filled on first use
    blocks   the BlockedOp of an op on large arrays; otherwise None
    """

    op: Op
    operands: tuple[Spec, ...]
    spec: Spec
    run: Callable[..., Any]
    rules: dict[tuple[bool | None, ...], CompiledRule | None] = field(default_factory=dict)
    blocks: Any = None

    def rule(self, wanted: tuple[bool | None, ...]) -> CompiledRule | None:
        """The derivative with respect to the wanted operands; None if no gradient can pass.

        Raises NoGradientError if an operand was made in inference_mode.
        """
        if None in wanted:
            raise NoGradientError(
                f"operand {wanted.index(None)} of {self.op} was made in inference_mode, and no recorded op can use it: "
                "make it under no_grad() instead, or use x.clone() here"
            )
        known = tuple(map(bool, wanted))
        if known in self.rules:
            return self.rules[known]
        made = stage_rule(self, known) if self.spec.is_float else None
        if made is None or made.lasts:
            self.rules[known] = made
        return made


def plan(op: Op, operands: tuple[Spec, ...]) -> OpPlan:
    """Make the plan, and store it in the op. Raises the errors of `op.infer` if the operands do not fit."""
    spec = op.infer(*operands)
    if not isinstance(spec, Spec):
        raise TypeError(f"{op}.infer must return a Spec, such as x.with_shape(shape); it returned {spec!r}")
    if len(op.plans) >= MOST_PLANS:
        op.plans.clear()
    made = op.plans[operands] = OpPlan(op, operands, spec, runner(op, operands, spec))
    sizes = [x.size if x.is_known and x.device is CPU else 0 for x in (spec, *operands)]
    if max(sizes) >= LARGE and all(sizes) and type(op).__module__.startswith(OP_TABLE):
        blocks = import_module(".blocks", __package__).BlockedOp(made)
        if len(blocks.places) > 1:
            made.run, made.blocks = blocks.forward(made.run), blocks
    return made


def runner(op: Op, operands: tuple[Spec, ...], spec: Spec) -> Callable[..., Any]:
    """`op.forward` on the device; if forward is a single ufunc, the ufunc itself, which saves a call."""
    xp = spec.device.xp
    if spec.device is META:
        return lambda *xs: xp.empty(spec.shape, spec.dtype)
    forward = array_function(op, spec, *operands)
    run = ufunc_of(op, len(operands)) if xp is np and forward == op.forward else None
    run = partial(forward, xp) if run is None else run
    return run if spec.shape or xp is not np else lambda *xs: np.asarray(run(*xs))  # NumPy returns scalars for 0-d


def stage_rule(plan: OpPlan, wanted: tuple[bool, ...]) -> CompiledRule | None:
    """Run the op's vjp on symbols, simplify the graph and compile it."""
    slots = [placeholder("y", plan.spec), *(placeholder(f"x{i}", s) for i, s in enumerate(plan.operands))]
    gy = placeholder("gy", plan.spec)
    try:
        gxs, lasts = plan.op.gradients(gy, *slots), True
    except (GraphError, TypeError):  # the rule combines a tensor of its own with a symbol
        from .slot import gradients

        gxs, lasts = gradients(plan.op, gy, slots), False  # that tensor may hold other numbers next time
    outputs = tuple(gx.node if want and gx is not None else None for gx, want in zip(gxs, wanted, strict=True))
    if not any(outputs):
        return None
    graph = optimise(Graph((), outputs))
    reads = tuple(i for i, slot in enumerate(slots) if slot.node in graph.nodes)
    graph = Graph((gy.node, *(slots[i].node for i in reads)), graph.outputs)
    pull = function(widen_graph(graph), "pull", plan.spec.device)
    rule = CompiledRule(plan.spec, reads, keeper(len(slots), reads), graph, pull, pull.source, lasts)  # type: ignore[attr-defined]
    return rule if plan.blocks is None else replace(rule, pull=plan.blocks.pull(wanted, rule))


@lru_cache
def keeper(count: int, reads: tuple[int, ...]) -> Callable[..., tuple[Any, ...]]:
    """Make the function that returns, out of `count` arguments (result, operand, …), those that the rule reads."""
    names = [f"x{i}" for i in range(count)]
    return eval(f"lambda {', '.join(names)}: ({''.join(f'{names[i]}, ' for i in reads)})")  # type: ignore[no-any-return]
