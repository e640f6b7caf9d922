"""Products of matrices: MatMul, the affine layer, Contract (einsum of two operands) and attention.

Contract computes an einsum of two operands, such as `ij,jk->ik`, as one batched matrix product.

Every letter is of one of four kinds, and each kind becomes one axis of the product:

    batch      in x, in y and in the result     (B, ·, ·) @ (B, ·, ·)
    left       in x and in the result           the rows of x
    right      in y and in the result           the columns of y
    summed     in x and in y only               the columns of x, and the rows of y

So the gradients are contractions too, with the roles of x, y and the result exchanged.

Attention does not save its weights, L × S per head, which are the largest array of a transformer. Backward computes
the weights again: the memory saved is worth the time. More than ROWS queries are taken in blocks, forward and backward,
so that memory grows linearly with L; a causal block leaves out the keys after its last query.

Vaswani et al. 2017, “Attention Is All You Need”, eq. 1. https://arxiv.org/abs/1706.03762
Rabe and Staats 2021, “Self-attention Does Not Need O(n²) Memory”. https://arxiv.org/abs/2112.05682
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from math import prod

import numpy as np

from ..base.dtypes import result_type
from ..base.errors import ShapeError
from ..base.spec import Spec, broadcast_shape, common_device
from ..core.op import Op
from .effect import Barrier
from .movement import Concatenate, Pad
from .normalise import exponentials
from .reduce import SumOfProducts

ROWS = 128  # queries in a block of attention, at most: the weights of one block fit into the cache


class MatMul(Op):
    """z = x @ y over the last two axes: (…, m, k) @ (…, k, n) → (…, m, n)."""

    autocast = "lower"
    symbol = "@"
    inline = True
    is_product = True

    def infer(self, x, y):
        if min(x.ndim, y.ndim) < 2 or x.shape[-1] != y.shape[-2]:
            raise ShapeError(f"matmul needs (…, m, k) @ (…, k, n), the two k equal, and got {x} @ {y}")
        batch = broadcast_shape(x.shape[:-2], y.shape[:-2])
        if batch is None:
            raise ShapeError(f"matmul needs leading axes that broadcast, and got {x} @ {y}")
        dtype = result_type(x.dtype, y.dtype)
        return Spec((*batch, x.shape[-2], y.shape[-1]), dtype, common_device(self, x, y))

    def forward(self, xp, x, y): return x @ y

    def vjp(self, gz, z, x, y):
        if y.ndim == 2:  # the batch shares y, so y's gradient is a single product instead of a sum of products
            return gz @ y.mT, rows(x).mT @ rows(gz)
        return (gz @ y.mT).sum_to(x.shape), (x.mT @ gz).sum_to(y.shape)

    def jvp(self, dxs, z, x, y): return dxs[0] @ y + x @ dxs[1]
    def flops(self, z, x, y): return 2 * self.macs(z, x, y)  # one multiply and one add per term
    def macs(self, z, x, y): return z.size * x.shape[-1]


class Affine(Op):
    """y = x W + b over the last axis of x (…, k), with W (k, n) and an optional b (n,): a dense layer.

    transposed    W is (n, k), one row for each output, as layers store it: y = x Wᵀ + b
    """

    transposed: bool = False

    autocast = "lower"
    is_product = True

    def infer(self, x, w, *b):
        wanted = "(n, k)" if self.transposed else "(k, n)"
        if w.ndim != 2 or not x.ndim or x.shape[-1] != w.shape[self.transposed]:
            raise ShapeError(f"an affine layer needs x (…, k) and W {wanted}, the two k equal, and got {x} and {w}")
        n = w.shape[not self.transposed]
        if b and b[0].shape != (n,):
            raise ShapeError(f"an affine layer of {n} outputs needs as many biases, and got {b[0]}")
        dtype = result_type(*(s.dtype for s in (x, w, *b)))
        return Spec((*x.shape[:-1], n), dtype, common_device(self, x, w, *b))

    def forward(self, xp, x, w, *b):
        x_rows = rows(x)
        if xp is np and self.transposed and is_faster_swapped(x_rows, w):
            y = w.dot(x_rows.T).T
            y = np.add(y, b[0], order="C") if b else np.ascontiguousarray(y)
        else:
            y = x_rows.dot(w.T if self.transposed else w)  # as `@`, and in NumPy 0.4 µs faster
            for bias in b:
                y = xp.add(y, bias, out=y if y.dtype == bias.dtype else None)
        return y.reshape(*x.shape[:-1], y.shape[1])

    def vjp(self, gy, y, x, w, *b):
        gys = rows(gy)
        gw = gys.mT @ rows(x) if self.transposed else rows(x).mT @ gys
        return gy.apply(Affine(not self.transposed), w), gw, *(gys.sum(0) for _ in b)

    def jvp(self, dxs, y, x, w, *b):
        dx, dw, *db = dxs
        dy = dx.apply(self, w) + x.apply(self, dw)
        return dy + db[0] if b else dy

    def flops(self, y, x, w, *b): return 2 * self.macs(y, x, w) + y.size * len(b)
    def macs(self, y, x, w, *b): return y.size * x.shape[-1]


def is_faster_swapped(x, w):
    """Whether OpenBLAS computes w xᵀ faster than x wᵀ, with the same bits: for few long rows of float32 in x."""
    return 2 * len(x) <= len(w) and len(x) <= 64 and x.shape[1] >= 128 and x.dtype == w.dtype == np.float32


def rows(x):
    """x (…, k) as one matrix (rows, k)."""
    return x if x.ndim == 2 else x.reshape(prod(x.shape[:-1]), x.shape[-1])


class Contract(Op):
    """z[out] = Σ x[left] y[right] over the letters that are not in out.

    Each letter occurs at most once in each string, and in at least two of the three.
    """

    left: str
    right: str
    out: str

    autocast = "lower"
    is_product = True

    @property
    def symbol(self): return f"{self.left},{self.right}→{self.out}"

    def infer(self, x, y):
        sizes = dict(zip(self.left, x.shape)) | dict(zip(self.right, y.shape))
        if (x.ndim, y.ndim) != (len(self.left), len(self.right)) or x.shape != tuple(sizes[i] for i in self.left):
            raise ShapeError(f"{self.symbol} needs one length for each letter, and got {x} and {y}")
        return Spec(tuple(sizes[i] for i in self.out), result_type(x.dtype, y.dtype), common_device(self, x, y))

    @cached_property
    def order(self):
        """The permutations of x, y and the product; and the axes at which the next kind of letter begins."""
        batch = [i for i in self.left if i in self.right and i in self.out]
        rows = [i for i in self.left if i not in self.right]
        columns = [i for i in self.right if i not in self.left]
        summed = [i for i in self.left if i in self.right and i not in self.out]
        x = [self.left.index(i) for i in batch + rows + summed]
        y = [self.right.index(i) for i in batch + summed + columns]
        z = [(batch + rows + columns).index(i) for i in self.out]
        return x, y, z, len(batch), len(batch) + len(rows), len(batch) + len(summed)

    def forward(self, xp, x, y):
        x_order, y_order, z_order, batch, rows, summed = self.order
        x, y = x.transpose(x_order), y.transpose(y_order)
        made = x.shape[:rows] + y.shape[summed:]
        b, m, k, n = prod(x.shape[:batch]), prod(x.shape[batch:rows]), prod(x.shape[rows:]), prod(y.shape[summed:])
        if rows == x.ndim:  # no letter is summed: an outer product, computed elementwise
            z = x.reshape(b, m, 1) * y.reshape(b, 1, n)
        elif not batch:
            z = xp.dot(x.reshape(m, k), y.reshape(k, n))
        else:
            z = xp.matmul(x.reshape(b, m, k), y.reshape(b, k, n))
        return z.reshape(made).transpose(z_order)

    def vjp(self, gz, z, x, y):
        gx = gz.apply(Contract(self.out, self.right, self.left), y)
        return gx, x.apply(Contract(self.left, self.out, self.right), gz)

    def jvp(self, dxs, z, x, y): return dxs[0].apply(self, y) + x.apply(self, dxs[1])

    def flops(self, z, x, y): return 2 * self.macs(z, x, y)
    def macs(self, z, x, y): return prod((dict(zip(self.left, x.shape)) | dict(zip(self.right, y.shape))).values())


class AttentionWeights(Op):
    """w = softmax(s q kᵀ + m) along the keys: q (…, L, E), k (…, S, E), optional mask m (…, L, S) → (…, L, S)

    scale     s
    causal    whether query i attends to keys 0 to start + i only
    start     number of queries before the first one of this block

    If all scores of a query are −∞, the query attends to no key, and its weights are 0.
    """

    scale: float
    causal: bool = False
    start: int = 0

    autocast = "lower"
    symbol = "weights"

    def infer(self, q, k, *mask):
        if min(q.ndim, k.ndim) < 2 or q.shape[-1] != k.shape[-1]:
            raise ShapeError(f"attention needs queries (…, L, E) and keys (…, S, E), and got {q} and {k}")
        w = MatMul().infer(q, k.with_shape((*k.shape[:-2], k.shape[-1], k.shape[-2])))
        if mask and broadcast_shape(mask[0].shape, w.shape) != w.shape:
            raise ShapeError(f"attention needs a mask that broadcasts to {w.shape}, and got {mask[0]}")
        return w

    def forward(self, xp, q, k, *mask):
        scores = xp.matmul(q * self.scale, k.swapaxes(-1, -2))
        for m in mask:
            scores += m
        if self.causal and self.start:
            L, S = scores.shape[-2:]
            scores[..., self.start :] += triangle(xp, L, max(S - self.start, 0), scores.dtype)
        elif self.causal:
            scores += triangle(xp, *scores.shape[-2:], scores.dtype)
        if not scores.size:
            return scores
        w, sums = exponentials(xp, scores, scores.ndim - 1, scores)
        w /= sums + (sums == 0)
        return w

    def vjp(self, gw, w, q, k, *mask):
        g = self.project_gradient(gw, w)
        gq, gk = g @ k * self.scale, g.mT @ q * self.scale
        return gq.sum_to(q.shape), gk.sum_to(k.shape), *(g.sum_to(m.shape) for m in mask)

    def jvp(self, dxs, w, q, k, *mask):
        dq, dk, *dmask = dxs
        return self.project_gradient(sum(dmask, (dq @ k.mT + q @ dk.mT) * self.scale), w)

    def project_gradient(self, g, w):
        """w (g − Σ g w): the derivative of softmax, which is the same for vjp and jvp."""
        return w * (g - g.apply(SumOfProducts((w.ndim - 1,)), w))

    def flops(self, w, q, k, *mask):
        return 2 * self.macs(w, q, k) + (5 + len(mask) + self.causal) * w.size + q.size

    def macs(self, w, q, k, *mask): return w.size * q.shape[-1]


class Attention(Op):
    """y = softmax(s q kᵀ + m) v: q (…, L, E), k (…, S, E), v (…, S, Ev), optional mask m (…, L, S) → (…, L, Ev)

    scale, causal    as in AttentionWeights
    """

    scale: float
    causal: bool = False

    autocast = "lower"

    weights = property(lambda self: AttentionWeights(self.scale, self.causal))

    def infer(self, q, k, v, *mask): return MatMul().infer(self.weights.infer(q, k, *mask), v)

    def in_blocks(self, q):
        """Whether there is more than one block of queries: L is known, and above ROWS."""
        return isinstance(q.shape[-2], int) and q.shape[-2] > ROWS

    def blocks(self, q, k, v, *mask):
        """Yield for each block of queries: its rows (a slice; None if there is one block), its op and its operands."""
        L, S = q.shape[-2], k.shape[-2]
        if not self.in_blocks(q):
            yield None, self.weights, (q, k, v, *mask)
            return
        count = -(-L // ROWS)
        for i in range(count):
            rows = slice(L * i // count, L * (i + 1) // count)
            keys = slice(0, min(rows.stop, S)) if self.causal and not mask and isinstance(S, int) else None
            op = AttentionWeights(self.scale, self.causal, rows.start if self.causal else 0)
            yield rows, op, (cut(q, rows), cut(k, keys), cut(v, keys), *(cut(m, rows) for m in mask))

    def forward(self, xp, q, k, v, *mask):
        y, parts = None, []
        for rows, op, (queries, keys, values, *bias) in self.blocks(q, k, v, *mask):
            w = op.forward(xp, queries, keys, *bias)
            # y has q's memory order, so that heads that are adjacent there can be joined without a copy.
            fits = q.shape[:-2] == w.shape[:-2] == v.shape[:-2] and q.shape[-1] == v.shape[-1]
            if y is None and fits and q.dtype == w.dtype == v.dtype:
                y = xp.empty_like(q)
            parts.append(xp.matmul(w, values, out=None if y is None else cut(y, rows)))
            del w  # free them before the next block allocates its own
        return y if y is not None else parts[0] if len(parts) == 1 else xp.concatenate(parts, -2)

    def decompose(self, q, k, v, *mask): return q.apply(self.weights, k, *mask) @ v

    def vjp(self, gy, y, *xs):
        gqs, gmasks, sums = [], [], []  # type: ignore[var-annotated]
        for rows, op, (q, k, v, *mask) in self.blocks(*xs):
            g = cut(gy, rows)
            if sums:  # finish a block before the next one begins
                q, g = (x.apply(Barrier(), gqs[-1], *sums) for x in (q, g))
            w = q.apply(op, k, *mask)
            gq, gk, *gmask = op.vjp((g @ v.mT).sum_to(w.shape), w, q, k, *mask)
            new = [pad_rows(gx, xs[1].shape[-2]) for gx in (gk, (w.mT @ g).sum_to(v.shape))]
            sums = [total + gx for total, gx in zip(sums, new)] or new
            gqs.append(gq)
            gmasks += gmask
        if gmasks:  # a mask with a row for each query was cut into blocks; any other is shared by them
            is_cut = gmasks[0].shape != xs[3].shape
            gmasks = [join_rows(gmasks) if is_cut else sum(gmasks[1:], gmasks[0])]
        return join_rows(gqs), *sums, *gmasks

    def jvp(self, dxs, y, *xs):
        dys = []
        for (_, op, (q, k, v, *mask)), (_, _, (dq, dk, dv, *dmask)) in zip(self.blocks(*xs), self.blocks(*dxs)):
            w = q.apply(op, k, *mask)
            dys.append(op.jvp((dq, dk, *dmask), w, q, k, *mask) @ v + w @ dv)
        return join_rows(dys)

    def flops(self, y, q, k, v, *mask):
        w = self.weights.infer(q, k, *mask)
        return self.weights.flops(w, q, k, *mask) + 2 * y.size * k.shape[-2]

    def macs(self, y, q, k, v, *mask):
        w = self.weights.infer(q, k, *mask)
        return self.weights.macs(w, q, k) + y.size * k.shape[-2]


def cut(x, rows):
    """x[…, rows, :]; x itself if rows is None, or if x has one row for all queries."""
    return x if rows is None or x.ndim < 2 or x.shape[-2] == 1 else x[..., rows, :]


def join_rows(parts):
    """The parts, one after the other along axis −2."""
    return parts[0] if len(parts) == 1 else parts[0].apply(Concatenate(parts[0].ndim - 2), *parts[1:])


def pad_rows(x, rows):
    """x padded with rows of zeros, from (…, n, k) to (…, rows, k)."""
    n = x.shape[-2]
    return x if n is rows or n == rows else x.apply(Pad((*((0, 0),) * (x.ndim - 2), (0, rows - n), (0, 0))))


@lru_cache(maxsize=16)
def triangle(xp, L, S, dtype):
    """The causal mask (L, S) to add to scores: 0 for keys up to the query's own position, −∞ for later ones."""
    return xp.triu(xp.full((L, S), -np.inf, dtype), 1)
