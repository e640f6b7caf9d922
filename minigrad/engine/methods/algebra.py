"""Products of matrices and vectors, einsum, and linear algebra of square matrices.

In `einsum("bij,bjk->bik", x, y)` letters stand for axes, and letters that are not in the result are summed over.
First the operands are simplified until one op can express each product:

    …                 is replaced by new letters, aligned from the right
    ii                the diagonal is taken
    length 1          an axis that broadcasts is dropped
    one operand only  a letter that occurs in a single operand, and not in the result, is summed at once

Then operands are contracted in pairs, from the left. Each pair is one matrix product (engine/ops/matmul.py).
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Any, NamedTuple, Self

from .. import ops
from ..base.errors import ShapeError
from .arguments import autocast_to, integers


def einsum(equation: str, *xs: Any) -> Any:
    """The sum of products that the equation specifies. Raises ShapeError if the equation does not fit the operands."""
    terms, out = parse_equation(equation, tuple([x.ndim for x in xs]))
    sizes: dict[str, int] = {}
    for term, x in zip(terms, xs):
        for letter, n in zip(term, x.spec.shape):
            if sizes.setdefault(letter, n) not in (n, 1) and n != 1:
                raise ShapeError(f"einsum {equation!r}: {letter} is {sizes[letter]} long, and {n} in {x.spec}")
            sizes[letter] = n if sizes[letter] == 1 else sizes[letter]
    prepared = [single(term, x, sizes) for term, x in zip(terms, xs)]

    term, x = prepared[0]
    for i, (other, y) in enumerate(prepared[1:], 2):
        later = {letter for name, _ in prepared[i:] for letter in name} | set(out)
        made = "".join(letter for letter in dict.fromkeys(term + other) if letter in later)
        made = out if set(made) == set(out) else made
        x, term = contract_pair(term, x, other, y, made), made
    return arrange_axes(term, x, out, sizes)


def contract_pair(left: str, x: Any, right: str, y: Any, out: str) -> Any:
    """Contract x and y. A letter that occurs only in x or only in y, and not in the result, is summed first."""
    left, x = without(left, x, [i for i in left if i not in right + out])
    right, y = without(right, y, [i for i in right if i not in left + out])
    return x.apply(ops.Contract(left, right, out), y)


def without(term: str, x: Any, gone: list[str]) -> tuple[str, Any]:
    """Sum x over the letters in `gone`. Returns the remaining letters, and the sum."""
    if not gone:
        return term, x
    return "".join(i for i in term if i not in gone), x.sum(tuple(term.index(i) for i in gone))


def single(term: str, x: Any, sizes: dict[str, int]) -> tuple[str, Any]:
    """Reduce x until each letter occurs once and no axis broadcasts. Returns the new letters, and the new x."""
    while len(set(term)) < len(term):
        letter = next(i for i in term if term.count(i) > 1)
        i, j = term.index(letter), term.rindex(letter)
        rest = [a for a in range(x.ndim) if a not in (i, j)]
        if x.shape[i] != x.shape[j]:
            raise ShapeError(f"einsum: a diagonal {letter}{letter} needs equal lengths, and got {x.spec}")
        x = x.permute(*rest, i, j).apply(ops.Diagonal())
        term = "".join(term[a] for a in rest) + letter
    kept = [a for a, letter in enumerate(term) if x.shape[a] == sizes[letter]]
    if len(kept) == x.ndim:
        return term, x
    return "".join(term[a] for a in kept), x.reshape(tuple(x.shape[a] for a in kept))


def arrange_axes(term: str, x: Any, out: str, sizes: dict[str, int]) -> Any:
    """x with its axes in the order of the result, broadcast to their sizes."""
    if term == out:
        return x
    term, x = without(term, x, [i for i in term if i not in out])
    order = [term.index(i) for i in out if i in term]
    x = x if order == sorted(order) else x.permute(*order)
    lined = x.reshape(tuple(sizes[i] if i in term else 1 for i in out))
    return lined.broadcast_to(tuple(sizes[i] for i in out))


@lru_cache(maxsize=1024)
def parse_equation(equation: str, ndims: tuple[int, ...]) -> tuple[list[str], str]:
    """The letters of each operand and of the result, with ellipses replaced by letters. Raises ShapeError."""
    left, arrow, right = equation.replace(" ", "").replace("...", "…").partition("->")
    terms = left.split(",")
    got = f"einsum {equation!r} of operands with {', '.join(map(str, ndims))} axes"
    if len(terms) != len(ndims):
        raise ShapeError(f"{got}: there are {len(terms)} terms, and {len(ndims)} operands")
    if not all(i == "…" or i == "," or (i.isascii() and i.isalpha()) for i in left + right):
        raise ShapeError(f"{got}: axes are named by the letters a to z and A to Z")
    most = max((n - len(t) + 1 for t, n in zip(terms, ndims) if "…" in t), default=0)
    dots = "".join(chr(0x3B1 + i) for i in range(max(most, 0)))  # Greek, which no equation uses
    written = []
    for term, n in zip(terms, ndims):
        spare = n - len(term.replace("…", ""))
        if term.count("…") > 1 or spare < 0 or (spare and "…" not in term):
            raise ShapeError(f"{got}: {term.replace('…', '...')!r} does not name {n} axes")
        written.append(term.replace("…", dots[len(dots) - spare :]))
    if not arrow:
        count = Counter("".join(written))
        return written, dots + "".join(sorted(i for i, times in count.items() if times == 1 and i not in dots))
    out = right.replace("…", dots)
    if len(set(out)) != len(out) or set(out) - set("".join(written)):
        raise ShapeError(f"{got}: each letter of the result {right!r} must occur in it once, and in some operand")
    return written, out


class Eigen(NamedTuple):
    """Eigenvalues λ and eigenvectors V of a symmetric matrix: x = V diag(λ) Vᵀ."""

    eigenvalues: Any
    eigenvectors: Any


class SignLog(NamedTuple):
    """The sign of a determinant, and the logarithm of its absolute value, which does not overflow."""

    sign: Any
    logabsdet: Any


class Algebra:
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

    def mm(self, mat2: Any) -> Self: return self._of_axes("mm", 2, self.lift(mat2), 2)
    def bmm(self, mat2: Any) -> Self: return self._of_axes("bmm", 3, self.lift(mat2), 3)
    def mv(self, vec: Any) -> Self: return self._of_axes("mv", 2, self.lift(vec), 1)
    def dot(self, tensor: Any) -> Self: return self._of_axes("dot", 1, self.lift(tensor), 1)
    vdot = dot

    def _of_axes(self, name: str, left: int, o: Self, right: int) -> Self:
        """self @ o. Raises ShapeError unless self has `left` axes and o `right` axes; 3 axes need equal batches too."""
        batched = left == 3 and self.shape[:1] != o.shape[:1]
        if (self.ndim, o.ndim) != (left, right) or batched:
            promise = f"{left} and {right} axes" + ", the first of equal length" * (left == 3)
            raise ShapeError(f"{name} needs operands of {promise}, and got {self.spec} and {o.spec}: see matmul")
        return self.matmul(o)

    def outer(self, vec2: Any) -> Self:
        """z[i, j] = x[i] y[j]"""
        y = self.lift(vec2)
        if (self.ndim, y.ndim) != (1, 1):
            raise ShapeError(f"outer needs two vectors, and got {self.spec} and {y.spec}: use x[..., None] * y")
        return self.reshape(-1, 1) * y

    def inner(self, other: Any) -> Self:
        """Σ x[…, k] y[…, k] over the last axes, for each pair of leading indices: (*a, k), (*b, k) → (*a, *b)."""
        y = self.lift(other)
        return self.tensordot(y, ([-1], [-1])) if self.ndim and y.ndim else self.apply(ops.Mul(), y)

    def tensordot(self, other: Any, dims: Any = 2) -> Self:
        """Σ over pairs of axes: the last `dims` axes of self with the first ones of the other; or two lists of axes."""
        y = self.lift(other)
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
        return contract_pair("".join(letters), self, "".join(others), y, "".join(out))

    def addmm(self, mat1: Any, mat2: Any, *, beta: float = 1, alpha: float = 1) -> Self:
        """β self + α x W"""
        x, W = self.lift(mat1), self.lift(mat2)
        if alpha == beta == 1 and self.shape == W.shape[1:]:
            return x.apply(ops.Affine(), W, self)
        return self._plus(x.mm(W), beta, alpha)

    def addmv(self, mat: Any, vec: Any, **by: float) -> Self: return self._plus(self.lift(mat).mv(vec), **by)
    def addr(self, vec1: Any, vec2: Any, **by: float) -> Self: return self._plus(self.lift(vec1).outer(vec2), **by)

    def baddbmm(self, batch1: Any, batch2: Any, **by: float) -> Self:
        return self._plus(self.lift(batch1).bmm(batch2), **by)

    def addbmm(self, batch1: Any, batch2: Any, **by: float) -> Self:
        return self._plus(self.lift(batch1).bmm(batch2).sum(0), **by)

    @autocast_to("lower")
    def _plus(self, product: Any, beta: float = 1, alpha: float = 1) -> Self:
        """β self + α · product, in the product's shape. If β is 0, self is ignored, even if it contains NaN."""
        x: Any = self.broadcast_to(product.shape)
        y = product if alpha == 1 else product * alpha
        return y if beta == 0 else y + (x if beta == 1 else x * beta)

    def linear(self, W: Any, b: Any = None) -> Self:
        """x Wᵀ + b over the last axis of x (…, k): W (n, k), or (k,) for one output; b (n,)."""
        W = self.lift(W)
        if W.ndim == 1:
            y: Any = self.matmul(W)
            return y if b is None else y + b
        return self.apply(ops.Affine(True), W) if b is None else self.apply(ops.Affine(True), W, b)

    def matrix_power(self, n: int) -> Self:
        """The matrix power xⁿ: the identity for n = 0, a power of the inverse for n < 0."""
        if n < 0:
            return self.inv().matrix_power(-n)
        if n < 2:
            return self.clone() if n else self._ones_on_diagonal()
        half: Any = self.matrix_power(n // 2)
        return half @ half @ self if n % 2 else half @ half

    def matrix_exp(self) -> Self: return self.apply(ops.MatrixExp())

    def _ones_on_diagonal(self) -> Self:
        """The identity, in self's shape."""
        return (self.diagonal(0, -2, -1) * 0 + 1).diag_embed()

    # -- square matrices --------------------------------------------------------------------

    def inv(self) -> Self: return self.apply(ops.Inverse())
    def pinverse(self, rcond: float = 1e-15) -> Self: return self.apply(ops.PseudoInverse(rcond))
    def inverse(self) -> Self: return self.apply(ops.Inverse())
    def det(self) -> Self: return self.apply(ops.Det())
    def slogdet(self) -> SignLog: return SignLog(self.apply(ops.SignDet()), self.apply(ops.LogAbsDet()))

    def cholesky(self, upper: bool = False) -> Self:
        """The lower triangular L with x = L Lᵀ, for x symmetric and positive definite; with `upper`, Lᵀ."""
        factor = self.apply(ops.Cholesky())
        return factor.mT if upper else factor

    def cholesky_inverse(self, upper: bool = False) -> Any: return self._ones_on_diagonal().cholesky_solve(self, upper)
    def cholesky_solve(self, L: Any, upper: bool = False) -> Any:
        """Solve L Lᵀ x = self for x. L is read from one triangle, the lower or the upper."""
        L = self.lift(L).triu().mT if upper else self.lift(L).tril()
        return (L @ L.mT).solve(self)

    def logdet(self) -> Self:
        """ln det x: NaN where the determinant is negative."""
        sign: Any = self.apply(ops.SignDet())
        return self.apply(ops.LogAbsDet()).where(sign >= 0, float("nan"))

    def solve(self, B: Any, *, left: bool = True) -> Self:
        """Solve self x = B, or with left=False x self = B, for B (…, n, k), or vectors (…, n), one for each matrix."""
        b = self.lift(B)
        if not left:
            return self.mT.solve(b.mT).mT
        vector = b.ndim == 1 or b.shape == self.shape[:-1]
        x = self.apply(ops.Solve(), b.reshape(*b.shape, 1) if vector else b)
        return x.reshape(x.shape[:-1]) if vector else x

    def solve_triangular(self, b: Any, upper: bool, left: bool = True, unitriangular: bool = False) -> Self:
        """Solve self x = b, or x self = b if not left. Only the upper or the lower triangle of self is read.

        NumPy has no triangular solver. Its general solver gives the same result, as there is nothing to eliminate.
        """
        b = self.lift(b)
        if not left:
            return self.mT.solve_triangular(b.mT, not upper, True, unitriangular).mT
        keep = int(unitriangular)
        a = self.triu(keep) if upper else self.tril(-keep)
        a = a + self._ones_on_diagonal() if unitriangular else a
        return a.apply(ops.Solve(), b)

    def eigh(self, UPLO: str | None = None) -> Eigen:
        """The eigenvalues of a symmetric matrix, in ascending order, and its orthonormal eigenvectors, as columns.

        UPLO    'L' or 'U': the triangle that is read, and mirrored; None for the mean of both triangles
        """
        x = self._mirror_triangle(UPLO)
        return Eigen(x.apply(ops.Eigenvalues()), x.apply(ops.Eigenvectors()))

    def eigvalsh(self, UPLO: str | None = None) -> Self: return self._mirror_triangle(UPLO).apply(ops.Eigenvalues())

    def _mirror_triangle(self, UPLO: str | None) -> Self:
        """The symmetric matrix that has self's lower ('L') or upper ('U') triangle; self for None."""
        if UPLO not in (None, "L", "U"):
            raise ValueError(f"UPLO must be 'L', the lower triangle, or 'U', the upper, and got {UPLO!r}")
        if UPLO is None:
            return self
        return self.tril() + self.tril(-1).mT if UPLO == "L" else self.triu() + self.triu(1).mT
