"""Branches and loops opened: what they are made of, as entries among the others.

    p, k → the nodes of both branches → if             the if takes one of two
    c → carry → the nodes of test and body → while     the carry takes, from the second turn on, what the body gave

What a branch or a body reads from outside, it reads from there. Arrows go forward alone: that what a body gives is
carried into the next turn, the word "carry" says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..engine.core.graph import Graph
from ..engine.core.node import Node, toposort
from ..graph.compiler.control import Cond, Control
from ..graph.compiler.passes.purify import graphs_of
from .graphs import is_constant, pieces, whole
from .listing import Entry, Path, Scope, entries_of
from .rules import sign_of

WORDS = {"true": "if it holds", "false": "if not", "test": "before each turn", "body": "at each turn"}


class Inside(NamedTuple):
    """A node, and the graph of a branch or a loop that it is in; None outside of all."""

    node: Node
    part: Part | None = None


class Part(NamedTuple):
    """One of the graphs of a branch or a loop, by its name."""

    control: Inside
    name: str

    @property
    def graph(self) -> Graph:
        found: Graph = getattr(self.control.node.op, self.name)
        return found


class Opened:
    """Entries of some ops, and of all that is inside of them.

    outside    a node outside → its entry
    inside     a node inside, its name, the scopes that it is in, its results that are read → its entry
    names      what values are called
    read       a node of several results → those that are read
    """

    def __init__(
        self,
        outside: Callable[[Node], Entry],
        inside: Callable[[Node, str, Path, Sequence[Node]], Entry],
        names: Mapping[Node, str],
        read: Mapping[Node, Sequence[Node]],
    ):
        self.outside, self.inside, self.names, self.read = outside, inside, names, dict(read)
        self.scopes: dict[Inside | Part, Scope] = {}

    def entries(self, ops: Iterable[Node]) -> list[Entry]:
        nodes = [each for node in ops for each in self.unfolded(Inside(node))]
        return entries_of(nodes, self.operands, lambda each: is_constant(each.node), self.entry)

    def unfolded(self, at: Inside) -> Iterator[Inside]:
        """The op, after all that is inside of it."""
        for part in parts_of(at):
            if part.name == "body":
                used = {x for other in parts_of(at) for x in self.needed(other)}
                places = enumerate(zip(*(other.graph.inputs for other in parts_of(at))))
                yield from (Inside(xs[-1], part) for i, xs in places if i < turning(at) and not used.isdisjoint(xs))
        for part in parts_of(at):
            self.read |= pieces(part.graph.nodes)
            for node in self.needed(part):
                if node.inputs and whole(node) is node:
                    yield from self.unfolded(Inside(node, part))
        yield at

    def results(self, part: Part) -> list[Node]:
        """What a part gives that somebody reads: what is carried on, too, and not what is saved for backward."""
        op, count = part.control.node.op, len(part.graph.outputs)
        read = self.read.get(part.control.node)
        some = range(count - 1) if read is None else [piece.op.i for piece in read]  # type: ignore[attr-defined]
        wanted = {0} if part.name == "test" else {*some, *range(getattr(op, "carried", 0))}
        return [y for i, y in enumerate(part.graph.outputs) if y is not None and i in wanted]

    def needed(self, part: Part) -> list[Node]:
        """The nodes that these need, and those that do more than give a result."""
        ends = [*self.results(part), *(node for node in part.graph.nodes if node.op.effect)]
        return toposort(*ends) if ends else []

    def operands(self, at: Inside) -> list[Inside]:
        if at.part is not None and not at.node.inputs and not is_constant(at.node):  # a carry, or a row
            return [self.given(at.part, at.part.graph.inputs.index(at.node))]
        if not isinstance(at.node.op, Control):
            return [self.source(x, at.part) for x in at.node.inputs]
        first = [self.source(at.node.inputs[0], at.part)] if isinstance(at.node.op, Cond) else []
        return first + [self.source(y, part) for part in parts_of(at) for y in self.results(part)]

    def source(self, node: Node, part: Part | None) -> Inside:
        """Where a value comes from that is read in a part: from outside, unless it is made there, or at each turn."""
        node = whole(node)
        if part is None or node not in part.graph.inputs:
            return Inside(node, part)
        i = part.graph.inputs.index(node)
        if i < turning(part.control):
            body = Part(part.control, "body")
            return Inside(body.graph.inputs[i], body)
        return self.given(part, i)

    def given(self, part: Part, i: int) -> Inside:
        """The operand that a part's input stands for."""
        first = isinstance(part.control.node.op, Cond)  # the condition is given to no branch
        return self.source(part.control.node.inputs[i + first], part.control.part)

    # -- what they are called -----------------------------------------------------------------------------

    def entry(self, at: Inside) -> Entry:
        if at.part is None:
            found = self.outside(at.node)
        else:
            name, read = self.names.get(at.node, ""), self.read.get(at.node, ())
            found = self.inside(at.node, name, self.path(at.part), read)
            if not at.node.inputs and not is_constant(at.node):
                control, i = at.part.control, at.part.graph.inputs.index(at.node)
                found.kind, found.sign = "op", "carry" if i < control.node.op.carried else "row"  # type: ignore[attr-defined]
                found.name = "" if found.name.startswith(found.sign) else found.name
                found.name = (self.result(control, i) if found.sign == "carry" else "") or found.name
                found.path = (*self.around(control), self.scope(control))
        if isinstance(at.node.op, Control):
            found.path = (*(found.path or ()), self.scope(at))
        return found

    def result(self, control: Inside, i: int) -> str:
        """What the i-th result is called."""
        read = self.read.get(control.node, ())
        return next((self.names.get(piece, "") for piece in read if piece.op.i == i), "")  # type: ignore[attr-defined]

    def path(self, part: Part) -> Path:
        """The scopes that the nodes of a part are in."""
        scope = Scope("scope", part.name, WORDS.get(part.name, ""), part.graph)
        return (*self.around(part.control), self.scope(part.control), self.scopes.setdefault(part, scope))

    def around(self, control: Inside) -> Path:
        """The scopes around a branch or a loop."""
        return (self.outside(control.node).path or ()) if control.part is None else self.path(control.part)

    def scope(self, control: Inside) -> Scope:
        kind = "branch" if isinstance(control.node.op, Cond) else "loop"
        return self.scopes.setdefault(control, Scope("scope", sign_of(control.node.op), kind, control.node))


def parts_of(at: Inside) -> list[Part]:
    return [Part(at, name) for name in graphs_of(at.node.op)] if isinstance(at.node.op, Control) else []


def turning(control: Inside) -> int:
    """How many of the inputs of its parts are another value at each turn."""
    op: Any = control.node.op
    return 0 if isinstance(op, Cond) else op.carried + op.sliced
