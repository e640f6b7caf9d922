"""Pictures of graphs that are built before they run: boxes with a shape, and a point where a value will be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..compiler.graph import Graph
from ..dimension import Quotient
from ..node import Node, toposort
from ..ops import After, Const, Input, Piece, Read
from ..symbol import Symbol
from .names import names_in
from .picture import UNKNOWN, Arrow, Box, Picture
from .rules import sign_of
from .words import number

if TYPE_CHECKING:
    from ..graph import Graph as Building


def picture_of_graph(graph: Graph, namespace: Mapping[str, object]) -> Picture:
    """The whole of a finished graph."""
    return picture_of_nodes([y for y in graph.outputs if y is not None], namespace)


def picture_of_stage(graph: Building, namespace: Mapping[str, object]) -> Picture:
    """All that was built so far. Raises TypeError where that is nothing."""
    if not graph.order:
        raise TypeError(f"{graph!r} has no picture: nothing is in it yet")
    return picture_of_nodes(graph.unread(), namespace)


def picture_of_symbols(ys: Sequence[Symbol], namespace: Mapping[str, object]) -> Picture:
    """What some results will be computed from, gradients among them: these are nodes like all others."""
    return picture_of_nodes([y.node for y in ys], namespace)


def picture_of_nodes(outputs: Sequence[Node], namespace: Mapping[str, object]) -> Picture:
    """Every node that the outputs need, the last output last. A constant is drawn beside each of its users."""
    return placed(outputs, namespace)[0]


def placed(outputs: Sequence[Node], namespace: Mapping[str, object]) -> tuple[Picture, dict[Node, str]]:
    """The picture, and node → the id of its box. Of several results, each is the box of the op that gives them."""
    ends = [whole(y) for y in outputs]
    order = [node for node in toposort(*outputs) if node is not ends[-1]] + [ends[-1]]
    names = names_in(namespace, lambda x: x.node if isinstance(x, Symbol) else None)
    boxes: list[Box] = []
    arrows: list[Arrow] = []
    place: dict[Node, str] = {}
    for node in order:
        if isinstance(node.op, Const) and node is not ends[-1]:
            continue
        if whole(node) is not node:
            place[node] = place.get(whole(node), "")
            continue
        tails = []
        for x in map(whole, node.inputs):
            if isinstance(x.op, Const):
                boxes.append(box_of(x, len(boxes) + 1, names))
            tails.append(boxes[-1].id if isinstance(x.op, Const) else place[x])
        boxes.append(box_of(node, len(boxes) + 1, names))
        place[node] = boxes[-1].id
        arrows += [Arrow(f"a{len(arrows) + i}", tail, place[node]) for i, tail in enumerate(tails, 1)]
    return Picture(tuple(boxes), tuple(arrows)), {node: place[whole(node)] for node in place}


def whole(node: Node) -> Node:
    """The node whose value this is, or is one of: what only says "this one of several", or "after that", is no box."""
    while isinstance(node.op, Piece | After):
        node = node.inputs[0]
    return node


def box_of(node: Node, n: int, names: Mapping[Node, str]) -> Box:
    """The box of a node, under the learner's name for it; of an input, under its own if there is no other."""
    is_constant = isinstance(node.op, Const)
    own = node.op.name if isinstance(node.op, Input) else node.op.variable if isinstance(node.op, Read) else ""
    return Box(
        id=f"b{n}",
        kind="constant" if is_constant else "op" if node.inputs else "leaf",
        name=names.get(node, own),
        op=sign_of(node.op) if node.inputs else "",
        spec="" if is_constant else str(node.spec),
        value=constant(node.op.value) if isinstance(node.op, Const) else UNKNOWN,
        grad="",
    )


def constant(value: float | Quotient) -> str:
    """A constant as text."""
    return repr(value) if isinstance(value, Quotient) else number(value)
