"""AutoGraph: convert a Python function so that its `if`, `while`, `for`, `and`, `or` and `not` work on symbols.

    source → syntax tree → jumps lowered (jumps.py) → blocks become functions (statements.py), choices become calls
    (expressions.py) → code, in the closure of the function → function

The generated code calls operators (operators.py), which look at the condition when they run: a symbolic tensor becomes
control flow of the graph, anything else runs in Python. Every node keeps its line, so that errors show the user's line.
(Moldovan et al. 2018, “AutoGraph: imperative-style coding with graph-based performance”.)

The definition is looked up in its file or notebook cell: a function by name and line, a lambda by line and column. The
file may have been edited since, so a definition is used only if it compiles to the code that the function has.
code() shows the generated code, and beside() shows it next to the source.
"""

from __future__ import annotations

import ast
import linecache
import warnings
from collections.abc import Sequence
from functools import lru_cache, partial, update_wrapper, wraps
from itertools import chain, zip_longest
from operator import attrgetter
from pickle import dumps, loads
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, SimpleNamespace
from types import WrapperDescriptorType as SlotType  # of object.__getattribute__
from typing import Any, NamedTuple

from ...engine.base.errors import ConversionError
from ...engine.core.modes import current, in_mode
from ...engine.core.stateful import ModuleLike
from . import branches, loops, operators, state
from .jumps import Unconvertible
from .operators import REPLACED, attrgetter_
from .scopes import Function, arguments, is_engine, is_foreign, mark_comprehensions
from .side_effects import warn_of_leaks
from .state import type_of
from .statements import Statements, reason_against

OPTIMISED = 0x1  # a flag of a function's code, which a class body does not have


class Conversion(NamedTuple):
    """The converted code of a function.

    ag      the name of the operators' namespace in it
    tree    the generated syntax tree
    code    the compiled tree
    """

    ag: str
    tree: ast.FunctionDef | ast.Lambda
    code: CodeType


conversions: dict[tuple[CodeType, str], Conversion | str] = {}  # a string: why it cannot be converted
made: set[CodeType] = set()  # all generated code


def convert(function: Any) -> Any:
    """The function, with control flow that also works on tensors of a graph. On values it behaves as before.

    A function that cannot be converted (there is no source, it is a generator or async) is returned unchanged, with a
    warning. A function of a library, or one marked do_not_convert, is returned unchanged without a warning.
    """
    if isinstance(function, FunctionType):
        if stays(function):
            return function
        conversion = conversion_of(function)
        if isinstance(conversion, str):
            left_alone(function, conversion)
    new = call(function)
    return new if new is function else with_leak_warnings(new)


def left_alone(function: FunctionType, reason: str) -> None:
    text = f"{function.__qualname__}() runs as it is written, without AutoGraph: {reason}. Mark it with "
    warnings.warn(text + "@minigrad.graph.autograph.do_not_convert if this is meant", stacklevel=3)


def with_leak_warnings(function: Any) -> Any:
    """The converted function, with a warning after the trace about variables that still hold a symbol."""

    @wraps(function)
    def run(*args: Any, **options: Any) -> Any:
        with warn_of_leaks(function):
            return function(*args, **options)

    return run


def call(function: Any) -> Any:
    """The function that a converted function calls in place of `function`."""
    match function:
        case FunctionType() if hasattr(function, "dispatch"):
            return lambda *xs, **options: call(function.dispatch(type_of(xs[0])))(*xs, **options)
        case FunctionType():
            return REPLACED.get(function) or convert_callee(function)
        case MethodType():
            inner = convert_callee(function.__func__)
            return function if inner is function.__func__ else MethodType(inner, function.__self__)
        case attrgetter():
            return attrgetter_(*function.__reduce__()[1])
        case BuiltinFunctionType() | type() | SlotType():
            return REPLACED.get(function, function)
        case partial():
            return partial(call(function.func), *function.args, **function.keywords)
        case ModuleLike():
            return with_converted_forward(function)
    its = vars(type(function)).get("__call__")
    return MethodType(convert_callee(its), function) if isinstance(its, FunctionType) and not stays(its) else function


