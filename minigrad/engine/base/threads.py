"""Threads that share a large loop, and a replacement where none can be started: in a browser, Python has one thread."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import cache, partial
from operator import call
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

chosen: dict[str, int] = {}  # "threads" → the number that set_num_threads() or a fork has set


def set_num_threads(number: int) -> None:
    """Set how many threads share each large loop. Results do not depend on this number."""
    if type(number) is not int or number < 1:
        raise ValueError(f"set_num_threads() takes an integer of at least 1, and got {number!r}")
    chosen["threads"] = number


def get_num_threads() -> int:
    """How many threads share each large loop, of a compiled program or of an eager op.

    The default is MINIGRAD_NUM_THREADS or OMP_NUM_THREADS of the environment, else the number of physical cores that
    this process may use. It is 1 in a forked process and, without MINIGRAD_NUM_THREADS, in a worker of pytest-xdist.
    """
    return chosen.get("threads") or default_threads()


@cache
def default_threads() -> int:
    """The number of threads if set_num_threads() was not called."""
    default = "1" if "PYTEST_XDIST_WORKER" in os.environ else os.environ.get("OMP_NUM_THREADS", "")
    first = os.environ.get("MINIGRAD_NUM_THREADS", default).partition(",")[0]  # OpenMP takes a number for each level
    if first.isdecimal() and int(first):
        return int(first)
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    cores = {text_of(Path(f"/sys/devices/system/cpu/cpu{i}/topology/thread_siblings_list")) or str(i) for i in usable}
    return max(1, int(min(len(cores), quota(Path("/sys/fs/cgroup"), text_of(Path("/proc/self/cgroup"))))))


def quota(root: Path, groups: str) -> float:
    """The number of processors whose time the control groups of this process allow; infinity if they set no limit."""
    limits = [float("inf")]
    for _, controllers, path in (line.split(":", 2) for line in groups.splitlines()):  # no controllers: version 2
        if not controllers or "cpu" in controllers.split(","):
            group = Path(root, *["cpu"] * bool(controllers), path.lstrip("/"))
            for folder in (group, *group.parents):  # in a container, path may be the host's; the root has the limit
                text = text_of(folder / "cpu.max") or text_of(folder / "cpu.cfs_quota_us")
                time, _, period = text.partition(" ")
                if time.isdecimal():  # neither "max" nor -1
                    limits.append(int(time) / int(period or text_of(folder / "cpu.cfs_period_us")))
    return min(limits)


def text_of(path: Path) -> str:
    """The text of a file; empty if it cannot be read."""
    try:
        return path.read_text("utf-8").strip()
    except OSError:
        return ""


def share(run: Callable[[int, int, int], Any], count: int, threads: int, others: Callable[..., Any]) -> None:
    """Call run(first, stop, slot) on ranges that together cover 0 to count, here and in threads - 1 tasks for `others`.

    Each thread has its own slot, this one 0. If a thread starts late or never, the others take its ranges.
    """
    size = max(1, count // (4 * threads))  # so that a thread that is slow can take fewer ranges
    starts = deque([*range(0, count, size), *[None] * threads])  # None ends the work of a thread
    busy, errors = [Lock() for _ in range(threads)], list[BaseException]()

    def work(slot: int) -> None:
        with busy[slot]:
            try:
                for first in iter(starts.popleft, None):
                    run(first, min(first + size, count), slot)
            except BaseException as error:
                errors.append(error)

    try:
        for slot in range(1, threads):
            others(partial(copy_context().run, work, slot))
        work(0)
    finally:
        starts.extendleft([None] * threads)  # if this thread has failed, the others stop too
        for each in busy:
            with each:
                pass
        run = range  # a thread may keep `work` for a moment longer, but not the arrays of the loop
    if errors:
        errors.sort(key=lambda error: not isinstance(error, Exception))  # Ctrl-C is last, so it is never lost
        raise errors.pop()


@cache
def helpers(workers: int) -> Callable[[Callable[[], Any]], Any]:
    """A function that passes a task to the threads that share loops with the calling thread.

    If Ctrl-C interrupts submit() of a ThreadPoolExecutor, its locks may stay locked; put() of this queue runs in C.
    """
    if not can_start():
        return call
    tasks = SimpleQueue[Callable[[], Any]]()
    for _ in range(workers):
        Thread(target=run_tasks, args=(tasks,), name="minigrad", daemon=True).start()
    return tasks.put


def run_tasks(tasks: SimpleQueue[Callable[[], Any]]) -> None:
    while True:
        tasks.get()()  # no variable keeps the task, which refers to the arrays of its loop


if hasattr(os, "register_at_fork"):  # a child has none of its parent's threads, and uses one by default
    os.register_at_fork(after_in_child=helpers.cache_clear)
    os.register_at_fork(after_in_child=lambda: chosen.update(threads=1))


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
