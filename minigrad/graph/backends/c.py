"""Formulas in C: an op's `forward`, run on symbolic expressions, writes one element of the result as C.

    Sigmoid().forward(C, x)   →   (1.0f / (1.0f + expf((-x))))

engine/core/formula.py does the same for Python, which is dynamically typed. C needs types, so each expression has a
dtype. NumPy itself decides in which dtypes a ufunc computes (`ufunc.resolve_dtypes`), and literals are written in that
type. Half precision is computed in single, as on a GPU, and each op's result is rounded: every reader sees a value that
could be stored.

The tables map NumPy's dtypes and functions to C, with {0} and {1} for the operands. Where C has no such function, or a
different one, FUNCTIONS has a C++ template for all dtypes. A subexpression that is used twice is one object here;
`name_common_parts` gives it a name and a line of its own, so that it is computed once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ...engine.base.errors import MinigradError
from ...engine.core.formula import is_wrapped
from ..compiler.program.record import kind_of, ufunc_dtypes

TYPES = {
    "b1": "bool", "f2": "unsigned short", "f4": "float", "f8": "double",
    "i1": "signed char", "i2": "short", "i4": "int", "i8": "long long",
    "u1": "unsigned char", "u2": "unsigned short", "u4": "unsigned int", "u8": "unsigned long long",
}  # fmt: skip
CALLS = {  # ufunc → C function; its single-precision version ends in f
    "absolute": "fabs",
    "power": "pow",
    "arctan2": "atan2",
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{name: name for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "exp2", "expm1", "sqrt", "hypot")},
    **{name: name for name in ("log", "log2", "log10", "log1p", "floor", "ceil", "trunc", "rint", "fmod", "copysign")},
    **{name: name for name in ("erf", "erfc")},
}
FORMS = {  # ufunc → C, for every kind of number
    "add": "({0} + {1})", "subtract": "({0} - {1})", "multiply": "({0} * {1})", "divide": "({0} / {1})",
    "negative": "(-{0})", "positive": "{0}", "square": "({0} * {0})", "reciprocal": "(1 / {0})",
    "greater": "({0} > {1})", "greater_equal": "({0} >= {1})", "less": "({0} < {1})",
    "less_equal": "({0} <= {1})", "equal": "({0} == {1})", "not_equal": "({0} != {1})", "invert": "(~{0})",
    "bitwise_and": "({0} & {1})", "bitwise_or": "({0} | {1})", "bitwise_xor": "({0} ^ {1})",
    "isnan": "({0} != {0})", "isinf": "(fabs({0}) == INFINITY)", "isfinite": "(fabs({0}) < INFINITY)",
    "sign": "sign({0})", "maximum": "maximum({0}, {1})", "minimum": "minimum({0}, {1})",
    "heaviside": "step({0}, {1})", "floor_divide": "floor_quotient({0}, {1})",
    "remainder": "floor_remainder({0}, {1})", "logaddexp": "log_of_sum({0}, {1})",
}  # fmt: skip
OF_INTEGERS = {  # unsigned arithmetic wraps round; signed overflow is undefined in C
    "add": "(0ull + {0} + {1})", "subtract": "(0ull + {0} - {1})", "multiply": "(1ull * {0} * {1})",
    "negative": "(0ull - {0})", "square": "(1ull * {0} * {0})",
    "floor_divide": "floor_integer_quotient({0}, {1})", "remainder": "floor_integer_remainder({0}, {1})",
    "fmod": "integer_remainder({0}, {1})", "power": "integer_power({0}, {1})", "absolute": "magnitude({0})",
    "isnan": "false", "isinf": "false", "isfinite": "true", **dict.fromkeys(("floor", "ceil", "trunc"), "{0}"),
}  # fmt: skip
OF_BOOLEANS = OF_INTEGERS | {
    "add": "({0} || {1})", "maximum": "({0} || {1})", "multiply": "({0} && {1})",
    "minimum": "({0} && {1})", "invert": "(!{0})", "absolute": "{0}",
}  # fmt: skip

FUNCTIONS = {
    # -- maximum, minimum: NaN propagates, as in NumPy (C's fmax drops it); of 0 and -0 the second is returned
    "maximum": """\
template <class T> __device__ inline T maximum(T x, T y) { return x > y || x != x ? x : y; }""",
    "minimum": """\
template <class T> __device__ inline T minimum(T x, T y) { return x < y || x != x ? x : y; }""",
    # -- size and sign
    "sign": """\
template <class T> __device__ inline T sign(T x) { return x > 0 ? T(1) : x < 0 ? T(-1) : x == 0 ? T(0) : x; }""",
    "magnitude": """\
