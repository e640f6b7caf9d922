"""Whose code a function is: the user's is converted, that of Python, of libraries and of the engine is not."""

from __future__ import annotations

import sysconfig
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

F = TypeVar("F")
ENGINE = str(Path(__file__).parents[2])
SPECIAL = set("all any bool enumerate float int len max min range reversed zip".split())  # noqa: SIM905  (replaced.py)


def is_foreign(function: Any) -> bool:
    """Whether it is not the user's, or has no Python code of its own to convert: a class, a builtin."""
    function = getattr(function, "__func__", function)
    return not isinstance(function, FunctionType) or from_library(function.__code__.co_filename)


def is_engine(function: Any) -> bool:
    """Whether it is minigrad's."""
    return isinstance(function, FunctionType) and function.__code__.co_filename.startswith(ENGINE)


@cache
def from_library(file: str) -> bool:
    """Whether a file is minigrad's, Python's, or an installed package's."""
    libraries = {"site-packages", "dist-packages"}.intersection(Path(file).parts)
    homes = (ENGINE, sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), "<frozen", "<__array")
    return bool(libraries) or file.startswith(homes)


def do_not_convert(function: F) -> F:
    """The function, which from here on is called as it is written. Also a decorator."""
    function.do_not_convert = True  # type: ignore[attr-defined]
    return function