def convert_callee(function: Any) -> Any:
    if not stays(function):
        return build_converted(function)
    is_wrapper = is_engine(function) and not hasattr(function, "do_not_convert")
    return with_converted_arguments(function) if is_wrapper else function


def stays(function: Any) -> bool:
    """Whether a function is called without conversion."""
    return hasattr(function, "do_not_convert") or is_foreign(function) or function.__code__ in made


def with_converted_arguments(function: Any) -> Any:
    """A function of minigrad that converts the user's functions among its arguments."""

    def wrapper(*args: Any, **options: Any) -> Any:
        return function(*(x if is_foreign(x) else call(x) for x in args), **options)

    return wrapper


def with_converted_forward(module: Any) -> Any:
    """A function that calls the module while its `forward`, and that of every module in it, are converted."""

    def wrapper(*xs: Any, **options: Any) -> Any:
        with in_mode(builder=None):  # so that the trace does not depend on modules that are not called
            parts = [*module.modules()]
        own = [part for part in parts if part.forward and "forward" not in vars(part) and not stays(type(part).forward)]
        for part in own:
            vars(part)["forward"] = MethodType(build_converted(type(part).forward), part)
        try:
            return module(*xs, **options)
        finally:
            for part in own:
                del vars(part)["forward"]

    return wrapper


def build_converted(function: Any) -> Any:
    """The converted function, in the closure of the original; the function itself, if it cannot be converted."""
    conversion = conversion_of(function)
    if current.mode.builder is not None and "<locals>" not in function.__qualname__:  # a reload skips inner functions
        current.mode.builder.note_read(function, "__code__")
    if isinstance(conversion, str):
        if conversion.endswith(EDITED):
            left_alone(function, conversion)
        return function
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    cells[conversion.ag] = CellType(AG)
    code = conversion.code
    closure = tuple(cells[n] for n in code.co_freevars)
    new = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    new.__kwdefaults__ = function.__kwdefaults__
    return update_wrapper(new, function)


CALLED = dict(chain(*(vars(part).items() for part in (state, branches, loops, operators))), call=call)
AG = SimpleNamespace(**{name: its for name, its in CALLED.items() if not name.startswith("__")})


def conversion_of(function: FunctionType) -> Conversion | str:
    """The conversion of a function, cached; or the reason why it cannot be converted."""
    key = function.__code__, function.__code__.co_filename
    if key not in conversions:
        try:
            conversions[key] = generate_conversion(function)
        except Unconvertible as reason:
            conversions[key] = str(reason)
    return conversions[key]


def generate_conversion(function: FunctionType) -> Conversion:
    code = function.__code__
    tree = definition(code)
    if reason := reason_against(tree):
        raise Unconvertible(reason)
    mangle_names(tree, function.__qualname__)
    mark_comprehensions(tree)
    names = FreshNames(tree, code)
    ag = names.fresh("ag")
    rewrite = Statements(ag, function.__globals__, names.bound, names.fresh)
    if isinstance(tree, ast.Lambda):
        new: Any = rewrite.visit_Lambda(tree)
    else:
        tree.decorator_list = []
        new = rewrite.function(tree)  # type: ignore[arg-type]
    return Conversion(ag, new, compile_tree(new, code, ag, names))


class FreshNames:
    """Makes new names that do not collide with those a function uses.

    bound    the names that the function binds or takes from enclosing functions
    given    the new names
    """

    def __init__(self, tree: Function, code: CodeType):
        names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
        stored = {name.id for name in names if not isinstance(name.ctx, ast.Load)}
        inner = [node for node in ast.walk(tree) if isinstance(node, Function)]
        self.bound = stored.union(code.co_freevars, code.co_varnames, code.co_cellvars, *map(arguments, inner))
        self.used = self.bound | {name.id for name in names}
        self.given: set[str] = set()

    def fresh(self, name: str) -> str:
        """The name, with a number if it is taken."""
        new, number = name, 1
        while new in self.used:
            number += 1
            new = f"{name}_{number}"
        self.used.add(new)
        self.given.add(new)
        return new


