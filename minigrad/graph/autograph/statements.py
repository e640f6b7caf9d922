"""if, while and for, as calls: each block becomes a function, which an operator calls, or makes a graph of.

    if x > 0:              def if_1():                         def set_1(state):
        y = x                  nonlocal y                          nonlocal y
    else:            ⇒         y = x                               y, = state
        y = -x             def else_1():
                               nonlocal y                      ag.if_(x > 0, if_1, else_1, lambda: (y,), set_1, ('y',))
                               y = -x

The variables that a block writes, and that are alive around it, are its state: the operator reads them all at once
by one function and writes them by the other. The functions are numbered by the line of their statement.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from .blocks import Blocks, Frame
from .expressions import assigns
from .jumps import Block, Lowering, at, exits, passed
from .scopes import Function, Liveness, arguments, attributes_written, inside, written

LOOPS = (ast.While, ast.For)


class Statements(Blocks):
    """Rewrites the statements of one function."""

    def function(self, function: ast.FunctionDef) -> ast.FunctionDef:
        """The function, converted. Raises Unconvertible."""
        head, body = docstring(function.body)
        lowering = Lowering(self.fresh)
        body = lowering.body(body) if body else body
        self.result, self.flags = lowering.result, lowering.flags
        self.first_argument = next(iter(arguments(function)), None)
        for node in inside(body):
            if isinstance(node, ast.Nonlocal | ast.Global):
                self.shared |= dict.fromkeys(node.names, type(node).__name__.lower())
        Liveness(body, self.shared)
        given = set(arguments(function))
        mine = set(written(body)) | given - self.shared.keys()
        self.local -= given
        if any(isinstance(node, (ast.If, *LOOPS)) for node in inside(body)):
            self.local |= mine - self.shared.keys()
        self.defined |= given
        body = self.block(body, Frame(mine - self.shared.keys()))
        function.body = [*head, *body] or passed(function)
        return function

    # -- if, while, for -------------------------------------------------------------------------------

    def visit_If(self, node: Any) -> Block:
        line, both = node.lineno, [*node.body, *node.orelse]
        test, before = self.visit(node.test), self.defined
        writes = written(both)
        names = [name for name in writes if name in node.alive_after]
        again = [name for name in writes if name in node.alive_in - node.alive_after]
        setting, state = self.state(names, again, attributes_written(both), node)
        then = self.fresh(f"if_{line}")
        blocks, otherwise = self.body(then, node.body, names + again, node), "None"
        after_then, self.defined = self.defined, before
        if node.orelse:
            otherwise = self.fresh(f"else_{line}")
            blocks += self.body(otherwise, node.orelse, names + again, node.orelse[0])
        ends = [d for d, block in ((after_then, node.body), (self.defined, node.orelse)) if not exits(block)]
        self.defined = ends[0].intersection(*ends) if ends else before
        call = self.call(f"if_(0, {then}, {otherwise}{state})", node.test, node)
        return [*blocks, *setting, self.with_first(call, test)]

    def visit_While(self, node: Any) -> Block:
        line, writes = node.lineno, written([node.test, *node.body])
        names = [name for name in writes if name in node.alive_after | node.alive_in]
        setting, state = self.state(names, [], attributes_written(node.body), node)
        body, before = self.fresh(f"body_{line}"), self.defined
        tests: Block = []
        if assigns(node.test):
            name = self.fresh(f"test_{line}")
            lines = [ast.copy_location(ast.Return(node.test), node.test)]
            tests = self.body(name, lines, names, node.test)
            test: ast.expr = at([ast.Name(name, ast.Load())], node.test)[0]
        else:
            test = self.later(node.test)
        blocks = self.body(body, node.body, names, node)
        self.defined = before
        call = self.call(f"while_(0, {body}{state}{', assigns=True' if tests else ''})", node.test, node)
        return [*tests, *blocks, *setting, self.with_first(call, test)]

    def visit_For(self, node: Any) -> Block:
        line, over, before = node.lineno, self.visit(node.iter), self.defined
        writes = written([node.target, *node.body])
        names = [name for name in writes if name in node.alive_after | node.alive_in]
        attributes = attributes_written([node.target, *node.body])
        setting, state = self.state(names, [], attributes, node)
        block, item = node.body, node.target.id if isinstance(node.target, ast.Name) else ""
        if not item or item in names or item in self.shared:
            item = self.fresh("item")
            given = at([ast.Name(item, ast.Load())], node.target)[0]
            block = [ast.copy_location(ast.Assign([node.target], given), node.target), *block]
        body = self.fresh(f"body_{line}")
        blocks = self.body(body, block, names, node, item)
        self.defined = before
        until = f", test=lambda: {self.none_of(node.until)}" if getattr(node, "until", None) else ""
        call = self.call(f"for_(0, {body}{state}{until})", node.iter, node)
        return [*blocks, *setting, self.with_first(call, over)]

    def none_of(self, flags: Iterable[str]) -> str:
        first, *rest = [f"{self.ag}.not_({flag})" for flag in sorted(flags)]
        return f"{self.ag}.and_({first}, {', '.join(f'lambda: {flag}' for flag in rest)})" if rest else first

    def call(self, code: str, header: ast.expr, like: ast.stmt) -> ast.Expr:
        """ag.code, on the lines of the statement's head."""
        (line,) = self.quoted(f"{self.ag}.{code}", like)
        assert isinstance(line, ast.Expr)
        for node in ast.walk(line):
            node.end_lineno, node.end_col_offset = header.end_lineno, header.end_col_offset  # type: ignore[attr-defined]
        return line

    def with_first(self, line: ast.Expr, first: ast.expr) -> ast.Expr:
        """The call with its first argument, which was held open."""
        line.value.args[0] = first  # type: ignore[attr-defined]
        return line

    # -- functions and classes in it ------------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        node.args = self.visit(node.args)
        inner = Statements(self.ag, self.outer, self.own, self.fresh)
        inner.local = self.local - set(written(node.body))
        inner.defined = self.defined
        self.defined |= {node.name}
        return node if reason_against(node) else inner.function(node)

    def visit_AsyncFunctionDef(self, node: Any) -> Any:
        self.defined |= {node.name}
        return node

    visit_ClassDef = visit_AsyncFunctionDef


def docstring(body: Block) -> tuple[Block, Block]:
    """A function's body in two: its docstring, the rest."""
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return body[:1], rest
    return [], body


def reason_against(function: Function) -> str | None:
    """Why a function cannot be cut into branches; None if it can."""
    if isinstance(function, ast.AsyncFunctionDef):
        return "it is async"
    body = function.body if isinstance(function.body, list) else [function.body]
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in inside(body)):
        return "it is a generator, and what it yields would have to come out of its branches"
    return None
