"""One or more calls of each op that moves, joins or places elements: (op, operand, …)."""

from minigrad import ops
from minigrad.engine.base.device import CPU

from .draws import signed

EXAMPLES = {
    ops.Reshape: [(ops.Reshape((3, 2)), signed(2, 3))],
    ops.View: [(ops.View((3, 2)), signed(2, 3)), (ops.View((0, 5)), signed(2, 0))],
    ops.Contiguous: [(ops.Contiguous(), signed(2, 3)), (ops.Contiguous(), signed())],
    ops.Transpose: [(ops.Transpose((2, 0, 1)), signed(2, 3, 4))],
    ops.BroadcastTo: [(ops.BroadcastTo((4, 2, 3)), signed(2, 1))],
    ops.Flip: [(ops.Flip((0, 2)), signed(2, 3, 4)), (ops.Flip(()), signed())],
    ops.Roll: [(ops.Roll((1, -2), (0, 1)), signed(3, 4)), (ops.Roll((1, 1), (0, 0)), signed(3)),
               (ops.Roll((7,), (1,)), signed(2, 3))],
    ops.Concatenate: [(ops.Concatenate(1), signed(2, 3), signed(2, 0), signed(2, 1)), (ops.Concatenate(0), signed(3))],
    ops.Stack: [(ops.Stack(1), signed(2, 3), signed(2, 3)), (ops.Stack(0), signed(), signed(), signed())],
    ops.Pad: [(ops.Pad(((1, 0), (0, 2)), 3.0), signed(2, 3)), (ops.Pad(((0, 0), (2, 1))), signed(0, 2)),
              (ops.Pad(()), signed())],
    ops.Diagonal: [(ops.Diagonal(k), signed(2, 3, 4)) for k in (0, 1, -2, 9)],
    ops.OnDiagonal: [(ops.OnDiagonal((3, 4), -1), signed(2, 2)), (ops.OnDiagonal((3, 5), 2), signed(3)),
                     (ops.OnDiagonal((2, 2), 5), signed(0))],
    ops.Tril: [(ops.Tril(k), signed(2, 3, 4)) for k in (0, 1)],
    ops.Triu: [(ops.Triu(k), signed(3, 2)) for k in (0, -1)],
    ops.Alias: [(ops.Alias(), signed(2, 3))],
    ops.Several: [(ops.Several((0,)), signed(2, 3))],
    ops.OfShape: [(ops.OfShape((2, 3), "an example"), signed(2, 3))],
    ops.Within: [(ops.Within(-9, 9, "small numbers"), signed(2, 3))],
    ops.Clone: [(ops.Clone(), signed(2, 3))],
    ops.Move: [(ops.Move(CPU), signed(2, 3))],
    ops.ViewScatter: [(ops.ViewScatter((ops.Transpose((1, 0)), ops.Reshape((6,)))), signed(2, 3).T, signed(6)),
                  (ops.ViewScatter((ops.Transpose((1, 0)), ops.Diagonal(0))), signed(2, 3), signed(2))],
}  # fmt: skip
