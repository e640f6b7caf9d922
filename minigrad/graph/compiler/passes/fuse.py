"""Fusion: elementwise ops over one shape become one op, whose loop reads and writes memory once.

    y = tanh(x * a + b)     three loops, two temporary arrays      →     one loop, no temporary array

A group is a small graph of its own, the body of `Fused`. It may have several results. Its operands broadcast to the
loop's shape. A group that reads a matrix product or a convolution is its epilogue: it applies the bias and the
activation while the result is still in the cache.

Which nodes can form a group without making a cycle? Give every node a *level*, counted from the outputs: the highest
level of its readers, plus 1 if that reader is a loop that cannot include the node. Levels fall along every path that
leaves a group and enters another loop, so no path comes back: loops of equal level and shape can form one group.
Counting from the outputs also puts each node with its readers, as late as possible, to keep its result only briefly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import Any

from ....engine.base.errors import ShapeError
from ....engine.base.spec import Spec, Specs
from ....engine.core.graph import Graph
from ....engine.core.interpret import interpret
from ....engine.core.node import Node
from ....engine.core.op import Elementwise, Op
from ....engine.ops.arithmetic import Add
from ....engine.ops.convolution import Convolution, ConvolutionTranspose
from ....engine.ops.effect import TupleGet
from ....engine.ops.leaf import Const, Input
from ....engine.ops.matmul import Affine, MatMul
from ....engine.ops.movement import BroadcastTo, Reshape
from ....engine.ops.reduce import Max, Mean, Min, Sum

PRODUCTS = (MatMul, Affine, Convolution, ConvolutionTranspose)  # a group that reads one of these first is its epilogue
INPUTS = attrgetter("inputs")
LARGEST = 64  # most nodes of a group: their blocks fit into the cache, and the code stays readable


@dataclass(frozen=True)
class Fused(Op):
    """ys = body(xs): elementwise ops in one loop

    body    its inputs are a0, a1, … and broadcast to the loop's shape; its outputs have that shape, or are full
            reductions of nodes of that shape. Several outputs form a tuple; TupleGet(i) picks one
    """

    body: Graph

    inline = False

    symbol = property(lambda self: " ".join(n.op.label for n in self.body.nodes if n.inputs))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the loop."""
        return loop_shape(next(n for n in self.body.nodes if n.inputs))

    def widens(self, y: Any, *xs: Any) -> bool:
        return False  # the ops of the body widen for themselves

    def infer(self, *xs: Spec) -> Any:
        made_for = tuple(map(attrgetter("spec"), self.body.inputs))
        if xs != made_for:
            raise ShapeError(f"a fused loop built for {made_for} got {xs}: fuse after the shapes are known")
        specs = [y.spec for y in self.body.outputs if y is not None]
        return specs[0] if len(specs) == 1 else Specs(specs)

    def forward(self, xp: Any, *xs: Any) -> Any:
        ys = interpret(self.body, *xs)
        return ys[0] if len(ys) == 1 else ys

    def flops(self, y: Spec, *xs: Spec) -> int:
        return sum(n.op.flops(n.spec, *(x.spec for x in n.inputs)) for n in self.body.nodes if n.inputs)

    def __repr__(self) -> str:
        return f"Fused({self.symbol})"


@lru_cache(maxsize=1024)
def single_op_graph(op: Op, specs: tuple[Spec, ...], result: Spec | None = None) -> Graph:
    """The graph of a single op. x⁴ and x⁴·⁰ are equal ops, so the result's spec is part of the cache's key."""
    inputs = tuple(Node(Input(f"a{i}"), (), spec) for i, spec in enumerate(specs))
    return Graph(inputs, (Node(op, inputs, result),))


def is_loop(node: Node) -> bool:
    """Whether the node is elementwise, and reads an operand that is not a plain number."""
    return isinstance(node.op, Elementwise) and not node.op.effect and not all(map(is_number, node.inputs))


def is_number(x: Node) -> bool:
    """Whether x is a constant number, or a broadcast of one."""
    return isinstance(x.op, Const) or (isinstance(x.op, BroadcastTo) and isinstance(x.inputs[0].op, Const))


def is_full_reduction(node: Node) -> bool:
    """Whether the node reduces all elements to one number."""
    return type(node.op) in (Sum, Mean, Max, Min) and not node.spec.shape and bool(node.inputs[0].spec.shape)


def loop_shape(node: Node) -> tuple[int, ...]:
    """The shape over which a node of a group loops: its own, or its operand's if it reduces."""
    return node.inputs[0].spec.shape if is_full_reduction(node) else node.spec.shape


def fuse(graph: Graph, reductions: bool = False) -> Graph:
    """Replace every group of two or more elementwise nodes of one shape by one Fused node.

    reductions    full reductions join the group of their operand; in blocks, this changes the order of summing

    Nodes of a level form one group if one reads another, or if both read the same array of the loop's shape. Nothing
    is computed twice: only constants and broadcasts, which are free, are repeated in each group that reads them.
    A group of more than LARGEST nodes is split, in the order of computing.
    """
    kept = set(graph.outputs)
    made: dict[Node, Node] = {}  # a node of the graph → its replacement
    for group in fusion_groups(graph, reductions):
        if len(group) == 1:
            (node,) = group
            made[node] = node.again(tuple(map(made.__getitem__, node.inputs)))
        else:
            inside = set(group)
            results = [n for n in group if n in kept or not inside.issuperset(graph.readers[n])]
            made |= fuse_group(group, results, made)
    return Graph(graph.inputs, tuple([y and made[y] for y in graph.outputs]))


