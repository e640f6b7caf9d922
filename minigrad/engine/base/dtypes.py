"""Element types under PyTorch's names. They are NumPy dtypes; every `dtype=` argument accepts them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

float64 = double = np.dtype(np.float64)
float32 = float = np.dtype(np.float32)
float16 = half = np.dtype(np.float16)
bfloat16 = np.dtype(ml_dtypes.bfloat16)  # float32's range in 16 bits, with 8 significant bits; not built into NumPy
int64 = long = np.dtype(np.int64)
int32 = int = np.dtype(np.int32)
int16 = short = np.dtype(np.int16)
int8 = np.dtype(np.int8)
uint8 = np.dtype(np.uint8)
bool = np.dtype(np.bool_)

HALVES = (float16, bfloat16, float16.newbyteorder())  # computed in float32 and rounded once: see Op.widens

iinfo = np.iinfo


@lru_cache
def kind(dtype: np.dtype[Any]) -> str:
    """NumPy's kind letter: b, i, u or f. For bfloat16 it is f, where NumPy itself says "V"."""
    return "f" if dtype == bfloat16 else dtype.kind


@lru_cache
def wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype to compute in: float32 for half precision."""
    return float32 if dtype in HALVES else dtype


@lru_cache
def narrow_dtype(found: np.dtype[Any], of: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype to round a result to: `of`, if a half type `of` was computed in float32; else the dtype it has."""
    return of if of in HALVES and found == float32 else found


def finfo(dtype: Any = float64) -> Any:
    """The limits of a floating dtype: eps, tiny, min, max, bits."""
    return ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]


def promote_types(type1: Any, type2: Any) -> np.dtype[Any]:
    """The dtype both types are promoted to, by NumPy's rules (NEP 50)."""
    return result_type(np.dtype(type1), np.dtype(type2))


def result_type(*of: Any) -> np.dtype[Any]:
    """The dtype of an op on these dtypes, arrays and Python numbers. Python numbers adapt to the others (NEP 50).

    bfloat16 follows NumPy's rules for float16. Combined with float16 it gives float32, as in PyTorch.
    """
    dtypes = [x if isinstance(x, np.dtype) else getattr(x, "dtype", x) for x in of]
    if type(bfloat16) not in map(type, dtypes):
        return np.result_type(*of)
    found = np.result_type(*(float16 if isinstance(x, np.dtype) and x == bfloat16 else x for x in dtypes))
    return found if found != float16 else float32 if float16 in dtypes else bfloat16
