"""The state of a branch or a loop: the values of its variables, and which of them can be part of a graph.

Tensors and numbers can. A number beside a tensor takes the dtype that it has in an op on both. A variable that
starts as a number stays a number when a branch or a loop makes it a symbol: `n += 1` assigns a new value, while for a
tensor it edits the memory. Any other value (None, a string, a module) must be the same in both branches, and after
every turn.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ...engine.base.dtypes import result_type
from ...engine.base.errors import ConversionError
from ...engine.base.pytree import leaves, tree_map
from ...engine.base.spec import Spec
from ...engine.core.modes import current
from ...engine.core.node import ENGINE, place, spot
from ...engine.core.op import Op
from ...engine.tensor.symbol import Symbol
from ...engine.tensor.tensor import Tensor
from ...tracing.builder import Retrace as Retrace
from ...tracing.builder import Tracer

NUMBERS = (bool, int, float)
INSIDE = *ENGINE, str(sys.modules["_weakrefset"].__file__)  # files that may hash a symbol, by its identity


class Number(Tracer):
    """A symbol that stands for a Python number. A result computed only from numbers is a Number again.

    typed    whether the program asked for its type; then a loop must not make it a tensor
    """

    __slots__ = ("typed",)
    typed: bool
    is_number = True

    def apply(self, op: Op, *others: Any) -> Any:
        if len(others) == 1 and not is_number(others[0]):
            return self.beside(others[0]).apply(op, *others)
        y = super().apply(op, *others)
        return as_number(y) if all(map(is_number, others)) else y

    kind = property(lambda self: {"b": bool, "f": float}.get(self.dtype.kind, int), doc="Its type, as Python has it.")

    def lift(self, o: Any) -> Any:
        y = super().lift(o)
        return as_number(y) if is_number(o) else y

    def __hash__(self) -> int:
        if sys._getframe(1).f_code.co_filename.startswith(INSIDE):
            return object.__hash__(self)
        raise ConversionError(f"{user_line()}: only a run knows this number, so it cannot be a key: compare it, k == 1")

    def where(self, condition: Any, other: Any) -> Any:
        return super().where(condition, other) if is_number(other) else self.beside(other).where(condition, other)

    def beside(self, x: Any) -> Any:
        """This number as a tensor, with the dtype that it takes in an op with x."""
        return Tracer(self.node, self.builder).astype(self.dtype_beside(lift_value(x).spec))

    def dtype_beside(self, spec: Spec) -> Any:
        """The dtype that a Python number takes in an op with an operand of this spec (NEP 50)."""
        return result_type(spec.dtype, self.kind(0))

    def leave_to_python(self, other: Any) -> Any:
        """Make Python run `n = n + other` for `n += other`."""
        return NotImplemented

    __iadd__ = __isub__ = __imul__ = __itruediv__ = __ifloordiv__ = __imod__ = __ipow__ = leave_to_python
    __iand__ = __ior__ = __ixor__ = leave_to_python


def is_number(x: Any) -> bool:
    """Whether x is a Python number, or stands for one."""
    return isinstance(x, (*NUMBERS, Number)) and not isinstance(x, np.generic)


def as_number(x: Any) -> Any:
    """The symbol x as a Number, which stands for a Python number."""
    return Number(x.node, x.builder) if type(x) is Tracer else x


def type_of(x: Any) -> Any:
    """type(x); for a symbol, the type of the tensor or the Python number that it stands for."""
    if not isinstance(x, Number):
        return Tensor if type(x) is Tracer else type(x)
    x.typed = True
    return x.kind


def identical(x: Any, y: Any) -> Any:
    """x is y. Raises ConversionError if the answer is known only when the graph runs."""
    if x is y or not any(map(symbolic, (x, y))):
        return x is y
    if is_number(x) and is_number(y):
        if (kind := type_of(x)) is not type_of(y):
            return False
        if kind is bool:
            return x == y
        raise ConversionError(f"{user_line()}: `is` on two equal numbers depends on Python's memory: write == or !=")
    tensors = [z for z in (x, y) if isinstance(z, Tracer | Tensor) and not is_number(z)]
    stands = current.mode.builder.stands
    if len(tensors) == 2 and any(isinstance(z, Tracer) and (z.passed or id(z) in stands) for z in tensors):
        raise ConversionError(
            f"{user_line()}: `is` on two tensors, one of them chosen by a branch or a loop over tensors, is known only "
            "when the graph runs: keep a bool that says which tensor was chosen"
        )
    return False


ARRAYS = (Symbol, Tensor, np.ndarray, np.generic)


class Undefined:
    """The value of a variable that has no value yet.

    why    the reason to show if it is read; None if no branch or loop is the reason
    """

    def __init__(self, name: str, why: str | None = None):
        self.name, self.why = name, why

    def __repr__(self) -> str:
        return f"<{self.name} has no value>"


class NotReturned(Undefined):
    """The return value before a function has returned. It is not read before that, so a dummy value may replace it."""


def defined(value: Any) -> Any:
    """The value. If there is none, raises UnboundLocalError like Python, or ConversionError if a graph is the cause."""
    if not isinstance(value, Undefined):
        return value
    if value.why is None:
        raise UnboundLocalError(f"cannot access local variable '{value.name}' where it is not associated with a value")
    raise ConversionError(f"{user_line()}: `{value.name}` is used, and {value.why}")


def symbolic(x: Any) -> bool:
    """Whether x is a symbol, which has no value before the graph runs."""
    return isinstance(x, Symbol)


def user_line() -> str:
    """The user's line that is running now, for error messages."""
    at = place()
    return "an unknown line" if at is None else spot(at.file, at.line)


def lift_value(x: Any, spec: Spec | None = None) -> Any:
    """x as an operand of the graph being built. A number takes its dtype from an operand of this spec."""
    lift = current.mode.builder.lift
    return lift(x, spec or Spec((), type(x))) if isinstance(x, NUMBERS) else lift(x)


def is_part(x: Any) -> bool:
    """Whether x can be part of a graph."""
    return isinstance(x, ARRAYS + NUMBERS)


def dtype_of(x: Any) -> np.dtype[Any]:
    """The dtype of an array, or the dtype that a number has by itself."""
    return np.dtype(type(x)) if isinstance(x, NUMBERS) else x.dtype


def filling(x: Any) -> Any:
    """A dummy value with the structure, shapes and dtypes of x, which is never read."""

    def like(y: Any) -> Any:
        return lift_value(False).astype(y.dtype).broadcast_to(tuple(y.shape)) if isinstance(y, ARRAYS) else y

    return tree_map(like, x)


def describe(x: Any) -> str:
    """A description of a value, for error messages."""
    if isinstance(x, Symbol | Tensor):
        return str(x.spec)
    if isinstance(x, tuple | list | dict):
        parts = leaves(x)
        inside = f" ({', '.join(map(describe, parts))})" if 0 < len(parts) < 5 else ""
        return f"a {type(x).__name__} of {len(parts)}{inside}"
    if is_part(x) and not isinstance(x, np.ndarray) and np.ndim(x) == 0:
        return f"the number {x!r}"
    return repr(x) if x is None or isinstance(x, str) else f"a {type(x).__name__}"


def same(x: Any, y: Any) -> bool:
    """Whether two Python values outside the graph count as the same."""
    if x is y:
        return True
    if type(x) is not type(y) or isinstance(x, ARRAYS):
        return False
    return bool(x == y) if isinstance(x, (*NUMBERS, str, bytes, range, slice)) else False
