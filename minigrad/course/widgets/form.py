"""What Predict and Quiz have in common: a form, of which the kernel reads and keeps the answers."""

from __future__ import annotations

from html import escape
from typing import Any

import traitlets

from ..question import CONFIDENCE
from .widget import Widget


class Form(Widget):
    """A widget that asks. A subclass says `text`, and what becomes of an answer in `answered`."""

    sheets = "stepper", "question"

    confidences: traitlets.List[str] = traitlets.List(list(CONFIDENCE)).tag(sync=True)

    def __init__(self, **traits: Any):
        super().__init__(**traits)
        self.on_msg(self._heard)

    def _heard(self, _: Any, given: Any, __: Any) -> None:
        """An answer from the browser: anybody can send anything, and the kernel lives."""
        if isinstance(given, dict) and {"name", "answer", "confidence"} <= given.keys():
            self.answered(given)

    def answered(self, given: dict[str, Any]) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not say what becomes of an answer")

    @property
    def fallback(self) -> dict[str, str]:
        return {"text/html": f"<pre>{escape(self.text)}</pre>", "text/plain": self.text}
