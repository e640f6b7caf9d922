"""One or more calls of each op that runs along an axis: (op, operand, …)."""

from minigrad import ops

from .draws import signed
from .reduction import ZEROS

EXAMPLES = {
    ops.CumSum: [(ops.CumSum(1), signed(2, 5)), (ops.CumSum(0, True), signed(4, 2))],
    ops.Shift: [(ops.Shift(1, 1), signed(2, 3)), (ops.Shift(0, -2), signed(3, 2)), (ops.Shift(0, 3), signed(2))],
    ops.Recurrence: [(ops.Recurrence(1), signed(2, 7), signed(2, 7)),
                     (ops.Recurrence(0, True), signed(4, 2), signed(4, 2)),
                     (ops.Recurrence(0), signed(1), signed(1))],
    ops.CumProd: [(ops.CumProd(1), ZEROS), (ops.CumProd(1, True), ZEROS), (ops.CumProd(1, False, True), ZEROS),
                  (ops.CumProd(1, True, True), ZEROS), (ops.CumProd(0), signed(6, 2)),
                  (ops.CumProd(0, True), signed(1))],
    ops.LogCumSumExp: [(ops.LogCumSumExp(1), signed(2, 5)), (ops.LogCumSumExp(0), signed(3, 2))],
    ops.ArgCumMax: [(ops.ArgCumMax(1), signed(2, 5)), (ops.ArgCumMax(0), ZEROS)],
    ops.ArgCumMin: [(ops.ArgCumMin(1), signed(2, 5)), (ops.ArgCumMin(0), ZEROS)],
}  # fmt: skip
