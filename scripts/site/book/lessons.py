"""The lessons as pages with widgets that work without a kernel: each lesson is run once, to store its widgets' state.

The notebooks of the repository keep only the picture of a widget. So the cells of a lesson run here, in a process of
their own, and each widget is identified by its cell and its text. The page has the picture; when the reader scrolls
near it, book.js replaces it by the widget, from three files: its state, its JavaScript and its CSS.
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
from browser_edition.without_numpy import needs_numpy
from ipykernel.compiler import XCachingCompiler
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_output

import minigrad as mg
from book import play
from book.pages import LESSONS
from minigrad.course.prediction import NOT_LOCKED
from minigrad.course.widgets.form import Form
from minigrad.course.widgets.training_view import TrainingView
from minigrad.course.widgets.widget import MODEL, Widget, scope

RUN = "run/lab/index.html?path="
READING = "This page is for reading: nothing runs here, and what you lock is compared only where the lesson runs"
IN_THE_BROWSER = (
    ". <b>Run this lesson</b> opens it in your browser in some 20 seconds; what you write stays in that browser."
)
ELSEWHERE = (
    ': <a href="../index.html#on-your-own-machine">on your own machine</a>, for this site has no NumPy in the browser.'
)


@dataclass(frozen=True)
class Site:
    """Where lessons can be opened.

    repository    OWNER/NAME on GitHub, for Colab and Binder
    has_numpy     whether all lessons run in the browser
    """

    repository: str | None = None
    has_numpy: bool = False


SLOW = ("12", "25", "00", "22")  # the lessons that run longest; they start first, so that no processor waits for them
HIDDEN = ("reveal(", "reveal_range(", "dashboard(")  # calls whose cells hide their output until a click
Asked = tuple[Any, str]  # a widget, and for a question its state before the answer


def pages(files: Path, site: Site, stepping: Callable[[str], bool]) -> dict[str, str]:
    """The notebooks by name, each run in a process; their widgets' files are written to `files`."""
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"  # a fork has its imports already
    slowest_first = sorted(LESSONS, key=lambda path: path.stem[:2] not in SLOW)
    asked = [(path, files, site, stepping(path.stem)) for path in slowest_first]
    made = {}
    with multiprocessing.get_context(method).Pool(os.cpu_count(), maxtasksperchild=1) as pool:
        for name, text, seconds in pool.imap_unordered(timed_page, asked):
            made[name] = text
            print(f"lessons run: {len(made):2} of {len(asked)}, {name} in {seconds:.1f} s of CPU", flush=True)
    return {f"lessons/{path.name}": made[path.stem] for path in LESSONS}


def timed_page(asked: tuple[Path, Path, Site, bool]) -> tuple[str, str, float]:
    """The name of a lesson, its notebook with live widgets, and the CPU seconds of this process, which makes one."""
    return asked[0].stem, page(*asked), sum(os.times()[:4])


def page(path: Path, files: Path, site: Site, is_run: bool) -> str:
    nb = nbformat.read(path, 4)
    widgets, printed = run(nb, path) if is_run else ({}, {})
    for cell in nb.cells:
        if cell.cell_type == "code":
            show(cell, widgets.get(cell.id, []), printed.get(cell.id, ""), files, path.stem)
    nb.cells.insert(1, new_markdown_cell(ways(path.stem, site), id="ways"))
    return nbformat.writes(nb)


