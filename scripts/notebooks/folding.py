"""Optional sections: the cell of their heading says folded=true, and JupyterLab opens them closed.

In a lesson they are side topics, and in an exercise optional parts. A section reaches to the next heading of its level
or a higher one, as JupyterLab counts: a cell with several headings is as high as the highest. Programs that know
nothing of folding show it as any other section.
"""

from __future__ import annotations

import re
import symtable
from collections.abc import Iterator

from nbformat import NotebookNode

from notebooks.source import CLOSED

HEADING = re.compile(r"^(#{1,6}) ", re.M)
FENCED = re.compile(r"^```.*?^```", re.M | re.S)
NO_HEADING = 7
ASKS = re.compile(r"^(Predict|Guess|reveal|reveal_range|Quiz)\(", re.M)


def level(cell: NotebookNode) -> int:
    found = HEADING.findall(FENCED.sub("", cell.source)) if cell.cell_type == "markdown" else []
    return min(map(len, found), default=NO_HEADING)


def inside(nb: NotebookNode) -> list[bool]:
    """Of each cell, whether a folded heading above hides it; the heading itself stays on the road."""
    hidden, fold = [], 0
    for cell in nb.cells:
        if level(cell) <= fold:
            fold = 0
        hidden.append(fold > 0)
        if not fold and cell.metadata.get(CLOSED):
            fold = level(cell)
    return hidden


def unfolded_cells(nb: NotebookNode) -> list[NotebookNode]:
    """The cells that a reader sees who unfolds nothing."""
    return [cell for cell, hidden in zip(nb.cells, inside(nb)) if not hidden]


def problems(nb: NotebookNode) -> Iterator[str]:
    """Folds that are none, and folds without which the road does not go on."""
    made_in: dict[str, int] = {}
    for number, (cell, hidden) in enumerate(zip(nb.cells, inside(nb))):
        if cell.metadata.get(CLOSED) and level(cell) == NO_HEADING:
            yield f"cell {number} is folded, and has no heading to unfold it"
        if cell.metadata.get(CLOSED) and cell.metadata.get("slideshow", {}).get("slide_type") in ("slide", "subslide"):
            yield f"cell {number} is folded but begins a page: a lecture skips folded cells"
        if hidden and (asks := ASKS.search(cell.source)):
            yield f"cell {number} is folded, and has a {asks[1]}: questions must not be folded"
        if cell.cell_type != "code":
            continue
        made, used = names(cell.source)
        if hidden:
            made_in |= dict.fromkeys(made, number)
            continue
        for name in sorted((used - made) & made_in.keys()):
            yield f"cell {number} needs {name!r} of cell {made_in[name]}, which is folded and may not have been run"
        made_in = {name: cell for name, cell in made_in.items() if name not in made}


def names(source: str) -> tuple[set[str], set[str]]:
    """The names that a cell makes, and those that it uses; none where it is not Python alone."""
    try:
        top = symtable.symtable(source, "a cell", "exec")
    except SyntaxError:
        return set(), set()
    made = {each.get_name() for each in top.get_symbols() if each.is_assigned() or each.is_imported()}
    used = {
        each.get_name()
        for table in scopes(top)
        for each in table.get_symbols()
        if each.is_referenced() and (table is top or each.is_global())
    }
    return made, used


def scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from scopes(child)
