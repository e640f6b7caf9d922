"""One or more calls of each op that says where elements stand: (op, operand, …)."""

from minigrad import ops

from .draws import signed
from .reduction import ZEROS

EXAMPLES = {
    ops.ArgSort: [(ops.ArgSort(0), signed(4, 2)), (ops.ArgSort(1, True), ZEROS), (ops.ArgSort(1), ZEROS)],
    ops.ArgTopK: [(ops.ArgTopK(0, 2), signed(4, 2)), (ops.ArgTopK(1, 2, False), ZEROS), (ops.ArgTopK(1, 3), ZEROS),
                  (ops.ArgTopK(0, 0), signed(3))],
    ops.ArgMax: [(ops.ArgMax(1), signed(2, 3)), (ops.ArgMax(0, True), ZEROS)],
    ops.ArgMin: [(ops.ArgMin(1), signed(2, 3)), (ops.ArgMin(0, True), ZEROS)],
}  # fmt: skip
