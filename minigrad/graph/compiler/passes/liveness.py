"""Liveness: when each node runs, and which arrays are alive then.

An array is alive from the node that makes it to the last node that reads it or a view of it; results live to the end.
The peak is the most bytes alive at one time. It depends on the order: a gradient that waits while others are computed
occupies memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from itertools import accumulate
from typing import TypeVar

from ....engine.base.spec import Spec, Specs
from ....engine.core.graph import Graph
from ....engine.core.node import Node
from ....engine.ops import TupleGet
from ....engine.ops.effect import PassThroughEffect

T = TypeVar("T")


@dataclass(frozen=True)
class Ordered(Graph):
    """A graph with a fixed order of its nodes. A pass that rebuilds the graph drops the order."""

    order: tuple[Node, ...] = ()

    @cached_property
    def nodes(self) -> list[Node]:
        return list(self.order)

    def with_outputs(self, outputs: tuple[Node | None, ...]) -> Graph:
        """The graph with these outputs; new nodes run last."""
        nodes, known = Graph(self.inputs, outputs).nodes, set(self.order)
        needed = set(nodes)
        order = [n for n in self.order if n in needed] + [n for n in nodes if n not in known]
        return Ordered(self.inputs, outputs, tuple(order))

    def rebuild(self, make, ops=None):  # type: ignore[no-untyped-def]
        return Graph(self.inputs, self.outputs).rebuild(make, ops)


def memory_of(order: Sequence[Node]) -> dict[Node, Node]:
    """Node → the node whose memory it uses: itself, or a view's operand. Each of several results owns its memory."""
    home: dict[Node, Node] = {}
    for node in order:
        passes_on = (node.op.is_view or isinstance(node.op, PassThroughEffect)) and node.inputs
        is_view = passes_on and not isinstance(node.op, TupleGet)
        home[node] = home[node.inputs[0]] if is_view else node
    return home


def stored_bytes(node: Node) -> int:
    """Bytes of the array that a node makes; 0 if it has several results, whose pieces count instead."""
    spec = node.spec
    return spec.nbytes if node.inputs and not isinstance(spec, Specs) and spec.is_known else 0


def known_bytes(spec: Spec | Specs) -> int:
    """Bytes of storage; 0 for an array whose length is known only at run time."""
    if isinstance(spec, Specs):
        return sum(map(known_bytes, spec))
    return spec.nbytes if spec.is_known else 0


def lifetimes(graph: Graph) -> dict[Node, tuple[int, int]]:
    """Node that makes an array → (index of the node that makes it, index of the last node that reads it).

    Inputs and constants are not included. Results live to the end.
    """
    order, home = graph.nodes, memory_of(graph.nodes)
    last: dict[Node, int] = {}
    for i, node in enumerate(order):
        last[home[node]] = i
        for x in node.inputs:
            last[home[x]] = i
    for y in graph.outputs:
        if y is not None:
            last[home[y]] = len(order) - 1
    place = {node: i for i, node in enumerate(order)}
    return {
        node: (place[node.inputs[0]] if isinstance(node.op, TupleGet) else i, last[node])
        for i, node in enumerate(order)
        if home[node] is node and node.inputs and stored_bytes(node)
    }


def alive_bytes(graph: Graph) -> list[int]:
    """For each node in order: bytes of computed arrays alive while it runs, including its operands and its result."""
    change = [0] * (len(graph.nodes) + 1)
    for node, (made, read) in lifetimes(graph).items():
        size = node.spec.nbytes
        change[made] += size
        change[read + 1] -= size
    return list(accumulate(change))[:-1]


def peak_bytes(graph: Graph) -> int:
    """The most bytes of computed arrays alive at one time in a run op by op, without inputs and constants."""
    return max(alive_bytes(graph), default=0)


def bytes_moved(graph: Graph) -> int:
    """Bytes read and written if each node reads its operands and writes its result; a view moves none."""
    home = memory_of(graph.nodes)
    return sum(moved_by(node, home) for node in graph.nodes)


def moved_by(node: Node, home: Mapping[Node, Node]) -> int:
    """Bytes that one node reads and writes. A broadcast operand counts as the bytes it is stored in.

    home    node → the node whose memory it uses
    """
    if home[node] is not node or not node.inputs or isinstance(node.op, TupleGet):
        return 0
    read = {home[x]: min(known_bytes(x.spec), known_bytes(home[x].spec)) for x in node.inputs}
    return known_bytes(node.spec) + sum(read.values())


