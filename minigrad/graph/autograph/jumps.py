"""Lower break, continue and return to flags and branches: the result has only `if`s and loops with a single exit.

    if c: return a               if c:
    return b                ⇒        result = a
                                 else:
                                     result = b
                                 return result

If every path through a branch jumps, the statements after the `if` move into the other branch, as here. If only some
paths jump, a flag records the jump, the rest runs `if not did_return`, and a loop continues `while not did_break`.
(Böhm & Jacopini 1966, “Flow diagrams, Turing machines and languages with only two formation rules”.)
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from .scopes import inside

JUMPS = (ast.Return, ast.Break, ast.Continue)
N = TypeVar("N", bound=ast.AST)
Block = list[ast.stmt]
Flags = frozenset[str]
NONE: Flags = frozenset()


class Unconvertible(Exception):
    """The reason why a function cannot be converted."""


class Here(NamedTuple):
    """The position of a block in its function.

    ends          whether it is at the end of the function
    turn_ends     whether it is at the end of the loop's body
    plain         whether a return can stay: the block is in no `if` or loop
    breaks        the flag for a break out of the loop
    continues     the flag for a continue
    """

    ends: bool = True
    turn_ends: bool = False
    plain: bool = True
    breaks: str = ""
    continues: str = ""

    def before_more(self) -> Here:
        return self._replace(ends=False, turn_ends=False)

    def inner(self) -> Here:
        return self._replace(plain=False)


class JumpLowering:
    """Lowers the jumps in a function's body.

    fresh       name → an unused name like it
    result      the variable for the return value; None if the returns can stay
    flags       the variables that record a jump
    """

    def __init__(self, fresh: Callable[[str], str]):
        self.fresh = fresh
        self.result: str | None = None
        self.returns: str | None = None
        self.flags: set[str] = set()

    def flag(self, name: str) -> str:
        new = self.fresh(name)
        self.flags.add(new)
        return new

    def body(self, body: Sequence[ast.stmt]) -> Block:
        if returns_within(body):
            body = body if exits(body) else [*body, ast.copy_location(ast.Return(None), body[-1])]
        new, _ = self.block(body, Here())
        if self.returns is not None:
            new = [assign(self.returns, "False", body[0]), *new]
        if self.result is not None:
            new = [*new, at(ast.parse(f"return {self.result}").body, body[-1])[0]]
        return new

    def block(self, block: Sequence[ast.stmt], here: Here) -> tuple[Block, Flags]:
        """The block with its jumps lowered, and the flags that may be set in it."""
        block = absorb_rest(block)
        new: Block = []
        for i, statement in enumerate(block):
            rest = block[i + 1 :]
            lines, flags = self.statement(statement, here.before_more() if rest else here)
            new += lines
            if flags and rest:
                guarded, more = self.block(rest, here.inner())
                return [*new, *([guard(flags, guarded, rest[0])] if guarded else [])], flags | more
            if flags:
                return new, flags
        return new, NONE

    def statement(self, s: ast.stmt, here: Here) -> tuple[Block, Flags]:
        match s:
            case ast.Return() if not here.plain:
                return self.lower_return(s, here)
            case ast.Break():
                return [assign(here.breaks, "True", s)], Flags({here.breaks})
            case ast.Continue() if here.turn_ends:
                return [], NONE
            case ast.Continue():
                return [assign(here.continues, "True", s)], Flags({here.continues})
            case ast.If():
                return self.branches(s, here.inner())
            case ast.While() | ast.For():
                return self.loop(s, here)
            case ast.With():
                body, flags = self.block(s.body, here)
                s.body = body or pass_line(s)
                return [s], flags
            case ast.Try() | ast.TryStar():
                return self.lower_try(s, here)
            case ast.Match():
                flags = NONE
                for case in s.cases:
                    body, more = self.block(case.body, here)
                    case.body, flags = body or pass_line(s), flags | more
                return [s], flags
        return [s], NONE

    def lower_return(self, s: ast.Return, here: Here) -> tuple[Block, Flags]:
        self.result = self.result or self.fresh("result")
        value = ast.Constant(None) if s.value is None else s.value
        given = ast.copy_location(ast.Assign([ast.Name(self.result, ast.Store())], value), s)
        if here.ends:
            return [given], NONE
        self.returns = self.returns or self.flag("did_return")
        return [given, assign(self.returns, "True", s)], Flags({self.returns})

    def branches(self, s: ast.If, here: Here) -> tuple[Block, Flags]:
        then, flags = self.block(s.body, here)
        otherwise, more = self.block(s.orelse, here)
        if not then and otherwise:
            test = ast.copy_location(ast.UnaryOp(ast.Not(), s.test), s.test)
            return [ast.copy_location(ast.If(test, otherwise, []), s)], flags | more
        return [ast.copy_location(ast.If(s.test, then or pass_line(s), otherwise), s)], flags | more

    def loop(self, s: ast.While | ast.For, here: Here) -> tuple[Block, Flags]:
        own = set(map(type, jumps_in(s.body)))
        breaks = self.flag("did_break") if ast.Break in own else ""
        continues = self.flag("did_continue") if ast.Continue in own else ""
        body, flags = self.block(s.body, Here(False, True, False, breaks, continues))
        if continues in flags:
            body = [assign(continues, "False", s), *body]
        leaves = flags - {continues}
        if isinstance(s, ast.For):
            s.until = leaves  # type: ignore[attr-defined]
        elif leaves:
            endless = isinstance(s.test, ast.Constant) and s.test.value
            s.test = none_of(leaves, [] if endless else [s.test], s.test)
        returns = leaves - {breaks}
        otherwise, more = self.block(s.orelse, here.inner() if leaves else here)
        s.body, s.orelse = body or pass_line(s), []
        before = [assign(breaks, "False", s)] if breaks in leaves else []
        after = [guard(leaves, otherwise, otherwise[0])] if leaves and otherwise else otherwise
        return [*before, s, *after], returns | more

    def lower_try(self, s: ast.Try | ast.TryStar, here: Here) -> tuple[Block, Flags]:
        if any(True for _ in jumps_in(s.finalbody)):
            raise Unconvertible("it leaves a `finally` by return, break or continue")
        s.finalbody, _ = self.block(s.finalbody, here.before_more())
        s.body, flags = self.block(s.body, here.before_more() if s.orelse else here)
        all_flags = flags
        for handler in s.handlers:
            body, more = self.block(handler.body, here)
            handler.body, all_flags = body or pass_line(handler), all_flags | more
        otherwise, more = self.block(s.orelse, here.inner() if flags else here)
        s.orelse = [guard(flags, otherwise, s)] if flags and otherwise else otherwise
        s.body = s.body or pass_line(s)
        return [s], all_flags | more


# -- where blocks end ----------------------------------------------------------------------------------


def absorb_rest(block: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    """The block up to its first jump. If one branch of an `if` always jumps, the rest moves into the other branch."""
    for i, s in enumerate(block):
        rest = block[i + 1 :]
        if isinstance(s, (*JUMPS, ast.Raise)):
            return block[: i + 1]
        if isinstance(s, ast.If) and rest and any(True for _ in jumps_in([s])):
            then, otherwise = exits(s.body), exits(s.orelse)
            if then or otherwise:
                parts = (s.body, [*s.orelse, *rest]) if then else ([*s.body, *rest], s.orelse)
                return [*block[:i], ast.copy_location(ast.If(s.test, *parts), s)]
    return block


def exits(block: Sequence[ast.stmt]) -> bool:
    """Whether control never reaches the end of the block. False if it ends with a `with`, which may suppress errors."""
    if not block:
        return False
    match block[-1]:
        case ast.Return() | ast.Break() | ast.Continue() | ast.Raise():
            return True
        case ast.If(body=then, orelse=otherwise):
            return exits(then) and exits(otherwise)
        case ast.While(test=ast.Constant(value=value)) as loop:
            return bool(value) and not any(isinstance(jump, ast.Break) for jump in jumps_in(loop.body))
        case ast.Try() | ast.TryStar() as s:
            body_exits = exits(s.body) or exits(s.orelse)
            return exits(s.finalbody) or (body_exits and all(exits(handler.body) for handler in s.handlers))
    return False


def jumps_in(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The jumps that leave these statements; not, for instance, a break from a loop inside them."""
    for node in nodes:
        match node:
            case ast.Return() | ast.Break() | ast.Continue():
                yield node
            case ast.While() | ast.For():
                yield from (jump for jump in jumps_in(node.body) if isinstance(jump, ast.Return))
                yield from jumps_in(node.orelse)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda():
                pass
            case _:
                yield from jumps_in(ast.iter_child_nodes(node))


