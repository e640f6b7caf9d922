"""Spec: the shape, dtype and device of a tensor, which are known before its value is computed."""

from __future__ import annotations

from itertools import zip_longest
from math import prod
from operator import attrgetter
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from .device import CPU, META, Device, device_of
from .dimension import bounds, is_unknown, wrap_dimension
from .dtypes import HALVES, bfloat16, kind, result_type
from .errors import DeviceError, DTypeError, ShapeError

_known: WeakValueDictionary[Any, Spec] = WeakValueDictionary()
_making = Lock()
PLACE = np.dtype(np.intp)


class Spec:
    """A tensor's type, written ``f32[64, 10]``: enough to check, count and plan, not to compute.

    shape       length of each axis
    dtype       type of the elements
    device      the device that holds the elements
    size        number of elements
    ndim        number of axes
    nbytes      bytes of contiguous storage
    is_float    whether it can carry a gradient: integers and booleans cannot
    is_half     whether it is float16 or bfloat16
    is_known    whether every length is known; an unknown length is a Length
    lengths     the shape as user code sees it: an unknown length is a Dimension

    Equal specs are the same object, so comparing two specs, or looking one up, is as fast as `is`.
    """

    __slots__ = "__weakref__ device dtype is_float is_half is_known lengths nbytes ndim shape size".split()  # noqa: SIM905
    __match_args__ = ("shape", "dtype", "device")

    shape: tuple[int, ...]
    lengths: tuple[Any, ...]
    dtype: np.dtype
    device: Device
    size: int
    ndim: int
    nbytes: int
    is_float: bool
    is_half: bool
    is_known: bool

    def __new__(cls, shape: tuple[int, ...], dtype: Any, device: Device = CPU) -> Spec:
        key = (shape, np.dtype(dtype), device)
        return _known.get(key) or cls._intern(*key)

    @classmethod
    def _intern(cls, shape: tuple[int, ...], dtype: np.dtype, device: Device) -> Spec:
        """Look up the spec with these fields, or make it. A lock keeps two threads from making the same spec twice."""
        with _making:
            spec = _known.get((shape, dtype, device))
            if spec is None:
                if dtype == bfloat16 and device not in (CPU, META):
                    raise DTypeError(f"bfloat16 is supported on the CPU only, and got {device}: use float16 there")
                spec = object.__new__(cls)
                spec.is_known = not any(map(is_unknown, shape))
                spec.shape = shape
                spec.lengths = shape if spec.is_known else tuple(map(wrap_dimension, spec.shape))
                spec.dtype, spec.device = dtype, device
                spec.size, spec.ndim, spec.is_float = prod(shape), len(shape), kind(dtype) == "f"
                spec.is_half = dtype in HALVES
                spec.nbytes = spec.size * dtype.itemsize
                _known[shape, dtype, device] = spec
            return spec

    def __reduce__(self) -> tuple[Any, ...]:
        return Spec, (self.shape, self.dtype, self.device)

    def with_shape(self, shape: tuple[int, ...]) -> Spec:
        """The same dtype and device in another shape."""
        return Spec(shape, self.dtype, self.device)

    def with_dtype(self, dtype: Any) -> Spec:
        """The same shape and device with another dtype."""
        return self if dtype is self.dtype else Spec(self.shape, dtype, self.device)

    def __repr__(self) -> str:
        letter = "bf" if self.dtype == bfloat16 else self.dtype.kind
        name = "bool" if letter == "b" else f"{letter}{8 * self.dtype.itemsize}"
        place = "" if self.device is CPU else f"@{self.device.name}"
        return f"{name}[{', '.join(map(str, self.shape))}]{place}"


class Specs(tuple[Spec, ...]):
    """The spec of an op with several results: one Spec each."""

    __slots__ = ()

    shape = dtype = None  # each result has its own
    is_float = is_half = False  # each result gets its own gradient, in its own dtype
    size = property(lambda self: sum(s.size for s in self), doc="Number of elements, of all results.")
    nbytes = property(lambda self: sum(s.nbytes for s in self), doc="Bytes of storage, of all results.")
    device = property(lambda self: self[0].device if self else CPU, doc="Where they live.")

    def __repr__(self) -> str:
        return f"({', '.join(map(str, self))})"


def spec_of(array: Any) -> Spec:
    """The spec of an array."""
    return Spec(array.shape, array.dtype, device_of(array))


def broadcast(op: object, *specs: Spec) -> Spec:
    """The common spec of elementwise operands, by NumPy's rules for shapes and dtypes (NEP 50).

    op    the op named in the error message

    Raises ShapeError if two axes differ and neither is 1, DeviceError if the devices differ.
    """
    if len({*specs}) == 1:
        return specs[0]
    shape = broadcast_shape(*map(attrgetter("shape"), specs))
    if shape is None:
        raise ShapeError(
            f"{op} needs shapes that broadcast, and got {' with '.join(map(str, specs))}: counted from the right, "
            "two axes must be equal or one of them 1. Use reshape to line them up"
        )
    return Spec(shape, result_type(*map(attrgetter("dtype"), specs)), common_device(op, *specs))


def broadcast_shape(*shapes: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape that all these shapes broadcast to; None if they do not broadcast."""
    lengths = [{*axis} - {1} for axis in zip_longest(*map(reversed, shapes), fillvalue=1)]
    if max(map(len, lengths), default=0) > 1:
        lengths = [{n for n in axis if not is_unknown(n) or bounds(n)[1] > 1} for axis in lengths]  # x + x[:1]
        if any(len(axis) > 1 for axis in lengths):
            return None
    return tuple([axis.pop() if axis else 1 for axis in reversed(lengths)])


def as_places(index: Any) -> Any:
    """An index in NumPy's index dtype, which has 32 bits in a browser. Larger values are clamped, not truncated."""
    fits = index.dtype.itemsize <= PLACE.itemsize
    return index if fits else np.minimum(np.maximum(index, np.iinfo(PLACE).min), np.iinfo(PLACE).max).astype(PLACE)


def common_device(op: object, *specs: Spec) -> Device:
    """The device of all operands. Raises DeviceError if they differ."""
    devices: set[Device] = {*map(attrgetter("device"), specs)}
    if len(devices) > 1:
        came = " with ".join(map(str, specs))
        raise DeviceError(f"{op} needs its operands on one device, and got {came}: use .to(device)")
    return devices.pop()
