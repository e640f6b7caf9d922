"""One or more calls of each op of two numbers, and of each that compares or chooses: (op, operand, …)."""

import numpy as np

from minigrad import ops
from minigrad.engine.tensor.tensor import Tensor

from .draws import MASK, positive, signed

QUESTIONS = (ops.Greater, ops.GreaterEqual, ops.Less, ops.LessEqual, ops.Equal, ops.NotEqual)
LOGIC = (ops.And, ops.Or, ops.Xor)
BEYOND = Tensor(np.array([1.0, np.nan, -np.inf]))

EXAMPLES = {
    ops.Add: [(ops.Add(), signed(2, 3), signed(3))], ops.Sub: [(ops.Sub(), signed(3), signed(2, 3))],
    ops.Mul: [(ops.Mul(), signed(2, 1), signed(3)), (ops.Mul(), signed(), signed())],
    ops.Div: [(ops.Div(), signed(2, 3), positive(2, 3)), (ops.Div(), signed(2, 1), positive(3))],
    ops.Neg: [(ops.Neg(), signed(2, 3))],
    ops.Pow: [(ops.Pow(p), positive(2, 3)) for p in (3, 2, 1, 0, -1, 0.5)] + [(ops.Pow(2), signed(3))],
    ops.Power: [(ops.Power(), positive(2, 3), signed(3))],
    ops.FloorDivide: [(ops.FloorDivide(), signed(2, 3), signed(3))],
    ops.Remainder: [(ops.Remainder(), signed(2, 3) * 5, signed(3))],
    ops.Fmod: [(ops.Fmod(), signed(2, 3) * 5, signed(3))], ops.Hypot: [(ops.Hypot(), signed(2, 3), signed(3))],
    ops.Atan2: [(ops.Atan2(), signed(2, 3), signed(3))], ops.CopySign: [(ops.CopySign(), signed(2, 3), signed(3))],
    ops.LogAddExp: [(ops.LogAddExp(), signed(2, 3), signed(3))], ops.XLogY: [(ops.XLogY(), signed(2, 3), positive(3))],
    **{question: [(question(), signed(2, 3), signed(3))] for question in QUESTIONS},
    **{question: [(question(), BEYOND)] for question in (ops.IsNaN, ops.IsInf, ops.IsFinite)},
    **{op: [(op(), MASK, MASK), (op(), Tensor([5, 3]), Tensor([4, 1]))] for op in LOGIC}, ops.Not: [(ops.Not(), MASK)],
    ops.Kept: [(ops.Kept(), signed(2, 3), MASK), (ops.Kept(), signed(2, 1), MASK)],
    ops.Where: [(ops.Where(), MASK, signed(2, 3), signed(3))], ops.Maximum: [(ops.Maximum(), signed(2, 3), signed(3))],
    ops.Minimum: [(ops.Minimum(), signed(2, 3), signed(3))],
    ops.Clamp: [(ops.Clamp(*bounds), signed(2, 3)) for bounds in ((-0.6, 0.7), (None, 0.7), (-0.6, None))],
    ops.NanToNum: [(ops.NanToNum(), signed(2, 3)), (ops.NanToNum(1.0, 2.0, 3.0), signed(3))],
    ops.Heaviside: [(ops.Heaviside(), signed(2, 3), signed(3))],
}  # fmt: skip
