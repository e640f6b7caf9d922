"""The base classes of widgets. Each widget has a page, a picture and a text; a stepped widget has an index too.

Python computes everything once, and the browser plays it back: a step takes no time and needs no kernel. The JavaScript
of a stepped widget is stepper.js followed by its own file, and likewise its CSS. A saved page has the same JavaScript,
with a substitute for the kernel.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import zlib
from base64 import b64encode
from html import escape
from pathlib import Path
from string import Template
from typing import Any, ClassVar

import anywidget
import traitlets

from ...draw.svg import colours
from ...engine.base.whole_file import replace_file
from .widget_displays import close, record_display

HERE = Path(__file__).parent
MODEL = (HERE / "page.js").read_text("utf-8")  # the stand-in for the kernel
PAGE = Template((HERE / "page.html").read_text("utf-8"))
Plain = dict[str, Any]  # JSON data
VIEW = "application/vnd.jupyter.widget-view+json"
KEYFRAMES = re.compile(r"^@keyframes .+$", re.MULTILINE)  # CSS does not allow them inside a selector


def javascript(*names: str) -> str:
    """These .js files, concatenated into one module."""
    return "\n".join((HERE / f"{name}.js").read_text(encoding="utf-8") for name in names)


def css(*names: str) -> str:
    """The colours, widget.css and these .css files, concatenated.

    The rules apply only inside an element of the class `scope(*names)`, so they do not affect widgets with other files.
    The scope does not change the specificity of a rule.
    """
    text = "\n".join((HERE / f"{name}.css").read_text(encoding="utf-8") for name in ("widget", *names))
    scoped = f":where(.{scope(*names)}) {{\n{KEYFRAMES.sub('', text)}\n}}"
    return "\n".join([colours(".mg-widget", ".mg-widget"), *KEYFRAMES.findall(text), scoped])


def scope(*names: str) -> str:
    """The class of the elements to which these .css files apply."""
    return "-".join(["mg-with", *names])


class Widget(anywidget.AnyWidget):
    """A widget. A subclass defines `svg`, `text`, and in `shown` the traits that its JavaScript reads.

    label    its title, in one line
    """

    sheets: ClassVar[tuple[str, ...]] = ()  # names of its .css files
    looks: ClassVar[str] = ""  # CSS of its pictures, the same in all widgets
    _css: ClassVar[str]
    shown: tuple[str, ...] = ("label",)  # the traits in a saved page

    label = traitlets.Unicode().tag(sync=True)

    def __init_subclass__(cls, **options: Any):
        if "_css" not in vars(cls):  # traitlets also makes subclasses, when traits are added to an instance
            cls._css = css(*cls.sheets) + cls.looks
        super().__init_subclass__(**options)

    def __init__(self, **traits: Any):
        super().__init__(model_id=str(secrets.randbits(52)), **traits)
        self.add_class(scope(*self.sheets))

    @property
    def text(self) -> str:
        """Everything that the widget shows, in words."""
        raise NotImplementedError(f"{type(self).__name__} must define the property text")

    @property
    def svg(self) -> str:
        """A static picture of the widget."""
        raise NotImplementedError(f"{type(self).__name__} must define the property svg")

    @property
    def fallback(self) -> dict[str, str]:
        """The output where widgets cannot be shown: on a code host, in print, in an untrusted notebook."""
        return {"image/svg+xml": self.svg, "text/plain": f"{self!r}\n{self.text}"}

    heading = property(lambda self: self.label)  # the title of the page

    def page(self) -> str:
        """The widget as one HTML page that works without a kernel and without a network."""
        state = {name: getattr(self, name) for name in self.shown}
        data = zlib.compress(json.dumps(state, ensure_ascii=False, separators=(",", ":")).encode(), 9)
        texts = {"title": escape(self.heading), "text": escape(self.text), "data": b64encode(data).decode()}
        module = self._esm.replace("export default", "const widget =")
        return PAGE.substitute(texts, css=self._css, scope=scope(*self.sheets), module=module, model=MODEL)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to an .html file."""
        path = Path(path)
        if path.suffix != ".html":
            raise ValueError(f"a widget can be saved only as an .html page; got {path.name!r}")
        replace_file(path, [self.page().encode()])

    def put_away(self) -> None:
        """Called when no cell shows the widget any more. It stays usable: code may display it again."""
        close(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        record_display(self)
        data, metadata = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]  # None only without a view
        # nbconvert, nbviewer and code hosts leave an output empty if they find its model_id among the saved states.
        # They do not find a number, since the keys are strings: they show the fallback. JavaScript finds both.
        return {**data, VIEW: {**data[VIEW], "model_id": int(self.model_id)}, **self.fallback}, metadata


class SteppedWidget(Widget):
    """A widget with steps.

    steps    plain data: each step has a sentence, `say`, and a `phase`
    index    the step on the screen: read it, or set it to go there
    """

    shown = (*Widget.shown, "steps", "index")

    steps: traitlets.List[Plain] = traitlets.List().tag(sync=True)
    index = traitlets.Int(0).tag(sync=True)

    @traitlets.validate("index")
    def _a_step_there_is(self, proposal: Any) -> int:
        index: int = proposal["value"]
        if not 0 <= index < max(len(self.steps), 1):
            raise ValueError(f"index must be a step from 0 to {len(self.steps) - 1}; got {index}")
        return index

    @property
    def text(self) -> str:
        """All steps in words, numbered from 0."""
        width = max((len(step["phase"]) for step in self.steps), default=0)
        return "\n".join(f"{i:2} {step['phase']:{width}} {step['say']}" for i, step in enumerate(self.steps))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.steps)} steps; {self.label})"
