"""What is known of a tensor before it is computed: its shape, its dtype and its device."""

from __future__ import annotations

from math import prod
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from .device import CPU, Device, device_of
from .errors import DeviceError, ShapeError

_known: WeakValueDictionary[Any, Spec] = WeakValueDictionary()
_making = Lock()


class Spec:
    """A tensor's type, written ``f32[64, 10]``: enough to check, count and plan, not to compute.

    shape       length of each axis
    dtype       type of the elements
    device      where they live
    size        number of elements
    ndim        number of axes
    nbytes      bytes of storage, contiguous
    is_float    whether it can carry a gradient: integers and booleans cannot

    Equal specs are one object, so that to compare two, or to look one up, takes no longer than `is`.
    """

    __slots__ = ("__weakref__", "device", "dtype", "is_float", "nbytes", "ndim", "shape", "size")
    __match_args__ = ("shape", "dtype", "device")

    shape: tuple[int, ...]
    dtype: np.dtype
    device: Device
    size: int
    ndim: int
    nbytes: int
    is_float: bool

    def __new__(cls, shape: tuple[int, ...], dtype: Any, device: Device = CPU) -> Spec:
        key = (shape, np.dtype(dtype), device)
        return _known.get(key) or cls._made(*key)

    @classmethod
    def _made(cls, shape: tuple[int, ...], dtype: np.dtype, device: Device) -> Spec:
        """The one spec of that description, made unless another thread was quicker."""
        with _making:
            spec = _known.get((shape, dtype, device))
            if spec is None:
                spec = object.__new__(cls)
                spec.shape, spec.dtype, spec.device = shape, dtype, device
                spec.size, spec.ndim, spec.is_float = prod(shape), len(shape), dtype.kind == "f"
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
        return Spec(self.shape, dtype, self.device)

    def __repr__(self) -> str:
        kind = "bool" if self.dtype.kind == "b" else f"{self.dtype.kind}{8 * self.dtype.itemsize}"
        place = "" if self.device is CPU else f"@{self.device.name}"
        return f"{kind}[{', '.join(map(str, self.shape))}]{place}"


def spec_of(array: Any) -> Spec:
    """The spec of an array."""
    return Spec(array.shape, array.dtype, device_of(array))


def broadcast(op: object, *specs: Spec) -> Spec:
    """The common spec of elementwise operands, by NumPy's rules for shapes and dtypes (NEP 50).

    op    who asks, for the error text

    Raises ShapeError if two axes differ and neither is 1, DeviceError if the devices differ.
    """
    if len(specs) == 1:
        return specs[0]
    try:
        shape = np.broadcast_shapes(*(s.shape for s in specs))
    except ValueError:
        raise ShapeError(
            f"{op} needs shapes that broadcast, and got {' with '.join(map(str, specs))}: counted from the right, "
            "two axes must be equal or one of them 1. Use reshape to line them up"
        ) from None
    return Spec(shape, np.result_type(*(s.dtype for s in specs)), common_device(op, *specs))


def common_device(op: object, *specs: Spec) -> Device:
    """The one device all operands live on. Raises DeviceError where they differ."""
    devices = {s.device for s in specs}
    if len(devices) > 1:
        came = " with ".join(map(str, specs))
        raise DeviceError(f"{op} needs its operands on one device, and got {came}: use .to(device)")
    return devices.pop()
