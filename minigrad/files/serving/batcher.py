"""Batching: requests that arrive while a batch runs, or shortly after it, run together as the next batch.

Each model has one thread, because all runs of its program share the memory that was planned once. Requests join a queue
in the event loop; the head of the queue waits until there are enough rows, or until its time limit. A model whose rows
affect each other runs requests one by one.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from time import perf_counter
from typing import Any

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

from ...engine.base.errors import MinigradError
from .model import Arrays, Model, Refusal

log = logging.getLogger("minigrad.files.serving")
UNCOUNTED = 1 << 16  # bytes per request that do not count, so that short requests pass when the budget is full
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
ROWS = tuple(float(1 << power) for power in range(11))
COUNTERS = {
    "minigrad_requests_total": ("Inference requests, by status.", "status"),
    "minigrad_reloads_total": ("Versions loaded, by result.", "result"),
}
HISTOGRAMS = {
    "minigrad_request_seconds": ("Time from the first byte of a request to its answer.", SECONDS),
    "minigrad_queue_seconds": ("Time a request waited for its batch to begin.", SECONDS),
    "minigrad_run_seconds": ("Time a batch took in the model.", SECONDS),
    "minigrad_batch_rows": ("Rows in a batch.", ROWS),
}


@dataclass(frozen=True)
class BatchLimits:
    """rows       at most this many rows in a batch; with 1, each request runs alone
    wait       seconds that the first request of a batch waits for others
    queue      at most this many requests wait for one model; others get a 503
    body       at most this many bytes in a request
    memory     at most this many bytes in all requests together: their bodies, arrays and answers
    connections    at most this many open at once
    seconds    time limit for reading a request, and again for answering it
    """

    rows: int = 32
    wait: float = 0.001
    queue: int = 1024
    body: int = 16 << 20
    seconds: float = 30.0
    memory: int = 128 << 20
    connections: int = 2048


class Budget:
    """The memory of all requests together: their bodies, then their arrays, then their answers.

    most    bytes that all requests together may hold
    """

    def __init__(self, most: int):
        self.most = self.left = most

    @contextmanager
    def share(self) -> Iterator[Callable[[int], None]]:
        """One request's share, released at the end of the block: a function that sets the bytes that it holds.

        The function raises Refusal if they exceed the budget, unless no other request holds anything.
        """
        held = 0

        def hold(count: int) -> None:
            nonlocal held
            more = max(count - UNCOUNTED, 0) - held
            if 0 < more > self.left and self.left + held < self.most:
                raise Refusal(f"other requests fill the budget of {self.most} bytes: try again later", 503)
            self.left -= more
            held += more

        try:
            yield hold
        finally:
            hold(0)


@dataclass(eq=False)
class PendingRequest:
    """A request in the queue. Requests of the same `kind` can run together."""

    arrays: Arrays
    answer: asyncio.Future[Arrays]
    rows: int
    kind: tuple[Any, ...]
    since: float = field(default_factory=perf_counter)


class Batcher:
    """A model that serves concurrent requests. Create and use it in an event loop."""

    def __init__(self, model: Model, limits: BatchLimits, metrics: Metrics, name: str):
        self.model, self.limits, self.metrics, self.name = model, limits, metrics, name
        self.waiting: deque[PendingRequest] = deque()
        self.arrived = asyncio.Event()
        self.closed, self.expected = False, 0
        self.thread = ThreadPoolExecutor(1, f"minigrad-{name}")
        self.task = asyncio.create_task(self.work())

    def submit(self, arrays: Arrays) -> asyncio.Future[Arrays]:
        """Queue a request; return the future of its answer. Raises Refusal if too many wait."""
        if len(self.waiting) >= self.limits.queue:
            raise Refusal(f"{len(self.waiting)} requests wait for {self.name} already: try again later", 503)
        rows = len(next(iter(arrays.values()))) if self.model.by_rows else self.limits.rows
        kind = tuple(x.shape[1:] for x in arrays.values())
        request = PendingRequest(arrays, asyncio.get_running_loop().create_future(), rows, kind)
        self.waiting.append(request)
        self.arrived.set()
        return request.answer

    @contextmanager
    def stay_open(self) -> Iterator[None]:
        """Keep the batcher running in this block, in which a request will be submitted."""
        self.expected += 1
        try:
            yield
        finally:
            self.expected -= 1
            self.arrived.set()

    def close(self) -> None:
        """Answer the waiting requests, then stop."""
        self.closed = True
        self.arrived.set()

    async def work(self) -> None:
        while self.waiting or self.expected or not self.closed:
            self.arrived.clear()
            if not self.waiting:
                await self.arrived.wait()
            elif not await self.more():
                await self.answer(self.batch())
        self.thread.shutdown(wait=False)

    async def more(self) -> bool:
        """Wait for another request that could join the batch; return whether it came in time."""
        head = self.waiting[0]
        left = head.since + self.limits.wait - perf_counter()
        if self.closed or left <= 0 or sum(x.rows for x in self.waiting if x.kind == head.kind) >= self.limits.rows:
            return False
        with suppress(TimeoutError):
            async with asyncio.timeout(left):
                return await self.arrived.wait()
        return False

    def batch(self) -> list[PendingRequest]:
        """Take the head of the queue and the requests that can run with it. Cancelled requests are dropped."""
        taken: list[PendingRequest] = []
        others: deque[PendingRequest] = deque()
        rows = 0
        for request in self.waiting:
            fits = not taken or (request.kind == taken[0].kind and rows + request.rows <= self.limits.rows)
            if request.answer.done():
                continue
            if fits:
                taken.append(request)
                rows += request.rows
            else:
                others.append(request)
        self.waiting = others
        return taken

    async def answer(self, batch: Sequence[PendingRequest]) -> None:
        """Run a batch. If it fails, run its requests one by one, so that a bad one does not fail the others."""
        if not batch:
            return
        begun = perf_counter()
        run = partial(self.thread.submit, run_together, self.model, [request.arrays for request in batch])
        try:
            answers_ = await asyncio.wrap_future(run())
        except Exception as error:
            if len(batch) > 1:
                for request in batch:
                    await self.answer([request])
            elif not batch[0].answer.done():
                batch[0].answer.set_exception(refusal(error, self.name))
            return
        self.metrics.observe("minigrad_run_seconds", perf_counter() - begun, model=self.name)
        self.metrics.observe("minigrad_batch_rows", sum(request.rows for request in batch), model=self.name)
        for request, found in zip(batch, answers_):
            self.metrics.observe("minigrad_queue_seconds", begun - request.since, model=self.name)
            if not request.answer.done():
                request.answer.set_result(found)


def run_together(model: Model, requests: Sequence[Arrays]) -> list[Arrays]:
    """Answer several requests with one run."""
    if len(requests) == 1:
        return [model.run(requests[0])]
    together = model.run({name: np.concatenate([each[name] for each in requests]) for name in requests[0]})
    ends = np.cumsum([len(next(iter(each.values()))) for each in requests])
    return [
        {name: y[end - len(next(iter(each.values()))) : end] for name, y in together.items()}
        for each, end in zip(requests, ends)
    ]


def refusal(error: Exception, name: str) -> Refusal:
    """The answer to an error in a run: status 400 if the model refused the values, else 500."""
    if isinstance(error, MinigradError | ValueError | IndexError):
        return Refusal(f"{name} refuses these values: {error}")
    log.error("%s failed", name, exc_info=error)
    return Refusal(f"{name} failed with {type(error).__name__}; the server's log has more", 500)


class Metrics:
    """Counters and histograms of one server for Prometheus, with one series per model and other label.

    https://prometheus.io/docs/instrumenting/exposition_formats/
    """

    def __init__(self) -> None:
        self.registry, kinds = CollectorRegistry(), dict[str, Any]()
        for name, (about, by) in COUNTERS.items():
            kinds[name] = Counter(name, about, ["model", by], registry=self.registry)
        for name, (about, limits) in HISTOGRAMS.items():
            kinds[name] = Histogram(name, about, ["model"], registry=self.registry, buckets=limits)
        self.series = cache(lambda name, **labels: kinds[name].labels(**labels))  # a look-up is as slow as counting

    def count(self, name: str, **labels: str) -> None:
        self.series(name, **labels).inc()

    def observe(self, name: str, value: float, **labels: str) -> None:
        self.series(name, **labels).observe(value)

    def __str__(self) -> str:
        return generate_latest(self.registry).decode()
