"""Contraction: what einsum does to two operands, `ij,jk->ik`, as one batched matrix product.

Every letter is of one of four kinds, and each kind is one axis of the product:

    batch      in x, in y and in the result     (B, ·, ·) @ (B, ·, ·)
    left       in x and in the result           rows of x
    right      in y and in the result           columns of y
    summed     in x and in y only               what rows and columns have in common

So the gradients are contractions too, with the roles of x, y and the result exchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from ..errors import ShapeError
from ..op import Op
from ..spec import Spec, common_device


@dataclass(frozen=True)
class Contract(Op):
    """z[out] = Σ x[left] y[right] over the letters that are not in out.

    Each letter stands once in each string, and in at least two of the three.
    """

    left: str
    right: str
    out: str

    inline = False

    @property
    def symbol(self): return f"{self.left},{self.right}→{self.out}"

    def infer(self, x, y):
        sizes = dict(zip(self.left, x.shape)) | dict(zip(self.right, y.shape))
        if (x.ndim, y.ndim) != (len(self.left), len(self.right)) or x.shape != tuple(sizes[i] for i in self.left):
            raise ShapeError(f"{self.symbol} needs one length for each letter, and got {x} and {y}")
        shape = tuple(sizes[i] for i in self.out)
        return Spec(shape, np.result_type(x.dtype, y.dtype), common_device(self, x, y))

    @cached_property
    def order(self):
        """How x, y and the product are transposed, and where x's and y's axes of one kind end and the next begin."""
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
        if rows == x.ndim:  # nothing to add up: a product of columns by rows, element by element
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

    def flops(self, z, x, y):
        sizes = dict(zip(self.left, x.shape)) | dict(zip(self.right, y.shape))
        return 2 * prod(sizes.values())
