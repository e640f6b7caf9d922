"""The one intermediate representation: a Node is an op applied to nodes.

The same nodes are recorded behind eager tensors (to run backward), written down by a rule or a trace (to
optimise and compile) and drawn on the screen. A graph is whatever can be reached from a node.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ..base.errors import CycleError
from ..base.spec import Spec
from .hooks import Hooks
from .modes import current
from .op import Op
from .versions import now

ENGINE = str(Path(__file__).parents[2]), *(str(sys.modules[x].__file__) for x in ("contextlib", "functools"))


class BackwardRule(Protocol):
    """The rule by which a record answers a gradient: compiled from its op (engine/tensor/rules.py), or written by hand.

    spec     of the gradient that arrives
    reads    which slots are kept: 0 is the result, 1, 2, … the operands; None for what no slot holds
    """

    @property
    def spec(self) -> Spec: ...

    @property
    def reads(self) -> tuple[int | None, ...]: ...

    def pull(self, gy: Any, *saved: Any) -> tuple[Any, ...]:
        """One gradient for each input, as arrays; None where there is none."""

    def trace(self, node: Any, gy: Any, *saved: Any) -> tuple[Any, ...]:
        """The same as tensors, recorded, for a gradient gy that is a tensor."""


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
        self.spec: Spec = op.infer(*(x.spec for x in inputs)) if spec is None else spec

    def with_inputs(self, inputs: tuple[Node, ...]) -> Node:
        """The same op on other nodes; itself if they are its own."""
        return self if inputs == self.inputs else Node(self.op, inputs)

    def naming(self, node: Node, suffix: str = "") -> Node:
        """The node, under the name and place of this one, if it has any; as a part of it, with a suffix."""
        return node

    def __repr__(self) -> str:
        return f"{self.op} → {self.spec}"


class Place(NamedTuple):
    """Where in the user's code something was written, and in whose call, if calls were followed: see calls.py."""

    file: str
    line: int
    function: str
    module: str = ""

    def __str__(self) -> str:
        return f"{spot(self.file, self.line)}, in {self.function}"


def spot(file: str, line: int) -> str:
    """A line of the user's code as errors call it: `file:line`; in a notebook `Cell In[5], line 4`, as in IPython's."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    cell = None if shell is None else shell.compile.format_code_name(file)
    return f"{file}:{line}" if cell is None else f"{' '.join(cell)}, line {line}"


def place() -> Place | None:
    """The line of the user's code that runs just now: the first outside the engine."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(ENGINE):
        frame = frame.f_back  # type: ignore[assignment]
    module = current.mode.calls[-1][1] if current.mode.calls else ""
    return None if frame is None else Place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, module)


class NamedNode(Node):
    """A node of a graph that is built before it runs: it knows its name, and the line and the moment that built it.

    name     unique in its graph; `place` is the user's line, `worker` the process in whose block it was made
    part     the checkpoint that it is in, and that backward computes again; None outside of any
    """

    __slots__ = ("born", "name", "part", "place", "worker")

    def __init__(self, op: Op, inputs: tuple[Node, ...], spec: Any, name: str, place: Place | None, born: int = 0):
        self.op, self.inputs, self.spec, self.name, self.place = op, inputs, spec, name, place
        self.born, self.part, self.worker = born or now(), None, None

    def with_inputs(self, inputs: tuple[Node, ...]) -> Node:
        return self if inputs == self.inputs else self.naming(Node(self.op, inputs))

    def naming(self, node: Node, suffix: str = "") -> Node:
        """The same node, under this name, in this place and part."""
        named = NamedNode(node.op, node.inputs, node.spec, self.name + suffix, self.place, self.born)
        named.part, named.worker = self.part, self.worker
        return named


class Source(Node):
    """A leaf, where a graph begins: a tensor that no recorded op made.

    needs_grad    whether it was asked for a gradient
    tensor        a weak reference to it
    saved         its array, if that is small: a graph of numbers can then always be drawn
    hooks         what its gradient passes through: see hooks.py
    """

    __slots__ = ("hooks", "needs_grad", "saved", "tensor")

    def __init__(self, op: Op, spec: Spec, needs_grad: bool, tensor: Any, saved: tuple[Any, ...]):
        self.op, self.inputs, self.spec = op, (), spec
        self.needs_grad, self.tensor, self.saved = needs_grad, tensor, saved
        self.hooks: Hooks | None = None


class Record(Node):
    """An op that ran, and what backward needs of it.

    rule     its derivative, compiled
    saved    the arrays that rule reads; None once a backward has freed them
    born     when it ran: later than all it was made from
    hooks    what its gradient passes through on arrival; None for none
    """

    __slots__ = ("born", "hooks", "rule", "saved")

    needs_grad = True

    def __init__(self, op: Op, inputs: tuple[Node, ...], rule: BackwardRule, saved: tuple[Any, ...]):
        self.op, self.inputs, self.spec = op, inputs, rule.spec
        self.rule: BackwardRule = rule
        self.saved, self.born = saved, now()
        self.hooks: Hooks | None = None


def history(*outputs: Node) -> list[Record]:
    """Every recorded op the outputs came from, oldest first: inputs before users, each once.

    No recursion, and no search for an order: the clock has kept it. They are found nearly in order, the youngest first,
    and what is nearly in order is quickly sorted.
    """
    found, reached = dict[Node, None](), [*outputs]
    for node in reached:  # which grows meanwhile
        if node.inputs and node not in found and node.needs_grad:
            found[node] = None
            reached += node.inputs
    return sorted(found, key=attrgetter("born"))  # type: ignore[arg-type]


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
