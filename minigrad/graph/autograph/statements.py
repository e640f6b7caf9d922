"""Convert if, while and for to calls: each block becomes a function, which an operator calls or traces.

    if x > 0:              def if_1():                         def set_1(state):
        y = x                  nonlocal y                          nonlocal y
    else:            ⇒         y = x                               y, = state
        y = -x             def else_1():
                               nonlocal y                      ag.if_(x > 0, if_1, else_1, lambda: (y,), set_1, ('y',))
                               y = -x

The state of a block is the variables that it writes and that are alive around it. The operator reads them all with
one function, and writes them with another. The functions are numbered by the line of their statement. The pass tracks
which names certainly have a value; the others are set to `Undefined` first.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .expressions import Expressions, assigns
from .jumps import Block, JumpLowering, at, exits, pass_line
from .scopes import Function, Liveness, arguments, attributes_written, bound_names, inside


class Frame:
    """A function of the generated code, under construction.

    own          its local names
    without      its local names that are in the state of a block before they have a value
    """

    def __init__(self, own: Iterable[str]):
        self.own = set(own)
        self.without: dict[str, None] = {}


class Blocks(Expressions):
    """Rewrites blocks of statements, and turns them into functions.

    fresh      name → an unused name like it
    shared     name → "nonlocal" or "global", for names with such a declaration
    flags      the variables that record a jump
    """

    def __init__(self, ag: str, outer: dict[str, Any], own: set[str], fresh: Callable[[str], str]):
        super().__init__(ag, outer, own)
        self.fresh = fresh
        self.frames: list[Frame] = []
        self.shared: dict[str, str] = {}
        self.flags: set[str] = set()

    def block(self, block: Sequence[ast.stmt], frame: Frame) -> Block:
        """The rewritten statements of a frame, preceded by assignments of Undefined to the names that need it."""
        self.frames.append(frame)
        new = self.statements(block)
        self.frames.pop()
        return [*(self.assign_undefined(name, block[0]) for name in frame.without), *new]

    def statements(self, block: Sequence[ast.stmt]) -> Block:
        new: Block = []
        for statement in block:
            lines = self.visit(statement)
            new += lines if isinstance(lines, list) else [lines]
        return new

    def assign_undefined(self, name: str, like: ast.AST) -> ast.stmt:
        kind = "NotReturned" if name == self.result else "Undefined"
        return self.parse_lines(f"{name} = {self.ag}.{kind}({name!r})", like)[0]

    def parse_lines(self, code: str, like: ast.AST) -> Block:
        return at(ast.parse(code).body, like)

    def body(self, name: str, block: Sequence[ast.stmt], state: Sequence[str], like: ast.AST, item: str = "") -> Block:
        """def name(item): the block, which shares its state with the enclosing function."""
        mine = set(bound_names(block)) - set(state) - self.shared.keys()
        outside, self.defined = self.defined, self.defined - mine | ({item} - {""})
        lines = self.block(block, Frame(mine))
        self.defined = outside | (self.defined - mine)
        code = f"def {name}({item}):\n" + self.declare_names([n for n in bound_names(block) if n in state]) + "    pass"
        (function,) = self.parse_lines(code, like)
        assert isinstance(function, ast.FunctionDef)
        function.body = [*function.body[:-1], *lines]
        return [function]

    def declare_names(self, names: Sequence[str]) -> str:
        """nonlocal x, y"""
        kinds: dict[str, list[str]] = {}
        for name in names:
            kinds.setdefault(self.shared.get(name, "nonlocal"), []).append(name)
        return "".join(f"    {kind} {', '.join(names)}\n" for kind, names in kinds.items())

    def state(
        self, names: list[str], only_put_back: list[str], attributes: list[str], like: ast.AST
    ) -> tuple[Block, str]:
        """A function that writes the state; and the operator's last arguments: the getter, the setter and the names."""
        variables = names + only_put_back
        for name in set(variables) - self.defined:
            for frame in reversed(self.frames):
                if name in frame.own:
                    frame.without[name] = None
                    break
        if not variables + attributes:
            return [], ""
        set_ = self.fresh(f"set_{like.lineno}")  # type: ignore[attr-defined]
        targets = ", ".join(names + attributes + only_put_back)
        new = "state" if "state" not in self.own else self.fresh("new_state")
        code = f"def {set_}({new}):\n" + self.declare_names(variables) + f"    {targets}, = {new}"
        values = names + [self.attribute(a) for a in attributes] + only_put_back
        called = [self.label(name) for name in names + attributes]
        quoted = "".join(f"{name!r}, " for name in called)
        return self.parse_lines(code, like), f", lambda: ({', '.join(values)},), {set_}, ({quoted})"

    def label(self, name: str) -> str:
        """The label of a variable for an operator: its name, "return" for the return value, or a flag's name + "?"."""
        return "return" if name == self.result else f"{name}?" if name in self.flags else name

    def attribute(self, path: str) -> str:
        owner, _, name = path.rpartition(".")
        return f"getattr({owner}, {name!r}, {self.ag}.Undefined({path!r}))"

    # -- statements that only write -------------------------------------------------------------------

    def generic_visit(self, node: ast.AST) -> ast.AST:
        node = super().generic_visit(node)
        if isinstance(node, ast.stmt) and not isinstance(node, ast.AugAssign):
            self.defined |= set(bound_names([node]))
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if not isinstance(node.target, ast.Name):
            return self.generic_visit(node)
        if node.value is None:
            return pass_line(node)
        return self.visit(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_Delete(self, node: ast.Delete) -> Any:
        lines: Block = []
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id in self.local:
                self.defined -= {target.id}
                lines.append(self.parse_lines(f"{target.id} = {self.ag}.Undefined({target.id!r})", node)[0])
            else:
                lines.append(ast.copy_location(ast.Delete([self.visit(target)]), node))
        return lines

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        line = self.generic_visit(node)
        if isinstance(node.target, ast.Name) and node.target.id in self.local - self.defined:
            return [*self.parse_lines(f"{self.ag}.defined({node.target.id})", node), line]
        return line

    def visit_With(self, node: Any) -> Any:
        node.items = [self.visit(item) for item in node.items]
        self.defined |= set(bound_names(node.items))
        node.body = self.statements(node.body)
        return node

    def visit_Try(self, node: Any) -> Any:
        """Names that the body binds may have no value after it, or in a handler."""
        before = self.defined
        node.body = self.statements(node.body)
        node.orelse = self.statements(node.orelse)
        ends = [self.defined]
        for handler in node.handlers:
            self.defined = before - {handler.name}
            handler.type = handler.type and self.visit(handler.type)
            start, column = handler.lineno, handler.col_offset
            head = ast.Pass(lineno=start, col_offset=column, end_lineno=start, end_col_offset=column + len("except"))
            handler.body = [*self.parse_lines(f"{self.ag}.handled()", head), *self.statements(handler.body)]
            ends.append(self.defined)
        self.defined = before
        node.finalbody = self.statements(node.finalbody)
        self.defined |= ends[0].intersection(*ends)
        return node

    visit_TryStar = visit_Try

    def visit_Match(self, node: ast.Match) -> Any:
        node.subject = self.operator("subject", self.visit(node.subject), like=node.subject)
        before = self.defined
        for case in node.cases:
            self.defined = before | set(bound_names([case.pattern]))
            case.guard = case.guard and self.visit(case.guard)
            case.body = self.statements(case.body)
        self.defined = before
        return node


LOOPS = (ast.While, ast.For)


class Statements(Blocks):
    """Rewrites the statements of one function."""

    def function(self, function: ast.FunctionDef) -> ast.FunctionDef:
        """Convert the function, and return it. Raises Unconvertible if that is impossible."""
        head, body = docstring(function.body)
        lowering = JumpLowering(self.fresh)
        body = lowering.body(body) if body else body
        self.result, self.flags = lowering.result, lowering.flags
        self.first_argument = next(iter(arguments(function)), None)
        for node in inside(body):
            if isinstance(node, ast.Nonlocal | ast.Global):
                self.shared |= dict.fromkeys(node.names, type(node).__name__.lower())
        Liveness(body, self.shared)
        given = set(arguments(function))
        mine = set(bound_names(body)) | given - self.shared.keys()
        self.local -= given
        if not {ast.If, *LOOPS}.isdisjoint(map(type, inside(body))):
            self.local |= mine - self.shared.keys()
        self.defined |= given
        body = self.block(body, Frame(mine - self.shared.keys()))
        function.body = [*head, *body] or pass_line(function)
        return function

    # -- if, while, for -------------------------------------------------------------------------------

    def visit_If(self, node: Any) -> Block:
        line, both = node.lineno, [*node.body, *node.orelse]
        test, before = self.visit(node.test), self.defined
        writes = bound_names(both)
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
        line, writes = node.lineno, bound_names([node.test, *node.body])
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
        writes = bound_names([node.target, *node.body])
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
        """A call ag.code, at the position of the statement's head."""
        (line,) = self.parse_lines(f"{self.ag}.{code}", like)
        assert isinstance(line, ast.Expr)
        for node in ast.walk(line):
            node.end_lineno, node.end_col_offset = header.end_lineno, header.end_col_offset  # type: ignore[attr-defined]
        return line

    def with_first(self, line: ast.Expr, first: ast.expr) -> ast.Expr:
        """The call with its first argument, a placeholder 0, replaced."""
        line.value.args[0] = first  # type: ignore[attr-defined]
        return line

    # -- inner functions and classes ------------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        node.args = self.visit(node.args)
        inner = Statements(self.ag, self.outer, self.own, self.fresh)
        inner.local = self.local - set(bound_names(node.body))
        inner.defined = self.defined
        self.defined |= {node.name}
        return node if reason_against(node) else inner.function(node)

    def visit_AsyncFunctionDef(self, node: Any) -> Any:
        self.defined |= {node.name}
        return node

    visit_ClassDef = visit_AsyncFunctionDef


def docstring(body: Block) -> tuple[Block, Block]:
    """A function's body, split into its docstring and the rest."""
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return body[:1], rest
    return [], body


def reason_against(function: Function) -> str | None:
    """The reason why a function cannot be converted; None if it can."""
    if isinstance(function, ast.AsyncFunctionDef):
        return "it is async"
    body = function.body if isinstance(function.body, list) else [function.body]
    if not {ast.Yield, ast.YieldFrom}.isdisjoint(map(type, inside(body))):
        return "it is a generator, and a yield cannot move into the function of a branch"
    return None
