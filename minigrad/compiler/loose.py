"""Rules that are true of numbers, and of the numbers in a computer but for rounding or the sign of a 0.

They apply where speed was asked for before the last bit: see pipeline.py, FAST.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ..node import Node
from ..ops import Add, BroadcastTo, Const, Div, Mul, Neg, Reshape, Sigmoid, Sub, Sum, SumOfProducts, Tanh
from .rewrite import Rewrite, about, number


@about(Add, Sub, Neg)
def zero(node: Node) -> Node | None:
    """x + 0  →  x;  0 − x  →  −x;  −(x − y)  →  y − x"""
    match node:
        case Node(Add(), (x, Node(Const(0))) | (Node(Const(0)), x)):
            return x
        case Node(Sub(), (Node(Const(0)), x)) if x.spec == node.spec:
            return Node(Neg(), (x,))
        case Node(Neg(), (Node(Sub(), (x, y)),)):
            return Node(Sub(), (y, x))
    return None


@about(Mul, Div)
def quotient(node: Node) -> Node | None:
    """x · (1 / y)  →  x / y;  x / c  →  x · (1 / c)"""
    match node:
        case Node(Mul(), (x, Node(Div(), (Node(Const(1)), y))) | (Node(Div(), (Node(Const(1)), y)), x)):
            return Node(Div(), (x, y))
        case Node(Div(), (x, Node(Const(c)) as k)) if c and k.spec.is_float:
            return Node(Mul(), (x, number(1 / c, k.spec)))
    return None


@about(Mul, Add)
def factors(node: Node) -> Node | None:
    """(x · a) · b  →  x · (a b);  (x + a) + b  →  x + (a + b), for numbers a and b"""
    match node:
        case Node(Mul(), (Node(Mul(), (x, Node(Const(a)) as k)), Node(Const(b)))) if k.spec.is_float:
            return Node(Mul(), (x, number(a * b, k.spec)))
        case Node(Add(), (Node(Add(), (x, Node(Const(a)) as k)), Node(Const(b)))) if k.spec.is_float:
            return Node(Add(), (x, number(a + b, k.spec)))
    return None


@about(Sum)
def sums(node: Node) -> Node | None:
    """Σ over axes of length 1  →  reshape;  Σ Σ x  →  Σ x;  Σ x y over some axes  →  one pass, no array of products"""
    match node:
        case Node(Sum(outer), (Node(Sum(inner, keeps), (x,)),)):
            left = range(x.spec.ndim) if keeps else [a for a in range(x.spec.ndim) if a not in inner]
            axes = tuple(sorted({*inner, *(left[a] for a in outer)}))
            return Node(Reshape(node.spec.shape), (Node(Sum(axes), (x,)),))
        case Node(Sum(axes), (x,)) if all(x.spec.shape[a] == 1 for a in axes):
            return Node(Reshape(node.spec.shape), (x,))
        case Node(Sum(axes), (Node(Mul(), (x, y)),)) if x.spec == y.spec and wide(x) and node.spec.shape:
            return Node(Reshape(node.spec.shape), (Node(SumOfProducts(axes), (x, y)),))
    return None


def wide(x: Node) -> bool:
    """Whether sums in x's own dtype lose little: those of half precision are made in single."""
    return x.spec.dtype.itemsize > 2


@about(Sum)
def copies(node: Node) -> Node | None:
    """Σ of n copies of x, made by broadcasting  →  x · n"""
    match node:
        case Node(Sum(axes) as op, (Node(BroadcastTo(shape), (x,)),)) if x.spec.is_float:
            before = (1,) * (len(shape) - x.spec.ndim) + x.spec.shape
            if all(before[a] == 1 for a in axes):
                n = number(float(prod(shape[a] for a in axes)), x.spec.with_shape(()))
                total = Node(Reshape(op.reduced(before)), (Node(Mul(), (x, n)),))
                return Node(BroadcastTo(node.spec.shape), (total,))
    return None


@about(Sigmoid)
def logistic(node: Node) -> Node | None:
    """σ(x)  →  ½ tanh(½ x) + ½ in single precision, where tanh takes half as long as exp; and ½ (a x + b) at once

    Where σ is nearly 0 it is then exact to 6e-8, not to seven digits.
    """
    match node:
        case Node(Sigmoid(), (x,)) if x.spec.dtype == np.float32:
            half = number(0.5, x.spec.with_shape(()))
            return Node(Add(), (Node(Mul(), (Node(Tanh(), (halved(x, half),)), half)), half))
    return None


def halved(x: Node, half: Node) -> Node:
    """½ x; of a y + b with numbers a and b, ½ a y + ½ b."""
    match x:
        case Node(Add(), (Node(Mul(), (Node(Const(a)), y) | (y, Node(Const(a)))), Node(Const(b)))):
            return Node(Add(), (Node(Mul(), (y, number(a / 2, half.spec))), number(b / 2, half.spec)))
    return Node(Mul(), (x, half))


LOOSE: tuple[Rewrite, ...] = (zero, quotient, factors, sums, copies, logistic)
