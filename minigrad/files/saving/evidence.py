"""Evidence: graphs, ops and functions as plain data that a probe sends, and functions that check this data.

The first function of each pair runs in the learner's process, the second in a referee (course/referee.py). The second
does not trust the data: it checks them like a saved file, and refuses a graph that costs too much to run.

    sent_graph(graph)        graph_of(data)        a traced graph, node by node
    sent_op(op, *shapes)     obeys(data)           an op's values and derivatives, for the laws of laws.py
    sent_slopes(f, x)        slopes_agree(data)    a function's derivatives at x, by backward and by finite differences
    sent_nodes(y)            —                     the graph behind a tensor: for each node its op, inputs and size
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ...autograd.gradcheck import NUDGE as STEP
from ...autograd.gradcheck import backward_jacobian, nudged_jacobian
from ...engine.base.spec import Spec
from ...engine.core.node import toposort
from ...engine.core.op import Op
from ...engine.tensor.tensor import Tensor
from ...graph.compiler import Graph, flops
from ...laws import NUDGE, directions
from .graphs import GraphDecoder, GraphEncoder

MOST_ELEMENTS = 1_000_000  # in all results of a graph together
MOST_FLOPS = 10_000_000


def sent_graph(graph: Graph) -> Any:
    """A graph as plain data. Raises StateError if a saved graph cannot hold it."""
    return GraphEncoder().graph(graph)


def graph_of(data: Any) -> Graph:
    """Decode a graph that is safe to run: all lengths are known, and it has no effects, branches or loops.

    Raises ValueError for any other graph, and for a graph that costs too much to run.
    """
    for node in data["nodes"]:
        node.pop("place", None)
    graph = GraphDecoder({}, []).graph(data)
    specs = [node.spec for node in graph.nodes if isinstance(node.spec, Spec)]
    fixed = len(specs) == len(graph.nodes) and all(type(n) is int for spec in specs for n in spec.shape)
    if not fixed or any(node.op.effect or hasattr(node.op, "graphs") for node in graph.nodes):
        raise ValueError("a graph with unknown lengths, effects, branches or loops")
    if sum(spec.size for spec in specs) > MOST_ELEMENTS or flops(graph) > MOST_FLOPS:
        raise ValueError(f"a graph of more than {MOST_ELEMENTS:,} elements or {MOST_FLOPS:,} operations")
    return graph


def sent_nodes(y: Tensor) -> list[Any]:
    """For each node behind a tensor, inputs first: the name of its op, the places of its inputs, its size."""
    nodes = [] if y.node is None else toposort(y.node)
    places = {node: i for i, node in enumerate(nodes)}
    return [[type(node.op).__name__, [places[x] for x in node.inputs], node.spec.size] for node in nodes]


# -- ops --------------------------------------------------------------------------------------------


def sent_op(op: Op, *shapes: tuple[int, ...]) -> dict[str, Any]:
    """An op's values and derivatives on random operands. An exception is stored under "error"."""
    sent: dict[str, Any] = {"op": str(op)}
    try:
        for name, value in measurements(op, operands(shapes)):
            sent[name] = value
    except Exception as error:
        sent["error"] = [type(error).__name__, str(error)[:300]]
    return sent


def operands(shapes: tuple[tuple[int, ...], ...]) -> list[Tensor]:
    """Random operands from 0.5 to 2, as in laws.check(): at 0, logarithms are infinite and some ops have kinks."""
    rng = np.random.default_rng(0)
    return [Tensor(rng.uniform(0.5, 2.0, shape)) for shape in shapes]


def measurements(op: Op, xs: list[Tensor]) -> Iterator[tuple[str, Any]]:
    """The numbers that each law needs, by name, in the order in which obeys() reads them."""
    arrays = [x.numpy() for x in xs]
    came, foretold = np.asarray(op.forward(np, *arrays)), op.infer(*(x.spec for x in xs))
    yield "specs", [str(foretold), str(Spec(came.shape, came.dtype))]
    yield "memory", [byte_bounds(x) for x in (came, *arrays)]
    dxs, y = directions(xs, 1), xs[0].apply(op, *xs[1:])
    (gy,) = directions([y], 2)
    yield "gradients", [g.numpy() for g in op.gradients(gy, y, *xs)]
    yield "pushed", op.jvp(dxs, y, *xs).broadcast_to(y.shape).numpy()
    yield "nudged", [op.forward(np, *(x + s * dx.numpy() for x, dx in zip(arrays, dxs))) for s in (NUDGE, -NUDGE)]
    leaves = [Tensor(x.value, requires_grad=True) for x in xs]
    leaves[0].apply(op, *leaves[1:]).backward(gy.value)
    yield "compiled", [None if leaf.grad is None else leaf.grad.numpy() for leaf in leaves]


def obeys(sent: dict[str, Any], *shapes: tuple[int, ...]) -> None:
    """Check the laws of laws.py on what sent_op() returned. Raises AssertionError for the first law that is broken."""
    op, xs = sent["op"], operands(shapes)
    foretold, came = item(sent, "specs")
    assert foretold == came, f"{op}: infer foretells {foretold}, and forward gives {came}"
    (start, end), *others = item(sent, "memory")
    assert all(end <= a or b <= start for a, b in others), f"{op}: forward gives the memory of an operand: copy it"
    gradients = [np.asarray(gx, float) for gx in item(sent, "gradients")]
    for x, gx in zip(xs, gradients, strict=True):
        assert gx.shape == x.shape, f"{op}: a gradient has the shape {gx.shape}, and its operand {x.shape}"
    pushed = np.asarray(item(sent, "pushed"), float)
    dxs, (gy,) = directions(xs, 1), directions([Tensor(pushed)], 2)
    forward, backward = (gy.numpy() * pushed).sum(), sum((dx.numpy() * gx).sum() for dx, gx in zip(dxs, gradients))
    assert np.isclose(forward, backward), f"{op}: ⟨gy, J dx⟩ = {forward:.12g}, but ⟨Jᵀ gy, dx⟩ = {backward:.12g}"
    up, down = np.asarray(item(sent, "nudged"), float)
    slope = (up - down) / (2 * NUDGE)
    assert close(pushed, slope, 1e-5, 1e-8), f"{op}: jvp says {pushed}, nudging forward says {slope}"
    for gx, fast in zip(gradients, item(sent, "compiled"), strict=True):
        assert close(gx, fast, 1e-12, 1e-8), f"{op}: compiled, a gradient is {fast}; interpreted, {gx}"


def close(a: Any, b: Any, rtol: float, atol: float) -> bool:
    """Whether two arrays of numbers have the same shape and nearly the same elements."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    return a.shape == b.shape and bool(np.allclose(a, b, rtol, atol))


def item(sent: dict[str, Any], name: str) -> Any:
    """The numbers under this name. If sent_op() failed before measuring them, raises an exception of the same name."""
    if name not in sent and "error" in sent:
        kind, words = sent["error"]
        raise type(str(kind), (Exception,), {})(words)
    return sent[name]


# -- functions ----------------------------------------------------------------------------------------


def sent_slopes(f: Callable[[Tensor], Tensor], x: Any) -> list[Any]:
    """The derivatives of each element of f(x) by each element of x: by backward, and by finite differences."""
    xs = [np.asarray(x, float)]
    return [*backward_jacobian(f, xs), *nudged_jacobian(f, xs, STEP)]


def slopes_agree(sent: list[Any]) -> bool:
    """Whether backward and finite differences agree, to the tolerances of gradcheck()."""
    backward, nudged = sent
    return close(backward, nudged, 1e-4, 1e-6)
