"""Functions that create tensors from a shape or from existing arrays, and queries about a tensor.

Most functions take `dtype`, `device` and `requires_grad`. Real numbers are float64 by default, like Python's floats;
PyTorch's default is float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...engine.base.device import CPU, Device, blocks, device_of
from ...engine.base.device import device as device_called
from ...engine.base.dimension import Dimension, Formula, is_unknown, require_known, unwrap_dimension
from ...engine.base.dtypes import kind, wide
from ...engine.base.dtypes import result_type as promoted
from ...engine.base.errors import DTypeError, GraphError, ShapeError
from ...engine.methods import Operand, lengths
from ...engine.tensor.lift import function, operand
from ...engine.tensor.symbol import Symbol
from ...engine.tensor.tensor import Tensor, tensor
from ...tracing.tracer import own_memory

Place = Device | str | None


def place(device: Place) -> Device:
    """The given device; for None, the device of the enclosing block, or the CPU."""
    return blocks.devices[-1] or CPU if device is None else device_called(device)


def from_shape(size: tuple[Any, ...], value: float, dtype: Any, device: Place, requires_grad: bool) -> Tensor:
    """A tensor filled with one value. Raises ShapeError on a negative length."""
    where, shape, kind = place(device), lengths(size), np.float64 if dtype is None else dtype
    if any(map(is_unknown, shape)) or isinstance(value, Dimension):
        filled: Tensor = own_memory(tensor(value, kind, requires_grad, where).broadcast_to(shape))
        return filled
    return Tensor(where.xp.full(shape, value, kind), None, requires_grad, where)


def kind_of(number: Any) -> np.dtype:
    """The dtype of a Python number, or of a number computed from unknown lengths."""
    plain = 0 if isinstance(number, Dimension) else number
    return np.dtype(np.float64) if isinstance(unwrap_dimension(number), Formula) else np.asarray(plain).dtype


def zeros(*size: Any, dtype: Any = None, device: Place = None, requires_grad: bool = False) -> Tensor:
    """A tensor of zeros."""
    return from_shape(size, 0, dtype, device, requires_grad)


def ones(*size: Any, dtype: Any = None, device: Place = None, requires_grad: bool = False) -> Tensor:
    """A tensor of ones."""
    return from_shape(size, 1, dtype, device, requires_grad)


def empty(*size: Any, dtype: Any = None, device: Place = None, requires_grad: bool = False) -> Tensor:
    """A tensor of zeros. PyTorch leaves the memory uninitialised, so its values differ from run to run."""
    return from_shape(size, 0, dtype, device, requires_grad)


def full(size: Any, fill_value: Any, dtype: Any = None, device: Place = None, requires_grad: bool = False) -> Tensor:
    """A tensor filled with one value, by default in the dtype of that value."""
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    kind = kind_of(value) if dtype is None else dtype
    return from_shape((size,), value, kind, device, requires_grad)


def full_like(input: Any, fill_value: Any, dtype: Any = None, device: Place = None, requires_grad: bool = False) -> Any:
    """A tensor filled with one value, with the shape, dtype and device of input."""
    if isinstance(input, Symbol):  # in a graph: one number, broadcast when an op reads it
        dtype = input.dtype if dtype is None else dtype
        return own_memory(input.lift(fill_value).astype(dtype).broadcast_to(input.shape))
    spec = (input if isinstance(input, Tensor) else Tensor(input)).spec
    where = spec.device if device is None else device
    return from_shape((spec.shape,), fill_value, spec.dtype if dtype is None else dtype, where, requires_grad)


def zeros_like(input: Any, dtype: Any = None, device: Place = None, requires_grad: bool = False) -> Any:
    """Zeros, with the shape, dtype and device of input."""
    return full_like(input, 0, dtype, device, requires_grad)


def ones_like(input: Any, dtype: Any = None, device: Place = None, requires_grad: bool = False) -> Any:
    """Ones, with the shape, dtype and device of input."""
    return full_like(input, 1, dtype, device, requires_grad)


def empty_like(input: Any, dtype: Any = None, device: Place = None, requires_grad: bool = False) -> Any:
    """Zeros, as in empty(), with the shape, dtype and device of input."""
    return full_like(input, 0, dtype, device, requires_grad)


# -- ranges ---------------------------------------------------------------------------------------


def arange(
    start: Any = None, end: Any = None, step: Any = 1,
    *, dtype: Any = None, device: Place = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """start, start + step, … before end; `arange(n)` is 0 … n − 1. Integers if start, end and step are."""
    first, last = (0, start) if end is None else (0 if start is None else start, end)
    numbers = bounds(dtype, first, last, step)
    if any(isinstance(n, Dimension) for n in numbers):
        kind = np.int64 if dtype is None else dtype
        return open_row(numbers[0], numbers[1], numbers[2], kind, device)  # type: ignore[no-any-return]
    if numbers[2] == 0 or (numbers[1] - numbers[0]) * numbers[2] < 0:
        raise ShapeError(f"arange from {numbers[0]} to {numbers[1]} cannot have a step of {numbers[2]}")
    kind = promoted(*(np.asarray(n).dtype for n in numbers)) if dtype is None else np.dtype(dtype)
    where = place(device)
    return Tensor(where.xp.arange(*numbers, dtype=wide(kind)).astype(kind, copy=False), None, requires_grad, where)


def open_row(first: Any, last: Any, step: Any, dtype: Any, device: Place) -> Any:
    """An arange whose length is unknown until the graph runs, computed by ops of the graph."""
    if any(np.dtype(np.int64) != kind_of(n) for n in (first, last, step)) or step == 0:
        raise GraphError(f"arange up to an unknown length needs whole numbers, and got {first}, {last}, {step}")
    n = -((first - last) // step)  # rounded up
    return ((ones(n, dtype=np.int64, device=device).cumsum(0) - 1) * step + first).astype(dtype)


def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, device: Place = None, requires_grad: bool = False
) -> Tensor:
    """`steps` evenly spaced numbers from start to end, both included."""
    return in_a_row("linspace", start, end, steps, dtype, device, requires_grad)


def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0,
    *, dtype: Any = None, device: Place = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """baseˣ for the x of linspace: successive numbers have a constant ratio."""
    return in_a_row("logspace", start, end, steps, dtype, device, requires_grad, base=base)


def in_a_row(
    name: str, start: Any, end: Any, steps: int, dtype: Any, device: Place, requires_grad: bool, **options: float
) -> Tensor:
    """Call the array module's function of this name, linspace or logspace."""
    require_known(f"{name}, to compute the distance of its numbers,", *map(unwrap_dimension, (steps, start, end)))
    if steps < 0:
        raise ShapeError(f"{name} needs 0 steps or more, and got {steps}")
    where = place(device)
    row: Callable[..., Any] = getattr(where.xp, name)
    dtype = np.dtype(np.float64 if dtype is None else dtype)
    array = row(*bounds(dtype, start, end), steps, dtype=wide(dtype) if kind(dtype) == "f" else None, **options)
    return Tensor(array.astype(dtype, copy=False), None, requires_grad, where)


