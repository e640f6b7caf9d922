"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...editable import write
from ...errors import ShapeError
from ...functions.face import operand
from ...functions.movement import cat
from ...tensor import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Any:
    """All elements of all parameters in a row, differentiably."""
    return cat([p.reshape(p.size) for p in parameters])


def vector_to_parameters(vec: Any, parameters: Iterable[Tensor]) -> None:
    """Copy a vector's elements into the parameters, in order, unrecorded."""
    x, ps = operand(vec).value, list(parameters)
    if x.shape != (sum(p.size for p in ps),):
        raise ShapeError(f"the parameters have {sum(p.size for p in ps)} elements, and the vector is {x.shape}")
    start = 0
    for p in ps:
        write(p, x[start : start + p.size].reshape(p.shape))
        start += p.size