template <class T> __device__ inline T magnitude(T x) { return x < 0 ? T(0ull - x) : x; }""",
    "step": """\
template <class T> __device__ inline T step(T x, T y) { return x != x ? x : x == 0 ? y : T(x > 0); }""",
    "number_or": """\
template <class T> __device__ inline T number_or(T x, T nan, T high, T low)
{
    return x != x ? nan : isinf(x) ? (x > 0 ? high : low) : x;
}""",
    # -- quotients round down, where C rounds towards zero; integers are never divided by zero. The sign of a
    #    nonzero number is tested by x < 1, because compilers warn about x < 0 for an unsigned number
    "floor_quotient": """\
template <class T> __device__ inline T floor_quotient(T x, T y)
{
    const T remainder = fmod(x, y);
    const T quotient = (x - remainder) / y - T(remainder != 0 && (remainder < 0) != (y < 0));
    const T whole = floor(quotient);
    if (y == 0) return x / y;
    return quotient == 0 ? copysign(T(0), x / y) : whole + T(quotient - whole > T(0.5));
}""",
    "floor_remainder": """\
template <class T> __device__ inline T floor_remainder(T x, T y)
{
    const T remainder = fmod(x, y);
    if (remainder == 0) return copysign(T(0), y);
    return (remainder < 0) != (y < 0) ? remainder + y : remainder;
}""",
    "floor_integer_quotient": """\
template <class T> __device__ inline T floor_integer_quotient(T x, T y)
{
    if (y == 0) return 0;
    if (T(y + 1) == 0 && y < 1) return T(0ull - x);
    return T(x / y - (x % y != 0 && (x < 1) != (y < 1)));
}""",
    "floor_integer_remainder": """\
template <class T> __device__ inline T floor_integer_remainder(T x, T y)
{
    if (y == 0 || (T(y + 1) == 0 && y < 1)) return 0;
    return x % y != 0 && (x < 1) != (y < 1) ? T(x % y + y) : T(x % y);
}""",
    "integer_remainder": """\
template <class T> __device__ inline T integer_remainder(T x, T y)
{
    return y == 0 || (T(y + 1) == 0 && y < 1) ? T(0) : T(x % y);
}""",
    # -- powers, and logarithms of sums
    "integer_power": """\
template <class T> __device__ inline T integer_power(T x, T n)
{
    T y = 1;
    for (; n > 0; n /= 2, x = T(1ull * x * x))
        if (n % 2 != 0) y = T(1ull * y * x);
    return y;
}""",
    "log_of_sum": """\
