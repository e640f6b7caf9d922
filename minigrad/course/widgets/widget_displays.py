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
    asked: dict[str, Any] = getattr(shell, "get_parent", dict)() or {}
    cell = asked.get("metadata", {}).get("cellId")
    if cell is not None:  # in a terminal, cells have no id
        _displayed.setdefault(cell, []).append(widget)
        shell.events.register("pre_run_cell", close_orphans)


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
