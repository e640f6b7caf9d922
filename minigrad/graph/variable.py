"""Variable: a tensor that keeps its value between runs and can be assigned.

    w = mg.Variable(np.zeros(3), name="w")
    w.assign_sub(0.1 * g)

Outside of graphs it is TensorFlow 2's: a leaf tensor with a name, which tapes watch, traced functions read and assign
at each run, and optimisers update. In a graph it is TensorFlow 1's: the graph reads and assigns it, and each session
holds its own value; an assignment is an op, which happens only when it is run. As an operand it stands for its value at
the start of the run; inside a control_dependencies block, for its value after the ops that the block waits for.
"""

from __future__ import annotations

from typing import Any, Self

from ..engine import ops
from ..engine.base.dtypes import kind
from ..engine.base.errors import DTypeError, GraphError, ShapeError
from ..engine.base.spec import Spec
from ..engine.core.modes import current, in_mode, no_grad
from ..engine.core.node import Node
from ..engine.tensor.conversion import array_of
from ..engine.tensor.inplace import KINDS
from ..engine.tensor.tensor import Tensor, tensor
from ..tracing.builder import GraphBuilder, Tracer
from ..tracing.tracer import get_default_session, session_or_default
from .effects import group, identity
from .graph import GLOBAL_VARIABLES, TRAINABLE_VARIABLES, StaticGraph, executing_eagerly, get_default_graph, open_graph


