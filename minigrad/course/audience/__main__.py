"""The server: `python -m minigrad.course.audience FOLDER`. It ends when its standard input does.

It answers only this machine and its network. A phone's requests carry the room's code. The lecturer's are answered only
on this machine and carry a token, which therefore never crosses the network. It prints both as JSON when it starts.
"""

from __future__ import annotations

import asyncio
import gc
import json
import re
import signal
import socket
import sys
from base64 import b64encode
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from ipaddress import ip_address, ip_network
from pathlib import Path
from random import uniform
from secrets import compare_digest, token_hex, token_urlsafe
from threading import Thread
from time import monotonic
from typing import Any, ClassVar

import segno
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from minigrad.course.audience.room import Room
from minigrad.course.journal import Journal, Record
from minigrad.course.widgets.widget import css, javascript
from minigrad.engine.base.whole_file import replace_file
from minigrad.files.serving.command import bind
from minigrad.files.serving.connection import AllowedHosts, Connection, UnreadBodies

VOTES, TABLE = ".minigrad-audience.jsonl", "audience.csv"  # files in the lecturer's folder
PORT = 8600  # or any free port if this one is taken
COOKIE, PHONE = "minigrad_phone", re.compile(r"[\w-]{22}", re.ASCII)
HOLD, AWAY = 25.0, 60.0  # in seconds: how long a request waits for news; how soon a silent phone is gone
STAGGER, LATEST = 0.002, 2.0  # seconds per phone, and at most, that replies are spread over: votes get through
BURST, RATE = 1000.0, 100.0  # requests per address, at once and per second: a campus may share one address
LONGEST = 1 << 16  # bytes of a body
POLICY = "default-src 'none'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'"
POLICY += "; frame-ancestors http://localhost:* http://127.0.0.1:*"  # JupyterLab, which frames the lecturer's page
SLOW, MOST, SHARE = 10.0, 3000, 1500  # seconds to send headers or a body; connections, in all and per address
PROBES = "10.255.255.255", "10.42.0.2", "192.168.137.2", "192.168.2.2"  # the last three are for a laptop's own hotspot
AGAIN = timedelta(minutes=10)  # a server restarted within this time of the last event reopens its room
INVALID = (IndexError, KeyError, TypeError, ValueError)


class SharedConnection(Connection):
    """A connection. Each address may open at most SHARE, so that one phone cannot keep the others out."""

    open: ClassVar[Counter[str]] = Counter()  # address -> number of open connections
    client: Any

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.open[self.client[0]] += 1
        if self.open[self.client[0]] > SHARE:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.open[self.client[0]] -= 1
        super().connection_lost(exc)


