"""Matrices of any shape, taken apart. They lie in the last two axes.

Townsend 2016, “Differentiating the SVD”; Walter and Lehmann 2010, arXiv:1001.1654; Golub and Pereyra 1973, eq. 4.12.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

from ..errors import NoGradientError
from ..op import Op
from .joining import Concatenate
from .placing import Diagonal, Tril
from .solving import Solve, check_matrix, on_diagonal


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


def quotient(x, y):
    """x / y, and 0 where x is 0, whatever y is."""
    return x / y.where(x != 0, inf)


def outside(q, g, s):
    """g / σ, as far as it leaves what the columns of q span."""
    return quotient(g - q @ (q.mT @ g), s) if q.shape[-2] > q.shape[-1] else g * 0
