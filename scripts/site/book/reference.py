"""The reference, read off the code: an op by running its own rules on symbols, all else by signature and docstring."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from html import escape
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.ext.autodoc.mock import mock

from book.engine import HOUSE, definitions, parsed, prose, words
from book.pages import ROOT, tree
from minigrad import ops
from minigrad.base.errors import MinigradError
from minigrad.base.spec import Spec
from minigrad.core.op import Elementwise, Op
from minigrad.draw.rules import rules_of
from minigrad.tensor.symbol import placeholder

NAMESPACES = (
    *("nn", "functional", "optim", "autograd", "func", "graph", "lax", "linalg", "special", "fft", "random", "data"),
    *("amp", "quantization", "saving", "onnx", "profiler", "distributed", "zoo", "laws", "widgets"),
    *("utils.checkpoint", "utils.data", "utils.tensorboard"),
)
LONGEST = 200  # characters of a derivative that are shown


def pages() -> dict[str, str]:
    """As Markdown. An extra that mg.onnx needs is not needed to say what is in it."""
    sys.path.insert(0, str(ROOT / "tests"))
    examples = import_module("examples").EXAMPLES
    families = [
        name for row in re.findall(r"^    (\S.*?) {2,}", ops.__doc__ or "", re.MULTILINE) for name in row.split()
    ]
    made = {f"api/ops/{name}": family(import_module(f"minigrad.ops.{name}"), examples) for name in families}
    with mock(["onnx"]):
        spaces = {"api/mg": contents()} | {f"api/{name}": namespace(name) for name in NAMESPACES}
    trees = tree("The ops", [f"/{name}" for name in made], "") + tree("Namespaces", [f"/{name}" for name in spaces], "")
    text = Path(__file__).with_name("text") / "api.md"
    return made | spaces | {"api/index": text.read_text("utf-8") + trees}


def contents() -> str:
    """What `mg` has itself, by the modules that it is from."""
    mg = import_module("minigrad")
    sections = [
        one for one in ast.parse((HOUSE / "__init__.pyi").read_text("utf-8")).body if isinstance(one, ast.ImportFrom)
    ]
    return "# mg\n\n" + "".join(
        f"## {one.module}\n\n{listed(mg, 'mg', [alias.name for alias in one.names])}" for one in sections if one.module
    )


def namespace(name: str) -> str:
    module = import_module(f"minigrad.{name}")
    names = getattr(module, "NAMES", [one for one in dir(module) if not one.startswith("_")])
    return f'# mg.{name}\n\n<div class="prose">{prose(module.__doc__)}</div>\n\n{listed(module, f"mg.{name}", names)}'


def listed(home: ModuleType, prefix: str, names: list[str]) -> str:
    """Names of a namespace, each with its signature, where it is, and its docstring."""
    found = {name: getattr(home, name) for name in names}
    return "".join(
        f'<div class="entry" id="{prefix}.{name}"><p class="signature"><code><b>{prefix}.{name}</b>'
        f"{escape(signature(value))}</code> {link(value, '../')}</p>{prose(value.__doc__)}</div>\n\n"
        for name, value in found.items()
        if callable(value) and str(getattr(value, "__module__", "")).startswith("minigrad")
    )


def signature(value: Any) -> str:
    """Annotations stand as in the source, without the quotes of a text."""
    try:
        return re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(value)))
    except (TypeError, ValueError):
        return "(…)"


def link(value: Any, up: str) -> str:
    """A link to what defines it: to its place in the page of a file, if it has one."""
    value = inspect.unwrap(value)
    file = Path(sys.modules[value.__module__].__file__ or "").relative_to(HOUSE)
    name, anchor = file.with_suffix("").as_posix(), getattr(value, "__qualname__", "").partition(".")[0]
    place = f"#{anchor}" if anchor in {title for _, title, _ in definitions(parsed(name))} else ""
    return f'<a class="source" href="{up}minigrad/{name}.html{place}">{name}.py</a>'


def family(module: ModuleType, examples: dict[type[Op], Any]) -> str:
    members = [one for one in vars(module).values() if isinstance(one, type) and one.__module__ == module.__name__]
    entries = "".join(entry(one, examples.get(one, [])) for one in members if hasattr(ops, one.__name__))
    name = module.__name__.removeprefix("minigrad.").replace(".", "/")
    return f'# {name}.py\n\n<div class="prose">{prose(module.__doc__)}</div>\n\n{entries}'


def entry(one: type[Op], examples: list[Any]) -> str:
    """An op: its formula and what else it says, its derivative, the shapes of examples, where it is."""
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
    return f'## {one.__name__}\n\n{said}\n<dl class="facts">{table}</dl>\n\n'


def code(*texts: str) -> str:
    return "<br>".join(f"<code>{escape(text)}</code>" for text in texts)


def operands(op: Op, *xs: Any) -> list[str]:
    """What `forward` calls them: of `*b`, b, or b1 and b2."""
    said = [*inspect.signature(op.forward).parameters.values()][1:]
    names = [one.name for one in said if one.kind is not one.VAR_POSITIONAL]
    more, rest = len(xs) - len(names), said[-1].name
    return names + ([rest] if more == 1 else [f"{rest}{n + 1}" for n in range(more)])


def derivative(names: list[str], op: Op, *xs: Any) -> str:
    """The op's rules in words, a line for each operand."""
    y, specs = "z" if "y" in names else "y", [x.spec for x in xs]
    if isinstance(op, Elementwise):  # of one shape, and so without the sum that undoes broadcasting
        specs = [Spec(op.infer(*specs).shape, spec.dtype) for spec in specs]
    symbols = [placeholder(name, spec) for name, spec in zip(names, specs, strict=True)]
    try:
        rules = rules_of(symbols[0].apply(op, *symbols[1:]).node, [y, *names])
    except MinigradError:
        return "none"
    said = [(f"g{x}" if rule.is_whole else f"∂{y}/∂{x}", rule.text) for x, rule in zip(names, rules) if rule.text]
    return code(*(f"{x} = {text[:LONGEST]}{' …' * (len(text) > LONGEST)}" for x, text in said)) or "none"


def shapes(example: Any) -> str:
    """As `MatMul: f64[2, 3], f64[3, 4] → f64[2, 4]`."""
    op, *xs = example
    return f"{op}: {', '.join(str(x.spec) for x in xs)} → {op.infer(*(x.spec for x in xs))}"
