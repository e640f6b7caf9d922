"""Blocks as functions: `def if_1():`, which shares the variables of the function around it as far as they are state.

On the way through a block the names that certainly have a value are kept in view: `Undefined` goes before the others.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .expressions import Expressions
from .jumps import Block, at, passed
from .scopes import written


class Frame:
    """A function of the generated code, under construction.

    own          names that belong to it
    without      those that are state of something in it before they have a value
    """

    def __init__(self, own: Iterable[str]):
        self.own = set(own)
        self.without: dict[str, None] = {}


class Blocks(Expressions):
    """Rewrites blocks of statements, and makes functions of them.

    fresh      name → one that is not in use
    shared     name → "nonlocal" or "global", for the names that the function declares so
    flags      variables that remember a jump
    """

    def __init__(self, ag: str, outer: dict[str, Any], own: set[str], fresh: Callable[[str], str]):
        super().__init__(ag, outer, own)
        self.fresh = fresh
        self.frames: list[Frame] = []
        self.shared: dict[str, str] = {}
        self.flags: set[str] = set()

    def block(self, block: Sequence[ast.stmt], frame: Frame) -> Block:
        """The statements of a frame, which begins with what must be there before it has a value."""
        self.frames.append(frame)
        new = self.statements(block)
        self.frames.pop()
        return [*(self.undefined(name, block[0]) for name in frame.without), *new]

    def statements(self, block: Sequence[ast.stmt]) -> Block:
        new: Block = []
        for statement in block:
            lines = self.visit(statement)
            new += lines if isinstance(lines, list) else [lines]
        return new

    def undefined(self, name: str, like: ast.AST) -> ast.stmt:
        kind = "NotReturned" if name == self.result else "Undefined"
        return self.quoted(f"{name} = {self.ag}.{kind}({name!r})", like)[0]

    def quoted(self, code: str, like: ast.AST) -> Block:
        return at(ast.parse(code).body, like)

    def body(self, name: str, block: Sequence[ast.stmt], state: Sequence[str], like: ast.AST, item: str = "") -> Block:
        """def name(item): the block, which shares the state with the function around it."""
        mine = set(written(block)) - set(state) - self.shared.keys()
        outside, self.defined = self.defined, self.defined - mine | ({item} - {""})
        lines = self.block(block, Frame(mine))
        self.defined = outside | (self.defined - mine)
        code = f"def {name}({item}):\n" + self.declared([n for n in written(block) if n in state]) + "    pass"
        (function,) = self.quoted(code, like)
        assert isinstance(function, ast.FunctionDef)
        function.body = [*function.body[:-1], *lines]
        return [function]

    def declared(self, names: Sequence[str]) -> str:
        """nonlocal x, y"""
        kinds: dict[str, list[str]] = {}
        for name in names:
            kinds.setdefault(self.shared.get(name, "nonlocal"), []).append(name)
        return "".join(f"    {kind} {', '.join(names)}\n" for kind, names in kinds.items())

    def state(
        self, names: list[str], only_put_back: list[str], attributes: list[str], like: ast.AST
    ) -> tuple[Block, str]:
        """A function that writes the state, and the operator's last arguments: how to read it, write it, call it."""
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
        code = f"def {set_}({new}):\n" + self.declared(variables) + f"    {targets}, = {new}"
        values = names + [self.attribute(a) for a in attributes] + only_put_back
        called = [self.label(name) for name in names + attributes]
        quoted = "".join(f"{name!r}, " for name in called)
        return self.quoted(code, like), f", lambda: ({', '.join(values)},), {set_}, ({quoted})"

    def label(self, name: str) -> str:
        """What an operator is told that a variable is: one of the user's, what is returned, or a flag."""
        return "return" if name == self.result else f"{name}?" if name in self.flags else name

    def attribute(self, path: str) -> str:
        owner, _, name = path.rpartition(".")
        return f"getattr({owner}, {name!r}, {self.ag}.Undefined({path!r}))"

    # -- statements that only write -------------------------------------------------------------------

    def generic_visit(self, node: ast.AST) -> ast.AST:
        node = super().generic_visit(node)
        if isinstance(node, ast.stmt) and not isinstance(node, ast.AugAssign):
            self.defined |= set(written([node]))
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if not isinstance(node.target, ast.Name):
            return self.generic_visit(node)
        if node.value is None:
            return passed(node)
        return self.visit(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_Delete(self, node: ast.Delete) -> Any:
        lines: Block = []
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id in self.local:
                self.defined -= {target.id}
                lines.append(self.quoted(f"{target.id} = {self.ag}.Undefined({target.id!r})", node)[0])
            else:
                lines.append(ast.copy_location(ast.Delete([self.visit(target)]), node))
        return lines

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        line = self.generic_visit(node)
        if isinstance(node.target, ast.Name) and node.target.id in self.local - self.defined:
            return [*self.quoted(f"{self.ag}.defined({node.target.id})", node), line]
        return line

    def visit_With(self, node: Any) -> Any:
        node.items = [self.visit(item) for item in node.items]
        self.defined |= set(written(node.items))
        node.body = self.statements(node.body)
        return node

    def visit_Try(self, node: Any) -> Any:
        """What the body wrote is not certain after it, nor in a handler."""
        before = self.defined
        node.body = self.statements(node.body)
        node.orelse = self.statements(node.orelse)
        ends = [self.defined]
        for handler in node.handlers:
            self.defined = before - {handler.name}
            handler.type = handler.type and self.visit(handler.type)
            start, column = handler.lineno, handler.col_offset
            head = ast.Pass(lineno=start, col_offset=column, end_lineno=start, end_col_offset=column + len("except"))
            handler.body = [*self.quoted(f"{self.ag}.handled()", head), *self.statements(handler.body)]
            ends.append(self.defined)
        self.defined = before
        node.finalbody = self.statements(node.finalbody)
        self.defined |= ends[0].intersection(*ends)
        return node

    visit_TryStar = visit_Try

    def visit_Match(self, node: ast.Match) -> Any:
        node.subject = self.visit(node.subject)
        before = self.defined
        for case in node.cases:
            self.defined = before | set(written([case.pattern]))
            case.guard = case.guard and self.visit(case.guard)
            case.body = self.statements(case.body)
        self.defined = before
        return node
