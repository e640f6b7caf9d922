"""The reference, generated from the code: ops by running their rules on symbols, the rest from docstrings."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterable
from dataclasses import fields, replace
from html import escape
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.ext.autodoc.mock import mock

from book.engine import HOUSE, definitions, parsed, prose, words
from book.pages import ROOT, tree
from minigrad import ops
from minigrad.draw.rules import rules_of
from minigrad.draw.words import NUMBER, number, shorten
from minigrad.engine.base.errors import MinigradError
from minigrad.engine.base.spec import Spec
from minigrad.engine.core.op import Elementwise, Op, complete
from minigrad.engine.tensor.symbol import placeholder

NAMESPACES = ["mg"] + [f"mg.{name}" for name in (
    *("nn", "functional", "optim", "autograd", "func", "graph", "lax", "linalg", "special", "fft", "random", "data"),
    *("amp", "quantization", "saving", "onnx", "profiler", "distributed", "zoo", "laws", "widgets"),
    *("utils.checkpoint", "utils.data", "utils.tensorboard"),
)]  # fmt: skip
QUOTED = re.compile(r"(?<=: |> )'([^']*)'|<class '([\w.]+)'>|<function (\S+) at \w+>")  # names, as Python shows them
LONGEST = 200  # characters of a derivative to show
UNLISTED = ":no-contents-entry:\n"  # except for ops: Sphinx copies all contents to each page, 30 s for 1,200 more names


def pages() -> dict[str, str]:
    """The reference as Markdown. mg.onnx is listed without its optional dependency."""
    sys.path.insert(0, str(ROOT))
    examples = import_module("tests.examples").EXAMPLES
    families = [
        name for row in re.findall(r"^    (\S.*?) {2,}", ops.__doc__ or "", re.MULTILINE) for name in row.split()
    ]
    made = {f"api/ops/{name}": family(import_module(f"minigrad.engine.ops.{name}"), examples) for name in families}
    with mock(["onnx", "google"]):
        spaces = {f"api/{name.removeprefix('mg.')}": namespace(name) for name in NAMESPACES}
    trees = tree("The ops", [f"/{name}" for name in made], "")
    trees += tree("Namespaces", [f"/{name}" for name in spaces], ":maxdepth: 1")
    text = Path(__file__).with_name("text") / "api.md"
    return made | spaces | {"api/index": text.read_text("utf-8") + trees}


def namespace(name: str) -> str:
    """The public names of a module: names imported without `as` are for its own use."""
    module = import_module(name.replace("mg", "minigrad", 1))
    imports = [each for each in parsed(file_of(module.__name__)).body if isinstance(each, ast.ImportFrom)]
    inside = {one.asname or one.name for each in imports for one in each.names if one.name != one.asname}
    names = getattr(module, "NAMES", [one for one in dir(module) if one not in inside])
    return f'# {name}\n\n<div class="prose">{prose(module.__doc__)}</div>\n\n{listed(module, name, names)}'


def file_of(module: str) -> str:
    return Path(sys.modules[module].__file__ or "").relative_to(HOUSE).with_suffix("").as_posix()


def listed(home: Any, prefix: str, names: Iterable[str]) -> str:
    """Our names in a namespace or class, each with its signature, docstring and source link."""
    found = {f"{prefix}.{name}": getattr(home, name) for name in names if not name.startswith("_")}
    return "".join(
        described(value, f"{name}{signature(value)}", f"{prose(value.__doc__)}<p>{link(value, '../')}</p>", UNLISTED)
        + listed(value, name, methods(value))
        for name, value in found.items()
        if callable(value) and str(getattr(value, "__module__", "")).startswith("minigrad")
    )


def methods(value: Any) -> list[str]:
    """The methods that a class defines, if they have a docstring."""
    names = vars(value) if isinstance(value, type) else ()
    return [name for name in names if inspect.isroutine(one := getattr(value, name)) and one.__doc__]


def described(value: Any, said: str, html: str, option: str = "") -> str:
    """An entry of Sphinx's Python domain: search finds it by name, and the page lists it in its contents."""
    kind = "class" if isinstance(value, type) else "function"
    return f"```{{py:{kind}}} {said}\n:no-index-entry:\n{option}\n{html}\n```\n\n"


def signature(value: Any) -> str:
    """Show annotations and defaults as in the source."""
    try:
        return QUOTED.sub(r"\1\2\3", str(inspect.signature(value))).removesuffix(" -> None")
    except (TypeError, ValueError):
        return "(…)"


