"""Threads, and who works where none can be started: in a browser Python has one, and no more."""

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
    """So many threads that work; or nobody, and each does at once what it submits."""
    return ThreadPoolExecutor(workers, name) if can_start() else AtOnce()


class AtOnce(Executor):
    """No threads: a task is done when it is submitted. None may wait for one that comes later."""

    def submit(self, task: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        done = Future[Any]()
        try:
            done.set_result(task(*args, **options))
        except Exception as error:
            done.set_exception(error)
        return done