template <class T> __device__ inline T log_of_sum(T x, T y)
{
    if (x == y) return x + T(0.69314718055994530942);
    return x > y ? x + log1p(exp(y - x)) : x < y ? y + log1p(exp(x - y)) : x - y;
}""",
}


class NotWritten(MinigradError, TypeError):
    """The op cannot be written as a C expression of one element; it stays a NumPy call or a separate launch."""


def storage_type(dtype: np.dtype) -> str:
    """The C type of an element in memory."""
    code = f"{dtype.kind}{dtype.itemsize}"
    if code not in TYPES or not dtype.isnative:
        raise NotWritten(f"there is no C type for {dtype}; supported are {', '.join(sorted(TYPES))}")
    return TYPES[code]


def register_type(dtype: np.dtype) -> str:
    """The C type of an element in a register: half precision is computed in single."""
    return "float" if dtype == np.float16 else storage_type(dtype)


# -- expressions ------------------------------------------------------------------------------------


class Expr(NDArrayOperatorsMixin):
    """A C expression of one element, and its dtype.

    form    its text, with {0}, {1}, … as placeholders for its parts
    """

    __slots__ = ("dtype", "form", "parts")
    __hash__ = object.__hash__
    size = 1  # so that ops that work in blocks use a single block

    def __init__(self, form: str, dtype: Any, parts: tuple[Expr, ...] = ()):
        self.form, self.dtype, self.parts = form, np.dtype(dtype), parts

    def __str__(self) -> str:
        return ENCLOSED.sub(r"\1{\2.bare}", self.form).format(*self.parts) if self.parts else self.form

    @property
    def bare(self) -> str:
        """The text without its outer brackets, for use inside brackets."""
        text = str(self)
        return text[1:-1] if is_wrapped(text) else text

    def __array_ufunc__(self, f: np.ufunc, method: str, *xs: Any, out: Any = None) -> Expr:
        if method != "__call__":
            raise NotWritten(f"{f.__name__}.{method} cannot be written as a C expression of one element")
        return ufunc(f.__name__, *xs)  # x += y makes a new expression, because expressions have no memory

    def __pow__(self, o: Any) -> Expr:
        return power(self, o)

    def astype(self, dtype: Any, copy: bool = True) -> Expr:
        return cast(self, np.dtype(dtype))

    def __getattr__(self, name: str) -> Any:
        raise NotWritten(f".{name} of an array cannot be written as a C expression of one element")

    def __bool__(self) -> bool:
        raise NotWritten("the value of a condition is known only when the kernel runs: use where(condition, x, y)")


ENCLOSED = re.compile(r"(?<=[(,])( ?){(\d)}(?=[,)])")  # a placeholder between brackets or commas


def name_common_parts(root: Expr, name: str) -> tuple[list[tuple[str, Expr]], Expr]:
    """The named parts that `root` uses more than once, in the order of computing; and root in terms of these names."""
    order, uses = [root], {root: 1}
    for x in order:  # the loop appends to it
        for i, part in enumerate(x.parts):
            if part not in uses:
                order.append(part)
            uses[part] = uses.get(part, 0) + x.form.count(f"{{{i}}}")
    lines: list[tuple[str, Expr]] = []
    done: dict[Expr, Expr] = {}

    def rewrite_expr(x: Expr) -> Expr:
        if x not in done:
            new = Expr(x.form, x.dtype, tuple(map(rewrite_expr, x.parts)))
            if uses[x] > 1 and x.parts:
                lines.append((f"{name}_{len(lines)}", new))
                new = Expr(lines[-1][0], x.dtype)
            done[x] = new
        return done[x]

    return lines, rewrite_expr(root)


def value(x: Any, dtype: np.dtype) -> Expr:
    """x, an expression or a number, as an expression of that dtype."""
    return cast(x, dtype) if isinstance(x, Expr) else literal(x, dtype)


def literal(number: Any, dtype: np.dtype) -> Expr:
    """A number as a C literal of the type in which its dtype is computed, exact to the last bit."""
    n = (np.dtype("f4") if dtype == np.float16 else dtype).type(number)
    if dtype.kind == "b":
        return Expr(str(bool(n)).lower(), dtype)
    if dtype.kind in "iu":
        suffix = "u" * (dtype.kind == "u") + "ll" * (dtype.itemsize == 8)
        lowest = dtype.kind == "i" and int(n) == -(2 ** (8 * dtype.itemsize - 1))  # its absolute value overflows in C
        text = f"({int(n) + 1}{suffix} - 1)" if lowest else parenthesise_negative(f"{int(n)}{suffix}")
        return Expr(text if dtype.itemsize >= 4 else f"({storage_type(dtype)}){text}", dtype)
    suffix = "" if dtype.itemsize == 8 else "f"
    if not np.isfinite(n):
        return Expr("NAN" if np.isnan(n) else "INFINITY" if n > 0 else "(-INFINITY)", dtype)
    shortest = str(np.float32(n)) if suffix else repr(float(n))  # it reads back as the same number
    return Expr(parenthesise_negative(f"{shortest}{suffix}"), dtype)


def parenthesise_negative(text: str) -> str:
    """A literal in brackets if it is negative: a sign before another sign would be an operator."""
    return f"({text})" if text.startswith("-") else text


def cast(x: Expr, dtype: np.dtype) -> Expr:
    """x in another dtype, converted as NumPy does: as a boolean, x is true unless it is 0."""
    if x.dtype == dtype:
        return x
    storage_type(dtype)
    if dtype.kind == "b":
        return Expr("({0} != 0)", dtype, (x,))
    if dtype == np.float16:
        return round_to_half(x if x.dtype.kind == "f" else cast(x, np.dtype("f4")))
    if x.dtype == np.float16 and dtype == np.float32:
        return Expr("{0}", dtype, (x,))  # it is already float in the register
    return Expr(f"({register_type(dtype)})({{0}})", dtype, (x,))


def round_to_half(x: Expr) -> Expr:
    """x rounded to half precision."""
    return Expr("from_half(to_half({0}))", np.float16, (x,))


def emit_load(text: str, dtype: np.dtype) -> str:
    """The text that loads an element from memory."""
    return f"from_half({text})" if dtype == np.float16 else text


def emit_store(x: Expr) -> str:
    """The text that stores an element to memory."""
    return f"to_half({x.bare})" if x.dtype == np.float16 else x.bare


def words(text: str) -> set[str]:
    """The names in a text."""
    return set(re.findall(r"\w+", text))


# -- functions ----------------------------------------------------------------------------------------


def ufunc(name: str, *xs: Any) -> Expr:
    """NumPy's ufunc of that name as C, in the dtypes in which NumPy would compute it."""
    numpys = getattr(np, name)
    *wanted, dtype = ufunc_dtypes(numpys, tuple(map(kind_of, xs)))
    if len({d.kind for d in wanted}) > 1:
        raise NotWritten(f"{name} of {' and '.join(map(str, wanted))} has no C form: their kinds differ")
    if numpys is np.power and wanted[1].kind == "i" and (isinstance(xs[1], Expr) or xs[1] < 0):
        raise NotWritten("an integer power whose exponent may be negative: NumPy raises an error for it at run time")
    form = form_of(numpys.__name__, wanted[0])
    if dtype.kind in "iu" and (dtype.itemsize < 4 or "ull" in form):
        form = f"({storage_type(dtype)})({form})"  # cast back from C's int, or from unsigned long long
    return Expr(form, dtype, tuple(value(x, d) for x, d in zip(xs, wanted)))