def ways(lesson: str, site: Site) -> str:
    """Links to places where a lesson runs. Copies for Colab, which install minigrad, are on the branch `hosted`."""
    runs, links = site.has_numpy or not needs_numpy(f"lessons/{lesson}"), []
    if runs:
        links += [f'<a class="button" target="run" href="../{RUN}lessons/{lesson}.ipynb">Run this lesson</a>']
    if site.repository:
        colab = f"https://colab.research.google.com/github/{site.repository}/blob/hosted/lessons/{lesson}.ipynb"
        binder = f"https://mybinder.org/v2/gh/{site.repository}/main?urlpath=lab/tree/lessons/{lesson}.ipynb"
        links += [f'<a class="button quiet" href="{colab}">Open in Colab</a>']
        links += [f'<a class="button quiet" href="{binder}">Launch Binder</a>']
    buttons = f'\n<p class="ways">{" ".join(links)}</p>' if links else ""
    reading = f'<p class="caption">{READING}{IN_THE_BROWSER if runs else ELSEWHERE}</p>{buttons}'
    return f"{reading}\n\n{play.of_lesson(lesson)}"


def run(nb: NotebookNode, path: Path) -> tuple[dict[str, list[Asked]], dict[str, str]]:
    """Cell id → its widgets and its printed text. Widgets have their state at the lesson's end.

    Raises RuntimeError if a cell fails unexpectedly: its page would lack the output.
    """
    shell: Any = InteractiveShell.instance(compiler_class=XCachingCompiler)  # names cells as a kernel does
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
    """Prepare a cell's outputs: widgets in place of their pictures, pictures as files."""
    tags = cell.metadata.setdefault("tags", [])
    if any(call in cell.source for call in HIDDEN):
        tags.append("hide-output")
    if "measured" in tags and not cell.outputs:
        note = f'<p class="caption">Measured where this page was made.</p><pre>{escape(printed)}</pre>'
        data = [one.fallback for one, _ in widgets] or [{"text/html": note}] * bool(printed)
        cell.outputs = [new_output("display_data", one) for one in data]  # differs between machines, so not stored
    for output in cell.outputs:
        data = output.get("data", {})
        html = drawn(data, files) if "image/svg+xml" in data else data.get("text/html", "").replace(NOT_LOCKED, "")
        for one, asked in widgets[:1]:
            if data.get("text/plain", "").startswith(re.split("[(:\n]", one.fallback["text/plain"])[0]):
                del widgets[0]
                html = placed(one, asked or held(one), f"{lesson[:2]}-{cell.id}", html, files)
        output.update({"data": {"text/html": html}} if html else {})
    assert not widgets, f"{lesson}: {widgets[0]} is in no output; run `python scripts/build {lesson}`"


def drawn(data: dict[str, str], files: Path) -> str:
    """A picture as a file of its own: as an image it follows the page's theme."""
    svg, words = data["image/svg+xml"], escape(data.get("text/plain", ""))
    size = re.search(r'viewBox="\S+ \S+ (\S+) (\S+)"', svg)
    if size is None:  # a picture of text only
        return f"<pre>{words}</pre>"
    alt = ". ".join(re.findall(r"<(?:title|desc)>(.*?)</", svg, re.DOTALL)[:2]) or words
    width, height = (round(float(size[n])) for n in (1, 2))
    return (
        f'<img class="picture" src="../_static/files/{written(files, digest(svg), "svg", svg)}.svg" alt="{alt}" '
        f'loading="lazy" width="{width}" height="{height}" style="--width: {width}px">'
    )


def placed(one: Any, state: str, name: str, picture: str, files: Path) -> str:
    """Write a widget's files; returns its placeholder in the page as HTML, with its picture until it is loaded."""
    module = one._esm.replace("export default", "const widget =", 1) + "\nreturn widget;"
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
    """The widget of the first page, the stand-in for all widgets' kernels, and the playground."""
    written(files.parent, "model", "js", MODEL)
    play.write(files.parent)
    x, y, w = mg.Value(2.0), mg.Value(-3.0), mg.Value(4.0)
    temp = x * y
    s = temp + w
    z = s * x
    one = mg.widgets.ChainRule(z, names={"x": x, "y": y, "w": w, "temp": temp, "s": s, "z": z})
    picture = drawn(one.fallback, files).replace("../", "")
    return placed(one, held(one), "first", picture, files)
