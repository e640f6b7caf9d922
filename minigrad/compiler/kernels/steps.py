"""One node of a graph, run on a machine: a kernel, a matrix product, or the op's own forward.

kernel    fused groups, and every elementwise op that C can say; written into its buffer
product   MatMul and Affine, by cuBLAS; written into its buffer
call      everything else, by op.forward(xp, …), in memory of its own
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

from ... import ops
from ...node import Node
from ...op import Elementwise, Op
from ...ops import Affine, Input, MatMul, Move, Piece, RandomChoice, RandomPermutation
from ...spec import Spec
from ..fuse import Fused
from ..graph import Graph
from ..interpret import is_constant, value
from .c import NotWritten
from .kernel import Kernel
from .kernel import kernel as kernel_of
from .machine import Machine, Run, multiply

Route = Literal["kernel", "product", "call"]

# Families of ops whose forward launches, and does nothing else: no value is read, no library called that cannot be
# recorded. A test holds them to it on the simulated device. What is not listed runs between the recorded parts.
RECORDED = {
    *("arithmetic", "comparison", "pointwise", "activation", "erf", "loss", "movement", "joining", "placing"),
    *("overlay", "reduce", "softmax", "standardise", "pattern", "identity", "control", "linalg", "attention", "einsum"),
    *("index", "scatter", "scan", "window", "convolution", "pooling", "adaptive", "carried", "recurrent", "random"),
    "quantile",
}
SORTED = RandomPermutation | RandomChoice  # CuPy sorts with thrust, which waits


def is_recordable(node: Node) -> bool:
    """Whether what the op's own forward launches can be recorded."""
    op = node.op
    if isinstance(op, Piece):
        return isinstance(node.inputs[0].op, Fused) or is_recordable(node.inputs[0])
    home, _, family = type(op).__module__.rpartition(".")
    known = home == ops.__name__ and family in RECORDED
    return known and not op.effect and not isinstance(op, Move | SORTED)


def route_of(node: Node) -> Route:
    """How the node runs."""
    if isinstance(node.op, MatMul | Affine):
        same = all(x.spec.dtype == node.spec.dtype for x in node.inputs)
        return "product" if same and node.spec.dtype.char in "fde" else "call"
    try:
        return "call" if group(node) is None else "kernel"
    except NotWritten:
        return "call"


def group(node: Node) -> Fused | None:
    """The node as a fused group; None if it is no loop. Raises NotWritten where C has no words for it."""
    if isinstance(node.op, Fused):
        found = node.op
    elif isinstance(node.op, Elementwise) and node.inputs and not node.op.effect:
        found = lone(node.op, tuple(x.spec for x in node.inputs))
    else:
        return None
    kernel_of(found, [x.spec for x in node.inputs])
    return found


@lru_cache(maxsize=1024)
def lone(op: Op, specs: tuple[Spec, ...]) -> Fused:
    """An elementwise op as a group of one."""
    inputs = tuple(Node(Input(f"a{k}"), (), spec) for k, spec in enumerate(specs))
    return Fused(Graph(inputs, (Node(op, inputs),)))


class Steps:
    """Runs nodes, and keeps what it made for them: constants, and a kernel for each order of operands in memory.

    values    node → its array; of several results, a tuple
    outs      where the results of a kernel or a product are written
    """

    def __init__(self, machine: Machine):
        self.machine = machine
        self.constants: dict[Node, Any] = {}
        self.kernels: dict[tuple[Node, tuple[tuple[int, ...], ...]], tuple[Kernel, Run]] = {}

    def call(self, node: Node, values: Mapping[Node, Any]) -> Any:
        """What the op's own forward gives."""
        if is_constant(node):
            if node not in self.constants:
                self.constants[node] = value(node)
            return self.constants[node]
        return node.op.forward(self.machine.xp, *(values[x] for x in node.inputs))

    def product(self, node: Node, values: Mapping[Node, Any], out: Any) -> None:
        """x @ y, or x W + b, into `out`."""
        x, y, *bias = (values[x] for x in node.inputs)
        if isinstance(node.op, Affine):
            x, y = x.reshape(-1, x.shape[-1]), y.T if node.op.transposed else y
            out = out.reshape(x.shape[0], out.shape[-1])
        if out.size:
            multiply(self.machine, x, y, out)
        for b in bias:
            self.machine.xp.add(out, b, out=out)

    def kernel(
        self,
        node: Node,
        values: Mapping[Node, Any],
        outs: list[Any],
        over: frozenset[tuple[int, int]],
        left: dict[Kernel, list[Any]],
    ) -> None:
        """A fused group, into `outs`.

        left    what a kernel's first pass leaves for its second, kept from call to call
        """
        xs = [values[x] for x in node.inputs]
        steps = tuple(tuple(s // x.itemsize for s in x.strides) for x in xs)
        if (node, steps) not in self.kernels:
            fused = group(node)
            assert fused is not None
            made = kernel_of(fused, [x.spec for x in node.inputs], steps, over)
            self.kernels[node, steps] = made, self.machine.load(made, fused)
        made, run = self.kernels[node, steps]
        if made not in left:
            left[made] = [self.machine.xp.empty(s.shape, s.dtype) for s in made.partials]
        run(xs, outs, left[made])
