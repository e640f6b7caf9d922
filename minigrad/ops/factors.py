"""Matrices of any shape, taken apart. They lie in the last two axes.

Townsend 2016, “Differentiating the SVD”; Walter and Lehmann 2010, arXiv:1001.1654; Golub and Pereyra 1973, eq. 4.12.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np

from ..errors import NoGradientError
from ..op import Op
from ..spec import Spec
from .joining import Concatenate
from .placing import Diagonal, Tril, Triu
from .solving import OfSquare, Solve, check_matrix, on_diagonal


class OfMatrix(Op):
    """An op of one matrix, floating; `shape` says the last two lengths of the result."""

    inline = False
    shape: ClassVar[Any]

    def infer(self, x):
        check_matrix(self, x)
        return x.with_shape((*x.shape[:-2], *self.shape(*x.shape[-2:])))

    def flops(self, y, x): return 4 * x.size * min(x.shape[-2:])


class Svd(OfMatrix):
    """U, S and V of x = U diag(S) Vᵀ, one above the other; S is falling."""

    def shape(self, m, n): return m + 1 + n, min(m, n)

    def forward(self, xp, x):
        u, s, vt = xp.linalg.svd(x, full_matrices=False)
        return xp.concatenate([u, s[..., None, :], vt.swapaxes(-1, -2)], -2)

    def vjp(self, gy, y, x):
        (u, s, v), (gu, gs, gv) = self.parts(y, x), self.parts(gy, x)
        p, q = ((z - z.mT) / 2 for z in (u.mT @ gu, v.mT @ gv))
        used = (p != 0) | (q != 0)  # how equal singular values turn nobody can say, and who reads S alone need not know
        core = (p + q) / (s - s.mT).where(used, inf) + (p - q) / (s + s.mT).where(used, inf)
        return (u @ (core + on_diagonal(gs[..., 0, :])) + outside(u, gu, s)) @ v.mT + u @ outside(v, gv, s).mT,

    def jvp(self, dxs, y, x):
        (dx,), (u, s, v) = dxs, self.parts(y, x)
        p = u.mT @ dx @ v
        ds = p.apply(Diagonal())
        p = p - on_diagonal(ds)
        a, b = quotient((p + p.mT) / 2, s - s.mT), quotient((p - p.mT) / 2, s + s.mT)
        du, dv = u @ (a + b) + outside(u, dx @ v, s), v @ (a - b) + outside(v, dx.mT @ u, s)
        return du.apply(Concatenate(x.ndim - 2), ds.unsqueeze(-2), dv)

    def parts(self, y, x):
        """U, S as a row, and V."""
        m = x.shape[-2]
        return y[..., :m, :], y[..., m : m + 1, :], y[..., m + 1 :, :]


@dataclass(frozen=True)
class Orthonormal(OfMatrix):
    """Q of x = Q R, for x with m ≥ n: n orthonormal columns, or m if complete; R is Qᵀ x."""

    complete: bool = False

    def shape(self, m, n): return m, m if self.complete else n
    def forward(self, xp, x): return xp.linalg.qr(x, "complete" if self.complete else "reduced")[0]

    def vjp(self, gy, y, x):
        half = (gy.mT @ y).apply(Tril())
        gq = gy - y @ (half + half.apply(Tril(-1)).mT)
        return self.triangle(y, x).apply(Solve(), gq.mT).mT,

    def jvp(self, dxs, y, x):
        slope = self.triangle(y, x).mT.apply(Solve(), dxs[0].mT).mT
        lower = (y.mT @ slope).apply(Tril(-1))
        return slope + y @ (lower - lower.mT - y.mT @ slope)

    def triangle(self, y, x):
        if y.shape != x.shape:
            raise NoGradientError(f"{x.spec} does not say what completes Q: use mode='reduced', or x.detach()")
        return y.mT @ x


@dataclass(frozen=True)
class PseudoInverse(OfMatrix):
    """y = V diag(1 / S) Uᵀ, of the singular values above atol and above rtol times the largest"""

    rtol: float
    atol: float = 0.0

    def shape(self, m, n): return n, m

    def forward(self, xp, x):
        u, s, vt = xp.linalg.svd(x, full_matrices=False)
        above = s > xp.maximum(s[..., :1] * self.rtol, self.atol)
        return (vt.swapaxes(-1, -2) * (above / xp.where(above, s, 1))[..., None, :]) @ u.swapaxes(-1, -2)

    def vjp(self, gy, y, x): return self.jvp((gy,), y.mT, x.mT),  # that of xᵀ is the adjoint of this one

    def jvp(self, dxs, y, x):
        (dx,) = dxs
        return y @ y.mT @ (dx.mT - dx.mT @ x @ y) + (dx.mT - y @ x @ dx.mT) @ y.mT @ y - y @ dx @ y


# -- by elimination -------------------------------------------------------------------------------


class Pivots(OfMatrix):
    """y[…, k] = the row that changes places with row k, the largest in column k; counted from 1, as in LAPACK"""

    def infer(self, x):
        check_matrix(self, x)
        return x.with_shape((*x.shape[:-2], min(x.shape[-2:]))).with_dtype(np.dtype(np.int32))

    def forward(self, xp, x): return eliminated(xp, x)[1]
    def vjp(self, gy, y, x): return None,
    def jvp(self, dxs, y, x): return y * 0


@dataclass(frozen=True)
class Exchanged(Op):
    """The order of n rows in which the exchanges of `Pivots` leave them"""

    n: int

    inline = False

    def infer(self, p): return Spec((*p.shape[:-1], self.n), np.dtype(np.int64), p.device)

    def forward(self, xp, p):
        y = xp.zeros((*p.shape[:-1], self.n), np.int64) + xp.arange(self.n)
        for k in range(p.shape[-1]):
            exchange(xp, y, k, p[..., k] - 1)
        return y

    def vjp(self, gy, y, p): return None,
    def jvp(self, dxs, y, p): return y * 0
    def flops(self, y, p): return 0


class Lu(OfSquare):
    """L and U of x = L U in one matrix, without the ones on L's diagonal; rows stay where they are."""

    symbol = "LU"

    def forward(self, xp, x): return eliminated(xp, x, False)[0]

    def vjp(self, gy, y, x):
        lower, upper = self.parts(y)
        inner = (lower.mT @ gy.apply(Tril(-1))).apply(Tril(-1)) + (gy.apply(Triu()) @ upper.mT).apply(Triu())
        return upper.apply(Solve(), lower.mT.apply(Solve(), inner).mT).mT,

    def jvp(self, dxs, y, x):
        lower, upper = self.parts(y)
        inner = upper.mT.apply(Solve(), lower.apply(Solve(), dxs[0]).mT).mT
        return lower @ inner.apply(Tril(-1)) + inner.apply(Triu()) @ upper

    def parts(self, y):
        return y.apply(Tril(-1)) + on_diagonal(y.apply(Diagonal()) * 0 + 1), y.apply(Triu())


