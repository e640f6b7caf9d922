"""Control flow: If, Loop and Scan, each with subgraphs, and recurrent networks, each written as a Scan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from onnx import helper

from ...engine import ops
from ...engine.base.spec import Spec
from ...graph.compiler.control import Cond, Scan, While
from .array import NamedArray
from .spellings import spells
from .writer import value_info


def emit_subgraph(g: Any, name: str, inputs: Sequence[NamedArray], body: Callable[[], Sequence[NamedArray]]) -> Any:
    """Write a subgraph that maps these inputs to the results of body(); return the subgraph and the results."""
    with g.writer.inside() as nodes:
        # A subgraph must compute its outputs, so a value from outside passes through an Identity node.
        results = [g.call("Identity", [y], y.shape, y.dtype) for y in body()]
        given, made = ([value_info(x.name, x.dtype, x.shape) for x in xs] for xs in (inputs, results))
        return helper.make_graph(nodes, g.writer.fresh(name), given, made), results


def subgraph_input(g: Any, like: NamedArray, shape: Any = None) -> Any:
    """A new input of a subgraph, with the dtype of `like`."""
    return NamedArray(g, g.writer.fresh("given"), like.shape if shape is None else shape, like.dtype)


def results_of(g: Any, kind: str, inputs: Sequence[str], specs: Any, **attributes: Any) -> Any:
    names = g.writer.node(kind, inputs, len(specs), **attributes)
    return tuple(NamedArray(g, name, spec.shape, spec.dtype) for name, spec in zip(names, specs))


@spells(Cond)
def cond(g: Any, op: Cond, p: NamedArray, *k: NamedArray) -> Any:
    branches = {}
    for name, graph in (("then_branch", op.true), ("else_branch", op.false)):
        branches[name], results = emit_subgraph(g, name, (), partial(g.run, graph, k))
    return results_of(g, "If", [p.astype(bool).name], results, **branches)


@spells(While)
def while_loop(g: Any, op: While, *xs: NamedArray) -> Any:
    n = op.carried
    carries = [subgraph_input(g, x) for x in xs[:n]]
    turn, going = (
        NamedArray(g, g.writer.fresh(name), (), dtype) for name, dtype in (("turn", np.int64), ("going", bool))
    )

    def body() -> Sequence[NamedArray]:
        ys = g.run(op.body, (*carries, *xs[n:]))
        return g.run(op.test, (*ys[:n], *xs[n:]))[0], *ys

    first = g.run(op.test, xs)[0]
    graph, _ = emit_subgraph(g, "body", (turn, going, *carries), body)
    specs = op.infer(*(Spec(x.shape, x.dtype) for x in xs))
    return results_of(g, "Loop", ["", first.name, *(x.name for x in xs[:n])], specs, body=graph)


@spells(Scan)
def scan(g: Any, op: Scan, *xs: NamedArray) -> Any:
    n, m = op.carried, op.carried + op.sliced
    counter = () if op.sliced else (g.as_operand(np.zeros(op.length or 0, np.int64)),)  # sets the number of steps
    return emit_scan(
        g, xs[:n], (*xs[n:m], *counter), lambda cs, slices: g.run(op.body, (*cs, *slices[: m - n], *xs[m:])), op.reverse
    )


def emit_scan(
    g: Any, carries: Sequence[NamedArray], xs: Sequence[NamedArray],
    step: Callable[..., Sequence[NamedArray]], reverse: bool = False,
) -> Any:  # fmt: skip
    """Scan step(carries, slices) over the first axis of xs; return the final carries, and the other results stacked."""
    n, T = len(carries), xs[0].shape[0]
    inner, slices = [subgraph_input(g, x) for x in carries], [subgraph_input(g, x, x.shape[1:]) for x in xs]
    graph, ys = emit_subgraph(g, "body", (*inner, *slices), lambda: step(inner, slices))
    specs = [*ys[:n], *(NamedArray(g, y.value, (T, *y.shape), y.dtype) for y in ys[n:])]
    back = {"scan_input_directions": [1] * len(xs), "scan_output_directions": [1] * len(ys[n:])} if reverse else {}
    names = [x.name for x in (*carries, *xs)]
    return results_of(g, "Scan", names, specs, body=graph, num_scan_inputs=len(xs), **back)


@spells(ops.Elman, ops.ElmanRelu, ops.Gru, ops.Lstm)
def recurrent(g: Any, op: Any, a: NamedArray, U: NamedArray, start: NamedArray, *c: NamedArray) -> Any:
    """Write a Scan over the op's steps; for sequences of different lengths, run the op's `forward`, which unrolls."""
    if op.batch_sizes is not None:
        return op.forward(g, a, U, start, *c)
    dtype = g.result_type(a, U, start, *c)
    a, U, start, *c = (g.cast(x, dtype) for x in (a, U, start, *c))  # type: ignore[assignment]

    def step(states: Sequence[NamedArray], slices: Sequence[NamedArray]) -> Sequence[NamedArray]:
        (s,), (at,) = states, slices
        y = op.forward(g, at.reshape((1, *at.shape)), U, s, *c)
        s = y.reshape(s.shape)
        return s, s

    _, y = emit_scan(g, [start], [a], step)
    return y.transpose((1, 0, 2, 3))
