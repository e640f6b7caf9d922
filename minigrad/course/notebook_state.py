"""What a learner's notebook has told the course since its kernel was started.

It is kept among the notebook's own names, so that it lives exactly as long as they do, and two notebooks never mix.
What must outlive the kernel is in files: see progress.py and attempts.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minigrad.course.attempts import Attempts
    from minigrad.course.prediction import Prediction
    from minigrad.course.progress import Ledger


NAME = "_minigrad_memory"


@dataclass
class NotebookState:
    """predictions: by name, and the ledger where they are kept; attempts: at the exercises."""

    predictions: dict[str, Prediction] = field(default_factory=dict)
    ledger: Ledger | None = None
    attempts: Attempts | None = None


def state_of(namespace: dict[str, Any]) -> NotebookState:
    """The state of the notebook with these names, empty at first."""
    if not isinstance(namespace.get(NAME), NotebookState):
        namespace[NAME] = NotebookState()
    kept: NotebookState = namespace[NAME]
    return kept
