"""The types of elements, by PyTorch's names: NumPy's dtypes, which every `dtype=` takes."""

import numpy as np

float64 = double = np.dtype(np.float64)
float32 = np.dtype(np.float32)
float16 = half = np.dtype(np.float16)
int64 = long = np.dtype(np.int64)
int32 = np.dtype(np.int32)
int16 = short = np.dtype(np.int16)
int8 = np.dtype(np.int8)
uint8 = np.dtype(np.uint8)
bool = np.dtype(np.bool_)

finfo = np.finfo
iinfo = np.iinfo
