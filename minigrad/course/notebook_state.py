"""The course's state in one notebook since its kernel started, and the errors of its cells.

The state is one of the notebook's global variables, so it lives as long as they do, and notebooks never share it.
Data that must outlive the kernel is stored in files: see progress.py and attempts.py.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from minigrad.course.probe import walk
from minigrad.course.referee import definitions

if TYPE_CHECKING:
    from minigrad.course.attempts import Attempts
    from minigrad.course.prediction import Prediction
    from minigrad.course.progress import AnswerJournal


NAME = "_minigrad_memory"


@dataclass
class NotebookState:
    """The predictions by name, the ledger that stores them, the attempts at exercises, and the errors of cells.

    errors    for each name that a cell failed to define, the error that ended the cell
    """

    predictions: dict[str, Prediction] = field(default_factory=dict)
    ledger: AnswerJournal | None = None
    attempts: Attempts | None = None
    errors: dict[str, str] = field(default_factory=dict)


def state_of(namespace: dict[str, Any]) -> NotebookState:
    """The state of the notebook whose globals are `namespace`; empty at first."""
    if not isinstance(namespace.get(NAME), NotebookState):
        namespace[NAME] = NotebookState()
    kept: NotebookState = namespace[NAME]
    return kept


def watch_cells() -> None:
    """Record the errors of all cells that run from now on. Does nothing outside IPython."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None:
        shell.events.register("post_run_cell", partial(record_cell, shell.user_ns))


def record_cell(namespace: dict[str, Any], result: Any) -> None:
    """For each name that the cell should define, store the error that kept it from doing so, or remove an old one."""
    try:
        source = getattr(result.info, "transformed_cell", None) or result.info.raw_cell
        statements = ast.parse(source).body
    except (SyntaxError, ValueError):  # feedback.stale_answer_warning() reports these
        return
    error, errors = result.error_in_exec, state_of(namespace).errors
    line = error_line(error, namespace)
    for statement in statements:
        for name in definitions(statement):
            if line and line <= (statement.end_lineno or 0):
                text = " ".join(str(error).split())[:200]
                errors[name] = f"{type(error).__name__}: {text}".rstrip(": ")
            else:
                errors.pop(name, None)


def error_line(error: BaseException | None, namespace: dict[str, Any]) -> int:
    """The line of the cell that raised the error; 0 without an error."""
    frames = walk(error.__traceback__) if error is not None else ()
    lines = [line for frame, line in frames if frame.f_globals is namespace and frame.f_code.co_name == "<module>"]
    return lines[0] if lines else 0


def cell_error(names: tuple[str, ...], namespace: dict[str, Any]) -> str:
    """A sentence on the error that kept a cell from defining one of these names; "" if there was none.

    Then `check` would judge an older value.
    """
    errors = state_of(namespace).errors
    for name in names:
        if name in errors:
            return f"The cell of `{name}` ended with {errors[name]}. Run it until it ends without an error, then check."
    return ""
