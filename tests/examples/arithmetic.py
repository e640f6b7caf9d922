"""One or more calls of each op that is written with a sign or compares: (op, operand, …)."""

from minigrad import ops

from .draws import MASK, positive, signed

EXAMPLES = {
    ops.Add: [(ops.Add(), signed(2, 3), signed(3))],
    ops.Sub: [(ops.Sub(), signed(3), signed(2, 3))],
    ops.Mul: [(ops.Mul(), signed(2, 1), signed(3)), (ops.Mul(), signed(), signed())],
    ops.Div: [(ops.Div(), signed(2, 3), positive(2, 3))],
    ops.Neg: [(ops.Neg(), signed(2, 3))],
    ops.Pow: [(ops.Pow(p), positive(2, 3)) for p in (3, 2, 1, 0, -1, 0.5)] + [(ops.Pow(2), signed(3))],
    ops.Power: [(ops.Power(), positive(2, 3), signed(3))],
    ops.Maximum: [(ops.Maximum(), signed(2, 3), signed(3))],
    ops.Minimum: [(ops.Minimum(), signed(2, 3), signed(3))],
    ops.Where: [(ops.Where(), MASK, signed(2, 3), signed(3))],
    **{c: [(c(), signed(2, 3), signed(3))] for c in
       (ops.Greater, ops.GreaterEqual, ops.Less, ops.LessEqual, ops.Equal, ops.NotEqual)},
    ops.Not: [(ops.Not(), MASK)],
}  # fmt: skip
