"""Pictures of graphs that are built before they run: boxes with a shape, and a dot in place of the value.

`arrange` turns nodes into boxes and arrows; tensors.py uses it too, for graphs that ran.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..engine.base.dimension import Formula, Length
from ..engine.base.pytree import paths
from ..engine.core.graph import Graph
from ..engine.core.node import Node, toposort
from ..engine.ops import Const, ControlDep, Input, Read, TupleGet
from ..engine.tensor.symbol import Symbol
from .names import names_in
from .picture import UNKNOWN, Box, Picture, PictureBuilder
from .rules import sign_of
from .words import number

if TYPE_CHECKING:
    from ..graph import Graph as Building
    from ..graph.trace import Trace


def picture_of_graph(graph: Graph, namespace: Mapping[str, object], trace: Trace | None = None) -> Picture:
    """The picture of a whole, finished graph. If it has several results, they are named by its trace.

    Raises TypeError for an empty graph.
    """
    names = {} if trace is None else output_names(trace)
    given = [node for node in names if node in graph.inputs]
    outputs = [*dict.fromkeys([*(y for y in graph.outputs if y is not None), *given])] or [*graph.inputs]
    if not outputs:
        raise TypeError("this graph has no picture: it has no inputs and no outputs")
    return picture_of_nodes(outputs, namespace, names)


def picture_of_session_graph(graph: Building, namespace: Mapping[str, object]) -> Picture:
    """The picture of a session graph as built so far. Raises TypeError if it is empty."""
    if not graph.order:
        raise TypeError(f"{graph!r} has no picture: it is still empty")
    return place_boxes(graph.unread(), namespace)[0]


def output_names(trace: Trace) -> dict[Node, str]:
    """The names of a trace's outputs: results by path, edited tensors, gradients. A single result gets no name."""
    tree, outputs = trace.template, trace.graph.outputs
    branches = tree.items() if isinstance(tree, dict) else [("output", tree)]
    results = [path for key, branch in branches for path in paths(branch, str(key))]
    places = [(name, *place) for name, place in zip(results, trace.places)]
    found = [(outputs[there], name) for name, kind, there in places if kind == "result"]
    found += [(outputs[edit.result], f"{trace.names[edit.input]} afterwards") for edit in trace.edits]
    found += [(outputs[g], name) for name, (_, g) in zip(trace.grad_names, trace.grads) if type(g) is int]
    found += [(trace.graph.inputs[there], trace.names[there]) for _, kind, there in places if kind == "argument"]
    return {} if trace.alone and len(found) == 1 else {node: name for node, name in reversed(found) if node is not None}


def picture_of_nodes(
    outputs: Sequence[Node], namespace: Mapping[str, object], own: Mapping[Node, str] | None = None
) -> Picture:
    """The picture of every node that the outputs need. A constant is drawn next to each of its users."""
    picture, place = place_boxes(outputs, namespace, own)
    return replace(picture, ends=tuple(dict.fromkeys(place[y] for y in outputs if y in place and not is_mark(y))))


def place_boxes(
    outputs: Sequence[Node], namespace: Mapping[str, object], own: Mapping[Node, str] | None = None
) -> tuple[Picture, dict[Node, str]]:
    """The picture, and node → the id of its box. All results of one op share the op's box.

    own    names of nodes from their trace; names in the namespace take precedence
    """
    order = toposort(*outputs)
    boxed = [node for node in order if whole(node) is node]
    end = ending(outputs, boxed)
    names = {**(own or {}), **names_in(namespace, lambda x: x.node if isinstance(x, Symbol) else None)}
    read = pieces(order)
    others = [node for node in boxed if node is not end]
    picture, place = arrange([*others, end], lambda node: box_of(node, names, read))
    return picture, {node: place[whole(node)] for node in order if whole(node) in place}


def ending(outputs: Sequence[Node], boxed: Sequence[Node]) -> Node:
    """The node of the last box: the last output that no other node reads; if there is none, the last effect."""
    used = {whole(x) for node in boxed for x in node.inputs}
    ends = [y for y in map(whole, (y for y in outputs if not is_mark(y))) if y not in used]
    return ends[-1] if ends else [node for node in boxed if node not in used and not is_constant(node)][-1]


def is_mark(node: Node) -> bool:
    """Whether an output only marks the end of effects: the constant True, which depends on them."""
    return isinstance(node.op, ControlDep) and isinstance(op := node.inputs[0].op, Const) and op.value is True


def arrange(
    order: Sequence[Node], box_of: Callable[[Node], Box], ends: Sequence[Node] = ()
) -> tuple[Picture, dict[Node, str]]:
    """The picture of some nodes, inputs before users, the last output last; and node → the id of its box.

    A constant is drawn next to each of its users, so it has no single box.
    """
    built = PictureBuilder()
    for node in order:
        if not is_constant(node) or node is order[-1]:
            xs = [*map(whole, node.inputs)]
            tails = [built.add_box(box_of(x)) if is_constant(x) else built.box_of[x] for x in xs]
            built.add_op(box_of(node), [node], tails)
    return built.picture([*dict.fromkeys(built.box_of[y] for y in ends)]), built.box_of


def is_constant(node: Node) -> bool:
    return isinstance(node.op, Const)


def whole(node: Node) -> Node:
    """The node that computes this value. A node that only picks a result or orders effects has no box of its own."""
    while isinstance(node.op, TupleGet | ControlDep):
        node = node.inputs[0]
    return node


def pieces(order: Sequence[Node]) -> dict[Node, list[Node]]:
    """A node with several results → the nodes of the results that are read, in order. Results that a branch or a loop
    keeps for backward alone are left out.
    """
    found: dict[Node, list[Node]] = {}
    for node in order:
        if isinstance(node.op, TupleGet):
            found.setdefault(node.inputs[0], []).append(node)
    return {node: sorted(read, key=lambda piece: piece.op.i) for node, read in found.items()}  # type: ignore[attr-defined]


def node_label(node: Node, names: Mapping[Node, str], read: Mapping[Node, Sequence[Node]]) -> str:
    """The name of a node; for a node with several results, the names of its results."""
    return names.get(node) or ", ".join(names[piece] for piece in read.get(node, ()) if piece in names)


def box_of(node: Node, names: Mapping[Node, str], read: Mapping[Node, Sequence[Node]]) -> Box:
    """The box of a node, labelled by the learner's name for it; an input that has none keeps its name in the graph."""
    kind, name = kind_of(node), node_label(node, names, read) or own_name(node)
    specs = ", ".join(str(result.spec) for result in read.get(node, [node])) + worker(node)
    return Box(
        id="", kind=kind, name=name, op=sign_of(node.op) if kind == "op" else "",
        spec="" if is_constant(node) else specs,
        value=constant(node.op.value) if isinstance(node.op, Const) else UNKNOWN, grad="",
    )  # fmt: skip


def kind_of(node: Node) -> str:
    return "op" if node.inputs or node.op.effect else "constant" if is_constant(node) else "leaf"


def worker(node: Node) -> str:
    """The worker process that a node is assigned to, as a suffix; "" if there is none."""
    return "" if node.worker is None else f" @ worker:{node.worker}"


def own_name(node: Node) -> str:
    """The name of an input or a variable in its graph; "" for other nodes."""
    match node.op:
        case Input(name):
            return name
        case Read(variable):
            return variable
    return ""


def constant(value: float | Formula) -> str:
    """A constant as text; a length that is known only at run time, as its formula."""
    return repr(value) if isinstance(value, Formula | Length) else number(value)
