"""One connection: uvicorn's, with limits on its heads and on its silence, and an end at which every answer is read.

A client that still sends when it is refused would get a reset, and with it no answer: such a connection is half-closed
first, and what still comes is dropped.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .encodings import JSON, in_json

LONGEST_HEAD = 1 << 16  # bytes
MOST_HEADERS = 100
MOST_PIPELINED = 16  # requests that wait behind another one on a connection
GRACE = 0.1  # s between the end of the server and that of a silent connection
TOO_LONG = f"the head of a request has at most {LONGEST_HEAD} bytes and {MOST_HEADERS} headers, and this one has more"


class NotServed(Exception):
    """Raised in a callback of the parser, to leave it."""


class Connection(HttpToolsProtocol):
    """seconds    that a head may take, and that a client may leave what was sent to it unread
    most       connections at once
    """

    late: asyncio.TimerHandle | None = None  # ends the connection, while a head is awaited
    stuck: asyncio.TimerHandle | None = None  # ends it, while the client does not read
    closing: asyncio.TimerHandle | None = None  # ends it, while the client does not go
    begun = False  # a head, and it is not yet complete
    length = headers_seen = 0  # of that head
    ended = ending = False  # no more is read; the server ends
    last: Any = None  # the request that the end of the server made the last one

    def __init__(self, seconds: float, most: int, **given: Any):
        super().__init__(**given)
        self.seconds, self.most = seconds, most

    def connection_made(self, transport: Any) -> None:
        super().connection_made(HalfClosing(transport, self))  # type: ignore[arg-type]  # a transport in all but type
        if len(self.connections) > self.most:
            self.end("503 Service Unavailable", f"{self.most} connections are open already: try again later")
        else:
            self.await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self.late, self.stuck, self.closing, self.timeout_keep_alive_task):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    # -- heads --------------------------------------------------------------------------------------

    def await_head(self) -> None:
        self.late = self.late or self.loop.call_later(
            self.seconds, self.end, "408 Request Timeout", f"{self.seconds:g} s went by before the head was there"
        )

    def data_received(self, data: bytes) -> None:
        if self.ended:
            return
        before = self.late
        super().data_received(data)
        self.length = self.length + len(data) if self.late is before else 0
        if self.late is not None and self.length > LONGEST_HEAD:
            self.end("431 Request Header Fields Too Large", TOO_LONG)
        elif self.late is None and self.is_idle():  # an empty line, say: it must not stop every clock
            self.await_head()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.begun, self.length, self.headers_seen = True, 0, 0
        if len(self.pipeline) >= MOST_PIPELINED:
            self.refuse("429 Too Many Requests", f"{MOST_PIPELINED} requests wait on this connection already")
        self.await_head()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self.count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self.headers_seen += 1
        self.count(len(name) + len(value) + 4)

    def count(self, length: int) -> None:
        """Of a head, or of what trails a body in chunks."""
        self.length += length
        if self.length > LONGEST_HEAD or self.headers_seen > MOST_HEADERS:
            self.refuse("431 Request Header Fields Too Large", TOO_LONG)

    def on_headers_complete(self) -> None:
        version, upgrades = self.parser.get_http_version(), self.parser.should_upgrade()
        if version not in ("1.0", "1.1"):
            self.refuse("505 HTTP Version Not Supported", f"HTTP/1.1 is spoken here, and HTTP/{version} came")
        if upgrades and self.parser.get_method() not in (b"GET", b"HEAD"):  # whose body the parser would not read
            self.refuse("501 Not Implemented", "HTTP/1.1 is spoken here alone: leave Upgrade out, and CONNECT")
        before = self.cycle
        super().on_headers_complete()
        self.begun = False
        if self.late is not None:
            self.late.cancel()
            self.late = None
        if self.last is not None and self.last is before:
            before.keep_alive = True
        if self.ending or upgrades:
            self.make_last(self.cycle)

    def make_last(self, cycle: Any) -> None:
        """The connection ends behind this answer, unless another request comes before it is given."""
        self.last, cycle.keep_alive = cycle, False

    def refuse(self, status: str, why: str) -> None:
        self.end(status, why)
        raise NotServed

    def send_400_response(self, msg: str) -> None:
        """Called for what the parser refuses, and for what was raised in its callbacks."""
        if not self.ended and self.parser.get_http_version() == "2.0":
            self.end("505 HTTP Version Not Supported", "HTTP/1.1 is spoken here, and HTTP/2 came")
        elif not self.ended:
            self.end("400 Bad Request", "a request in HTTP/1.1 is wanted, and this is none")

    def _unsupported_upgrade_warning(self) -> None:
        """Any client could fill the log with it."""

    # -- the end ------------------------------------------------------------------------------------

    def is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def is_idle(self) -> bool:
        return not self.begun and not self.is_answering()

    def end(self, status: str, why: str) -> None:
        """Say why nothing more is read here; what was asked before is answered."""
        if self.ended or self.transport.is_closing():
            return
        self.ended = True
        asked = self.is_answering()
        if asked and (self.begun or not self.cycle.more_body or self.pipeline or self.cycle.response_started):
            self.cycle.keep_alive = False
            return
        if asked:  # its body breaks off here: there will be no other answer
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        body = in_json({"error": why})
        head = f"HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: {JSON}\r\ncontent-length: {len(body)}\r\n"
        head += "retry-after: 1\r\n\r\n" if status.startswith("503") else "\r\n"
        self.transport.write(head.encode() + body)
        self.transport.close()

    def still_sends(self) -> bool:
        """Whether the client may be in the middle of a request."""
        return self.ended or self.begun or (self.cycle is not None and self.cycle.more_body)

    def shutdown(self) -> None:
        """The server ends. What lies in the socket is read first, and answered."""
        self.ending = True
        if self.is_idle():
            self.loop.call_later(GRACE, self.close_if_idle)
        elif self.is_answering():
            self.make_last(self.cycle)

    def close_if_idle(self) -> None:
        if self.is_idle():
            self.transport.close()

    # -- clients that do not read -------------------------------------------------------------------

    def pause_writing(self) -> None:
        super().pause_writing()
        self.stuck = self.loop.call_later(self.seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.stuck is not None:
            self.stuck.cancel()


class HalfClosing:
    """A transport whose close() leaves a client that still sends time to read: it ends our side alone."""

    def __init__(self, transport: Any, connection: Connection):
        self.transport, self.connection, self.closed = transport, connection, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.transport, name)

    def is_closing(self) -> bool:
        return self.closed or bool(self.transport.is_closing())

    def close(self) -> None:
        if self.is_closing():
            return
        self.closed = True
        self.connection.closing = self.connection.loop.call_later(self.connection.seconds, self.transport.abort)
        if self.connection.still_sends() and self.transport.can_write_eof():
            self.connection.ended = True
            self.transport.write_eof()
            self.transport.resume_reading()
        else:
            self.transport.close()
