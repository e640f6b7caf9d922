"""The gradients of branches and loops.

    y = true(k) if p else false(k)        gk = true'(gy, k) if p else false'(gy, k)
    c, y[t] = body(c, x[t], k)            gc, gx[t] = body'(gc, gy[t], c[t], x[t], k), last t first; gk is summed over t

f' is the gradient of the graph f, built on f's own nodes (tracing/gradients.py). Values inside f that are not results
of f are recomputed from f's operands; in a loop, from the carries before each step, which the loop returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Any

from ...engine.base.errors import NoGradientError
from ...engine.base.spec import Spec
from ...engine.core.graph import Graph
from ...engine.core.node import NamedNode, Node
from ...engine.ops import Input, TupleGet
from ...engine.tensor.symbol import Symbol
from ...tracing.gradients import gradients
from .passes.purify import Output, output_of, purify, with_values

Grads = dict[Node, Symbol]
Symbols = dict[int, Symbol]


# -- branches ---------------------------------------------------------------------------------------


def cond_gradients(op: Any, gy: Any, y: Any, p: Any, *k: Any) -> tuple[Any, ...]:
    """The gradients gk of the operands k, computed by a Cond whose branches are the gradients of op's branches."""
    names, results = fresh_names(op.true, op.false), range(len(y.spec))
    seeds = {i: argument(next(names), y.spec[i]) for i in results if gy.gys[i] is not None}
    kept = {i: argument(next(names), y.spec[i]) for i in results}
    found = [branch_gradients(graph, op, seeds, kept) for graph in op.graphs]
    reached = [j for j in range(len(k)) if any(grads[j] is not None for grads in found)]
    if not reached:
        return (None,) * (1 + len(k))
    read = set(Graph((), sum(found, ())).nodes)
    kept = {i: x for i, x in kept.items() if x.node in read}
    graphs = gradient_graphs(op, found, reached, [*seeds.values(), *kept.values()])
    gk = p.apply(type(op)(*graphs), *(gy.gys[i] for i in seeds), *(y.apply(TupleGet(i)) for i in kept), *k)
    return None, *(gk.apply(TupleGet(reached.index(j))) if j in reached else None for j in range(len(k)))


def gradient_graphs(op: Any, found: Sequence[Any], reached: Sequence[int], given: Sequence[Symbol]) -> list[Graph]:
    """For each branch, the graph that computes gradients of the `reached` operands; it reads `given` and operands."""
    nodes = [x.node for x in given]
    return [
        Graph((*nodes, *graph.inputs), tuple(grads[j] or zeros(given[0], graph.inputs[j].spec).node for j in reached))
        for graph, grads in zip(op.graphs, found)
    ]


def branch_gradients(graph: Graph, op: Any, seeds: Symbols, kept: Symbols) -> tuple[Node | None, ...]:
    """The gradient of each input of one branch; None for an input that no gradient reaches."""
    still, before = purify(graph)
    found = gradients(sum_gradients((still.outputs[i], g) for i, g in seeds.items()), floats(graph.inputs))
    grads = Graph((), tuple(found[x].node if x in found else None for x in graph.inputs))
    return with_values(grads, before, values_in(graph, kept), op).outputs


# -- loops ------------------------------------------------------------------------------------------


