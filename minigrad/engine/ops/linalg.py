"""Linear algebra: inverses, equations, determinants, factors. Matrices are in the last two axes, batches before them.

Derivative rules that are not one line of calculus are from Giles 2008, “Collected matrix derivative results for forward
and reverse mode algorithmic differentiation”, cited by section. The rules for non-square matrices are from Townsend
2016, “Differentiating the SVD”; Walter and Lehmann 2010, arXiv:1001.1654; Golub and Pereyra 1973, eq. 4.12.
"""

from __future__ import annotations

import importlib
from contextlib import nullcontext
from math import inf
from typing import Any, ClassVar

import numpy as np

from ..base.device import GPU, device_of
from ..base.dtypes import result_type
from ..base.errors import DTypeError, NoGradientError, ShapeError, SingularError
from ..base.spec import Spec, common_device
from ..core.op import Op
from .effect import StopGradient
from .movement import Concatenate, Diagonal, OnDiagonal, Tril, Triu


class OfSquare(Op):
    """An op of one square float matrix. The result has its shape, unless `infer` is overridden."""

    def infer(self, x):
        check_square(self, x)
        return x

    def flops(self, y, x): return 2 * x.size * x.shape[-1]  # n³ per matrix, up to a small factor


class Inverse(OfSquare):
    """y = x⁻¹"""

    symbol = "inv"

    def forward(self, xp, x): return call_lapack(self, xp.linalg.inv, x)
    def vjp(self, gy, y, x): return -(y.mT @ gy @ y.mT),
    def jvp(self, dxs, y, x): return -(y @ dxs[0] @ y)


class Solve(Op):
    """y = a⁻¹ b, the solution of a y = b, for a (…, n, n) and b (…, n, k)"""

    def infer(self, a, b):
        check_square(self, a)
        if b.ndim < 2 or b.shape[-2] != a.shape[-1]:
            raise ShapeError(f"solve needs a (…, n, n) and b (…, n, k), and got {a} and {b}")
        try:
            batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        except ValueError:
            raise ShapeError(f"solve needs leading axes that broadcast, and got {a} and {b}") from None
        return Spec((*batch, *b.shape[-2:]), result_type(a.dtype, b.dtype), common_device(self, a, b))

    def forward(self, xp, a, b):
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])  # CuPy needs equal batch shapes
        operands = xp.broadcast_to(a, batch + a.shape[-2:]), xp.broadcast_to(b, batch + b.shape[-2:])
        return call_lapack(self, xp.linalg.solve, *operands)

    def vjp(self, gy, y, a, b):
        gb = a.mT.apply(self, gy)
        return -(gb @ y.mT).sum_to(a.shape), gb.sum_to(b.shape)

    def jvp(self, dxs, y, a, b): return a.apply(self, dxs[1] - dxs[0] @ y)
    def flops(self, y, a, b): return 2 * a.size * a.shape[-1] // 3 + 2 * y.size * a.shape[-1]


# -- determinants ---------------------------------------------------------------------------------


class Det(OfSquare):
    """y = det x"""

    def infer(self, x): return super().infer(x).with_shape(x.shape[:-2])
    def forward(self, xp, x): return xp.linalg.det(x)
    def vjp(self, gy, y, x): return across(gy) * x.apply(Cofactors()),
    def jvp(self, dxs, y, x): return (dxs[0] * x.apply(Cofactors())).sum((-2, -1))


class Cofactors(OfSquare):
    """y = ∂ det x / ∂x: det(x) x⁻ᵀ if x has an inverse, but y exists even if x has none.

    From x = U S Vᵀ: cof x = det(U) det(V) U cof(S) Vᵀ, where entry i of cof(S) is the product of all Sⱼ with j ≠ i.
    """

    symbol = "cof"

    def forward(self, xp, x):
        n = x.shape[-1]
        u, s, vt = xp.linalg.svd(x)
        others = xp.where(xp.eye(n, dtype=bool), x.dtype.type(1), s[..., None, :])
        sign = xp.linalg.det(u) * xp.linalg.det(vt)
        return sign[..., None, None] * (u * xp.prod(others, -1)[..., None, :] @ vt)

    def vjp(self, gy, y, x): return self.jvp((gy,), y, x),  # the second derivative of det is symmetric

    def jvp(self, dxs, y, x):
        # d(det(x) x⁻ᵀ): x must have an inverse.
        inverse = x.apply(Inverse())
        slope = (inverse * dxs[0].mT).sum((-2, -1), keepdims=True)
        return y * slope - (dxs[0] @ inverse).mT @ y


