"""Algebraic simplification and common subexpressions: rewrite rules for single nodes, and the passes that apply them.

A rule is a function from a node to a simpler node, or to None if it does not apply. Its docstring states its algebra.
A new node with another spec is dropped.
Const(c, sign) is a number; its sign distinguishes 0 from −0.

RULES are exact to the last bit in floating-point arithmetic (IEEE 754). Many identities of real numbers are not, so
they are not rules for floats: x + 0 turns −0 into 0; x · 0 is not 0 for ∞; x − x is not 0 for ∞; −(x − y) and y − x
are zeros of different sign for x = y. For integers such identities hold and are applied. NaN counts as equal to NaN.

Rules that round differently, or change the sign of a 0, are in graph/compiler/passes/fast_math.py, and apply only on
request.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import frexp
from operator import attrgetter

import numpy as np

from ..base.dtypes import kind
from ..base.spec import Spec
from ..core.graph import Graph
from ..core.node import Node
from ..core.op import Elementwise, Op
from ..ops.activation import Relu
from ..ops.arithmetic import Add, Div, Mul, Neg, Pow, Sub
from ..ops.comparison import And, Equal, Maximum, Minimum, Not, NotEqual, Or, Where, Xor
from ..ops.leaf import Alias, Clone, Const, OfShape, Several, const
from ..ops.matmul import Affine, MatMul
from ..ops.movement import BroadcastTo, Contiguous, Flip, Reshape, Transpose
from ..ops.pointwise import Abs, Cast
from ..ops.reduce import Reduction

Rewrite = Callable[[Node], Node | None]


def applies_to(*ops: type[Op]) -> Callable[[Rewrite], Rewrite]:
    """Decorate a rule that applies to nodes of these ops only."""

    def mark_rule(rule: Rewrite) -> Rewrite:
        rule.ops = ops  # type: ignore[attr-defined]
        return rule

    return mark_rule


# -- arithmetic ---------------------------------------------------------------------------------------


@applies_to(Add, Sub, Mul, Div, Pow)
def neutral(node: Node) -> Node | None:
    """x + (−0), x − 0, x · 1, 1 · x, x / 1, x¹  →  x;  for integers also x + 0"""
    match node:
        case Node(Add(), (x, Node(Const(0, sign))) | (Node(Const(0, sign)), x)):
            return x if sign < 0 or not x.spec.is_float else None
        case Node(Sub(), (x, Node(Const(0, sign)))):
            return x if sign > 0 or not x.spec.is_float else None
        case Node(Mul(), (x, Node(Const(1))) | (Node(Const(1)), x)):
            return x
        case Node(Div(), (x, Node(Const(1)))):
            return x
        case Node(Pow(1), (x,)):
            return x
    return None


@applies_to(Mul, Neg)
def negate(node: Node) -> Node | None:
    """x · −1, −1 · x  →  −x;  −(−x)  →  x"""
    match node:
        case Node(Mul(), (x, Node(Const(-1))) | (Node(Const(-1)), x)) if x.spec == node.spec:
            return Node(Neg(), (x,))
        case Node(Neg(), (Node(Neg(), (x,)),)):
            return x
    return None


@applies_to(Add, Sub, Mul, Div)
def signs(node: Node) -> Node | None:
    """x + (−y)  →  x − y;  (−x) + y  →  y − x;  x − (−y)  →  x + y;  (−x) · (−y)  →  x · y;  (−x) / (−y)  →  x / y

    For floats only: for the least integer of a dtype, −x is x.
    """
    if not all(map(attrgetter("spec.is_float"), node.inputs)):
        return None
    match node:
        case Node(Add(), (x, Node(Neg(), (y,))) | (Node(Neg(), (y,)), x)):
            return Node(Sub(), (x, y))
        case Node(Sub(), (x, Node(Neg(), (y,)))):
            return Node(Add(), (x, y))
        case Node(Mul() | Div() as op, (Node(Neg(), (x,)), Node(Neg(), (y,)))):
            return Node(op, (x, y))
    return None


@applies_to(Mul, Neg)
def signed_number(node: Node) -> Node | None:
    """(−x) · c  →  x · (−c);  −(x · c)  →  x · (−c), for floats"""
    if not node.spec.is_float:
        return None
    match node:
        case Node(Mul(), (Node(Neg(), (x,)), Node(Const(c)) as k) | (Node(Const(c)) as k, Node(Neg(), (x,)))):
            return Node(Mul(), (x, number(-float(c), k.spec))) if x.spec.is_float and k.spec.is_float else None
        case Node(Neg(), (Node(Mul(), (x, Node(Const(c)) as k) | (Node(Const(c)) as k, x)),)):
            return Node(Mul(), (x, number(-float(c), k.spec))) if x.spec.is_float and k.spec.is_float else None
    return None


def number(value: float, spec: Spec) -> Node:
    """A node of a constant with that spec."""
    return Node(const(value), (), spec)


@applies_to(Div)
def halves(node: Node) -> Node | None:
    """x / c  →  x · (1 / c) for a power of two, whose inverse is exact: multiplication is faster"""
    match node:
        case Node(Div(), (x, Node(Const(c)) as k)) if c and k.spec.is_float:
            fraction, exponent = frexp(c)
            if abs(fraction) == 0.5 and abs(exponent) < 10:
                return Node(Mul(), (x, number(1 / c, k.spec)))
    return None


@applies_to(Pow)
def square(node: Node) -> Node | None:
    """x²  →  x · x, which costs a fifth of a general power"""
    match node:
        case Node(Pow(2), (x,)):
            return Node(Mul(), (x, x))
    return None


@applies_to(Maximum, Minimum, And, Or, Where, Abs, Relu, Not)
def same_twice(node: Node) -> Node | None:
    """max(x, x), min(x, x), x ∧ x, x ∨ x, (x where c, x elsewhere)  →  x;  ||x||, |−x|  →  |x|;  ¬¬x  →  x"""
    match node:
        case Node(Maximum() | Minimum() | And() | Or(), (x, y)) if x is y:
            return x
        case Node(Where(), (_, x, y)) if x is y:
            return x
        case Node(Abs() as op, (Node(Abs() | Neg(), (x,)),)) if x.spec.is_float:
            return Node(op, (x,))
        case Node(Relu() as op, (Node(Relu(), (x,)),)):
            return Node(op, (x,))
        case Node(Not(), (Node(Not(), (x,)),)):
            return x
    return None


# -- moves ----------------------------------------------------------------------------------------------


@applies_to(Reshape, Transpose, BroadcastTo, Flip, Alias, Several, OfShape)
def merge_moves(node: Node) -> Node | None:
    """Two movement ops in a row  →  one;  a movement op that changes nothing  →  its operand

    A reshape of an array not in axis order stays: it makes a copy, and a sum over the copy adds in another order.
    """
    match node:
        case Node(Reshape(shape) | OfShape(shape, _), (x,)) if shape == x.spec.shape:
            return x
        case Node(Reshape() as op, (Node(Reshape() as inner, (x,)),)) if type(inner) is Reshape and in_order(x):
            return Node(op, (x,))
        case Node(Transpose(q), (Node(Transpose(p), (x,)),)):
            return Node(Transpose(tuple(p[i] for i in q)), (x,))
        case Node(Transpose(axes), (x,)) if axes == tuple(range(len(axes))):
            return x
        case Node(BroadcastTo(shape), (x,)) if shape == x.spec.shape:
            return x
        case Node(BroadcastTo() as op, (Node(BroadcastTo(), (x,)),)):
            return Node(op, (x,))
        case Node(Flip(axes), (Node(Flip(others), (x,)),)) if axes == others:
            return x
        case Node(Alias(), (x,)):
            return x
    return None


def in_order(x: Node, depth: int = 4) -> bool:
    """Whether x is known to be stored in the order of its axes. Inputs are assumed to be stored in this order."""
    match x:
        case Node(_, ()) | Node(Affine() | Contiguous() | Clone()):
            return True
        case Node(MatMul()):
            return x.spec.ndim == 2
        case Node(Elementwise() | Reduction() | Reshape(), xs):  # these keep the memory order of their operands
            return depth > 0 and all(in_order(o, depth - 1) for o in xs if o.spec.shape)
    return False


@applies_to(Cast)
def cast(node: Node) -> Node | None:
    """x cast to its own dtype  →  x;  x cast to a wider dtype and then to a third  →  x cast to the third"""
    match node:
        case Node(Cast(dtype), (x,)) if dtype == x.spec.dtype:
            return x
        case Node(Cast(dtype) as op, (Node(Cast(wide), (x,)),)) if kind(x.spec.dtype) == kind(wide):
            fits = np.can_cast(x.spec.dtype, wide, "safe") and (kind(wide) != "f" or kind(dtype) in "fb")
            return Node(op, (x,)) if fits else None
    return None


# -- the passes -----------------------------------------------------------------------------------------

RULES: tuple[Rewrite, ...] = (neutral, negate, signs, signed_number, halves, square, same_twice, merge_moves, cast)


def simplify(graph: Graph, rules: tuple[Rewrite, ...] = RULES) -> Graph:
    """Apply every rule to every node, until none applies."""

    def simplify_node(node: Node, inputs: tuple[Node, ...]) -> Node:
        if inputs != node.inputs:
            node = node.again(inputs)
        for rule in tried_on(type(node.op), rules):
            new = rule(node)
            if new is not None and new.spec == node.spec:
                return simplify_node(new, new.inputs)
        return node

    return graph.rebuild(simplify_node, {kind for kind in graph.kinds if tried_on(kind, rules)})


@lru_cache
def tried_on(op: type[Op], rules: tuple[Rewrite, ...]) -> tuple[Rewrite, ...]:
    """The rules for this type of op. A rule without `applies_to` is tried on all ops."""
    return tuple([rule for rule in rules if op in getattr(rule, "ops", (op,))])


def share(graph: Graph) -> Graph:
    """Common subexpression elimination: equal ops on equal inputs become one node.

    Ops are frozen dataclasses and are compared by `==`. x + y counts as y + x, which is equal to the last bit.
    """
    seen: dict[tuple[Op, tuple[Node, ...], Spec], Node] = {}

    def one(node: Node, inputs: tuple[Node, ...]) -> Node:
        if node.op.effect or not (inputs or hasattr(node.op, "value")):
            return node.again(inputs)  # an input is equal only to itself; an op with effects must run each time
        operands = tuple(sorted(inputs, key=id)) if type(node.op) in COMMUTATIVE else inputs
        return seen.setdefault((node.op, operands, node.spec), node.again(inputs))

    return graph.rebuild(one)


COMMUTATIVE = {Add, Mul, And, Or, Xor, Equal, NotEqual}


def optimise(graph: Graph) -> Graph:
    """The graph simplified, with its common subexpressions shared."""
    return share(simplify(graph))
