"""The table of in-place methods: `exp_` is `exp`, its result written into the tensor itself. See editable.py.

What gives another shape or dtype has no such twin: the memory stays what it is.
"""

from __future__ import annotations

from .editable import in_place
from .filling import Filling
from .operand import Operand


class InPlace(Filling):
    """The part of Tensor with an underscore."""

    __slots__ = ()

    # -- operators ------------------------------------------------------------------------------

    __iadd__ = in_place(Operand.__add__)
    __isub__ = in_place(Operand.__sub__)
    __imul__ = in_place(Operand.__mul__)
    __itruediv__ = in_place(Operand.__truediv__)
    __ifloordiv__ = in_place(Operand.__floordiv__)
    __imod__ = in_place(Operand.__mod__)
    __ipow__ = in_place(Operand.__pow__)
    __iand__ = in_place(Operand.__and__)
    __ior__ = in_place(Operand.__or__)
    __ixor__ = in_place(Operand.__xor__)

    # -- arithmetic and logic -------------------------------------------------------------------

    add_ = in_place(Operand.add)
    sub_ = subtract_ = in_place(Operand.sub)
    mul_ = multiply_ = in_place(Operand.mul)
    div_ = divide_ = in_place(Operand.div)
    true_divide_ = in_place(Operand.true_divide)
    floor_divide_ = in_place(Operand.floor_divide)
    remainder_ = in_place(Operand.remainder)
    fmod_ = in_place(Operand.fmod)
    pow_ = in_place(Operand.pow)
    neg_ = negative_ = in_place(Operand.neg)
    addcmul_ = in_place(Operand.addcmul)
    addcdiv_ = in_place(Operand.addcdiv)
    addmm_ = in_place(Operand.addmm)
    lerp_ = in_place(Operand.lerp)
    hypot_ = in_place(Operand.hypot)
    atan2_ = in_place(Operand.atan2)
    logical_and_ = in_place(Operand.logical_and)
    logical_or_ = in_place(Operand.logical_or)
    logical_xor_ = in_place(Operand.logical_xor)
    logical_not_ = in_place(Operand.logical_not)
    bitwise_and_ = in_place(Operand.bitwise_and)
    bitwise_or_ = in_place(Operand.bitwise_or)
    bitwise_xor_ = in_place(Operand.bitwise_xor)
    bitwise_not_ = in_place(Operand.bitwise_not)

    # -- functions of each element ----------------------------------------------------------------

    abs_ = absolute_ = in_place(Operand.abs)
    sign_ = sgn_ = in_place(Operand.sign)
    floor_ = in_place(Operand.floor)
    ceil_ = in_place(Operand.ceil)
    trunc_ = fix_ = in_place(Operand.trunc)
    round_ = in_place(Operand.round)
    frac_ = in_place(Operand.frac)
    clamp_ = clip_ = in_place(Operand.clamp)
    clamp_min_ = in_place(Operand.clamp_min)
    clamp_max_ = in_place(Operand.clamp_max)
    nan_to_num_ = in_place(Operand.nan_to_num)
    exp_ = in_place(Operand.exp)
    exp2_ = in_place(Operand.exp2)
    expm1_ = in_place(Operand.expm1)
    log_ = in_place(Operand.log)
    log2_ = in_place(Operand.log2)
    log10_ = in_place(Operand.log10)
    log1p_ = in_place(Operand.log1p)
    sqrt_ = in_place(Operand.sqrt)
    rsqrt_ = in_place(Operand.rsqrt)
    square_ = in_place(Operand.square)
    reciprocal_ = in_place(Operand.reciprocal)
    sin_ = in_place(Operand.sin)
    cos_ = in_place(Operand.cos)
    tan_ = in_place(Operand.tan)
    asin_ = arcsin_ = in_place(Operand.asin)
    acos_ = arccos_ = in_place(Operand.acos)
    atan_ = arctan_ = in_place(Operand.atan)
    sinh_ = in_place(Operand.sinh)
    cosh_ = in_place(Operand.cosh)
    tanh_ = in_place(Operand.tanh)
    asinh_ = in_place(Operand.asinh)
    acosh_ = in_place(Operand.acosh)
    atanh_ = in_place(Operand.atanh)
    erf_ = in_place(Operand.erf)
    erfc_ = in_place(Operand.erfc)
    sigmoid_ = in_place(Operand.sigmoid)
    relu_ = in_place(Operand.relu)

    # -- running totals, parts of a matrix, places --------------------------------------------------

    cumsum_ = in_place(Operand.cumsum)
    cumprod_ = in_place(Operand.cumprod)
    tril_ = in_place(Operand.tril)
    triu_ = in_place(Operand.triu)
    masked_fill_ = in_place(Operand.masked_fill)
    index_add_ = in_place(Operand.index_add)
    index_copy_ = in_place(Operand.index_copy)
    index_fill_ = in_place(Operand.index_fill)
    index_put_ = in_place(Operand.index_put)
    scatter_ = in_place(Operand.scatter)
    scatter_add_ = in_place(Operand.scatter_add)
