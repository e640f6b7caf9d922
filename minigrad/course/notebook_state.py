"""The course's state in one notebook since its kernel started.

The state is one of the notebook's global variables, so it lives as long as they do, and notebooks never share it.
Data that must outlive the kernel is stored in files: see progress.py and attempts.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

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
