"""Rematerialisation: what is cheap to compute again need not be kept until it is read again.

Backward reads much of what forward made. Where a value waits from one to the other, and the memory it waits in is
missing at the worst moment, an elementwise value can be made a second time from what waits anyway: at the price of
some arithmetic, and fused with its late reader, of no memory at all.

Chen et al. 2016, “Training Deep Nets with Sublinear Memory Cost”, section 3: drop the results of cheap operations.
https://arxiv.org/abs/1604.06174
"""

from __future__ import annotations

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
from ....engine.tensor.rewrite import again
from .liveness import alive_bytes, lifetimes, memory_of, ordered, peak_bytes

ROUNDS = 4  # each lowers one peak; the next may be elsewhere
SHARE = 0.1  # of the graph's flops may be spent again
LEAST = 1 << 20  # bytes: a peak that stays in the cache is not worth arithmetic

# As quick as reading what was kept: an exponential, a root or a quotient takes several times as long.
QUICK: tuple[type[Op], ...] = (
    *(Add, Sub, Mul, Neg, Abs, Maximum, Minimum, Relu, ReluDifferential, Where, Cast),
    *(Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual),
)


def remat(graph: Graph, share: float = SHARE, ops: tuple[type[Op], ...] = (Elementwise,), least: int = LEAST) -> Graph:
    """The graph with elementwise values computed again where that lowers its peak bytes; as it is where it does not.

    share    of the graph's flops may be added. Sharing common parts afterwards would undo it
    ops      of which values may be computed again: QUICK where time counts for more than memory
    least    a peak below is left alone
    """
    if peak_bytes(graph) < least:
        return graph
    best = ordered(graph)
    peak, better, most = peak_bytes(best), graph, (1 + share) * flops(graph)
    for _ in range(ROUNDS):
        tried = twice(best, most - flops(best), ops)
        if tried is best or (lower := peak_bytes(tried := ordered(tried))) >= peak:
            break
        best, peak, better = tried, lower, Graph(tried.inputs, tried.outputs)
    return better


def flops(graph: Graph) -> int:
    """Scalar operations of a run."""
    return sum(cost(node) for node in graph.nodes)


def cost(node: Node) -> int:
    """Scalar operations of one node; none of a leaf, nor of what has several results, as a loop of unknown length."""
    counted = node.inputs and not isinstance(node.spec, Specs)
    return flops_of(node.op, node.spec, *(x.spec for x in node.inputs)) if counted else 0


@lru_cache(maxsize=4096)
def flops_of(op: Op, *specs: Any) -> int:
    """What an op says that it costs: to say it, it writes its formula, and counts."""
    return op.flops(*specs)


def twice(graph: Graph, budget: float, ops: tuple[type[Op], ...]) -> Graph:
    """What waits through the worst moment, and is cheap, is made again after it, while the budget lasts."""
    order, alive = graph.nodes, alive_bytes(graph)
    worst = max(range(len(order)), key=alive.__getitem__, default=-1)
    home, lives = memory_of(order), lifetimes(graph)
    last = {x: i for i, node in enumerate(order) for x in node.inputs}
    busy = {home[x] for x in (order[worst], *order[worst].inputs)} if order else set()
    busy |= {home[y] for y in graph.outputs if y is not None}

    def waits(x: Node) -> bool:
        return not x.inputs or lives.get(home[x], (0, 0))[1] > worst

    prices: dict[Node, float] = {}  # of making a node again, from what waits
    chosen: set[Node] = set()
    for node in order[:worst]:
        if isinstance(node.op, Elementwise) and isinstance(node.op, ops) and not node.op.effect:
            price = cost(node) + sum(0 if waits(x) else prices.get(x, inf) for x in node.inputs)
            prices[node] = price
            if last.get(node, 0) > worst and node not in busy and price <= budget:
                chosen.add(node)
                budget -= price
    needed = set(chosen)
    for node in reversed(order[:worst]):
        if node in needed:
            needed.update(x for x in node.inputs if not waits(x))
    return made_late(graph, worst, [node for node in order[:worst] if node in needed])


def made_late(graph: Graph, worst: int, needed: list[Node]) -> Graph:
    """The graph where those that run after the worst moment read nodes made again, of these."""
    if not needed:
        return graph
    late: dict[Node, Node] = {}
    for node in needed:
        late[node] = new = Node(node.op, tuple(late.get(x, x) for x in node.inputs), node.spec)
        if isinstance(node, NamedNode):
            late[node] = NamedNode(new.op, new.inputs, new.spec, f"{node.name}_again", node.place)
    after = set(graph.nodes[worst + 1 :])

    def read(node: Node, inputs: tuple[Node, ...]) -> Node:
        return again(node, tuple(late.get(x, x) for x in inputs) if node in after else inputs)

    return graph.rebuild(read)
