"""Many elements to one, running totals, and order, as functions: `mg.sum(x, 1)` beside `x.sum(1)`.

The last three have no method: the length of what they give is in the values, which an op cannot foretell.
"""

from __future__ import annotations

from typing import Any

from ..errors import DTypeError
from ..operand import Operand
from ..tensor import Tensor
from .face import function, operand

sum = function(Operand.sum)
mean = function(Operand.mean)
prod = function(Operand.prod)
count_nonzero = function(Operand.count_nonzero)
var = function(Operand.var)
std = function(Operand.std)
var_mean = function(Operand.var_mean)
std_mean = function(Operand.std_mean)
norm = function(Operand.norm)

max = function(Operand.max)
min = function(Operand.min)
amax = function(Operand.amax)
amin = function(Operand.amin)
aminmax = function(Operand.aminmax)
argmax = function(Operand.argmax)
argmin = function(Operand.argmin)
logsumexp = function(Operand.logsumexp)
all = function(Operand.all)
any = function(Operand.any)

sort = function(Operand.sort)
msort = function(Operand.msort)
argsort = function(Operand.argsort)
topk = function(Operand.topk)
kthvalue = function(Operand.kthvalue)
median = function(Operand.median)
quantile = function(Operand.quantile)

cumsum = function(Operand.cumsum)
cumprod = function(Operand.cumprod)
cummax = function(Operand.cummax)
cummin = function(Operand.cummin)
logcumsumexp = function(Operand.logcumsumexp)
diff = function(Operand.diff)


def unique(
    x: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The different elements, or slices along `dim`, in order, whether `sorted` is asked or not. No gradient.

    return_inverse    also where each element of x is among them
    return_counts     also how often each of them is in x
    """
    x = operand(x)
    axis = None if dim is None else x.axis(dim)
    found, inverse, counts = x.spec.device.xp.unique(values(x), return_inverse=True, return_counts=True, axis=axis)
    inverse = inverse.reshape(x.shape if axis is None else x.shape[axis])
    wanted = (found, *([inverse] if return_inverse else []), *([counts] if return_counts else []))
    return Tensor(found) if len(wanted) == 1 else tuple(Tensor(array) for array in wanted)


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each of 0, 1, 2, … is in a vector of integers, or the sum of its weights. No gradient."""
    x = operand(x)
    if x.dtype.kind not in "iub" or x.ndim != 1:
        raise DTypeError(f"bincount needs a vector of integers, and got {x.spec}: use .astype(int) or .ravel()")
    w = None if weights is None else values(operand(weights))
    return Tensor(x.spec.device.xp.bincount(values(x), w, minlength))


def histc(x: Any, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements fall into each of `bins` equal parts of min to max; of the whole range if both are 0."""
    x = operand(x)
    array = values(x)
    low, high = (min, max) if (min, max) != (0, 0) or not x.size else (float(array.min()), float(array.max()))
    if low == high:
        low, high = low - 1, high + 1
    counts, _ = x.spec.device.xp.histogram(array, bins, (low, high))
    return Tensor(counts.astype(x.dtype))


def values(x: Any) -> Any:
    """The array of a tensor. A symbol, having none, raises NoValueError."""
    return x.value if isinstance(x, Tensor) else x.numpy()
