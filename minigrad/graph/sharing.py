"""In a branch or loop of a graph, refuse to read a tensor after an edit of another tensor that shares its memory.

In Python, an edit of one of two tensors that share memory changes the other too. Values that a graph passes to a branch
or a loop share no memory, so the other tensor would miss the edit. This module finds pairs of inputs that may share
memory, before the first turn or after any turn, and refuses such reads. It runs after the branch or the body is traced,
because only then are the final values of its variables known.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any, NamedTuple

from ..engine.base.errors import EditedError
from ..engine.core import versions
from ..engine.core.node import toposort
from ..engine.ops import TupleGet
from ..tracing.builder import GraphBuilder, Tracer

if TYPE_CHECKING:
    from .subgraph import Subgraph

Pairs = set[frozenset[Any]]


def memories(x: Any) -> set[int]:
    """The ids of all owners of memory that x may share, in its graph and in the graphs around it."""
    if not isinstance(x, Tracer):
        return {id(versions.owner(x.value))}
    found = {id(memory) for memory in x.origins()}
    for c in x.builder.captured.values():
        found |= memories(c.what) if id(c.symbol) in found else set()
    return found


def pairs_of(part: Subgraph) -> Pairs:
    """Pairs of inputs of the part that may share memory, before the first turn or after any."""
    begun = [(node, x, memories(x)) for node, x in {**part.starts, **part.origins}.items()]
    found = {
        frozenset((n, m))
        for (n, x, xs), (m, y, ys) in combinations(begun, 2)
        if not (xs.isdisjoint(ys) or is_apart(x, y))
    }
    after = [*zip(part.inputs, sources_of(part))] if part.starts else []
    later = [*after, *((c.input, ResultSources(c.symbol, [c.input])) for c in part.captured.values())]
    while (
        new := {frozenset((x, y)) for x, xs in after for y, ys in later if x is not y and meet(xs, ys, found)} - found
    ):
        found |= new
    return found


def is_apart(x: Any, y: Any) -> bool:
    """Whether x and y are results of one branch or loop that share no memory, though a third may share it with both."""
    return isinstance(x, Tracer) and isinstance(y, Tracer) and any(y.memory is z for z in x.memory.apart)


def nodes_of(part: Subgraph) -> dict[int, Any]:
    """id of an argument, or of a captured symbol → its input node"""
    return {id(c.symbol): c.input for c in part.captured.values()} | dict(zip(map(id, part.symbols), part.inputs))


class ResultSources(NamedTuple):
    """A value y of a part, and what it may be, or be a view of: inputs of the part, and ids of tensors made in it."""

    y: Tracer
    nodes: list[Any]


def sources_of(part: Subgraph) -> list[ResultSources]:
    """The results, each with the inputs and tensors that it may be, or be a view of."""
    nodes = nodes_of(part)
    return [ResultSources(y, [nodes.get(id(memory), id(memory)) for memory in y.origins()]) for y in part.outputs]


def meet(one: ResultSources, other: ResultSources, pairs: Pairs) -> bool:
    """Whether the two values may share memory."""
    if not is_apart(one.y, other.y) and not set(one.nodes).isdisjoint(other.nodes):
        return True
    return any(frozenset((x, y)) in pairs for x in one.nodes for y in other.nodes)


def refuse_lost_edits(part: Subgraph, ys: Sequence[Tracer] = (), test: Subgraph | None = None) -> Pairs:
    """Return the pairs of inputs that may share memory. Raises EditedError if the part, or the loop's test, reads one
    input of a pair after an edit of the other: it would miss that edit.

    ys    the values that a scan collects, in addition to those that it passes to the next turn
    """
    for c in () if test is None else test.captured.values():
        part.capture(c.what)
    nodes = nodes_of(part)
    edits = {nodes[key]: moment for key, moment in part.written.items() if key in nodes}
    pairs = pairs_of(part) if edits or len(part.outputs) > 1 else set()
    results = [*part.outputs, *ys, *(c.symbol for c in part.edited.values())]
    for node, moment in edits.items():
        for other, what in {**part.starts, **part.origins}.items():
            if frozenset((node, other)) not in pairs:
                continue
            is_same_each_turn = bool(part.starts) and other not in part.inputs
            refuse_read(part, results, other, -1 if is_same_each_turn else moment, node)
            if test is not None and is_same_each_turn and id(what) in test.captured:
                refuse_read(test, test.outputs, test.captured[id(what)].input, -1, node)
    return pairs


def refuse_read(part: Subgraph, ys: Sequence[Tracer], x: Any, moment: int, edited: Any) -> None:
    """Raises EditedError if x, or a view of x, is a result, or is read after `moment`, that of the edit."""
    looks, results = {x}, {y.node for y in ys}
    passed = {y.base: {source.base for source in y.origins()} for y in part.passed}
    for node in sorted(toposort(*results), key=lambda node: node.born):
        is_view = node.op.is_view and not isinstance(node.op, TupleGet)
        is_look = not looks.isdisjoint(node.inputs[:1] if is_view else passed.get(node, ()))
        if is_look:
            looks.add(node)
        reads_later = node.born > moment and not is_look and not looks.isdisjoint(node.inputs)
        if (node in looks and node in results) or reads_later:
            raise EditedError(
                f"{part.title} edits {edited.name} in place, and reads {x.name}, which may share its memory, at "
                f"{node.place}: a graph passes each value separately, so {x.name} would miss the edit. Clone one of "  # type: ignore[attr-defined]
                "the two, by y.clone(), or take the view inside, after the edit"
            )


def share(ys: Sequence[Tracer], *parts: tuple[Subgraph, Pairs]) -> None:
    """Note which results of a branch or a loop may share memory: an edit of one is an edit of the other."""
    its = [(part.inputs, sources_of(part), pairs) for part, pairs in parts]
    for i, j in permutations(range(len(ys)), 2):
        if any(
            meet(sources[i], sources[j], pairs) or frozenset((*xs[i : i + 1], *xs[j : j + 1])) in pairs  # zero turns
            for xs, sources, pairs in its
        ):
            ys[i].may_be(ys[j])
        else:
            ys[i].apart += (ys[j],)


def sources_outside(part: Subgraph, start: Sequence[Tracer] = (), may_skip: bool = True) -> list[list[Any]]:
    """For each result, the outside tensors that it may be: captured ones, and the initial values of a loop.

    start       the variables of a loop before the first turn
    may_skip    whether the loop may run zero turns
    """
    begun: dict[Any, Any] = part.origins | dict(zip(part.inputs, start))
    found = [{node: begun[node] for node in its.nodes if node in begun} for its in sources_of(part)]
    turns = dict(zip(part.inputs[: len(start)], found))
    for node, its in turns.items() if may_skip else ():
        its[node] = begun[node]
    for _ in turns:  # one variable passes a tensor to another, and the next turn passes it to a third
        for its in found:
            for node in [*its]:
                its |= turns.get(node, {})
    return [[*its.values()] for its in found]


def symbols_of(builder: GraphBuilder, what: Any) -> list[Tracer]:
    """The symbols of the builder whose memory `what`, a tensor or a symbol, may share."""
    symbol = what if getattr(what, "builder", None) is builder else builder.captured.get(id(what))
    return [] if symbol is None else (symbol if isinstance(symbol, Tracer) else symbol.symbol).origins()


def pass_on(ys: Sequence[Tracer], part: Subgraph, sources: Sequence[Sequence[Any]]) -> None:
    """Note which outside tensors each result may be."""
    for y, whats in zip(ys, sources):
        for what in whats:
            for memory in symbols_of(part.outer, what)[:1]:
                y.may_be(memory)
