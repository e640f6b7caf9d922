"""Waits: control_dependencies blocks in a branch or a loop that name ops of the session's graph outside.

The whole branch waits for those ops: its op gets one more operand, which is True once they are done. A variable that
the block reads becomes an operand, which the graph outside reads after those ops.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from ..engine.base.spec import Spec, Specs
from ..engine.core.graph import Graph
from ..engine.core.node import Node, toposort
from ..engine.methods import Operand
from ..engine.ops import ControlDep, Read
from ..tracing.builder import GraphBuilder, Tracer


class Waits(GraphBuilder):
    """The builder of a subgraph: a branch or a loop in another builder's graph.

    waits    whether the open block waits for an op outside
    """

    outer: GraphBuilder
    waits = False

    @contextmanager
    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> Iterator[None]:
        """A block whose ops run after control_inputs. The whole subgraph waits for control_inputs from outside it."""
        before = self.waits
        outside = None if control_inputs is None else [y for x in control_inputs for y in self.outer_sources(x)]
        with nullcontext() if outside == [] else self.outer.control_dependencies(outside):
            self.waits = outside is not None and (before or bool(outside))
            if outside:
                self.lift(done_after(self.outer, outside))
            try:
                yield
            finally:
                self.waits = before

    def outer_sources(self, x: Any) -> list[Any]:
        """The symbols of the outer builder that x is or depends on."""
        if not isinstance(x, Tracer) or x.builder is not self:
            return [x]
        behind = {*toposort(x.node)}
        return [c.what for c in self.captured.values() if c.input in behind]

    def read_after_waits(self, x: Any) -> Any:
        return x if id(x) in self.edited else self.outer.read_after_waits(x)

    def lift(self, o: Any, beside: Spec | None = None) -> Tracer:
        if gives_nothing(o) and o.builder is not self:
            o = done_after(self.outer, [o])
        return super().lift(self.read_after_waits(o) if self.waits and isinstance(o, Operand) else o, beside)

    def take(self, x: Any, y: Tracer) -> None:
        with self.control_dependencies(None):  # an edit starts from the value after all earlier assignments
            super().take(x, y)

    def per_turn(self, graph: Graph, edited: Sequence[Any]) -> Graph:
        """The graph of a loop, where each read of an edited tensor, in blocks too, sees the previous step's edits."""
        turns = {id(what): self.captured[id(what)].input for what in edited}
        reads = {c.input: id(variable_of(c.what)) for c in self.captured.values()}
        swaps: dict[Node, Node] = {node: turns[variable] for node, variable in reads.items() if variable in turns}
        return graph.rebuild(lambda node, inputs: swaps.get(node) or node.with_inputs(inputs))


def gives_nothing(x: Any) -> bool:
    """Whether x is an op without a value, such as a print or a group."""
    return isinstance(getattr(x, "spec", None), Specs)


def done_after(builder: GraphBuilder, xs: Sequence[Any]) -> Tracer:
    """A symbol that is True once these ops are done."""
    return Tracer(builder.node(ControlDep(), tuple(builder.lift(x).node for x in (True, *xs))), builder)


def variable_of(x: Any) -> Any:
    """The variable, or the tensor, of a session's graph that x reads; else x itself."""
    is_read = isinstance(x, Tracer) and isinstance(x.op, Read)
    return x.builder.states[x.op.variable] if is_read else x
