"""The workloads, written once for each engine: build a graph, run its backward, give the gradient.

chain     1000 elementwise ops on 10 numbers in float32: nothing but overhead
scalars   a 2-16-16-1 network of single numbers on 20 points of two moons: one loss, its backward
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

CHAIN_OPS = 1000
WIDTHS = (2, 16, 16, 1)
POINTS = 20

Workload = Callable[[], Any]


def links(h: Any, scale: Any, shift: Any, tanh: Callable[[Any], Any]) -> Any:
    """h after CHAIN_OPS ops: times, plus and tanh in turn."""
    for i in range(CHAIN_OPS):
        h = h * scale if i % 3 == 0 else h + shift if i % 3 == 1 else tanh(h)
    return h


def chain_minigrad() -> Workload:
    import minigrad as mg

    start, seed = np.full(10, 0.5, "f4"), np.ones(10, "f4")
    scale, shift = mg.tensor(np.full(10, 0.9, "f4")), mg.tensor(np.full(10, 0.01, "f4"))

    def run() -> Any:
        x = mg.tensor(start, requires_grad=True)
        links(x, scale, shift, mg.Tensor.tanh).backward(seed)
        return x.grad.numpy()

    return run


def chain_torch() -> Workload:
    import torch

    torch.set_num_threads(1)
    seed, scale, shift = torch.ones(10), torch.full((10,), 0.9), torch.full((10,), 0.01)

    def run() -> Any:
        x = torch.full((10,), 0.5, requires_grad=True)
        links(x, scale, shift, torch.tanh).backward(seed)
        return x.grad.numpy()

    return run


def chain_autograd() -> Workload:
    import autograd
    import autograd.numpy as anp

    start, scale, shift = np.full(10, 0.5, "f4"), np.full(10, 0.9, "f4"), np.full(10, 0.01, "f4")
    return lambda: autograd.elementwise_grad(lambda x: links(x, scale, shift, anp.tanh))(start)


def moons_loss(parameters: list[Any], points: list[Any], relu: Callable[[Any], Any]) -> Any:
    """The hinge loss of a network of scalars; `parameters` by layer, each neuron's weights and then its bias."""
    total = parameters[0] * 0.0
    for *inputs, sign in points:
        k, h = 0, inputs
        for n_in, n_out in pairwise(WIDTHS):
            out = []
            for _ in range(n_out):
                a = parameters[k + n_in]
                for w, x in zip(parameters[k : k + n_in], h):
                    a = a + w * x
                out.append(relu(a) if n_out > 1 else a)
                k += n_in + 1
            h = out
        total = total + relu(h[0] * -sign + 1.0)
    return total


def scalar_data() -> tuple[list[float], list[Any]]:
    """The same numbers for every scalar engine."""
    from minigrad.data import moons

    rng = np.random.default_rng(0)
    count = sum((i + 1) * o for i, o in pairwise(WIDTHS))
    x, y = moons(POINTS)
    return rng.uniform(-1, 1, count).tolist(), [(*p, 2.0 * label - 1) for p, label in zip(x.tolist(), y.tolist())]


def scalars_of(value: Callable[[float], Any], relu: Callable[[Any], Any]) -> Workload:
    """The scalar workload for an engine of objects with .backward() and .grad."""
    numbers, points = scalar_data()

    def run() -> Any:
        parameters = [value(n) for n in numbers]
        moons_loss(parameters, points, relu).backward()
        return np.array([p.grad for p in parameters])

    return run


def scalars_minigrad() -> Workload:
    from minigrad import Value

    return scalars_of(Value, Value.relu)


def scalars_micrograd() -> Workload:
    from micrograd.engine import Value

    return scalars_of(Value, Value.relu)


def scalars_torch() -> Workload:
    import torch

    torch.set_num_threads(1)
    return scalars_of(lambda n: torch.tensor(n, dtype=torch.float64, requires_grad=True), torch.relu)


WORKLOADS: dict[str, dict[str, Callable[[], Workload]]] = {
    "chain": {"minigrad": chain_minigrad, "torch": chain_torch, "autograd": chain_autograd},
    "scalars": {"minigrad": scalars_minigrad, "torch": scalars_torch, "micrograd": scalars_micrograd},
}


def installed(engine: str) -> bool:
    """Whether the engine can be imported here."""
    return importlib.util.find_spec(engine) is not None
