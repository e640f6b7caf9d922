"""The lessons as pages with widgets that step without a kernel: each is run once, and what its widgets hold is kept.

The notebooks of the repository keep the picture of a widget, and not the widget. So the cells of a lesson run here, in
a process of its own, and a widget is found again by its cell and its words. Its page has the picture; book.js puts the
widget in its place when the reader comes near, from three files: what it holds, its JavaScript, its CSS.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from itertools import chain
from pathlib import Path
from typing import Any

import nbformat
from ipykernel.compiler import XCachingCompiler
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_output

import minigrad as mg
from book.pages import LESSONS
from minigrad.course.prediction import NOT_LOCKED
from minigrad.course.widgets.form import Form
from minigrad.course.widgets.page import MODEL
from minigrad.course.widgets.training_view import TrainingView
from minigrad.course.widgets.widget import Widget, scope

RUN = "run/lab/index.html?path="
SCALAR = ("00", "01", "02")  # the lessons that the browser edition runs without NumPy, to their arrays
READING = "This page is for reading: nothing runs here, and what you lock is compared only where the lesson runs"
IN_THE_BROWSER = (
    ". <b>Run this lesson</b> opens it in your browser in some 20 seconds; what you write stays in that browser."
)
ELSEWHERE = (
    ': <a href="../index.html#on-your-own-machine">on your own machine</a>, for this site has no NumPy in the browser.'
)


@dataclass(frozen=True)
class Site:
    """What lessons can be opened in.

    repository    OWNER/NAME on GitHub, if in Colab and Binder
    has_numpy     whether all of them run in the browser
    """

    repository: str | None = None
    has_numpy: bool = False


Asked = tuple[Any, str]  # a widget, and what it held when it asked, if it is a question


def pages(files: Path, site: Site, stepping: Callable[[str], bool]) -> dict[str, str]:
    """The notebooks by their names, a process for each, and what they load written to `files`."""
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"  # forked, they need not import
    with multiprocessing.get_context(method).Pool(os.cpu_count(), maxtasksperchild=1) as pool:
        asked = [(path, files, site, stepping(path.stem)) for path in LESSONS]
        made = pool.starmap(page, asked, chunksize=1)
    return {f"lessons/{path.name}": text for path, text in zip(LESSONS, made)}


def page(path: Path, files: Path, site: Site, is_run: bool) -> str:
    nb = nbformat.read(path, 4)
    widgets, printed = run(nb, path) if is_run else ({}, {})
    for cell in nb.cells:
        if cell.cell_type == "code":
            show(cell, widgets.get(cell.id, []), printed.get(cell.id, ""), files, path.stem)
    nb.cells.insert(1, new_markdown_cell(ways(path.stem, site), id="ways"))
    return nbformat.writes(nb)


def ways(lesson: str, site: Site) -> str:
    """Where a lesson runs; on GitHub, Colab's copies install minigrad, and are on the branch `hosted`."""
    runs, links = site.has_numpy or lesson[:2] in SCALAR, []
    if runs:
        links += [f'<a class="button" target="run" href="../{RUN}lessons/{lesson}.ipynb">Run this lesson</a>']
    if site.repository:
        colab = f"https://colab.research.google.com/github/{site.repository}/blob/hosted/lessons/{lesson}.ipynb"
        binder = f"https://mybinder.org/v2/gh/{site.repository}/main?urlpath=lab/tree/lessons/{lesson}.ipynb"
        links += [f'<a class="button quiet" href="{colab}">Open in Colab</a>']
        links += [f'<a class="button quiet" href="{binder}">Launch Binder</a>']
    buttons = f'\n<p class="ways">{" ".join(links)}</p>' if links else ""
    return f'<p class="caption">{READING}{IN_THE_BROWSER if runs else ELSEWHERE}</p>{buttons}'


