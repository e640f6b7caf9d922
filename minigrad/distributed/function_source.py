"""Serializes a function for other processes: its source text, and the texts and values of the names that it uses."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from .group import DistributedError


def serialize_function(fn: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The texts to run before the function can be called, and the values of names in them.

    The receiver imports what modules define. Definitions of this program or notebook are sent as numbered source lines.
    """
    if not isinstance(fn, FunctionType) or "<" in fn.__qualname__ or fn.__closure__:
        raise DistributedError(
            f"only a named function, defined at the outermost level, can be called in other processes, and got "
            f"{getattr(fn, '__qualname__', fn)!r}: pass what it needs from around it as arguments"
        )
    texts: dict[str, tuple[str, str]] = {}  # name → file and text
    values: dict[str, Any] = {}
    carry(fn.__name__, fn, texts, values)
    return {"texts": [*texts.values()], "call": fn.__name__}, values


def carry(name: str, value: Any, texts: dict[str, tuple[str, str]], values: dict[str, Any]) -> None:
    """Add the text or the value that defines this name, after the definitions of all names that it uses."""
    home, known = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if isinstance(value, ModuleType):
        texts[name] = "<imports>", f"import {value.__name__} as {name}"
    elif home not in (None, "__main__") and known is not None:
        texts[name] = "<imports>", f"from {home} import {known} as {name}"
    elif isinstance(value, FunctionType):
        texts[name] = "", ""  # it may refer to itself
        for each in global_names(value.__code__):
            if each not in texts and each not in values and each in value.__globals__:
                carry(each, value.__globals__[each], texts, values)
        del texts[name]
        lines, first = inspect.getsourcelines(value)
        texts[name] = value.__code__.co_filename, "\n" * (first - 1) + "".join(lines)
    else:
        values[name] = value


def global_names(code: CodeType) -> Iterator[str]:
    """The names that this code, and the code nested in it, look up."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from global_names(inner)
