"""The definition of a function in the file, or notebook cell, where it was written.

The whole file is parsed, so that every node knows its true line, and the definition is found by its place:
a function by name and line, a lambda by line and column. A file may have been edited since, and imported anew or not;
so what is found counts only if it compiles to the code that is called.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Sequence
from functools import lru_cache
from types import CodeType

from .jumps import Unconvertible
from .scopes import Function, arguments

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
EDITED = "it was edited since, so reload the module"
FUTURES = 0x1FF0000  # flags of `from __future__ import …`, which the generated code is compiled under too


def definition(code: CodeType) -> Function:
    """A fresh tree of the function's definition. Raises Unconvertible where its source is not to be had."""
    tree = ast.parse("".join(source(code)))
    found = [node for node in ast.walk(tree) if isinstance(node, DEFINITIONS) and is_definition(node, code)]
    if len(found) != 1:
        raise edited(code)
    return found[0]


def source(code: CodeType) -> Sequence[str]:
    """The lines of the file that a function was compiled from. Raises Unconvertible where there are none."""
    for check in (lambda file: None, linecache.checkcache):  # what was read earlier, then what is there now
        check(code.co_filename)
        lines = linecache.getlines(code.co_filename)
        if lines and is_source(lines, code):
            return lines
    if lines:
        raise edited(code)
    raise Unconvertible(
        "its source is not to be had: write it in a file or a notebook, not in exec() or Python's own prompt"
    )


def edited(code: CodeType) -> Unconvertible:
    return Unconvertible(
        f"what {code.co_filename} says now at line {code.co_firstlineno} is not what was imported from it: {EDITED}"
    )


def is_source(lines: Sequence[str], code: CodeType) -> bool:
    """Whether the code is compiled from these lines. Asserts that pytest has rewritten are taken for it."""
    try:
        found = compiled("".join(lines), code.co_flags & FUTURES)
    except SyntaxError:
        return False
    return code in found or any(name.startswith("@py") for c in functions(code) for name in c.co_varnames)


@lru_cache(8)
def compiled(text: str, flags: int) -> frozenset[CodeType]:
    """The code of all functions in a file."""
    flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # as in a notebook
    return frozenset(functions(compile(text, "", "exec", flags, dont_inherit=True)))


def functions(code: CodeType) -> Iterator[CodeType]:
    """The code, and that of all functions in it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from functions(inner)


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
