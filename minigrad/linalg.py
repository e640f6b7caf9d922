"""`mg.linalg`, with `torch.linalg`'s names and arguments: matrices lie in the last two axes, the rest is a batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import ops
from .functions import algebra
from .functions.algebra import cholesky as cholesky
from .functions.algebra import matmul as matmul
from .functions.algebra import matrix_power as matrix_power
from .functions.face import function, operand
from .operand import Operand
from .operand.synonyms import hears

inv = hears(A="input")(function(Operand.inv))
det = hears(A="input")(algebra.det)
slogdet = hears(A="input")(algebra.slogdet)
solve = hears(A="input")(function(Operand.solve))
eigh = function(Operand.eigh)
eigvalsh = function(Operand.eigvalsh)

__all__ = [
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "slogdet",
    "solve",
    "solve_triangular",
    "svdvals",
    "vecdot",
    "vector_norm",
]


def solve_triangular(A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """X with A X = B, or X A = B if not left, for A triangular; its other triangle is not read."""
    return operand(A).solve_triangular(B, upper, left, unitriangular)


def multi_dot(tensors: Any) -> Any:
    """The product of a list of matrices, in the cheapest order; the first and the last may be vectors."""
    return algebra.chain_matmul(*tensors)


def cross(input: Any, other: Any, *, dim: int = -1) -> Any:
    """x × y along an axis of length 3, the last if none is said."""
    return algebra.cross(input, other, dim)


def vecdot(x: Any, y: Any, dim: int = -1) -> Any:
    """Σ x y along an axis."""
    x = operand(x)
    return (x * y).sum(dim)


def diagonal(A: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The diagonal of the matrices in two axes, the last two if none are named."""
    return operand(A).diagonal(offset, dim1, dim2)


def vector_norm(x: Any, ord: float = 2, dim: Any = None, keepdim: bool = False) -> Any:
    """(Σ |x|ᵖ)^(1/p) for p = ord; the largest |x| for inf, the smallest for −inf, how many are not 0 for 0."""
    return operand(x).norm(ord, dim, keepdim)


def matrix_norm(A: Any, ord: Any = "fro", dim: tuple[int, int] = (-2, -1), keepdim: bool = False) -> Any:
    """A norm of each matrix in two axes.

    'fro'      √ Σ x²
    1, −1      the largest, the smallest sum of |x| in a column
    inf, −inf  the same in a row
    2, −2      the largest, the smallest singular value
    'nuc'      the sum of the singular values
    """
    A = operand(A)
    rows, columns = (A.axis(a) for a in dim)
    if ord == "fro":
        return A.norm(2, (rows, columns), keepdim)
    rest = [a for a in range(A.ndim) if a not in (rows, columns)]
    x = A.permute(*rest, rows, columns)
    if ord in (2, -2, "nuc"):
        values = svdvals(x)
        y = values.sum(-1) if ord == "nuc" else values.amax(-1) if ord == 2 else values.amin(-1)
    elif ord in (1, -1, float("inf"), -float("inf")):
        sums = x.abs().sum(-2 if abs(ord) == 1 else -1)
        y = sums.amax(-1) if ord > 0 else sums.amin(-1)
    else:
        raise ValueError(f"matrix_norm knows 'fro', 'nuc', 1, −1, 2, −2, inf and −inf, and got {ord!r}")
    return y.reshape(tuple(1 if a in (rows, columns) else n for a, n in enumerate(A.shape))) if keepdim else y


def norm(input: Any, ord: Any = None, dim: Any = None, keepdim: bool = False) -> Any:
    """vector_norm, or matrix_norm where ord is a word, or two axes or a matrix come with an ord."""
    A = operand(input)
    if ord is None:
        return A.norm(2, dim, keepdim)
    if isinstance(ord, str) or (dim is None and A.ndim == 2) or (isinstance(dim, tuple | list) and len(dim) == 2):
        return matrix_norm(A, ord, (-2, -1) if dim is None else tuple(dim), keepdim)
    return A.norm(ord, dim, keepdim)


def matrix_rank(A: Any, *, rtol: float | None = None) -> Any:
    """How many singular values are above rtol times the largest; by default ε times the longer side."""
    A = operand(A).real_valued()
    values = svdvals(A)
    rtol = max(A.shape[-2:]) * float(np.finfo(A.dtype).eps) if rtol is None else rtol
    return (values > values[..., :1] * rtol).sum(-1)


def cond(A: Any) -> Any:
    """The largest singular value over the smallest: how much a relative error may grow in solve."""
    values = svdvals(A)
    return values[..., 0] / values[..., -1]


def svdvals(A: Any) -> Any:
    """The singular values of A, from the largest down.

    They are the eigenvalues of [[0, A], [Aᵀ, 0]], which has −σ for each σ, and zeros.
    (AᵀA would lose half of the digits.)
    """
    A = operand(A)
    *batch, m, n = A.shape
    corner = A.apply(ops.Pad((*((0, 0) for _ in batch), (0, n), (m, 0))))
    return (corner + corner.mT).eigvalsh()[..., max(m, n) :].flip(-1)
