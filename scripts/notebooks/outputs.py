"""Cleans a cell's outputs for storage: only what is the same on every run.

It drops widget views (their ids are random; their text and picture stay), the author's folders in tracebacks, and the
drawing program's name in a picture. It refuses warnings, memory addresses and folders of this machine.
"""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Iterable
from pathlib import Path

from nbformat import NotebookNode

from notebooks.source import BuildError

ROOT = Path(__file__).resolve().parents[2]
WIDGET = "application/vnd.jupyter.widget-view+json"
CHANGING = re.compile(r"\b0x[0-9a-f]{6,}|ipykernel_\d+")
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
PNG_REMARKS = (b"tEXt", b"zTXt", b"iTXt", b"tIME")


def sanitize(outputs: Iterable[NotebookNode]) -> list[NotebookNode]:
    """The outputs without what differs from run to run."""
    return [kept for output in outputs if (kept := sanitize_output(output))]


def sanitize_output(output: NotebookNode) -> NotebookNode | None:
    """The output without what differs from run to run; None if nothing is left."""
    if output.output_type == "error":
        output.traceback = [f"{output.ename}: {output.evalue}"]
    if "data" in output:
        output.data.pop(WIDGET, None)
        output.metadata.pop(WIDGET, None)
        if "image/png" in output.data:
            output.data["image/png"] = base64.b64encode(bare_png(base64.b64decode(output.data["image/png"]))).decode()
        if not output.data:
            return None
    return output


def refuse_unfit(cell: NotebookNode, where: str) -> None:
    """Raise BuildError for a warning, a memory address or a folder of this machine in a cell's outputs."""
    for output in cell.outputs:
        if output.get("name") == "stderr" and "raises-exception" not in cell.metadata.get("tags", ()):
            raise BuildError(f"{where} writes to stderr, which lessons must not do:\n{output.text.strip()}")
        data = {mime: text for mime, text in output.get("data", {}).items() if not mime.startswith("image/png")}
        text = output.get("text", "") + output.get("evalue", "") + "".join(map(str, data.values()))
        found = CHANGING.search(text)
        if found or str(ROOT) in text:
            shown = found.group() if found else str(ROOT)
            raise BuildError(f"{where} shows {shown}, which differs in each run: give the object a __repr__")


def bare_png(png: bytes) -> bytes:
    """The picture without comments on the drawing program and the date."""
    kept, at = [PNG_SIGNATURE], len(PNG_SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        chunk = png[at : at + 12 + length]
        if chunk[4:8] not in PNG_REMARKS:
            kept.append(chunk)
        at += len(chunk)
    return b"".join(kept)
