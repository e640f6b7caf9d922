"""A Graph: what to compute, from named inputs to outputs; not yet when or where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from .node import Node, toposort


@dataclass(frozen=True)
class Graph:
    """A program as a function: what happens depends on its inputs alone.

    inputs     Input nodes, in the order of the arguments
    outputs    what a run returns; None where it returns None
    """

    inputs: tuple[Node, ...]
    outputs: tuple[Node | None, ...]

    @cached_property
    def nodes(self) -> list[Node]:
        """Every node an output needs, inputs before users."""
        return toposort(*(y for y in self.outputs if y is not None))

    @cached_property
    def readers(self) -> dict[Node, list[Node]]:
        """Node → those that read it, in order, each once."""
        readers: dict[Node, list[Node]] = {node: [] for node in self.nodes}
        for node in self.nodes:
            for x in dict.fromkeys(node.inputs):
                readers[x].append(node)
        return readers

    def with_outputs(self, outputs: tuple[Node | None, ...]) -> Graph:
        """The graph with these outputs, each one of its nodes or computed from them."""
        return self if outputs == self.outputs else replace(self, outputs=outputs)  # whose nodes are sorted already

    def rebuild(self, make: Callable[[Node, tuple[Node, ...]], Node]) -> Graph:
        """The graph made anew: each node becomes make(node, its new inputs), inputs first.

        What is put in the place of named nodes takes over the name and the line of the first of them.
        Nodes that nothing uses any more are not reached: dead code needs no pass.
        """
        new: dict[Node, Node] = {}
        named: dict[Node, Node] = {}
        for node in self.nodes:
            made = make(node, tuple(map(new.__getitem__, node.inputs)))
            if made not in named:
                named[made] = node.naming(made) if type(made) is Node else made
            new[node] = named[made]
        return self.with_outputs(tuple(y and new[y] for y in self.outputs))
