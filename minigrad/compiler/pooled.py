"""Rules about pooling: what is done to every element alike is done after it, to a quarter as many.

    max of relu(x)               →  relu(max of x)            relu keeps the order
    max of (x + b)               →  (max of x) + b            so does adding what is equal in all of a window
    slope of relu · put taps(g)  →  put taps(slope of relu · g)
    Σ of put taps(g)             →  Σ of g

The place of the maximum is then that of x. Where x is below 0 relu made ties, but gave them no gradient; where
rounding made a tie of x + b, the gradient now goes to the one that was larger: these rules are loose.
"""

from __future__ import annotations

from ..node import Node
from ..ops import (
    Add,
    ArgMaxPool,
    Const,
    Convolution,
    Kept,
    LessEqual,
    MaxPool,
    Not,
    PutTaps,
    Relu,
    ReluDifferential,
    Reshape,
    Sum,
)
from .rewrite import Rewrite, about


@about(Convolution)
def bias(node: Node) -> Node | None:
    """x ⋆ w + b as one op  →  x ⋆ w, and + b"""
    match node:
        case Node(Convolution() as op, (x, w, b)) if x.spec.dtype == w.spec.dtype == b.spec.dtype:
            return Node(Add(), (Node(op, (x, w)), Node(Reshape((b.spec.shape[0], *[1] * (x.spec.ndim - 2))), (b,))))
    return None


@about(MaxPool)
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
    """Whether b, which broadcasts to x (N, C, *size), is one number in each window: of length 1 along the size."""
    return all(n == 1 for n in b.spec.shape[-(x.spec.ndim - 2) :])


def bare(x: Node, top: Node) -> tuple[Node, Node] | None:
    """x, and the maximum of it, without what was done to both alike; None if top is not the maximum of x so done."""
    while type(x.op) is type(top.op) in (Relu, Add) and x.inputs[1:] == top.inputs[1:]:
        x, top = x.inputs[0], top.inputs[0]
    return (x, top) if isinstance(top.op, MaxPool) and top.inputs == (x,) else None


@about(ArgMaxPool)
def place(node: Node) -> Node | None:
    """where the maximum of x + b is  →  where that of x is"""
    match node:
        case Node(ArgMaxPool() as op, (Node(Add()) as x, top)) if (found := bare(x, top)) and found[0] is not x:
            return Node(op, found)
    return None


@about(ReluDifferential, Kept)
def before(node: Node) -> Node | None:
    """slope of relu · put taps(g)  →  put taps(slope of relu · g), where the maximum of relu was taken"""
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


@about(Sum)
def spread(node: Node) -> Node | None:
    """Σ over the size of put taps(g)  →  Σ of g"""
    match node:
        case Node(Sum(axes) as op, (Node(PutTaps(window), (g, _)),)) if set(range(2, g.spec.ndim)) <= set(axes):
            return None if window.padded else Node(op, (g,))
    return None


POOLED: tuple[Rewrite, ...] = (bias, after, place, before, spread)
