"""Rules that hold for real numbers, and for floating-point numbers up to rounding or the sign of a 0.

They apply where speed matters more than the last bit: see FAST in pipeline.py. The pooling rules move elementwise ops
behind the pooling, which leaves for example a quarter of the elements:

    max of relu(x)               →  relu(max of x)            relu is monotonic
    max of (x + b)               →  (max of x) + b            b is constant in each window
    slope of relu · put taps(g)  →  put taps(slope of relu · g)
    Σ of put taps(g)             →  Σ of g

The position of the maximum is then found in x. Where x is below 0, relu made ties, but tied elements got no gradient.
Where rounding made two x + b equal, the gradient now goes to the larger x.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ....engine.base.dimension import divided, is_unknown
from ....engine.core.node import Node
from ....engine.ops.activation import Relu, ReluDifferential
from ....engine.ops.arithmetic import Add, Div, Mul, Neg, Sub
from ....engine.ops.comparison import Kept, LessEqual, Not
from ....engine.ops.convolution import Convolution
from ....engine.ops.leaf import Const
from ....engine.ops.matmul import Affine, MatMul
from ....engine.ops.movement import BroadcastTo, Reshape
from ....engine.ops.pooling import ArgMaxPool, MaxPool, PutTaps
from ....engine.ops.reduce import Mean, Sum, SumOfProducts
from ....engine.tensor.rewrite import Rewrite, applies_to, in_order, number
from .fold import Folded


@applies_to(Add, Sub, Neg)
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


@applies_to(Div)
def quotient(node: Node) -> Node | None:
    """x / c  →  x · (1 / c): faster, within 1.5 ulp; not if c or 1 / c is 0, subnormal or infinite"""
    match node:
        case Node(Div(), (x, Node(Const(c)) as k)) if k.spec.dtype == node.spec.dtype and is_float(x, k):
            return Node(Mul(), (x, number(1 / c, k.spec))) if is_normal(c, k) and is_normal(1 / c, k) else None
    return None


@applies_to(Mul, Add)
def factors(node: Node) -> Node | None:
    """(x · a) · b  →  x · (a b);  (x + a) + b  →  x + (a + b), for constants a and b

    x · (a b)      within 1.5 ulp: only if |a| and |b| are both at least 1 or both at most 1, so that x · a overflows or
                   underflows only where the result does; and only if a b is neither infinite nor subnormal
    x + (a + b)    within an ulp of the largest of x, a and b: only if a and b are too small to make a finite x infinite
    """
    match node:
        case Node(Mul() | Add(), (inner, Node(Const(b)) as k) | (Node(Const(b)) as k, inner)) if type(inner.op) is type(
            node.op
        ):
            match inner:
                case Node(op, (x, Node(Const(a)) as j) | (Node(Const(a)) as j, x)) if is_float(j, k, x):
                    if not j.spec.dtype == k.spec.dtype == x.spec.dtype:
                        return None
                    if isinstance(op, Add):
                        small = float(np.finfo(k.spec.dtype).max * np.finfo(k.spec.dtype).eps) / 4
                        return Node(op, (x, number(a + b, k.spec))) if abs(a) < small > abs(b) else None
                    same_way = (abs(a) <= 1) == (abs(b) <= 1) or 1 in (abs(a), abs(b))
                    return Node(op, (x, number(a * b, k.spec))) if same_way and is_normal(a * b, k) else None
    return None


def is_normal(c: float, k: Node) -> bool:
    """Whether c has full precision in the dtype of k: it is not 0, subnormal, infinite or NaN."""
    bounds = np.finfo(k.spec.dtype)
    return float(bounds.smallest_normal) <= abs(c) <= float(bounds.max)


def is_float(*xs: Node) -> bool:
    return all(x.spec.is_float for x in xs)


@applies_to(Sum)
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
        case Node(Sum(), (Node(Mul(), (x, y)),)) if x.spec == y.spec and is_matrix(x) and in_order(x) and in_order(y):
            row, column = Node(Reshape((1, x.spec.size)), (x,)), Node(Reshape((x.spec.size, 1)), (y,))
            return Node(Reshape(()), (Node(Affine(), (row, column)),))
    return None


def is_matrix(x: Node) -> bool:
    """Whether BLAS can read x, and x is small enough that it is not processed in blocks."""
    return x.spec.ndim == 2 and x.spec.dtype.char in "fd" and x.spec.size <= 1 << 16


@applies_to(Sum)
def lines(node: Node) -> Node | None:
    """Σ x over the rows of a matrix  →  1ᵀ x;  over its columns  →  x 1: BLAS sums in a third of the time"""
    match node:
        case Node(Sum((axis,)), (x,)) if is_matrix(x) and 1 < x.spec.shape[axis] <= 1 << 10:
            n = x.spec.shape[axis]
            ones = np.ones((n, 1) if axis else (1, n), x.spec.dtype)
            held = Node(Folded(ones.tobytes(), ones.dtype, ones.shape), (), x.spec.with_shape(ones.shape))
            return Node(Reshape(node.spec.shape), (Node(Affine(), (x, held) if axis else (held, x)),))
    return None


@applies_to(MatMul)
def product(node: Node) -> Node | None:
    """x y, if it is a row or a column  →  Affine, which runs as `dot` and has half the overhead"""
    match node:
        case Node(MatMul(), (x, y)) if is_matrix(x) and is_matrix(y) and 1 in node.spec.shape:
            return Node(Affine(), (x, y))
    return None


@applies_to(Mean)
def mean(node: Node) -> Node | None:
    """mean x y  →  Σ x y · 1 / n"""
    match node:
        case Node(Mean(axes, keeps) as op, (Node(Mul(), (x, y)) as xy,)) if x.spec == y.spec and is_matrix(x):
            share = number(divided(1, op.count(x.spec)), x.spec.with_shape(()))
            total = sums(Node(Sum(axes, keeps), (xy,)))
            return total and Node(Mul(), (total, share))
    return None


def wide(x: Node) -> bool:
    """Whether x's own dtype is precise enough to sum in; half precision is summed in single."""
    return x.spec.dtype.itemsize > 2