class Audience:
    """The state of the server, and the handlers of its requests."""

    def __init__(self, folder: Path, host: str, port: int):
        self.folder, self.host, self.port, self.room = folder, host, port, Room()
        self.code, self.token = token_hex(3).upper(), token_urlsafe(16)
        self.seen: dict[str, float] = {}  # phone -> time of its last request
        self.spent: dict[str, tuple[float, float]] = {}  # address -> (requests above RATE, time of that count)
        self.queue: asyncio.Queue[tuple[Record, asyncio.Future[None]]] = asyncio.Queue()
        self.writer: asyncio.Task[None] | None = None
        self.changed, self.votes = asyncio.Event(), Journal(folder / VOTES)
        kept = self.votes.lines({"room", "do", "when"})
        if kept and datetime.now(UTC) - datetime.fromisoformat(kept[-1]["when"]) < AGAIN:
            self.code = kept[-1]["room"]
        for event in [event for event in kept if event["room"] == self.code]:
            with suppress(*INVALID):
                self.room.apply(event)

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    async def store(self, event: Record) -> None:
        """Store an event in the file, then apply it."""
        self.writer = self.writer or asyncio.create_task(self.write())
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.queue.put_nowait(({"room": self.code, **event}, done))
        await done

    async def write(self) -> None:
        """Write queued events to the file, endlessly. Events that arrive during a write are written together."""
        while True:
            batch = [await self.queue.get()]
            batch += [self.queue.get_nowait() for _ in range(self.queue.qsize())]
            if why := await asyncio.to_thread(self.votes.write, *[event for event, _ in batch]):
                print(why, file=sys.stderr)
            version = self.room.version
            for event, _ in batch:
                with suppress(*INVALID):
                    self.room.apply(event)
            if self.room.version != version:
                self.changed.set()
                self.changed = asyncio.Event()
                await asyncio.to_thread(self.write_table)
            for _, done in batch:
                if not done.cancelled():
                    done.set_result(None)

    def check(self, request: Request) -> str:
        """Return who sent the request, "phone" or "lecturer". Refuses other networks and too many requests."""
        who = "lecturer" if request.url.path.startswith("/lecturer") else "phone"
        address, now = ip_address(request.client.host if request.client else ""), monotonic()
        near = address.is_private or address in ip_network(f"{self.host}/16", strict=False)
        if not address.is_loopback and (who == "lecturer" or not near):
            where = "on the lecturer's machine" if who == "lecturer" else "in the network of the room"
            raise HTTPException(403, f"open this page {where}")
        spent, since = self.spent.get(str(address), (0.0, now))
        spent = max(0.0, spent - RATE * (now - since)) + 1
        self.spent[str(address)] = min(spent, BURST), now  # a refused request does not count
        if spent > BURST:
            raise HTTPException(429, "too many requests: wait a moment")
        return who

    async def read_message(self, request: Request) -> Record:
        """Return the JSON body of a request, {} if it is empty. Refuses a request without the right code or token."""
        who, body = self.check(request), b""
        right = self.code if who == "phone" else self.token
        if not compare_digest(request.headers.get("x-room", "").encode(), right.encode()):
            raise HTTPException(401, "wrong room code or token")
        try:
            async with asyncio.timeout(SLOW):
                async for piece in request.stream():
                    body += piece
                    if len(body) > LONGEST:
                        raise HTTPException(413, f"a message has at most {LONGEST} bytes")
            message = json.loads(body or "{}")
        except (TimeoutError, ClientDisconnect):
            raise HTTPException(408, f"a message must arrive within {SLOW:g} s") from None
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            raise HTTPException(400, "a message must be a JSON object")
        return message

    async def state(self, request: Request) -> Response:
        """Reply with the question, at once or when it changes. The first reply sets the cookie of the phone."""
        await self.read_message(request)
        known = request.cookies.get(COOKIE, "")
        phone = known if PHONE.fullmatch(known) else token_urlsafe(16)
        self.seen[phone] = monotonic()
        if request.query_params.get("after") == str(self.room.version):
            with suppress(TimeoutError):
                await asyncio.wait_for(self.changed.wait(), HOLD)
                await asyncio.sleep(uniform(0, min(STAGGER * len(self.seen), LATEST)))
        response = JSONResponse(self.room.for_phone(phone))
        if phone != known:
            response.set_cookie(COOKIE, phone, max_age=86400, httponly=True, samesite="strict")
        return response

    async def vote(self, request: Request) -> Response:
        given, phone = await self.read_message(request), request.cookies.get(COOKIE, "")
        if not PHONE.fullmatch(phone):
            raise HTTPException(403, "allow cookies to vote: without them a vote could count twice")
        try:
            event = self.room.vote(phone, given)
        except INVALID as error:
            raise HTTPException(400, str(error)) from None
        await self.store(event)
        return JSONResponse(self.room.for_phone(phone))

    async def lecturer(self, request: Request) -> Response:
        """Apply the event in the request, if any, and reply with what the lecturer's page shows."""
        if event := await self.read_message(request):
            await self.store(event)
        self.host = own_address()  # a laptop may change its network
        self.seen = {phone: when for phone, when in self.seen.items() if monotonic() - when < AWAY}
        about = {"url": self.url, "code": self.code, "phones": len(self.seen)} | self.room.for_phone("")
        return JSONResponse(about | (self.room.for_lecturer() if self.room.polls else {}))

    def configuration(self) -> uvicorn.Config:
        phone, lecturer = (Path(__file__).with_name(f"{who}.html").read_text("utf-8") for who in ("phone", "lecturer"))
        files = {
            "/": (phone, "text/html"), "/lecturer": (lecturer, "text/html"),
            "/question.js": (javascript("question"), "text/javascript"),
            "/question.css": (css("stepper", "question"), "text/css"),
        }  # fmt: skip

        async def file(request: Request) -> Response:
            self.check(request)
            content, kind = files.get(request.url.path) or (self.qr_code(), "image/svg+xml")
            return Response(content, media_type=kind, headers={"Content-Security-Policy": policy(content)})

        routes = [
            *(Route(path, file) for path in (*files, "/lecturer/code.svg")), Route("/state", self.state),
            Route("/vote", self.vote, methods=["POST"]), Route("/lecturer/do", self.lecturer, methods=["POST"]),
        ]  # fmt: skip
        hosts = Middleware(AllowedHosts, frozenset(["0.0.0.0", "localhost"]))  # any IP address, no DNS rebinding
        app = Starlette(routes=routes, middleware=[hosts, Middleware(UnreadBodies)])
        options: Any = {"ws": "none", "log_level": "error", "access_log": False, "server_header": False}
        options["forwarded_allow_ips"] = "127.0.0.1"  # overrides FORWARDED_ALLOW_IPS
        connections: Any = partial(SharedConnection, SLOW, MOST)
        return uvicorn.Config(app, http=connections, timeout_graceful_shutdown=1, **options)

    def qr_code(self) -> str:
        """The room's address as a QR code, in SVG."""
        code = segno.make(f"{self.url}/#{self.code}", micro=False).svg_inline(light="white", scale=8)
        return str(code).replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"')

    def write_table(self) -> None:
        if self.room.polls:
            with suppress(OSError):  # a spreadsheet program may lock the file
                replace_file(self.folder / TABLE, [self.room.table().encode()])


