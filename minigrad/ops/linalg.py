"""Matrix product: the op that pays for everything else."""

from __future__ import annotations

import numpy as np

from ..errors import ShapeError
from ..op import Op
from ..spec import Spec, common_device


class MatMul(Op):
    """z = x @ y over the last two axes: (…, m, k) @ (…, k, n) → (…, m, n)."""

    symbol = "@"

    def infer(self, x, y):
        if min(x.ndim, y.ndim) < 2 or x.shape[-1] != y.shape[-2]:
            raise ShapeError(f"matmul needs (…, m, k) @ (…, k, n), the two k equal, and got {x} @ {y}")
        try:
            batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
        except ValueError:
            raise ShapeError(f"matmul needs leading axes that broadcast, and got {x} @ {y}") from None
        dtype = np.result_type(x.dtype, y.dtype)
        return Spec((*batch, x.shape[-2], y.shape[-1]), dtype, common_device(self, x, y))

    def forward(self, xp, x, y): return x @ y
    def vjp(self, gz, z, x, y): return (gz @ y.mT).sum_to(x.shape), (x.mT @ gz).sum_to(y.shape)
    def jvp(self, dxs, z, x, y): return dxs[0] @ y + x @ dxs[1]
    def flops(self, z, x, y): return 2 * z.size * x.shape[-1]  # one multiply and one add per term
