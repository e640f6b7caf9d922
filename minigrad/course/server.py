"""Starts `minigrad serve` for a lesson: a process that answers with a saved model, and a page that lets it write."""

from __future__ import annotations

import atexit
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

NEEDS = "uvicorn", "httptools", "starlette"


def start_server(model: Path, letters: Sequence[str]) -> tuple[subprocess.Popen[str] | None, str]:
    """Serve a saved model of letters. Returns the process and its address, or (None, "") without the extra `serve`.

    The page at the address continues a text. The process is killed at the latest when this Python ends.
    """
    if not all(map(find_spec, NEEDS)):
        return None, ""
    page = files("minigrad.files.serving").joinpath("write.html").read_text("utf-8")
    filled_in = model.with_suffix(".html")
    filled_in.write_text(page.replace("__LETTERS__", json.dumps(list(letters))), "utf-8")
    command = [sys.executable, "-m", "minigrad", "serve", str(model), "--page", str(filled_in), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    atexit.register(process.kill)
    assert process.stdout is not None
    address = re.search(r"http://[\d.]+:\d+", process.stdout.readline())
    if address is None:
        process.kill()
        raise RuntimeError(f"the server for {model} did not start; its messages are above")
    return process, address[0]


def stop_server(process: subprocess.Popen[str], seconds: float = 20) -> bool:
    """Ask the server to end, and return whether it has ended within that time."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    return process.poll() is not None
