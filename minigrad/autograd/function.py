"""Function: an op whose forward and backward are written by hand, when composing ops will not do.

    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, gy):
            (x,) = ctx.saved_tensors
            return 3 * x * x * gy

    y = Cube.apply(x)

Of the engine it needs nothing: its record has a rule of its own, which calls `backward` where a compiled
rule runs generated code. With several outputs, each is a record that hands its gradient on to one they share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import clock, modes
from ..differentiable import origin
from ..errors import EditedError, NoGradientError, ShapeError
from ..node import Node, Record
from ..op import Op
from ..spec import Spec
from ..tensor import Tensor, made


@dataclass(frozen=True)
class Called(Op):
    """A Function, as an op."""

    function: type[Function]

    inline = False

    @property
    def symbol(self) -> str:  # type: ignore[override]
        return self.function.__name__

    @property
    def kind(self) -> str:
        return self.function.__name__


@dataclass(frozen=True)
class Output(Op):
    """One of several outputs."""

    number: int

    symbol = "output"
    inline = False


class Context:
    """What forward leaves for backward.

    needs_input_grad    for each argument, whether a gradient is wanted
    saved_tensors       in backward, what save_for_backward was given, in order
    """

    def __init__(self, args: tuple[Any, ...]):
        self.needs_input_grad = tuple(isinstance(x, Tensor) and x.requires_grad for x in args)
        self.saved_tensors: tuple[Tensor | None, ...] = ()
        self.materialize = True
        self._saved: tuple[Tensor | None, ...] = ()
        self._dirty: tuple[Tensor, ...] = ()
        self._flat: tuple[Tensor, ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep arguments and results for backward; freed with the graph, and watched for edits."""
        self._saved = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which arguments forward edited in place, and returns."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which results have no gradient."""
        self._flat = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether a result that no gradient reached counts as zeros in backward, and not as None."""
        self.materialize = value


class Function:
    """A pair of forward and backward. Called by `apply`; there are no instances."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        raise NotImplementedError("a Function says forward(ctx, *args), a static method")

    @staticmethod
    def backward(ctx: Any, *gys: Any) -> Any:
        raise NoGradientError("this Function says no backward(ctx, *gradients), a static method")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """forward's result, recorded so that a gradient that reaches it goes through backward."""
        ctx = Context(args)
        with modes.in_mode(recording=False, watchers=()):
            given = run_forward(cls, ctx, args)
        several = isinstance(given, tuple)
        ys = tuple(fresh(y, args, ctx) for y in (given if several else (given,)))
        if modes.current.mode.recording and any(ctx.needs_input_grad):
            connect(cls, ctx, args, ys)
        for x in ctx._dirty:
            clock.edit(x.value)
        ctx._saved = ctx._dirty = ctx._flat = ()  # arrays are the record's to keep, and results would be a cycle
        return ys if several else ys[0]


def run_forward(function: type[Function], ctx: Context, args: tuple[Any, ...]) -> Any:
    """forward's result, in either of PyTorch's two styles."""
    setup = getattr(function, "setup_context", None)
    if setup is None:
        return function.forward(ctx, *args)
    given = function.forward(*args)
    setup(ctx, args, given)
    return given


def fresh(y: Any, args: tuple[Any, ...], ctx: Context) -> Any:
    """A result as a tensor of its own: an argument that is passed through stays what it is."""
    if not isinstance(y, Tensor):
        raise TypeError(f"forward of a Function returns tensors, one or a tuple of them, and it gave {y!r}")
    is_argument = any(y is x for x in args)
    is_dirty = any(y is x for x in ctx._dirty)
    return made(y.value, y.spec) if is_argument and not is_dirty else y


def connect(function: type[Function], ctx: Context, args: tuple[Any, ...], ys: tuple[Tensor, ...]) -> None:
    """Record the call behind its results."""
    for x in ctx._dirty:
        if x.requires_grad and x.is_leaf:
            raise EditedError(f"{function.__name__} edits {x.spec} in place, a leaf that requires a gradient")
    arguments = tuple(x.spec if isinstance(x, Tensor) else None for x in args)
    results = tuple(y.spec for y in ys)
    rule = FunctionRule(results[0], function, ctx, arguments, results, places(ctx, args, ys))
    record = Record(Called(function), tuple(origin(x) for x in args if isinstance(x, Tensor)), rule, ())
    for i, y in enumerate(ys):
        if y.spec.is_float and not any(y is flat for flat in ctx._flat):
            several = len(ys) > 1
            y.node = Record(Output(i), (record,), OutputRule(y.spec, i), ()) if several else record
            y.tracked = True


Place = tuple[str, int] | Node | None


