"""A widget as one HTML page: the same JavaScript, with a stand-in for the kernel; no network, nothing to install."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Mapping
from html import escape
from pathlib import Path
from string import Template

MODEL = Path(__file__).with_name("page.js").read_text("utf-8")
PAGE = Template(Path(__file__).with_name("page.html").read_text("utf-8"))


def page(title: str, javascript: str, css: str, scope: str, state: Mapping[str, object], text: str) -> str:
    """The whole page.

    javascript    an ES module whose default export has render({model, el})
    scope         the class of the element that the CSS applies to
    state         the traits of the widget
    text          shown by a browser without JavaScript
    """
    data = b64encode(zlib.compress(json.dumps(state, ensure_ascii=False, separators=(",", ":")).encode(), 9)).decode()
    module = javascript.replace("export default", "const widget =")
    texts = {"title": escape(title), "css": css, "scope": scope, "text": escape(text), "data": data, "module": module}
    return PAGE.substitute(texts, model=MODEL)