def loop_gradients(op: Any, scan: Any, gy: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
    """The gradients gc, gx and gk of `op`, a While or a Scan, computed by a Scan in the opposite direction."""
    steps = Reverse(op, gy.gys, y)
    like = next(g for g in gy.gys if g is not None)
    stacks = steps.stacks(xs)
    carried = (*steps.moving.values(), *steps.sums.values())
    moving = [zeros(like, g.spec) if gy.gys[i] is None else gy.gys[i] for i, g in steps.moving.items()]
    sums = [zeros(like, total.spec) for total in steps.sums.values()]
    operands = (*moving, *sums, *stacks.values(), *xs[op.carried + op.sliced :])
    inputs = (*(g.node for g in carried), *stacks, *steps.read)
    before = tuple(g.node for g in steps.moving.values())  # kept for the gradient of this Scan
    back = scan(Graph(inputs, (*steps.outputs, *before)), len(carried), len(stacks), not op.reverse, op.length)
    g = operands[0].apply(back, *operands[1:])
    places = [*(steps.carries[i] for i in steps.moving), *steps.sums, *steps.reached]
    return tuple(g.apply(TupleGet(places.index(x))) if x in places else None for x in op.body.inputs)


class Reverse:
    """One step of a loop's backward pass: the gradient of its body.

    carries    the body's inputs that are carried from step to step
    slices     the body's inputs that are one row per step
    read       the body's inputs that are the same at each step
    rows       index of a result → its incoming gradient at each step
    kept       index of a result → that result at each step
    moving     index of a carry that a gradient reaches → its gradient after the step
    sums       input in `read` → its gradient summed over the steps so far
    reached    the slices that have a gradient
    outputs    gradients of the carries before the step, then the sums including this step, then gradients of the slices
    """

    def __init__(self, op: Any, gys: Sequence[Any], y: Any):
        n, m, graph, names = op.carried, op.carried + op.sliced, op.body, fresh_names(op.body)
        self.op, self.gys, self.y, self.names = op, gys, y, names
        self.carries, self.slices, self.read = graph.inputs[:n], graph.inputs[n:m], graph.inputs[m:]
        stacks = range(n, len(graph.outputs))
        self.rows = {i: self.row(i) for i in stacks if gys[i] is not None}
        self.kept = {i: self.row(i) for i in stacks}
        self.still, before = purify(graph)
        self.moving: Symbols = {}
        found = self.gradients()
        self.sums = {x: argument(next(names), x.spec) for x in self.read if x in found}
        self.reached = [x for x in self.slices if x in found]
        like = next(iter((self.moving | self.rows).values()))
        carries = [self.carries[i] for i in self.moving]
        moved = [found[x] if x in found else zeros(like, x.spec) for x in carries]
        sums = [total + found[x] for x, total in self.sums.items()]
        outputs = tuple(g.node for g in (*moved, *sums, *(found[x] for x in self.reached)))
        self.outputs = with_values(Graph((), outputs), before, values_in(graph, self.kept), op).outputs

    def row(self, i: int) -> Symbol:
        """A new input that stands for one row of the stack of result i."""
        stack = self.y.spec[i]
        return argument(next(self.names), stack.with_shape(stack.shape[1:]))

    def gradients(self) -> Grads:
        """Input → its gradient. Iterates: a carry's gradient before a step is its gradient after the previous one."""
        reached = [i for i in range(len(self.carries)) if self.gys[i] is not None]
        while True:
            self.moving |= {i: self.after(i) for i in reached}
            arrived = ((self.still.outputs[i], g) for i, g in (self.moving | self.rows).items())
            found = gradients(sum_gradients(arrived), floats(self.op.body.inputs))
            reached = [i for i, x in enumerate(self.carries) if x in found and i not in self.moving]
            if not reached:
                return found

    def after(self, i: int) -> Symbol:
        """A new input that stands for carry i's gradient after a step. Raises NoGradientError if its shape changes."""
        before, after = self.carries[i].spec, self.op.body.outputs[i].spec
        if before != after:
            raise NoGradientError(
                f"no gradient passes through a loop variable whose shape changes from {before} to {after}: "
                "give it its full length before the loop, and write into it"
            )
        return argument(next(self.names), before)

    def stacks(self, xs: Sequence[Any]) -> dict[Node, Any]:
        """Input of the backward step that receives one row per step → the stack that supplies these rows."""
        op, y, needed = self.op, self.y, set(Graph((), self.outputs).nodes)
        n, results = op.carried, op.body.outputs
        stacks = {x.node: self.gys[i] for i, x in self.rows.items()}
        stacks |= {x.node: y.apply(TupleGet(i)) for i, x in self.kept.items() if x.node in needed}
        if missing := [x for x in self.carries if x in needed]:
            raise NoGradientError(f"backward of {op} needs {missing} of every step, which the loop did not keep")
        stacks |= {x: xs[n + j] for j, x in enumerate(self.slices) if x in needed}
        if not stacks and op.length is None:  # the number of steps is the length of a stack, so one is needed
            last = len(results) - 1
            stacks = {self.slices[0]: xs[n]} if self.slices else {self.row(last).node: y.apply(TupleGet(last))}
        return stacks


# -- both -------------------------------------------------------------------------------------------


def fresh_names(*graphs: Graph) -> Iterator[str]:
    """Names that no input of the graphs uses."""
    taken = {x.op.name for graph in graphs for x in graph.inputs}  # type: ignore[attr-defined]
    return (name for name in map("g{}".format, count()) if name not in taken)


def argument(name: str, spec: Spec) -> Symbol:
    """A symbol for a new input of that name."""
    return Symbol(NamedNode(Input(name), (), spec, name, None))


def values_in(graph: Graph, kept: Symbols) -> dict[Output, Node]:
    """Result of the graph → the input that supplies its value, for the results in `kept`.

    kept    index of a result → the symbol of that input
    """
    return {output_of(y): kept[i].node for i, y in enumerate(graph.outputs) if y is not None and i in kept}


def sum_gradients(pairs: Iterable[tuple[Any, Symbol]]) -> Grads:
    """Node → the sum of its incoming gradients."""
    sums: Grads = {}
    for node, g in pairs:
        sums[node] = sums[node] + g if node in sums else g
    return sums


def floats(inputs: Sequence[Node]) -> set[Node]:
    """The inputs that can have a gradient."""
    return {x for x in inputs if x.spec.is_float}


def zeros(like: Any, spec: Spec) -> Any:
    """Zeros of that spec, in the graph of `like`."""
    return like.lift(0).astype(spec.dtype).broadcast_to(spec.shape)
