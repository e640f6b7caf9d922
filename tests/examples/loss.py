"""Examples of losses that are ops of their own: (op, prediction, target)."""

from minigrad import Tensor, ops

from .draws import rng

EXAMPLES = {
    ops.BinaryCrossEntropy: [
        (ops.BinaryCrossEntropy(), Tensor(rng.uniform(0.2, 0.8, (2, 3))), Tensor(rng.uniform(0.2, 0.8, (2, 3)))),
        (ops.BinaryCrossEntropy(), Tensor(rng.uniform(0.2, 0.8, (2, 3))), Tensor(rng.uniform(0.2, 0.8, (3,)))),
    ],
}  # fmt: skip
