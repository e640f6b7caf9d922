"""One connection: uvicorn's class, with limits on header size and idle time, and a close that loses no answer; and
checks around every request: whether its Host header is allowed, and whether its body was read.

If a client is still sending when it is refused, closing would reset the connection and lose the answer. So our side is
closed first, and the rest of the request is dropped.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from contextlib import suppress
from ipaddress import ip_address
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ..saving.container import short
from .encodings import JSON, in_json
from .model import Refusal

LOOPBACK = ("localhost", "127.0.0.1", "::1")
HEADERS = {415: {"Accept-Encoding": "identity"}, 503: {"Retry-After": "1"}}
HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\s:/@\[\]]+))(?::[0-9]*)?")
LONGEST_HEAD = 1 << 16  # bytes
MOST_HEADERS = 100
MOST_PIPELINED = 16  # requests that wait behind another on a connection
GRACE = 0.1  # seconds from shutdown until an idle connection is closed
TOO_LONG = f"a request's head may have at most {LONGEST_HEAD} bytes and {MOST_HEADERS} headers, and this one has more"


class LeaveParser(Exception):
    """Raised in a callback of the parser to stop parsing."""


class Connection(HttpToolsProtocol):
    """seconds    time limit for a head, and for a client to read what was sent to it
    most       connections that may be open at once
    """

    late: asyncio.TimerHandle | None = None  # closes the connection if a head takes too long
    stuck: asyncio.TimerHandle | None = None  # closes the connection if the client does not read
    closing: asyncio.TimerHandle | None = None  # closes the connection if the client does not close it
    begun = False  # whether a head has begun and is not complete
    length = headers_seen = 0  # bytes and headers of that head so far
    ended = ending = False  # whether nothing more is read; whether the server is shutting down
    last: Any = None  # the request after which shutdown closes this connection

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
            self.seconds, self.end, "408 Request Timeout", f"{self.seconds:g} s passed before the head was complete"
        )

    def data_received(self, data: bytes) -> None:
        if self.ended:
            return
        before = self.late
        super().data_received(data)
        self.length = self.length + len(data) if self.late is before else 0
        if self.late is not None and self.length > LONGEST_HEAD:
            self.end("431 Request Header Fields Too Large", TOO_LONG)
        elif self.late is None and self.is_idle():  # e.g. after an empty line: the time limit must still run
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
        """Count bytes of a head, or of the trailer of a chunked body."""
        self.length += length
        if self.length > LONGEST_HEAD or self.headers_seen > MOST_HEADERS:
            self.refuse("431 Request Header Fields Too Large", TOO_LONG)

    def on_headers_complete(self) -> None:
        version, upgrades = self.parser.get_http_version(), self.parser.should_upgrade()
        if version not in ("1.0", "1.1"):
            self.refuse("505 HTTP Version Not Supported", f"this server speaks HTTP/1.1, not HTTP/{version}")
        if upgrades and self.parser.get_method() not in (b"GET", b"HEAD"):  # the parser would not read the body
            self.refuse("501 Not Implemented", "this server speaks HTTP/1.1 only: leave out Upgrade, do not CONNECT")
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
        """Close the connection after this answer, unless another request arrives before it."""
        self.last, cycle.keep_alive = cycle, False

    def refuse(self, status: str, why: str) -> None:
        self.end(status, why)
        raise LeaveParser

    def send_400_response(self, msg: str) -> None:
        """Called when the parser refuses the data, and for exceptions in its callbacks."""
        if not self.ended and self.parser.get_http_version() == "2.0":
            self.end("505 HTTP Version Not Supported", "this server speaks HTTP/1.1, not HTTP/2")
        elif not self.ended:
            self.end("400 Bad Request", "this is no valid HTTP/1.1 request")

    def _unsupported_upgrade_warning(self) -> None:
        """Does nothing: any client could fill the log with this warning."""

    # -- the end ------------------------------------------------------------------------------------

    def is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def is_idle(self) -> bool:
        return not self.begun and not self.is_answering()

    def end(self, status: str, why: str) -> None:
        """Send an error that says why nothing more is read, and close. Earlier requests are still answered."""
        if self.ended or self.transport.is_closing():
            return
        self.ended = True
        asked = self.is_answering()
        if asked and (self.begun or not self.cycle.more_body or self.pipeline or self.cycle.response_started):
            self.cycle.keep_alive = False
            return
        if asked:  # the rest of its body is not read: the error is its answer
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
        """Called on shutdown. Requests already in the socket are still read and answered."""
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
    """A transport whose close() ends our side only, so that a client that is still sending can read the answer."""

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


# -- checks around every request --------------------------------------------------------------------


def error_response(refusal: Refusal) -> Response:
    """The response for an error, in every protocol: {"error": why}."""
    return Response(in_json({"error": str(refusal)}), refusal.status, HEADERS.get(refusal.status), JSON)


def host_names(host: str, more: Iterable[str] = ()) -> frozenset[str]:
    """The names of a server that listens on a host; "0.0.0.0" allows every address."""
    return frozenset(name.lower().strip("[]") for name in (*LOOPBACK, host, *more))


class AllowedHosts:
    """Refuses a request whose Host header is not a name of this server.

    A hostile page can make its own name point to this machine (DNS rebinding). An address cannot be faked like that, so
    any address is allowed if the server listens on all of them.
    """

    def __init__(self, app: ASGIApp, names: frozenset[str]):
        self.app, self.names = app, names
        self.any_address = not names.isdisjoint({"0.0.0.0", "::"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and "*" not in self.names:
            said = Headers(scope=scope).getlist("host")
            found = HOST.fullmatch(said[0]) if len(said) == 1 else None
            if found is None or not self.allows((found[1] or found[2]).lower().removesuffix(".")):
                why = f"the Host header is {short(', '.join(said))}, but this server is {sorted(self.names)}: "
                why += "if it has another name, start it with --allow-host NAME"
                return await error_response(Refusal(why))(scope, receive, send)
        return await self.app(scope, receive, send)

    def allows(self, name: str) -> bool:
        if name in self.names:
            return True
        with suppress(ValueError):
            return self.any_address and bool(ip_address(name))
        return False


class UnreadBodies:
    """Adds `Connection: close` to an answer that is sent before the body was read."""

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        headers = Headers(scope=scope)
        unread = "transfer-encoding" in headers or headers.get("content-length", "0").strip("0") != ""

        async def track_receive() -> Message:
            nonlocal unread
            message = await receive()
            unread = unread and message.get("more_body", False)
            return message

        async def track_send(message: Message) -> None:
            if unread and message["type"] == "http.response.start":
                MutableHeaders(scope=message)["connection"] = "close"
            await send(message)

        return await self.app(scope, track_receive, track_send)
