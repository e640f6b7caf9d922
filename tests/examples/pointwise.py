"""One or more calls of each op that is a function of each element: (op, operand, …)."""

import numpy as np

from minigrad import ops
from minigrad.engine.tensor.tensor import Tensor

from .draws import positive, signed

EVERYWHERE = (
    *(ops.Exp, ops.Exp2, ops.Expm1, ops.Sin, ops.Cos, ops.Tan, ops.Atan, ops.Sinh, ops.Cosh, ops.Tanh, ops.Asinh),
    *(ops.Erf, ops.Erfc, ops.Abs, ops.Sign, ops.Floor, ops.Ceil, ops.Trunc),
    *(ops.Sigmoid, ops.LogSigmoid, ops.Relu, ops.Silu, ops.Mish),
    *(ops.Gelu, ops.GeluTanh),
)
ABOVE_0 = (ops.Log, ops.Log2, ops.Log10, ops.Log1p, ops.Sqrt, ops.Rsqrt)
SCALE = Tensor(np.array([[0.5], [0.25]], "f4")), Tensor(np.array([[1.0], [-2.0]], "f4"))
WITHIN_1 = (ops.Asin, ops.Acos, ops.Atanh)

EXAMPLES = {
    **{op: [(op(), signed(2, 3))] for op in EVERYWHERE}, **{op: [(op(), positive(2, 3))] for op in ABOVE_0},
    **{op: [(op(), signed(2, 3) * 0.6)] for op in WITHIN_1},
    **{op: [(op(), signed(2, 3), signed(2, 3))] for op in (ops.GeluDifferential, ops.GeluTanhDifferential)},
    ops.ReluDifferential: [(ops.ReluDifferential(), signed(2, 3), signed(2, 3))],
    ops.BesselI: [(ops.BesselI(n, scaled), signed(2, 3) * 3) for n in range(3) for scaled in (False, True)],
    ops.ErfInv: [(ops.ErfInv(), signed(2, 3) * 0.6)],
    ops.PolyGamma: [(ops.PolyGamma(n), signed(2, 3) - 0.6) for n in range(-1, 3)],
    ops.Acosh: [(ops.Acosh(), positive(2, 3) + 1)],
    ops.Round: [(ops.Round(), signed(2, 3)), (ops.Round(1), Tensor(np.array([0.23, -1.28])))],
    ops.Cast: [(ops.Cast(np.dtype("f8")), signed(2, 3))],
    ops.LeakyRelu: [(ops.LeakyRelu(0.1), signed(2, 3)), (ops.LeakyRelu(2.0), signed(3))],
    ops.Threshold: [(ops.Threshold(0.1, 3.0), signed(2, 3))], ops.Hardtanh: [(ops.Hardtanh(-1.0, 1.0), signed(2, 3))],
    ops.Hardswish: [(ops.Hardswish(), signed(2, 3) * 4)],
    ops.Softplus: [(ops.Softplus(), signed(2, 3)), (ops.Softplus(2.0, 1.0), signed(4))],
    ops.Quantize: [(ops.Quantize(-8, 7, np.dtype("i1")), signed(2, 3) * 3, *SCALE)],
    ops.FakeQuantize: [(ops.FakeQuantize(-8, 7), signed(2, 3) * 3, *SCALE)],
    ops.Elu: [(ops.Elu(), signed(2, 3)), (ops.Elu(0.5, 1.5, 2.0), signed(4))],
}  # fmt: skip
