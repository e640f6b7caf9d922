"""`minigrad serve`: the server as a process, from its socket to its end."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from ..base.errors import SavedFileError
from .app import app
from .batcher import Limits
from .metrics import Metrics
from .repository import Repository


def serve(model: Path, host: str, port: int, limits: Limits, poll: float, tell: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; what was asked before is answered then.

    poll    s between two looks for new versions
    tell    is called with what is served, and where, when it is

    Raises SavedFileError where there is no model, OSError where the port is taken.
    """
    with listening(host, port) as at:
        asyncio.run(serving(Repository(model, limits, Metrics()), at, poll, tell))


def listening(host: str, port: int) -> socket.socket:
    found = socket.create_server((host, port), backlog=2048)
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else a body waits 40 ms until its head is received
    return found


async def serving(repository: Repository, at: socket.socket, poll: float, tell: Callable[[str], None]) -> None:
    await repository.look()
    if not repository.table:
        reasons = "; ".join(reason for _, reason in repository.failed.values()) or "no file is there"
        raise SavedFileError(f"{repository.root} has no model to serve: {reasons}")
    host, port, *_ = at.getsockname()
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    tell(
        "\n".join(f"{name}, version {number}: {address}/v1/models/{name}" for name, number in sorted(repository.table))
    )
    tell(f"A page to draw on: {address}   (Ctrl-C ends)")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)  # uvicorn ends by them, and raises them again behind itself
    await uvicorn.Server(configured(repository, poll)).serve([at])


def configured(repository: Repository, poll: float) -> uvicorn.Config:
    """uvicorn's own limits."""
    return uvicorn.Config(
        app(repository, poll),
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="none",
        limit_concurrency=repository.limits.queue + 1024,
        timeout_graceful_shutdown=int(repository.limits.seconds) + 1,
    )
