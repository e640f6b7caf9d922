"""One or more calls of each op that reads or writes by index: (op, operand, …)."""

from minigrad import ops
from minigrad.tensor import tensor

from .draws import signed

ROWS = tensor([0, 2, 2])

EXAMPLES = {
    ops.Index: [(ops.Index(ops.pattern_of((slice(None), 1), (2, 3))[0]), signed(2, 3)),
                (ops.Index(ops.pattern_of((ROWS.numpy(),), (3, 2))[0]), signed(3, 2), ROWS)],
    ops.IndexAdd: [(ops.IndexAdd(ops.pattern_of((slice(0, 4, 2),), (5,))[0], (5,)), signed(2)),
                   (ops.IndexAdd(ops.pattern_of((ROWS.numpy(),), (3, 2))[0], (3, 2)), signed(3, 2), ROWS)],
}  # fmt: skip
