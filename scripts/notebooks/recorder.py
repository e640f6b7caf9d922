"""Runs the lessons' cells for another framework, and stores what they print and show: `scripts/record`.

A recording is the text that the function printed and the graph of the view that it returned, as JSON or "".
"""

from __future__ import annotations

import ast
import json
import re
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import minigrad
from minigrad import course
from minigrad.course import recorded as recordings
from minigrad.course.widgets import GraphView
from minigrad.draw.listing import Entry, Listing, Scope

FOLDER = Path(recordings.__file__).with_name("recordings")
PACKAGES = {"in_pytorch": "torch", "in_jax": "jax", "in_tensorflow": "tensorflow"}
FILE = "cell.py"
Recording = tuple[str, str]


@dataclass(frozen=True)
class Cell:
    """A cell of a lesson for another framework.

    name       the name of the function in the cell
    text       the docstring of the function
    package    the package that the function takes as its argument
    source     the whole cell
    """

    name: str
    text: str
    package: str
    source: str


def cells_of(lesson: Path) -> Iterator[Cell]:
    """The cells for other frameworks in the source of a lesson."""
    for source in re.split(r"^# %%.*\n", lesson.read_text("utf-8"), flags=re.M):
        word = re.search(rf"^@({'|'.join(PACKAGES)})$", source, re.M)
        if word:
            f = next(part for part in ast.parse(source).body if isinstance(part, ast.FunctionDef))
            yield Cell(f.name, ast.get_docstring(f) or "", PACKAGES[word[1]], source.strip("\n"))


def read_recording(cell: Cell) -> Recording:
    """The text and the graph that are stored for a cell."""
    path = FOLDER / f"{cell.name}.json"
    return cell.text, path.read_text("utf-8") if path.exists() else ""


def record(cell: Cell) -> Recording:
    """The text that the cell prints and the graph that it shows, from a run. Its framework must be installed."""
    with tempfile.TemporaryDirectory() as folder:
        text, view = recordings.run(function_of(cell, Path(folder)), cell.package)
    if view is None:
        return text, ""
    if text != cell.text:  # a new docstring may shift the lines that the graph names
        return record(replace(cell, text=text, source=with_docstring(cell, text, cell.source)))
    return text, json_of(view.overview.listing)


def function_of(cell: Cell, folder: Path) -> Callable[[Any], object]:
    """The function in the cell, not yet called. The cell becomes a file: frameworks read the source of functions."""
    found: list[Callable[[Any], object]] = []
    decorators = dict.fromkeys(PACKAGES, found.append)
    path = folder / FILE
    path.write_text(cell.source, "utf-8")
    with patch.multiple(recordings, **decorators), patch.multiple(course, **decorators):
        exec(
            compile(cell.source, path, "exec"),
            {"mg": minigrad, "GraphView": GraphView, "__name__": path.stem, **decorators},
        )
    return found[0]


def json_of(listing: Listing) -> str:
    """The listing as JSON, with a line for each entry, and without the framework's own objects."""
    scopes = list(dict.fromkeys(scope for entry in listing.entries for scope in entry.path or ()))
    plain = {
        "output": listing.output,
        "notes": listing.notes,
        "scopes": [{"kind": scope.kind, "label": scope.label, "of": scope.of} for scope in scopes],
        "entries": [row(entry, scopes) for entry in listing.entries],
    }
    return re.sub(r'(?<=[\[ ])(?=\{"kind": )', "\n  ", json.dumps(plain, ensure_ascii=False)) + "\n"


def row(entry: Entry, scopes: list[Scope]) -> dict[str, Any]:
    """The fields of an entry that differ from their defaults. The line is named as in a notebook: "of a cell"."""
    values = {field.name: getattr(entry, field.name) for field in fields(Entry) if field.name != "thing"}
    defaults = {field.name: field.default for field in fields(Entry)}
    values["line"] = entry.line.replace(f" of {FILE},", " of a cell,")
    values["path"] = None if entry.path is None else [scopes.index(scope) for scope in entry.path]
    return {name: value for name, value in values.items() if value != defaults[name]}


def store(lesson: Path, cell: Cell, recording: Recording) -> None:
    """Write the text into the function's docstring, and the graph into a file of its own."""
    text, graph = recording
    lesson.write_text(with_docstring(cell, text, lesson.read_text("utf-8")), "utf-8")
    path = FOLDER / f"{cell.name}.json"
    if graph:
        path.write_text(graph, "utf-8")
    else:
        path.unlink(missing_ok=True)


def with_docstring(cell: Cell, text: str, source: str) -> str:
    """The source with this text as the docstring of the cell's function."""
    docstring = textwrap.indent(f'"""\n{text}\n"""\n', "    ")
    old = re.compile(rf'^(def {cell.name}\(.*\n)    """.*?"""\n', re.M | re.S)
    return old.sub(lambda found: found[1] + docstring, source, count=1)
