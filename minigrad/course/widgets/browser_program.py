"""A graph of scalars as a program that the browser evaluates: each op's `forward` formula, as nested lists."""

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
from .dragging import SPELT, ast_to_lists, tree_ops


def graph_program(graph: Graph, inputs: Sequence[str]) -> dict[str, Any]:
    """{"lines": [name, formula] of each node, "outputs": names}; {} if a browser cannot evaluate the graph.

    inputs    names for the graph's inputs
    """
    called = {n: f"t{i}" for i, n in enumerate(graph.nodes)} | dict(zip(graph.inputs, inputs))
    lines = [[called[n], number_tree(n, [called[x] for x in n.inputs])] for n in graph.nodes if n not in graph.inputs]
    if len(graph.inputs) > len(inputs) or not all(tree_ops(each) <= SPELT for _, each in lines):
        return {}
    return {"lines": lines, "outputs": [called[y] for y in graph.outputs if y is not None]}


def number_tree(node: Node, operands: list[str]) -> Any:
    """The formula of a node; ["?"] if it is not a function of scalars."""
    match node.op:
        case Const(value) if isfinite(value):
            return value
        case Elementwise() if not node.spec.shape:
            return ast_to_lists(ast.parse(formula.write(node.op.forward, *operands), mode="eval").body)
    return ["?"]
