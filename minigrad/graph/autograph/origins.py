"""Generated code to look at: by itself, or beside the source that each of its lines came from."""

from __future__ import annotations

import ast
from itertools import zip_longest
from types import FunctionType
from typing import Any

from ...errors import ConversionError
from .convert import Conversion, conversion_of
from .source import definition, source


def code(function: Any) -> str:
    """The code that is generated for a function, as text."""
    return ast.unparse(conversion(function).tree)


def beside(function: Any) -> str:
    """The source of a function on the left, what is generated for it on the right, line by line.

    The number at a line on the right is that of the line on the left that it came from, which an error would name.
    """
    rows = list(aligned(function))
    width = max(len(left) for left, _ in rows)
    return "\n".join(f"{left:{width}} │ {right}".rstrip() for left, right in rows)


def aligned(function: Any) -> list[tuple[str, str]]:
    """Pairs of lines: each of the source stands beside the first that was made of it."""
    tree = definition(plain(function).__code__)
    lines = source(plain(function).__code__)
    first = min([tree.lineno, *(d.lineno for d in getattr(tree, "decorator_list", []))])
    pending = [(n, f"{n:4} {lines[n - 1].rstrip()}") for n in range(first, (tree.end_lineno or first) + 1)]
    rows: list[tuple[str, str]] = []
    for origin, text in numbered(function):
        while pending and pending[0][0] < origin:
            rows.append((pending.pop(0)[1], ""))
        left = pending.pop(0)[1] if pending and pending[0][0] == origin else ""
        rows.append((left, f"{origin:4} {text}"))
    return rows + [(left, "") for _, left in pending]


def numbered(function: Any) -> list[tuple[int, str]]:
    """Lines of the generated code, each with the number of its line in the source."""
    tree = conversion(function).tree
    text = ast.unparse(tree)
    origin: dict[int, int] = {}
    for new, old in zip_longest(ast.walk(ast.parse(text).body[0]), ast.walk(top(tree))):
        if isinstance(new, ast.stmt | ast.expr):
            origin.setdefault(new.lineno, getattr(old, "lineno", new.lineno))
    numbers: list[tuple[int, str]] = []
    for n, line in enumerate(text.splitlines(), 1):
        if line.strip():
            numbers.append((origin.get(n, numbers[-1][0] if numbers else tree.lineno), line))
    return numbers


def top(tree: Any) -> ast.AST:
    """The tree as a statement."""
    return ast.copy_location(ast.Expr(tree), tree) if isinstance(tree, ast.Lambda) else tree


def plain(function: Any) -> FunctionType:
    """The function as it was written, of a method, of a converted function, or of mg.function's."""
    function = getattr(function, "__func__", function)
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    if not isinstance(function, FunctionType):
        raise ConversionError(f"code() shows what is generated for a Python function, and got {function!r}")
    return function


def conversion(function: Any) -> Conversion:
    """The conversion of a function. Raises ConversionError where there is none."""
    its = conversion_of(plain(function))
    if isinstance(its, str):
        raise ConversionError(f"{plain(function).__qualname__}() is not converted: {its}")
    return its


to_code = code