def returns_within(nodes: Iterable[ast.AST]) -> bool:
    """Whether there is a return in an `if` or a loop."""
    blocks = [node for node in inside(nodes) if isinstance(node, ast.If | ast.While | ast.For)]
    return ast.Return in map(type, inside(blocks))


# -- generated lines -----------------------------------------------------------------------------------


def at(nodes: list[N], like: ast.AST) -> list[N]:
    """Set the source position of the nodes, and of all nodes in them, to that of `like`. Returns the nodes."""
    for node in (n for root in nodes for n in ast.walk(root)):
        ast.copy_location(node, like)
    return nodes


def assign(name: str, value: str, like: ast.AST) -> ast.stmt:
    return at(ast.parse(f"{name} = {value}").body, like)[0]


def pass_line(like: ast.AST) -> Block:
    return [ast.copy_location(ast.Pass(), like)]


def none_of(flags: Flags, also: list[ast.expr], like: ast.AST) -> ast.expr:
    """not f and not g and …"""
    (line,) = at(ast.parse(" and ".join(f"not {flag}" for flag in sorted(flags))).body, like)
    assert isinstance(line, ast.Expr)
    if not also:
        return line.value
    parts = line.value.values if isinstance(line.value, ast.BoolOp) else [line.value]
    return ast.copy_location(ast.BoolOp(ast.And(), [*parts, *also]), like)


def guard(flags: Flags, block: Block, like: ast.AST) -> ast.stmt:
    """An `if` that runs the block only if no jump was taken."""
    return ast.copy_location(ast.If(none_of(flags, [], like), block, []), like)
