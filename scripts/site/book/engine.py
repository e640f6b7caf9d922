"""The engine as pages: each file cut at its definitions, with their docstrings as prose above the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from html import escape
from inspect import cleandoc

from book.pages import ROOT

HOUSE = ROOT / "minigrad"
ROUTE = re.compile(r"```route\n(.*?)```", re.DOTALL)
FILE = re.compile(r"`((?:\w+/)*\w+)\.py`")
LINKED = re.compile(r'class="source" href="[./]*/minigrad/([\w/]+)\.html')
UNLISTED = "---\norphan: true\nnosearch: true\n---\n\n"
SET = re.compile(r"^ |\S {2,}\S", re.MULTILINE)


def pages(text: str) -> dict[str, str]:
    """The READMEs of the package and the engine, the route's files, and other files that texts link to."""
    engine = (HOUSE / "engine" / "README.md").read_text("utf-8")
    route = dict(re.findall(r"^(\S+)\.py\s+(.+)$", ROUTE.findall(engine)[0], re.MULTILINE))
    made = {name: UNLISTED + page(name) for name in sorted(set(LINKED.findall(text)) - route.keys())}
    made |= {name: page(name) for name in route}
    rows = "\n".join(f"1. `{name}.py`: {why}" for name, why in route.items())
    tree = "\n".join(f"/minigrad/{name}" for name in route)
    made["engine/README"] = ROUTE.sub(f"{rows}\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```", engine)
    made["README"] = (HOUSE / "README.md").read_text("utf-8")
    for name, up in (("engine/README", "../"), ("README", "")):
        made[name] = FILE.sub(
            lambda one, up=up: f"[{one[0]}]({up}{one[1]}.md)" if one[1] in made else one[0], made[name]
        )
    return {f"minigrad/{name}": text for name, text in made.items()}


def page(name: str) -> str:
    lines = (HOUSE / f"{name}.py").read_text("utf-8").splitlines()
    cuts = [(0, "top", parsed(name)), *definitions(parsed(name))]
    parts = [f"# {name}.py\n"]
    for (start, title, node), (end, *_) in zip(cuts, [*cuts[1:], (len(lines),)]):
        docstring = range(node.body[0].lineno - 1, node.body[0].end_lineno) if ast.get_docstring(node) else ()
        code = "\n".join(lines[n] for n in range(start, end) if n not in docstring).strip("\n")
        parts.append(f'<div class="prose" id="{title}">{prose(ast.get_docstring(node))}</div>\n')
        parts += [f"````python\n{code}\n````\n"] * bool(code)
    return "\n".join(parts)


@cache
def parsed(name: str) -> ast.Module:
    return ast.parse((HOUSE / f"{name}.py").read_text("utf-8"))


def definitions(node: ast.AST, above: str = "") -> Iterator[tuple[int, str, ast.AST]]:
    """(first line, name, definition) of everything at top level, and of methods with longer docstrings."""
    for child in getattr(node, "body", []):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            title = above + child.name
            if not above or "\n" in (ast.get_docstring(child) or ""):
                yield min([child.lineno, *(one.lineno for one in child.decorator_list)]) - 1, title, child
            yield from definitions(child, f"{title}.") if isinstance(child, ast.ClassDef) else ()


def prose(doc: str | None) -> str:
    """A docstring as HTML: paragraphs, with columns and indented text preformatted."""
    blocks = re.split(r"\n\s*\n", cleandoc(doc)) if doc else []
    return "".join(
        f"<pre>{as_it_stands(block)}</pre>" if SET.search(block) else f"<p>{words(block)}</p>" for block in blocks
    )


def as_it_stands(block: str) -> str:
    """The block as one line of HTML: in Markdown, HTML that begins with <pre> ends with the line of </pre>."""
    return escape(block).replace("\n", "&#10;")


def words(text: str) -> str:
    """A text on one line, with code and addresses marked up."""
    html = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(" ".join(text.split()), quote=False))
    return re.sub(r"(https?://[^\s<]+[^\s<.,;)])", r'<a href="\1">\1</a>', html)
