"""Notebooks as HTML: each widget becomes its picture, and the page loads no script that it does not need.

share/config/jupyter_config.json makes `jupyter nbconvert` and JupyterLab's export call `show_pictures`.
"""

from __future__ import annotations

import re
from base64 import b64encode
from html import escape
from typing import Any

VIEW, SVG = "application/vnd.jupyter.widget-view+json", "image/svg+xml"
MATH = re.compile(r"\$|\\[(\[]|\\begin")
Data = dict[str, Any]


def show_pictures(notebook: Any, resources: Data) -> tuple[Any, Data]:
    """A preprocessor of nbconvert."""
    saved = notebook.metadata.get("widgets", {}).get("application/vnd.jupyter.widget-state+json", {}).get("state", {})
    outputs = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", ())]
    for data in outputs:
        id = data.get(VIEW, {}).get("model_id")
        if "mg-picture" in data.get(SVG, ""):
            model = saved.get(str(id), {})
            label = model.get("state", {}).get("label") or data.get("text/plain", "").split("\n")[0]
            source = f"data:{SVG};base64,{b64encode(data[SVG].encode()).decode()}"
            data["text/html"] = f'<img alt="{escape(label)}" src="{source}">'
        if isinstance(id, int) and "text/html" in data:  # ours, by Widget._repr_mimebundle_
            del data[VIEW]
    if not any(VIEW in data for data in outputs):
        notebook.metadata.pop("widgets", None)
    drop_scripts(notebook, outputs, resources)
    return notebook, resources


def drop_scripts(notebook: Any, outputs: list[Data], resources: Data) -> None:
    """Load MathJax only for formulas, and require.js only for widgets of other packages and scripts that use it."""
    text = "".join(str(text) for data in outputs for mime, text in data.items() if mime != SVG)
    if "widgets" not in notebook.metadata and "require" not in text:
        resources["require_js_url"] = ""
    if not MATH.search(text + "".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")):
        resources["mathjax_url"] = ""
