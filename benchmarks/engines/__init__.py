"""The engines: each is a class of functions with PyTorch's names, and methods that run a loss built from them.

An engine has one method for each kind of workload that it can run (`training`, `large`, `hvp`, `scalars`); it takes a
Workload and returns a Run. `torch@gpu` is the engine torch on the GPU. Engines are used as their users do: with the
best public function for each purpose, their own optimiser and their own garbage collection settings.
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
    """A workload prepared on one engine.

    stages    functions to time, in this order, repeatedly
    answer    the loss, and each parameter's gradient by name, in PyTorch's layout; updates nothing
    parts     parts of a step that can run alone: the forward pass, the optimiser's update
    finish    waits until all queued work is done, for an engine that does not wait by itself
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
    "replayed": ("minigrad", "scalar", "Replayed"),
    "replayed-native": ("minigrad", "scalar", "NativeReplayed"),
    "torch": ("torch", "torchlike", "Torch"),
    "torch-compile": ("torch", "torchlike", "TorchCompile"),
    "torch-graphs": ("torch", "torchlike", "TorchGraphs"),
    "micrograd": ("micrograd", "scalar", "Micrograd"),
    "numpy": ("numpy", "numpy", "Numpy"),
    "numpy-blocked": ("numpy", "numpy", "Blocked"),
    "jax": ("jax", "jax", "Jax"),
}

OURS = ["minigrad", "minigrad-compiled", "minigrad-native"]
PEERS = {  # workload → its engines
    "chain": [*OURS, "torch", "jax", "numpy"],
    "tiny": [*OURS, "torch", "torch-compile", "jax", "numpy"],
    "mlp": [*OURS, "torch", "torch-compile", "jax", "numpy"],
    "cnn": [*OURS, "torch", "torch-compile", "jax", "numpy"],
    "transformer": [*OURS, "torch", "torch-compile", "jax", "numpy"],
    "hvp": [*OURS, "torch", "jax"],
    "fused": [*OURS, "torch", "torch-compile", "jax", "numpy", "numpy-blocked"],
    "softmax": [*OURS, "torch", "torch-compile", "jax", "numpy", "numpy-blocked"],
    "layernorm": [*OURS, "torch", "torch-compile", "jax", "numpy", "numpy-blocked"],
    "scalars": ["minigrad", "replayed", "replayed-native", "torch", "micrograd", "numpy"],
}


def installed(engine: str) -> bool:
    """Whether the engine can be imported here."""
    return importlib.util.find_spec(HOMES[engine.partition("@")[0]][0]) is not None


def run(engine: str, workload: Workload) -> Run:
    """Prepare the workload on an engine. Raises AttributeError if the engine lacks a function of the loss."""
    engine, _, device = engine.partition("@")
    _, module, name = HOMES[engine]
    made = getattr(importlib.import_module(f"{__name__}.{module}"), name)(*filter(None, [device]))
    ready: Run = getattr(made, workload.kind)(workload)
    return ready
