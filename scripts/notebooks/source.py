"""A percent script becomes a notebook.

The header of the script describes the notebook, and goes into its metadata under `minigrad`:

    # ---
    # jupyter:
    #   minigrad:
    #     title: What a graph is
    #     minutes: 35
    # ---

A cell's id is a hash of its content, so that inserting a cell changes no other id. `name="…"` on the cell's own line
gives it an id that survives changes of its text.

A Markdown cell with slideshow={"slide_type": "notes"} is for the lecturer, and hidden from readers: its text goes into
the metadata of the cell above it, as `slideshow.notes`.

A Markdown cell with folded=true begins with a heading; JupyterLab shows the section under it collapsed: folding.py.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbformat import NotebookNode

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
CLOSED = "jp-MarkdownHeadingCollapsed"  # JupyterLab's own
# Each new cell validates itself, which is a fifth of the work of a build: text_of() validates the whole notebook.
nbformat.v4.nbbase.validate = lambda *_, **__: None
LAYOUT = ("lines_to_next_cell", "lines_to_end_of_cell_marker")  # the script's own, of no use in a notebook
WANTED = {
    "lessons": {"title": str, "minutes": int, "objectives": list, "concepts": list, "builds_on": list},
    "solutions": {"title": str, "minutes": int, "lesson": str, "concepts": list},
}


class BuildError(Exception):
    """A notebook that cannot be built. The message says where, what is wrong, and how to fix it."""


def notebook(path: Path) -> NotebookNode:
    """The notebook that a percent script describes, not yet run."""
    nb = deepcopy(parse(path.read_text("utf-8")))
    facts = checked_facts(path, nb.metadata.get("minigrad"))
    nb.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}, "minigrad": facts})
    nb.nbformat, nb.nbformat_minor = 4, 5
    nb.cells = without_notes(nb.cells, path)
    seen: Counter[str] = Counter()
    for cell in nb.cells:
        for key in LAYOUT:
            cell.metadata.pop(key, None)
        if cell.metadata.pop("folded", False):
            cell.metadata[CLOSED] = True
        digest = identity(path.stem, cell, seen)
        cell.id = cell.metadata.pop("name", digest)
    repeated = [name for name, n in Counter(cell.id for cell in nb.cells).items() if n > 1]
    if repeated:
        raise BuildError(f"{path.name}: two cells are named {repeated[0]!r}; names must be unique")
    return nb


@lru_cache
def parse(script: str) -> NotebookNode:
    """The cells of a script, cached: a build reads them several times, at a quarter of a second each."""
    return jupytext.reads(script, fmt="py:percent")


def without_notes(cells: list[NotebookNode], path: Path) -> list[NotebookNode]:
    """The cells, with each note in the metadata of the cell above it."""
    kept: list[NotebookNode] = []
    for cell in cells:
        if cell.metadata.get("slideshow", {}).get("slide_type") != "notes":
            kept.append(cell)
        elif not kept:
            raise BuildError(f"{path.name}: it begins with notes; they belong below the cell that they describe")
        else:
            shown = kept[-1].metadata.setdefault("slideshow", nbformat.from_dict({}))
            shown.notes = "\n\n".join(filter(None, [shown.get("notes"), cell.source]))
    return kept


def identity(stem: str, cell: NotebookNode, seen: Counter[str]) -> str:
    """Eight hex digits from the notebook's name, the cell's text, and the number of earlier cells with this text."""
    text = f"{cell.cell_type}\n{cell.source}"
    seen[text] += 1
    return hashlib.sha256(f"{stem}\n{seen[text]}\n{text}".encode()).hexdigest()[:8]


def checked_facts(path: Path, facts: Any) -> dict[str, Any]:
    """The header's data, checked for everything that the course map needs."""
    kind = path.parent.parent.name
    wanted = WANTED.get(kind, {})
    if not isinstance(facts, dict):
        raise BuildError(f"{path.name}: no header; it starts with `# ---`, `# jupyter:`, `#   minigrad:` and says "
                         f"{', '.join(wanted)}")  # fmt: skip
    for key, kind_of in wanted.items():
        if not isinstance(facts.get(key), kind_of):
            raise BuildError(f"{path.name}: the header's {key!r} is {facts.get(key)!r}; expected a {kind_of.__name__}")
    return dict(facts)


def text_of(nb: NotebookNode) -> str:
    """The file: sorted keys, one space of indent, no escapes, a final newline."""
    nbformat.validate(nb)
    return json.dumps(nbformat.v4.rwbase.split_lines(nb.copy()), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
