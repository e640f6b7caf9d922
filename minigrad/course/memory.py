"""What a learner's notebook has told the course since its kernel was started.

It is kept among the notebook's own names, so that it lives exactly as long as they do, and two notebooks never mix.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

NAME = "_minigrad_memory"


@dataclass
class Guess:
    """A prediction: the guess, its options if it is one of several, and what came out, once that was shown."""

    value: Any = ...
    options: tuple[Any, ...] | None = None
    revealed: bool = False


@dataclass
class Memory:
    """attempts: part → its different wrong outcomes, oldest first; guesses: name → the prediction."""

    attempts: dict[str, list[str]] = field(default_factory=dict)
    guesses: dict[str, Guess] = field(default_factory=dict)


def memory(namespace: dict[str, Any]) -> Memory:
    """The memory of the notebook with these names, empty at first."""
    if not isinstance(namespace.get(NAME), Memory):
        namespace[NAME] = Memory()
    kept: Memory = namespace[NAME]
    return kept
