"""Write the formula of an op instead of computing it.

`forward` is ordinary code for an array module `xp`. Called with numpy or cupy it computes; called with an
`Ink` it writes the formula of the computation. That text becomes a line of compiled code (compiler/) or the
label of a drawing, and `cost` counts its operations.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any


class Ink:
    """A formula. An operator or a method call on it returns a longer formula."""

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
    """An attribute: either a plain value, or a function that can be called with arguments."""

    __slots__ = ()

    def __call__(self, *args: Any, **options: Any) -> Ink:
        written = [repr(a) for a in args] + [f"{name}={value!r}" for name, value in options.items()]
        return Ink(f"{self.text}({', '.join(written)})")


XP = Ink("xp")  # in place of the numpy module


def write(forward: Callable[..., Any], *operands: str) -> str:
    """The formula that `forward` computes from operands with these names: valid Python, with the array module `xp`."""
    text = str(forward(XP, *map(Ink, operands)))
    return text[1:-1] if is_wrapped(text) else text


def cost(forward: Callable[..., Any], arity: int) -> int:
    """The number of scalar operations per element of an elementwise `forward`: one per operator and per call."""
    text = str(forward(XP, *(Ink(f"x{i}") for i in range(arity))))
    return len(re.findall(r"[(]", text))


def is_wrapped(text: str) -> bool:
    """Whether the first parenthesis closes at the very end, so the pair is redundant."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            return text.startswith("(") and i == len(text) - 1
    return False
