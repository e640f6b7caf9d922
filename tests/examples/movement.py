"""One or more calls of each op that moves elements: (op, operand, …)."""

from minigrad import ops

from .draws import signed

EXAMPLES = {
    ops.Reshape: [(ops.Reshape((3, 2)), signed(2, 3))],
    ops.Transpose: [(ops.Transpose((2, 0, 1)), signed(2, 3, 4))],
    ops.BroadcastTo: [(ops.BroadcastTo((4, 2, 3)), signed(2, 1))],
}  # fmt: skip