@applies_to(Sum)
def copies(node: Node) -> Node | None:
    """Σ over the n copies of x that a broadcast makes  →  x · n"""
    match node:
        case Node(Sum(axes) as op, (Node(BroadcastTo(shape), (x,)),)) if x.spec.is_float:
            before = (1,) * (len(shape) - x.spec.ndim) + x.spec.shape
            if not any(map(is_unknown, shape)) and all(before[a] == 1 for a in axes):
                n = number(float(prod(shape[a] for a in axes)), x.spec.with_shape(()))
                total = Node(Reshape(op.reduced_shape(before)), (Node(Mul(), (x, n)),))
                return Node(BroadcastTo(node.spec.shape), (total,))
    return None


FAST_MATH: tuple[Rewrite, ...] = (zero, quotient, factors, sums, mean, copies)
BY_BLAS: tuple[Rewrite, ...] = (lines, product)  # applied after all other rules about sums


@applies_to(Convolution)
def bias(node: Node) -> Node | None:
    """The op x ⋆ w + b  →  two ops, (x ⋆ w) + b"""
    match node:
        case Node(Convolution() as op, (x, w, b)) if x.spec.dtype == w.spec.dtype == b.spec.dtype:
            return Node(Add(), (Node(op, (x, w)), Node(Reshape((b.spec.shape[0], *[1] * (x.spec.ndim - 2))), (b,))))
    return None


@applies_to(MaxPool)
def after(node: Node) -> Node | None:
    """max of relu(x)  →  relu(max of x);  max of (x + b)  →  (max of x) + b"""
    match node:
        case Node(MaxPool() as op, (Node(Relu() as relu, (x,)),)):
            top = Node(op, (x,))
            return Node(relu, (after(top) or top,))
        case Node(MaxPool() as op, (Node(Add() as add, (x, b)),)) if x.spec == node.inputs[0].spec and is_level(b, x):
            top = Node(op, (x,))
            return Node(add, (after(top) or top, b))
    return None


def is_level(b: Node, x: Node) -> bool:
    """Whether b, which broadcasts to x (N, C, *size), is constant in each window: of length 1 along the size."""
    return all(n == 1 for n in b.spec.shape[-(x.spec.ndim - 2) :])


def bare(x: Node, top: Node) -> tuple[Node, Node] | None:
    """x and top before the relu and + b that both went through; None unless this top is the maximum of this x."""
    while type(x.op) is type(top.op) in (Relu, Add) and x.inputs[1:] == top.inputs[1:]:
        x, top = x.inputs[0], top.inputs[0]
    return (x, top) if isinstance(top.op, MaxPool) and top.inputs == (x,) else None


@applies_to(ArgMaxPool)
def place(node: Node) -> Node | None:
    """argmax of (x + b)  →  argmax of x, per window"""
    match node:
        case Node(ArgMaxPool() as op, (Node(Add()) as x, top)) if (found := bare(x, top)) and found[0] is not x:
            return Node(op, found)
    return None


@applies_to(ReluDifferential, Kept)
def before(node: Node) -> Node | None:
    """slope of relu · put taps(g)  →  put taps(slope of relu · g), if relu's result was pooled"""
    match node:
        case Node(ReluDifferential(), (Node(PutTaps()) as put, y)):
            pass
        case Node(Kept(), (Node(PutTaps()) as put, Node(Not(), (Node(LessEqual(), (y, Node(Const(0)))),)))):
            pass
        case _:
            return None
    match put:
        case Node(PutTaps() as op, (g, Node(ArgMaxPool() as arg, (Node(Relu()) as x, top)))) if x is y:
            if found := bare(x, top):
                return Node(op, (Node(ReluDifferential(), (g, top)), Node(arg, found)))
    return None


@applies_to(Sum)
def spread(node: Node) -> Node | None:
    """Σ of put taps(g) over all axes of a window  →  Σ of g"""
    match node:
        case Node(Sum(axes) as op, (Node(PutTaps(window), (g, _)),)) if set(range(2, g.spec.ndim)) <= set(axes):
            return None if window.has_padding else Node(op, (g,))
    return None


POOLED: tuple[Rewrite, ...] = (bias, after, place, before, spread)
