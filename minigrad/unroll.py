"""A function of any number of operands, written out for one and for two.

In Python a loop over two operands costs as much as adding ten numbers, and `Tensor.apply` has four such
loops. Most ops have one operand or two. So the function is read as text, and

    def apply(self, op, *others):               def apply(self, op, other=NONE, *others):
        xs = (self, *others)                        if other is NONE:
        [f(x) for x in xs]              →               xs = (self,)
                                                        [f(self)]
                                                    elif not others:
                                                        xs = (self, other)
                                                        [f(self), f(other)]
                                                    else: …                       as it was

Nothing is said twice, and a traceback still shows the line that was written. This is partial evaluation,
as in plan.py: there of a rule for known specs, here of a loop for a known length.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from copy import deepcopy
from functools import update_wrapper
from typing import Any

NONE: Any = object()  # an operand that was not given

SHAPE = """
def shape(self, op, other=NONE, *others, NONE=NONE):
    if other is NONE:
        ALONE
    elif not others:
        PAIRED
    else:
        others = (other, *others)
"""


def unrolled(f: Callable[..., Any]) -> Callable[..., Any]:
    """f(self, op, *others), its loops over `xs` written out for no other and for one; f itself if its text is not at hand."""
    try:
        read = ast.parse(textwrap.dedent(inspect.getsource(f))).body[0]
    except OSError:
        return f
    assert isinstance(read, ast.FunctionDef)
    written = ast.parse(SHAPE)
    (function,) = written.body
    function.name = f.__name__  # type: ignore[attr-defined]
    (case,) = function.body  # type: ignore[attr-defined]
    case.body = with_operands(read.body, "self")
    case.orelse[0].body = with_operands(read.body, "self", "other")
    case.orelse[0].orelse += read.body
    ast.increment_lineno(written, f.__code__.co_firstlineno - 1)
    scope = {"NONE": NONE}
    exec(compile(ast.fix_missing_locations(written), f.__code__.co_filename, "exec"), f.__globals__, scope)
    return update_wrapper(scope[f.__name__], f)


def with_operands(body: list[ast.stmt], *names: str) -> list[ast.stmt]:
    """The statements, for operands of these names."""
    return [WithOperands(names).visit(deepcopy(statement)) for statement in body]


class WithOperands(ast.NodeTransformer):
    """`[f(x) for x in xs]` and `*others`, written out."""

    def __init__(self, names: tuple[str, ...]):
        self.names = names

    def visit_ListComp(self, loop: ast.ListComp) -> ast.AST:
        (over,) = loop.generators
        if not (isinstance(over.iter, ast.Name) and over.iter.id == "xs" and isinstance(over.target, ast.Name)):
            return loop
        return ast.List([Renamed(over.target.id, name).visit(deepcopy(loop.elt)) for name in self.names], ast.Load())

    def visit_Call(self, call: ast.Call) -> ast.AST:
        self.generic_visit(call)
        match call:
            case ast.Call(ast.Name("tuple"), [ast.List(elements)]):
                return ast.Tuple(elements, ast.Load())
        return call

    def visit_Tuple(self, pair: ast.Tuple) -> ast.AST:
        match pair.elts:
            case [ast.Name("self"), ast.Starred(ast.Name("others"))]:
                return ast.Tuple([ast.Name(name, ast.Load()) for name in self.names], ast.Load())
        return self.generic_visit(pair)

    def visit_Name(self, name: ast.Name) -> ast.AST:
        return name if name.id != "others" else ast.Tuple([ast.Name(n, ast.Load()) for n in self.names[1:]], ast.Load())


class Renamed(ast.NodeTransformer):
    """An expression in which one name is another."""

    def __init__(self, old: str, new: str):
        self.old, self.new = old, new

    def visit_Name(self, name: ast.Name) -> ast.AST:
        return ast.Name(self.new, ast.Load()) if name.id == self.old else name
