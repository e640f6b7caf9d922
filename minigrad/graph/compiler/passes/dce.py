"""Dead code elimination: remove what no result of the graph needs.

A graph holds only nodes that an output reaches, so most dead code disappears without a pass. This pass removes waits
for nodes without an effect, and narrows branches and loops to the results that are read, also inside their graphs. A
loop returns the carries of every step in case backward needs them. Unread carries are dropped, then unused operands.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import repeat
from typing import Any

from ....engine.core.graph import Graph
from ....engine.core.node import Node
from ....engine.ops import ControlDep, TupleGet
from .purify import graphs_of


def dce(graph: Graph) -> Graph:
    """The graph without dead code."""
    return without_waits(narrow_graph(graph))


def without_waits(graph: Graph) -> Graph:
    """x after (waits)  →  x after the waits that have or depend on an effect;  x after no waits  →  x"""
    if ControlDep not in graph.kinds:
        return graph
    effects: set[Node] = set()

    def waiting(node: Node, inputs: tuple[Node, ...]) -> Node:
        new = node.again(inputs)
        if type(node.op) is ControlDep:
            x, *waits = inputs
            needed = tuple(dict.fromkeys(w for w in waits if w in effects and w is not x))
            new = x if not needed else new if len(needed) == len(waits) else Node(node.op, (x, *needed), node.spec)
        if new.op.effect or not effects.isdisjoint(new.inputs):
            effects.add(new)
        return new

    return graph.rebuild(waiting)


Narrowed = tuple[Any, list[int], list[int]]


def narrow_graph(graph: Graph, known: dict[Any, Narrowed] | None = None) -> Graph:
    """The graph, with each branch and loop reduced to the results, carries and operands that something reads.

    known    a cache: an inner loop is narrowed again whenever an outer loop turns out to read more of its results
    """
    if not any(map(hasattr, graph.kinds, repeat("gives"))):
        return graph
    known = {} if known is None else known
    read: dict[Node, set[int]] = {node: set() for node in graph.nodes if hasattr(node.op, "gives")}
    for node in graph.nodes:
        if isinstance(node.op, TupleGet) and node.inputs[0] in read:
            read[node.inputs[0]].add(node.op.i)
    left: dict[Node, list[int]] = {}

    def smaller(node: Node, inputs: tuple[Node, ...]) -> Node:
        if node in read and node not in graph.outputs:
            key = node.op, frozenset(read[node]), len(inputs)
            if key not in known:
                known[key] = narrow_op(*key, known)
            op, left[node], used = known[key]
            return node.with_inputs(inputs) if op is node.op else Node(op, tuple(inputs[j] for j in used))
        if isinstance(node.op, TupleGet) and node.inputs[0] in left:
            i = left[node.inputs[0]].index(node.op.i)
            return node.with_inputs(inputs) if i == node.op.i else Node(TupleGet(i), inputs)
        return node.with_inputs(inputs)

    return graph.rebuild(smaller)


def narrow_op(op: Any, read: Collection[int], operands: int, known: dict[Any, Narrowed]) -> Narrowed:
    """The op narrowed to the results in `read`; the indices of the results it returns and of the operands it takes."""
    whole, (carried, sliced) = op.gives[0], parts(op)
    before = operands - len(whole.inputs)  # 1 for the condition of a branch
    results, needed = set(read) | ({len(whole.outputs) - 1} if op.effect else set()), set[int]()
    if op.effect and not before:  # the first operand orders this op after the effects before it
        (results if carried else needed).add(0)
    given, used, small = with_carries(op, results, needed, known)
    if sliced and op.length is None and used.isdisjoint(range(carried, carried + sliced)):
        used.add(carried)  # the length of this operand is the number of steps
    taken = sorted(used | {i for i in given if i < carried})
    small = {name: Graph(tuple(g.inputs[j] for j in taken), g.outputs) for name, g in small.items()}
    if len(given) == len(whole.outputs) and len(taken) + before == operands and small == graphs_of(op):
        return op, given, [*range(operands)]
    counts = {"carried": sum(i < carried for i in given), "sliced": sum(carried <= j < carried + sliced for j in taken)}
    counts = {name: n for name, n in counts.items() if name in op.__dataclass_fields__}
    return replace(op, **small, **counts), given, [*range(before), *(before + j for j in taken)]


def with_carries(
    op: Any, results: set[int], needed: set[int], known: dict[Any, Narrowed]
) -> tuple[list[int], set[int], dict[str, Graph]]:
    """`results` and all carries that they need; `needed` and the operands that the graphs read; the narrowed graphs."""
    while True:
        given = sorted(results)
        selected = {name: select_outputs(g, given) if g in op.gives else g for name, g in graphs_of(op).items()}
        small = {name: narrow_graph(g, known) for name, g in selected.items()}
        used = needed.union(*map(reads, small.values()))
        more = {j for j in used if j < parts(op)[0]} - results
        if not more:
            return given, used, small
        results = results | more


def reads(graph: Graph) -> list[int]:
    """The indices of the inputs that the graph reads."""
    nodes = set(graph.nodes)
    return [j for j, x in enumerate(graph.inputs) if x in nodes]


def parts(op: Any) -> tuple[int, int]:
    """The numbers of carried and of sliced operands; 0 for a branch."""
    return getattr(op, "carried", 0), getattr(op, "sliced", 0)


def select_outputs(graph: Graph, results: Collection[int]) -> Graph:
    """The graph with only the outputs whose indices are in `results`."""
    return Graph(graph.inputs, tuple(graph.outputs[i] for i in results))