def fuse_group(group: Sequence[Node], results: Sequence[Node], made: Mapping[Node, Node]) -> dict[Node, Node]:
    """Each result of the group → the node that replaces it: the Fused node, or one piece of it."""
    free, arrays = operands_of(group)
    body: dict[Node, Node] = {x: Node(Input(f"a{i}"), (), x.spec) for i, x in enumerate(arrays)}
    inputs = tuple(body.values())
    for node in (*free, *group):
        body[node] = node.again(tuple(map(body.__getitem__, node.inputs)))
    loop = Node(Fused(Graph(inputs, tuple(map(body.__getitem__, results)))), tuple(map(made.__getitem__, arrays)))
    if len(results) == 1:
        return {results[0]: results[0].naming(loop)}
    return {y: y.naming(Node(TupleGet(i), (loop,))) for i, y in enumerate(results)}


def operands_of(group: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    """The constants and broadcasts that the loop of a group repeats, and the arrays that it reads, products first."""
    inside, shape = set(group), loop_shape(group[0])
    read = [x for x in dict.fromkeys(chain.from_iterable(map(INPUTS, group))) if x not in inside]
    free = [x for x in read if isinstance(x.op, Const) or (isinstance(x.op, BroadcastTo) and x.spec.shape == shape)]
    free = [x for broadcast in free for x in broadcast.inputs if isinstance(x.op, Const)] + free
    arrays = dict.fromkeys([x for y in read for x in (y.inputs if y in free else (y,)) if x not in free])
    return free, sorted(arrays, key=lambda x: not isinstance(x.op, PRODUCTS))


def fusion_groups(graph: Graph, reductions: bool) -> list[list[Node]]:
    """All nodes in groups, ordered so that operands come first. A node that cannot be fused is a group of one."""
    level, loops = levels(graph, reductions)
    group = Groups()
    first_reader: dict[tuple[Node, int, Any], Node] = {}
    for node in graph.nodes:
        if node in loops:
            for x in node.inputs:
                if x.spec.shape == loops[node][0] and not hasattr(x.op, "value"):
                    first = first_reader.setdefault((x, level[node], loops[node]), node)
                    if first is not node:
                        group.join(node, first)
                if level[x] == level[node] and may_join(x, node, loops):
                    group.join(node, x)
    members: dict[Node, list[Node]] = {}
    for node in graph.nodes:
        members.setdefault(group.find_root(node), []).append(node)
    ordered = sorted(members.values(), key=lambda group: (-level[group[0]], group[0] not in loops))
    return [group[i : i + LARGEST] for group in ordered for i in range(0, len(group), LARGEST)]


def levels(graph: Graph, reductions: bool) -> tuple[dict[Node, int], dict[Node, Any]]:
    """Node → its level; and node that can be fused → the shape and device of its loop."""
    loops: dict[Node, Any] = {n: (n.spec.shape, n.spec.device) for n in graph.nodes if is_loop(n)}
    if reductions:
        loops |= {n: (loop_shape(n), n.spec.device) for n in graph.nodes if is_full_reduction(n)}
    level = dict.fromkeys(graph.nodes, 0)
    for node in reversed(graph.nodes):
        for x in node.inputs:
            level[x] = max(level[x], level[node] + (node in loops and not may_join(x, node, loops)))
    for node in graph.nodes if reductions else ():
        if node in loops and is_full_reduction(node):  # its result is small: place it early, with its operand
            (x,) = node.inputs
            level[node] = level[x] - (not may_join(x, node, loops))
    return level, loops


def may_join(x: Node, node: Node, loops: Mapping[Node, Any]) -> bool:
    """Whether node can read x inside one loop."""
    return x in loops and loops[x] == loops.get(node) and not is_full_reduction(x)


class Groups:
    """A partition of nodes whose parts can be joined: union-find, with at most logarithmic steps."""

    def __init__(self) -> None:
        self.parent: dict[Node, Node] = {}

    def find_root(self, node: Node) -> Node:
        """The representative of the part that node is in."""
        while (parent := self.parent.get(node, node)) is not node:
            self.parent[node] = self.parent.get(parent, parent)  # path halving
            node = parent
        return node

    def join(self, x: Node, y: Node) -> None:
        """Merge the parts of x and y."""
        self.parent[self.find_root(x)] = self.find_root(y)


def epilogues(graph: Graph) -> Graph:
    """affine(x, W, b) → affine(x, W) + b if all its readers are loops, which can add b; the same for convolution."""
    kept = set(graph.outputs)

    def split_bias(node: Node, inputs: tuple[Node, ...]) -> Node:
        if len(inputs) < 3 or node in kept:
            return node.again(inputs)
        if not all(is_loop(reader) and reader.spec.shape == node.spec.shape for reader in graph.readers[node]):
            return node.again(inputs)
        x, w, b = inputs
        if isinstance(node.op, Convolution):
            b = Node(Reshape((b.spec.shape[0], *[1] * (node.spec.ndim - 2))), (b,))
        return Node(Add(), (node.naming(Node(node.op, (x, w)), "/product"), b), node.spec)

    return graph.rebuild(split_bias, (Affine, Convolution))
