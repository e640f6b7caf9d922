"""Grading on many machines: each submission goes to a worker of an existing dask cluster, and its result comes back.

A worker has minigrad and a sandbox of its own machine. If it dies, dask gives what it had to another; this process
writes every result once, under the submission's own name, so that nothing is lost and nothing counts twice.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from minigrad.course.errors import CourseError

from .batch import Here
from .grade import Task, grade
from .sandbox import Limits, Sandbox, found

RETRIES = 3


class There(Here):
    """The cluster at an address, such as tcp://10.0.0.1:8786. Raises CourseError where there is none."""

    def __init__(self, address: str, limits: Limits | None = None, unsafe: bool = False):
        try:
            distributed: Any = import_module("distributed")
        except ImportError as error:
            wanted = 'python -m pip install "minigrad-course[cluster]"'
            raise CourseError(f"a cluster is dask's, which is not installed: {wanted}") from error
        try:
            client = distributed.Client(address, timeout="10s", set_as_default=False)
        except (OSError, ValueError) as error:
            raise CourseError(f"no dask scheduler answers at {address}: {error}") from error
        self.client, self.limits, self.unsafe = client, limits or Limits(), unsafe
        self.workers = max(1, sum(client.nthreads().values()))

    def __call__(self, data: bytes, task: Task) -> dict[str, Any]:
        future = self.client.submit(there, data, task, self.limits, self.unsafe, pure=False, retries=RETRIES)
        result: dict[str, Any] = future.result()
        return result

    def missing(self) -> list[str]:
        limits, unsafe = self.limits, self.unsafe
        told = self.client.run(lambda: sandbox_of(limits, unsafe).missing(), on_error="ignore")
        nobody = "no worker is connected to the cluster, and nothing is graded until one is"
        return sorted({each for said in told.values() for each in said}) if self.client.nthreads() else [nobody]

    def end(self) -> None:
        """Wait for nothing any more; what runs on the workers is forgotten there."""
        self.client.close(timeout=1)


def there(data: bytes, task: Task, limits: Limits, unsafe: bool) -> dict[str, Any]:
    """On a worker: the result of a submission, in that machine's sandbox."""
    return grade(data, task, sandbox_of(limits, unsafe))


@cache
def sandbox_of(limits: Limits, unsafe: bool) -> Sandbox:
    return found(unsafe, limits)
