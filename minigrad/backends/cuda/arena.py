"""Which results may share memory on a GPU: every buffer at one place of one block, for good.

Replaying needs addresses that never change. So what kernels and matrix products write is placed beforehand: two
results have the same bytes only if one is read for the last time before the other is written. A kernel may write over
an operand that it reads at the very element it writes; and a parameter's next value over the parameter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...base.spec import Specs
from ...compiler.passes.liveness import Ordered, memory_of
from ...compiler.program.memory_plan import Allocation, assign_offsets
from ...core.graph import Graph
from ...core.node import Node
from ...ops import TupleGet


@dataclass(eq=False)
class Arena:
    """Where results are.

    home      node → the node whose memory it is in
    last      node that makes an array → the place in the order of who reads it last; of results, one beyond
    buffers   node that makes an array → its memory
    results   writer → its results, by number: itself, or its pieces
    over      loop → (which result, which operand): what it writes over an operand
    adopted   node → the input in whose own array it is written
    size      bytes of it all
    """

    home: dict[Node, Node]
    last: dict[Node, int]
    buffers: dict[Node, Allocation] = field(default_factory=dict)
    results: dict[Node, dict[int, Node]] = field(default_factory=dict)
    over: dict[Node, frozenset[tuple[int, int]]] = field(default_factory=dict)
    adopted: dict[Node, Node] = field(default_factory=dict)
    size: int = 0


def arena(graph: Graph, writers: Mapping[Node, str], into: Mapping[Node, Node]) -> Arena:
    """The memory of what the writers make.

    writers   node that writes where it is told → how: a "kernel" may write over what it reads
    into      result → the input that shall become it
    """
    order = graph.nodes
    place = {node: i for i, node in enumerate(order)}
    found = Arena(memory_of(order), dict(place))
    for i, node in enumerate(order):
        for x in node.inputs:
            found.last[found.home[x]] = i
    for y in graph.outputs:
        if y is not None:
            found.last[found.home[y]] = len(order)
    for node in order:
        if node in writers and not isinstance(node.spec, Specs):
            found.results[node] = {0: node}
        elif isinstance(node.op, TupleGet) and node.inputs[0] in writers:
            one = found.results.setdefault(node.inputs[0], {}).setdefault(node.op.i, node)
            found.last[one] = max(found.last[one], found.last[node])  # two pieces of one number are one array
    for node, route in writers.items():
        ys = found.results[node]
        over = {i: settled(found, node, y, place[node], route == "kernel", into) for i, y in ys.items()}
        found.over[node] = frozenset((i, k) for i, k in over.items() if k is not None)
    found.size = assign_offsets(dict.fromkeys(found.buffers.values()))
    return found


def late(graph: Graph, into: Mapping[Node, Node]) -> Graph:
    """The graph in an order in which, where that can be, a parameter's next value is made once the old one was read."""
    order = graph.nodes
    home = memory_of(order)
    place: dict[Node, float] = {node: i for i, node in enumerate(order)}
    readers: dict[Node, list[Node]] = {}  # of a node; and of the memory it is in
    for node in order:
        for x in dict.fromkeys((*node.inputs, *(home[x] for x in node.inputs))):
            readers.setdefault(x, []).append(node)
    for y, target in into.items():
        maker = y.inputs[0] if isinstance(y.op, TupleGet) else y
        family = [maker, *(r for r in readers.get(maker, ()) if isinstance(r.op, TupleGet))]
        if all(set(readers.get(member, ())) <= set(family) for member in family):
            read = max((place[r] for r in readers.get(target, ()) if r not in family), default=-1)
            if read > place[maker]:
                place |= {member: read + (1 + i) / (1 + len(order)) for i, member in enumerate(family)}
    return Ordered(graph.inputs, graph.outputs, tuple(sorted(order, key=place.__getitem__)))


def settled(found: Arena, node: Node, y: Node, now: int, may_overwrite: bool, into: Mapping[Node, Node]) -> int | None:
    """Gives the result y of a node its memory. The operand that it is written over, if it is."""
    target = into.get(y)
    if target is not None and target.spec == y.spec and found.last.get(target, -1) <= now:
        k = alone(found, node, target) if may_overwrite else None
        if k is not None or found.last.get(target, -1) < now:
            found.adopted[y] = target
            return k
    for k, x in enumerate(node.inputs if may_overwrite else ()):
        buffer = found.buffers.get(x)
        free = buffer is not None and x.spec == y.spec and found.last[x] == now and buffer.last == now
        if free and alone(found, node, x) == k:
            assert buffer is not None
            found.buffers[y] = buffer
            buffer.last = found.last[y]
            return k
    found.buffers[y] = Allocation(y.spec.nbytes, now, found.last[y])
    return None


def alone(found: Arena, node: Node, x: Node) -> int | None:
    """Which operand of the node x is, if no other looks at its memory."""
    near = [k for k, operand in enumerate(node.inputs) if found.home[operand] is x]
    return near[0] if len(near) == 1 and node.inputs[near[0]] is x else None
