"""The record and the op of a Function's call: the rule of the record calls the user's backward, the op the user's jvp.

If the call has several outputs, each output has a record that passes its gradient on to one shared record. The rule of
the shared record calls `backward` once, with the gradients of all outputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..engine.base.errors import NoGradientError, ShapeError
from ..engine.base.spec import Spec
from ..engine.core.node import Node, Record
from ..engine.core.op import InternMeta, Op
from ..engine.methods import Operand
from ..engine.tensor.tensor import Tensor, wrap_array

if TYPE_CHECKING:
    from .function import Context, Function


Place = tuple[str, int] | Node | None


class Once(InternMeta):
    """The metaclass of ops that belong to a single call, and so are not interned."""

    __call__ = type.__call__  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class FunctionCall(Op, metaclass=Once):
    """One call of a Function, as an op.

    arguments    the spec of each argument of forward; None if it is not a tensor
    number       the index of the result that this op stands for
    """

    function: type[Function]
    ctx: Context
    arguments: tuple[Spec | None, ...]
    number: int = 0

    inline = False

    symbol = property(lambda self: self.function.__name__)
    kind = property(lambda self: self.function.__name__)

    def __str__(self) -> str:
        return self.function.__name__

    def jvp(self, dxs: Any, y: Any, *xs: Any) -> Any:
        moving = iter(dxs)
        tangents = [None if spec is None else next(moving) for spec in self.arguments]
        self.ctx.saved_tensors = self.ctx._forward
        said = self.function.jvp(self.ctx, *tangents)
        self.ctx.saved_tensors = ()
        dys = said if isinstance(said, tuple) else (said,)
        dy = dys[self.number] if self.number < len(dys) else None
        if not isinstance(dy, Tensor) or dy.shape != y.shape:
            raise ShapeError(f"{self}.jvp must return a tangent of each result's shape, and for {y.spec} gave {dy!r}")
        return dy


@dataclass(frozen=True)
class Output(Op):
    """One of several outputs of a call."""

    number: int

    symbol = "output"
    inline = False


def keeper(y: Tensor) -> Any:
    """The record that has the values saved for y: the shared record, if y is one of several results of a Function."""
    node = y.node
    return node.inputs[0] if node is not None and isinstance(node.op, Output) else node


class Arrivals(dict[int, Any]):
    """Index of an output → its gradient, for those outputs of a call that a gradient has reached."""

    def __add__(self, others: dict[int, Any]) -> Arrivals:
        return Arrivals(self | {i: self[i] + g if i in self else g for i, g in others.items()})

    __iadd__ = __add__


@dataclass(frozen=True)
class OutputRule:
    """Passes the gradient of one output on to the shared record."""

    spec: Spec
    number: int
    reads = ()

    def pull(self, gy: Any) -> tuple[Arrivals]:
        return (Arrivals({self.number: gy}),)

    def trace(self, node: Any, gy: Any) -> tuple[Arrivals]:
        return self.pull(gy)


@dataclass(frozen=True, eq=False)
class FunctionRule:
    """The rule of a Function's record: it calls the user's backward.

    arguments    the spec of each argument of forward; None if it is not a tensor
    results      the spec of each result
    places       the place of each saved tensor in the graph
    """

    spec: Spec
    function: type[Function]
    ctx: Context
    arguments: tuple[Spec | None, ...]
    results: tuple[Spec, ...]
    places: tuple[Place, ...]

    reads = property(lambda self: (None,) * len(self.places))

    def pull(self, gy: Any, *saved: Any) -> tuple[Any, ...]:
        tensors = [None if a is None else Tensor(a) for a in saved]
        gys = {i: wrap_array(g, self.results[i]) for i, g in arrivals(gy).items()}
        return tuple(None if gx is None else gx.value for gx in self.gradients(gys, tensors))

    def trace(self, node: Record, gy: Any, *saved: Any) -> tuple[Any, ...]:
        tensors = [None if a is None else self.place_saved(a, place, node) for a, place in zip(saved, self.places)]
        return self.gradients(arrivals(gy), tensors)

    def place_saved(self, array: Any, place: Place, node: Record) -> Tensor:
        """A saved array as a tensor with its node in the graph, so that gradients flow through it."""
        x = Tensor(array)
        match place:
            case ("argument", i):
                place = node.inputs[sum(spec is not None for spec in self.arguments[:i])]
            case ("result", i):
                several = len(self.results) > 1
                place = Record(Output(i), (node,), OutputRule(self.results[i], i), ()) if several else node
        return x.with_node(array, place) if isinstance(place, Node) else x

    def gradients(self, gys: dict[int, Any], saved: list[Tensor | None]) -> tuple[Any, ...]:
        """Call backward. Returns one checked gradient for each tensor among the arguments."""
        self.ctx.saved_tensors = tuple(saved)
        missing = self.zeros if self.ctx.materialize else lambda i: None
        arriving = [gys[i] if i in gys else missing(i) for i in range(len(self.results))]
        try:
            said = self.function.backward(self.ctx, *arriving)
        finally:
            self.ctx.saved_tensors = ()
        gxs, n = said if isinstance(said, tuple) else (said,), len(self.arguments)
        if len(gxs) < n or any(gx is not None for gx in gxs[n:]):
            raise NoGradientError(
                f"{self.function.__name__}.backward returns one gradient for each of the {n} arguments of forward, "
                f"or None; it returned {len(gxs)}"
            )
        wanted = zip(gxs, self.arguments, self.ctx.needs_input_grad)
        return tuple(self.fitting(gx, spec) if needs else None for gx, spec, needs in wanted if spec is not None)

    def fitting(self, gx: Any, spec: Spec) -> Any:
        """The gradient gx in the dtype of its argument, or None. Raises ShapeError if the shapes differ."""
        if gx is None:
            return None
        if not isinstance(gx, Operand) or gx.shape != spec.shape:
            raise ShapeError(f"{self.function.__name__}.backward gave {gx!r} as the gradient of an argument {spec}")
        return gx.astype(spec.dtype)

    def zeros(self, i: int) -> Tensor:
        """The gradient of a result that no gradient reached: zeros."""
        spec = self.results[i]
        return wrap_array(spec.device.xp.zeros(spec.shape, spec.dtype), spec)


def arrivals(gy: Any) -> dict[int, Any]:
    """The arriving gradients by index of the result. The gradient of a single result has index 0."""
    return gy if isinstance(gy, Arrivals) else {0: gy}
