"""`mg.linalg`, with `torch.linalg`'s names and arguments: matrices are in the last two axes, the rest is a batch."""

from __future__ import annotations

from collections import namedtuple
from math import prod
from typing import Any

import numpy as np

from ..engine import ops
from ..engine.base.errors import DTypeError
from ..engine.methods import Operand
from ..engine.methods.arguments import accept_synonyms, autocast_to
from ..engine.tensor.lift import function, operand
from .functions import algebra, faces
from .functions.creation import zeros
from .functions.faces import cholesky as cholesky
from .functions.faces import matmul as matmul
from .functions.faces import matrix_power as matrix_power
from .functions.movement import cat

matrix_exp = accept_synonyms(A="input")(faces.matrix_exp)
inv = accept_synonyms(A="input")(function(Operand.inv))
det = accept_synonyms(A="input")(faces.det)
slogdet = accept_synonyms(A="input")(faces.slogdet)
solve = accept_synonyms(A="input")(function(Operand.solve))
eigh = function(Operand.eigh)
eigvalsh = function(Operand.eigvalsh)


def solve_triangular(A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """X with A X = B, or X A = B if not left, for a triangular A. The other triangle of A is ignored."""
    return operand(A).solve_triangular(B, upper, left, unitriangular)


def multi_dot(tensors: Any) -> Any:
    """The product of a list of matrices, in the cheapest order. The first and the last matrix may be vectors."""
    return algebra.chain_matmul(*tensors)


def cross(input: Any, other: Any, *, dim: int = -1) -> Any:
    """The cross product x × y along an axis of length 3, by default the last."""
    return algebra.cross(input, other, dim)


@autocast_to("lower")
def vecdot(x: Any, y: Any, dim: int = -1) -> Any:
    """Σ x y along an axis."""
    return (operand(x) * y).sum(dim)


def diagonal(A: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The diagonal of each matrix in the axes dim1 and dim2, by default the last two axes."""
    return operand(A).diagonal(offset, dim1, dim2)


def vector_norm(x: Any, ord: float = 2, dim: Any = None, keepdim: bool = False) -> Any:
    """(Σ |x|ᵖ)^(1/p) for p = ord; for inf the largest |x|, for −inf the smallest, for 0 the number of nonzeros."""
    return operand(x).norm(ord, dim, keepdim)


@autocast_to("float32")
def matrix_norm(A: Any, ord: Any = "fro", dim: tuple[int, int] = (-2, -1), keepdim: bool = False) -> Any:
    """A norm of each matrix in the two axes `dim`.

    'fro'      √ Σ x²
    1, −1      the largest and the smallest column sum of |x|
    inf, −inf  the largest and the smallest row sum of |x|
    2, −2      the largest and the smallest singular value
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
        raise ValueError(f"matrix_norm has 'fro', 'nuc', 1, −1, 2, −2, inf and −inf, and got {ord!r}")
    return y.reshape(tuple(1 if a in (rows, columns) else n for a, n in enumerate(A.shape))) if keepdim else y


def norm(input: Any, ord: Any = None, dim: Any = None, keepdim: bool = False) -> Any:
    """matrix_norm if ord is a string, or if ord is given for a matrix or for two axes; else vector_norm."""
    A = operand(input)
    if ord is None:
        return A.norm(2, dim, keepdim)
    if isinstance(ord, str) or (dim is None and A.ndim == 2) or (isinstance(dim, tuple | list) and len(dim) == 2):
        return matrix_norm(A, ord, (-2, -1) if dim is None else tuple(dim), keepdim)
    return A.norm(ord, dim, keepdim)


def matrix_rank(A: Any, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    """The number of singular values above atol and above rtol times the largest. By default rtol is ε · max(m, n).

    atol, rtol    numbers, or tensors with one number for each matrix
    """
    A = operand(A).real_valued()
    low, share = (A.lift(0.0 if t is None else t).astype(A.dtype).unsqueeze(-1) for t in (atol, rtol))
    if rtol is None:
        share = (max(A.shape[-2:]) * A.lift(float(np.finfo(A.dtype).eps))).astype(A.dtype).where(low <= 0, share)
    values = svdvals((A + A.mT) / 2 if hermitian else A)
    return (values > (values[..., :1] * share).maximum(low)).sum(-1)


def cond(A: Any, p: Any = None) -> Any:
    """The condition number ‖A‖ ‖A⁻¹‖ in the norm p (None means 2), which bounds how relative errors grow in solve."""
    if p in (None, 2, -2):
        values = svdvals(A)
        return values[..., 0] / values[..., -1] if p != -2 else values[..., -1] / values[..., 0]
    return matrix_norm(A, p) * matrix_norm(inv(A), p)


SVD = namedtuple("SVD", "U S Vh")
QR = namedtuple("QR", "Q R")
PLU = namedtuple("PLU", "P L U")
LUFactors = namedtuple("LUFactors", "LU pivots")
LUFactorsInfo = namedtuple("LUFactorsInfo", "LU pivots info")
LeastSquares = namedtuple("LeastSquares", "solution residuals rank singular_values")
Solved = namedtuple("Solved", "result info")


def svd(A: Any, full_matrices: bool = True) -> SVD:
    """A = U diag(S) Vh, with orthonormal columns in U and rows in Vh, and singular values S in descending order.

    full_matrices    make U and Vh square; the added columns and rows have no gradient
    """
    A = operand(A)
    U, S, V = A.apply(ops.Svd()).split((A.shape[-2], 1, A.shape[-1]), -2)
    if full_matrices:
        whole = [Q.detach().apply(ops.Orthonormal(True)).detach() for Q in (U, V)]
        U, V = (cat([Q, more[..., Q.shape[-1] :]], -1) for Q, more in zip((U, V), whole))
    return SVD(U, S[..., 0, :], V.mT)


def svdvals(A: Any) -> Any:
    """The singular values of A in descending order."""
    return svd(A, False).S


def qr(A: Any, mode: str = "reduced") -> QR:
    """A = Q R, with orthonormal columns in Q and an upper triangular R. mode="complete" makes Q square; "r" omits Q."""
    A = operand(A)
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"qr has the modes 'reduced', 'complete' and 'r', and got {mode!r}")
    Q = A[..., : min(A.shape[-2:])].apply(ops.Orthonormal(mode == "complete"))
    return QR(Q[..., :0] if mode == "r" else Q, (Q.mT @ A).triu())


def lu_factor(A: Any, *, pivot: bool = True) -> LUFactors:
    """A = P L U: a matrix of U and the part of L below the diagonal, and the pivots of P. See lu_solve, lu_unpack."""
    if not pivot:
        raise ValueError("lu without pivoting is unstable, since it may divide by tiny numbers: use pivot=True")
    A = operand(A)
    (m, n), pivots = A.shape[-2:], A.apply(ops.Pivots())
    y = (pivots.apply(ops.Exchanged(m)).unsqueeze(-1) == np.arange(m)).astype(A.dtype) @ A
    k = min(m, n)
    LU = y[..., :k, :k].apply(ops.Lu())
    if m > n:
        LU = cat([LU, solve_triangular(LU, y[..., n:, :], upper=True, left=False)], -2)
    elif m < n:
        LU = cat([LU, solve_triangular(LU, y[..., m:], upper=False, unitriangular=True)], -1)
    return LUFactors(LU, pivots)


def lu_unpack(LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> PLU:
    """P, L and U from the results of lu_factor. Parts that are not unpacked are empty."""
    LU, pivots = operand(LU_data), operand(LU_pivots)
    (m, n), nothing = LU.shape[-2:], LU.flatten()[:0]
    P = (pivots.apply(ops.Exchanged(m)).unsqueeze(-2) == np.arange(m)[:, None]).astype(LU.dtype)
    L, U = LU[..., : min(m, n)].tril(-1) + np.eye(m, min(m, n), dtype=LU.dtype), LU[..., : min(m, n), :].triu()
    return PLU(P if unpack_pivots else nothing, *((L, U) if unpack_data else (nothing, nothing)))


def lu(A: Any, *, pivot: bool = True) -> PLU:
    """A = P L U: P is a permutation, L a lower triangle with ones on its diagonal, U an upper triangle."""
    return lu_unpack(*lu_factor(A, pivot=pivot))


def lu_factor_ex(A: Any, *, pivot: bool = True, check_errors: bool = False) -> LUFactorsInfo:
    return LUFactorsInfo(*lu_factor(A, pivot=pivot), zeros(operand(A).shape[:-2], dtype=np.int32))


def lu_solve(LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    """X with A X = B, or X A = B if not left, from the results of lu_factor(A). adjoint replaces A by Aᵀ."""
    if not left:
        return lu_solve(LU, pivots, operand(B).mT, adjoint=not adjoint).mT
    P, L, U = lu_unpack(LU, pivots)
    if adjoint:
        return P @ solve_triangular(L.mT, solve_triangular(U.mT, B, upper=False), upper=True)
    return solve_triangular(U, solve_triangular(L, P.mT @ B, upper=False), upper=True)


def pinv(A: Any, *, atol: float | None = None, rtol: float | None = None, hermitian: bool = False) -> Any:
    """V diag(1 / S) Uᵀ, ignoring singular values below atol or below rtol (default: ε max(m, n)) times the largest."""
    A = operand(A)
    least = 0.0 if atol else max(A.shape[-2:]) * float(np.finfo(A.dtype).eps)
    op = ops.PseudoInverse(least if rtol is None else float(rtol), float(atol or 0))
    return ((A + A.mT) / 2 if hermitian else A).apply(op)


def lstsq(A: Any, B: Any, rcond: float | None = None, *, driver: str | None = None) -> LeastSquares:
    """The X of least norm that minimises ‖A X − B‖. As in LAPACK, driver sets which other results are computed."""
    A = operand(A)
    X, nothing = pinv(A, rtol=rcond) @ B, A.flatten()[:0]
    alone = driver in (None, "gelsy") or A.shape[-2] <= A.shape[-1]
    residuals = nothing if alone else ((A @ X - B) ** 2).sum(-2)
    values = svdvals(A) if driver in ("gelss", "gelsd") else nothing
    return LeastSquares(X, residuals, nothing.long() if driver == "gels" else matrix_rank(A, rtol=rcond), values)


def tensorinv(A: Any, ind: int = 2) -> Any:
    """The inverse of A, taken as a matrix: its first `ind` axes are the rows, the other axes are the columns."""
    A = operand(A)
    rows, columns = A.shape[:ind], A.shape[ind:]
    return A.reshape(prod(rows), prod(columns)).inv().reshape(*columns, *rows)


def tensorsolve(A: Any, B: Any, dims: tuple[int, ...] | None = None) -> Any:
    """X with tensordot(A, X, X.ndim) = B. The axes in dims are first moved to the end of A."""
    A, B = operand(A), operand(B)
    A = A.movedim(dims, tuple(range(-len(dims), 0))) if dims else A
    return A.reshape(B.size, -1).solve(B.flatten()).reshape(A.shape[B.ndim :])


def inv_ex(A: Any, *, check_errors: bool = False) -> Solved:
    """inv(A), and info = 0 for each matrix. Where PyTorch's _ex functions return another info, these raise an error."""
    return Solved(inv(A), zeros(operand(A).shape[:-2], dtype=np.int32))


def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False) -> Solved:
    return Solved(solve(A, B, left=left), zeros(operand(A).shape[:-2], dtype=np.int32))


def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False) -> Solved:
    return Solved(cholesky(A, upper), zeros(operand(A).shape[:-2], dtype=np.int32))


def vander(x: Any, N: int | None = None) -> Any:
    """The Vandermonde matrix: for each x, a row of the N numbers 1, x, x², …"""
    x = operand(x)
    return x.reshape(x.shape or (1,)).unsqueeze(-1) ** np.arange(x.shape[-1] if N is None else N)


def eig(A: Any) -> Any:
    raise DTypeError("eig and eigvals are complex, and tensors are real: use eigh for a symmetric A, or np.linalg.eig")


eigvals = eig
