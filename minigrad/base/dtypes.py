"""The types of elements, by PyTorch's names: NumPy's dtypes, which every `dtype=` takes."""

from __future__ import annotations

from typing import Any

import numpy as np

float64 = double = np.dtype(np.float64)
float32 = float = np.dtype(np.float32)
float16 = half = np.dtype(np.float16)
int64 = long = np.dtype(np.int64)
int32 = int = np.dtype(np.int32)
int16 = short = np.dtype(np.int16)
int8 = np.dtype(np.int8)
uint8 = np.dtype(np.uint8)
bool = np.dtype(np.bool_)

iinfo = np.iinfo


def finfo(dtype: Any = float64) -> np.finfo[Any]:
    """What a floating dtype can say: eps, tiny, min, max, bits."""
    return np.finfo(dtype)


def promote_types(type1: Any, type2: Any) -> np.dtype[Any]:
    """The dtype that holds what both hold: NumPy's rules (NEP 50)."""
    return np.promote_types(type1, type2)
