"""Functions of each element, of one operand and of several: `mg.exp(x)`, `mg.maximum(x, y)`, `mg.clamp(x, 0, 1)`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..methods import Operand
from ..tensor.lift import function, operand


def function_of_two(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method as a function of two things, one of which may be a number: it takes the dtype it has beside the other.

    `mg.pow(2, x)` of float32 is float32, as 2 ** x is.
    """

    @wraps(method)
    def called(input: Any, *others: Any, **options: Any) -> Any:
        beside = None if isinstance(input, Operand) else next((o for o in others if isinstance(o, Operand)), None)
        return method(operand(input) if beside is None else beside.lift(input), *others, **options)

    called.__qualname__ = method.__name__
    return called


add = function_of_two(Operand.add)
sub = subtract = function_of_two(Operand.sub)
mul = multiply = function_of_two(Operand.mul)
div = divide = function_of_two(Operand.div)
true_divide = function_of_two(Operand.true_divide)
floor_divide = function_of_two(Operand.floor_divide)
remainder = function_of_two(Operand.remainder)
fmod = function_of_two(Operand.fmod)
pow = function_of_two(Operand.pow)
hypot = function_of_two(Operand.hypot)
atan2 = arctan2 = function_of_two(Operand.atan2)
copysign = function_of_two(Operand.copysign)
float_power = function_of_two(Operand.float_power)
fmax = function_of_two(Operand.fmax)
fmin = function_of_two(Operand.fmin)
logaddexp2 = function_of_two(Operand.logaddexp2)
logaddexp = function_of_two(Operand.logaddexp)
xlogy = function_of_two(Operand.xlogy)
heaviside = function_of_two(Operand.heaviside)
maximum = function_of_two(Operand.maximum)
minimum = function_of_two(Operand.minimum)
lerp = function_of_two(Operand.lerp)
addcmul = function_of_two(Operand.addcmul)
addcdiv = function_of_two(Operand.addcdiv)

gt = greater = function_of_two(Operand.gt)
ge = greater_equal = function_of_two(Operand.ge)
lt = less = function_of_two(Operand.lt)
le = less_equal = function_of_two(Operand.le)
eq = function_of_two(Operand.eq)
ne = not_equal = function_of_two(Operand.ne)
equal = function_of_two(Operand.equal)
isclose = function_of_two(Operand.isclose)
allclose = function_of_two(Operand.allclose)
logical_and = function_of_two(Operand.logical_and)
logical_or = function_of_two(Operand.logical_or)
logical_xor = function_of_two(Operand.logical_xor)
logical_not = function(Operand.logical_not)
bitwise_and = function_of_two(Operand.bitwise_and)
bitwise_or = function_of_two(Operand.bitwise_or)
bitwise_xor = function_of_two(Operand.bitwise_xor)
bitwise_not = function(Operand.bitwise_not)
isnan = function(Operand.isnan)
isinf = function(Operand.isinf)
isfinite = function(Operand.isfinite)
nan_to_num = function(Operand.nan_to_num)
clamp = clip = function(Operand.clamp)
clamp_min = function(Operand.clamp_min)
clamp_max = function(Operand.clamp_max)

exp = function(Operand.exp)
exp2 = function(Operand.exp2)
expm1 = function(Operand.expm1)
log = function(Operand.log)
log2 = function(Operand.log2)
log10 = function(Operand.log10)
log1p = function(Operand.log1p)
sqrt = function(Operand.sqrt)
rsqrt = function(Operand.rsqrt)
square = function(Operand.square)
reciprocal = function(Operand.reciprocal)
neg = negative = function(Operand.neg)
abs = absolute = function(Operand.abs)
sign = sgn = function(Operand.sign)
floor = function(Operand.floor)
ceil = function(Operand.ceil)
trunc = fix = function(Operand.trunc)
round = function(Operand.round)
frac = function(Operand.frac)

sin = function(Operand.sin)
cos = function(Operand.cos)
tan = function(Operand.tan)
asin = arcsin = function(Operand.asin)
acos = arccos = function(Operand.acos)
atan = arctan = function(Operand.atan)
sinh = function(Operand.sinh)
cosh = function(Operand.cosh)
tanh = function(Operand.tanh)
asinh = arcsinh = function(Operand.asinh)
acosh = arccosh = function(Operand.acosh)
atanh = arctanh = function(Operand.atanh)
erf = function(Operand.erf)
erfc = function(Operand.erfc)
i0 = function(Operand.i0)
erfinv = function(Operand.erfinv)
lgamma = function(Operand.lgamma)
digamma = function(Operand.digamma)
mvlgamma = function(Operand.mvlgamma)
sinc = function(Operand.sinc)
deg2rad = function(Operand.deg2rad)
rad2deg = function(Operand.rad2deg)


def polygamma(n: int, input: Any) -> Any:
    """The derivative of ln Γ of order n + 1."""
    return operand(input).polygamma(n)


sigmoid = expit = function(Operand.sigmoid)
logit = function(Operand.logit)
relu = function(Operand.relu)
