"""A notebook is run in a fresh kernel of this very Python, and only what is the same every time is kept.

Dropped: widget views (their ids are random; the text and the picture beside them stay), the author's folders in
tracebacks, the program's name in a picture, and the outputs of cells tagged "measured". Refused: a cell that fails, a
warning, an address in memory.
"""

from __future__ import annotations

import asyncio
import base64
import os
import platform
import re
import struct
import tempfile
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal, CellExecutionError, DeadKernelError
from nbformat import NotebookNode

from notebooks.source import BuildError

ROOT = Path(__file__).resolve().parents[2]
CELL_SECONDS = 90
ENVIRONMENT = {
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "OMP_NUM_THREADS": "1",  # the order of a threaded sum is not the same twice
    "OPENBLAS_NUM_THREADS": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
    "TQDM_DISABLE": "1",
}
if platform.machine() in ("x86_64", "AMD64"):  # each processor has last digits of its own: here, the same
    ENVIRONMENT |= {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR"}
WIDGET = "application/vnd.jupyter.widget-view+json"
CHANGING = re.compile(r"\b0x[0-9a-f]{6,}|ipykernel_\d+")
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
PNG_REMARKS = (b"tEXt", b"zTXt", b"iTXt", b"tIME")


async def executed(nb: NotebookNode, name: str, seconds: float) -> NotebookNode:
    """The notebook with its outputs, run in the folder of its name. Raises BuildError naming the cell that fails."""
    kernels = KernelSpecManager(kernel_dirs=[])  # none found on this machine, and so this Python
    km = AsyncKernelManager(kernel_spec_manager=kernels, kernel_name="python3")
    started: list[int] = []
    client = NotebookClient(
        nb, km=km, timeout=CELL_SECONDS, store_widget_state=False, record_timing=False, coalesce_streams=True,
        extra_arguments=["--log-level=ERROR"], resources={"metadata": {"path": str((ROOT / name).parent)}},
        on_cell_start=lambda cell, cell_index: started.append(cell_index),
    )  # fmt: skip
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as ipython:
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        environment = os.environ | ENVIRONMENT | {"IPYTHONDIR": ipython, "PYTHONPATH": path}
        try:
            async with asyncio.timeout(seconds) as clock:
                await client.async_execute(env=environment)
        except (TimeoutError, CellExecutionError, CellControlSignal, DeadKernelError) as error:
            where = f"{name}, cell {started[-1] if started else 0}"
            if clock.expired():  # and nbclient, when it is stopped, takes its kernel for dead
                raise BuildError(f"{where} is still running: the notebook has {seconds:g} s, and was stopped") from None
            raise BuildError(f"{where} fails:\n{plain_text(str(error)).strip()}") from None
        finally:
            if client.kc:  # or its heartbeat goes on, and knocks at a port that another kernel may have by then
                client.kc.stop_channels()
            if km.has_kernel:
                await km.shutdown_kernel(now=True)
    nb.metadata.language_info = nbformat.from_dict({"name": "python"})
    for number, cell in enumerate(nb.cells):
        if cell.cell_type == "code":
            cell.outputs = [kept for output in cell.outputs if (kept := fit_to_keep(output))]
            refuse_unfit(cell, f"{name}, cell {number}")
            if "measured" in cell.metadata.get("tags", ()):
                cell.outputs = recorded(cell, name) if cell.source.startswith("%%parallel") else []
                if "nbval-ignore-output" not in cell.metadata.tags:
                    raise BuildError(f'{name}, cell {number}: what is "measured" is "nbval-ignore-output", too')
    return nb


def recorded(cell: NotebookNode, name: str) -> list[NotebookNode]:
    """The run of these ranks that is kept, for where there are none: the first one, until the cell is another."""
    path = ROOT / name
    old = nbformat.read(path, 4).cells if path.exists() else []
    outputs: list[NotebookNode] = next((past.outputs for past in old if past.source == cell.source), cell.outputs)
    return outputs


def fit_to_keep(output: NotebookNode) -> NotebookNode | None:
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
    """Raises BuildError for a warning, an address in memory, or a folder of this machine in a cell's outputs."""
    for output in cell.outputs:
        if output.get("name") == "stderr" and "raises-exception" not in cell.metadata.get("tags", ()):
            raise BuildError(f"{where} writes to stderr, where a lesson says nothing:\n{output.text.strip()}")
        data = {mime: text for mime, text in output.get("data", {}).items() if not mime.startswith("image/png")}
        text = output.get("text", "") + output.get("evalue", "") + "".join(map(str, data.values()))
        found = CHANGING.search(text)
        if found or str(ROOT) in text:
            shown = found.group() if found else str(ROOT)
            raise BuildError(f"{where} shows {shown}, which is another on the next run: give it a repr of its own")


def bare_png(png: bytes) -> bytes:
    """The picture without remarks on the program that drew it and when."""
    kept, at = [PNG_SIGNATURE], len(PNG_SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        chunk = png[at : at + 12 + length]
        if chunk[4:8] not in PNG_REMARKS:
            kept.append(chunk)
        at += len(chunk)
    return b"".join(kept)


def plain_text(text: str) -> str:
    """The text without the colours of a terminal."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
