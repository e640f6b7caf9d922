"""The names that a piece of a function writes and reads, and liveness analysis around its `if`s and loops.

A name is alive at a point if its value there may still be read. The state of a branch or a loop body is the names
that it writes and that are alive outside it; all others are local to it. (Aho, Lam, Sethi, Ullman 2007, “Compilers”,
section 9.2.5.) The analysis overestimates reads, as keeping a name alive for nothing costs little.

The module also finds out whether a function is the user's, and so converted, or belongs to Python or a library.
"""

from __future__ import annotations

import ast
import sysconfig
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

F = TypeVar("F")
ENGINE = str(Path(__file__).parents[2])
SPECIAL = set("all any bool enumerate float getattr hasattr int isinstance len max min range reversed type zip".split())  # noqa: SIM905  (operators.py)


def is_foreign(function: Any) -> bool:
    """Whether the function is not the user's, or has no Python code to convert: a class, a builtin."""
    function = getattr(function, "__func__", function)
    return not isinstance(function, FunctionType) or from_library(function.__code__.co_filename)


def is_engine(function: Any) -> bool:
    """Whether the function is minigrad's."""
    return isinstance(function, FunctionType) and function.__code__.co_filename.startswith(ENGINE)


@cache
def from_library(file: str) -> bool:
    """Whether a file is minigrad's, Python's, or an installed package's."""
    libraries = {"site-packages", "dist-packages"}.intersection(Path(file).parts)
    return bool(libraries) or file.startswith((ENGINE, *homes(), "<frozen", "<__array"))


@cache
def homes() -> tuple[str, ...]:
    """The directories of Python's standard library."""
    return str(Path(ast.__file__).parent), sysconfig.get_path("platstdlib")  # in a browser, the first is a zip file


def do_not_convert(function: F) -> F:
    """Mark a function to be called without conversion, and return it. Also a decorator."""
    function.do_not_convert = True  # type: ignore[attr-defined]
    return function


Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
Names = frozenset[str]


def inside(nodes: Iterable[ast.AST]) -> list[ast.AST]:
    """The nodes and all nodes in them, in order, without the bodies of functions and classes."""
    found: list[ast.AST] = []
    left = [*nodes][::-1]
    while left:
        found.append(node := left.pop())
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            left += outside_of(node)[::-1]
        else:
            left += [*(defaults(node.args) if isinstance(node, ast.Lambda) else ast.iter_child_nodes(node))][::-1]
    return found


def outside_of(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> list[ast.AST]:
    """The parts of a definition that are evaluated where it stands: decorators, defaults, bases."""
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *node.keywords]
    return [*node.decorator_list, *defaults(node.args)]


def defaults(arguments: ast.arguments) -> list[ast.AST]:
    return [*arguments.defaults, *filter(None, arguments.kw_defaults)]


def arguments(function: Function) -> list[str]:
    """The names of the arguments of a function."""
    its = function.args
    return [a.arg for a in (*its.posonlyargs, *its.args, its.vararg, *its.kwonlyargs, its.kwarg) if a is not None]


# -- written and read ----------------------------------------------------------------------------------


def bound_names(nodes: Iterable[ast.AST]) -> list[str]:
    """The names that these nodes bind, in order of appearance, without those of exceptions, local to their handlers."""
    names: list[str] = []
    for node in inside(nodes):
        match node:
            case ast.Name(ctx=ast.Store() | ast.Del()) if not getattr(node, "comprehended", False):
                names.append(node.id)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.append(node.name)
            case ast.Import() | ast.ImportFrom():
                names += [(alias.asname or alias.name).split(".")[0] for alias in node.names]
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                names.append(name)
    return list(dict.fromkeys(names))


def mark_comprehensions(tree: ast.AST) -> None:
    """Mark the targets of comprehensions: unlike assigned names, they are local to the comprehension."""
    for node in ast.walk(tree):
        if isinstance(node, ast.comprehension):
            for name in ast.walk(node.target):
                name.comprehended = True  # type: ignore[attr-defined]