class LogAbsDet(OfSquare):
    """y = ln |det x|; −∞ where x has no inverse"""

    symbol = "ln|det|"

    def infer(self, x): return super().infer(x).with_shape(x.shape[:-2])
    def forward(self, xp, x): return xp.linalg.slogdet(x)[1]
    def vjp(self, gy, y, x): return across(gy) * x.apply(Inverse()).mT,
    def jvp(self, dxs, y, x): return (dxs[0] * x.apply(Inverse()).mT).sum((-2, -1))


class SignDet(OfSquare):
    """y = the sign of det x; its slope is 0 wherever it is continuous"""

    symbol = "sign det"

    def infer(self, x): return super().infer(x).with_shape(x.shape[:-2])
    def forward(self, xp, x): return xp.linalg.slogdet(x)[0]
    def vjp(self, gy, y, x): return across(gy * 0).broadcast_to(x.shape),
    def jvp(self, dxs, y, x): return y * 0


# -- a function of a matrix -----------------------------------------------------------------------


class MatrixExp(OfSquare):
    """y = eˣ = Σ xᵏ / k!: the Taylor series at x / 2ˢ, where s makes x / 2ˢ smaller than ½, squared s times.

    y is NaN if s > 30. To avoid reading s from a device, there are always 30 products: s squarings, then by identities.

    The derivative is a block of a larger exponential: exp [[x, dx], [0, x]] = [[y, dy], [0, y]]. Higham 2008,
    “Functions of matrices”, eq. 3.16 and section 10.3.
    """

    symbol = "exp"

    def forward(self, xp, x):
        s = xp.maximum(xp.frexp(xp.sum(xp.abs(x), (-2, -1)))[1] + 1, 0)[..., None, None]
        one = xp.eye(x.shape[-1], dtype=x.dtype)
        y, part = one + x * 0, xp.ldexp(x, -s).astype(x.dtype)
        for k in range(18, 0, -1):
            y = one + part @ y / k
        for i in range(30):
            y = xp.where(i < s, y, one) @ y
        return xp.where(s <= 30, y, xp.nan).astype(x.dtype)

    def vjp(self, gy, y, x): return self.jvp((gy,), y, x.mT),  # the derivative at xᵀ is the adjoint of that at x

    def jvp(self, dxs, y, x):
        n, columns, rows = x.shape[-1], Concatenate(x.ndim - 1), Concatenate(x.ndim - 2)
        size = dxs[0].apply(StopGradient()).abs().sum((-2, -1), keepdims=True)
        size = size + (size == 0)  # dx is scaled: next to a large dx, a small x would lose its digits
        return x.apply(columns, dxs[0] / size).apply(rows, (x * 0).apply(columns, x)).apply(self)[..., :n, n:] * size

    def flops(self, y, x): return 2 * (18 + 30) * x.size * x.shape[-1]


# -- factors --------------------------------------------------------------------------------------


class OfSymmetric(OfSquare):
    """An op of the symmetric part of x, (x + xᵀ) / 2: x itself, if x is symmetric. The gradient is symmetric."""

    def part(self, x): return (x + x.swapaxes(-1, -2)) * x.dtype.type(0.5)


class Cholesky(OfSymmetric):
    """x = y yᵀ with y lower triangular, for x symmetric and positive definite.

    Murray 2016, “Differentiation of the Cholesky decomposition”, eq. 8–10. https://arxiv.org/abs/1602.07527
    """

    def forward(self, xp, x): return call_lapack(self, xp.linalg.cholesky, self.part(x))

    def vjp(self, gy, y, x):
        inner = lower_half(y.mT @ gy)
        return symmetric(y.mT.apply(Solve(), y.mT.apply(Solve(), inner.mT).mT)),

    def jvp(self, dxs, y, x):
        half = y.apply(Solve(), symmetric(dxs[0]))
        return y @ lower_half(y.apply(Solve(), half.mT))


