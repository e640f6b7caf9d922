"""The application: paths, limits, and error answers. docs/serving.md has a table of the paths.

One event loop reads requests and waits; each model runs in its own thread, and another process parses and writes long
JSON.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

from . import description
from .batcher import METRICS_TYPE
from .connection import LOOPBACK, AllowedHosts, UnreadBodies, error_response
from .encodings import BINARY, JSON, LENGTH, in_json, length_of_json, read_json, sent_type, wanted_type, write_json
from .model import Arrays, Refusal
from .repository import Repository, Version

PAGE = Path(__file__).with_name("page.html")
PIECE = 1 << 16  # bytes of an answer sent at a time, since a client may be slow
OWN_ONLY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:"
)


def app(
    repository: Repository, poll: float = 1.0, shown: Path = PAGE, hosts: frozenset[str] = frozenset(LOOPBACK)
) -> Starlette:
    """The ASGI application.

    poll     seconds between two checks of the disk
    shown    the HTML file served at /
    hosts    host names that requests may use for this server
    """

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        if not repository.table:
            await repository.look()
        watch = asyncio.create_task(poll_disk(repository, poll))
        yield
        watch.cancel()
        repository.close()

    server = Starlette(
        routes=[*page_routes(repository, shown), *call_routes(repository)],
        lifespan=life,
        exception_handlers={Refusal: handle_error, HTTPException: handle_error},
        middleware=[Middleware(UnreadBodies), Middleware(AllowedHosts, hosts)],
    )
    server.router.redirect_slashes = False  # a redirect would echo the request's Host header
    return server


def page_routes(repository: Repository, shown: Path) -> list[Route]:
    """The page at /, the metrics, the OpenAPI document, and /docs, a page to try requests on."""

    async def send_page(_: Request) -> Response:
        return Response(shown.read_bytes(), media_type="text/html", headers={"Content-Security-Policy": OWN_ONLY})

    async def send_metrics(_: Request) -> Response:
        return Response(str(repository.metrics), headers={"Content-Type": METRICS_TYPE})

    async def send_description(_: Request) -> Response:
        return Response(in_json(description.openapi(repository)), media_type=JSON)

    async def send_docs(request: Request) -> Response:
        content, kind = description.page_file(request.path_params.get("file", ""))
        return Response(content, media_type=kind, headers={"Content-Security-Policy": description.OWN_FILES})

    pages = {"/": send_page, "/metrics": send_metrics, "/openapi.json": send_description}
    return [Route(*page) for page in (pages | {"/docs": send_docs, "/docs/{file}": send_docs}).items()]


def call_routes(repository: Repository) -> list[Route]:
    """The paths of both protocols: GET for the status and metadata of models, POST for inference."""

    def route(path: str, found: Any) -> Route:
        async def answer(request: Request) -> Response:
            return Response(in_json(found(repository, **request.path_params)), media_type=JSON)

        if callable(found):
            return Route(path, answer)
        return InferenceRoute(path, Inference(repository, found), methods=["POST"])

    return [route(path, found) for path, found in description.paths()]


class InferenceRoute(Route):
    """Matches every method and refuses all but POST, so that GET does not look for a model named `net:predict`."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, more = super().matches(scope)
        return (Match.FULL if match is Match.PARTIAL else match), more