def places(ctx: Context, args: tuple[Any, ...], ys: tuple[Tensor, ...]) -> tuple[Place, ...]:
    """Where each saved tensor stands in the graph: an argument, a result, or a node from elsewhere."""

    def place(x: Tensor | None) -> Place:
        for kind, tensors in (("result", ys), ("argument", args)):
            for i, other in enumerate(tensors):
                if x is other and x is not None:
                    return kind, i
        return None if x is None else x.node

    return tuple(place(x) for x in ctx._saved)


class Arrivals(dict[int, Any]):
    """The gradients that have reached some of several outputs, by number."""

    def __add__(self, others: dict[int, Any]) -> Arrivals:
        return Arrivals(self | {i: self[i] + g if i in self else g for i, g in others.items()})

    __iadd__ = __add__


@dataclass(frozen=True)
class OutputRule:
    """Hands the gradient of one output to the record they share."""

    spec: Spec
    number: int
    reads = ()

    def keep(self, slots: tuple[Any, ...]) -> tuple[()]:
        return ()

    def pull(self, gy: Any) -> tuple[Arrivals]:
        return (Arrivals({self.number: gy}),)

    def trace(self, node: Any, gy: Any) -> tuple[Arrivals]:
        return self.pull(gy)


@dataclass(frozen=True, eq=False)
class FunctionRule:
    """A derivative that the user wrote.

    arguments    the spec of each argument of forward; None for what is no tensor
    results      the spec of each result
    places       where what was saved stands in the graph
    """

    spec: Spec
    function: type[Function]
    ctx: Context
    arguments: tuple[Spec | None, ...]
    results: tuple[Spec, ...]
    places: tuple[Place, ...]

    @property
    def reads(self) -> tuple[None, ...]:
        return (None,) * len(self.places)

    def keep(self, slots: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(None if x is None else x.value for x in self.ctx._saved)

    def pull(self, gy: Any, *saved: Any) -> tuple[Any, ...]:
        tensors = [None if a is None else Tensor(a) for a in saved]
        gys = {i: made(g, self.results[i]) for i, g in self.arrivals(gy).items()}
        return tuple(None if gx is None else gx.value for gx in self.gradients(gys, tensors))

    def trace(self, node: Record, gy: Any, *saved: Any) -> tuple[Any, ...]:
        tensors = [None if a is None else self.placed(a, place, node) for a, place in zip(saved, self.places)]
        return self.gradients(self.arrivals(gy), tensors)

    def arrivals(self, gy: Any) -> dict[int, Any]:
        return gy if isinstance(gy, Arrivals) else {0: gy}

    def placed(self, array: Any, place: Place, node: Record) -> Tensor:
        """A saved array at its place in the graph, so that it can be differentiated through."""
        x = Tensor(array)
        match place:
            case ("argument", i):
                place = node.inputs[sum(spec is not None for spec in self.arguments[:i])]
            case ("result", i):
                several = len(self.results) > 1
                place = Record(Output(i), (node,), OutputRule(self.results[i], i), ()) if several else node
        return x.placed(array, place) if isinstance(place, Node) else x

    def gradients(self, gys: dict[int, Any], saved: list[Tensor | None]) -> tuple[Any, ...]:
        """backward's answer, one gradient for each tensor among the arguments, checked."""
        self.ctx.saved_tensors = tuple(saved)
        zeros = self.zeros if self.ctx.materialize else lambda i: None
        try:
            said = self.function.backward(self.ctx, *(gys[i] if i in gys else zeros(i) for i in range(len(self.results))))
        finally:
            self.ctx.saved_tensors = ()
        gxs = said if isinstance(said, tuple) else (said,)
        if len(gxs) != len(self.arguments):
            raise NoGradientError(
                f"{self.function.__name__}.backward returns one gradient for each of the {len(self.arguments)} arguments "
                f"of forward, None for those that have none, and it gave {len(gxs)}"
            )
        wanted = zip(gxs, self.arguments, self.ctx.needs_input_grad)
        return tuple(self.fitting(gx, spec) if needs else None for gx, spec, needs in wanted if spec is not None)

    def fitting(self, gx: Any, spec: Spec) -> Any:
        """A gradient, which is a tensor of its argument's shape, or None."""
        if gx is not None and (not isinstance(gx, Tensor) or gx.shape != spec.shape):
            raise ShapeError(f"{self.function.__name__}.backward gave {gx!r} as the gradient of an argument {spec}")
        return gx

    def zeros(self, i: int) -> Tensor:
        """The gradient of a result that none reached."""
        spec = self.results[i]
        return made(spec.device.xp.zeros(spec.shape, spec.dtype), spec)

