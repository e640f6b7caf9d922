"""Arrays with a shape and a dtype, but no memory: with them, a large model can be built and counted without running it.

The device is called "meta", as in PyTorch. An op on it returns an array of the inferred spec, an initialiser
does nothing, and reading a number raises NoValueError.
"""

from __future__ import annotations

from math import prod
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np

from ...engine.base.errors import NoValueError


class MetaArray:
    """A shape and a dtype. Writes are ignored."""

    base = None
    flags = SimpleNamespace(c_contiguous=True, writeable=True)

    def __init__(self, shape: tuple[int, ...], dtype: Any):
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: prod(self.shape))
    nbytes = property(lambda self: self.size * self.dtype.itemsize)
    strides = property(lambda self: tuple(prod(self.shape[a + 1 :]) * self.dtype.itemsize for a in range(self.ndim)))

    def copy(self) -> MetaArray:
        return MetaArray(self.shape, self.dtype)

    def astype(self, dtype: Any, copy: bool = True) -> MetaArray:
        return MetaArray(self.shape, dtype)

    def __add__(self, other: Any) -> MetaArray:
        dtype = np.result_type(self.dtype, getattr(other, "dtype", other))
        return MetaArray(np.broadcast_shapes(self.shape, np.shape(other)), dtype)

    def __setitem__(self, index: Any, value: Any) -> None:
        pass

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"an array on the device 'meta' has no elements, and no attribute {name}")

    def __len__(self) -> int:
        return int(self.shape[0])

    def get(self, *_: Any, **__: Any) -> NoReturn:
        raise NoValueError(
            f"a tensor on the device 'meta' has a shape, {self.shape}, but no elements: it is only for counting. "
            "Create it, or its model, on the device 'cpu' to compute with it"
        )

    __array__ = __bool__ = __int__ = __float__ = __index__ = item = tolist = get

    def __repr__(self) -> str:
        return f"MetaArray({self.shape}, {self.dtype})"


# -- the array module -------------------------------------------------------------------------------------


def empty(shape: Any, dtype: Any = np.float64) -> MetaArray:
    return MetaArray((shape,) if isinstance(shape, int) else shape, dtype)


zeros = ones = empty


def full(shape: Any, value: Any, dtype: Any = None) -> MetaArray:
    return empty(shape, np.asarray(value).dtype if dtype is None else dtype)


def asarray(data: Any, dtype: Any = None) -> MetaArray:
    data = data if isinstance(data, MetaArray) else np.asarray(data)
    return MetaArray(data.shape, data.dtype if dtype is None else dtype)


def __getattr__(name: str) -> Any:
    """A NumPy function that makes an array, such as arange; only the shape and dtype of its result are kept."""
    found = getattr(np, name)
    if isinstance(found, type) or not callable(found):
        return found
    return lambda *xs, **options: asarray(found(*xs, **options))
