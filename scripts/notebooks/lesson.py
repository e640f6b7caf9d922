"""Checks that a lesson has all its parts, as far as a program can.

A lesson has a prediction, a picture, a failure, a quiz, sources, the spelling of other frameworks, an exercise, and the
next lesson; at most sixty unfolded cells; ten to fifteen pages for a lecture, with notes for the lecturer; no cell that
fills a screen; words with each plot; only defined terms in bold; and nothing shown above a `reveal` in its cell. None
of these is folded: a lesson must work without its folded cells.

Notebooks from 90 on are reference material, and need none of this.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from nbformat import NotebookNode

from minigrad.course import quiz
from notebooks import folding, gates
from notebooks.source import BuildError

MOST_LINES = 25
MOST_CELLS = 60
PAGES = range(10, 16)
FEWEST_NOTES = 5
WANTED = {
    "a prediction": re.compile(r"^(Predict|Guess)\(", re.M),
    "a place where it breaks": re.compile(r"\*\*Where it breaks\.\*\*|^## When something goes wrong", re.M),
    "the spelling of other frameworks": re.compile(r"^## The same elsewhere", re.M),
    "sources": re.compile(r"\*\*Sources\.\*\*"),
    "what is next": re.compile(r"\*\*Next:\*\*"),
}
EXERCISE = re.compile(r"\*\*Exercise\.\*\*")
WITHOUT_EXERCISE = "00_start_here"
BOLD = re.compile(r"\*\*([^*\n]+(?:\n[^*\n]+)?)\*\*")
FENCE = re.compile(r"```.*?```|`[^`\n]*`", re.S)
NO_TERM = re.compile(r".*[.?!:]|Builds\s+on", re.S)  # a sentence, or the opening word of a paragraph
SHOWS = {"print", "display", "show"}
HOLLOW = re.compile(r"\b(simply|magic(?:al)?|obviously|of course|powerful|seamless\w*)\b", re.I)


def refuse_unfinished(nb: NotebookNode, name: str) -> None:
    """Raise BuildError for anything that a lesson lacks after its run."""
    stem = name.rpartition("/")[2].removesuffix(".ipynb")
    lacking = list(problems(nb, stem)) if int(stem[:2]) < 90 else []
    if lacking:
        raise BuildError("\n        ".join([f"{name} is not finished:", *lacking]))


def refuse_long(nb: NotebookNode, name: str) -> None:
    """Raise BuildError for a cell of an exercise that fills a screen."""
    for problem in too_long(nb):
        raise BuildError(f"{name}: {problem}")


def problems(nb: NotebookNode, stem: str) -> Iterator[str]:
    yield from lacks(nb, stem)
    yield from folding.problems(nb)
    yield from too_many(nb)
    yield from for_a_lecture(nb)
    yield from too_long(nb)
    yield from unseen(nb)
    yield from told_early(nb)
    yield from wording(nb)


def lacks(nb: NotebookNode, stem: str) -> Iterator[str]:
    text = "\n".join(cell.source for cell in folding.unfolded_cells(nb))
    wanted = WANTED | ({} if stem == WITHOUT_EXERCISE else {"an exercise": EXERCISE})
    yield from (f"it lacks {what}" for what, sign in wanted.items() if not sign.search(text))
    if not any(map(shows_a_picture, folding.unfolded_cells(nb))):
        yield "it has neither a widget nor a figure"
    if f'Quiz("{stem}")' not in text or not (quiz.FOLDER / f"{stem}.toml").exists():
        yield f'it has no Quiz("{stem}") with {stem}.toml'


def too_many(nb: NotebookNode) -> Iterator[str]:
    number = len(folding.unfolded_cells(nb))
    if number > MOST_CELLS:
        yield f"{number} cells are not folded, and {MOST_CELLS} are allowed: shorten it, or fold side topics"


def for_a_lecture(nb: NotebookNode) -> Iterator[str]:
    kinds = [cell.metadata.get("slideshow", {}) for cell in folding.unfolded_cells(nb)]
    pages = sum(kind.get("slide_type") in ("slide", "subslide") for kind in kinds)
    if pages not in PAGES:
        yield f"{pages} pages for a lecture (slide, subslide); it needs {PAGES[0]} to {PAGES[-1]}"
    notes = sum("notes" in kind for kind in kinds)
    if notes < FEWEST_NOTES:
        yield f"{notes} notes for the lecturer; it needs {FEWEST_NOTES}"


def too_long(nb: NotebookNode) -> Iterator[str]:
    for number, cell in enumerate(nb.cells):
        lines = len(cell.source.splitlines())
        if lines > MOST_LINES and cell.cell_type != "raw":  # a raw cell is for authors
            yield f"cell {number} has {lines} lines, and {MOST_LINES} are allowed: {cell.source.splitlines()[0]}"


def unseen(nb: NotebookNode) -> Iterator[str]:
    """Plots without a description for readers who cannot see them."""
    for number, (cell, after) in enumerate(pairwise([*nb.cells, NotebookNode(cell_type="raw", source="")])):
        if any(map(is_plot, cell.get("outputs", []))) and not re.match(r"\*The (plot|picture)s?:", after.source):
            yield f"cell {number} shows a plot, and the next cell does not begin with its description, `*The plot: …*`"


def is_plot(output: NotebookNode) -> bool:
    """Whether matplotlib drew it: a widget's picture has its own text."""
    data = output.get("data", {})
    return "image/png" in data or "".join(data.get("text/plain", "")).startswith("<Figure size")


