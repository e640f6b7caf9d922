"""AutoGraph: a Python function whose `if`, `while`, `for`, `and`, `or` and `not` work on tensors of a graph.

    source → tree → jumps lowered (jumps.py) → blocks made functions (statements.py), choices made calls
    (expressions.py) → code, in the closure of the function → function

What is generated calls operators (operators.py), which look at the condition when they run: a symbolic tensor gives
control flow of the graph, anything else Python's own. Every node keeps its line, so that errors show the user's.
(Moldovan et al. 2018, “AutoGraph: imperative-style coding with graph-based performance”.)

The definition is found in the file, or notebook cell, where it was written: a function by name and line, a lambda by
line and column. A file may have been edited since; so what is found counts only if it compiles to the code that is
called. Generated code can be looked at by itself, or beside the source that each of its lines came from.
"""

from __future__ import annotations

import ast
import linecache
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial, update_wrapper, wraps
from itertools import chain, zip_longest
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, SimpleNamespace
from typing import Any, NamedTuple

from ...engine.base.errors import ConversionError
from ...engine.core.modes import current, in_mode
from ...engine.core.stateful import ModuleLike
from . import branches, loops, operators, state
from .jumps import Unconvertible
from .operators import REPLACED
from .scopes import Function, arguments, is_engine, is_foreign, mark_comprehensions
from .side_effects import warn_of_leaks
from .state import type_of
from .statements import Statements, reason_against

OPTIMISED = 0x1  # the flag of a function's code; a class body has not


class Conversion(NamedTuple):
    """What a function became.

    ag      what the operators are called in it
    tree    its generated code
    code    that, compiled
    """

    ag: str
    tree: ast.FunctionDef | ast.Lambda
    code: CodeType


conversions: dict[tuple[CodeType, str], Conversion | str] = {}  # or why there is none
made: set[CodeType] = set()  # code that is generated


def convert(function: Any) -> Any:
    """The function, with control flow that works on tensors of a graph too; on values it does what it did.

    A function that cannot be converted (its source is not to be had, it is a generator or async) is given back as it
    is, with a warning; one that is not to be converted, because it is a library's or says so, without.
    """
    if isinstance(function, FunctionType):
        if stays(function):
            return function
        conversion = conversion_of(function)
        if isinstance(conversion, str):
            left_alone(function, conversion)
    new = call(function)
    return new if new is function else watched(new)


def left_alone(function: FunctionType, reason: str) -> None:
    warnings.warn(
        f"{function.__qualname__}() runs as it is written, without AutoGraph: {reason}. Mark it with "
        "@minigrad.graph.autograph.do_not_convert if this is meant",
        stacklevel=3,
    )


def watched(function: Any) -> Any:
    """The converted function, after which it is told what holds a symbol of the graph that is no longer built."""

    @wraps(function)
    def run(*args: Any, **options: Any) -> Any:
        with warn_of_leaks(function):
            return function(*args, **options)

    return run


def call(function: Any) -> Any:
    """What is called in the place of a function that a converted one calls."""
    match function:
        case FunctionType() if hasattr(function, "dispatch"):
            return lambda *xs, **options: call(function.dispatch(type_of(xs[0])))(*xs, **options)
        case FunctionType():
            return REPLACED.get(function) or called(function)
        case MethodType():
            inner = called(function.__func__)
            return function if inner is function.__func__ else MethodType(inner, function.__self__)
        case BuiltinFunctionType() | type():
            return REPLACED.get(function, function)
        case partial():
            return partial(call(function.func), *function.args, **function.keywords)
        case ModuleLike():
            return module_called(function)
    its = vars(type(function)).get("__call__")
    return MethodType(called(its), function) if isinstance(its, FunctionType) and not stays(its) else function


def called(function: Any) -> Any:
    if not stays(function):
        return converted(function)
    return handing_on(function) if is_engine(function) and not hasattr(function, "do_not_convert") else function


def stays(function: Any) -> bool:
    """Whether a function is called as it is."""
    return hasattr(function, "do_not_convert") or is_foreign(function) or function.__code__ in made


def handing_on(function: Any) -> Any:
    """A function of minigrad's; the user's functions that are handed to it are converted."""

    def called(*args: Any, **options: Any) -> Any:
        return function(*(x if is_foreign(x) else call(x) for x in args), **options)

    return called


def module_called(module: Any) -> Any:
    """A call of the module in which it, and every module in it, has its `forward` converted."""

    def called(*xs: Any, **options: Any) -> Any:
        with in_mode(builder=None):  # so that parts that are not called are not noted as read
            parts = [*module.modules()]
        own = [part for part in parts if part.forward and "forward" not in vars(part) and not stays(type(part).forward)]
        for part in own:
            vars(part)["forward"] = MethodType(converted(type(part).forward), part)
        try:
            return module(*xs, **options)
        finally:
            for part in own:
                del vars(part)["forward"]

    return called


def converted(function: Any) -> Any:
    """The function's code, converted, in the function's closure; the function itself, if it cannot be."""
    conversion = conversion_of(function)
    if current.mode.builder is not None and "<locals>" not in function.__qualname__:  # which a reload does not edit
        current.mode.builder.note_read(function, "__code__")
    if isinstance(conversion, str):
        if conversion.endswith(EDITED):
            left_alone(function, conversion)
        return function
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    cells[conversion.ag] = CellType(AG)
    code = conversion.code
    new = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, tuple(cells[n] for n in code.co_freevars)
    )
    new.__kwdefaults__ = function.__kwdefaults__
    return update_wrapper(new, function)


