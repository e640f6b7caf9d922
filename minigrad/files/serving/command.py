"""`minigrad serve`: the server process, from opening its socket to shutting down."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn

from ...engine.base.errors import SavedFileError
from .app import PAGE, app
from .batcher import BatchLimits
from .connection import GRACE, LOOPBACK, Connection, host_names
from .repository import Repository


def serve(
    model: Path, host: str, port: int, limits: BatchLimits, poll: float,
    tell: Callable[[str], None], page: Path = PAGE, names: Iterable[str] = (),
) -> None:  # fmt: skip
    """Serve until SIGINT or SIGTERM, then answer the requests already received.

    poll    seconds between two checks for new versions
    tell    called with lines that say what is served and where, once the server accepts connections
    page    the HTML file served at /
    names   more host names of this server, besides the host and the loopback names

    Raises SavedFileError if there is no model, OSError if the port is taken or the page cannot be read.
    """
    page.read_bytes()
    with bind(host, port) as at:
        asyncio.run(run_server(Repository(model, limits), at, poll, tell, page, host_names(host, names)))


def bind(host: str, port: int) -> socket.socket:
    """A socket bound to the port, which refuses connections until it listens. Raises OSError if the port is taken."""
    found = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        if os.name == "posix":  # allows a restart at once; elsewhere it would let two servers share the port
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else a body is sent 40 ms after its head
        found.bind((host, port))
    except OSError:
        found.close()
        raise
    return found


async def run_server(
    repository: Repository, at: socket.socket, poll: float, tell: Callable[[str], None],
    page: Path = PAGE, hosts: frozenset[str] = frozenset(LOOPBACK),
) -> None:  # fmt: skip
    await repository.look()
    if not repository.table:
        reasons = "; ".join(reason for _, reason in repository.failed.values()) or "it contains no .mg or .onnx file"
        raise SavedFileError(f"{repository.root} has no model to serve: {reasons}")
    at.listen(2048)
    host, port, *_ = at.getsockname()
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    tell("\n".join(f"{name}, version {n}: {address}/v1/models/{name}" for name, n in sorted(repository.table)))
    tell(f"All paths, to read and to try: {address}/docs")
    tell(f"A page to {'draw on' if page == PAGE else 'look at'}: {address}   (Ctrl-C ends)")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)  # uvicorn stops, then raises them again: ignore them
    await Server(configuration(repository, poll, page, hosts)).serve([at])


def configuration(
    repository: Repository, poll: float, page: Path = PAGE, hosts: frozenset[str] = frozenset(LOOPBACK)
) -> uvicorn.Config:
    """uvicorn's settings for this server."""
    limits = repository.limits
    http: Any = partial(Connection, limits.seconds, limits.connections)  # a class to mypy; uvicorn only calls it
    return uvicorn.Config(
        app(repository, poll, page, hosts), http=http, ws="none", log_level="warning", access_log=False,
        server_header=False, timeout_graceful_shutdown=int(limits.seconds) + 1,
    )  # fmt: skip


class Server(uvicorn.Server):
    """uvicorn's server, which on shutdown also answers clients that have just connected."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for at in sockets or ():
            at.listen(0)  # new clients are refused; those in the backlog are accepted next
        await asyncio.sleep(GRACE)
        for server in self.servers:
            server.close()
        await asyncio.sleep(0)
        await super().shutdown(sockets)