class Eigenvalues(OfSymmetric):
    """The eigenvalues of a symmetric x, in ascending order: Giles 2008, section 3.1."""

    symbol = "λ"

    def infer(self, x): return super().infer(x).with_shape(x.shape[:-1])
    def forward(self, xp, x): return xp.linalg.eigvalsh(self.part(x))

    def vjp(self, gy, y, x):
        v = x.apply(Eigenvectors())
        return (v * gy.reshape(*gy.shape[:-1], 1, gy.shape[-1])) @ v.mT,

    def jvp(self, dxs, y, x):
        v = x.apply(Eigenvectors())
        return (v * (symmetric(dxs[0]) @ v)).sum(-2)


class Eigenvectors(OfSymmetric):
    """The columns of y are orthonormal eigenvectors of a symmetric x, in ascending order of the eigenvalues.

    If two eigenvalues are equal, there is no derivative: Giles 2008, section 3.1.
    """

    def forward(self, xp, x): return xp.linalg.eigh(self.part(x))[1]
    def vjp(self, gy, y, x): return symmetric(y @ ((y.mT @ gy) * self.closeness(x)) @ y.mT),
    def jvp(self, dxs, y, x): return y @ ((y.mT @ symmetric(dxs[0]) @ y) * self.closeness(x))

    def closeness(self, x):
        """1 / (λⱼ − λᵢ) at (i, j), and 0 on the diagonal."""
        λ = x.apply(Eigenvalues())
        gap = λ.reshape(*λ.shape[:-1], 1, λ.shape[-1]) - λ.reshape(*λ.shape, 1)
        same = on_diagonal(λ * 0 + 1)
        return (1 - same) / (gap + same)


# -- helpers of the rules -------------------------------------------------------------------------


