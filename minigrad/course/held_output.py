"""What a cell shows below a `reveal` that asks for a lock: held back, and shown in its place after the lock."""

from __future__ import annotations

import html
from typing import Any

from IPython.core.getipython import get_ipython
from IPython.display import display
from IPython.utils.capture import capture_output


class HeldOutput:
    """Displays a note now, and holds back all else that the running cell shows, except errors."""

    def __init__(self, note: Any):
        self.note = note._repr_mimebundle_()
        self.handle: Any = display(note, display_id=True)  # type: ignore[no-untyped-call]
        self.capture = capture_output(stderr=False)
        self.output = self.capture.__enter__()
        self.events: Any = get_ipython().events  # type: ignore[union-attr]  # the caller has seen it
        self.events.register("post_run_cell", self.stop)

    def stop(self, result: Any) -> None:
        self.events.unregister("post_run_cell", self.stop)
        self.capture.__exit__(None, None, None)

    def release(self, note: Any) -> None:
        """Put the cell's output in place of the note, below another."""
        texts = [f"<pre>{html.escape(self.output.stdout)}</pre>" if self.output.stdout else ""]
        texts += [as_html(each.data) for each in self.output.outputs if each.data not in ({}, self.note)]
        bundle = note._repr_mimebundle_()
        self.handle.update({**bundle, "text/html": "\n".join([bundle["text/html"], *texts])}, raw=True)


def as_html(data: dict[str, Any]) -> str:
    """An output as HTML: its own, its picture or its text."""
    if "image/png" in data:
        return f'<img alt="" src="data:image/png;base64,{data["image/png"]}">'
    text = html.escape(data.get("text/plain", ""))
    return data.get("text/html") or data.get("image/svg+xml") or f"<pre>{text}</pre>"


def hold_output(note: Any) -> HeldOutput | None:
    """Hold back the output of the running cell; None outside a notebook."""
    return HeldOutput(note) if get_ipython() else None
