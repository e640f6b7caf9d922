"""Move transposes and broadcasts to where they cost nothing.

    (xᵀ + yᵀ)             →  (x + y)ᵀ             one transpose, which the next op may absorb
    affine(x, Wᵀ)         →  affine(x, W)         the op reads W transposed
    x + broadcast(b)      →  x + b                a loop broadcasts by itself
    x · −broadcast(b)     →  x · (−b)             values equal along an axis are computed once

BLAS reads a transposed matrix in place. The transpose of a product becomes a product of transposes: (x y)ᵀ → yᵀ xᵀ.
This stores the gradient of a layer's weights in the order of the weights. BLAS may then sum in another order, so only
fast math uses this rule.
"""

from __future__ import annotations

from itertools import repeat

from ....engine.base.spec import broadcast_shape
from ....engine.core.graph import Graph
from ....engine.core.node import Node
from ....engine.core.op import Elementwise
from ....engine.ops.arithmetic import Add, Div, Mul, Neg, Sub
from ....engine.ops.comparison import Maximum, Minimum, Where
from ....engine.ops.matmul import Affine, MatMul
from ....engine.ops.movement import BroadcastTo, Reshape, Transpose
from ....engine.ops.pointwise import Abs, Cast, Sqrt
from ....engine.tensor.rewrite import Rewrite, applies_to, merge_moves, simplify

# -- transposes -----------------------------------------------------------------------------------------


@applies_to(Affine)
def absorb_transpose(node: Node) -> Node | None:
    """affine(x, Wᵀ, b)  →  affine(x, W, b), transposed"""
    match node:
        case Node(Affine(transposed), (x, Node(Transpose((1, 0)), (w,)), *b)):
            return Node(Affine(not transposed), (x, w, *b))
    return None


def hoist_transpose(node: Node) -> Node | None:
    """f(xᵀ, yᵀ, c)  →  f(x, y, c)ᵀ for an elementwise f: the order of the elements in memory stays the same"""
    if not isinstance(node.op, Elementwise) or node.op.effect:
        return None
    turns = {x.op for x in node.inputs if x.spec.shape}
    if len(turns) != 1 or not isinstance(turn := turns.pop(), Transpose):
        return None
    if any(x.spec.shape != node.spec.shape for x in node.inputs if x.spec.shape):
        return None
    return Node(turn, (Node(node.op, tuple(x.inputs[0] if x.spec.shape else x for x in node.inputs)),))


@applies_to(Transpose)
def lengthless(node: Node) -> Node | None:
    """A transpose that moves only axes of length 1  →  reshape"""
    match node:
        case Node(Transpose(axes), (x,)):
            long = [a for a in axes if x.spec.shape[a] != 1]
            if long == sorted(long):
                return Node(Reshape(node.spec.shape), (x,))
    return None


@applies_to(Transpose)
def product_turned(node: Node) -> Node | None:
    """(x y)ᵀ  →  yᵀ xᵀ; only in fast math, since it may round differently"""
    match node:
        case Node(Transpose(axes), (Node(MatMul(), (x, y)),)) if x.spec.ndim == y.spec.ndim == len(axes):
            n = len(axes)
            if axes == (*range(n - 2), n - 1, n - 2):
                turn = Transpose(axes)
                return Node(MatMul(), (Node(turn, (y,)), Node(turn, (x,))))
    return None


TRANSPOSES: tuple[Rewrite, ...] = (absorb_transpose, hoist_transpose, lengthless, merge_moves)
FAST_TRANSPOSES: tuple[Rewrite, ...] = (*TRANSPOSES, product_turned)


def transposes(graph: Graph, rules: tuple[Rewrite, ...] = TRANSPOSES) -> Graph:
    """Move transposes past elementwise ops, and absorb them into the ops that read them."""
    return simplify(graph, rules)


# -- broadcasts -----------------------------------------------------------------------------------------

# Ops that round each element the same way, whatever the shape of the arrays.
EXACT = {Add, Sub, Mul, Div, Neg, Abs, Sqrt, Cast, Maximum, Minimum, Where}


def narrow(graph: Graph) -> Graph:
    """Let elementwise ops read operands before their broadcast, if the result keeps its shape.

    An op whose operands are all broadcasts is computed on the small arrays, for readers that can broadcast its result.
    """
    if not any(map(issubclass, graph.kinds, repeat((BroadcastTo, Reshape)))):
        return graph
    small: dict[Node, Node] = {}  # a node → a smaller node that broadcasts to it

    def read(node: Node, inputs: tuple[Node, ...]) -> Node:
        new = node if inputs == node.inputs else node.again(inputs)
        if isinstance(new.op, BroadcastTo | Reshape) and is_stretch(new):
            small[new] = small.get(inputs[0], inputs[0])
        elif isinstance(node.op, Elementwise) and not node.op.effect:
            xs = tuple(map(small.get, inputs, inputs))
            shape = None if xs == inputs else broadcast_shape(*(x.spec.shape for x in xs))
            if shape == node.spec.shape:
                return Node(node.op, xs, node.spec)
            if shape is not None and type(node.op) in EXACT:
                small[new] = Node(node.op, xs, node.spec.with_shape(shape))
        return new

    return graph.rebuild(read)


def is_stretch(node: Node) -> bool:
    """Whether the node is a broadcast, or a reshape that only adds leading axes of length 1."""
    match node:
        case Node(BroadcastTo()):
            return True
        case Node(Reshape(shape), (x,)):
            return (1,) * (len(shape) - x.spec.ndim) + x.spec.shape == shape
    return False
