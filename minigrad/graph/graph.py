"""Graph: a program that is built first and run later; each run computes only what is fetched.

    g = mg.Graph()
    with g.as_default():
        x = mg.placeholder("float64", (None, 3))
        w = mg.Variable(np.zeros((3, 1)), name="w")
        y = x @ w
    with mg.Session(g) as session:
        session.run(w.initializer)
        session.run(y, {x: data})

A Graph stays open: an op on its symbols is added to it, inside the block or outside. The default graph is that of the
innermost `with graph.as_default():`, else that of the innermost `with Session(graph):`, else one graph per thread.
Names and meaning are TensorFlow 1's.
"""

from __future__ import annotations

import re
import sys
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple, Self

import numpy as np

from ..engine import ops
from ..engine.base.errors import EditedError, GraphError
from ..engine.base.pytree import leaves
from ..engine.base.spec import Spec
from ..engine.core.modes import current
from ..engine.core.node import NamedNode, Node, place
from ..engine.core.op import Op
from ..engine.tensor.tensor import Tensor, tensor
from ..tracing.builder import Capture, GraphBuilder, Tracer
from ..tracing.tracer import get_default_session, on_worker, workers

VALID = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")
GLOBAL_VARIABLES, TRAINABLE_VARIABLES, UPDATE_OPS = "variables", "trainable_variables", "update_ops"


class Waiting(NamedTuple):
    """A control_dependencies block.

    waits     the nodes that its ops run after, including those of the blocks around it
    inside    the nodes made in the block, which already wait
    """

    waits: tuple[Node, ...]
    inside: set[Node]


