"""What a browser needs to run a graph of single numbers itself: each op as nested lists, off its `forward`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from math import isfinite
from typing import Any

from ...engine.core import formula
from ...engine.core.graph import Graph
from ...engine.core.node import Node
from ...engine.core.op import Elementwise
from ...engine.ops import Const
from .dragging import SPELT, names, nested


def followed(graph: Graph, inputs: Sequence[str]) -> dict[str, Any]:
    """A graph of single numbers: [name, what it is] of each node, and the names of the outputs; {} where a browser
    cannot follow.

    inputs    what the graph's are called
    """
    called = {n: f"t{i}" for i, n in enumerate(graph.nodes)} | dict(zip(graph.inputs, inputs))
    lines = [[called[n], number_tree(n, [called[x] for x in n.inputs])] for n in graph.nodes if n not in graph.inputs]
    if len(graph.inputs) > len(inputs) or not all(names(each) <= SPELT for _, each in lines):
        return {}
    return {"lines": lines, "outputs": [called[y] for y in graph.outputs if y is not None]}


def number_tree(node: Node, operands: list[str]) -> Any:
    """What a node is; ["?"] where it is no function of single numbers."""
    match node.op:
        case Const(value) if isfinite(value):
            return value
        case Elementwise() if not node.spec.shape:
            return nested(ast.parse(formula.write(node.op.forward, *operands), mode="eval").body)
    return ["?"]