CALLED = dict(chain(*(vars(part).items() for part in (state, branches, loops, operators))), call=call)
AG = SimpleNamespace(**{name: its for name, its in CALLED.items() if not name.startswith("__")})


def conversion_of(function: FunctionType) -> Conversion | str:
    """The conversion of a function, made once; or the reason why there is none."""
    key = function.__code__, function.__code__.co_filename
    if key not in conversions:
        try:
            conversions[key] = generated(function)
        except Unconvertible as reason:
            conversions[key] = str(reason)
    return conversions[key]


def generated(function: FunctionType) -> Conversion:
    code = function.__code__
    tree = definition(code)
    if reason := reason_against(tree):
        raise Unconvertible(reason)
    mangled(tree, function.__qualname__)
    mark_comprehensions(tree)
    names = FreshNames(tree, code)
    ag = names.fresh("ag")
    rewrite = Statements(ag, function.__globals__, names.bound, names.fresh)
    if isinstance(tree, ast.Lambda):
        new: Any = rewrite.visit_Lambda(tree)
    else:
        tree.decorator_list = []
        new = rewrite.function(tree)  # type: ignore[arg-type]
    return Conversion(ag, new, compiled(new, code, ag, names))


class FreshNames:
    """The names that a function uses, and new ones beside them.

    bound    those that are not its module's
    given    those that were made up
    """

    def __init__(self, tree: Function, code: CodeType):
        names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
        stored = {name.id for name in names if not isinstance(name.ctx, ast.Load)}
        inner = [node for node in ast.walk(tree) if isinstance(node, Function)]
        self.bound = stored.union(code.co_freevars, code.co_varnames, code.co_cellvars, *map(arguments, inner))
        self.used = self.bound | {name.id for name in names}
        self.given: set[str] = set()

    def fresh(self, name: str) -> str:
        """The name, or the name with a number, if it is taken."""
        new, number = name, 1
        while new in self.used:
            number += 1
            new = f"{name}_{number}"
        self.used.add(new)
        self.given.add(new)
        return new


def compiled(tree: Any, code: CodeType, ag: str, names: FreshNames) -> CodeType:
    """The code of the tree, with the same free names as the function's own, and `ag`."""
    free = " = ".join((*code.co_freevars, ag))
    (factory,) = ast.parse(f"def factory():\n    {free} = None").body
    assert isinstance(factory, ast.FunctionDef)
    if isinstance(tree, ast.Lambda):
        factory.body.append(ast.copy_location(ast.Expr(tree), tree))
        whole = compiled_module(factory, code)
        return finished(inner_code(whole, "<lambda>"), code, names.given)
    # Under a name of its own: a global function that calls itself would find the name in the factory.
    name, tree.name = tree.name, names.fresh("function")
    factory.body.append(tree)
    whole = compiled_module(factory, code)
    new = finished(inner_code(whole, tree.name), code, names.given)
    tree.name = name
    return new


def compiled_module(factory: ast.FunctionDef, code: CodeType) -> CodeType:
    """The code of the factory, with the lines, the file and the `from __future__` of the function."""
    module = ast.fix_missing_locations(ast.Module([factory], []))
    whole = compile(module, code.co_filename, "exec", code.co_flags & FUTURES, dont_inherit=True)
    return inner_code(whole, "factory")


def inner_code(code: CodeType, name: str) -> CodeType:
    """The last function of that name; before it come lambdas that are default arguments."""
    return [c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name][-1]


def finished(code: CodeType, original: CodeType, given: set[str]) -> CodeType:
    new = renamed(code, original, given)
    remember(new)
    return new


def renamed(code: CodeType, original: CodeType, given: set[str]) -> CodeType:
    """The code, in which the blocks bear the function's own name: so tracebacks speak of one function."""
    own = code.co_name in given or code.co_name == "<lambda>" == original.co_name
    name, qualname = (original.co_name, original.co_qualname) if own else (code.co_name, code.co_qualname)
    consts = tuple(renamed(c, original, given) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_consts=consts, co_name=name, co_qualname=qualname)


def remember(code: CodeType) -> None:
    """Generated code is not converted again; classes in it were left alone, and their methods may be."""
    made.add(code)
    for inner in code.co_consts:
        if isinstance(inner, CodeType) and inner.co_flags & OPTIMISED:
            remember(inner)


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


DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
EDITED = "it was edited since, so reload the module"
FUTURES = 0x1FF0000  # flags of `from __future__ import …`, which the generated code is compiled under too


def definition(code: CodeType) -> Function:
    """A fresh tree of the function's definition. Raises Unconvertible where its source is not to be had."""
    found = [node for node in definitions("".join(source(code))) if is_definition(node, code)]
    if len(found) != 1:
        raise edited(code)
    return copied(found[0])  # type: ignore[no-any-return]


@lru_cache(8)
def definitions(text: str) -> list[Function]:
    """The trees of all functions in a file."""
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, DEFINITIONS)]


def copied(tree: Any) -> Any:
    """A copy of a tree, or of what hangs in it."""
    if isinstance(tree, list):
        return [copied(node) for node in tree]
    if not isinstance(tree, ast.AST):
        return tree
    return ast.copy_location(type(tree)(**{name: copied(x) for name, x in ast.iter_fields(tree)}), tree)


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
        found = codes_in("".join(lines), code.co_flags & FUTURES)
    except SyntaxError:
        return False
    return code in found or any(name.startswith("@py") for c in functions(code) for name in c.co_varnames)


@lru_cache(8)
def codes_in(text: str, flags: int) -> frozenset[CodeType]:
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
