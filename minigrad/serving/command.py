"""`minigrad serve`: the server as a process, from its socket to its end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ..base.errors import SavedFileError
from .app import PAGE, app
from .batcher import Limits
from .metrics import Metrics
from .repository import Repository

LONGEST_HEAD = 1 << 16  # bytes


def serve(
    model: Path,
    host: str,
    port: int,
    limits: Limits,
    poll: float,
    tell: Callable[[str], None],
    page: Path = PAGE,
) -> None:
    """Serve until SIGINT or SIGTERM; what was asked before is answered then.

    poll    s between two looks for new versions
    tell    is called with what is served, and where, when it is
    page    at /

    Raises SavedFileError where there is no model, OSError where the port is taken or the page is none.
    """
    page.read_bytes()
    with bound(host, port) as at:
        asyncio.run(serving(Repository(model, limits, Metrics()), at, poll, tell, page))


def bound(host: str, port: int) -> socket.socket:
    """A socket that has the port and refuses connections until it listens. Raises OSError where the port is taken."""
    found = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        if os.name == "posix":  # where it lets a server follow its predecessor at once; elsewhere it shares the port
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else a body waits 40 ms until its head is there
        found.bind((host, port))
    except OSError:
        found.close()
        raise
    return found


async def serving(
    repository: Repository, at: socket.socket, poll: float, tell: Callable[[str], None], page: Path = PAGE
) -> None:
    await repository.look()
    if not repository.table:
        reasons = "; ".join(reason for _, reason in repository.failed.values()) or "no file is there"
        raise SavedFileError(f"{repository.root} has no model to serve: {reasons}")
    at.listen(2048)
    host, port, *_ = at.getsockname()
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    tell("\n".join(f"{name}, version {n}: {address}/v1/models/{name}" for name, n in sorted(repository.table)))
    tell(f"A page to {'draw on' if page == PAGE else 'look at'}: {address}   (Ctrl-C ends)")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)  # uvicorn ends by them, and raises them again behind itself
    await uvicorn.Server(configured(repository, poll, page)).serve([at])


def configured(repository: Repository, poll: float, page: Path = PAGE) -> uvicorn.Config:
    """uvicorn's own limits."""
    return uvicorn.Config(
        app(repository, poll, page),
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="none",
        limit_concurrency=repository.limits.queue + 1024,
        timeout_graceful_shutdown=int(repository.limits.seconds) + 1,
        http=partial(Connection, repository.limits.seconds),  # type: ignore[arg-type]  # it is called as a class is
    )


class Connection(HttpToolsProtocol):
    """uvicorn's, on which the head of a request has limits too: `seconds` for each, and its bytes."""

    late: Any = None  # what ends the connection, as long as a head is awaited
    length = 0

    def __init__(self, seconds: float, **given: Any):
        super().__init__(**given)
        self.seconds = seconds

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.await_head()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.await_head()

    def await_head(self) -> None:
        self.late = self.late or self.loop.call_later(self.seconds, self.end, b"408 Request Timeout")

    def data_received(self, data: bytes) -> None:
        before = self.late
        super().data_received(data)
        self.length = self.length + len(data) if self.late is before else 0
        if self.late is not None and self.length > LONGEST_HEAD:
            self.end(b"431 Request Header Fields Too Large")

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self.late.cancel()
        self.late = None

    def end(self, why: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(b"HTTP/1.1 %b\r\nconnection: close\r\ncontent-length: 0\r\n\r\n" % why)
            self.transport.close()