def form_of(name: str, dtype: np.dtype) -> str:
    """The C form of a ufunc on one dtype."""
    special = {"b": OF_BOOLEANS, "i": OF_INTEGERS, "u": OF_INTEGERS}.get(dtype.kind, {})
    if name in special:
        return special[name]
    if name in FORMS:
        return FORMS[name]
    if name not in CALLS or dtype.kind != "f":
        raise NotWritten(f"there is no C form of NumPy's {name} for {dtype}")
    arguments = ", ".join(f"{{{i}}}" for i in range(getattr(np, name, np.exp).nin))
    return f"{CALLS[name]}{'' if dtype.itemsize == 8 else 'f'}({arguments})"


def power(x: Expr, exponent: Any) -> Expr:
    """x ** exponent. For the exponents 2, 0.5, -1 and 1, NumPy uses quicker functions, and so does this."""
    if isinstance(exponent, int | float) and x.dtype.kind == "f":
        quicker = {2: "square", 0.5: "sqrt", -1: "reciprocal", 1: "positive"}.get(exponent)
        if quicker is not None:
            return ufunc(quicker, x)
    return ufunc("power", x, exponent)


# -- the module -----------------------------------------------------------------------------------------


class Spelling:
    """The `xp` that writes C, in place of `numpy`."""

    finfo = staticmethod(np.finfo)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        theirs = getattr(np, name, None)
        if isinstance(theirs, np.ufunc):
            return lambda *xs: ufunc(name, *xs)
        if isinstance(theirs, type):
            return theirs  # a dtype
        raise NotWritten(f"xp.{name} cannot be written as a C expression of one element")

    def where(self, condition: Any, x: Any, y: Any) -> Expr:
        dtype = np.result_type(*(o.dtype if isinstance(o, Expr) else o for o in (x, y)))
        return Expr("({0} ? {1} : {2})", dtype, (value(condition, np.dtype(bool)), value(x, dtype), value(y, dtype)))

    def kept(self, x: Expr, condition: Any) -> Expr:
        return self.where(condition, x, 0)

    def erf(self, x: Expr) -> Expr:
        return self.special("erf", x)

    def erfc(self, x: Expr) -> Expr:
        return self.special("erfc", x)

    def special(self, name: str, x: Expr) -> Expr:
        """A function that C has and NumPy lacks; integers are computed in double."""
        x = x if x.dtype.kind == "f" else cast(x, np.dtype(float))
        return Expr(form_of(name, x.dtype), x.dtype, (x,))

    def round(self, x: Expr, decimals: int = 0) -> Expr:
        if x.dtype.kind in "iu" and decimals >= 0:
            return x
        if x.dtype.kind != "f":
            raise NotWritten(f"rounding {x.dtype} to {decimals} decimals cannot be written as a C expression")
        if decimals == 0:
            return ufunc("rint", x)
        up, down = ("multiply", "divide") if decimals > 0 else ("divide", "multiply")
        scale = 10.0 ** abs(decimals)
        return ufunc(down, ufunc("rint", ufunc(up, x, scale)), scale)

    def nan_to_num(self, x: Expr, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Expr:
        if x.dtype.kind != "f":
            return x
        bounds = np.finfo(x.dtype)
        instead = (nan, bounds.max if posinf is None else posinf, bounds.min if neginf is None else neginf)
        return Expr("number_or({0}, {1}, {2}, {3})", x.dtype, (x, *(literal(n, x.dtype) for n in instead)))


C: Any = Spelling()
