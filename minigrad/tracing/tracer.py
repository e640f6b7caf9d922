"""Tracer: an operand in a graph that is being built. Ops on it become nodes of that graph: see builder.py.

A function written for tensors is traced on tracers, which have the same methods. Methods that need a value raise an
error that says so.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn, Self
from weakref import WeakSet

from ..engine import ops
from ..engine.base.device import NAMES, Device
from ..engine.base.device import device as device_called
from ..engine.base.errors import DeviceError, GraphError, NoValueError
from ..engine.base.spec import Spec
from ..engine.core.hooks import TRACED
from ..engine.core.modes import current
from ..engine.core.node import Node
from ..engine.core.op import Op
from ..engine.methods import lengths
from ..engine.ops import Input
from ..engine.tensor.conversion import refuse_data
from ..engine.tensor.inplace import InPlace
from ..engine.tensor.symbol import Symbol
from ..engine.tensor.tensor import Tensor

if TYPE_CHECKING:
    from ..graph.session import Session
    from .builder import GraphBuilder


class SessionStack(threading.local):
    """The sessions whose blocks are open in this thread, the innermost last."""

    def __init__(self) -> None:
        self.sessions: list[Session] = []


session_stack = SessionStack()


def get_default_session() -> Session | None:
    """The session of the innermost open block, or None."""
    return session_stack.sessions[-1] if session_stack.sessions else None


def session_or_default(session: Session | None) -> Session:
    """The given session, or the session of the open block. Raises GraphError if there is none."""
    found = get_default_session() if session is None else session
    if found is None:
        raise GraphError("no session is open: pass one, or write `with mg.Session(graph) as session:` around it")
    return found


class WorkerStack(threading.local):
    """The numbers of the workers whose blocks are open in this thread, the innermost last; None means no worker."""

    numbers: tuple[int | None, ...] = (None,)


workers = WorkerStack()


@contextmanager
def on_worker(number: int | None) -> Iterator[None]:
    """A block whose nodes are placed on this worker; None means on none."""
    workers.numbers = (*workers.numbers, number)
    try:
        yield
    finally:
        workers.numbers = workers.numbers[:-1]


class Worker(Device):
    """device("worker:1"): a block whose nodes are placed on worker 1, as distributed/placement.py runs them.

    A worker is one of several processes. Eager code still runs in every process.
    """

    @cached_property
    def xp(self) -> Any:
        raise DeviceError(f"workers hold no arrays, only {sorted(NAMES)} do: place nodes `with device({self.name!r}):`")

    def __enter__(self) -> Device:
        workers.numbers = (*workers.numbers, int(self.name.removeprefix("worker:")))
        return self

    def __exit__(self, *raised: object) -> None:
        workers.numbers = workers.numbers[:-1]


class Tracer(InPlace, Symbol):
    """An operand in a graph that is being built.

    builder         the graph
    root            the symbol that owns its memory, if it is a view
    look            how the view was taken: (its operand, the op, whether the op was recorded)
    base            the node that the root had when the view was taken; for a root, its own first node
    is_sure_view    whether it is a view for every memory layout
    views           symbols that share its memory, or may share it after a branch or a loop
    passed          symbols whose memory it may share, as the result of a branch or a loop
    place           (x, index) if it is x[index], and index contains a number that only a run knows
    is_given        whether it is read rather than computed: an argument or a captured tensor
    """

    __slots__ = (
        "builder", "root", "look", "base", "is_sure_view", "views", "passed", "place", "is_given", "apart", "edited",
    )  # fmt: skip

    def __init__(self, node: Node, builder: GraphBuilder, root: Tracer | None = None):
        self.node, self.builder, self.root, self.edited = node, builder, root, False
        self.base, self.is_sure_view = node, False
        self.look: tuple[Tracer, Op, bool] | None = None
        self.views: WeakSet[Tracer] = WeakSet()
        self.passed: list[Tracer] = []
        self.apart: tuple[Tracer, ...] = ()
        self.place: tuple[Any, tuple[Any, ...]] | None = None
        self.is_given = isinstance(node.op, Input)

    def at_node(self, node: Node) -> Self:
        return type(self)(node, self.builder)

    def note_error(self, error: NoValueError) -> NoValueError:
        self.builder.note_early(error)
        return error

    def apply(self, op: Op, *others: Any) -> Any:
        return (current.mode.door or self.builder).apply(op, (self, *others))

    def lift(self, o: Any) -> Any:
        return (current.mode.builder or self.builder).lift(o, self.spec)

    is_number = False  # whether it stands for a Python number

    def dtype_beside(self, spec: Spec) -> Any:
        """The dtype that it takes as an operand together with this spec; None if it keeps its own."""
        return None

    memory = property(lambda self: self if self.root is None else self.root, doc="The symbol that owns its memory.")

    def origins(self) -> list[Tracer]:
        """All symbols whose memory it may share: the owner, the symbols that the owner may be, and so on."""
        found = [self.memory]
        for x in found:  # `found` grows during the loop
            found += [y for y in x.passed if not any(y is z for z in found)]
        return found

    def may_be(self, source: Tracer) -> None:
        """Note that self may share the memory of the source, so that an edit of the source may change it."""
        if not any(source is x for x in (self, self.root, *self.passed)):
            self.passed.append(source)
            self.builder.passed.append(self)
            source.views.add(self)

    name = property(attrgetter("node.name"), doc="Its name, unique in its graph.")
    graph = property(attrgetter("builder"), doc="The graph that it is part of.")
    op = property(attrgetter("node.op"), doc="The op that makes it.")
    way_out = property(lambda self: self.builder.way_out, doc="The advice, in errors, on how to get a value.")

    def eval(self, feed_dict: Mapping[Any, Any] | None = None, session: Session | None = None) -> Any:
        """Its value in the given session, or in the session of the open block. An op without a value is only run."""
        return session_or_default(session).run(self, feed_dict)

    run = eval

    def backward(self, gradient: Any = None, **options: Any) -> None:
        """Add ∂self/∂leaf to `.grad` of every captured leaf that requires it: more nodes of the same graph."""
        self.builder.backward(self, gradient)

    def __repr__(self) -> str:
        return f"<{self.name}: {self.spec}>"

    # -- more of Tensor's interface -----------------------------------------------------------------

    tracked = property(lambda self: self.spec.is_float, doc="Whether gradients can be taken of it.")
    requires_grad = property(lambda self: self.builder.needs_grad(self), doc="Whether plain Python would record it.")
    is_leaf = property(lambda self: self.builder.once and not self.builder.is_recorded(self), doc="See requires_grad.")
    _version = property(lambda self: self._nowhere("_version"), doc="Refused.")
    data = property(lambda self: self.detach(), refuse_data, doc="The same value, through which no gradient passes.")
    grad_fn = property(lambda self: self._nowhere("grad_fn") if self.builder.is_recorded(self) else None)

    with_node = Tensor.with_node

    def view(self, *shape: Any) -> Any:
        """The same memory in another shape."""
        y = self.reshape(*shape)
        y.is_sure_view = y is not self or self.is_sure_view
        return y

    def narrow(self, *place: Any, **named: Any) -> Any:
        """`length` places of an axis, from `start` on. A view, if the graph knows that they are within bounds."""
        y = super().narrow(*place, **named)
        if y.memory is not self.memory:  # a copy, with a check of bounds: edits of either are refused
            y.memory.may_be(self.memory)
        return y

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(value, Tracer) and value.look is not None and value.look[0] is self:
            again = self[index]  # x[i] += 1 has edited the view already, and through it x
            if again.look and again.look[1] == value.look[1] and value.base is self.memory.node:
                return
        super().__setitem__(index, value)

    def detach(self) -> Any:
        """The same value, through which no gradient passes."""
        return self.apply(ops.StopGradient())

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Returns self: in a graph every floating value can have a gradient, and no other value can."""
        self.builder.wishes[self.node] = self.builder.needs[self.node] = requires_grad
        return self if self.spec.is_float or not requires_grad else self._nowhere("requires_grad_()")

    def _nowhere(self, asked: str) -> NoReturn:
        raise GraphError(
            f"{asked} of {self}, which is part of a graph being built, has no meaning: only values have it"
        )

    def register_hook(self, hook: Any) -> NoReturn:
        raise GraphError(TRACED)

    def retain_grad(self) -> NoReturn:
        self._nowhere("retain_grad()")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._read()  # raises NoValueError

    def tolist(self) -> Any:
        return self._read()

    def new_full(
        self, size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: Any = False
    ) -> Any:
        """A tensor of this shape filled with one value; dtype and device are those of self by default."""
        where = self.spec.device if device is None else device_called(device)
        spec = Spec((), self.spec.dtype if dtype is None else dtype, where)
        return own_memory(self.lift(fill_value).astype(spec.dtype).to(where).broadcast_to(lengths((size,))))


def own_memory(y: Any) -> Any:
    """y as the owner of its memory: in the graph it is a view of a number, but each run makes a new tensor."""
    if isinstance(y, Tracer):
        y.root, y.look, y.base = None, None, y.node
    return y
