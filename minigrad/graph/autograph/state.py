"""Python's numbers in a graph: what stands for one is no tensor, and is never edited in place.

`n += 1` gives a number another value, and beside a tensor the dtype that `n = n + x` has; of a tensor it edits the
memory. A variable that began as a number, and that a branch or a loop has made a symbol of, is still a number.

The state of a branch or a loop: what its variables hold, and what of that can be part of a graph.

Tensors and numbers can; a number takes the dtype that it has beside the tensor it meets. Anything else (None, a
string, a module) is Python's, and has to stay what it is wherever the graph decides.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...base.errors import ConversionError
from ...base.pytree import leaves
from ...base.spec import Spec
from ...core.modes import current
from ...core.node import place, spot
from ...core.op import Op
from ...tensor.symbol import Symbol
from ...tensor.tensor import Tensor
from ...tracing.builder import Tracer
from .closure_writes import bindings, mentioned

NUMBERS = (bool, int, float)


class Number(Tracer):
    """A symbol in the place of a Python number. What is computed of numbers alone is one again."""

    __slots__ = ()

    def apply(self, op: Op, *others: Any) -> Any:
        y = super().apply(op, *others)
        return as_number(y) if all(map(is_number, others)) else y

    def rebound(self, other: Any) -> Any:
        """Leaves it to Python to take `n = n + other` for `n += other`."""
        return NotImplemented

    __iadd__ = __isub__ = __imul__ = __itruediv__ = __ifloordiv__ = __imod__ = __ipow__ = rebound
    __iand__ = __ior__ = __ixor__ = rebound


def is_number(x: Any) -> bool:
    """Whether x is a Python number, or stands for one."""
    return isinstance(x, (*NUMBERS, Number)) and not isinstance(x, np.generic)


def as_number(x: Any) -> Any:
    """The symbol, in the place of a number."""
    return Number(x.node, x.builder) if type(x) is Tracer else x


ARRAYS = (Symbol, Tensor, np.ndarray, np.generic)


class Undefined:
    """What a variable holds before it has a value.

    why    what to say to someone who reads it; None before any branch or loop was to give it one
    """

    def __init__(self, name: str, why: str | None = None):
        self.name, self.why = name, why

    def __repr__(self) -> str:
        return f"<{self.name} has no value>"


class NotReturned(Undefined):
    """What is never read where it has no value, and may be filled: what a function returns, before it has returned."""


def defined(value: Any) -> Any:
    """The value. Raises what Python raises where there is none, or ConversionError if a graph is the reason."""
    if not isinstance(value, Undefined):
        return value
    if value.why is None:
        raise UnboundLocalError(f"cannot access local variable '{value.name}' where it is not associated with a value")
    raise ConversionError(f"{here()}: `{value.name}` is used, and {value.why}")


def symbolic(x: Any) -> bool:
    """Whether the graph decides: x has no value yet."""
    return isinstance(x, Symbol)


def here() -> str:
    """The user's line that runs just now, as errors call it."""
    at = place()
    return "an unknown line" if at is None else spot(at.file, at.line)


def lifted(x: Any, spec: Spec | None = None) -> Any:
    """x as an operand of the graph being built; a number beside an operand of that spec, and of its dtype."""
    builder = current.mode.builder
    if isinstance(x, NUMBERS):
        return builder.lift(x, Spec((), type(x)) if spec is None else spec)
    return builder.lift(x)


def is_part(x: Any) -> bool:
    """Whether x can be part of a graph."""
    return isinstance(x, ARRAYS + NUMBERS)


def dtype_of(x: Any) -> np.dtype[Any]:
    """The dtype of an array, or that of a number by itself."""
    return np.dtype(type(x)) if isinstance(x, NUMBERS) else x.dtype


def filling(x: Any) -> Any:
    """Something with the structure, shapes and dtypes of x, which nobody reads."""
    if isinstance(x, tuple | list):
        parts = [filling(part) for part in x]
        return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
    if isinstance(x, dict):
        return {key: filling(part) for key, part in x.items()}
    if isinstance(x, ARRAYS):
        return lifted(False).astype(x.dtype).broadcast_to(tuple(x.shape))
    return x


def told(x: Any) -> str:
    """What a value is, in a message."""
    if isinstance(x, Symbol | Tensor):
        return str(x.spec)
    if isinstance(x, tuple | list | dict):
        parts = leaves(x)
        inside = f" ({', '.join(map(told, parts))})" if 0 < len(parts) < 5 else ""
        return f"a {type(x).__name__} of {len(parts)}{inside}"
    if is_part(x) and not isinstance(x, np.ndarray) and np.ndim(x) == 0:
        return f"the number {x!r}"
    return repr(x) if x is None or isinstance(x, str) else f"a {type(x).__name__}"


def same(x: Any, y: Any) -> bool:
    """Whether two things of Python's are the same for all purposes here."""
    if x is y:
        return True
    if type(x) is not type(y) or isinstance(x, ARRAYS):
        return False
    return bool(x == y) if isinstance(x, (*NUMBERS, str, bytes, range, slice)) else False


# -- what a block changes behind the back of its state -----------------------------------------------


class Container(NamedTuple):
    """A list, dictionary or set that a block can reach, and what was in it."""

    name: str
    now: Any
    before: Any

    def is_changed(self) -> bool:
        if isinstance(self.now, set):
            return bool(self.now != self.before)
        if len(self.now) != len(self.before):
            return True
        now, before = (x.items() if isinstance(x, dict) else enumerate(x) for x in (self.now, self.before))
        return any(k != j or x is not y for (k, x), (j, y) in zip(now, before))


@contextmanager
def unchanged(block: Callable[..., Any], kind: str, at: str, state: Any) -> Iterator[None]:
    """A run of the block, for the graph, in which what is not its state must stay as it is: lists, counters.

    The block is run once to be written down, however often the graph will run it. Raises ConversionError.
    """
    block = block.func if isinstance(block, partial) else block
    bound = list(bindings(block, lambda its: (x for _, x in reached(its)), state))  # type: ignore[arg-type]
    watched = [Container(name, x, x.copy()) for name, x in reached(block) if isinstance(x, list | dict | set)]
    yield
    for container in watched:
        if container.is_changed():
            grew = "grows" if len(container.now) > len(container.before) else "changes"
            raise ConversionError(
                f"{at}: `{container.name}` is a Python {type(container.now).__name__}, and {grew} in {kind} over "
                "tensors, which is written down once and run as the graph decides. Keep what it collects in a tensor, "
                "as mg.lax.scan does, or let Python decide: a loop over range(5) is unrolled"
            )
    for its in bound:
        now = its.now()
        if now is not its.before and (is_part(its.before) or any(map(symbolic, leaves(now)))):
            raise ConversionError(
                f"{at}: `{its.name}` is assigned by {its.by}(), which is called in {kind} over tensors; that is "
                "written down once and run as the graph decides, and only what it assigns itself is counted. Let the "
                f"function return the new value, and assign it there: {its.name.removeprefix('self.')} = …"
            )


def reached(block: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """The variables that the block's code names, and attributes that it names of them."""
    code = block.__code__
    names = mentioned(code)
    found = {name: block.__globals__[name] for name in names if name in block.__globals__}
    for name, cell in zip(code.co_freevars, block.__closure__ or ()):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # the cell is empty: the variable has no value yet
            continue
    for name, x in found.items():
        yield name, x
        if not isinstance(x, types.ModuleType | type):
            fields = getattr(x, "__dict__", {})
            yield from ((f"{name}.{attribute}", fields[attribute]) for attribute in names if attribute in fields)