def eliminated(xp, x, pivoting=True):
    """Gauss's elimination, column by column: U, below it L, and which rows changed places."""
    y, count = x.copy(), min(x.shape[-2:])
    pivots = xp.zeros((*x.shape[:-2], count), np.int32)
    for k in range(count):
        pivots[..., k] = k + 1 + (xp.argmax(xp.abs(y[..., k:, k]), -1) if pivoting else 0)
        if pivoting:
            exchange(xp, y.swapaxes(-1, -2), k, pivots[..., None, k] - 1)
        pivot = y[..., k, None, k]
        y[..., k + 1 :, k] /= xp.where(pivot == 0, 1, pivot)  # then all below are 0
        y[..., k + 1 :, k + 1 :] -= y[..., k + 1 :, k, None] * y[..., k, None, k + 1 :]
    return y, pivots


def exchange(xp, y, i, j):
    """Exchanges y[…, i] and y[…, j] in place; j is an array."""
    j = xp.broadcast_to(j, y.shape[:-1])[..., None]
    there, here = xp.take_along_axis(y, j, -1), y[..., i, None].copy()
    y[..., i, None] = there
    xp.put_along_axis(y, j, here, -1)


# -- words of the rules ---------------------------------------------------------------------------


def quotient(x, y):
    """x / y, and 0 where x is 0, whatever y is."""
    return x / y.where(x != 0, inf)


def outside(q, g, s):
    """g / σ, as far as it leaves what the columns of q span."""
    return quotient(g - q @ (q.mT @ g), s) if q.shape[-2] > q.shape[-1] else g * 0
