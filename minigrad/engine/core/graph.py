"""Graph: a computation from named inputs to outputs. When and where it runs is decided elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter

from .node import Node, toposort
from .op import Op


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
        return toposort(*filter(None, self.outputs))

    @cached_property
    def kinds(self) -> set[type[Op]]:
        """The types of the ops."""
        return {*map(type, map(attrgetter("op"), self.nodes))}

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

    def rebuild(self, make: Callable[[Node, tuple[Node, ...]], Node], ops: Container[type[Op]] | None = None) -> Graph:
        """Rebuild the graph: each node becomes make(node, its new inputs), inputs first.

        ops    the types of ops that `make` is called for; all by default. Other nodes only get their new inputs

        If one new node replaces several named nodes, it gets the name and the line of the first of them.
        Nodes that are no longer used are not reached, so dead code needs no pass.
        """
        new: dict[Node, Node] = {}
        named: dict[Node, Node] = {}
        for node in self.nodes:
            inputs = tuple(map(new.__getitem__, node.inputs))
            if ops is None or type(node.op) in ops:
                made = make(node, inputs)
            else:
                made = node if inputs == node.inputs else node.again(inputs)
            if made not in named:
                named[made] = node.naming(made) if type(made) is Node else made
            new[node] = named[made]
        return self.with_outputs(tuple([y and new[y] for y in self.outputs]))
