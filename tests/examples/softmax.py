"""One or more calls of each op that brings rows to a common scale: (op, operand, …)."""

from minigrad import ops
from minigrad.engine.tensor.tensor import tensor

from .draws import signed

CLASSES = tensor([2, 0, 2])

EXAMPLES = {
    ops.Softmax: [(ops.Softmax(1), signed(2, 3)), (ops.Softmax(0), signed(4, 2))],
    ops.LogSoftmax: [(ops.LogSoftmax(1), signed(2, 3)), (ops.LogSoftmax(0), signed(4, 2))],
    ops.CrossEntropy: [(ops.CrossEntropy(), signed(3, 4), CLASSES)],
    ops.SoftmaxMinusOneHot: [(ops.SoftmaxMinusOneHot(), signed(3, 4), CLASSES)],
    ops.Chosen: [(ops.Chosen(), signed(3, 4), CLASSES)], ops.MinusOneHot: [(ops.MinusOneHot(), signed(3, 4), CLASSES)],
    ops.Centre: [(ops.Centre((1,)), signed(2, 3)), (ops.Centre((0, 2)), signed(2, 3, 4))],
    ops.InverseRMS: [(ops.InverseRMS((1,), 0.1), signed(2, 3)), (ops.InverseRMS((0, 2), 0.0), signed(2, 3, 4))],
    ops.Standardise: [
        (ops.Standardise((1,), 0.1), signed(2, 3)), (ops.Standardise((1, 2), 0.1), signed(2, 3, 2), signed(3, 2)),
        (ops.Standardise((0, 2), 0.0), signed(2, 3, 4), signed(3, 1), signed(3, 1)),
    ],
    ops.AttentionWeights: [
        (ops.AttentionWeights(0.5), signed(2, 3, 4), signed(2, 5, 4)),
        (ops.AttentionWeights(0.5, causal=True), signed(3, 4), signed(2, 3, 4), signed(3, 1)),
        (ops.AttentionWeights(0.5, True, 2), signed(2, 4), signed(5, 4)),
    ],
    ops.Attention: [
        (ops.Attention(0.5), signed(2, 3, 4), signed(2, 5, 4), signed(5, 3)),
        (ops.Attention(2.0, causal=True), signed(3, 4), signed(3, 4), signed(3, 4), signed(3, 3)),
    ],
    ops.RMSNormalise: [(ops.RMSNormalise((1,), 0.1), signed(2, 3)), (ops.RMSNormalise((0, 2), 0.0), signed(2, 3, 4))],
}  # fmt: skip
