"""Optimisation: rules that see one node, and passes that apply them.

A rule is a function from a node to a better node, or None. Its docstring is the algebra it states.
A rule may not change what a node is: one that would give another spec does not apply.
"""

from __future__ import annotations

from collections.abc import Callable

from ..node import Node
from ..op import Op
from ..ops import Add, Cast, Const, Div, Mul, Neg, Pow, Reshape, Sub, Transpose
from ..spec import Spec
from .graph import Graph

Rewrite = Callable[[Node], Node | None]


def neutral(node: Node) -> Node | None:
    """x + 0, 0 + x, x − 0, x · 1, 1 · x, x / 1, x¹  →  x"""
    match node:
        case Node(Add(), (x, Node(Const(0))) | (Node(Const(0)), x)):
            return x
        case Node(Sub(), (x, Node(Const(0)))):
            return x
        case Node(Mul(), (x, Node(Const(1))) | (Node(Const(1)), x)):
            return x
        case Node(Div(), (x, Node(Const(1)))):
            return x
        case Node(Pow(1), (x,)):
            return x
    return None


def negate(node: Node) -> Node | None:
    """x · −1, −1 · x  →  −x;  −(−x)  →  x"""
    match node:
        case Node(Mul(), (x, Node(Const(-1))) | (Node(Const(-1)), x)):
            return Node(Neg(), (x,))
        case Node(Neg(), (Node(Neg(), (x,)),)):
            return x
    return None


def square(node: Node) -> Node | None:
    """x²  →  x · x, which costs a fifth of a general power"""
    match node:
        case Node(Pow(2), (x,)):
            return Node(Mul(), (x, x))
    return None


def settled(node: Node) -> Node | None:
    """Reshapes of reshapes, transposes of transposes, and moves that move nothing"""
    match node:
        case Node(Reshape() as op, (Node(Reshape(), (x,)),)):
            return Node(op, (x,))
        case Node(Reshape(shape), (x,)) if shape == x.spec.shape:
            return x
        case Node(Transpose(q), (Node(Transpose(p), (x,)),)):
            return Node(Transpose(tuple(p[i] for i in q)), (x,))
        case Node(Transpose(axes), (x,)) if axes == tuple(range(len(axes))):
            return x
        case Node(Cast(dtype), (x,)) if dtype == x.spec.dtype:
            return x
    return None


RULES: tuple[Rewrite, ...] = (neutral, negate, square, settled)


def simplify(graph: Graph, rules: tuple[Rewrite, ...] = RULES) -> Graph:
    """Every rule on every node, until none applies."""

    def better(node: Node) -> Node:
        for rule in rules:
            new = rule(node)
            if new is not None and new.spec == node.spec:
                return better(new)
        return node

    return graph.rebuild(lambda node, inputs: better(node.with_inputs(inputs)))


def share(graph: Graph) -> Graph:
    """Equal ops on equal inputs become one node: common subexpression elimination.

    Ops being frozen dataclasses, “equal” is `==`.
    """
    seen: dict[tuple[Op, tuple[Node, ...], Spec], Node] = {}

    def one(node: Node, inputs: tuple[Node, ...]) -> Node:
        if not inputs and not isinstance(node.op, Const):
            return node  # an input is equal only to itself
        return seen.setdefault((node.op, inputs, node.spec), node.with_inputs(inputs))

    return graph.rebuild(one)


def optimise(graph: Graph) -> Graph:
    """The graph simplified, its common parts shared."""
    return share(simplify(graph))
