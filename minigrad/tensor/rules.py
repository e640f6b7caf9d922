"""Plans: what an op on operands of given specs decides once, so that running it decides nothing.

An op says its derivative as one expression on tensors. Interpreting that expression at every backward
would be slow; writing it a second time, on arrays, would be a second truth. So it is *staged*: run once
on symbols, which writes down the graph of the derivative; simplified; and compiled into a plain function
on arrays. That is partial evaluation, and the op table stays the only place where mathematics is.

What the staged rule turns out to read, among the result and the operands, is what forward must keep.
Nobody declares it.

A function of any number of operands, written out for one, two and three.

In Python a loop over two operands costs as much as adding ten numbers, and `Tensor.apply` has five such
loops. Few ops have more than three operands. So the function is read as text, and

    def apply(self, op, *others):               def apply(self, op, second=NONE, third=NONE, *others):
        [f(x) for x in (self, *others)]             if second is NONE:
                                                        [f(self)]
                                        →           elif third is NONE:
                                                        [f(self), f(second)]
                                                    …
                                                    else:                         as it was

Nothing is said twice, and a traceback still shows the line that was written. This is partial evaluation,
as above: there of a rule for known specs, here of a loop for a known length.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial, update_wrapper
from operator import itemgetter
from typing import Any, TypeVar

import numpy as np

from ..base.errors import NoGradientError
from ..base.spec import Spec
from ..core.graph import Graph
from ..core.op import Op, ufunc_of
from ..ops import Const
from .codegen import function
from .rewrite import optimise
from .symbol import placeholder

MOST_PLANS = 256  # per op; a program of ever new shapes starts over rather than grow


@dataclass(frozen=True)
class Rule:
    """A compiled derivative.

    spec     of the op's result, and so of the gradient that arrives
    reads    the slots it needs: 0 is the result, 1, 2, … are the operands
    keep     (y, x₁, x₂, …) → the arrays at those slots, for backward
    graph    the derivative as a graph, of (gy, *kept): what `create_graph` runs on tensors
    pull     the same graph compiled: (gy, *kept) → one gradient per operand, None where none is wanted
    source   the Python text of `pull`
    """

    spec: Spec
    reads: tuple[int, ...]
    keep: Callable[[tuple[Any, ...]], tuple[Any, ...]]
    graph: Graph
    pull: Callable[..., tuple[Any, ...]]
    source: str

    def trace(self, node: Any, gy: Any, *saved: Any) -> tuple[Any, ...]:
        """What `node` sends to its inputs for a tensor gy: the graph run on tensors, each at its place."""
        slots = (node, *node.inputs)
        kept = (gy.placed(array, slots[slot]) for slot, array in zip(self.reads, saved))
        values = dict(zip(self.graph.inputs, (gy, *kept)))
        for step in self.graph.nodes:
            if isinstance(step.op, Const):
                values[step] = gy.placed(step.spec.device.array(step.op.value, step.spec.dtype), step)
            elif step.inputs:
                x, *others = (values[n] for n in step.inputs)
                values[step] = x.apply(step.op, *others)
        return tuple(None if y is None else values[y] for y in self.graph.outputs)


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
    rules: dict[tuple[bool | None, ...], Rule | None] = field(default_factory=dict)

    def rule(self, wanted: tuple[bool | None, ...]) -> Rule | None:
        """The derivative towards the wanted operands; None where no gradient can pass.

        Raises NoGradientError where an operand was made in inference_mode.
        """
        if None in wanted:
            raise NoGradientError(
                f"operand {wanted.index(None)} of {self.op} was made in inference_mode, and no recorded op can use it: "
                "make it under no_grad() instead, or take x.clone() of it here"
            )
        known = tuple(map(bool, wanted))
        if known not in self.rules:
            self.rules[known] = staged(self, known) if self.spec.is_float else None
        return self.rules[known]


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
    run = ufunc_of(op, len(operands)) if xp is np else None
    run = partial(op.forward, xp) if run is None else run
    return run if spec.shape or xp is not np else lambda *xs: np.asarray(run(*xs))  # NumPy gives numbers for 0-d arrays


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
    return Rule(plan.spec, reads, keeper(reads), graph, pull, pull.source)  # type: ignore[attr-defined]


def keeper(reads: tuple[int, ...]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """The function that picks, from (result, operand, …), what the rule reads: never a loop."""
    start, stop = (reads[0], reads[-1] + 1) if reads else (0, 0)
    return itemgetter(slice(start, stop)) if reads == tuple(range(start, stop)) else itemgetter(*reads)


F = TypeVar("F", bound=Callable[..., Any])

NONE: Any = object()  # an operand that was not given

SHAPE = """
def shape(self, op, second=NONE, third=NONE, *others, NONE=NONE):
    if second is NONE:
        ONE
    elif third is NONE:
        TWO
    elif not others:
        THREE
    else:
        others = (second, third, *others)