class StaticGraph(GraphBuilder):
    """A graph under construction, for sessions to run: mg.Graph. One run extracts a core Graph from it.

    symbols       name → its symbol, in order of creation
    order         node → its position in that order, which is a valid order to run in
    states        name → the variable, or the tensor with a value, that a run reads or assigns
    given         placeholder node → its default; None if it must be fed
    probes        nodes that record the value of another node whenever it is computed
    late          nodes that read a variable after the earlier assignments of the same run
    finalized     whether the graph is closed to new nodes
    """

    once = False  # Python code is not traced: its own side effects happen while building
    chained = False  # a run executes only what it needs, so effects are not ordered among themselves
    way_out = (
        "A session gives it one: session.run(y, {x: value}). To branch on it take mg.cond or where, to loop over it "
        "mg.while_loop, lax.fori_loop or lax.scan"
    )

    def __init__(self) -> None:
        super().__init__()
        self.symbols: dict[str, Tracer] = {}
        self.order: dict[Node, int] = {}
        self.states: dict[str, Any] = {}
        self.given: dict[Node, Tracer | None] = {}
        self.probes: list[Node] = []
        self.late: set[Node] = set()
        self.finalized = False
        self.scope = ""
        self.waiting: Waiting | None = None
        self.collections: defaultdict[str, list[Any]] = defaultdict(list)
        self.plans: dict[Any, Any] = {}  # the cached run plans of sessions: see session.py
        self.lock = threading.RLock()

    def note_early(self, error: Exception) -> None:
        error.__dict__["graph"] = self

    def apply(self, op: Op, operands: tuple[Any, ...]) -> Tracer:
        error = sys.exception()
        if getattr(error, "graph", None) is self:  # this op is in the `except` that caught the error
            self.refuse_caught(error)
        return super().apply(op, operands)

    def as_default(self) -> AbstractContextManager[Self]:
        """A block in which this is the default graph, to which every op is added."""
        return self.building()

    # -- nodes --------------------------------------------------------------------------------------

    def add_op(self, op: Op, xs: Sequence[Tracer]) -> Tracer:
        waits = [Tracer(node, self) for node in self.waiting.waits] if op.effect and self.waiting else ()
        y = super().add_op(op, self.after_waits(xs) or waits)
        self.symbols[y.name] = y
        return y

    def after_waits(self, xs: Sequence[Tracer]) -> Sequence[Tracer]:
        """The operands. The first is made to wait for the block's dependencies, unless one was made in the block."""
        block = self.waiting
        if block is None or not xs or not block.inside.isdisjoint(x.node for x in xs):
            return xs
        first = Tracer(self.node(ops.ControlDep(), (xs[0].node, *block.waits)), self)
        return [first, *xs[1:]]

    def node(self, op: Op, inputs: tuple[Node, ...] = (), spec: Any = None, name: str | None = None) -> NamedNode:
        with self.lock:
            return self.add_node(super().node(op, inputs, spec, name))

    def input(self, name: str, spec: Spec) -> NamedNode:
        with self.lock:
            return self.add_node(super().input(name, spec))

    def add_node(self, node: NamedNode) -> NamedNode:
        """Add a node to the graph, and return it."""
        self.order[node], node.worker = len(self.order), workers.numbers[-1]
        self.symbols[node.name] = Tracer(node, self)
        if self.waiting is not None and not isinstance(node.op, ops.Const | ops.Input):
            self.waiting.inside.add(node)
        return node

    def unique(self, name: str) -> str:
        """The name in its scope, with a number if it is taken. Raises GraphError if the graph is finalized."""
        if self.finalized:
            raise GraphError(f"the graph is finalized, and {name} would be a new node: build everything before that")
        if not VALID.fullmatch(name):
            raise GraphError(f"{name!r} is no valid name: use letters, digits and _ . - / and begin with a letter")
        name = whole = self.scope + name
        while name in self.names:
            self.names[whole] += 1
            name = f"{whole}_{self.names[whole]}"
        self.names[name] = 0
        return name

    # -- operands -----------------------------------------------------------------------------------

    def lift(self, o: Any, beside: Spec | None = None) -> Tracer:
        if isinstance(o, Tracer) and o.builder is self and self.waiting and o.name in self.states:
            return self.read(o.name)
        if isinstance(o, np.ndarray | list):  # a copy, so that later writes to the array do not change the graph
            o = tensor(o, device=None if beside is None else beside.device)
        return super().lift(o, beside)

    def capture(self, x: Any) -> Tracer:
        symbol = super().capture(x)
        node = self.captured[id(x)].input
        self.states.setdefault(node.name, x)
        return self.read(node.name) if self.waiting and symbol.node is node else symbol

    def constant(self, array: Any, name: str) -> Tracer:
        """Add an array to the graph under a name."""
        x = Tensor(array)
        node = self.input(name, x.spec)
        self.origins[node], self.captured[id(x)] = x, Capture(x, node, Tracer(node, self))
        self.states[node.name] = x
        return self.captured[id(x)].symbol

    def variable(self, name: str, spec: Spec, variable: Any) -> Node:
        """Add the node that reads a variable at the start of a run. The caller has made the name unique."""
        self.states[name] = variable
        return self.add_node(NamedNode(ops.Read(name, spec), (), spec, name, place()))

    def read(self, name: str) -> Tracer:
        """Read a variable after the ops that the open block waits for."""
        waits = () if self.waiting is None else self.waiting.waits
        with self.name_scope(f"{name}/"):
            return Tracer(self.node(ops.Read(name, self.states[name].spec), waits, name="read"), self)

    def latest(self, x: Any) -> Tracer:
        """The value of x after all earlier assignments: a branch or a loop that assigns x starts from this value."""
        symbol = self.lift(x)
        if self.waiting is not None or symbol.name not in self.states:
            return symbol
        found = self.read(symbol.name)
        self.late.add(found.node)
        return found

    def read_after_waits(self, x: Any) -> Any:
        is_here = x.builder is self if isinstance(x, Tracer) else id(x) in self.captured
        y = self.lift(x) if is_here else x
        return y if isinstance(y, Tracer) and isinstance(y.op, ops.Read) else x

    def reads(self, x: Any) -> list[Node]:
        """The nodes that stand for x; for a variable or a captured tensor, every node that reads it."""
        with self.control_dependencies(None):
            nodes = super().reads(x)
        name = name_of(nodes[0]) if nodes else None  # None if the graph does not read the tensor
        if name not in self.states:
            return nodes
        others = (n for n in self.order if isinstance(n.op, ops.Read) and n.op.variable == name and n is not nodes[0])
        return [*nodes, *others]

    # -- state --------------------------------------------------------------------------------------

    def add_assignment(self, x: Any, y: Tracer, op: type[ops.Assign] = ops.Assign, name: str | None = None) -> Tracer:
        """Add the op that assigns a value to a variable or a captured tensor. It has no effect until it is run."""
        target = x.name if isinstance(x, Tracer) else self.captured[id(x)].input.name
        value = y.astype(x.dtype).broadcast_to(x.shape)
        (waited,) = self.after_waits([value])
        with on_worker(self.symbols[target].node.worker):
            return Tracer(self.node(op(target), (waited.node,), name=name), self)

    def become(self, x: Any, y: Tracer) -> None:
        """Add an in-place edit as an assignment op in the collection "update_ops". Later ops read the new value of an
        edited tensor, but the old value of an edited variable.
        """
        if isinstance(x, Tracer) and x.name in self.states:
            self.collections[UPDATE_OPS].append(self.add_assignment(x, y))
            return
        with self.control_dependencies(None):
            super().become(x, y)
        if isinstance(x, Tensor):
            captured: Capture = self.captured[id(x)]
            update = self.add_assignment(x, captured.symbol)
            name = captured.input.name
            updates = self.collections[UPDATE_OPS]
            updates[:] = [u for u in updates if u.op.variable != name] + [update]

    def updates(self) -> list[Any]:
        return self.get_collection(UPDATE_OPS)

    def note_assignment(self, module: Any, name: str, before: Any) -> None:
        """Raises GraphError if forward() assigns a result to an attribute that the graph reads: runs assign nothing."""
        held = vars(module).get(name)
        is_state = any(id(x) in self.captured for x in leaves(before)) and name not in module._parameters
        if is_state and any(isinstance(x, Tracer) for x in leaves(held)):
            vars(module)[name] = before
            raise GraphError(
                f"the graph reads {name} of a {type(module).__name__}, which is then assigned a result. A run of a "
                f"session does not assign it: edit a buffer in place, as in self.{name}.copy_(…), or use mg.function"
            )

    def take(self, x: Any, y: Tracer) -> None:
        if isinstance(x, Tracer) and x.node in self.given:
            raise EditedError(
                f"{x} is a placeholder: a run could not tell whether the fed value is from before the edit or "
                "after it. Write y = x * 2, or edit a copy, y = x.clone()"
            )
        super().take(x, y)

    # -- blocks -------------------------------------------------------------------------------------

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """A block whose names get this prefix and a slash: "layer", or "layer_1" if "layer" was used before.

        A name that ends in a slash re-enters the scope of exactly that name. None leaves all scopes.
        """
        before = self.scope
        self.scope = "" if name is None else name if name.endswith("/") else f"{self.unique(name)}/"
        try:
            yield self.scope
        finally:
            self.scope = before

    @contextmanager
    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> Iterator[None]:
        """A block whose ops run after control_inputs; None cancels the blocks around it."""
        before = self.waiting
        if control_inputs is None:
            self.waiting = None
        else:
            self.waiting = None
            nodes = [self.lift(x).node for x in control_inputs]
            around = () if before is None else before.waits
            self.waiting = Waiting(tuple(dict.fromkeys([*around, *nodes])), set())
        try:
            yield
        finally:
            self.waiting = before

    # -- inspection ---------------------------------------------------------------------------------

    def finalize(self) -> None:
        """Close the graph: no more nodes can be added."""
        self.finalized = True

    def get_operations(self) -> list[Tracer]:
        """The symbols of the graph, in the order in which they were built."""
        return list(self.symbols.values())

    def get_tensor_by_name(self, name: str) -> Tracer:
        """The symbol of that name; "name:0" works too, as in TensorFlow. Raises GraphError if there is none."""
        symbol = self.symbols.get(name.removesuffix(":0"))
        if symbol is None:
            near = [n for n in self.symbols if name.split("/")[-1].split(":")[0].lower() in n.lower()][:5]
            hint = f": did you mean {', '.join(near)}?" if near else f"; it has {', '.join([*self.symbols][:10])}, …"
            raise GraphError(f"the graph has nothing called {name!r}{hint}")
        return symbol

    get_operation_by_name = get_tensor_by_name

    def get_collection(self, name: str) -> list[Any]:
        """The contents of the collection, in order of insertion."""
        return list(self.collections[name])

    def add_to_collection(self, name: str, value: Any) -> None:
        """Append a value to the collection of that name."""
        self.collections[name].append(value)

    def unread(self) -> list[Node]:
        """The nodes that no other node reads, in order of creation: ops to run, or results."""
        read = {x for node in self.order for x in node.inputs}
        return [node for node in self.order if node not in read]

    def as_text(self) -> str:
        """A line for each node: its name, its op, its inputs, its spec."""
        return "\n".join(map(line_of, self.order))

    def __repr__(self) -> str:
        return f"<Graph of {len(self.order)} nodes, {len(self.collections[GLOBAL_VARIABLES])} variables>"


