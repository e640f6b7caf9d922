"""What all widgets have in common: a page of their own, a picture, a text twin; those that are stepped, an index too.

Python computes everything once, and the browser plays it back: a step takes no time and needs no kernel. The JavaScript
of a stepped widget is stepper.js, then its own file; so with its CSS. A page that is saved holds the same JavaScript,
with a stand-in for the kernel.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets

from ...draw.svg import colours
from ...engine.base.whole_file import replace_file
from .displayed import close, displayed
from .page import page

HERE = Path(__file__).parent
Plain = dict[str, Any]  # what JSON can say
KEYFRAMES = re.compile(r"^@keyframes .+$", re.MULTILINE)  # these hold for a page, or not at all


def javascript(*names: str) -> str:
    """The files of that name, one after another, as one module."""
    return "\n".join((HERE / f"{name}.js").read_text(encoding="utf-8") for name in names)


def css(*names: str) -> str:
    """The files of that name, one after another, behind the colours and what all widgets look like.

    They hold inside an element of the class `scope(*names)`, and so for no widget that has other files; no rule gains
    weight by it.
    """
    text = "\n".join((HERE / f"{name}.css").read_text(encoding="utf-8") for name in ("widget", *names))
    scoped = f":where(.{scope(*names)}) {{\n{KEYFRAMES.sub('', text)}\n}}"
    return "\n".join([colours(".mg-widget", ".mg-widget"), *KEYFRAMES.findall(text), scoped])


def scope(*names: str) -> str:
    """The class of the element for which these files of CSS hold."""
    return "-".join(["mg-with", *names])


class Widget(anywidget.AnyWidget):
    """A widget. A subclass says `svg` and `text`, and what its JavaScript reads, in `shown`.

    label    what it is of, in a line
    """

    sheets: ClassVar[tuple[str, ...]] = ()  # its files of CSS
    looks: ClassVar[str] = ""  # of its pictures: CSS that is the same in all widgets
    _css: ClassVar[str]
    shown: tuple[str, ...] = ("label",)  # the traits that a page holds

    label = traitlets.Unicode().tag(sync=True)

    def __init_subclass__(cls, **options: Any):
        if "_css" not in vars(cls):  # a widget makes a class of its own, of traits
            cls._css = css(*cls.sheets) + cls.looks
        super().__init_subclass__(**options)

    def __init__(self, **traits: Any):
        super().__init__(**traits)
        self.add_class(scope(*self.sheets))

    @property
    def text(self) -> str:
        """All that is shown, in words."""
        raise NotImplementedError(f"{type(self).__name__} does not say its words: write {type(self).__name__}.text")

    @property
    def svg(self) -> str:
        """One picture of it."""
        raise NotImplementedError(f"{type(self).__name__} does not say its picture: write {type(self).__name__}.svg")

    @property
    def fallback(self) -> dict[str, str]:
        """What stands for it where widgets cannot be shown: on a code host, in print, in a notebook not trusted."""
        return {"image/svg+xml": self.svg, "text/plain": f"{self!r}\n{self.text}"}

    def page(self) -> str:
        """The widget as one HTML page that works without a kernel and without a network."""
        state = {name: getattr(self, name) for name in self.shown}
        return page(self.label, self._esm, self._css, scope(*self.sheets), state, self.text)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to an .html file."""
        path = Path(path)
        if path.suffix != ".html":
            raise ValueError(f"a widget is saved as an .html page, and not as {path.name!r}")
        replace_file(path, [self.page().encode()])

    def put_away(self) -> None:
        """No cell shows it any longer. It stays whole, for whoever has it may show it again."""
        close(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        displayed(self)
        data, metadata = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]  # None is for what has no view
        return {**data, **self.fallback}, metadata


class SteppedWidget(Widget):
    """A widget with steps.

    steps    plain data, of which each has a sentence, `say`, and a `phase`
    index    the step on the screen: read it, or set it to go there
    """

    shown = (*Widget.shown, "steps", "index")

    steps: traitlets.List[Plain] = traitlets.List().tag(sync=True)
    index = traitlets.Int(0).tag(sync=True)

    @traitlets.validate("index")
    def _a_step_there_is(self, proposal: Any) -> int:
        index: int = proposal["value"]
        if not 0 <= index < max(len(self.steps), 1):
            raise ValueError(f"index is a step from 0 to {len(self.steps) - 1}, and not {index}")
        return index

    @property
    def text(self) -> str:
        """All steps in words, numbered from 0."""
        phases = [step["phase"] for step in self.steps]
        width = max(map(len, phases), default=0)
        return "\n".join(f"{i:2} {step['phase']:{width}} {step['say']}" for i, step in enumerate(self.steps))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.steps)} steps; {self.label})"
