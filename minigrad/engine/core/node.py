"""The one intermediate representation: a Node is an op applied to nodes.

Eager ops record nodes (to run backward), rules and traces build them (to optimise and compile), and the
drawings show them. A graph consists of everything that can be reached from a node.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from operator import attrgetter
from typing import Any, NamedTuple, Protocol

from ..base.errors import CycleError
from ..base.spec import Spec
from .hooks import Hooks
from .modes import current
from .op import Op
from .versions import now

ENGINE = os.path.normpath(f"{__file__}/../../.."), *(str(sys.modules[x].__file__) for x in ("contextlib", "functools"))


class BackwardRule(Protocol):
    """The derivative of a recorded op: compiled from the op (engine/tensor/rules.py), or written by hand.

    spec     the spec of the gradient that arrives
    reads    what each saved array is: 0 the result, 1, 2, … an operand, None another array
    """

    @property
    def spec(self) -> Spec: ...

    @property
    def reads(self) -> tuple[int | None, ...]: ...

    def pull(self, gy: Any, *saved: Any) -> tuple[Any, ...]:
        """One gradient for each input, as an array; None for an input without a gradient."""

    def trace(self, node: Any, gy: Any, *saved: Any) -> tuple[Any, ...]:
        """As pull, for a gradient gy that is a tensor: returns tensors, and records the computation."""


class Node:
    """One application of an op.

    inputs    the nodes of its operands, in order
    spec      shape, dtype and device of its result
    """

    __slots__ = ("__weakref__", "inputs", "op", "spec")
    __match_args__ = ("op", "inputs")

    needs_grad: bool = False
    born: int = 0
    rule: Any = None
    saved: Any = ()
    hooks: Any = None
    part: Any = None
    worker: int | None = None

    def __init__(self, op: Op, inputs: tuple[Node, ...] = (), spec: Spec | None = None):
        self.op, self.inputs = op, inputs
        self.spec: Spec = op.infer(*map(attrgetter("spec"), inputs)) if spec is None else spec

    def with_inputs(self, inputs: tuple[Node, ...]) -> Node:
        """The same op on other nodes, with this node's name; self if the inputs are unchanged."""
        return self if inputs == self.inputs else self.naming(Node(self.op, inputs))

    def again(self, inputs: tuple[Node, ...]) -> Node:
        """As with_inputs(), for nodes of the same specs."""
        return self if inputs == self.inputs else Node(self.op, inputs, self.spec)

    def naming(self, node: Node, suffix: str = "") -> Node:
        """`node` with this node's name and place, if this node has them, and with the suffix added to the name."""
        return node

    def __repr__(self) -> str:
        return f"{self.op} → {self.spec}"


class Place(NamedTuple):
    """A line of the user's code, and the path of the module being called there, if calls are tracked: see calls.py."""

    file: str
    line: int
    function: str
    module: str = ""

    def __str__(self) -> str:
        return f"{spot(self.file, self.line)}, in {self.function}"


def spot(file: str, line: int) -> str:
    """A line of the user's code as error messages name it: `file:line`; in a notebook `Cell In[5], line 4`."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", type(None))()  # type: ignore[misc]
    cell = shell and shell.compile.format_code_name(file)
    return f"{file}:{line}" if cell is None else f"{' '.join(cell)}, line {line}"


def place(library: tuple[str, ...] = ENGINE) -> Place | None:
    """The line of the user's code that is running: the innermost frame outside the folders of a library."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(library):
        frame = frame.f_back  # type: ignore[assignment]
    module = current.mode.calls[-1][1] if current.mode.calls else ""
    return None if frame is None else Place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, module)


class NamedNode(Node):
    """A node of a graph that is built before it runs. It records its name, and where and when it was built.

    name     unique in its graph. `place` is the user's line; `worker`, the process whose device block it was built in
    part     the checkpoint it belongs to, whose nodes backward computes again; None outside of checkpoints
    """

    __slots__ = ("born", "name", "part", "place", "worker")

    def __init__(
        self, op: Op, inputs: tuple[Node, ...], spec: Any, name: str, place: Place | None,
        born: int = 0, part: Any = None, worker: int | None = None,
    ):  # fmt: skip
        self.op, self.inputs, self.spec, self.name, self.place = op, inputs, spec, name, place
        self.born, self.part, self.worker = born or now(), part, worker

    def again(self, inputs: tuple[Node, ...]) -> Node:
        mine = self.name, self.place, self.born, self.part, self.worker
        return self if inputs == self.inputs else NamedNode(self.op, inputs, self.spec, *mine)

    def naming(self, node: Node, suffix: str = "") -> Node:
        """`node` with this node's name (plus the suffix), place, part and worker."""
        mine = self.name + suffix, self.place, self.born, self.part, self.worker
        return NamedNode(node.op, node.inputs, node.spec, *mine)


class Source(Node):
    """A leaf, where a graph begins: the node of a tensor that was not computed by a recorded op.

    needs_grad    whether the tensor requires a gradient
    tensor        a weak reference to the tensor
    saved         its array, if small: drawings show its numbers even after the tensor is gone
    hooks         the hooks on its gradient: see hooks.py
    """

    __slots__ = ("hooks", "needs_grad", "saved", "tensor")

    def __init__(self, op: Op, spec: Spec, needs_grad: bool, tensor: Any, saved: tuple[Any, ...]):
        self.op, self.inputs, self.spec = op, (), spec
        self.needs_grad, self.tensor, self.saved = needs_grad, tensor, saved
        self.hooks: Hooks | None = None


class Record(Node):
    """An op that has run, with the data that backward needs.

    rule     its compiled derivative
    saved    the arrays that the rule reads; None once a backward has freed them
    born     when the op ran, by the engine's clock: later than every op it depends on
    hooks    the hooks on its gradient, or None
    """

    __slots__ = ("born", "hooks", "rule", "saved")

    needs_grad = True

    def __init__(self, op: Op, inputs: tuple[Node, ...], rule: BackwardRule, saved: tuple[Any, ...]):
        self.op, self.inputs, self.spec = op, inputs, rule.spec
        self.rule: BackwardRule = rule
        self.saved, self.born = saved, now()
        self.hooks: Hooks | None = None


def history(*outputs: Node) -> list[Record]:
    """Every recorded op that the outputs depend on, oldest first: inputs before users, each once.

    There is no recursion and no topological sort, because `born` gives the order. The nodes are found nearly in order,
    youngest first, and sorting a nearly sorted list is fast.
    """
    found, reached = dict[Node, None](), [*outputs]
    for node in reached:  # the loop extends this list
        if node.inputs and node not in found and node.needs_grad:
            found[node] = None
            reached += node.inputs
    return sorted(found, key=attrgetter("born"))  # type: ignore[arg-type]


def toposort(*outputs: Node) -> list[Node]:
    """Every node the outputs depend on, inputs before users, each once.

    Iterative, so that a chain of 100,000 nodes does not exceed Python's recursion limit.
    Raises CycleError if a node depends on itself.
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
    """The sources, and the nodes of `order` (inputs before users) that depend on a source."""
    found = set(sources)
    for node in order:
        if not found.isdisjoint(node.inputs):
            found.add(node)
    return found
