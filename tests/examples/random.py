"""One or more calls of each op that draws from a key: (op, operand, …)."""

import numpy as np

from minigrad import ops
from minigrad.engine.tensor.tensor import Tensor

from .draws import positive

KEY = Tensor(np.array([3, 7], np.uint32))
F8, F4, I8 = (np.dtype(kind) for kind in ("f8", "f4", "i8"))

EXAMPLES = {
    ops.RandomBits: [(ops.RandomBits((2, 3), np.dtype(kind)), KEY) for kind in ("u1", "u4", "u8")],
    ops.RandomUniform: [(ops.RandomUniform((2, 3), kind), KEY) for kind in (F8, F4)],
    ops.RandomNormal: [(ops.RandomNormal((5,), kind), KEY) for kind in (F8, F4)],
    ops.RandomTruncatedNormal: [(ops.RandomTruncatedNormal((2, 3), F8, -1.0, 2.0), KEY)],
    ops.RandomBernoulli: [(ops.RandomBernoulli((2, 3), np.dtype(bool), p), KEY) for p in (0.3, 1.0)],
    ops.RandomIntegers: [(ops.RandomIntegers((2, 3), I8, -2, 5), KEY)],
    ops.RandomPermutation: [(ops.RandomPermutation(5), KEY)],
    ops.RandomChoice: [(ops.RandomChoice(2, replacement), KEY, positive(2, 3)) for replacement in (False, True)],
    ops.SplitKey: [(ops.SplitKey(3), KEY)], ops.FoldIn: [(ops.FoldIn(), KEY, Tensor(np.arange(4)))],
}  # fmt: skip
