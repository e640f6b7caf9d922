"""The engines: each a class of functions with PyTorch's names, and ways to run a loss made of them.

An engine has one method for every kind of workload it can run (`training`, `large`, `hvp`, `scalars`, `graph`): it
takes a Workload and gives a Run. `torch@gpu` is the engine torch on the GPU. Users' habits are kept: each engine's
best public function for a thing, its own optimiser, its own idea of garbage collection.
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
    finish    waits until all that was asked for is computed, where an engine does not wait by itself
    """

    stages: dict[str, Callable[[], Any]]
    answer: Callable[[], tuple[float, dict[str, np.ndarray]]]
    parts: dict[str, Callable[[], Any]] = field(default_factory=dict)
    finish: Callable[[], Any] = lambda: None


HOMES = {  # engine → the package it needs, the module here, the class there
    "minigrad": ("minigrad", "torchlike", "Minigrad"),
    "minigrad-compiled": ("minigrad", "torchlike", "Traced"),
    "minigrad-native": ("minigrad", "torchlike", "Native"),
    "minigrad-kernels": ("minigrad", "torchlike", "Kernels"),
    "minigrad-program": ("minigrad", "program", "Programs"),
    "minigrad-threads": ("minigrad", "program", "Threaded"),
    "Value": ("minigrad", "scalar", "Value"),
    "replayed": ("minigrad", "scalar", "Replayed"),
    "replayed-native": ("minigrad", "scalar", "NativeReplayed"),
    "torch": ("torch", "torchlike", "Torch"),
    "torch-compile": ("torch", "torchlike", "TorchCompile"),
    "torch-graphs": ("torch", "torchlike", "TorchGraphs"),
    "autograd": ("autograd", "autograd", "Autograd"),
    "dezero": ("dezero", "dezero", "DeZero"),
    "micrograd": ("micrograd", "scalar", "Micrograd"),
    "numpy": ("numpy", "numpy", "Numpy"),
    "numpy-blocked": ("numpy", "numpy", "Blocked"),
    "numpy-threads": ("numpy", "numpy", "Threads"),
    "c": ("numpy", "c", "Compiled"),
    "jax": ("jax", "jax", "Jax"),
    "cupy": ("numpy", "arrays", "Arrays"),
}

OURS = ["minigrad", "minigrad-compiled", "minigrad-native", "minigrad-program"]
PEERS = {  # workload → who runs it
    "chain": [*OURS, "torch", "autograd", "dezero", "jax", "numpy"],
    "tiny": [*OURS, "torch", "torch-compile", "autograd", "dezero", "jax", "numpy"],
    "mlp": [*OURS, "torch", "torch-compile", "autograd", "dezero", "jax", "numpy"],
    "cnn": [*OURS, "torch", "torch-compile", "autograd", "jax", "numpy"],
    "transformer": [*OURS, "torch", "torch-compile", "autograd", "jax", "numpy"],
    "hvp": [*OURS, "torch", "autograd", "jax", "numpy"],
    "fused": [*OURS, "torch", "torch-compile", "autograd", "jax", "numpy", "numpy-blocked", "c"],
    "softmax": [*OURS, "torch", "torch-compile", "jax", "numpy", "numpy-blocked"],
    "logsumexp": [*OURS, "torch", "torch-compile", "jax", "numpy", "numpy-blocked"],
    "layernorm": [*OURS, "torch", "torch-compile", "jax", "numpy", "numpy-blocked"],
    "scalars": ["minigrad", "replayed", "replayed-native", "torch", "micrograd", "numpy"],
    "graph": ["minigrad", "Value", "torch", "autograd", "micrograd"],
}


def installed(engine: str) -> bool:
    """Whether the engine can be imported here."""
    return importlib.util.find_spec(HOMES[engine.partition("@")[0]][0]) is not None


def run(engine: str, workload: Workload) -> Run:
    """The workload on an engine. Raises AttributeError where the engine lacks a function that the loss uses."""
    engine, _, device = engine.partition("@")
    _, module, name = HOMES[engine]
    made = getattr(importlib.import_module(f"{__name__}.{module}"), name)(*filter(None, [device]))
    ready: Run = getattr(made, workload.kind)(workload)
    return ready