def compile_tree(tree: Any, code: CodeType, ag: str, names: FreshNames) -> CodeType:
    """Compile the tree to code with the free variables of the function, plus `ag`."""
    free = " = ".join((*code.co_freevars, ag))
    (factory,) = ast.parse(f"def factory():\n    {free} = None").body
    assert isinstance(factory, ast.FunctionDef)
    if isinstance(tree, ast.Lambda):
        factory.body.append(ast.copy_location(ast.Expr(tree), tree))
        whole = compiled_module(factory, code)
        return finish_code(inner_code(whole, "<lambda>"), code, names.given)
    # A new name, because a global function that calls itself would find its own name in the factory.
    name, tree.name = tree.name, names.fresh("function")
    factory.body.append(tree)
    whole = compiled_module(factory, code)
    new = finish_code(inner_code(whole, tree.name), code, names.given)
    tree.name = name
    return new


def compiled_module(factory: ast.FunctionDef, code: CodeType) -> CodeType:
    """Compile the factory with the lines, the file and the `from __future__` flags of the function."""
    module = ast.fix_missing_locations(ast.Module([factory], []))
    whole = compile(module, code.co_filename, "exec", code.co_flags & FUTURES, dont_inherit=True)
    return inner_code(whole, "factory")


def inner_code(code: CodeType, name: str) -> CodeType:
    """The code of the last function of that name: lambdas in default arguments have that name too, but come first."""
    return [c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name][-1]


def finish_code(code: CodeType, original: CodeType, given: set[str]) -> CodeType:
    new = rename_code(code, original, given)
    remember(new)
    return new


def rename_code(code: CodeType, original: CodeType, given: set[str]) -> CodeType:
    """The code with its blocks renamed to the function's own name, so that tracebacks show one function."""
    own = code.co_name in given or code.co_name == "<lambda>" == original.co_name
    name, qualname = (original.co_name, original.co_qualname) if own else (code.co_name, code.co_qualname)
    consts = tuple(rename_code(c, original, given) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_consts=consts, co_name=name, co_qualname=qualname)


def remember(code: CodeType) -> None:
    """Mark generated code, so that it is not converted again. Methods of classes in it may still be converted."""
    made.add(code)
    for inner in code.co_consts:
        if isinstance(inner, CodeType) and inner.co_flags & OPTIMISED:
            remember(inner)


def code(function: Any) -> str:
    """The code generated for a function, as text."""
    return ast.unparse(conversion(function).tree)


def beside(function: Any) -> str:
    """The source of a function on the left, its generated code on the right, line by line.

    Each line on the right has the number of the source line that it came from, which an error would show.
    """
    rows = list(align_lines(function))
    width = max(len(left) for left, _ in rows)
    return "\n".join(f"{left:{width}} │ {right}".rstrip() for left, right in rows)


def align_lines(function: Any) -> list[tuple[str, str]]:
    """Pairs of lines: each source line is next to the first line generated from it."""
    tree = definition(original_function(function).__code__)
    lines = source(original_function(function).__code__)
    first = first_line(tree)
    pending = [(n, f"{n:4} {lines[n - 1].rstrip()}") for n in range(first, (tree.end_lineno or first) + 1)]
    rows: list[tuple[str, str]] = []
    for origin, text in number_lines(function):
        while pending and pending[0][0] < origin:
            rows.append((pending.pop(0)[1], ""))
        left = pending.pop(0)[1] if pending and pending[0][0] == origin else ""
        rows.append((left, f"{origin:4} {text}"))
    return rows + [(left, "") for _, left in pending]


def number_lines(function: Any) -> list[tuple[int, str]]:
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


def original_function(function: Any) -> FunctionType:
    """The original function behind a method, a converted function, or an mg.function."""
    function = getattr(function, "__func__", function)
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    if not isinstance(function, FunctionType):
        raise ConversionError(f"code() shows what is generated for a Python function, and got {function!r}")
    return function


