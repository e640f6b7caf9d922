"""The base class of Predict and Quiz: a form whose answers the kernel reads and keeps."""

from __future__ import annotations

from html import escape
from typing import Any

import traitlets

from ..question import CONFIDENCE
from .widget import Widget


class Form(Widget):
    """A widget that asks questions. A subclass overrides `text`, and the method that receives an answer."""

    sheets = "stepper", "question"

    confidences: traitlets.List[str] = traitlets.List(list(CONFIDENCE)).tag(sync=True)

    def __init__(self, **traits: Any):
        super().__init__(**traits)
        self.on_msg(self._on_message)

    def _on_message(self, _: Any, given: Any, __: Any) -> None:
        """Take an answer from the browser. Any other message is ignored: it must not break the kernel."""
        if isinstance(given, dict) and {"name", "answer", "confidence"} <= given.keys():
            self.on_answer(given)
        elif given == {"do": "skip"}:
            self.on_skip()

    def on_answer(self, given: dict[str, Any]) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not handle answers")

    def on_skip(self) -> None:
        """Called when the learner wants to see the result without an answer. Most forms have no such button."""

    heading = property(lambda self: f"{type(self).__name__}: {self.label.replace('_', ' ')}")

    @property
    def fallback(self) -> dict[str, str]:
        head, _, rest = escape(self.text).partition("\n")
        style = "border-left:4px solid #6d6d6d;padding:.3em .8em;max-width:50em;white-space:pre-wrap"
        return {"text/html": f'<div style="{style}"><b>{head}</b>\n{rest}</div>', "text/plain": self.text}
