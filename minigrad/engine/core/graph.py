"""Graph: a computation from named inputs to outputs. When and where it runs is decided elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from .node import Node, toposort


@dataclass(frozen=True)
class Graph:
    """A program that is a pure function of its inputs.

    inputs     Input nodes, in the order of the arguments
    outputs    the nodes whose values a run returns; None for an output that is None
    """

    inputs: tuple[Node, ...]
    outputs: tuple[Node | None, ...]

    @cached_property
    def nodes(self) -> list[Node]:
        """Every node an output needs, inputs before users."""
        return toposort(*(y for y in self.outputs if y is not None))

    @cached_property
    def readers(self) -> dict[Node, list[Node]]:
        """Node → the nodes that read its result, in order, each once."""
        readers: dict[Node, list[Node]] = {node: [] for node in self.nodes}
        for node in self.nodes:
            for x in dict.fromkeys(node.inputs):
                readers[x].append(node)
        return readers

    def with_outputs(self, outputs: tuple[Node | None, ...]) -> Graph:
        """The graph with these outputs, each a node of the graph or computed from its nodes."""
        return self if outputs == self.outputs else replace(self, outputs=outputs)  # self may have cached its nodes

    def rebuild(self, make: Callable[[Node, tuple[Node, ...]], Node]) -> Graph:
        """Rebuild the graph: each node becomes make(node, its new inputs), inputs first.

        If one new node replaces several named nodes, it gets the name and the line of the first of them.
        Nodes that are no longer used are not reached, so dead code needs no pass.
        """
        new: dict[Node, Node] = {}
        named: dict[Node, Node] = {}
        for node in self.nodes:
            made = make(node, tuple(map(new.__getitem__, node.inputs)))
            if made not in named:
                named[made] = node.naming(made) if type(made) is Node else made
            new[node] = named[made]
        return self.with_outputs(tuple(y and new[y] for y in self.outputs))
