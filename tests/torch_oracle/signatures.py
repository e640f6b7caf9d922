"""PyTorch's documented signatures, read: of Python's functions by inspection, of C's from the text about them."""

import ast
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

NEEDED = inspect.Parameter.empty
LEFT_OUT = """
out layout memory_format pin_memory device generator names requires_grad _stacklevel size_average reduce driver
non_blocking compute_mode sparse_grad out_dtype chunk_size
"""  # where a result goes and where it lives; what is deprecated; what changes speed alone


@dataclass(frozen=True)
class Argument:
    """One argument of a signature."""

    name: str
    default: Any = NEEDED
    by_name: bool = False  # and not by its place
    many: bool = False  # *size


Signature = tuple[Argument, ...]


def signatures(function: Callable[..., Any], name: str) -> list[Signature]:
    """Every way of calling that is documented."""
    found = []
    text = getattr(function, "__doc__", None) or ""
    for match in re.finditer(rf"(?:^|function::|method::)\s*(?:\w+\.)*{name}\(", text, re.M):
        inside = text[match.end() :]
        inside = inside[: closing(inside)]
        is_example = "tensor(" in inside or not re.match(r"\)\s*(->|\n\s*\n|$)", text[match.end() + len(inside) :])
        if not is_example:
            found.append(written(inside))
    inspected = of_python(function)
    return list(dict.fromkeys(([] if inspected is None else [inspected]) + found))


def of_python(function: Callable[..., Any]) -> Signature | None:
    """The signature of a function written in Python; None of one that hands its arguments on, or is written in C."""
    try:
        given = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
    except (ValueError, TypeError):
        return None
    if any(p.kind is p.VAR_KEYWORD for p in given):
        return None
    return placed(Argument(p.name, p.default, p.kind is p.KEYWORD_ONLY, p.kind is p.VAR_POSITIONAL) for p in given)


def written(text: str) -> Signature:
    """The signature in a docstring: `input, dim, keepdim=False, *, out=None`."""
    arguments, by_name = [], False
    for part in parts(text.replace("\\", "")):
        by_name = by_name or part == "*"
        name, _, default = part.partition("=")
        name = name.split(":")[0].strip().split(" ")[-1]
        if name.strip("*/"):
            arguments.append(Argument(name.strip("*"), value(default.strip()), by_name, name.startswith("*")))
    return placed(arguments)


def placed(arguments: Any) -> Signature:
    """Without what is left out; what comes after that is said by its name."""
    kept: list[Argument] = []
    missing = False
    for argument in arguments:
        is_kind = argument.name == "reduce" and argument.default is NEEDED  # of a scatter
        if argument.name in LEFT_OUT.split() and not is_kind:
            missing = True
        else:
            kept.append(replace(argument, by_name=argument.by_name or missing))
    return tuple(kept)


def parts(text: str) -> list[str]:
    """What stands between the commas that are in no bracket."""
    found, depth = [""], 0
    for letter in text:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(letter, 0)
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return [part.strip() for part in found]


def closing(text: str) -> int:
    """Where the bracket closes that was opened before the text."""
    depth = 1
    for place, letter in enumerate(text):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(letter, 0)
        if not depth:
            return place
    return len(text)


def value(text: str) -> Any:
    """A default: itself, where it is a literal, and else its text."""
    if not text:
        return NEEDED
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
