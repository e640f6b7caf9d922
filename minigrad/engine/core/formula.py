"""Writing instead of computing.

`forward` is ordinary code against a module `xp`. Given numpy or cupy it computes; given names it
writes the formula it would have computed. The text is a line of compiled code (compiler/), the
label of a drawing, and what `cost` counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any


class Ink:
    """A formula. Operating on it, or calling its methods, writes a longer one."""

    __slots__ = ("text",)

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str: return self.text
    def __add__(self, o): return Ink(f"({self} + {o})")
    def __sub__(self, o): return Ink(f"({self} - {o})")
    def __mul__(self, o): return Ink(f"({self} * {o})")
    def __truediv__(self, o): return Ink(f"({self} / {o})")
    def __rsub__(self, o): return Ink(f"({o} - {self})")
    def __rmul__(self, o): return Ink(f"({o} * {self})")
    def __rtruediv__(self, o): return Ink(f"({o} / {self})")
    def __radd__(self, o): return Ink(f"({o} + {self})")
    def __matmul__(self, o): return Ink(f"({self} @ {o})")
    def __pow__(self, o): return Ink(f"({self} ** {o})")
    def __rpow__(self, o): return Ink(f"({o} ** {self})")
    def __neg__(self): return Ink(f"(-{self})")
    def __gt__(self, o): return Ink(f"({self} > {o})")
    def __lt__(self, o): return Ink(f"({self} < {o})")
    def __ge__(self, o): return Ink(f"({self} >= {o})")
    def __le__(self, o): return Ink(f"({self} <= {o})")
    def __invert__(self): return Ink(f"(~{self})")
    def __getitem__(self, index): return Ink(f"{self}[{index!r}]")
    def __getattr__(self, name):
        return Call(f"{self}.{name}")


class Call(Ink):
    """A function's name, waiting for its arguments; or a plain attribute, if none come."""

    __slots__ = ()

    def __call__(self, *args: Any, **options: Any) -> Ink:
        written = [repr(a) for a in args] + [f"{name}={value!r}" for name, value in options.items()]
        return Ink(f"{self.text}({', '.join(written)})")


XP = Ink("xp")  # stands where numpy stands


def write(forward: Callable[..., Any], *operands: str) -> str:
    """The formula `forward` computes, over the given operand names: valid Python, `xp` being the array module."""
    text = str(forward(XP, *map(Ink, operands)))
    return text[1:-1] if is_wrapped(text) else text


def cost(forward: Callable[..., Any], arity: int) -> int:
    """Number of scalar operations per element in an elementwise `forward`: each operator and each call is one."""
    text = str(forward(XP, *(Ink(f"x{i}") for i in range(arity))))
    return len(re.findall(r"[(]", text))


def is_wrapped(text: str) -> bool:
    """Whether the first parenthesis closes at the very end, so that the pair can go."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            return text.startswith("(") and i == len(text) - 1
    return False
