"""minigrad's compiler by itself: a whole training step, forward, backward and update, as one Program on arrays.

Sums may be reordered, as by the other compilers. The difference to the engine `Traced` is the cost of mg.function:
tensors and the checks that come with them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from minigrad.engine.base.spec import Spec
from minigrad.engine.core.graph import Graph
from minigrad.engine.tensor.symbol import placeholder
from minigrad.graph.compiler.passes.pipeline import FAST, optimised
from minigrad.graph.compiler.program.program import Program
from minigrad.tracing.gradients import gradients

from ..workloads import Arrays, Workload
from . import Run
from .torchlike import Minigrad

Symbols = dict[str, Any]


class Prepared:
    """A program for these arrays, compiled at its first call. A result with an array's name is written into it.

    what    function from symbols of the arrays to the results, by name
    """

    def __init__(self, what: Callable[[Symbols], Symbols], arrays: Arrays, threads: int):
        self.what, self.arrays, self.threads = what, [*arrays.values()], threads
        self.names = [*arrays]

    @cached_property
    def program(self) -> Program:
        symbols = {name: placeholder(name, Spec(a.shape, a.dtype)) for name, a in zip(self.names, self.arrays)}
        results = self.what(symbols)
        graph = Graph(tuple(s.node for s in symbols.values()), tuple(y.node for y in results.values()))
        into = {i: self.names.index(name) for i, name in enumerate(results) if name in symbols}
        return Program(optimised(graph, FAST), self.threads, into=into)

    def __call__(self) -> tuple[Any, ...]:
        return self.program(*self.arrays)


class Programs(Minigrad):
    """The engine's functions, on symbols.

    threads    number of threads for a program
    """

    threads = 1

    def training(self, workload: Workload) -> Run:
        batch, P = workload.arrays()
        kept = KEPT[workload.update](P)

        def step(symbols: Symbols) -> Symbols:
            loss, G = self.gradients(workload, symbols, batch, P)
            return {"loss": loss} | UPDATES[workload.update](symbols, G, workload.lr)

        return Run({"step": Prepared(step, batch | P | kept, self.threads)}, self.answer(workload, batch, P))

    def large(self, workload: Workload) -> Run:
        """The gradient overwrites the last one."""
        batch, P = workload.arrays()
        G = {f"g{name}": np.empty_like(p) for name, p in P.items()}

        def forward(symbols: Symbols) -> Symbols:
            return {"loss": self.loss(workload, symbols, batch, P)}

        def gradient(symbols: Symbols) -> Symbols:
            loss, G = self.gradients(workload, symbols, batch, P)
            return {"loss": loss} | named(G)

        stages = {
            "forward": Prepared(forward, batch | P, self.threads),
            "gradient": Prepared(gradient, batch | P | G, self.threads),
        }
        return Run(stages, self.answer(workload, batch, P))

    def hvp(self, workload: Workload) -> Run:
        batch, P = workload.arrays()
        V = {f"v{name}": v for name, v in workload.vectors().items()}

        def product(symbols: Symbols) -> Symbols:
            loss, G = self.gradients(workload, symbols, batch, P)
            along = gradients({g.node: symbols[f"v{name}"] for name, g in G.items()}, nodes(symbols, P))
            return {"loss": loss} | {f"h{name}": h for name, h in zip(P, along.values())}

        prepared = Prepared(product, batch | P | V, self.threads)

        def answer() -> tuple[float, Arrays]:
            loss, *products = prepared()
            return float(loss), dict(zip(P, products))

        return Run({"product": prepared}, answer)

    def loss(self, workload: Workload, symbols: Symbols, batch: Arrays, P: Arrays) -> Any:
        return workload.loss(self, **{name: symbols[name] for name in (batch | P)})

    def gradients(self, workload: Workload, symbols: Symbols, batch: Arrays, P: Arrays) -> tuple[Any, Symbols]:
        """The loss, and its gradient with respect to each parameter."""
        loss = self.loss(workload, symbols, batch, P)
        return loss, dict(zip(P, gradients({loss.node: loss.lift(1.0)}, nodes(symbols, P)).values()))

    def answer(self, workload: Workload, batch: Arrays, P: Arrays) -> Callable[[], tuple[float, Arrays]]:
        def differentiated(symbols: Symbols) -> Symbols:
            loss, G = self.gradients(workload, symbols, batch, P)
            return {"loss": loss} | named(G)

        prepared = Prepared(differentiated, batch | P, self.threads)

        def answer() -> tuple[float, Arrays]:
            loss, *gs = prepared()
            return float(loss), dict(zip(P, gs))

        return answer


class Threaded(Programs):
    threads = 2


def nodes(symbols: Symbols, P: Arrays) -> list[Any]:
    return [symbols[name].node for name in P]


def named(G: Symbols) -> Symbols:
    """The gradients, with names different from the parameters'."""
    return {f"g{name}": g for name, g in G.items()}


def descent(symbols: Symbols, G: Symbols, lr: float) -> Symbols:
    """p ← p − lr g"""
    return {name: symbols[name] - g * lr for name, g in G.items()}


def moments(P: Arrays) -> Arrays:
    """Adam's two moments for each parameter, and β₁ᵗ and β₂ᵗ."""
    zeros = {f"{letter}{name}": np.zeros_like(p) for letter in "mv" for name, p in P.items()}
    return zeros | {"decay1": np.array(1.0), "decay2": np.array(1.0)}


def adam(symbols: Symbols, G: Symbols, lr: float) -> Symbols:
    """Kingma & Ba 2015, with the two corrections folded into the step, as at the end of their section 2."""
    decay1, decay2 = symbols["decay1"] * 0.9, symbols["decay2"] * 0.999
    correction = (1 - decay2).sqrt()
    step, small = (correction * lr / (1 - decay1)).float(), (correction * 1e-8).float()
    new: Symbols = {"decay1": decay1, "decay2": decay2}
    for name, g in G.items():
        m, v = symbols[f"m{name}"], symbols[f"v{name}"]
        new[f"m{name}"] = m = m + (g - m) * 0.1
        new[f"v{name}"] = v = v + (g * g - v) * 0.001
        new[name] = symbols[name] - m / (v.sqrt() + small) * step
    return new


KEPT: dict[str | None, Any] = {"sgd": lambda P: {}, "adam": moments, None: lambda P: {}}
UPDATES: dict[str | None, Any] = {"sgd": descent, "adam": adam, None: lambda symbols, G, lr: named(G)}