class Variable:
    """A variable of the graph whose block is open, or an eager variable if no block is open.

    initial_value    its first value, or a function that returns it
    trainable        whether optimizers update it and tapes watch it by default
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **options: Any) -> Any:
        if cls is not Variable:
            return super().__new__(cls)
        return super().__new__(EagerVariable if executing_eagerly() and not get_default_session() else GraphVariable)

    def assign(self: Any, value: Any, name: str | None = None) -> Any:
        """Set the value; in a graph, return the op that does so, whose result is the new value."""
        return self._apply_assignment(ops.Assign, value, name)

    def assign_add(self: Any, delta: Any, name: str | None = None) -> Any:
        """Add delta to the value; in a graph, return the op that does so."""
        return self._apply_assignment(ops.AssignAdd, delta, name)

    def assign_sub(self: Any, delta: Any, name: str | None = None) -> Any:
        """Subtract delta from the value; in a graph, return the op that does so."""
        return self._apply_assignment(ops.AssignSub, delta, name)

    def fitting(self: Any, y: Any) -> Any:
        """y, if it can be assigned. Raises ShapeError or DTypeError if it does not fit."""
        if y.shape not in (self.shape, ()):
            raise ShapeError(f"{self.name} is {self.spec}, and is assigned values of that shape, not {y.spec}")
        if KINDS[kind(y.dtype)] > KINDS[kind(self.dtype)]:
            raise DTypeError(f"{self.name} is {self.spec}, and {y.spec} does not fit: say .astype({self.dtype})")
        return y

    def __repr__(self: Any) -> str:
        return f"<Variable {self.name}: {self.spec}>"


class EagerVariable(Variable, Tensor):
    """A leaf tensor with a name. Assignments happen at once, and return the variable."""

    __slots__ = ("name",)

    def __init__(self, initial_value: Any, trainable: bool = True, name: str | None = None, dtype: Any = None):
        value = array_of(initial_value() if callable(initial_value) else initial_value, dtype, None)
        Tensor.__init__(self, value.copy(), requires_grad=trainable and kind(value.dtype) == "f")
        self.name = "Variable" if name is None else name

    trainable = property(lambda self: self.requires_grad, doc="Whether tapes watch it by default.")

    def _apply_assignment(self, op: type[ops.Assign], value: Any, name: str | None) -> Self:
        edit: Any = {ops.Assign: self.copy_, ops.AssignAdd: self.add_, ops.AssignSub: self.sub_}[op]
        with no_grad():
            edit(self.fitting(self.lift(value)))
        return self

    def read_value(self) -> Tensor:
        """A copy of the value."""
        return self.clone()

    def __repr__(self) -> str:
        return f"<Variable {self.name}: {self.spec} = {self.tolist()}>"


class GraphVariable(Variable, Tracer):
    """A variable of a graph, which keeps its value from run to run.

    initial_value    a value, or a function that is called once, while the graph is built; random numbers in it are
                     drawn again whenever the initializer runs
    initializer      the op that sets the first value
    """

    __slots__ = ("initial_value", "initializer", "trainable")

    is_leaf = True

    def __init__(
        self, initial_value: Any, trainable: bool = True, name: str | None = None,
        dtype: Any = None, collections: tuple[str, ...] = (GLOBAL_VARIABLES,),
    ):  # fmt: skip
        graph = get_default_graph()
        if current.mode.builder is not None and not open_graph():
            raise GraphError(
                "a Variable keeps its value from call to call, but this one would be created inside a traced function: "
                "create it once, outside, and use it in the function"
            )
        with in_mode(builder=graph), graph.control_dependencies(None):
            value = initial_value() if callable(initial_value) else initial_value
            if not isinstance(value, Tracer):
                value = tensor(value, dtype)  # a copy, so that edits of the original do not change the graph
            called = graph.unique("Variable" if name is None else name)
            spec: Spec = value.spec if dtype is None else value.spec.with_dtype(dtype)
            super().__init__(graph.variable(called, spec, self), graph)
            with graph.name_scope(f"{called}/"):
                first = value if isinstance(value, Tracer) else graph.constant(value.value, "initial_value")
                self.initial_value = first.astype(spec.dtype)
                self.initializer = graph.add_assignment(self, self.initial_value)
        self.trainable = trainable
        for collection in (*collections, *[TRAINABLE_VARIABLES] * trainable):
            graph.add_to_collection(collection, self)

    def at_node(self, node: Node) -> Any:
        return Tracer(node, self.builder)

    # -- new values -----------------------------------------------------------------------------

    def read_value(self) -> Any:
        """Its value after the ops that the enclosing block waits for; outside such blocks, at the start of a run."""
        return identity(self, "read_value")

    value = read_value

    def _apply_assignment(self, op: type[ops.Assign], value: Any, name: str | None) -> Tracer:
        builder: GraphBuilder = current.mode.builder or self.builder
        with builder.building():
            y = self.fitting(builder.lift(value, self.spec))
            if isinstance(builder, StaticGraph):
                return builder.add_assignment(self, y, op, name)
            return in_a_branch(builder, self, op, y)

    # -- with a session ---------------------------------------------------------------------------

    def load(self, value: Any, session: Any = None) -> None:
        """Set its value in a session, without an op."""
        session_or_default(session).load(self, value)


def in_a_branch(builder: GraphBuilder, x: GraphVariable, op: type[ops.Assign], y: Tracer) -> Tracer:
    """Assign inside a branch, a loop or a traced function: an in-place edit, whose result the outer graph receives."""
    before = builder.lift(x)
    old = Tracer(before.node, builder)  # a second symbol, as the edit changes the variable's own symbol
    builder.become(x, y if op is ops.Assign else old + y if op is ops.AssignAdd else old - y)
    return Tracer(builder.lift(x).node, builder)


def assign(ref: Any, value: Any, name: str | None = None) -> Any:
    """The op that sets the variable to this value."""
    return ref.assign(value, name)


def assign_add(ref: Any, value: Any, name: str | None = None) -> Any:
    """The op that adds this value to the variable."""
    return ref.assign_add(value, name)


def assign_sub(ref: Any, value: Any, name: str | None = None) -> Any:
    """The op that subtracts this value from the variable."""
    return ref.assign_sub(value, name)


# -- all of them --------------------------------------------------------------------------------------


def global_variables() -> list[GraphVariable]:
    """The variables of the default graph."""
    return get_default_graph().get_collection(GLOBAL_VARIABLES)


def trainable_variables() -> list[GraphVariable]:
    """The variables of the default graph that optimizers update by default."""
    return get_default_graph().get_collection(TRAINABLE_VARIABLES)


def variables_initializer(var_list: list[GraphVariable], name: str = "init") -> Tracer:
    """The op that initialises each of these variables."""
    return group(*(v.initializer for v in var_list), name=name)


def global_variables_initializer() -> Tracer:
    """The op that initialises all variables that exist now."""
    return variables_initializer(global_variables())
