"""What is fed arrives where it is needed: the copy to a device with which a run begins is no part of its program.

A placeholder is on the CPU, and a graph for a GPU begins with `x.to("gpu")`. Whoever runs the graph makes that copy
on handing the array over; what remains is on one device, and can be compiled for it.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..device import Device
from ..node import Node
from ..ops import Move
from ..spec import Spec
from .graph import Graph
from .specialise import anew


def arrived(graph: Graph) -> Graph:
    """The graph with each input on the device to which all its readers move it."""
    new = {x: anew(x, Node(x.op, (), Spec(x.spec.shape, x.spec.dtype, to))) for x, to in destinations(graph).items()}

    def there(node: Node, xs: tuple[Node, ...]) -> Node:
        if isinstance(node.op, Move) and node.inputs[0] in new:
            return xs[0]
        return new[node] if node in new else node if xs == node.inputs else Node(node.op, xs, node.spec)

    return Graph(tuple(new.get(x, x) for x in graph.inputs), graph.rebuild(there).outputs)


def destinations(graph: Graph) -> Mapping[Node, Device]:
    """Input → the device to which it is moved, of those that are read nowhere else."""
    inputs = {*graph.inputs}
    read: dict[Node, set[Device]] = {x: set() for x in inputs}
    for node in graph.nodes:
        for x in inputs.intersection(node.inputs):
            read[x].add(node.op.device if isinstance(node.op, Move) else x.spec.device)
    for x in inputs.intersection(y for y in graph.outputs if y is not None):
        read[x].add(x.spec.device)
    return {x: homes.pop() for x, homes in read.items() if len(homes) == 1 and homes != {x.spec.device}}
