"""A Function in a graph that is being built: its backward is run once, on symbols, and becomes a graph of its own.

The node that stands for the call passes its results on, and has for its derivative that graph. What backward reads
(what forward saved, what a closure holds) are operands of the node, so that passes may put other nodes in their place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..compiler.graph import Graph
from ..errors import NoGradientError, ShapeError
from ..node import Node
from ..op import Op
from ..ops import Const, Piece
from ..spec import Specs
from ..staging import Stage, Traced


@dataclass(frozen=True)
class Custom(Op):
    """yᵢ = xᵢ for the first few operands, with a gradient that was written by hand.

    name        of what was called
    results     how many operands are results; behind them come the arguments, and what else backward reads
    backward    the gradients of the results, then those other operands → the gradients of the arguments
    """

    name: str
    results: int
    backward: Graph

    inline = False
    is_view = True
    symbol = property(lambda self: self.name)

    def infer(self, *xs: Any) -> Any:
        return xs[0] if self.results == 1 else Specs(xs[: self.results])

    def forward(self, xp: Any, *xs: Any) -> Any:
        return xs[0] if self.results == 1 else tuple(x.copy() for x in xs[: self.results])

    def flops(self, y: Any, *xs: Any) -> int:
        return 0

    def gradients(self, gy: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
        gys = (gy,) if self.results == 1 else gy.gys
        like = next(g for g in gys if g is not None)
        arriving = [like.lift(0).astype(x.dtype).broadcast_to(x.shape) if g is None else g for g, x in zip(gys, xs)]
        gxs = spliced(self.backward, like, (*arriving, *xs[self.results :]))
        return (*(None for _ in gys), *gxs, *(None for _ in xs[len(gys) + len(gxs) :]))

    def __str__(self) -> str:
        return self.name


def spliced(graph: Graph, like: Any, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """The graph applied to operands: its ops once more, of `like`'s kind."""
    values: dict[Node, Any] = dict(zip(graph.inputs, inputs, strict=True))
    for node in graph.nodes:
        if isinstance(node.op, Const):
            values[node] = like.at(Node(node.op, (), node.spec))
        elif node not in values:
            x, *others = (values[n] for n in node.inputs)
            values[node] = x.apply(node.op, *others)
    return tuple(None if y is None else values[y] for y in graph.outputs)


def in_graph(
    name: str, stage: Stage, args: Sequence[Any], results: Sequence[Any], backward: Callable[..., Sequence[Any]]
) -> tuple[Any, ...]:
    """The results, with backward for their derivative.

    backward    gradient of each result → gradient of each argument, None where there is none
    """
    xs, ys = [stage.lift(x) for x in args], [stage.lift(y) for y in results]
    inner = Stage(stage)
    gys = [inner.argument(f"g{i}", y.spec) for i, y in enumerate(ys)]
    given = [Traced(inner.input(f"x{i}", x.spec), inner) for i, x in enumerate(xs)]
    with inner.building():
        gxs = [fitting(name, inner, gx, x) for gx, x in zip(backward(*gys), xs, strict=True)]
    captured = [stage.lift(c.what) for c in inner.captured.values()]
    inner.inputs += [x.node for x in given]  # type: ignore[misc]
    op = Custom(name, len(ys), inner.finished(gxs))
    row = stage.applied(op, [*ys, *xs, *captured])
    return (row,) if len(ys) == 1 else tuple(row.apply(Piece(i)) for i in range(len(ys)))


def fitting(name: str, stage: Stage, gx: Any, x: Traced) -> Any:
    """A gradient of its argument's shape and dtype, or None. Raises ShapeError, or NoGradientError for what is none."""
    if gx is None or not x.spec.is_float:
        return None
    if not hasattr(gx, "spec"):
        raise NoGradientError(f"{name}.backward gives tensors, or None, and gave {gx!r}")
    if gx.shape != x.shape:
        raise ShapeError(f"{name}.backward gave {gx.spec} as the gradient of an argument {x.spec}")
    return stage.lift(gx).astype(x.dtype)