@dataclass(frozen=True)
class Inference:
    """Answers requests to a model.

    protocol    the module v1 or v2, with its functions `inputs`, `wishes` and `answer`
    """

    repository: Repository
    protocol: Any

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        with self.repository.memory.share() as hold:
            response = await self.infer(request, hold)
            await response(scope, receive, send)

    async def infer(self, request: Request, hold: Callable[[int], None]) -> Response:
        """Read and answer one request; count it in the metrics."""
        begun, name, status = perf_counter(), request.path_params["name"], 500
        limits = self.repository.limits
        try:
            body = await limit_time(limits.seconds, read_body(request, limits.body, hold), 408, "the request was read")
            # Even if this version is replaced from here on, it still answers this request.
            version = self.repository.version(name, request.path_params.get("number"))
            with version.batcher.stay_open():
                read = self.read(body, request, version)
                said, arrays = await limit_time(limits.seconds, read, 504, "the request was parsed")
                length = length_of_json(body, request.headers)
                del body
                hold(sum(array.nbytes for array in arrays.values()))
                waiting = version.batcher.submit(arrays)
            outputs = await limit_time(limits.seconds, waiting, 504, f"{name} had answered")
            written = self.write(request, said, version, outputs, length)
            body, kind, headers = await limit_time(limits.seconds, written, 504, "the answer was written")
            answer = respond_in_pieces(body, kind, headers, hold)
            status = 200
            return answer
        except Refusal as refusal:
            status = refusal.status
            raise
        finally:
            known = name if any(key.name == name for key in self.repository.table) else ""
            self.repository.metrics.count("minigrad_requests_total", model=known, status=str(status))
            self.repository.metrics.observe("minigrad_request_seconds", perf_counter() - begun, model=known)

    async def read(self, body: bytearray, request: Request, version: Version) -> tuple[dict[str, Any], Arrays]:
        """The request's options for the answer, and its inputs."""
        model, sent = version.batcher.model, sent_type(request.headers)
        if sent in BINARY:
            return {}, model.fitting(BINARY[sent][0](body, model))
        length, header = length_of_json(body, request.headers), request.headers.get(LENGTH)
        return await self.repository.worker.run(
            length, read_json, self.protocol.inputs, self.protocol.wishes, body, header, model
        )

    async def write(
        self, request: Request, said: dict[str, Any], version: Version, outputs: Arrays, length: int
    ) -> tuple[bytes, str, dict[str, str]]:
        """The bytes of an answer, their type and headers. Elements requested as bytes follow the JSON.

        length    bytes of JSON in the request, which an error in the answer may repeat
        """
        kind = wanted_type(request.headers.get("accept", ""), sent_type(request.headers))
        if kind in BINARY:
            return BINARY[kind][1](outputs), kind, {}
        length = max(length, sum(y.nbytes for y in outputs.values()))
        text, elements = await self.repository.worker.run(
            length, write_json, self.protocol.answer, said, version.key, outputs
        )
        if not elements:
            return text, JSON, {}
        return text + elements, "application/octet-stream", {LENGTH: str(len(text))}


def respond_in_pieces(body: bytes, kind: str, headers: dict[str, str], hold: Callable[[int], None]) -> Response:
    """Send an answer in pieces as the client reads it; its bytes count against the memory budget until the end."""
    hold(len(body))
    if len(body) <= PIECE:
        return Response(body, 200, headers, kind)

    async def pieces() -> AsyncIterator[bytes]:
        for i in range(0, len(body), PIECE):
            yield body[i : i + PIECE]

    return StreamingResponse(pieces(), 200, headers | {"Content-Length": str(len(body))}, kind)


async def read_body(request: Request, most: int, hold: Callable[[int], None]) -> bytearray:
    """Read a request's body. Raises Refusal as soon as it is too long, or if it is compressed."""
    for name, status, known in (("content-encoding", 415, "identity"), ("transfer-encoding", 501, "chunked")):
        said = ", ".join(request.headers.getlist(name)).lower()
        if said not in ("", known):
            raise Refusal(f"{name} {said[:40]} is not supported: send the body uncompressed", status)
    body, announced = bytearray(), request.headers.get("content-length", "0")
    too_long = Refusal(f"a request may have at most {most} bytes, and this one has more", 413)
    if announced.isdecimal() and int(announced) > most:
        raise too_long
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > most:
                raise too_long
            hold(len(body))
    except ClientDisconnect:
        raise Refusal(f"the connection ended after {len(body)} bytes of the body") from None
    return body


async def limit_time(seconds: float, answer: Awaitable[Any], status: int, what: str) -> Any:
    try:
        async with asyncio.timeout(seconds):
            return await answer
    except TimeoutError:
        raise Refusal(f"{seconds:g} s passed before {what}", status) from None


async def handle_error(request: Request, error: Exception) -> Response:
    match error:
        case Refusal():
            return error_response(error)
        case HTTPException(status_code=status, headers=headers):
            return Response(in_json({"error": way_out(request, error)}), status, headers, JSON)
    raise error


def way_out(request: Request, error: HTTPException) -> str:
    """An error message for a wrong path or method that says what to do."""
    asked, found, detail = f"{request.method} {request.url.path[:80]}", request.scope.get("endpoint"), error.detail
    if error.headers and "Allow" in error.headers:
        detail = f"it takes {error.headers['Allow']}" + (found.protocol.EXAMPLE if isinstance(found, Inference) else "")
    return f"{asked}: {detail}. docs/serving.md has the paths"


async def poll_disk(repository: Repository, poll: float) -> None:
    while True:
        await asyncio.sleep(poll)
        await repository.look()
