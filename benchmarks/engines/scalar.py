"""Engines of single numbers: minigrad.Value, micrograd's, and tensors without axes, all used in the same way."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ..workloads import Workload
from . import Run


class Scalar:
    """A class of values with + and ×, relu, backward() and grad."""

    def __init__(self, number: Any):
        self.number, self.relu = number, number.relu

    def scalars(self, workload: Workload) -> Run:
        return scalars_of(self, workload)


class Value(Scalar):
    def __init__(self) -> None:
        import minigrad

        super().__init__(minigrad.Value)


class Replayed(Value):
    """Values recorded in one step, and replayed as straight-line Python in the others."""

    backend: str | None = None

    def scalars(self, workload: Workload) -> Run:
        import minigrad

        batch, parameters = workload.arrays()
        numbers = parameters["numbers"].tolist()
        leaves = [self.number(n) for n in numbers]
        replay = minigrad.replay(workload.loss(self, batch["points"].tolist(), leaves), leaves, self.backend)

        def step() -> None:
            numbers[:] = [n - workload.lr * g for n, g in zip(numbers, replay(*numbers)[1])]

        def answer() -> tuple[float, dict[str, np.ndarray]]:
            loss, gradients = replay(*numbers)
            return loss, {"numbers": np.array(gradients)}

        return Run({"step": step}, answer)


class NativeReplayed(Replayed):
    """Values replayed by a loop in C++."""

    backend = "native"


class Micrograd(Scalar):
    def __init__(self) -> None:
        from micrograd.engine import Value

        sys.setrecursionlimit(100_000)  # its topological sort recurses once per node
        super().__init__(Value)


def scalars_of(e: Any, workload: Workload) -> Run:
    """One step of plain gradient descent: numbers made once, loss, backward, update."""
    batch, parameters = workload.arrays()
    points = batch["points"].tolist()
    numbers = [e.number(n) for n in parameters["numbers"].tolist()]
    nothing = numbers[0].grad

    def gradients() -> Any:
        for p in numbers:
            p.grad = nothing
        loss = workload.loss(e, points, numbers)
        loss.backward()
        return loss

    def step() -> None:
        gradients()
        for p in numbers:
            p.data -= workload.lr * p.grad

    def answer() -> tuple[float, dict[str, np.ndarray]]:
        loss = float(gradients().data)
        return loss, {"numbers": np.array([float(p.grad) for p in numbers])}

    return Run({"step": step}, answer)
