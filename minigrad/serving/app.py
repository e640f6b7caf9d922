"""The server: paths, limits, and what is said when a request cannot be answered. docs/serving.md has a table of paths.

Reading, parsing and waiting are of one event loop; each model runs in a thread of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from . import metrics, v1, v2
from .encodings import BINARY, JSON, LENGTH, in_json, in_json_and_bytes, wanted_type, with_elements
from .model import Refusal
from .repository import Repository

PAGE = Path(__file__).with_name("page.html")
OWN_ONLY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:"
)


def app(repository: Repository, poll: float = 1.0, shown: Path = PAGE) -> Starlette:
    """The application, of ASGI.

    poll     s between two looks at the disk
    shown    the page at /, a file of HTML
    """

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        if not repository.table:
            await repository.look()
        watch = asyncio.create_task(watching(repository, poll))
        yield
        watch.cancel()
        repository.close()

    def route(path: str, found: Callable[..., Any]) -> Route:
        async def answer(request: Request) -> Response:
            return Response(in_json(found(repository, **request.path_params)), media_type=JSON)

        return Route(path, answer)

    def inferring(path: str, protocol: Any) -> Route:
        return Route(path, partial(infer, repository, protocol), methods=["POST"])

    async def page(_: Request) -> Response:
        return Response(shown.read_bytes(), media_type="text/html", headers={"Content-Security-Policy": OWN_ONLY})

    async def counted(_: Request) -> Response:
        return Response(str(repository.metrics), headers={"Content-Type": metrics.TYPE})

    routes = [Route("/", page), Route("/metrics", counted), *(route(*each) for each in v2.SERVER.items())]
    for protocol in (v1, v2):
        for of in ("/versions/{number}", ""):
            path = f"/{protocol.__name__.rpartition('.')[2]}/models/{{name}}{of}"
            routes.append(inferring(path + protocol.INFER, protocol))
            routes += [route(path + behind, found) for behind, found in protocol.MODEL.items()]
    return Starlette(routes=routes, lifespan=life, exception_handlers={Refusal: refused, HTTPException: refused})


async def infer(repository: Repository, protocol: Any, request: Request) -> Response:
    """One request to a model, from its first byte to its answer, counted.

    protocol    v1 or v2: what they call `inputs` and `answer`
    """
    begun, name, status = perf_counter(), request.path_params["name"], 500
    limits = repository.limits
    try:
        body = await within(limits.seconds, whole(request, limits.body), 408, "the request was read")
        # From here to the queue nothing waits, so that a version that is exchanged meanwhile answers what it was sent.
        version = repository.version(name, request.path_params.get("number"))
        sent = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
        model, said = version.batcher.model, {} if sent in BINARY else with_elements(body, request.headers)
        given = BINARY[sent][0](body, model) if sent in BINARY else protocol.inputs(said, model)
        waiting = version.batcher.submit(model.fitting(given))
        outputs = await within(limits.seconds, waiting, 504, f"{name} had answered")
        kind = wanted_type(request.headers.get("accept", ""), sent if sent in BINARY else JSON)
        if kind in BINARY:
            answer = Response(BINARY[kind][1](outputs), media_type=kind)
        else:
            answer = answered(protocol.answer(said, version, outputs))
        status = 200
        return answer
    except Refusal as refusal:
        status = refusal.status
        raise
    finally:
        known = name if any(key.name == name for key in repository.table) else ""
        repository.metrics.count("minigrad_requests_total", model=known, status=str(status))
        repository.metrics.observe("minigrad_request_seconds", perf_counter() - begun, model=known)


def answered(said: Any) -> Response:
    """JSON; and behind it the elements of the outputs that are wanted as bytes."""
    text, elements = in_json_and_bytes(said)
    if not elements:
        return Response(text, media_type=JSON)
    return Response(text + elements, 200, {LENGTH: str(len(text))}, "application/octet-stream")


async def whole(request: Request, most: int) -> bytes:
    """The body of a request, refused as soon as it is too long."""
    body = bytearray()
    said = request.headers.get("content-length", "0")
    with suppress(ClientDisconnect):  # who is gone reads no answer
        async for piece in request.stream():
            body += piece
            if max(len(body), int(said) if said.isdecimal() else 0) > most:
                raise Refusal(f"a request has at most {most} bytes, and this one has more", 413)
    return bytes(body)


async def within(seconds: float, answer: Awaitable[Any], status: int, what: str) -> Any:
    try:
        async with asyncio.timeout(seconds):
            return await answer
    except TimeoutError:
        raise Refusal(f"{seconds:g} s went by before {what}", status) from None


async def refused(_: Request, error: Exception) -> Response:
    """What every protocol here says of an error: {"error": why}."""
    match error:
        case Refusal(status=status):
            more = {503: {"Retry-After": "1"}, 408: {"Connection": "close"}}.get(status)
            return Response(in_json({"error": str(error)}), status, more, JSON)
        case HTTPException(status_code=status, detail=detail, headers=headers):
            return Response(in_json({"error": f"{detail}: docs/serving.md has the paths"}), status, headers, JSON)
    raise error


async def watching(repository: Repository, poll: float) -> None:
    while True:
        await asyncio.sleep(poll)
        await repository.look()