def conversion(function: Any) -> Conversion:
    """The conversion of a function. Raises ConversionError if there is none."""
    its = conversion_of(original_function(function))
    if isinstance(its, str):
        raise ConversionError(f"{original_function(function).__qualname__}() is not converted: {its}")
    return its


to_code = code


DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
EDITED = "it was edited since, so reload the module"
FUTURES = 0x1FF0000  # flags of `from __future__ import …`, also used to compile the generated code


def definition(code: CodeType) -> Function:
    """A new copy of the function's syntax tree. Raises Unconvertible if its source cannot be found."""
    nodes = nodes_at(parse_file("".join(source(code))), code.co_firstlineno)
    found = [node for node in nodes if isinstance(node, DEFINITIONS) and is_definition(node, code)]
    if len(found) != 1:
        raise edited_error(code)
    return loads(dumps(found[0]))  # type: ignore[no-any-return]


@lru_cache(8)
def parse_file(text: str) -> ast.AST:
    return ast.parse(text)


def nodes_at(tree: ast.AST, line: int) -> list[ast.AST]:
    """The nodes of a file whose lines include this one."""
    found = [tree]
    for node in found:  # grows in the loop
        is_text = isinstance(node, ast.JoinedStr | ast.FormattedValue)  # up to Python 3.11, its parts have wrong lines
        for x in ast.iter_child_nodes(node):
            if is_text or first_line(x, line) <= line <= getattr(x, "end_lineno", line):
                found.append(x)
    return found


def first_line(node: Any, default: int = 0) -> int:
    """The line where a node begins, with its decorators."""
    return getattr((*getattr(node, "decorator_list", ()), node)[0], "lineno", default)


def source(code: CodeType) -> Sequence[str]:
    """The lines of the file that a function was compiled from. Raises Unconvertible if they cannot be found."""
    for check in (lambda file: None, linecache.checkcache):  # the cached lines, then the current file
        check(code.co_filename)
        lines = linecache.getlines(code.co_filename)
        if lines and is_source(lines, code):
            return lines
    if lines:
        raise edited_error(code)
    raise Unconvertible(
        "its source cannot be found: write it in a file or a notebook, not in exec() or Python's own prompt"
    )


def edited_error(code: CodeType) -> Unconvertible:
    return Unconvertible(
        f"line {code.co_firstlineno} of {code.co_filename} is not the code that was imported: {EDITED}"
    )


def is_source(lines: Sequence[str], code: CodeType) -> bool:
    """Whether the code was compiled from these lines. Code with asserts rewritten by pytest is accepted too."""
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


def functions(code: CodeType) -> list[CodeType]:
    """The code, and the code of all functions in it."""
    found = [code]
    for each in found:  # grows in the loop
        for inner in each.co_consts:
            if isinstance(inner, CodeType):
                found.append(inner)
    return found


def is_definition(node: Function, code: CodeType) -> bool:
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno and within(node, code)
    is_same = node.name == code.co_name and first_line(node) == code.co_firstlineno
    return is_same and set(arguments(node)) <= set(code.co_varnames)


def within(node: ast.Lambda, code: CodeType) -> bool:
    """Whether the code is that of this lambda, judged by columns, as there may be other lambdas on the line."""
    spots = [(line, column) for line, _, column, _ in code.co_positions() if line is not None and column]
    body = node.body
    start, end = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
    return bool(spots) and all(start <= spot <= end for spot in spots) and start in spots


def mangle_names(tree: ast.AST, qualname: str) -> None:
    """Mangle private names, such as `self.__x` to `self._Class__x`, as Python does inside a class."""
    owner = qualname.split(".")[-2].lstrip("_") if "." in qualname and not qualname.split(".")[-2].endswith(">") else ""
    for node in ast.walk(tree) if owner else ():
        for field in ("id", "attr", "name", "arg"):
            name = getattr(node, field, None)
            if isinstance(name, str) and name.startswith("__") and not name.endswith("__"):
                setattr(node, field, f"_{owner}{name}")
