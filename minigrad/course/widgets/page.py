"""A widget as one HTML page: the same JavaScript, with a stand-in for the kernel; no network, nothing to install."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape

# The part of the anywidget model API that a widget's JavaScript uses, without a kernel.
MODEL = """
function modelOf(state) {
  const listeners = {};
  return {
    get: (key) => state[key],
    set: (key, value) => { state[key] = value; for (const tell of listeners["change:" + key] ?? []) tell(); },
    save_changes: () => {},
    on: (event, tell) => (listeners[event] ??= []).push(tell),
    off: () => {},
  };
}"""


def page(title: str, javascript: str, css: str, scope: str, state: Mapping[str, object], text: str) -> str:
    """The whole page.

    javascript    an ES module whose default export has render({model, el})
    scope         the class of the element that the CSS applies to
    state         the traits of the widget
    text          shown by a browser without JavaScript
    """
    # JSON in a script element must contain neither </script, which ends it, nor <!--, which can hide that end.
    data = json.dumps(state, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/").replace("<!", "<\\u0021")
    module = javascript.replace("export default", "const widget =")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ margin: 12px; font-family: system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; }}
h1 {{ font-size: 20px; }}
{css}
</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
<div id="widget" class="{scope}"></div>
</main>
<noscript><pre>{escape(text)}</pre></noscript>
<script type="application/json" id="state">{data}</script>
<script type="module">
{module}
{MODEL}
const model = modelOf(JSON.parse(document.getElementById("state").textContent));
widget.render({{ model, el: document.getElementById("widget") }});
</script>
</body>
</html>
"""