Graph = StaticGraph  # its public name


def line_of(node: Node) -> str:
    """A node as one line of text."""
    return f"{name_of(node)} = {node.op}({', '.join(map(name_of, node.inputs))})  # {node.spec}"


def name_of(node: Node) -> str:
    """A node's name."""
    name: str = node.name  # type: ignore[attr-defined]
    return name


class Defaults(threading.local):
    """The default graph of this thread, outside all blocks."""

    def __init__(self) -> None:
        self.graph = StaticGraph()


defaults = Defaults()


def get_default_graph() -> StaticGraph:
    """The graph in which placeholders and variables are created now."""
    graph, session = open_graph(), get_default_session()
    return graph if graph is not None else defaults.graph if session is None else session.graph


def open_graph() -> StaticGraph | None:
    """The session's graph that is being built, if any."""
    builder = current.mode.builder
    while builder is not None and not isinstance(builder, StaticGraph):
        builder = builder.outer
    return builder


def executing_eagerly() -> bool:
    """Whether ops run, rather than become nodes of a static graph."""
    return current.mode.builder is None


def reset_default_graph() -> None:
    """Replace the thread's default graph by an empty one."""
    defaults.graph = StaticGraph()


def builder_of(xs: Iterable[Any]) -> GraphBuilder | None:
    """The builder that an op on xs is added to: the active builder, else a symbol's; None if all xs have values."""
    if current.mode.builder is not None:
        return current.mode.builder  # type: ignore[no-any-return]
    return next((x.builder for x in xs if isinstance(x, Tracer)), None)


