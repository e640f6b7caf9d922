"""A worker: one of many processes, as a place for nodes of a Graph and not for arrays (distributed/placement.py)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from ..engine.base.device import NAMES, Device
from ..engine.base.errors import DeviceError


class WorkerStack(threading.local):
    """Of this thread: the numbers of the workers whose blocks are open, the innermost last; None where none is said."""

    numbers: tuple[int | None, ...] = (None,)


workers = WorkerStack()


@contextmanager
def on_worker(number: int | None) -> Iterator[None]:
    """A block whose nodes are placed where another is; None where none of them is."""
    workers.numbers = (*workers.numbers, number)
    try:
        yield
    finally:
        workers.numbers = workers.numbers[:-1]


class Worker(Device):
    """device("worker:1"): a block in which nodes are placed there. Eager code runs in every process all the same."""

    @cached_property
    def xp(self) -> Any:
        raise DeviceError(f"arrays live on one of {sorted(NAMES)}; nodes are placed by `with device({self.name!r}):`")

    def __enter__(self) -> Device:
        workers.numbers = (*workers.numbers, int(self.name.removeprefix("worker:")))
        return self

    def __exit__(self, *raised: object) -> None:
        workers.numbers = workers.numbers[:-1]
