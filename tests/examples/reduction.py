"""One or more calls of each op that makes one of many: (op, operand, …)."""

import numpy as np

from minigrad import ops
from minigrad.engine.tensor.tensor import Tensor

from .draws import MASK, signed

ZEROS = Tensor(np.array([[2.0, 0.0, -3.0], [0.0, 0.5, 0.0], [1.5, -2.0, 3.0]]))

EXAMPLES = {
    ops.Sum: [(ops.Sum((0, 2)), signed(2, 3, 4)), (ops.Sum((1,), True), signed(2, 3)), (ops.Sum(()), signed(2))],
    ops.Mean: [(ops.Mean((0,)), signed(2, 3)), (ops.Mean((0, 1), True), signed(2, 3))],
    ops.SumOfProducts: [(ops.SumOfProducts((1,)), signed(2, 3), signed(2, 3)),
                        (ops.SumOfProducts((0, 2)), signed(2, 3, 4), signed(2, 3, 4))],
    ops.Prod: [(ops.Prod((1,)), ZEROS), (ops.Prod((0,), True), signed(5, 2)), (ops.Prod((1,)), signed(2, 1))],
    ops.Var: [(ops.Var((0, 2)), signed(2, 3, 4)), (ops.Var((1,), True, 0), signed(2, 3))],
    ops.Std: [(ops.Std((0, 2)), signed(2, 3, 4)), (ops.Std((1,), True, 0), signed(2, 3))],
    ops.Norm: [(ops.Norm((1,), False, p), signed(2, 3)) for p in (1, 2, 3, 0.5, -2)]
              + [(ops.Norm((0, 1), True, 2), signed(2, 3))],
    ops.Max: [(ops.Max((1,)), signed(2, 3)), (ops.Max((0, 1), True), signed(2, 3))],
    ops.Min: [(ops.Min((1,)), signed(2, 3)), (ops.Min((0, 1), True), signed(2, 3))],
    ops.LogSumExp: [(ops.LogSumExp((1,)), signed(2, 3)), (ops.LogSumExp((0,), True), signed(2, 3))],
    ops.All: [(ops.All((1,)), MASK), (ops.All((0,), True), ZEROS)],
    ops.Any: [(ops.Any((1,)), MASK), (ops.Any((0,), True), ZEROS)],
}  # fmt: skip