def bounds(dtype: Any, *numbers: Any) -> list[Any]:
    """The bounds and step of a range as Python numbers, truncated to integers if the dtype is an integer one."""
    given = [n.item() if isinstance(n, Tensor) else n for n in numbers]
    is_whole = dtype is not None and np.dtype(dtype).kind in "iu"
    return [int(n) if is_whole and not isinstance(n, Dimension) else n for n in given]


# -- matrices -------------------------------------------------------------------------------------


def eye(
    n: int, m: int | None = None, *, dtype: Any = None, device: Place = None, requires_grad: bool = False
) -> Tensor:
    """The n × m matrix of zeros with ones on its diagonal."""
    where, columns = place(device), n if m is None else m
    if isinstance(n, Dimension) or isinstance(columns, Dimension):
        diagonal = arange(n, device=device).unsqueeze(1).eq(arange(columns, device=device))
        return diagonal.astype(np.float64 if dtype is None else dtype)
    array = where.xp.eye(n, columns, dtype=np.dtype(np.float64 if dtype is None else dtype))
    return Tensor(array, None, requires_grad, where)


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Place = None) -> Tensor:
    """Two rows: the row and the column indices of the elements on and below a diagonal of a row × col matrix."""
    require_known("tril_indices, to count the elements,", unwrap_dimension(row), unwrap_dimension(col))
    return Tensor(np.stack(np.tril_indices(row, offset, col)), np.int64 if dtype is None else dtype, False, device)


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Place = None) -> Tensor:
    """Two rows: the row and the column indices of the elements on and above a diagonal of a row × col matrix."""
    require_known("triu_indices, to count the elements,", unwrap_dimension(row), unwrap_dimension(col))
    return Tensor(np.stack(np.triu_indices(row, offset, col)), np.int64 if dtype is None else dtype, False, device)


# -- from existing arrays -------------------------------------------------------------------------


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor that shares the memory of the array: a write to one changes the other."""
    if not isinstance(array, np.ndarray):
        raise DTypeError(f"from_numpy needs a NumPy array, and got {type(array).__name__}: use tensor(data)")
    return Tensor(array)


def as_tensor(data: Any, dtype: Any = None, device: Place = None) -> Tensor:
    """`data` as a tensor, without a copy if possible. A tensor with this dtype and device is returned as it is."""
    if isinstance(data, Dimension):
        return tensor(data, dtype)
    if isinstance(data, Tensor | Symbol):
        there: Any = data if device is None else data.to(device)
        return there if dtype is None else there.astype(dtype)  # type: ignore[no-any-return]
    return Tensor(data, dtype, False, device_of(data) if device is None else device)


Size = tuple[int, ...]  # a shape is Python's own tuple: mg.Size([2, 3]) == (2, 3)

detach = function(Tensor.detach)
zero_ = function(Tensor.zero_)


def is_tensor(obj: Any) -> bool:
    """Whether obj is a Tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input: Any) -> bool:
    """Whether the elements are floats, of any width."""
    return bool(operand(input).is_floating_point())


def is_nonzero(input: Any) -> bool:
    """Whether the only element of a tensor is not 0."""
    return bool(operand(input))


def result_type(tensor1: Any, tensor2: Any) -> np.dtype[Any]:
    """The dtype of the result of an operation on two tensors or numbers."""
    return promoted(*(x.dtype if isinstance(x, Operand) else x for x in (tensor1, tensor2)))
