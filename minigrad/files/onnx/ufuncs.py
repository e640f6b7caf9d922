"""NumPy's ufuncs in ONNX: the name of the op if there is one, else a composition of ops.

The compositions are as accurate as the ufunc: near 0, at infinity, and for NaN.
"""

from __future__ import annotations

from math import inf, log
from typing import Any

import numpy as np


def expm1(g: Any, x: Any) -> Any:
    """eˣ − 1 = (eˣ + 1) tanh x/2, accurate for small x"""
    return g.tanh(x * 0.5) * (g.exp(x) + 1)


def log1p(g: Any, x: Any) -> Any:
    """ln(1 + x) = ln u · x / (u − 1) with u = 1 + x after rounding (W. Kahan)"""
    u = x + 1
    plain = g.equal(u, 1) | g.equal(u, inf)
    return g.where(plain, x, g.log(u) * (x / g.where(plain, 1, u - 1)))


def remainder(g: Any, x: Any, y: Any) -> Any:
    """x − y ⌊x / y⌋, with the sign of y; ONNX's Mod does this for integers only"""
    if x.dtype.kind != "f":
        return g.call("Mod", [x, y], g.broadcast_of(x, y), x.dtype)
    r = fmod(g, x, y)
    return g.where((g.not_equal(r, 0)) & ((r < 0) ^ (y < 0)), r + y, r)


def fmod(g: Any, x: Any, y: Any) -> Any:
    """The remainder with the sign of x"""
    return g.call("Mod", [x, y], g.broadcast_of(x, y), x.dtype, fmod=1)


def floor_divide(g: Any, x: Any, y: Any) -> Any:
    """⌊x / y⌋ by the remainder: the floor of the exact quotient, not of the rounded one"""
    if x.dtype.kind != "f":
        return g.call("Div", [x - remainder(g, x, y), y], g.broadcast_of(x, y), x.dtype)
    return g.where(g.equal(y, 0), x / y, g.rint((x - remainder(g, x, y)) / y))


def hypot(g: Any, x: Any, y: Any) -> Any:
    """√(x² + y²), without forming a large square"""
    x, y = g.abs(x), g.abs(y)
    far, near = g.maximum(x, y), g.minimum(x, y)
    plain = g.equal(far, 0) | g.equal(far, inf)
    ratio = g.where(plain, 0, near / g.where(plain, 1, far))
    return far * g.sqrt(ratio * ratio + 1)


def arctan2(g: Any, x: Any, y: Any) -> Any:
    """The angle of the point (y, x): arctan of the smaller coordinate over the larger, mirrored into the quadrant"""
    a, b = g.abs(y), g.abs(x)
    far, near = g.maximum(a, b), g.minimum(a, b)
    ratio = g.where(g.equal(far, near), 1, near / g.where(g.equal(far, 0), 1, far))
    angle = g.arctan(g.where(g.equal(far, 0), 0, ratio))
    angle = g.where(b > a, np.pi / 2 - angle, angle)
    return copysign(g, g.where(negative(g, y), np.pi - angle, angle), x)


def negative(g: Any, x: Any) -> Any:
    """Whether the sign bit of x is set: true of −0 too"""
    return (x < 0) | (g.equal(x, 0) & (1 / x < 0))


def copysign(g: Any, x: Any, y: Any) -> Any:
    """|x| with the sign of y"""
    return g.where(negative(g, y), -g.abs(x), g.abs(x))


def logaddexp(g: Any, x: Any, y: Any) -> Any:
    """ln(eˣ + eʸ)"""
    same = g.equal(x, y)
    return g.where(same, x + log(2), g.maximum(x, y) + log1p(g, g.exp(-g.abs(g.where(same, 0, x - y)))))


def trunc(g: Any, x: Any) -> Any:
    """x without its fraction"""
    return x if x.dtype.kind != "f" else g.where(x < 0, g.ceil(x), g.floor(x))


def of_floats(word: str, whole: Any, made: Any = None) -> Any:
    """For floats an ONNX op with results of dtype `made`, by default the operand's; for integers, whole(x)"""
    return lambda g, x: whole(x) if x.dtype.kind in "iub" else g.call(word, [x], x.shape, made or x.dtype)


def heaviside(g: Any, x: Any, y: Any) -> Any:
    """0 for x < 0, y for x = 0, 1 for x > 0"""
    step = g.where(x > 0, x.dtype.type(1), x.dtype.type(0))
    return g.where(g.isnan(x), x, g.where(g.equal(x, 0), y, step))


OF_BOOLEANS = {
    "add": "Or", "logical_or": "Or", "bitwise_or": "Or", "maximum": "Or", "multiply": "And", "logical_and": "And",
    "bitwise_and": "And", "minimum": "And", "bitwise_xor": "Xor", "logical_xor": "Xor", "not_equal": "Xor",
    "invert": "Not", "logical_not": "Not", "equal": "Equal",
}  # fmt: skip

UFUNCS: dict[str, Any] = {
    "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "negative": "Neg", "power": "Pow",
    "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "absolute": "Abs", "sign": "Sign",
    "floor": of_floats("Floor", lambda x: x), "ceil": of_floats("Ceil", lambda x: x),
    "rint": "Round", "sin": "Sin", "cos": "Cos", "arcsin": "Asin", "arccos": "Acos", "arctan": "Atan",
    "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh", "arcsinh": "Asinh", "arccosh": "Acosh", "arctanh": "Atanh",
    "tan": lambda g, x: g.sin(x) / g.cos(x),  # engines support float64 in Sin and Cos, but not in Tan
    "maximum": "Max", "minimum": "Min", "greater": "Greater", "greater_equal": "GreaterOrEqual", "less": "Less",
    "less_equal": "LessOrEqual", "equal": "Equal",
    "isnan": of_floats("IsNaN", lambda x: x != x, bool), "isinf": of_floats("IsInf", lambda x: x != x, bool),
    "not_equal": lambda g, x, y: ~g.equal(x, y),
    "isfinite": lambda g, x: ~(g.isnan(x) | g.isinf(x)),
    "bitwise_and": "BitwiseAnd", "bitwise_or": "BitwiseOr", "bitwise_xor": "BitwiseXor", "invert": "BitwiseNot",
    "exp2": lambda g, x: g.power(x.dtype.type(2), x),
    "log2": lambda g, x: g.log(x) * (1 / log(2)),
    "log10": lambda g, x: g.log(x) * (1 / log(10)),
    "square": lambda g, x: x * x,
    "fmax": lambda g, x, y: g.where(g.isnan(x), y, g.where(g.isnan(y), x, g.maximum(x, y))),
    "expm1": expm1, "log1p": log1p, "remainder": remainder, "fmod": fmod, "floor_divide": floor_divide,
    "hypot": hypot, "arctan2": arctan2, "copysign": copysign, "logaddexp": logaddexp, "trunc": trunc,
    "heaviside": heaviside,
}  # fmt: skip