def users_of(needs: Mapping[T, Iterable[T]]) -> dict[T, list[T]]:
    """Node → the nodes that need it. `needs` lists each operand of a node once."""
    users: dict[T, list[T]] = {node: [] for node in needs}
    for node, xs in needs.items():
        for x in xs:
            users[x].append(node)
    return users


def ordered(graph: Graph) -> Graph:
    """The graph in an order with a lower peak, if one is found: always run the ready node that adds fewest bytes.

    A node adds its result minus the operands that no other node will read. Ties go to the earlier node.
    """
    plain = Graph(graph.inputs, graph.outputs)
    early = greedy(plain)
    orders = (delay_nodes(early, graph.outputs), early)
    return min(plain, *(Ordered(graph.inputs, graph.outputs, tuple(order)) for order in orders), key=peak_bytes)


def delay_nodes(order: Sequence[Node], outputs: Collection[Node | None]) -> list[Node]:
    """The same order, but nodes that free no more bytes than they make move to just before their first reader.

    This delays rematerialised nodes: they read values that stay alive for other readers anyway.
    """
    home = memory_of(order)
    before: list[list[Node]] = [[] for _ in order]  # the nodes moved to before the node at that index
    first = dict.fromkeys(order, len(order))  # index of the first reader of a node
    last: dict[Node, int] = {home[y]: len(order) for y in outputs if y is not None}  # the last reader of an array
    for i, node in reversed(list(enumerate(order))):
        at = first[node]
        freed = sum([stored_bytes(x) for x in {*map(home.__getitem__, node.inputs)} if last.get(x, -1) < at])
        if at == len(order) or not node.inputs or freed > (stored_bytes(node) if home[node] is node else 0):
            at = i
        before[at].append(node)
        for x in node.inputs:
            first[x] = min(first[x], at)
            last[home[x]] = max(last.get(home[x], -1), at)
    return [node for nodes in before for node in reversed(nodes)]


def greedy(graph: Graph) -> list[Node]:
    """The nodes, in an order that always continues with the ready node that adds the fewest bytes.

    Each array keeps the number of its remaining readers and the sum of their indices. When one reader is left, the sum
    is the index of this reader.
    """
    g = IndexedGraph(graph)
    missing = [len(xs) for xs in g.inputs]
    left, readers = [0] * len(missing), [0] * len(missing)
    for i, arrays in enumerate(g.arrays):
        for x in arrays:
            left[x] += 1
            readers[x] += i

    def adds(i: int) -> int:
        return g.made[i] - sum([g.freed[x] for x in g.arrays[i] if left[x] == 1])

    ready = sorted((adds(i), i) for i, count in enumerate(missing) if not count)
    order: dict[int, Node] = {}
    while ready:
        _, i = heappop(ready)
        if i in order:
            continue
        order[i] = graph.nodes[i]
        for user in g.users[i]:
            missing[user] -= 1
            if not missing[user]:
                heappush(ready, (adds(user), user))
        for x in g.arrays[i]:
            left[x] -= 1
            readers[x] -= i
            if left[x] == 1 and g.freed[x] and not missing[readers[x]]:
                heappush(ready, (adds(readers[x]), readers[x]))
    return list(order.values())


class IndexedGraph:
    """A graph whose nodes are numbered in order.

    inputs    of each node: its operands, without repeats
    users     of each node: the nodes that read it
    arrays    of each node: the arrays it reads, as the nodes that made them
    made      of each node: the bytes it adds
    freed     of each array: the bytes freed after its last reader; 0 for a result
    """

    def __init__(self, graph: Graph):
        nodes = graph.nodes
        place = {node: i for i, node in enumerate(nodes)}
        home = [place[node] for node in memory_of(nodes).values()]
        self.inputs = [{*map(place.__getitem__, node.inputs)} for node in nodes]
        self.users = list(users_of(dict(enumerate(self.inputs))).values())
        self.arrays = [tuple({*map(home.__getitem__, xs)}) for xs in self.inputs]
        kept = {home[place[y]] for y in graph.outputs if y is not None}
        self.freed = [0 if i in kept else stored_bytes(node) for i, node in enumerate(nodes)]
        owns = [home[i] == i and node.inputs and not isinstance(node.op, TupleGet) for i, node in enumerate(nodes)]
        self.made = [known_bytes(node.spec) if own else 0 for node, own in zip(nodes, owns)]
