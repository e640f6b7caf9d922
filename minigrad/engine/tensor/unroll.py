"""Unroll a function of any number of operands for one, two and three operands.

In Python a loop over two operands takes as long as adding ten numbers, and `Tensor.apply` has five such
loops. Few ops have more than three operands. So the source of `apply` is transformed:

    def apply(self, op, *others):               def apply(self, op, second=NONE, third=NONE, *others):
        [f(x) for x in (self, *others)]             if second is NONE:
                                                        [f(self)]
                                        →           elif third is NONE:
                                                        [f(self), f(second)]
                                                    …
                                                    else:                         unchanged

The source contains no duplicate code, and a traceback still shows the original line. This is partial evaluation:
rules.py evaluates a rule for known specs, this file a loop for a known length.
"""

from __future__ import annotations

import ast
import linecache
import textwrap
from collections.abc import Callable
from copy import deepcopy
from functools import update_wrapper
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

NONE: Any = object()  # an operand that was not given

SHAPE = """
def shape(self, op, second=NONE, third=NONE, *others, NONE=NONE):
    if second is NONE:
        ONE
    elif third is NONE:
        TWO
    elif not others:
        THREE
    else:
        others = (second, third, *others)
"""
NAMES = ("self", "second", "third")


def unroll_operands(f: F) -> F:
    """f(self, op, *others) with its loops unrolled for one to three operands; f itself if its source is unavailable."""
    lines = [line for *_, line in f.__code__.co_lines() if line]  # inspect.getsource is slower than all else here
    text = textwrap.dedent("".join(linecache.getlines(f.__code__.co_filename)[lines[0] - 1 : max(lines)]))
    if not text:
        return f
    above = "\n" * (lines[0] - 1)  # so that a traceback shows the lines of the file
    written = ast.parse(above + SHAPE)
    (function,) = written.body
    function.name = f.__name__  # type: ignore[attr-defined]
    (case,) = function.body  # type: ignore[attr-defined]
    for n in range(len(NAMES)):
        case.body = [WithOperands(NAMES[: n + 1]).visit(statement) for statement in body_of(above + text)]
        case, rest = case.orelse[0], case.orelse
    rest += body_of(above + text)
    scope = {"NONE": NONE}
    exec(compile(ast.fix_missing_locations(written), f.__code__.co_filename, "exec"), f.__globals__, scope)
    return update_wrapper(scope[f.__name__], f)  # type: ignore[return-value]


def body_of(source: str) -> list[ast.stmt]:
    """The statements of a function. Parsing the source again is faster than copying the parsed statements."""
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    return function.body


class WithOperands(ast.NodeTransformer):
    """Unrolls list comprehensions over `xs` or `others`, even starred, and expands `*others` in a tuple or call."""

    def __init__(self, names: tuple[str, ...]):
        self.names = names

    def visit_ListComp(self, loop: ast.ListComp) -> ast.AST:
        match loop.generators:
            case [ast.comprehension(ast.Name(x), ast.Name(over))] if over in ("xs", "others"):
                names = self.names if over == "xs" else self.names[1:]
                return ast.List([RenameVariable(x, name).visit(deepcopy(loop.elt)) for name in names], ast.Load())
        return loop

    def visit_Call(self, call: ast.Call) -> ast.AST:
        self.generic_visit(call)
        call.args = self.expand_starred(call.args)
        match call:
            case ast.Call(ast.Name("tuple"), [ast.List(elements)]):
                return ast.Tuple(elements, ast.Load())
        return call

    def visit_Tuple(self, listed: ast.Tuple) -> ast.AST:
        self.generic_visit(listed)
        return ast.Tuple(self.expand_starred(listed.elts), listed.ctx)

    def expand_starred(self, written: list[ast.expr]) -> list[ast.expr]:
        """The expressions, with starred ones expanded."""
        elements: list[ast.expr] = []
        for element in written:
            match element:
                case ast.Starred(ast.Name("others"), context):
                    elements += [ast.Name(name, context) for name in self.names[1:]]
                case ast.Starred(ast.List(each)):
                    elements += each
                case _:
                    elements.append(element)
        return elements


class RenameVariable(ast.NodeTransformer):
    """Renames a variable in an expression."""

    def __init__(self, old: str, new: str):
        self.old, self.new = old, new

    def visit_Name(self, name: ast.Name) -> ast.AST:
        return ast.Name(self.new, ast.Load()) if name.id == self.old else name
