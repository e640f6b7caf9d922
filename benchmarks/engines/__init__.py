"""The engines: each a class of functions with PyTorch's names, and ways to run a loss made of them.

An engine has one method for every kind of workload it can run (`training`, `hvp`, `scalars`, `graph`): it takes a
Workload and gives a Run. Users' habits are kept: each engine's best public function for a thing, its own optimiser,
its own idea of garbage collection.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..workloads import Workload


@dataclass
class Run:
    """A workload made ready on one engine.

    stages    what is timed, in this order, again and again
    answer    the loss, and the gradient of each parameter by name, in PyTorch's layout; moves nothing
    parts     what of a step can be run by itself: the forward pass, the optimiser's update
    """

    stages: dict[str, Callable[[], Any]]
    answer: Callable[[], tuple[float, dict[str, np.ndarray]]]
    parts: dict[str, Callable[[], Any]] = field(default_factory=dict)


HOMES = {  # engine → the package it needs, the module here, the class there
    "minigrad": ("minigrad", "torchlike", "Minigrad"),
    "Value": ("minigrad", "scalar", "Value"),
    "replayed": ("minigrad", "scalar", "Replayed"),
    "torch": ("torch", "torchlike", "Torch"),
    "autograd": ("autograd", "autograd", "Autograd"),
    "dezero": ("dezero", "dezero", "DeZero"),
    "micrograd": ("micrograd", "scalar", "Micrograd"),
    "numpy": ("numpy", "numpy", "Numpy"),
}

PEERS = {  # workload → who runs it beside minigrad
    "chain": ["torch", "autograd", "dezero", "numpy"],
    "tiny": ["torch", "autograd", "dezero", "numpy"],
    "mlp": ["torch", "autograd", "dezero", "numpy"],
    "cnn": ["torch", "autograd", "numpy"],
    "transformer": ["torch", "autograd", "numpy"],
    "hvp": ["torch", "autograd"],
    "scalars": ["replayed", "torch", "micrograd", "numpy"],
    "graph": ["Value", "torch", "autograd", "micrograd"],
}


def installed(engine: str) -> bool:
    """Whether the engine can be imported here."""
    return importlib.util.find_spec(HOMES[engine][0]) is not None


def run(engine: str, workload: Workload) -> Run:
    """The workload on an engine. Raises AttributeError where the engine lacks a function that the loss uses."""
    _, module, name = HOMES[engine]
    made = getattr(importlib.import_module(f"{__name__}.{module}"), name)()
    ready: Run = getattr(made, workload.kind)(workload)
    return ready
