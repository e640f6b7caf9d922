"""One or more calls of each op that makes one of many: (op, operand, …)."""

from minigrad import ops

from .draws import signed

EXAMPLES = {
    ops.Sum: [(ops.Sum((0, 2)), signed(2, 3, 4)), (ops.Sum((1,), True), signed(2, 3)), (ops.Sum(()), signed(2))],
    ops.Mean: [(ops.Mean((0,)), signed(2, 3)), (ops.Mean((0, 1), True), signed(2, 3))],
    ops.Max: [(ops.Max((1,)), signed(2, 3)), (ops.Max((0, 1), True), signed(2, 3))],
    ops.LogSumExp: [(ops.LogSumExp((1,)), signed(2, 3)), (ops.LogSumExp((0,), True), signed(2, 3))],
}  # fmt: skip
