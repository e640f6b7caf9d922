"""A tensor as text, as PyTorch writes it: four digits after the point, and none where all numbers are whole.

What Python and NumPy read of a tensor: numbers, arrays, text, and how it lies in memory.

Tensors made from one that is there: its copies, and new ones of its dtype, in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.device import CPU, Device
from ..base.device import device as device_called
from ..base.errors import DTypeError, NoGradientError, ShapeError
from ..base.spec import Spec
from ..methods import integers, lengths
from ..methods.base import axis_of

WIDTH, MOST, EDGE = 80, 1000, 3  # characters of a line, elements shown in full, and otherwise at each end of an axis


def text(array: np.ndarray, prefix: str) -> str:
    """The elements in brackets, lined up behind the prefix; of more than a thousand those at the corners."""
    if not array.size:
        return "[]" if array.ndim < 2 else f"[], size={array.shape}"
    options: Any = {"formatter": {"float_kind": form(corners(array))}} if array.dtype.kind == "f" else {}
    lined = np.array2string(array, WIDTH, separator=", ", prefix=prefix, threshold=MOST, edgeitems=EDGE, **options)
    return lined.replace(", ..., ", ",  ..., ")


def corners(array: np.ndarray) -> np.ndarray:
    """The elements that are shown."""
    if array.size <= MOST:
        return array
    places = [np.r_[:EDGE, n - EDGE : n] if n > 2 * EDGE else np.arange(n) for n in array.shape]
    shown: np.ndarray = array[np.ix_(*places)]
    return shown


def form(array: np.ndarray) -> Callable[[float], str]:
    """How each of these floats is written: 1., or 1.5000, or beside one that is far larger 1.0000e+00."""
    told = array[np.isfinite(array) & (array != 0)].astype(np.float64)
    sizes = np.abs(told) if told.size else np.ones(1)
    whole = bool((sizes == np.ceil(sizes)).all())
    far = sizes.max() > 1000 * sizes.min() or sizes.max() > 1e8 or sizes.min() < 1e-4
    style = ".4e" if far else "#.0f" if whole else ".4f"
    width = max(len(f"{x:{style}}") for x in (told.min(initial=0), told.max(initial=0)))
    return lambda x: f"{x:{style}}".rjust(width)


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


class Kindred:
    """The part of Tensor that makes others."""

    __slots__ = ()

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        kind, data, requires_grad = self._parts("copied")
        copied = memo[id(self)] = rebuilt(kind, data.copy(), requires_grad)
        if self.grad is not None:
            copied.grad = self.made(self.grad.value.copy(), self.grad.spec)
        return copied

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        return rebuilt, self._parts("pickled")

    def _parts(self: Any, wanted: str) -> tuple[type, Any, bool]:
        if not self.is_leaf:
            raise NoGradientError(f"only a leaf can be {wanted}, and this one carries its history: take x.detach()")
        return type(self), self.value, self.requires_grad

    # -- of another shape -----------------------------------------------------------------------

    def new_full(
        self: Any,
        size: Any,
        fill_value: Any,
        *,
        dtype: Any = None,
        device: Device | str | None = None,
        requires_grad: bool = False,
    ) -> Any:
        """All one value, of that shape; dtype and device are self's unless said otherwise."""
        shape = lengths((size,))
        where = self.spec.device if device is None else device_called(device)
        spec = Spec(shape, self.spec.dtype if dtype is None else dtype, where)
        return self.made(where.xp.full(shape, fill_value, spec.dtype), spec).requires_grad_(requires_grad)

    def new_zeros(self: Any, *lengths: Any, size: Any = None, **options: Any) -> Any:
        """All 0; options as in new_full."""
        return self.new_full(integers(lengths if size is None else (size,)), 0, **options)

    def new_ones(self: Any, *lengths: Any, size: Any = None, **options: Any) -> Any:
        """All 1; options as in new_full."""
        return self.new_full(integers(lengths if size is None else (size,)), 1, **options)

    def new_empty(self: Any, *lengths: Any, size: Any = None, **options: Any) -> Any:
        """To be filled, and all 0 until then; options as in new_full."""
        return self.new_zeros(*lengths, size=size, **options)

    def new_tensor(self: Any, data: Any, **options: Any) -> Any:
        """The data, copied; dtype and device are self's unless the options say otherwise."""
        given = np.asarray(data.detach().numpy() if hasattr(data, "detach") else data)
        y = self.new_full(given.shape, 0, **options)
        y.value[...] = y.spec.device.array(given)
        return y


def rebuilt(kind: type, data: Any, requires_grad: bool) -> Any:
    """A leaf of that kind: what copying and unpickling call."""
    return kind(data).requires_grad_(requires_grad)
