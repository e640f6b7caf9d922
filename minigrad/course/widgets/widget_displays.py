"""Tracks which cells show which widgets, and closes a widget that no cell shows any more, so that it can be freed.

A cell that runs again clears its output without notifying the kernel: without this module, each run would leave a
widget behind for as long as the kernel lives. A closed widget that is shown again is reopened.
"""

from __future__ import annotations

from typing import Any

from IPython.core.getipython import get_ipython
from ipywidgets import DOMWidget, Widget

_displayed: dict[str, list[Any]] = {}  # cell → the widgets in its output


def record_display(widget: DOMWidget) -> None:
    """Record that the running cell shows a widget."""
    widget.layout.open()
    widget.open()
    shell: Any = get_ipython()
    cell = running_cell(shell)
    if cell is not None:
        _displayed.setdefault(cell, []).append(widget)
        shell.events.register("pre_run_cell", close_orphans)


def running_cell(shell: Any) -> str | None:
    """The id of the running cell; None where cells have no id, as in a terminal."""
    asked: dict[str, Any] = getattr(shell, "get_parent", dict)() or {}
    cell: str | None = asked.get("metadata", {}).get("cellId")
    return cell


def close_orphans(run: Any) -> None:
    """Before a cell runs again, close the widgets that only its old output shows."""
    for widget in _displayed.pop(run.cell_id, []):
        if not any(widget is other for others in _displayed.values() for other in others):
            widget.put_away()


def close(widget: DOMWidget) -> None:
    """Close a widget's connection to the browser."""
    for each in (widget, widget.layout):
        Widget.close(each)
        vars(each).pop("_repr_mimebundle_", None)  # close() sets it to None on the instance
