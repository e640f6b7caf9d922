"""One or more calls of each op that reads or writes by index: (op, operand, …)."""

import numpy as np

from minigrad import ops
from minigrad.engine.tensor.tensor import tensor

from .draws import signed

ROWS = tensor([0, 2, 2])
COLUMNS = tensor([[1], [-1]])
CHOSEN = tensor([[2, 0], [2, 1], [0, 0]])
PLACES = tuple(map(tensor, np.nonzero([[True, False], [False, True], [True, True]])))


def pattern(*index):
    """What an index of slices, integers and ROWS or COLUMNS says."""
    return ops.pattern_of(index, (9,) * 9)[0]


MASKED = ops.pattern_of(np.ones((3, 2), bool), (3, 2))[0]
MIXED = pattern(None, ROWS, slice(1), COLUMNS)
DOTTED = pattern(ROWS, ..., -1)

EXAMPLES = {
    ops.Index: [(ops.Index(pattern(slice(None), 1)), signed(2, 3)),
                (ops.Index(pattern(1, 0)), signed(2, 3)),
                (ops.Index(pattern(slice(None, None, -2), None)), signed(5)),
                (ops.Index(pattern(ROWS)), signed(3, 2), ROWS),
                (ops.Index(MASKED), signed(3, 2), *PLACES),
                (ops.Index(DOTTED), signed(3, 2, 2), ROWS),
                (ops.Index(MIXED), signed(3, 2, 2, 2), ROWS, COLUMNS)],
    ops.IndexAdd: [(ops.IndexAdd(pattern(slice(0, 4, 2)), (5,)), signed(2)),
                   (ops.IndexAdd(pattern(ROWS), (3, 2)), signed(3, 2), ROWS),
                   (ops.IndexAdd(pattern(ROWS), (3, 2)), signed(2), ROWS),
                   (ops.IndexAdd(MASKED, (3, 2)), signed(4), *PLACES),
                   (ops.IndexAdd(DOTTED, (3, 2, 2)), signed(3, 2), ROWS),
                   (ops.IndexAdd(MIXED, (3, 2, 2, 2)), signed(2, 3, 1, 1, 2), ROWS, COLUMNS)],
    ops.IndexSet: [(ops.IndexSet(pattern(slice(0, 4, 2))), signed(5), signed(2)),
                   (ops.IndexSet(pattern(1, 0)), signed(2, 2), signed()),
                   (ops.IndexSet(pattern(ROWS)), signed(3, 2), signed(3, 2), ROWS),
                   (ops.IndexSet(pattern(ROWS)), signed(3, 2), signed(3, 1), ROWS),
                   (ops.IndexSet(MASKED), signed(3, 2), signed(4), *PLACES),
                   (ops.IndexSet(DOTTED), signed(3, 2, 2), signed(), ROWS)],
    ops.Last: [(ops.Last(ops.IndexSet(pattern(ROWS)), (3, 2)), ROWS), (ops.Last(ops.Scatter(1), (3, 3)), CHOSEN)],
    ops.Gather: [(ops.Gather(1), signed(4, 3), CHOSEN), (ops.Gather(0), signed(3, 2), CHOSEN)],
    ops.ScatterAdd: [(ops.ScatterAdd(1, (4, 3)), signed(3, 2), CHOSEN),
                     (ops.ScatterAdd(0, (3, 2)), signed(3, 2), CHOSEN)],
    ops.Scatter: [(ops.Scatter(1), signed(4, 3), signed(3, 2), CHOSEN),
                  (ops.Scatter(0), signed(3, 2), signed(), CHOSEN)],
    ops.SearchSorted: [(ops.SearchSorted(right), tensor([0.0, 0.5, 1.0]), signed(2, 3)) for right in (True, False)],
}  # fmt: skip
