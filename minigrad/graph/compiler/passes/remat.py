"""Rematerialisation: recompute cheap values instead of keeping them.

Backward reads many values that forward made, so they stay alive through the peak. An elementwise value can be
recomputed later from values that are alive anyway: this costs arithmetic, but no memory if fused with its reader.

Chen et al. 2016, “Training Deep Nets with Sublinear Memory Cost”, section 3: drop the results of cheap operations.
https://arxiv.org/abs/1604.06174
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import inf
from typing import Any

from ....engine.base.spec import Specs
from ....engine.core.graph import Graph
from ....engine.core.node import NamedNode, Node
from ....engine.core.op import Elementwise, Op
from ....engine.ops.activation import Relu, ReluDifferential
from ....engine.ops.arithmetic import Add, Mul, Neg, Sub
from ....engine.ops.comparison import Equal, Greater, GreaterEqual, Less, LessEqual, Maximum, Minimum, NotEqual, Where
from ....engine.ops.pointwise import Abs, Cast
from .liveness import alive_bytes, lifetimes, memory_of, ordered, peak_bytes

ROUNDS = 4  # each round lowers one peak, and the next peak may be elsewhere
SHARE = 0.1  # the share of the graph's flops that may be added
LEAST = 1 << 20  # bytes: a smaller peak stays in the cache, and is not worth arithmetic

# Ops as fast as reading a stored value; an exponential, a root or a quotient takes several times as long.
QUICK: tuple[type[Op], ...] = (
    *(Add, Sub, Mul, Neg, Abs, Maximum, Minimum, Relu, ReluDifferential, Where, Cast),
    *(Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual),
)


def remat(graph: Graph, share: float = SHARE, ops: tuple[type[Op], ...] = (Elementwise,), least: int = LEAST) -> Graph:
    """The graph with some elementwise values recomputed, if that lowers its peak bytes; else the graph itself.

    share    the share of the graph's flops that may be added. (The pass `share` would undo this pass.)
    ops      ops whose values may be recomputed: QUICK where time matters more than memory
    least    a graph whose peak is below this number of bytes is returned unchanged
    """
    if peak_bytes(graph) < max(least, 1):
        return graph
    best = ordered(graph)
    peak, better, most = peak_bytes(best), graph, (1 + share) * flops(graph)
    for _ in range(ROUNDS):
        tried = rematerialise_once(best, most - flops(best), ops)
        if tried is best or (lower := peak_bytes(tried := ordered(tried))) >= peak:
            break
        best, peak, better = tried, lower, Graph(tried.inputs, tried.outputs)
    return better


def flops(graph: Graph) -> int:
    """Scalar operations of one run of the graph."""
    return sum(cost(node) for node in graph.nodes)


def cost(node: Node) -> int:
    """Scalar operations of one node; 0 for a leaf, and for ops with several results, such as loops."""
    counted = node.inputs and not isinstance(node.spec, Specs)
    return flops_of(node.op, node.spec, *(x.spec for x in node.inputs)) if counted else 0


@lru_cache(maxsize=4096)
def flops_of(op: Op, *specs: Any) -> int:
    """The op's own count of its flops, cached because the op writes out its whole formula to count them."""
    return op.flops(*specs)


def rematerialise_once(graph: Graph, budget: float, ops: tuple[type[Op], ...]) -> Graph:
    """The graph with cheap values that live through the peak recomputed after the peak, with at most `budget` flops."""
    order, alive = graph.nodes, alive_bytes(graph)
    worst = max(range(len(order)), key=alive.__getitem__)
    home, lives = memory_of(order), lifetimes(graph)
    last = {x: i for i, node in enumerate(order) for x in node.inputs}
    busy = {home[x] for x in (order[worst], *order[worst].inputs, *graph.outputs) if x is not None}

    def waits(x: Node) -> bool:
        return not x.inputs or lives.get(home[x], (0, 0))[1] > worst

    prices: dict[Node, float] = {}  # node → flops to recompute it from values that are alive anyway
    chosen: set[Node] = set()
    for node in order[:worst]:
        if isinstance(node.op, Elementwise) and isinstance(node.op, ops) and not node.op.effect:
            price = cost(node) + sum(0 if waits(x) else prices.get(x, inf) for x in node.inputs)
            prices[node] = price
            if last.get(node, 0) > worst and node not in busy and price <= budget:
                chosen.add(node)
                budget -= price
    return made_late(graph, worst, with_operands(chosen, order[:worst], waits))


def with_operands(chosen: set[Node], order: Sequence[Node], waits: Callable[[Node], bool]) -> list[Node]:
    """In order, the chosen nodes and the operands to recompute for them, because these are not alive after the peak."""
    needed = set(chosen)
    for node in reversed(order):
        if node in needed:
            needed.update(x for x in node.inputs if not waits(x))
    return [node for node in order if node in needed]


def made_late(graph: Graph, worst: int, needed: list[Node]) -> Graph:
    """The graph in which nodes after the peak, at index `worst`, read recomputed copies of the `needed` nodes."""
    if not needed:
        return graph
    late: dict[Node, Node] = {}
    for node in needed:
        late[node] = new = Node(node.op, tuple(late.get(x, x) for x in node.inputs), node.spec)
        if isinstance(node, NamedNode):
            late[node] = NamedNode(new.op, new.inputs, new.spec, f"{node.name}_again", node.place)
    after = set(graph.nodes[worst + 1 :])

    def read(node: Node, inputs: tuple[Node, ...]) -> Node:
        return node.again(tuple(late.get(x, x) for x in inputs) if node in after else inputs)

    return graph.rebuild(read)
