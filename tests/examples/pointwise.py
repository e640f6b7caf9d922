"""One or more calls of each op that is a function of each element: (op, operand, …)."""

import numpy as np

from minigrad import ops

from .draws import positive, signed

EXAMPLES = {
    ops.Exp: [(ops.Exp(), signed(2, 3))],
    ops.Log: [(ops.Log(), positive(2, 3))],
    ops.Sqrt: [(ops.Sqrt(), positive(2, 3))],
    ops.Sin: [(ops.Sin(), signed(2, 3))],
    ops.Cos: [(ops.Cos(), signed(2, 3))],
    ops.Tanh: [(ops.Tanh(), signed(2, 3))],
    ops.Sigmoid: [(ops.Sigmoid(), signed(2, 3))],
    ops.Relu: [(ops.Relu(), signed(2, 3))],
    ops.Abs: [(ops.Abs(), signed(2, 3))],
    ops.Sign: [(ops.Sign(), signed(2, 3))],
    ops.Cast: [(ops.Cast(np.dtype("f8")), signed(2, 3))],
}  # fmt: skip