def shows_a_picture(cell: NotebookNode) -> bool:
    mimes = {mime for output in cell.get("outputs", []) for mime in output.get("data", {})}
    return bool(mimes & {"image/png", "image/svg+xml"})


def told_early(nb: NotebookNode) -> Iterator[str]:
    """Cells that show something above a reveal: there a learner who has locked nothing would read the answer."""
    printing = printing_functions(nb)
    for number, cell in enumerate(nb.cells):
        if cell.cell_type == "code" and (shown_early(cell) if cell.get("outputs") else prints_early(cell, printing)):
            first = cell.source.splitlines()[0]
            yield f"cell {number} shows something above its reveal; show it below, or in the next cell: {first}"


def shown_early(cell: NotebookNode) -> bool:
    """Whether an output stands above the note of the cell's last reveal."""
    notes = [any(map(gates.CAME.search, "\n".join(gates.said(output)).splitlines())) for output in cell.outputs]
    return True in notes and not all(notes[: -notes[::-1].index(True) or None])


def prints_early(cell: NotebookNode, printing: set[str]) -> bool:
    """Whether the cell, which has no outputs, calls a function that prints before the last reveal returns."""
    definitions = ast.FunctionDef | ast.ClassDef
    parts = [part for part in gates.parse(cell.source) if not isinstance(part, definitions)]
    ends = [(name_of(call), (call.end_lineno, call.end_col_offset)) for part in parts for call in calls_in(part)]
    revealed = max((end for name, end in ends if name in gates.REVEALS), default=(0, 0))
    return any(name in printing and end < revealed for name, end in ends)


def printing_functions(nb: NotebookNode) -> set[str]:
    """The names of functions that print: Python's, and the notebook's own that call one of them."""
    parts = [part for cell in nb.cells if cell.cell_type == "code" for part in gates.parse(cell.source)]
    own = [part for tree in parts for part in ast.walk(tree) if isinstance(part, ast.FunctionDef)]
    found: set[str] = set()
    more = SHOWS
    while more:
        found |= more
        more = {function.name for function in own if found & set(map(name_of, calls_in(function)))} - found
    return found


def calls_in(tree: ast.AST) -> list[ast.Call]:
    return [part for part in ast.walk(tree) if isinstance(part, ast.Call)]


def name_of(call: ast.Call) -> str:
    """The name that a call ends in: `show` of `plt.show()`."""
    return ast.unparse(call.func).rpartition(".")[2]


def wording(nb: NotebookNode) -> Iterator[str]:
    terms = {plain(term) for term in nb.metadata.minigrad.get("terms", {})}
    bold, defined = ({plain(each) for each in bold_in(cells)} for cells in (nb.cells, folding.unfolded_cells(nb)))
    for term in sorted(bold - terms):
        yield f"**{term}** is bold, but not a term of the header: define it there, or do not use bold"
    for term in sorted(terms - defined):
        yield f"the header's term {term!r} is never in bold"
    for number, cell in enumerate(nb.cells):
        if cell.cell_type == "markdown" and (found := HOLLOW.search(cell.source)):
            yield f"cell {number} says {found[0]!r}, which helps no reader"


def bold_in(cells: Iterable[NotebookNode]) -> Iterator[str]:
    for cell in cells:
        if cell.cell_type == "markdown":
            yield from (found for found in BOLD.findall(FENCE.sub("", cell.source)) if not NO_TERM.fullmatch(found))


def plain(term: str) -> str:
    return " ".join(term.lower().split())