def run(nb: NotebookNode, path: Path) -> tuple[dict[str, list[Asked]], dict[str, str]]:
    """The widgets that each cell shows, and what it prints, by its id. Widgets are as they are when the lesson ends.

    Raises RuntimeError where a cell fails that is not meant to: its page would lack what it shows.
    """
    shell: Any = InteractiveShell.instance(compiler_class=XCachingCompiler)  # cells are called as in a kernel
    widgets: dict[str, list[Asked]] = defaultdict(list)
    printed = {}

    def bundle(one: Widget, **_: object) -> dict[str, str]:
        widgets[cell.id].append((one, held(one) if isinstance(one, Form) else ""))
        return one.fallback

    shell.display_formatter.mimebundle_formatter.for_type(Widget, bundle)
    os.chdir(path.parent)
    for cell in nb.cells:
        if cell.cell_type == "code":
            with capture_output() as captured:
                result = shell.run_cell(cell.source)
            if not result.success and "raises-exception" not in cell.metadata.get("tags", ()):
                raise RuntimeError(f"{path.stem}, cell {cell.id}: {result.error_in_exec or result.error_before_exec!r}")
            printed[cell.id] = re.sub(r"^Out\[\d+\]: ", "", captured.stdout, flags=re.MULTILINE)
    for one, _ in chain(*widgets.values()):
        if isinstance(one, TrainingView):
            one.wait()
    return widgets, printed


def show(cell: NotebookNode, widgets: list[Asked], printed: str, files: Path, lesson: str) -> None:
    """Make the outputs of a cell ready: widgets in the places of their pictures, pictures as files."""
    tags = cell.metadata.setdefault("tags", [])
    if any(call in cell.source for call in ("reveal(", "dashboard(")):  # what was to be predicted; a table of zeros
        tags.append("hide-output")
    if "measured" in tags and not cell.outputs:
        note = f'<p class="caption">Measured where this page was made.</p><pre>{escape(printed)}</pre>'
        data = [one.fallback for one, _ in widgets] or [{"text/html": note}] * bool(printed)
        cell.outputs = [new_output("display_data", one) for one in data]  # another on each machine, and so not kept
    for output in cell.outputs:
        data = output.get("data", {})
        html = drawn(data, files) if "image/svg+xml" in data else data.get("text/html", "").replace(NOT_LOCKED, "")
        for one, asked in widgets[:1]:
            if data.get("text/plain", "").startswith(re.split("[(:]", one.fallback["text/plain"])[0]):
                del widgets[0]
                html = placed(one, asked or held(one), f"{lesson[:2]}-{cell.id}", html, files)
        output.update({"data": {"text/html": html}} if html else {})
    assert not widgets, f"{lesson}: {widgets[0]} is in no output; run `python scripts/build {lesson}`"


def drawn(data: dict[str, str], files: Path) -> str:
    """A picture as a file of its own: as an image it follows the theme of the page around it."""
    svg, words = data["image/svg+xml"], escape(data.get("text/plain", ""))
    size = re.search(r'viewBox="\S+ \S+ (\S+) (\S+)"', svg)
    if size is None:  # of what is all words
        return f"<pre>{words}</pre>"
    alt = ". ".join(re.findall(r"<(?:title|desc)>(.*?)</", svg, re.DOTALL)[:2]) or words
    width, height = (round(float(size[n])) for n in (1, 2))
    return (
        f'<img class="picture" src="../_static/files/{written(files, digest(svg), "svg", svg)}.svg" alt="{alt}" '
        f'loading="lazy" width="{width}" height="{height}" style="--width: {width}px">'
    )


def placed(one: Any, state: str, name: str, picture: str, files: Path) -> str:
    """Write a widget's files, and give its place in a page as HTML, with a picture until it is there."""
    module = one._esm.replace("export default", "return", 1)
    parts = {
        "widget": written(files, name, "js", f'shelf["{name}"] = {state};'),
        "module": written(files, digest(module), "js", f'shelf["{digest(module)}"] = (() => {{\n{module}\n}})();'),
        "sheet": written(files, digest(one._css), "css", one._css),
        "scope": scope(*one.sheets),
    }
    data = " ".join(f'data-{key}="{value}"' for key, value in parts.items())
    return f'<div class="widget" {data}>{picture}</div>'


def held(one: Any) -> str:
    return json.dumps({name: getattr(one, name) for name in one.shown}, ensure_ascii=False, separators=(",", ":"))


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:12]


def written(folder: Path, name: str, kind: str, text: str) -> str:
    (folder / f"{name}.{kind}").write_text(text, "utf-8")
    return name


def first(files: Path) -> str:
    """The widget of the first page, and what stands in for all widgets' kernels."""
    written(files.parent, "model", "js", MODEL)
    x, y, w = mg.Value(2.0), mg.Value(-3.0), mg.Value(4.0)
    temp = x * y
    s = temp + w
    z = s * x
    one = mg.widgets.ChainRule(z, names={"x": x, "y": y, "w": w, "temp": temp, "s": s, "z": z})
    picture = drawn(one.fallback, files).replace("../", "")
    return placed(one, held(one), "first", picture, files)
