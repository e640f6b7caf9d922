"""What Python and NumPy read of a tensor: numbers, arrays, text, and how it lies in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from .device import CPU
from .errors import DTypeError, ShapeError
from .operand.base import axis_of
from .printing import text
from .spec import Spec


class Readable:
    """The part of Tensor that gives its value away."""

    __slots__ = ()

    value: Any
    spec: Spec

    def numpy(self) -> np.ndarray:
        """The value as a NumPy array: on the CPU the same memory, not a copy."""
        array: np.ndarray = CPU.array(self.value)
        return array

    def item(self) -> Any:
        """The one element as a Python number."""
        if self.spec.size != 1:
            raise ShapeError(f"item() needs a tensor of one element, and this is {self.spec}: index or reduce it first")
        return self.spec.device.item(self.value)

    def tolist(self) -> Any:
        """The elements as Python numbers, in nested lists."""
        return self.numpy().tolist()

    def __bool__(self) -> bool:
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self.spec.dtype.kind not in "iub":
            raise DTypeError(f"a place in a list is a whole number, and this is {self.spec}: int(x) cuts it to one")
        return int(self.item())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.numpy(), dtype, copy=copy)

    # -- as text --------------------------------------------------------------------------------

    def __repr__(self: Any) -> str:
        kind = "" if self.spec.dtype in (np.float64, np.int64, np.bool_) else f", dtype={self.spec.dtype}"
        origin = f", grad_fn={self.grad_fn}" if self.grad_fn else ", requires_grad=True" if self.requires_grad else ""
        return f"tensor({text(self.numpy(), 'tensor(')}{kind}{origin})"

    def __format__(self, form: str) -> str:
        """f"{loss:.4f}" of one number, as of Python's own."""
        if not self.spec.shape:
            return format(self.item(), form)
        if form:
            raise ShapeError(f"{form!r} is the form of one number, and this is {self.spec}: index or reduce it first")
        return str(self)

    # -- in memory ------------------------------------------------------------------------------

    def stride(self, dim: int | None = None) -> Any:
        """How many elements lie between neighbours along each axis, or along one."""
        steps = tuple(step // self.spec.dtype.itemsize for step in self.value.strides)
        return steps if dim is None else steps[axis_of(self.spec, dim)]

    def is_contiguous(self) -> bool:
        """Whether the elements lie side by side, in the order of the axes."""
        return bool(self.value.flags.c_contiguous)
