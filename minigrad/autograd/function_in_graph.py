"""A Function in a graph that is being built: its backward and its jvp are traced once, each into a graph.

One node, Custom, passes the results of forward through, and has the two graphs as its derivatives. All values that the
graphs read are operands of Custom, so that passes can replace them. Later ops read the results of Custom.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..engine.base.errors import NoGradientError, ShapeError
from ..engine.base.spec import Spec, Specs
from ..engine.core.graph import Graph
from ..engine.core.interpret import apply_graph
from ..engine.core.node import Node
from ..engine.core.op import Op
from ..engine.ops import TupleGet
from ..tracing.builder import GraphBuilder, Tracer


@dataclass(frozen=True)
class Custom(Op):
    """The identity on the first `results` operands, with derivatives written by the user.

    name        the name of the Function
    results     the number of results; the other operands are arguments, and values that the derivatives read
    backward    (gradients of the results, the results, the other operands) → gradients of the arguments
    tangents    (tangents of the arguments, the results, the other operands) → tangents of the results
    refused     if tracing jvp failed, the reason; then `tangents` is None
    """

    name: str
    results: int
    backward: Graph
    tangents: Graph | None = None
    refused: str = ""

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
        ys = [y] if self.results == 1 else [y.apply(TupleGet(i)) for i in range(self.results)]
        gxs = splice_graph(self.backward, like, (*arriving, *ys, *xs[self.results :]))
        return (*(None for _ in gys), *gxs, *(None for _ in xs[len(gys) + len(gxs) :]))

    def __str__(self) -> str:
        return self.name


def splice_graph(graph: Graph, like: Any, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Apply the graph to operands: copy its ops, as symbols of the same kind as `like`."""
    made = like.builder.node if isinstance(like, Tracer) else Node
    return apply_graph(graph, inputs, lambda constant: like.at_node(made(constant.op, (), constant.spec)))


class Derivative:
    """A traced derivative: a function of the arriving gradients or tangents, and of results and arguments of the call.

    outputs    the results of f
    read       (symbol of the outer graph, input node) for each outside value that f reads
    """

    def __init__(self, outer: GraphBuilder, arriving: Sequence[Spec], f: Callable[..., Sequence[Any]]):
        self.builder = GraphBuilder(outer)
        arrived = [self.builder.argument(f"d{i}", spec) for i, spec in enumerate(arriving)]
        with self.builder.building():
            self.outputs = f(self.builder, *arrived)
        self.read = [(outer.lift(c.what), c.input) for c in self.builder.captured.values()]

    def graph(self, others: Sequence[Tracer]) -> Graph:
        """The derivative as a graph. Its inputs are the arriving values, then `others`, which include all of `read`."""
        given = [self.builder.input("x", x.spec) for x in others]
        inputs = {x.node: node for x, node in reversed([*zip(others, given)])}  # node → its first input
        instead: dict[Node, Node] = {node: inputs[x.node] for x, node in self.read}
        outputs = Graph((), tuple(None if y is None else y.node for y in self.outputs))
        graph = outputs.rebuild(lambda node, xs: instead.get(node) or node.with_inputs(xs))
        return Graph((*self.builder.inputs, *given), graph.outputs)


def add_custom_op(
    name: str, builder: GraphBuilder, args: Sequence[Any], results: Sequence[Any],
    backward: Callable[..., Sequence[Any]], jvp: Callable[..., Sequence[Any]] | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """The results, with the user's derivatives. `backward` maps gradients of the results to gradients (or None) of the
    arguments; `jvp` maps tangents of the arguments to tangents of the results, and is None without forward mode.
    """
    xs, ys = [builder.lift(x) for x in args], [builder.lift(y) for y in results]

    def pullback(inner: GraphBuilder, *gys: Any) -> list[Any]:
        return [fitting(f"{name}.backward", inner, gx, x) for gx, x in zip(backward(*gys), xs, strict=True)]

    def pushforward(inner: GraphBuilder, *dxs: Any) -> list[Any]:
        assert jvp is not None  # pushforward is called only if there is a jvp
        return [fitting(f"{name}.jvp", inner, dy, y) for dy, y in zip(jvp(*dxs), ys, strict=True)]

    rules, refused = [Derivative(builder, [y.spec for y in ys], pullback)], ""
    if jvp is not None:
        moving = [x.spec if x.spec.is_float else x.spec.with_dtype(float) for x in xs]
        try:
            rules.append(Derivative(builder, moving, pushforward))
        except Exception as reason:  # raised by user code; backward works without jvp
            refused = f"{name}.jvp, while a graph was built: {reason}"
    return call_with_rules(name, builder, xs, ys, rules, refused)


def call_with_rules(
    name: str, builder: GraphBuilder, xs: list[Tracer], ys: list[Tracer], rules: list[Derivative], refused: str
) -> tuple[Any, ...]:
    """Pass the results ys through a Custom node. Its derivatives are `rules`: backward, then jvp if it was traced."""
    called = {x.node for x in (*ys, *xs)}
    read = [*{x.node: x for rule in rules for x, _ in rule.read if x.node not in called}.values()]
    backward, *tangents = (rule.graph([*ys, *xs, *read]) for rule in rules)
    op = Custom(name, len(ys), backward, tangents[0] if tangents else None, refused)
    row = builder.add_op(op, [*ys, *xs, *read])
    given = (row,) if len(ys) == 1 else tuple(row.apply(TupleGet(i)) for i in range(len(ys)))
    for y in given:
        y.root = None  # y owns its memory
    return given


def fitting(name: str, builder: GraphBuilder, dx: Any, x: Tracer) -> Any:
    """dx, a gradient or tangent, in the dtype of x, or None. Raises ShapeError or NoGradientError if it is invalid."""
    if dx is None or not x.spec.is_float:
        return None
    if not hasattr(dx, "spec"):
        raise NoGradientError(f"{name} must return tensors or None; it returned {dx!r}")
    if dx.shape != x.shape:
        raise ShapeError(f"{name} returned {dx.spec} for {x.spec}: the two shapes must be equal")
    return builder.lift(dx).astype(x.dtype)
