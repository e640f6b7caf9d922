"""How long a graph takes to become a program: CPU seconds, for graphs of three shapes and growing size. Prints JSON.

chain     one op after another, on ten numbers
wide      ops side by side on the same numbers, added in pairs
layers    linear layers with their gradients and the update: a training step
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable
from typing import Any

from minigrad.engine.base.spec import Spec
from minigrad.engine.core.graph import Graph
from minigrad.engine.tensor.symbol import placeholder
from minigrad.graph.compiler.passes.pipeline import FAST, optimised
from minigrad.graph.compiler.program.program import Program
from minigrad.tracing.gradients import gradients

SIZES = (500, 5_000, 50_000)
NODES_OF_A_LAYER = 14


def chain(nodes: int) -> Graph:
    x = placeholder("x", Spec((10,), "f4"))
    y = x
    for i in range(nodes):
        y = y * x if i % 3 == 0 else y + x if i % 3 == 1 else y.tanh()
    return Graph((x.node,), (y.node,))


def wide(nodes: int) -> Graph:
    x = placeholder("x", Spec((10,), "f4"))
    ends = [(x * (1 + i / nodes)).exp() for i in range(nodes // 3)]
    while len(ends) > 1:
        ends = [a + b for a, b in zip(ends[::2], ends[1::2])] + ends[len(ends) & ~1 :]
    return Graph((x.node,), (ends[0].node,))


def layers(nodes: int) -> Graph:
    h = x = placeholder("x", Spec((4, 8), "f4"))
    weights: list[Any] = []
    for i in range(nodes // NODES_OF_A_LAYER):
        W, b = placeholder(f"W{i}", Spec((8, 8), "f4")), placeholder(f"b{i}", Spec((8,), "f4"))
        weights += [W, b]
        h = (h @ W + b).relu()
    loss = h.sum()
    slopes = gradients({loss.node: loss.lift(1.0)}, [w.node for w in weights])
    stepped = [w - slopes[w.node] * 0.1 for w in weights]
    return Graph((x.node, *(w.node for w in weights)), (loss.node, *(w.node for w in stepped)))


def seconds(what: Callable[..., Any], *given: Any) -> tuple[Any, float]:
    """The result of a call, and its CPU seconds."""
    gc.collect()
    start = time.process_time()
    made = what(*given)
    return made, time.process_time() - start


def figures() -> dict[str, dict[str, float]]:
    rows = {}
    for shape in (chain, wide, layers):
        for size in SIZES:
            graph, building = seconds(shape, size)
            better, passes = seconds(optimised, graph, FAST)
            _, code = seconds(Program, better)
            nodes = sum(1 for node in graph.nodes if node.inputs)
            rows[f"{shape.__name__}, {nodes:,} nodes"] = {
                "building": building, "passes": passes, "code": code, "passes + code": passes + code,
            }  # fmt: skip
    return rows


if __name__ == "__main__":
    print(json.dumps(figures()))
