"""When each node runs, and what is alive meanwhile.

An array is alive from the node that makes it to the last one that reads it, itself or through a view; results to the
end. The most bytes alive at one moment is the peak, and it depends on the order: a gradient that waits while the next
ones are computed is memory that waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import accumulate

from ..node import Node
from ..ops import Piece
from ..spec import Specs
from .graph import Graph


@dataclass(frozen=True)
class Ordered(Graph):
    """A graph that also says in which order its nodes run. A pass over it starts from an order of its own."""

    order: tuple[Node, ...] = ()

    @cached_property
    def nodes(self) -> list[Node]:
        return list(self.order)

    def rebuild(self, make):  # type: ignore[no-untyped-def]
        return Graph(self.inputs, self.outputs).rebuild(make)


def memory_of(order: Sequence[Node]) -> dict[Node, Node]:
    """Node → whose memory it is in: its own, or, for a view, its operand's. Of several results each has its own."""
    home: dict[Node, Node] = {}
    for node in order:
        is_view = node.op.is_view and node.inputs and not isinstance(node.op, Piece)
        home[node] = home[node.inputs[0]] if is_view else node
    return home


def stored(node: Node) -> int:
    """Bytes of the array that a node makes: of several results, its pieces make them."""
    return 0 if isinstance(node.spec, Specs) or not node.inputs else node.spec.nbytes


def lifetimes(graph: Graph) -> dict[Node, tuple[int, int]]:
    """Node that makes an array → (when it is made, when it is read for the last time), counted in nodes.

    What is given, an input or a constant, is not made. Results live to the end.
    """
    order, home = graph.nodes, memory_of(graph.nodes)
    last: dict[Node, int] = {}
    for i, node in enumerate(order):
        for x in (node, *node.inputs):
            last[home[x]] = i
    for y in graph.outputs:
        if y is not None:
            last[home[y]] = len(order) - 1
    place = {node: i for i, node in enumerate(order)}
    return {
        node: (place[node.inputs[0]] if isinstance(node.op, Piece) else i, last[node])
        for i, node in enumerate(order)
        if home[node] is node and stored(node)
    }


def alive_bytes(graph: Graph) -> list[int]:
    """For each node in turn: bytes of computed arrays alive while it runs, its operands and its result among them."""
    change = [0] * (len(graph.nodes) + 1)
    for node, (made, read) in lifetimes(graph).items():
        change[made] += stored(node)
        change[read + 1] -= stored(node)
    return list(accumulate(change))[:-1]


def peak_bytes(graph: Graph) -> int:
    """Most bytes of computed arrays alive at one moment of a run, op by op; inputs and constants are not counted."""
    return max(alive_bytes(graph), default=0)


def bytes_moved(graph: Graph) -> int:
    """Bytes read and written, each node reading its operands and writing its result; a view moves none.

    A broadcast operand is read at the size it is stored in.
    """
    home = memory_of(graph.nodes)
    moved = 0
    for node in graph.nodes:
        if home[node] is node and node.inputs and not isinstance(node.op, Piece):
            read = {home[x]: min(x.spec.nbytes, home[x].spec.nbytes) for x in node.inputs}
            moved += node.spec.nbytes + sum(read.values())
    return moved


def users_of(needs: Mapping[Node, Iterable[Node]]) -> dict[Node, list[Node]]:
    """Node → those that need it, which each say once what they need."""
    users: dict[Node, list[Node]] = {node: [] for node in needs}
    for node, xs in needs.items():
        for x in xs:
            users[x].append(node)
    return users


def ordered(graph: Graph) -> Graph:
    """The graph in an order of lower peak, if one is found: next runs what adds the fewest bytes, of all that can run.

    What a node adds is its result, less the operands that nobody else will read. Of equals, the earlier one.
    """
    plain = Graph(graph.inputs, graph.outputs)
    found = Ordered(graph.inputs, graph.outputs, tuple(greedy(plain)))
    return found if peak_bytes(found) < peak_bytes(plain) else plain


def greedy(graph: Graph) -> list[Node]:
    """The nodes, of those that can run always the one that adds the fewest bytes next."""
    home = memory_of(graph.nodes)
    arrays = {node: tuple({home[x] for x in node.inputs}) for node in graph.nodes}
    needs = {node: set(node.inputs) for node in graph.nodes}
    users, missing = users_of(needs), {node: len(xs) for node, xs in needs.items()}
    waiting = {x: set(readers) for x, readers in users_of(arrays).items()}  # an array → those still to read it
    kept = {home[y] for y in graph.outputs if y is not None}
    place = {node: i for i, node in enumerate(graph.nodes)}

    def adds(node: Node) -> int:
        made = node.spec.nbytes if home[node] is node and node.inputs and not isinstance(node.op, Piece) else 0
        return made - sum(stored(x) for x in arrays[node] if len(waiting[x]) == 1 and x not in kept)

    ready = [(adds(node), place[node], node) for node in graph.nodes if not missing[node]]
    heapify(ready)
    order: list[Node] = []
    done: set[Node] = set()
    while ready:
        node = heappop(ready)[2]
        if node in done:
            continue
        done.add(node)
        order.append(node)
        for user in users[node]:
            missing[user] -= 1
            if not missing[user]:
                heappush(ready, (adds(user), place[user], user))
        for x in arrays[node]:
            waiting[x].discard(node)
            if len(waiting[x]) == 1 and x.inputs:
                (last,) = waiting[x]
                if not missing[last] and last not in done:
                    heappush(ready, (adds(last), place[last], last))
    return order
