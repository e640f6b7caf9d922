"""Servers on this machine, for as long as a test asks them."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import SystemRandom

import uvicorn

from minigrad.files.serving.command import bind

ROOT = Path(__file__).resolve().parents[2]


def run_with_site(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run Python that imports the makers of the site, from scripts/site."""
    path = os.pathsep.join([str(ROOT / "scripts" / "site"), str(ROOT)])
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], env=os.environ | {"PYTHONPATH": path}, cwd=ROOT,
        capture_output=True, check=False, text=True, encoding="utf-8",
    )  # fmt: skip


@contextmanager
def listening(config: uvicorn.Config) -> Iterator[str]:
    """The address at which it answers until the end of the block."""
    server = uvicorn.Server(config)
    with bind("127.0.0.1", 0) as at:
        at.listen()
        thread = threading.Thread(target=server.run, args=([at],))
        thread.start()
        yield f"http://127.0.0.1:{at.getsockname()[1]}"
        server.should_exit = True
        thread.join()


def free_port() -> int:
    """A port for a server that is about to start. Until then no connection gets it: the system's own are above it."""
    while True:
        port = SystemRandom().randrange(20_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def end(jupyter: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    """A Jupyter server that is told to end may not: a thread of AnyIO holds it, or a kernel that is only starting.

    Kernels end with it, for they look for their parent.
    """
    jupyter.kill()
    jupyter.wait()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[ThreadingHTTPServer]:
    """What gives out the files of a folder until the end of the block."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()