def check_square(op, x):
    """Raises ShapeError unless x contains square matrices, DTypeError if LAPACK does not support their dtype."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"{op} needs square matrices (…, n, n), and got {x}")
    check_matrix(op, x)


def check_matrix(op, x):
    """Raises ShapeError unless x contains matrices, DTypeError if LAPACK does not support their dtype."""
    if x.ndim < 2:
        raise ShapeError(f"{op} needs matrices (…, m, n), and got {x}")
    if not x.is_float or x.dtype.itemsize < 4:
        raise DTypeError(f"{op} needs float32 or float64, and got {x}: use .astype(float)")


def call_lapack(op, function, *xs):
    """Call a LAPACK function. Raises SingularError if it fails. CuPy checks this, and waits, only inside errstate."""
    on_gpu = device_of(xs[0]) is GPU
    try:
        with importlib.import_module("cupyx").errstate(linalg="raise") if on_gpu else nullcontext():
            return function(*xs)
    except np.linalg.LinAlgError as reason:
        shapes = " and ".join(f"shape {x.shape}" for x in xs)
        raise SingularError(
            f"{op} of {shapes}: {reason}. A small multiple of mg.eye(n) added to the matrix makes it regular"
        ) from None


def across(y):
    """y with two axes of length 1 added, so that it can multiply each matrix of a batch by a number."""
    return y.reshape(*y.shape, 1, 1)


def on_diagonal(x):
    """The diagonal matrix with x on its diagonal."""
    return x.apply(OnDiagonal((x.shape[-1], x.shape[-1])))


def symmetric(x):
    """(x + xᵀ) / 2"""
    return (x + x.mT) * 0.5


def lower_half(x):
    """The lower triangle of a symmetric x with its diagonal halved. This matrix plus its transpose is x."""
    return x.apply(Tril()) - on_diagonal(x.apply(Diagonal())) * 0.5


class OfMatrix(Op):
    """An op of one float matrix. Its method `shape` computes the last two lengths of the result."""

    shape: ClassVar[Any]

    def infer(self, x):
        check_matrix(self, x)
        return x.with_shape((*x.shape[:-2], *self.shape(*x.shape[-2:])))

    def flops(self, y, x): return 4 * x.size * min(x.shape[-2:])


class Svd(OfMatrix):
    """U, S and V of x = U diag(S) Vᵀ, stacked in one matrix; S is in descending order."""

    def shape(self, m, n): return m + 1 + n, min(m, n)

    def forward(self, xp, x):
        u, s, vt = xp.linalg.svd(x, full_matrices=False)
        return xp.concatenate([u, s[..., None, :], vt.swapaxes(-1, -2)], -2)

    def vjp(self, gy, y, x):
        (u, s, v), (gu, gs, gv) = self.parts(y, x), self.parts(gy, x)
        p, q = ((z - z.mT) / 2 for z in (u.mT @ gu, v.mT @ gv))
        used = (p != 0) | (q != 0)  # for equal singular values U and V have no derivative; a gradient of S needs none
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


class Orthonormal(OfMatrix):
    """Q of x = Q R, for x with m ≥ n: n orthonormal columns, or m columns if complete; R is Qᵀ x."""

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
            raise NoGradientError(f"the complete Q of {x.spec} has no gradient: use mode='reduced', or x.detach()")
        return y.mT @ x


class PseudoInverse(OfMatrix):
    """y = V diag(1 / S) Uᵀ, with the singular values S above atol and above rtol times the largest"""

    rtol: float
    atol: float = 0.0

    def shape(self, m, n): return n, m

    def forward(self, xp, x):
        u, s, vt = xp.linalg.svd(x, full_matrices=False)
        above = s > xp.maximum(s[..., :1] * self.rtol, self.atol)
        return (vt.swapaxes(-1, -2) * (above / xp.where(above, s, 1))[..., None, :]) @ u.swapaxes(-1, -2)

    def vjp(self, gy, y, x): return self.jvp((gy,), y.mT, x.mT),  # the derivative at xᵀ is the adjoint of that at x

    def jvp(self, dxs, y, x):
        (dx,) = dxs
        return y @ y.mT @ (dx.mT - dx.mT @ x @ y) + (dx.mT - y @ x @ dx.mT) @ y.mT @ y - y @ dx @ y


# -- by elimination -------------------------------------------------------------------------------


class Pivots(OfMatrix):
    """y[…, k] = the row, counted from 1 as in LAPACK, that is exchanged with row k: the row largest in column k"""

    def infer(self, x):
        check_matrix(self, x)
        return x.with_shape((*x.shape[:-2], min(x.shape[-2:]))).with_dtype(np.dtype(np.int32))

    def forward(self, xp, x): return gauss_eliminate(xp, x)[1]
    def vjp(self, gy, y, x): return None,
    def jvp(self, dxs, y, x): return y * 0


class Exchanged(Op):
    """The order of n rows after the exchanges given by `Pivots`"""

    n: int

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
    """L and U of x = L U, without row exchanges, in one matrix. The 1s on L's diagonal are omitted."""

    symbol = "LU"

    def forward(self, xp, x): return gauss_eliminate(xp, x, False)[0]

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


def gauss_eliminate(xp, x, pivoting=True):
    """Gaussian elimination, column by column. Returns a matrix (U, and L below the diagonal), and the row exchanges."""
    y, count = x.copy(), min(x.shape[-2:])
    pivots = xp.zeros((*x.shape[:-2], count), np.int32)
    for k in range(count):
        pivots[..., k] = k + 1 + (xp.argmax(xp.abs(y[..., k:, k]), -1) if pivoting else 0)
        if pivoting:
            exchange(xp, y.swapaxes(-1, -2), k, pivots[..., None, k] - 1)
        pivot = y[..., k, None, k]
        y[..., k + 1 :, k] /= xp.where(pivot == 0, 1, pivot)  # a pivot of 0 means that all elements below are 0
        y[..., k + 1 :, k + 1 :] -= y[..., k + 1 :, k, None] * y[..., k, None, k + 1 :]
    return y, pivots


def exchange(xp, y, i, j):
    """Exchange y[…, i] and y[…, j] in place; j is an array."""
    j = xp.broadcast_to(j, y.shape[:-1])[..., None]
    there, here = xp.take_along_axis(y, j, -1), y[..., i, None].copy()
    y[..., i, None] = there
    xp.put_along_axis(y, j, here, -1)


# -- helpers of the rules -------------------------------------------------------------------------


def quotient(x, y):
    """x / y; 0 where x is 0, even if y is 0."""
    return x / y.where(x != 0, inf)


def outside(q, g, s):
    """The part of g / σ that is orthogonal to the columns of q."""
    return quotient(g - q @ (q.mT @ g), s) if q.shape[-2] > q.shape[-1] else g * 0
