"""Convert Python data to arrays, and arrays to text. The text is formatted as in PyTorch: four digits after the point,
or none if all numbers are integers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ..base.device import CPU, META, Device, device_of
from ..base.device import device as device_called
from ..base.dtypes import kind, wide
from ..base.errors import DTypeError, GraphError, ShapeError
from ..methods import Operand


def array_of(data: Any, dtype: Any, where: Device | str | None) -> Any:
    """`data` as an array of numbers on a device. Raises DTypeError if it contains anything else."""
    data = unwrap_tensors(data)
    place = device_of(data) if where is None else device_called(where)
    try:
        array = place.array(data, dtype)
    except ValueError as reason:
        if "inhomogeneous" in str(reason):
            raise ShapeError(f"a tensor needs rows of equal length: {reason}") from None
        raise DTypeError(f"a tensor holds numbers: {reason}") from None
    if kind(array.dtype) not in "fiub":
        raise DTypeError(f"a tensor holds real numbers, integers or booleans, and this is {array.dtype}: {data!r}")
    return array


def refuse_data(x: Any, data: Any) -> NoReturn:
    """Raises GraphError for the assignment x.data = data in a graph."""
    raise GraphError(
        f"x.data = … replaces the value of {x.spec} at once, and runs of the graph would not repeat that: write "
        "x.copy_(…) inside `with no_grad():`, or assign a tensor to a buffer itself, as in self.buf = …"
    )


def unwrap_tensors(data: Any) -> Any:
    """The nested lists, with each tensor in them replaced by its array. Raises DTypeError for masked arrays."""
    if isinstance(data, list | tuple):
        return [unwrap_tensors(d) for d in data]
    if isinstance(data, np.ndarray) and hasattr(data, "mask") and data.mask.any():  # np.ma is loaded where it is used
        raise DTypeError(
            f"a tensor holds numbers, and {data.mask.sum()} of these {data.size} are masked: fill them, as in "
            "x.filled(0), and pass the mask as a separate tensor, mg.tensor(x.mask)"
        )
    return data._read() if isinstance(data, Operand) else data


WIDTH, MOST, EDGE = 80, 1000, 3  # characters per line; most elements shown in full; beyond, how many at each end


def text(array: Any, prefix: str) -> str:
    """The elements in brackets, aligned after the prefix. If there are more than 1000, only the corners are shown."""
    if device_of(array) is META:
        return f"..., device='meta', size={array.shape}"
    array = CPU.array(array)
    if not array.size:
        return "[]" if array.ndim < 2 else f"[], size={array.shape}"
    array = array.astype(wide(array.dtype), copy=False)
    options: Any = {"formatter": {"float_kind": form(corners(array))}} if array.dtype.kind == "f" else {}
    lined = np.array2string(array, WIDTH, separator=", ", prefix=prefix, threshold=MOST, edgeitems=EDGE, **options)
    return lined.replace(", ..., ", ",  ..., ")


def corners(array: np.ndarray) -> np.ndarray:
    """The elements to show: all, or those at the corners."""
    if array.size <= MOST:
        return array
    places = [np.r_[:EDGE, n - EDGE : n] if n > 2 * EDGE else np.arange(n) for n in array.shape]
    return np.asarray(array[np.ix_(*places)])


def form(array: np.ndarray) -> Callable[[float], str]:
    """The format for these floats: 1. if all are integers, else 1.5000, or 1.0000e+00 if their sizes differ widely."""
    told = array[np.isfinite(array) & (array != 0)].astype(np.float64)
    sizes = np.abs(told) if told.size else np.ones(1)
    whole = bool((sizes == np.ceil(sizes)).all())
    far = sizes.max() > 1000 * sizes.min() or sizes.max() > 1e8 or sizes.min() < 1e-4
    style = ".4e" if far else "#.0f" if whole else ".4f"
    width = max(len(f"{x:{style}}") for x in (told.min(initial=0), told.max(initial=0)))
    return lambda x: f"{x:{style}}".rjust(width)
