"""One or more calls of each op that multiplies matrices: (op, operand, …)."""

from minigrad import ops

from .draws import signed

EXAMPLES = {
    ops.MatMul: [(ops.MatMul(), signed(2, 3), signed(3, 4)), (ops.MatMul(), signed(5, 2, 3), signed(3, 4))],
}  # fmt: skip