def link(value: Any, up: str) -> str:
    """A link to its definition: to its anchor in the page of the file, if there is one."""
    value = inspect.unwrap(value)
    name, anchor = file_of(value.__module__), getattr(value, "__qualname__", "").partition(".")[0]
    place = f"#{anchor}" if anchor in {title for _, title, _ in definitions(parsed(name))} else ""
    return f'<a class="source" href="{up}minigrad/{name}.html{place}">{name}.py</a>'


def family(module: ModuleType, examples: dict[type[Op], Any]) -> str:
    members = [one for one in vars(module).values() if isinstance(one, type) and one.__module__ == module.__name__]
    entries = "".join(entry(one, examples.get(one, [])) for one in members if hasattr(ops, one.__name__))
    name = module.__name__.removeprefix("minigrad.").replace(".", "/")
    return f'# {name}.py\n\n<div class="prose">{prose(module.__doc__)}</div>\n\n{entries}'


def entry(one: type[Op], examples: list[Any]) -> str:
    """An op's entry: its formula and text, its derivative, shapes of examples, and source link."""
    formula, _, more = inspect.cleandoc(one.__doc__ or "").partition("\n")
    rows = {}
    if examples:
        first, *rest = names = operands(*examples[0])
        if getattr(one, "method", None):
            rows["called"] = code(f"{first}.{one.method}({', '.join(rest)})", f"mg.{one.method}({', '.join(names)})")
        rows |= {"derivative": derivative(names, *examples[0]), "shapes": code(*map(shapes, examples[:3]))}
    rows["source"] = link(one, "../../")
    table = "".join(f"<dt>{key}</dt><dd>{html}</dd>" for key, html in rows.items())
    said = f'<p class="formula">{words(formula)}</p>\n<div class="prose">{prose(more)}</div>'
    complete(one)
    parameters = ", ".join(getattr(one, "__match_args__", ()))
    return described(one, f"ops.{one.__name__}({parameters})", f'{said}\n<dl class="facts">{table}</dl>')


def code(*texts: str) -> str:
    return "<br>".join(f"<code>{escape(text)}</code>" for text in texts)


def operands(op: Op, *xs: Any) -> list[str]:
    """The operand names in `forward`: for `*b`, b, or b1 and b2."""
    said = [*inspect.signature(op.forward).parameters.values()][1:]
    names = [one.name for one in said if one.kind is not one.VAR_POSITIONAL]
    more, rest = len(xs) - len(names), said[-1].name
    return names + ([rest] if more == 1 else [f"{rest}{n + 1}" for n in range(more)])


def derivative(names: list[str], op: Op, *xs: Any) -> str:
    """The op's rules as text; parameters appear by name unless they are computed with."""
    parameters = [each.name for each in fields(op) if isinstance(getattr(op, each.name), float)]
    odd = {name: 0.1371 + n / 10 for n, name in enumerate(parameters)}  # numbers that no rule contains
    plain, named = (rules(names, one, [x.spec for x in xs]) for one in (op, replace(op, **odd)))
    for name, value in odd.items():
        named = named.replace(number(value), name)
    return named if {*NUMBER.findall(named)} <= {*NUMBER.findall(plain)} else plain


def rules(names: list[str], op: Op, specs: list[Spec]) -> str:
    """A line for each operand."""
    y = "z" if "y" in names else "y"
    if isinstance(op, Elementwise):  # operands of one shape, which avoids sums over broadcast axes
        specs = [Spec(op.infer(*specs).shape, spec.dtype) for spec in specs]
    symbols = [placeholder(name, spec) for name, spec in zip(names, specs, strict=True)]
    try:
        found = rules_of(symbols[0].apply(op, *symbols[1:]).node, [y, *names])
    except MinigradError:
        return "none"
    said = [(f"g{x}" if rule.is_whole else f"∂{y}/∂{x}", rule.text) for x, rule in zip(names, found) if rule.text]
    return code(*(f"{x} = {shorten(text, LONGEST)}" for x, text in said)) or "none"


def shapes(example: Any) -> str:
    """The shapes of an example, such as `MatMul: f64[2, 3], f64[3, 4] → f64[2, 4]`."""
    op, *xs = example
    return f"{op}: {', '.join(str(x.spec) for x in xs)} → {op.infer(*(x.spec for x in xs))}"
