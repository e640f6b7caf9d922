"""Linear algebra of several operands: sums of products, pairwise distances, matrix chains."""

from __future__ import annotations

from typing import Any

from ...engine import ops
from ...engine.base.dimension import wrap_dimension
from ...engine.base.errors import AxisError, ShapeError
from ...engine.base.spec import broadcast_shape
from ...engine.methods import algebra as contraction
from ...engine.methods.arguments import autocast_to, axis_of
from ...engine.tensor.lift import operand, operands


def einsum(equation: str, *xs: Any) -> Any:
    """Σ of products of elements: letters name axes, and axes that are missing after the arrow are summed over.

    einsum("bij,bjk->bik", x, y)    batched matrix product
    einsum("ii", x)                 trace
    einsum("...i,i", x, w)          weighted sum over the last axis, with any axes before it

    More than two operands are contracted in pairs, from the left.
    """
    if not isinstance(equation, str):
        raise TypeError(f"einsum needs its equation as a string, as in 'ij,jk->ik', and got {equation!r}")
    if len(xs) == 1 and isinstance(xs[0], list | tuple):
        xs = tuple(xs[0])
    return contraction.einsum(equation, *operands(xs, "einsum"))


def cross(input: Any, other: Any, dim: int | None = None) -> Any:
    """The cross product x × y along `dim`, by default the only axis of length 3."""
    x, y = operands((input, other), "cross")
    shape = broadcast_shape(x.spec.shape, y.spec.shape)
    if shape is None or (dim is None and [*map(wrap_dimension, shape)].count(3) != 1):
        raise AxisError(f"cross of {x.spec} and {y.spec} needs exactly one axis of length 3: or pass dim, as in dim=-1")
    dim = (shape.index(3) if dim is None else axis_of(x.spec.with_shape(shape), dim)) - len(shape)
    a, b = ([z.select(dim, i) for i in range(z.shape[z.axis(dim)])] for z in (x, y))
    if (len(a), len(b)) != (3, 3):
        raise ShapeError(f"cross needs three numbers along axis {dim}, and got {x.spec} and {y.spec}")
    parts = [a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3)]
    return parts[0].apply(ops.Stack(parts[0].ndim), *parts[1:]).movedim(-1, dim)


@autocast_to("float32")
def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str | None = None) -> Any:
    """The p-norm of x − y for each pair of rows: (…, m, k), (…, n, k) → (…, m, n).

    compute_mode    accepted and ignored: it only affects the speed of PyTorch
    """
    x = operand(x1)
    return (x.unsqueeze(-2) - x.lift(x2).unsqueeze(-3)).norm(p, -1)


def chain_matmul(*matrices: Any) -> Any:
    """x₁ x₂ … xₙ, in the order that needs the fewest multiplications: matrix chain multiplication.

    Cormen, Leiserson, Rivest and Stein, “Introduction to Algorithms”, section 15.2.
    The first and the last matrix may be vectors.
    """
    xs = [operand(x) for x in matrices]
    first, last = xs[0].ndim == 1, xs[-1].ndim == 1
    lengths = [1 if first else xs[0].shape[0], *(x.shape[0] for x in xs[1:]), 1 if last else xs[-1].shape[-1]]
    lengths[1:-1] = [x.shape[-1] for x in xs[:-1]]
    cost: dict[tuple[int, int], tuple[int, int]] = {(i, i): (0, i) for i in range(len(xs))}
    for n in range(1, len(xs)):
        for i in range(len(xs) - n):
            j = i + n
            cost[i, j] = min(
                (cost[i, k][0] + cost[k + 1, j][0] + lengths[i] * lengths[k + 1] * lengths[j + 1], k)
                for k in range(i, j)
            )

    def product(i: int, j: int) -> Any:
        k = cost[i, j][1]
        return xs[i] if i == j else product(i, k) @ product(k + 1, j)

    return product(0, len(xs) - 1)