def attributes_written(nodes: Iterable[ast.AST]) -> list[str]:
    """The attributes, such as `self.h`, that these nodes assign, if the nodes do not rebind the object."""
    nodes = list(nodes)
    bound = set(bound_names(nodes))
    assigned = (node for node in inside(nodes) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store))
    return list(dict.fromkeys(ast.unparse(node) for node in assigned if root(node) not in bound | {None}))


def root(node: ast.expr) -> str | None:
    """x of x.y.z; None if the node is not a chain of attributes of a name."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def read(nodes: Iterable[ast.AST]) -> Names:
    """The names that these nodes read, also in functions that they define."""
    names = set()
    for node in chain.from_iterable(map(ast.walk, nodes)):
        match node:
            case ast.Name(ctx=ast.Load() | ast.Del()):
                names.add(node.id)
            case ast.AugAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.Nonlocal() | ast.Global():
                names.update(node.names)
    return frozenset(names)


# -- alive ---------------------------------------------------------------------------------------------


class Liveness:
    """The names alive before and after each `if` and loop of a function without jumps.

    Sets attributes on the nodes: `alive_after`, and `alive_in` at the start of a branch of an `if` or of an iteration.

    always    names alive everywhere: shared with outer functions, read by inner ones, or by the handlers of a `try`
    """

    def __init__(self, body: Sequence[ast.stmt], shared: Iterable[str]):
        inner = [node for node in inside(body) if isinstance(node, SCOPES)]
        self.always = read(inner).union(shared)
        self.block(body, frozenset())

    def block(self, block: Sequence[ast.stmt], after: Names) -> Names:
        """The names alive before a block, given those after it."""
        after |= self.always
        for statement in reversed(block):
            after = self.before(statement, after) | self.always
        return after

    def before(self, node: ast.stmt, after: Names) -> Names:
        node.alive_after = after  # type: ignore[attr-defined]
        match node:
            case ast.If():
                node.alive_in = self.block(node.body, after) | self.block(node.orelse, after)  # type: ignore[attr-defined]
                return node.alive_in | read([node.test])  # type: ignore[attr-defined, no-any-return]
            case ast.While() | ast.For():
                return self.loop(node, after)
            case ast.Try() | ast.TryStar():
                return self.before_try(node, after)
            case ast.With():
                return (self.block(node.body, after) - set(bound_names(node.items))) | read(node.items)
            case ast.Match():
                cases = [self.block(case.body, after) | read([case.pattern, *filter(None, [case.guard])])
                         for case in node.cases]  # fmt: skip
                return after.union(read([node.subject]), *cases)
            case ast.AugAssign() | ast.Delete():
                return after | read([node])
        return (after - set(bound_names([node]))) | read([node])

    def loop(self, node: ast.While | ast.For, after: Names) -> Names:
        """The names alive before a loop. Its head is reached from before the loop, and from the end of the body.

        Alive at the head are the names alive after the loop, those read by the test, and those that the body itself
        reads. The reads of the body are found once, so that nested loops are not analysed repeatedly.
        """
        target = [node.target] if isinstance(node, ast.For) else []
        test = read([node.test]) if isinstance(node, ast.While) else frozenset(getattr(node, "until", ()))
        if not hasattr(node, "reads_itself"):
            node.reads_itself = self.block(node.body, frozenset()) - set(bound_names(target)) | read(target)  # type: ignore[union-attr]
        head: Names = after | test | node.reads_itself  # type: ignore[union-attr]
        node.alive_in = head  # type: ignore[union-attr]
        self.block(node.body, head)
        return head | read([node.iter] if isinstance(node, ast.For) else [])

    def before_try(self, node: ast.Try | ast.TryStar, after: Names) -> Names:
        """The names alive before a `try`: control may go from anywhere in its body to a handler."""
        last = self.block(node.finalbody, after)
        caught = last.union(*(self.block(h.body, last) | read(filter(None, [h.type])) for h in node.handlers))
        outside, self.always = self.always, self.always | caught
        first = self.block(node.body, self.block(node.orelse, last))
        self.always = outside
        return first
