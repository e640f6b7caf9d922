"""The definition of a function in the file, or notebook cell, where it was written.

The whole file is parsed, so that every node knows its true line, and the definition is found by its place:
a function by name and line, a lambda by line and column.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Sequence
from types import CodeType

from .jumps import Unconvertible
from .scopes import Function, arguments

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def definition(code: CodeType) -> Function:
    """A fresh tree of the function's definition. Raises Unconvertible where its source is not to be had."""
    lines = source(code)
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError:
        raise Unconvertible(f"{code.co_filename} is not Python as it stands: was it edited after its import?") from None
    found = [node for node in ast.walk(tree) if isinstance(node, DEFINITIONS) and is_definition(node, code)]
    if len(found) != 1:
        raise Unconvertible(
            f"{code.co_filename} has no such function at line {code.co_firstlineno}: was it edited after its import?"
        )
    return found[0]


def source(code: CodeType) -> Sequence[str]:
    """The lines of the file of a function. Raises Unconvertible where there are none."""
    lines = linecache.getlines(code.co_filename)
    if not lines:
        raise Unconvertible(
            "its source is not to be had: write it in a file or a notebook, not in exec() or Python's own prompt"
        )
    return lines


def is_definition(node: Function, code: CodeType) -> bool:
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno and within(node, code)
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return node.name == code.co_name and first == code.co_firstlineno and set(arguments(node)) <= set(code.co_varnames)


def within(node: ast.Lambda, code: CodeType) -> bool:
    """Whether the code's positions are those of the lambda's expression, which may stand beside another on its line."""
    spots = [(line, column) for line, _, column, _ in code.co_positions() if line is not None and column]
    body = node.body
    start, end = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
    return bool(spots) and all(start <= spot <= end for spot in spots) and start in spots


def mangled(tree: ast.AST, qualname: str) -> None:
    """Names as `self.__x` are the class's own: Python writes `self._Class__x`, and here no class is around."""
    owner = qualname.split(".")[-2].lstrip("_") if "." in qualname and not qualname.split(".")[-2].endswith(">") else ""
    for node in ast.walk(tree) if owner else ():
        for field in ("id", "attr", "name", "arg"):
            name = getattr(node, field, None)
            if isinstance(name, str) and name.startswith("__") and not name.endswith("__"):
                setattr(node, field, f"_{owner}{name}")
