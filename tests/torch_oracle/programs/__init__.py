"""Small programs as PyTorch's users write them, which run word for word with `import minigrad as torch`.

Each is a function of the module, and returns what it found out: numbers, tensors, texts. ../test_programs.py compares.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Program = Callable[[Any], Any]
PROGRAMS: dict[str, Program] = {}


def program(f: Program) -> Program:
    """One more program; its name says what it is about."""
    PROGRAMS[f.__name__.replace("_", " ")] = f
    return f