def builder_or_default(xs: Iterable[Any]) -> GraphBuilder:
    """The builder that an op on xs is added to: builder_of(xs), or the default graph if that is None."""
    builder = builder_of(xs)
    return get_default_graph() if builder is None else builder


def name_scope(name: str | None) -> AbstractContextManager[str]:
    """A block of the default graph whose names get this prefix and a slash."""
    return get_default_graph().name_scope(name)


def get_collection(name: str) -> list[Any]:
    """The contents of the default graph's collection of that name."""
    return get_default_graph().get_collection(name)


def add_to_collection(name: str, value: Any) -> None:
    """Append a value to a collection of the default graph."""
    get_default_graph().add_to_collection(name, value)


def gradients(ys: Any, xs: Any, grad_ys: Any = None, name: str = "gradients", stop_gradients: Any = None) -> list[Any]:
    """Σ ⟨grad_y, ∂y/∂x⟩ for each x, over all ys; None where no y depends on x.

    ys, xs            one tensor or several; an x may be any symbol of the graph
    grad_ys           the gradient that arrives at each y; ones if None
    stop_gradients    tensors treated as constants: no gradient passes through them
    """
    targets, sources = several(ys), several(xs)
    builder = builder_or_default([*targets, *sources])
    arriving = None if grad_ys is None else several(grad_ys)
    stop = [] if stop_gradients is None else several(stop_gradients)
    with builder.name_scope(name) if isinstance(builder, StaticGraph) else nullcontext():
        return builder.gradients(targets, sources, arriving, stop)


def several(xs: Any) -> list[Any]:
    """One tensor or several, as a list."""
    return list(xs) if isinstance(xs, Sequence) else [xs]
