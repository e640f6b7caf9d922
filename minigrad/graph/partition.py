"""Partition a graph into forward and backward: choose the values that forward saves for backward.

The derivative of a graph is another graph, which reads values of the first. Saving all of them would waste memory: some
(a comparison, a sum with a bias, a transposed view) are cheap to recompute from values that are saved anyway. So the
partition starts at the values that backward reads, and moves back through cheap ops as long as that saves bytes. This
is greedy; PyTorch uses a minimum cut (Horace He 2022, “Min-cut optimal recomputation with AOTAutograd”).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from ..autograd.function_in_graph import Custom
from ..engine import ops
from ..engine.base.errors import NoGradientError
from ..engine.base.spec import Specs
from ..engine.core.graph import Graph
from ..engine.core.node import NamedNode, Node
from ..engine.ops.comparison import Predicate
from ..engine.ops.pointwise import Flat
from ..engine.tensor.rewrite import optimise
from ..engine.tensor.symbol import placeholder
from ..tracing.gradients import gradients

CHEAP = (
    ops.Add, ops.Sub, ops.Mul, ops.Div, ops.Neg, ops.Abs, ops.Maximum, ops.Minimum, ops.Clamp, ops.Where, ops.Relu,
    ops.Cast, ops.BroadcastTo, Predicate, Flat,
)  # fmt: skip


class Partition:
    """forward: inputs → (results, saved values); backward: (gradients of results, saved values) → gradients of inputs.

    graph      the whole graph, as it runs without gradients
    wanted     for each input, whether it requires a gradient
    moved      inputs that are overwritten after forward, so that copies of them are saved
    reached    nodes through which a gradient reaches a wanted input
    results    indices of the outputs from which a gradient reaches a wanted input
    pieces     (op with several results, index) → the node of that result, even if only the derivative reads it
    kept       the nodes whose values are saved, in order
    forward    the graph that also returns the saved values
    """

    def __init__(self, graph: Graph, wanted: Sequence[bool], moved: Collection[Node] = ()):
        self.graph = graph
        self.sources = [x for x, want in zip(graph.inputs, wanted, strict=True) if want]
        rows = [(x, len(x.spec)) for x in graph.nodes if several(x)]  # type: ignore[arg-type]  # a Specs has a length
        self.pieces = {(x, i): Node(ops.TupleGet(i), (x,)) for x, n in rows for i in range(n)}
        self.pieces |= {(x.inputs[0], x.op.i): x for x in graph.nodes if isinstance(x.op, ops.TupleGet)}
        self.order = list(dict.fromkeys((*graph.inputs, *graph.nodes, *self.pieces.values())))
        self.nodes = set(self.order)
        self.reached = flowing(self.order, self.sources)
        self.results = [i for i, y in enumerate(graph.outputs) if y in self.reached and y.spec.is_float]
        self.keep_what_backward_reads()
        copies = [Node(ops.Clone(), (x,)) if x in moved else x for x in self.kept]
        self.inner = [i for i, x in enumerate(copies) if not isinstance(x.op, ops.Input)]
        self.forward = Graph(graph.inputs, (*graph.outputs, *(copies[i] for i in self.inner)))

    def keep_what_backward_reads(self) -> None:
        """Choose the nodes to save, so that gradients of any results, and of the saved values, can be computed."""
        read = {*self.gradient_graph(tuple(self.results))[1]}
        self.kept = choose_saved(self.order, read)
        while any(isinstance(x.op, Custom) or several(x) for x in self.graph.nodes):  # whose backward may read anything
            for numbers in {(*self.results, *self.numbers()), *((i,) for i in self.results)}:
                read.update(self.gradient_graph(numbers)[1])  # `read` only grows, so the loop ends
            before, self.kept = self.kept, choose_saved(self.order, read)
            if before == self.kept:
                break

    def node(self, number: int) -> Node:
        """The node at which the gradient with this index arrives. Indices count the outputs, then the saved values."""
        n = len(self.graph.outputs)
        y = self.graph.outputs[number] if number < n else self.kept[number - n]
        assert y is not None  # no gradient arrives at a missing output
        return y

    def numbers(self) -> list[int]:
        """The indices of the saved values from which a gradient reaches a wanted input."""
        n = len(self.graph.outputs)
        return [n + i for i, x in enumerate(self.kept) if x in self.reached and x.spec.is_float]

    def gradient_graph(self, numbers: tuple[int, ...]) -> tuple[Graph, list[Node]]:
        """The graph from arriving gradients to the gradients of the wanted inputs; and the nodes whose values it reads.

        The graph's inputs are the arriving gradients, then one Input for each of these nodes, in the same order.
        """
        gys = [placeholder(f"gy{i}", self.node(i).spec) for i in numbers]
        seeds: dict[Node, Any] = {}
        for i, gy in zip(numbers, gys):
            y = self.node(i)
            seeds[y] = seeds[y] + gy if y in seeds else gy
        found = gradients(seeds, self.sources)
        outputs = tuple(found[x].node if x in found else None for x in self.sources)
        slots: dict[Node, Node] = {}

        def cut(node: Node, inputs: tuple[Node, ...]) -> Node:
            if isinstance(node.op, ops.TupleGet):
                node = self.pieces.get((node.inputs[0], node.op.i), node)
            if node not in self.nodes or isinstance(node.op, ops.Const):
                return node.with_inputs(inputs)
            if several(node):
                return node  # its pieces are read instead
            return slots.setdefault(node, slot(node, f"k{len(slots)}"))

        backward = optimise(Graph((), outputs).rebuild(cut))
        present = {*backward.nodes}
        read = [node for node, slot in slots.items() if slot in present]
        return Graph((*(gy.node for gy in gys), *(slots[node] for node in read)), backward.outputs), read

    def backward(self, numbers: tuple[int, ...]) -> Graph:
        """The backward graph of arriving gradients and saved values. Raises NoGradientError if these do not suffice."""
        graph, read = self.gradient_graph(numbers)
        slots = [slot(x, f"k{i}") for i, x in enumerate(self.kept)]
        known = dict(zip(self.kept, slots))
        remade = recompute_nodes(read, known)
        arriving, places = graph.inputs[: len(numbers)], dict(zip(graph.inputs[len(numbers) :], remade))
        whole = graph.rebuild(lambda node, inputs: places[node] if node in places else node.with_inputs(inputs))
        return Graph((*arriving, *slots), whole.outputs)


def slot(node: Node, name: str) -> Node:
    """An input for the value of a node, which keeps the name and the source line of the node."""
    return NamedNode(ops.Input(name), (), node.spec, getattr(node, "name", name), getattr(node, "place", None))


def several(node: Node) -> bool:
    """Whether the node has several results."""
    return isinstance(node.spec, Specs)


def flowing(order: Iterable[Node], sources: Collection[Node]) -> set[Node]:
    """The nodes of `order` from which a gradient reaches a source."""
    found = set(sources)
    for node in order:
        is_after, stops = isinstance(node.op, ops.ControlDep), isinstance(node.op, ops.StopGradient)
        through = node.inputs[:1] if is_after else node.inputs[1:] if stops else node.inputs
        carries = isinstance(node.spec, Specs) or node.spec.is_float
        if carries and not found.isdisjoint(through):
            found.add(node)
    return found


def is_cheap(node: Node) -> bool:
    """Whether the node is cheaper to recompute than to save."""
    is_look = node.op.is_view and not isinstance(node.op, ops.TupleGet)
    return bool(node.inputs) and not node.op.effect and (is_look or isinstance(node.op, CHEAP))


def choose_saved(order: Sequence[Node], read: Iterable[Node]) -> list[Node]:
    """The nodes to save so that all of `read` can be recomputed by cheap ops, with fewer bytes."""
    price: dict[Node, int] = {}  # bytes to save a node; for a cheap node, its inputs instead if they are smaller
    for node in order:
        own = 0 if isinstance(node.op, ops.Const | ops.Input) else node.spec.nbytes
        price[node] = min(own, sum(price[x] for x in node.inputs)) if is_cheap(node) else own
    needed = set(read)
    for node in reversed(order):
        if node in needed and is_cheap(node):
            more = {x for x in node.inputs if x not in needed and not isinstance(x.op, ops.Const)}
            if sum(price[x] for x in more) < node.spec.nbytes:
                needed.remove(node)
                needed |= more
    return [node for node in order if node in needed]


def recompute_nodes(wanted: Sequence[Node], known: dict[Node, Node]) -> list[Node]:
    """Copies of the wanted nodes, computed from the known ones."""
    made = dict(known)
    stack = list(reversed(wanted))
    while stack:
        node = stack[-1]
        missing = [x for x in node.inputs if x not in made]
        if node in made:
            stack.pop()
        elif missing:
            stack += missing
        elif isinstance(node.op, ops.Input) or node.op.effect:
            raise NoGradientError(
                f"a derivative of this order reads {node}, which a traced function does not keep: call its "
                ".python_function, whose ops are recorded one by one"
            )
        else:
            made[node] = node.with_inputs(tuple(made[x] for x in node.inputs))
            stack.pop()
    return [made[x] for x in wanted]
