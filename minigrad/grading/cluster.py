"""Grading on many machines: each submission runs on a worker of an existing dask cluster, in that machine's sandbox.

If a worker dies, dask gives what it had to another. Only plain data comes back: this process reaches the verdicts and
writes every result once, under the submission's own name, so that nothing is lost and nothing counts twice.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from minigrad.course.errors import CourseError

from .sandbox import Limits, Reply, Sandbox, found

RETRIES = 3


class Cluster(Sandbox):
    """The sandboxes of a cluster at an address, such as tcp://10.0.0.1:8786. Raises CourseError where there is none."""

    def __init__(self, address: str, limits: Limits | None = None, unsafe: bool = False):
        try:
            distributed: Any = import_module("distributed")
        except ImportError as error:
            wanted = 'python -m pip install "minigrad-course[cluster]"'
            raise CourseError(f"a cluster is dask's, which is not installed: {wanted}") from error
        try:
            self.client = distributed.Client(address, timeout="10s", set_as_default=False)
        except (OSError, ValueError) as error:
            raise CourseError(f"no dask scheduler answers at {address}: {error}") from error
        super().__init__("cluster", limits or Limits(), max(1, sum(self.client.nthreads().values())))
        self.asked = unsafe, self.limits

    def run(self, job: dict[str, Any]) -> Reply:
        asked = self.asked
        future = self.client.submit(lambda: sandbox_of(*asked).run(job), pure=False, retries=RETRIES)
        reply: Reply = future.result()
        return reply

    def missing(self) -> list[str]:
        asked = self.asked
        told = self.client.run(lambda: sandbox_of(*asked).missing(), on_error="ignore")
        nobody = "no worker is connected to the cluster, and nothing is graded until one is"
        return sorted({each for said in told.values() for each in said}) if self.client.nthreads() else [nobody]

    def end(self) -> None:
        """Wait for nothing any more; what runs on the workers is forgotten there."""
        self.client.close(timeout=1)


@cache
def sandbox_of(unsafe: bool, limits: Limits) -> Sandbox:
    return found(unsafe, limits)
