"""Thread pools, and a replacement where no thread can be started: in a browser, Python has a single thread."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from threading import Thread
from typing import Any


def can_start() -> bool:
    """Whether another thread can be started here."""
    try:
        Thread(target=int).start()
    except RuntimeError:
        return False
    return True


def pool(workers: int, name: str) -> Executor:
    """A pool of that many threads; where threads cannot be started, an executor that runs each task on submission."""
    return ThreadPoolExecutor(workers, name) if can_start() else AtOnce()


class AtOnce(Executor):
    """An executor without threads: it runs each task on submission. A task must not wait for a later task."""

    def submit(self, task: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        done = Future[Any]()
        try:
            done.set_result(task(*args, **options))
        except Exception as error:
            done.set_exception(error)
        return done
