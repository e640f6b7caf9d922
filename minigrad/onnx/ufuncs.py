"""NumPy's ufuncs in the words of ONNX: a name where there is one, and else what it is made of.

The compositions are exact where the ufunc is said to be: near 0, at infinity, and for what is no number.
"""

from __future__ import annotations

from math import inf, log
from typing import Any

import numpy as np


def expm1(xp: Any, x: Any) -> Any:
    """eˣ − 1 = (eˣ + 1) tanh x/2, exact for small x"""
    return xp.tanh(x * 0.5) * (xp.exp(x) + 1)


def log1p(xp: Any, x: Any) -> Any:
    """ln(1 + x) = ln u · x / (u − 1) for the u that 1 + x is rounded to (W. Kahan)"""
    u = x + 1
    plain = xp.equal(u, 1) | xp.equal(u, inf)
    return xp.where(plain, x, xp.log(u) * (x / xp.where(plain, 1, u - 1)))


def remainder(xp: Any, x: Any, y: Any) -> Any:
    """x − y ⌊x / y⌋, with the sign of y; ONNX says so of integers only"""
    if x.dtype.kind != "f":
        return xp.call("Mod", [x, y], xp.broadcast_of(x, y), x.dtype)
    r = fmod(xp, x, y)
    return xp.where((xp.not_equal(r, 0)) & ((r < 0) ^ (y < 0)), r + y, r)


def fmod(xp: Any, x: Any, y: Any) -> Any:
    """The remainder with the sign of x"""
    return xp.call("Mod", [x, y], xp.broadcast_of(x, y), x.dtype, fmod=1)


def floor_divide(xp: Any, x: Any, y: Any) -> Any:
    """⌊x / y⌋ by way of the remainder, so that it is that of the exact quotient"""
    if x.dtype.kind != "f":
        return xp.call("Div", [x - remainder(xp, x, y), y], xp.broadcast_of(x, y), x.dtype)
    return xp.where(xp.equal(y, 0), x / y, xp.rint((x - remainder(xp, x, y)) / y))


def hypot(xp: Any, x: Any, y: Any) -> Any:
    """√(x² + y²), without forming a large square"""
    x, y = xp.abs(x), xp.abs(y)
    far, near = xp.maximum(x, y), xp.minimum(x, y)
    plain = xp.equal(far, 0) | xp.equal(far, inf)
    ratio = xp.where(plain, 0, near / xp.where(plain, 1, far))
    return far * xp.sqrt(ratio * ratio + 1)


def arctan2(xp: Any, x: Any, y: Any) -> Any:
    """The angle of the point (y, x): that of the smaller coordinate over the larger one, turned and mirrored"""
    a, b = xp.abs(y), xp.abs(x)
    far, near = xp.maximum(a, b), xp.minimum(a, b)
    ratio = xp.where(xp.equal(far, near), 1, near / xp.where(xp.equal(far, 0), 1, far))
    angle = xp.arctan(xp.where(xp.equal(far, 0), 0, ratio))
    angle = xp.where(b > a, np.pi / 2 - angle, angle)
    return copysign(xp, xp.where(negative(xp, y), np.pi - angle, angle), x)


def negative(xp: Any, x: Any) -> Any:
    """Whether the sign of x is −, which 0 has too"""
    return (x < 0) | (xp.equal(x, 0) & (1 / x < 0))


def copysign(xp: Any, x: Any, y: Any) -> Any:
    """|x| with the sign of y"""
    return xp.where(negative(xp, y), -xp.abs(x), xp.abs(x))


def logaddexp(xp: Any, x: Any, y: Any) -> Any:
    """ln(eˣ + eʸ)"""
    same = xp.equal(x, y)
    return xp.where(same, x + log(2), xp.maximum(x, y) + log1p(xp, xp.exp(-xp.abs(xp.where(same, 0, x - y)))))


def trunc(xp: Any, x: Any) -> Any:
    """x without its fraction"""
    return x if x.dtype.kind != "f" else xp.where(x < 0, xp.ceil(x), xp.floor(x))


def heaviside(xp: Any, x: Any, y: Any) -> Any:
    """0 for x < 0, y for x = 0, 1 for x > 0"""
    return xp.where(xp.isnan(x), x, xp.where(xp.equal(x, 0), y, xp.where(x > 0, x * 0 + 1, x * 0)))


OF_BOOLEANS = {
    "add": "Or", "logical_or": "Or", "bitwise_or": "Or", "maximum": "Or", "multiply": "And", "logical_and": "And",
    "bitwise_and": "And", "minimum": "And", "bitwise_xor": "Xor", "logical_xor": "Xor", "not_equal": "Xor",
    "invert": "Not", "logical_not": "Not", "equal": "Equal",
}  # fmt: skip

UFUNCS: dict[str, Any] = {
    "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "negative": "Neg", "power": "Pow",
    "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "absolute": "Abs", "sign": "Sign", "floor": "Floor", "ceil": "Ceil",
    "rint": "Round", "sin": "Sin", "cos": "Cos", "arcsin": "Asin", "arccos": "Acos", "arctan": "Atan",
    "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh", "arcsinh": "Asinh", "arccosh": "Acosh", "arctanh": "Atanh",
    "tan": lambda xp, x: xp.sin(x) / xp.cos(x),  # which engines have in double precision too
    "maximum": "Max", "minimum": "Min", "greater": "Greater", "greater_equal": "GreaterOrEqual", "less": "Less",
    "less_equal": "LessOrEqual", "equal": "Equal", "isnan": "IsNaN", "isinf": "IsInf",
    "not_equal": lambda xp, x, y: ~xp.equal(x, y),
    "isfinite": lambda xp, x: ~(xp.isnan(x) | xp.isinf(x)),
    "bitwise_and": "BitwiseAnd", "bitwise_or": "BitwiseOr", "bitwise_xor": "BitwiseXor", "invert": "BitwiseNot",
    "exp2": lambda xp, x: xp.power(x.dtype.type(2), x),
    "log2": lambda xp, x: xp.log(x) * (1 / log(2)),
    "log10": lambda xp, x: xp.log(x) * (1 / log(10)),
    "square": lambda xp, x: x * x,
    "fmax": lambda xp, x, y: xp.where(xp.isnan(x), y, xp.where(xp.isnan(y), x, xp.maximum(x, y))),
    "expm1": expm1, "log1p": log1p, "remainder": remainder, "fmod": fmod, "floor_divide": floor_divide,
    "hypot": hypot, "arctan2": arctan2, "copysign": copysign, "logaddexp": logaddexp, "trunc": trunc,
    "heaviside": heaviside,
}  # fmt: skip
