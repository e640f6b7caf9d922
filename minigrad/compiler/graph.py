"""A Graph: what to compute, from named inputs to outputs; not yet when or where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from ..node import Node, toposort


@dataclass(frozen=True)
class Graph:
    """A program without control flow.

    inputs     Input nodes, in the order of the arguments
    outputs    what a run returns; None where it returns None
    """

    inputs: tuple[Node, ...]
    outputs: tuple[Node | None, ...]

    @cached_property
    def nodes(self) -> list[Node]:
        """Every node an output needs, inputs before users."""
        return toposort(*(y for y in self.outputs if y is not None))

    def rebuild(self, make: Callable[[Node, tuple[Node, ...]], Node]) -> Graph:
        """The graph made anew: each node becomes make(node, its new inputs), inputs first.

        Nodes that nothing uses any more are not reached: dead code needs no pass.
        """
        new: dict[Node, Node] = {}
        for node in self.nodes:
            new[node] = make(node, tuple(new[x] for x in node.inputs))
        return replace(self, outputs=tuple(y and new[y] for y in self.outputs))
