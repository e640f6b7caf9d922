"""A graph being built: while a GraphBuilder is open, ops become nodes of a graph instead of running.

Tensors that have values are captured by reference: the graph reads their values when it runs. An in-place edit
becomes a new value of the tensor, so that the graph itself stays a function: values in, values out, including the
new values of edited tensors. Ops with side effects (printing, drawing a random key) are ordered by edges that
only mean "runs before".

A trace of a function, a branch, the body of a loop, and the Graph of a Session are builders.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from operator import attrgetter
from typing import Any, NamedTuple, Self

import numpy as np

from ..engine import ops
from ..engine.base.dimension import Dimension
from ..engine.base.dtypes import kind
from ..engine.base.errors import ConversionError, DTypeError, EditedError, GraphError, ShapeError
from ..engine.base.spec import Spec, broadcast_shape
from ..engine.core.calls import following
from ..engine.core.graph import Graph
from ..engine.core.modes import current, in_mode
from ..engine.core.node import ENGINE, NamedNode, Node, place, spot
from ..engine.core.op import Elementwise, Op
from ..engine.ops.pattern import index_of
from ..engine.tensor.inplace import KINDS
from ..engine.tensor.symbol import Symbol, number
from ..engine.tensor.tensor import Tensor
from .gradients import CheckpointCall, PullbackBuilder
from .tracer import Tracer as Tracer
from .views import is_detached, mark_stale, refresh, write_through

NODE, SPEC = map(attrgetter, ("node", "spec"))


class Retrace(Exception):
    """Raised when branches or a body must be traced again, with what this trace has shown."""


class Capture(NamedTuple):
    """A tensor from outside the graph that the graph reads.

    what      a tensor with a value, or a symbol of an outer builder
    input     the node that reads it
    symbol    the symbol for it in this graph; the symbol's node changes with each edit
    """

    what: Any
    input: NamedNode
    symbol: Tracer


class GraphBuilder(PullbackBuilder):
    """A graph under construction.

    inputs      the nodes of the arguments, in order
    captured    id → the captured tensor with that id
    origins     input node → the tensor, or the symbol of the outer builder, that it reads
    edited      id → a captured tensor that a run edits
    born        id → a tensor or module created while building
    detached    id of y = x.detach() of a tensor x with a value → (y, the builder that was active, x)
    looks       id of a y in `detached` → its symbol in this graph, which is a view of x
    renewed     id → a tensor with a value that was edited. All nested builders share `detached` and `renewed`
    stands      id of an argument → the outside tensor that it starts as
    grads       id of a leaf → (the leaf, its .grad at this point)
    last        the latest effect, which the next effect waits for
    part        the checkpoint whose function is being called
    laid        ids of tensors that the graph assumes to be contiguous
    wishes      node → the argument of requires_grad_() that was called on it
    needs       node → whether it requires a gradient if it is recorded; None if only a run knows
    recorded_in_parts  ids of what branches and loops edited while gradients were recorded
    passed      results of branches and loops that may share memory with an earlier tensor
    """

    early: Exception | None = None  # the first error passed to note_early()
    once = True  # the Python code runs once, and its graph many times
    chained = True  # effects happen in the order in which they were added
    way_out = Symbol.way_out
    way_in = "use tensors of one graph, and return from a function, a branch or a loop what is used outside it"

    def __init__(self, outer: GraphBuilder | None = None):
        self.outer = outer
        self.inputs: list[NamedNode] = []
        self.captured: dict[int, Capture] = {}
        self.origins: dict[Node, Any] = {}
        self.edited: dict[int, Capture] = {}
        self.born: dict[int, Any] = {}
        self.detached: dict[int, tuple[Tensor, GraphBuilder, Tensor]] = {} if outer is None else outer.detached
        self.renewed: dict[int, Tensor] = {} if outer is None else outer.renewed
        self.looks: dict[int, Tracer] = {}
        self.stands: dict[int, Any] = {}
        self.grads: dict[int, tuple[Any, Any]] = {}
        self.names: Counter[str] = Counter()
        self.last: Node | None = None
        self.part: CheckpointCall | None = None
        self.laid: set[int] = set()
        self.wishes: dict[Node, bool] = {}
        self.needs: dict[Node, bool | None] = {}
        self.recorded_in_parts: set[int] = set()
        self.passed: list[Tracer] = []

    @contextmanager
    def building(self) -> Iterator[Self]:
        """A block whose ops become nodes of this graph."""
        with in_mode(builder=self), following():
            yield self

    # -- errors that a run with values would not raise ---------------------------------------------------

    def note_early(self, error: Exception) -> None:
        """Note an error that building the graph raises, but a run with values may not, so that no `except` hides it."""
        self.early = self.early or error

    def call(self, f: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """f(*args, **options), on symbols. Raises ConversionError if an `except` caught an error that was noted."""
        result = f(*args, **options)
        self.refuse_caught(self.early)
        return result

    def refuse_caught(self, error: Exception | None) -> None:
        at = None if error is None else error.__traceback__
        file = None if at is None else at.tb_frame.f_code.co_filename
        if at is not None and file is not None and not file.startswith((*ENGINE, logging.__file__)):
            raise ConversionError(
                f"{spot(file, at.tb_lineno)}: an `except`, or a `with`, around this line "
                f"catches {type(error).__name__}. It was raised because a graph is being built; a run with values may "
                f"not raise it, and the graph would keep the handler's result for good. Do not catch it here: {error}"
            ) from error

    @contextmanager
    def checkpointing(self) -> Iterator[CheckpointCall]:
        """A block whose nodes backward recomputes."""
        outer = self.part
        self.part = CheckpointCall(outer)
        try:
            yield self.part
        finally:
            self.part = outer

    # -- nodes --------------------------------------------------------------------------------------

    def apply(self, op: Op, operands: tuple[Any, ...]) -> Tracer:
        """Add a node for op. A Python number among the operands takes its dtype from the first operand."""
        first = self.lift(operands[0])
        weak = isinstance(op, Elementwise)  # in other ops, an index keeps its dtype
        xs = [first, *[self.lift(o, first.spec if weak or not isinstance(o, Tracer) else None) for o in operands[1:]]]
        y = self.effect(op, *xs) if op.effect else self.add_op(op, xs)
        if isinstance(op, ops.Index) and any(isinstance(o, Tracer) and o.is_number for o in operands[1:]):
            y.place = operands[0], index_of(op.pattern, operands[1:])  # a copy, where eager mode has a view
            y.may_be(first.memory)
        return y

    def add_op(self, op: Op, xs: Sequence[Tracer]) -> Tracer:
        y = Tracer(self.node(op, tuple(map(NODE, xs))), self)
        if not current.mode.recording and y.spec.is_float:  # no gradient passes a result computed under no_grad()
            y.node = self.node(ops.StopGradient(), (y.node,))
        if op.is_view and not isinstance(op, ops.ControlDep):
            y.root = xs[0].memory
            y.root.views.add(y)
            y.look, y.base = (xs[0], op, current.mode.recording), y.root.node
        return y

    def effect(self, op: Op, *xs: Any) -> Tracer:
        """Add a node for an op with an effect, which waits for the previous effect."""
        waits = (Tracer(self.last, self),) if self.chained and self.last is not None else ()
        if xs and waits:
            xs = (self.add_op(ops.ControlDep(), (xs[0], *waits)), *xs[1:])
        y = self.add_op(op, xs or waits)
        self.last = y.node
        return y

    def node(self, op: Op, inputs: tuple[Node, ...] = (), spec: Any = None, name: str | None = None) -> NamedNode:
        """A new node, with a unique name and the user's line."""
        spec = op.infer(*map(SPEC, inputs)) if spec is None else spec
        node = NamedNode(op, inputs, spec, self.unique(op.kind if name is None else name), place())
        node.part = self.part and self.part.of(op, inputs)
        return node

    def unique(self, name: str) -> str:
        """The name, or the name with a number, if it is taken."""
        while taken := self.names.get(name):  # the name with a number may be taken too
            self.names[name] += 1
            name = f"{name}_{taken}"
        self.names[name] = 1
        return name

    # -- operands -----------------------------------------------------------------------------------

    def lift(self, o: Any, beside: Spec | None = None) -> Tracer:
        """o as an operand of this graph: a symbol, a captured tensor, or a constant."""
        o = self.look(o) if id(o) in self.detached else o
        if isinstance(o, Tracer):
            x = self.current(o) if o.builder is self else self.from_outside(o)
            dtype = None if beside is None else o.dtype_beside(beside)
            return x if dtype is None else Tracer(x.astype(dtype).node, self)
        if isinstance(o, Tensor):
            if o.node is not None and isinstance(o.node.op, ops.Const):
                return Tracer(self.node(o.node.op, (), o.spec, "Const"), self)
            return self.current(self.capture(o))
        if isinstance(o, int | float | Dimension) and not isinstance(o, np.generic):
            const = number(o, Spec((), bool) if beside is None else beside)
            return Tracer(self.node(const.op, (), const.spec, "Const"), self)
        return self.capture(Tensor(o, device=None if beside is None else beside.device))

    def current(self, x: Tracer) -> Tracer:
        if x.edited and x.place is not None and x.builder is self:
            x.edited, x.node = False, x.place[0][x.place[1]].node
            self.lift(x.place[0]).memory.views.add(x)
        if x.edited or (x.root is not None and x.root.edited):
            raise EditedError(
                f"{x} may be a view of a tensor that was edited after the view was made: one of the two came from a "
                "branch or a loop that may return the other, or from a reshape that may copy. In a graph, such a view "
                "does not show the edit: take the view again after it, or let the branch or the loop return x.clone()"
            )
        if x.root is not None:
            refresh(self, x)
        return x

    def look(self, x: Any) -> Any:
        """The symbol for x, a result of detach() on a tensor with a value; or x itself if it has become a leaf."""
        if id(x) not in self.looks and not x.tracked:
            _, maker, source = self.detached[id(x)]
            with in_mode(builder=self):
                self.looks[id(x)] = self.lift(source).detach() if maker is self else self.from_outside(maker.look(x))
        return x if x.tracked else self.looks[id(x)]

    def from_outside(self, x: Tracer) -> Tracer:
        """Capture a symbol of an outer builder. Raises GraphError if it belongs to any other graph."""
        builder = self.outer
        while builder is not None and builder is not x.builder:
            builder = builder.outer
        if builder is None:
            raise GraphError(
                f"{x}, built at {x.node.place}, belongs to another graph than the one being built: {self.way_in}"  # type: ignore[attr-defined]
            )
        return self.current(self.capture(x))

    def capture(self, x: Any) -> Tracer:
        """The symbol in this graph for a tensor with a value, or for a symbol of the outer builder."""
        if id(x) not in self.captured:
            node = self.input(getattr(x, "name", None) or "captured", x.spec)
            self.origins[node], self.captured[id(x)] = x, Capture(x, node, Tracer(node, self))
        return self.captured[id(x)].symbol

    def input(self, name: str, spec: Spec) -> NamedNode:
        """A new input node."""
        name = self.unique(name)
        return NamedNode(ops.Input(name), (), spec, name, place())

    def argument(self, name: str, spec: Spec) -> Tracer:
        """Add an input for the next argument, and return its symbol."""
        self.inputs.append(self.input(name, spec))
        return Tracer(self.inputs[-1], self)

    # -- state --------------------------------------------------------------------------------------

    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> AbstractContextManager[None]:
        """A block whose ops run after control_inputs. In this builder, effects keep their order without it."""
        return nullcontext()

    def read_after_waits(self, x: Any) -> Any:
        """x; for a variable, a read of it after the ops that the open control_dependencies blocks wait for."""
        return x

    def become(self, x: Any, y: Tracer) -> None:
        """Give x the value of y from here on. Raises EditedError if x is a recorded leaf, or a view of one."""
        if id(x) in self.detached:
            self.renewed[id(x)], x = x, self.look(x)
        self.editing(x)
        self.take(x, y)

    def editing(self, x: Any) -> None:
        """Called before x is edited. Raises EditedError if x must not be edited."""
        if self.outer is not None and (whole := self.whole(x)) is not None:
            self.outer.editing(self.stands.get(id(whole), whole))

    def whole(self, x: Any) -> Any:
        """The tensor whose value and history change when x is edited; None if x is detached from it."""
        return x if not isinstance(x, Tracer) else None if is_detached(x) else self.owner(x.memory)

    def owner(self, x: Tracer) -> Any:
        """The outside tensor or symbol that x stands for; x itself if it was made in this graph."""
        return next((c.what for c in self.captured.values() if c.symbol is x), x)

    def take(self, x: Any, y: Tracer) -> None:
        """become() without editing(), which the branch or the body that made the edit has called already."""
        target = self.lift(x)
        if y is target:
            return
        if KINDS[kind(y.dtype)] > KINDS[kind(x.dtype)]:
            raise DTypeError(f"the result is {y.spec}, and does not fit into {x.spec}, edited in place: write x = …")
        if broadcast_shape(y.spec.shape, x.spec.shape) != x.spec.shape:
            raise ShapeError(f"the result has shape {y.shape}, and {x.spec} is edited in place: its shape stays")
        y = y.astype(x.dtype).broadcast_to(x.shape)
        if target.root is not None:
            write_through(self, target, y)
            return
        mark_stale(target)
        for source in target.origins()[1:] if target.place is None else ():
            self.edits(target, source)
        target.edited = False
        before, target.node = target.node, y.node
        if not current.mode.recording and target.spec.is_float:  # x gets a new value and keeps its history
            target.node = self.node(ops.StopGradient(), (target.node, before))
        what = self.owner(x) if isinstance(x, Tracer) and x.builder is self and x.is_given else x
        if isinstance(what, Tensor):
            self.renewed[id(what)] = what
        if id(what) in self.captured and not self.is_own(what):
            self.edited[id(what)] = self.captured[id(what)]
        if target.place is not None:
            whole, index = target.place
            whole[index] = Tracer(target.node, self)
            target.edited = False
            self.lift(whole).memory.views.add(target)

    def edits(self, x: Tracer, source: Tracer) -> None:
        """Note that an edit of x may edit the source. Raises EditedError if that is an argument or captured tensor."""
        read = next((c.what for c in self.captured.values() if c.symbol is source), None)
        if source.is_given and not (isinstance(read, Tensor) and self.is_own(read)):
            raise EditedError(
                f"{x}, which is edited in place, may be {source}, which a branch or a loop passed on: the graph does "
                "not know which until it runs. Write x = x + 1, or let the branch or the loop return x.clone()"
            )
        source.edited = True
        mark_stale(source, x.apart)

    def updates(self) -> list[Any]:
        """The edits so far that a run makes only if its fetches wait for them."""
        return []

    def after_updates(self, ys: list[Any], before: Sequence[Any]) -> list[Any]:
        """The ys, made to wait for the updates that are not in `before`, so that fetching a y makes the edits."""
        known = {*map(id, before)}
        new = [update for update in self.updates() if id(update) not in known]
        is_here = [bool(new) and isinstance(y, Tracer) and y.builder is self for y in ys]
        return [self.add_op(ops.ControlDep(), (y, *new)) if here else y for y, here in zip(ys, is_here)]

    def is_own(self, x: Any) -> bool:
        """Whether x was created while building. Each run starts with the value that x had then."""
        return id(x) in self.born

    def is_grad_enabled(self) -> bool:
        """Whether gradients are recorded outside of the graph."""
        return self.outer is None or self.outer.is_grad_enabled()

    def note_read(self, what: Any, attribute: str) -> None:
        """Called when Python reads something that the graph then depends on; subclasses that keep the graph note it."""
        if attribute == "value" and id(what) in self.renewed:
            self.lift(what).numpy()  # raises NoValueError
        if self.outer is not None:
            self.outer.note_read(what, attribute)

    def note_assignment(self, module: Any, name: str, before: Any) -> None:
        """Called when an attribute of a module gets another value; subclasses that keep the graph note it."""
        if self.outer is not None:
            self.outer.note_assignment(module, name, before)

    # -- the finished graph -------------------------------------------------------------------------

    def after_effects(self, ys: Sequence[Tracer]) -> list[Tracer]:
        """The same values, available only after all effects are done."""
        if self.last is None or not ys:
            return list(ys)
        first = self.add_op(ops.ControlDep(), (ys[0], Tracer(self.last, self)))
        return [first, *ys[1:]]

    def finish_graph(self, outputs: Sequence[Any]) -> Graph:
        """The finished graph. Its inputs are the arguments, then the captured tensors."""
        inputs = self.inputs + [c.input for c in self.captured.values()]
        return Graph(tuple(inputs), tuple(None if y is None else y.node for y in outputs))
