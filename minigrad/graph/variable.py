"""Variable: what a graph reads and assigns, and a session remembers.

    w = mg.Variable(np.zeros(3), name="w")
    step = w.assign_sub(0.1 * g)          an op; nothing happens yet

In the graph a variable is an operand like any other: its value at the start of the run, or, inside a
control_dependencies block, its value after what the block waits for. Each session has values of its own.
"""

from __future__ import annotations

from typing import Any

from .. import ops
from ..editable import KINDS
from ..errors import DTypeError, ShapeError
from ..modes import current, in_mode
from ..node import Node
from ..opened import session_or_default
from ..spec import Spec
from ..staging import Stage, Traced
from ..tensor import tensor
from .default import get_default_graph
from .graph import GLOBAL_VARIABLES, TRAINABLE_VARIABLES, Graph
from .ordering import group


class Variable(Traced):
    """A tensor that stays from run to run.

    initial_value    its first value, or a function that gives it: called once, while the graph is built, so that
                     random numbers in it are drawn anew whenever the initializer is run
    trainable        whether an optimizer moves it that is not told whom to move
    initializer      the op that gives it its first value
    """

    __slots__ = ("initial_value", "initializer", "trainable")

    is_leaf = True

    def __init__(
        self,
        initial_value: Any,
        trainable: bool = True,
        name: str | None = None,
        dtype: Any = None,
        collections: tuple[str, ...] = (GLOBAL_VARIABLES,),
    ):
        graph = get_default_graph()
        with in_mode(staging=graph), graph.control_dependencies(None):
            value = initial_value() if callable(initial_value) else initial_value
            if not isinstance(value, Traced):
                value = tensor(value, dtype)  # a copy: what is done to the original is no matter of the graph
            called = graph.unique("Variable" if name is None else name)
            spec: Spec = value.spec if dtype is None else value.spec.with_dtype(dtype)
            super().__init__(graph.variable(called, spec, self), graph)
            with graph.name_scope(f"{called}/"):
                first = value if isinstance(value, Traced) else graph.constant(value.value, "initial_value")
                self.initial_value = first.astype(spec.dtype)
                self.initializer = graph.assigned(self, self.initial_value)
        self.trainable = trainable
        for collection in (*collections, *[TRAINABLE_VARIABLES] * trainable):
            graph.add_to_collection(collection, self)

    def at(self, node: Node) -> Any:
        return Traced(node, self.stage)

    # -- new values -----------------------------------------------------------------------------

    def assign(self, value: Any, name: str | None = None) -> Traced:
        """The op that gives it this value; its result is the value."""
        return self._assigned(ops.Assign, value, name)

    def assign_add(self, delta: Any, name: str | None = None) -> Traced:
        """The op that adds to what it holds when the op runs; its result is the sum."""
        return self._assigned(ops.AssignAdd, delta, name)

    def assign_sub(self, delta: Any, name: str | None = None) -> Traced:
        """The op that subtracts from what it holds when the op runs; its result is the difference."""
        return self._assigned(ops.AssignSub, delta, name)

    def read_value(self) -> Traced:
        """What it holds after what the block around waits for; outside such blocks, at the start of the run."""
        stage: Stage = current.mode.staging or self.stage
        return stage.lift(self)

    value = read_value

    def _assigned(self, op: type[ops.Assign], value: Any, name: str | None) -> Traced:
        stage: Stage = current.mode.staging or self.stage
        with stage.building():
            y = stage.lift(value, self.spec)
            if y.shape not in (self.shape, ()):
                raise ShapeError(f"{self.name} is {self.spec}, and is assigned values of that shape, not {y.spec}")
            if KINDS[y.dtype.kind] > KINDS[self.dtype.kind]:
                raise DTypeError(f"{self.name} is {self.spec}, and {y.spec} does not fit: say .astype({self.dtype})")
            if isinstance(stage, Graph):
                return stage.assigned(self, y, op, name)
            return in_a_branch(stage, self, op, y)

    # -- with a session ---------------------------------------------------------------------------

    def load(self, value: Any, session: Any = None) -> None:
        """Give it a value in a session, without an op."""
        session_or_default(session).load(self, value)

    def __repr__(self) -> str:
        return f"<Variable {self.name}: {self.spec}>"


def in_a_branch(stage: Stage, x: Variable, op: type[ops.Assign], y: Traced) -> Traced:
    """The same inside a branch, a loop, or a traced function: an edit, which they hand to the graph around them."""
    before = stage.lift(x)
    old = Traced(before.node, stage)  # before: what stands for the variable is about to stand for its new value
    stage.become(x, y if op is ops.Assign else old + y if op is ops.AssignAdd else old - y)
    return Traced(stage.lift(x).node, stage)


def assign(ref: Variable, value: Any, name: str | None = None) -> Traced:
    """The op that gives the variable this value."""
    return ref.assign(value, name)


def assign_add(ref: Variable, value: Any, name: str | None = None) -> Traced:
    """The op that adds to the variable."""
    return ref.assign_add(value, name)


def assign_sub(ref: Variable, value: Any, name: str | None = None) -> Traced:
    """The op that subtracts from the variable."""
    return ref.assign_sub(value, name)


# -- all of them --------------------------------------------------------------------------------------


def global_variables() -> list[Variable]:
    """The variables of the default graph."""
    return get_default_graph().get_collection(GLOBAL_VARIABLES)


def trainable_variables() -> list[Variable]:
    """Those that an optimizer moves."""
    return get_default_graph().get_collection(TRAINABLE_VARIABLES)


def variables_initializer(var_list: list[Variable], name: str = "init") -> Traced:
    """The op that gives each of these its first value."""
    return group(*(v.initializer for v in var_list), name=name)


def global_variables_initializer() -> Traced:
    """The op that gives every variable that there is by now its first value."""
    return variables_initializer(global_variables())
