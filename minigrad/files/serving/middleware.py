"""Checks around every request: whether its Host header is allowed, and whether its body was read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from ipaddress import ip_address

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..saving.container import short
from .encodings import JSON, in_json
from .model import Refusal

LOOPBACK = ("localhost", "127.0.0.1", "::1")
HEADERS = {415: {"Accept-Encoding": "identity"}, 503: {"Retry-After": "1"}}
HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\s:/@\[\]]+))(?::[0-9]*)?")


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
