"""Products of matrices and vectors, and what square matrices hide."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from .. import ops
from ..errors import ShapeError
from .base import Base, integers
from .einsum import contracted


class Eigen(NamedTuple):
    """What a symmetric matrix only stretches, and by how much: L = V diag(λ) Vᵀ."""

    eigenvalues: Any
    eigenvectors: Any


class SignLog(NamedTuple):
    """The sign of a determinant, and the logarithm of its size, which does not overflow."""

    sign: Any
    logabsdet: Any


class Algebra(Base):
    """Linear algebra over the last axes."""

    __slots__ = ()

    # -- products ---------------------------------------------------------------------------

    def matmul(self, other: Any) -> Self:
        """Matrix product over the last two axes; a vector counts as a row on the left, as a column on the right."""
        x, y = self, self.lift(other)
        if x.ndim > 1 and y.ndim > 1:
            return x.apply(ops.MatMul(), y)
        if not x.ndim or not y.ndim:
            raise ShapeError(f"matmul needs at least one axis each, and got {x.spec} @ {y.spec}: use * for numbers")
        row = x.reshape(1, -1) if x.ndim == 1 else x
        column = y.reshape(-1, 1) if y.ndim == 1 else y
        z = row.apply(ops.MatMul(), column)
        return z.reshape(z.shape[: -2 if x.ndim == 1 else -1] + z.shape[-1 if y.ndim > 1 else z.ndim :])

    def mm(self, o: Any) -> Self: return self._of_axes("mm", 2, self.lift(o), 2)
    def bmm(self, o: Any) -> Self: return self._of_axes("bmm", 3, self.lift(o), 3)
    def mv(self, o: Any) -> Self: return self._of_axes("mv", 2, self.lift(o), 1)
    def dot(self, o: Any) -> Self: return self._of_axes("dot", 1, self.lift(o), 1)

    def _of_axes(self, name: str, left: int, o: Self, right: int) -> Self:
        """self @ o. Raises ShapeError where they have not the number of axes that the name promises."""
        batched = left == 3 and self.shape[:1] != o.shape[:1]
        if (self.ndim, o.ndim) != (left, right) or batched:
            promise = f"{left} and {right} axes" + ", the first of equal length" * (left == 3)
            raise ShapeError(f"{name} needs operands of {promise}, and got {self.spec} and {o.spec}: see matmul")
        return self.matmul(o)

    def outer(self, o: Any) -> Self:
        """z[i, j] = x[i] y[j]"""
        y = self.lift(o)
        if (self.ndim, y.ndim) != (1, 1):
            raise ShapeError(f"outer needs two vectors, and got {self.spec} and {y.spec}: use x[..., None] * y")
        return self.reshape(-1, 1) * y

    def inner(self, o: Any) -> Self:
        """Σ x[…, k] y[…, k] over the last axes, for each pair of what is before: (*a, k), (*b, k) → (*a, *b)."""
        y = self.lift(o)
        return self.tensordot(y, ([-1], [-1])) if self.ndim and y.ndim else self.apply(ops.Mul(), y)

    def tensordot(self, o: Any, dims: Any = 2) -> Self:
        """Σ over pairs of axes: the last `dims` of self with the first of o, or the two lists of axes given."""
        y = self.lift(o)
        lists = (range(self.ndim - dims, self.ndim), range(dims)) if isinstance(dims, int) else dims
        left, right = (
            [x.axis(a) for a in integers((axes,) if isinstance(axes, int) else tuple(axes))]
            for x, axes in zip((self, y), lists, strict=True)
        )
        if [self.shape[a] for a in left] != [y.shape[a] for a in right]:
            raise ShapeError(f"tensordot needs axes of equal length: {left} of {self.spec} with {right} of {y.spec}")
        letters = [chr(ord("a") + i) for i in range(self.ndim)]
        others = [chr(ord("A") + i) for i in range(y.ndim)]
        for i, j in zip(left, right):
            others[j] = letters[i]
        out = [i for i in letters if i not in others] + [j for j in others if j not in letters]
        return contracted("".join(letters), self, "".join(others), y, "".join(out))

    def addmm(self, x: Any, W: Any) -> Self:
        """self + x W"""
        x, W = self.lift(x), self.lift(W)
        return x.apply(ops.Affine(), W, self) if self.shape == W.shape[1:] else self + x.mm(W)

    def linear(self, W: Any, b: Any = None) -> Self:
        """x Wᵀ + b over the last axis of x (…, k): W (n, k), or (k,) for one output; b (n,)."""
        W = self.lift(W)
        if W.ndim == 1:
            y: Any = self.matmul(W)
            return y if b is None else y + b
        return self.apply(ops.Affine(True), W) if b is None else self.apply(ops.Affine(True), W, b)

    def matrix_power(self, n: int) -> Self:
        """x x … x, n times; the identity for 0, and powers of the inverse below."""
        if n < 0:
            return self.inv().matrix_power(-n)
        if n < 2:
            return self.clone() if n else self._ones_on_diagonal()
        half: Any = self.matrix_power(n // 2)
        return half @ half @ self if n % 2 else half @ half

    def _ones_on_diagonal(self) -> Self:
        """The identity, in self's shape."""
        return (self.diagonal(0, -2, -1) * 0 + 1).diag_embed()

    # -- square matrices --------------------------------------------------------------------

    def inv(self) -> Self: return self.apply(ops.Inverse())
    def inverse(self) -> Self: return self.apply(ops.Inverse())
    def det(self) -> Self: return self.apply(ops.Det())
    def slogdet(self) -> SignLog: return SignLog(self.apply(ops.SignDet()), self.apply(ops.LogAbsDet()))

    def cholesky(self, upper: bool = False) -> Self:
        """L with x = L Lᵀ, lower triangular, for x symmetric and positive definite; or its transpose."""
        factor = self.apply(ops.Cholesky())
        return factor.mT if upper else factor

    def logdet(self) -> Self:
        """ln det x: not a number where the determinant is negative."""
        sign: Any = self.apply(ops.SignDet())
        return self.apply(ops.LogAbsDet()).where(sign >= 0, float("nan"))

    def solve(self, b: Any) -> Self:
        """x with self x = b, for b (…, n, k) or vectors (…, n), as many as there are matrices."""
        b = self.lift(b)
        vector = b.ndim == 1 or b.shape == self.shape[:-1]
        x = self.apply(ops.Solve(), b.reshape(*b.shape, 1) if vector else b)
        return x.reshape(x.shape[:-1]) if vector else x

    def solve_triangular(self, b: Any, upper: bool, left: bool = True, unitriangular: bool = False) -> Self:
        """x with self x = b, or x self = b if not left; self being triangular, its other triangle is not read.

        NumPy has no substitution of its own: its elimination finds nothing to eliminate, and does the same.
        """
        b = self.lift(b)
        if not left:
            return self.mT.solve_triangular(b.mT, not upper, True, unitriangular).mT
        keep = int(unitriangular)
        a = self.triu(keep) if upper else self.tril(-keep)
        a = a + self._ones_on_diagonal() if unitriangular else a
        return a.apply(ops.Solve(), b)

    def eigh(self) -> Eigen:
        """Eigenvalues, growing, and the orthonormal eigenvectors, as columns, of a symmetric matrix."""
        return Eigen(self.apply(ops.Eigenvalues()), self.apply(ops.Eigenvectors()))

    def eigvalsh(self) -> Self: return self.apply(ops.Eigenvalues())
