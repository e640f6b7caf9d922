"""Selecting by a condition, one-hot vectors, and searching in sorted rows; and checks of ranges."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engine import ops
from ...engine.base.device import CPU
from ...engine.base.errors import DTypeError, GraphError, ShapeError
from ...engine.core.modes import current
from ...engine.ops.pattern import place
from ...engine.tensor.lift import operand, operands
from ...engine.tensor.tensor import Tensor


def within(x: Any, low: float, high: Any, wanted: str) -> Any:
    """x, after a check that its values are from low to high. In a graph, each run makes the check."""
    op = ops.Within(low, place(high), wanted)
    if not isinstance(x, Tensor) or current.mode.door is not None:
        return x.apply(op)
    op.forward(x.spec.device.xp, x.value)  # type: ignore[no-untyped-call]
    return x


def all_within(x: Any, low: float, high: float) -> bool:
    """Whether all values of x are known to be from low to high. False on a GPU, and in a graph, as values change."""
    if not isinstance(x, Tensor) or x.spec.device is not CPU or current.mode.door is not None:
        return False
    return not x.size or bool(low <= x.value.min() and x.value.max() <= high)


def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """where(c, x, y): x where c is true, y elsewhere. where(c): the indices where c is true, one tensor per axis."""
    if input is None and other is None:
        return operand(condition).nonzero(as_tuple=True)
    if input is None or other is None:
        raise TypeError("where takes a condition and two operands, or a condition alone, and got only one operand")
    x, y, c = operands((input, other, condition), "where")
    return x.where(c, y)


def one_hot(x: Any, num_classes: int = -1) -> Any:
    """One-hot vectors: y[…, c] = 1 if x[…] is c, else 0.

    num_classes    the length of each vector; −1 for one more than the largest x
    """
    x = operand(x)
    if x.dtype.kind not in "iu":
        raise DTypeError(f"one_hot needs integer classes, and got {x.spec}: use .astype(int)")
    if not hasattr(x, "value"):
        if num_classes == -1:
            raise GraphError(f"one_hot of {x.spec} has no largest class before the graph runs: pass num_classes")
    elif num_classes == -1 and not x.size:
        raise ShapeError(f"one_hot cannot infer the number of classes from an empty {x.spec}: pass num_classes")
    classes = int(x.numpy().max()) + 1 if num_classes == -1 else num_classes
    x = within(x, 0, classes - 1, f"the classes of one_hot are 0 to {classes - 1}")
    if not hasattr(x, "value"):  # exported as a lookup of rows: it rejects invalid classes (files/onnx/spellings.py)
        return x.lift(np.eye(classes, dtype=np.int64))[x]
    return x.unsqueeze(-1).eq(np.arange(classes)).astype(np.int64)


def searchsorted(
    sorted_sequence: Any, values: Any,
    *, out_int32: bool = False, right: bool = False, side: str = "", sorter: Any = None,
) -> Any:  # fmt: skip
    """For each value, the index at which to insert it into a sorted row so that the row stays sorted.

    sorted_sequence    one row, or one for each row of values; unsorted if `sorter` has the indices that sort it
    right              insert after equal elements; the same as side='right'
    """
    row, x = operands((sorted_sequence, values), "searchsorted")
    if side not in ("", "left", "right") or (right and side == "left"):
        raise ValueError(f"searchsorted has side='left' or 'right', and got side={side!r} with right={right}")
    row = row if sorter is None else row.gather(-1, sorter)
    kind, right = np.int32 if out_int32 else np.int64, right or side == "right"
    if row.ndim == 1:
        return row.apply(ops.SearchSorted(right), x).astype(kind)
    if row.shape[:-1] != x.shape[:-1]:
        raise ShapeError(f"searchsorted needs a sorted row for each row of values, and got {row.spec} with {x.spec}")
    rows, columns = row.unsqueeze(-2), x.unsqueeze(-1)
    return (rows <= columns if right else rows < columns).sum(-1).astype(kind)


def bucketize(input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    """The bucket of each number x: how many boundaries are < x or, with `right`, ≤ x."""
    x, row = operands((input, boundaries), "bucketize")
    if row.ndim != 1:
        raise ShapeError(f"bucketize needs its boundaries in one row, and got {row.spec}")
    return searchsorted(row, x, out_int32=out_int32, right=right)