def policy(content: str) -> str:
    """The Content-Security-Policy of a page: it allows only the page's own script and style, by their hashes."""
    inside = {tag: content.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0].encode() for tag in ("script", "style")}
    hashes = {tag: b64encode(sha256(text).digest()).decode() for tag, text in inside.items()}
    return "; ".join([POLICY, *(f"{tag}-src 'self' 'sha256-{digest}'" for tag, digest in hashes.items())])


def own_address() -> str:
    """The address of this machine in its network. Sends no packet."""
    for there in PROBES:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, suppress(OSError):  # no route to this address
            probe.connect((there, 1))
            return str(probe.getsockname()[0])
    return "127.0.0.1"


def allow_open_files() -> None:
    """Raise the limit on open files, one for each connection. The default of macOS is 256."""
    if sys.platform != "win32":
        import resource

        now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 2 * MOST if most == resource.RLIM_INFINITY else min(2 * MOST, most)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(now, wanted), most))


def main(folder: Path) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for JupyterLab, which asks for confirmation
    allow_open_files()
    try:
        at = bind("0.0.0.0", PORT)
    except OSError:
        at = bind("0.0.0.0", 0)
    at.listen(2048)
    audience = Audience(folder, own_address(), at.getsockname()[1])
    Thread(target=uvicorn.Server(audience.configuration()).run, args=([at],), daemon=True).start()
    gc.freeze()  # else each collection scans all imported modules and blocks replies for half a second
    gc.set_threshold(50_000)
    print(json.dumps({key: getattr(audience, key) for key in ("code", "token", "url")}), flush=True)
    sys.stdin.read()
    audience.write_table()  # includes the votes since the last event


if __name__ == "__main__":
    main(Path(sys.argv[1]))
