"""The one intermediate representation: a Node is an op applied to nodes.

The same nodes are recorded behind eager tensors (to run backward), staged by a rule or a trace (to
optimise and compile) and drawn on the screen. A graph is whatever can be reached from a node.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .errors import CycleError
from .op import Op
from .spec import Spec

if TYPE_CHECKING:
    from .plan import Rule


class Node:
    """One application of an op.

    inputs       the nodes of its operands, in order
    spec         shape, dtype and device of its result
    needs_grad   whether a backward will want to pass through it
    rule         its compiled derivative, on a recorded node: see plan.py
    saved        the arrays that rule reads; None once a backward has freed them
    grad         where backward leaves the gradient, on a leaf
    tensor       a weak reference to the leaf tensor it stands for
    """

    __slots__ = ("__weakref__", "grad", "inputs", "needs_grad", "op", "rule", "saved", "spec", "tensor")
    __match_args__ = ("op", "inputs")

    def __init__(
        self,
        op: Op,
        inputs: tuple[Node, ...] = (),
        spec: Spec | None = None,
        needs_grad: bool = False,
        rule: Rule | None = None,
        saved: tuple[Any, ...] | None = (),
    ):
        self.op = op
        self.inputs = inputs
        self.spec: Spec = op.infer(*(x.spec for x in inputs)) if spec is None else spec
        self.needs_grad = needs_grad
        self.rule = rule
        self.saved = saved
        self.grad: Any = None
        self.tensor: Any = None

    def with_inputs(self, inputs: tuple[Node, ...]) -> Node:
        """The same op on other nodes; itself if they are its own."""
        return self if inputs == self.inputs else Node(self.op, inputs)

    def __repr__(self) -> str:
        return f"{self.op} → {self.spec}"


def toposort(*outputs: Node) -> list[Node]:
    """Every node the outputs depend on, inputs before users, each once.

    Iterative: a chain of 100,000 nodes must not meet Python's recursion limit.
    Raises CycleError where a node depends on itself.
    """
    order: list[Node] = []
    placed: dict[Node, bool] = {}  # node → whether it is in `order`; False while its inputs are being placed
    stack = list(reversed(outputs))
    while stack:
        node = stack[-1]
        if node not in placed:
            placed[node] = False
            for x in reversed(node.inputs):
                if x not in placed:
                    stack.append(x)
                elif not placed[x]:
                    raise CycleError(f"{x} depends on itself: a computation graph has no cycle")
        else:
            stack.pop()
            if not placed[node]:
                placed[node] = True
                order.append(node)
    return order


def depending_on(order: Iterable[Node], sources: Iterable[Node]) -> set[Node]:
    """Those nodes of `order` (inputs before users) that are sources or are made from one."""
    found = set(sources)
    for node in order:
        if not found.isdisjoint(node.inputs):
            found.add(node)
    return found
