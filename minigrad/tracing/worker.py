"""A worker: one of several processes, on which nodes of a Graph can be placed (distributed/placement.py)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from ..engine.base.device import NAMES, Device
from ..engine.base.errors import DeviceError


class WorkerStack(threading.local):
    """The numbers of the workers whose blocks are open in this thread, the innermost last; None means no worker."""

    numbers: tuple[int | None, ...] = (None,)


workers = WorkerStack()


@contextmanager
def on_worker(number: int | None) -> Iterator[None]:
    """A block whose nodes are placed on this worker; None means on none."""
    workers.numbers = (*workers.numbers, number)
    try:
        yield
    finally:
        workers.numbers = workers.numbers[:-1]


class Worker(Device):
    """device("worker:1"): a block whose nodes are placed on worker 1. Eager code still runs in every process."""

    @cached_property
    def xp(self) -> Any:
        raise DeviceError(f"workers hold no arrays, only {sorted(NAMES)} do: place nodes `with device({self.name!r}):`")

    def __enter__(self) -> Device:
        workers.numbers = (*workers.numbers, int(self.name.removeprefix("worker:")))
        return self

    def __exit__(self, *raised: object) -> None:
        workers.numbers = workers.numbers[:-1]