"""
NAMES = ("self", "second", "third")


def unrolled(f: F) -> F:
    """f(self, op, *others), its loops written out for one, two and three operands; f itself if there is no text."""
    try:
        read = ast.parse(textwrap.dedent(inspect.getsource(f))).body[0]
    except OSError:
        return f
    assert isinstance(read, ast.FunctionDef)
    written = ast.parse(SHAPE)
    (function,) = written.body
    function.name = f.__name__  # type: ignore[attr-defined]
    (case,) = function.body  # type: ignore[attr-defined]
    for n in range(len(NAMES)):
        case.body = with_operands(read.body, NAMES[: n + 1])
        case, rest = case.orelse[0], case.orelse
    rest += read.body
    ast.increment_lineno(written, f.__code__.co_firstlineno - 1)
    scope = {"NONE": NONE}
    exec(compile(ast.fix_missing_locations(written), f.__code__.co_filename, "exec"), f.__globals__, scope)
    return update_wrapper(scope[f.__name__], f)  # type: ignore[return-value]


def with_operands(body: list[ast.stmt], names: tuple[str, ...]) -> list[ast.stmt]:
    """The statements, for operands of these names."""
    return [WithOperands(names).visit(deepcopy(statement)) for statement in body]


class WithOperands(ast.NodeTransformer):
    """`[f(x) for x in xs]`, `[f(x) for x in others]` and `*others` in a tuple, written out."""

    def __init__(self, names: tuple[str, ...]):
        self.names = names

    def visit_ListComp(self, loop: ast.ListComp) -> ast.AST:
        match loop.generators:
            case [ast.comprehension(ast.Name(x), ast.Name(over))] if over in ("xs", "others"):
                names = self.names if over == "xs" else self.names[1:]
                return ast.List([Renamed(x, name).visit(deepcopy(loop.elt)) for name in names], ast.Load())
        return loop

    def visit_Call(self, call: ast.Call) -> ast.AST:
        self.generic_visit(call)
        match call:
            case ast.Call(ast.Name("tuple"), [ast.List(elements)]):
                return ast.Tuple(elements, ast.Load())
        return call

    def visit_Tuple(self, listed: ast.Tuple) -> ast.AST:
        self.generic_visit(listed)
        elements: list[ast.expr] = []
        for element in listed.elts:
            match element:
                case ast.Starred(ast.Name("others")):
                    elements += [ast.Name(name, listed.ctx) for name in self.names[1:]]
                case ast.Starred(ast.List(written)):
                    elements += written
                case _:
                    elements.append(element)
        return ast.Tuple(elements, listed.ctx)


class Renamed(ast.NodeTransformer):
    """An expression in which one name is another."""

    def __init__(self, old: str, new: str):
        self.old, self.new = old, new

    def visit_Name(self, name: ast.Name) -> ast.AST:
        return ast.Name(self.new, ast.Load()) if name.id == self.old else name
