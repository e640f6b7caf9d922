"""Which cells show which widgets, so that a widget that no cell shows any longer is closed and its memory can go.

A cell that runs again takes its output off the screen, and tells the kernel nothing: by itself, each run would leave a
widget behind for as long as the kernel lives. A closed widget that is shown again is opened again.
"""

from __future__ import annotations

from typing import Any

from IPython.core.getipython import get_ipython
from ipywidgets import DOMWidget, Widget

_displayed: dict[str, list[Any]] = {}  # cell → what is in its output


def displayed(widget: DOMWidget) -> None:
    """Note that the running cell shows a widget."""
    widget.layout.open()
    widget.open()
    shell: Any = get_ipython()
    cell = running_cell(shell)
    if cell is not None:
        _displayed.setdefault(cell, []).append(widget)
        shell.events.register("pre_run_cell", cleared)


def running_cell(shell: Any) -> str | None:
    """The id of the cell that runs; None where cells have none, as in a terminal."""
    asked: dict[str, Any] = getattr(shell, "get_parent", dict)() or {}
    cell: str | None = asked.get("metadata", {}).get("cellId")
    return cell


def cleared(run: Any) -> None:
    """A cell runs again, and its output goes: close the widgets that no other cell shows."""
    for widget in _displayed.pop(run.cell_id, []):
        if not any(widget is other for others in _displayed.values() for other in others):
            widget.put_away()


def close(widget: DOMWidget) -> None:
    """Close a widget's way to the browser."""
    for each in (widget, widget.layout):
        Widget.close(each)
        vars(each).pop("_repr_mimebundle_", None)  # which it has set to None
