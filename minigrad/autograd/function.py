"""Function: an op with hand-written forward and backward. custom_gradient: a function that returns its own gradient.

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

The engine has no special case for a Function. The rule of its record (function_rule.py) calls `backward`, where the
rules of other records run generated code.

custom_gradient, as in TensorFlow:

    @custom_gradient
    def log1pexp(x):
        e = x.exp()
        return (1 + e).log(), lambda gy: gy * (1 - 1 / (1 + e))

The ops of f are recorded, so that the gradient function, which uses e here, can be differentiated again. The result
of f is detached from these records, and gets the record of a Function whose backward is the gradient function.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..engine.base.errors import EditedError, NoGradientError
from ..engine.core import modes, versions
from ..engine.core.node import Record
from ..engine.methods import Operand
from ..engine.tensor.grad import origin
from ..engine.tensor.inplace import renew
from ..engine.tensor.tensor import Tensor, wrap_array
from .function_in_graph import add_custom_op
from .function_rule import FunctionCall, FunctionRule, Output, OutputRule, Place


class Context:
    """Passes values from forward to backward and jvp.

    needs_input_grad    for each argument, whether it requires a gradient
    saved_tensors       in backward, the arguments of save_for_backward; in jvp, the arguments of save_for_forward
    """

    def __init__(self, args: tuple[Any, ...]):
        asked = ["requires_grad" if isinstance(x, Tensor) else "tracked" for x in args]  # of a symbol: whether it may
        self.needs_input_grad = tuple(isinstance(x, Operand) and getattr(x, n, False) for x, n in zip(args, asked))
        self.saved_tensors: tuple[Tensor | None, ...] = ()
        self.materialize = True
        self._saved: tuple[Tensor | None, ...] = ()
        self._forward: tuple[Tensor | None, ...] = ()
        self._dirty: tuple[Tensor, ...] = ()
        self._flat: tuple[Tensor, ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save arguments and results for backward. They are freed with the graph, and checked for later edits."""
        self._saved = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Save arguments and results for jvp, which forward mode calls right after forward."""
        self._forward = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Declare the arguments that forward edits in place and returns."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Declare the results that have no gradient."""
        self._flat = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether backward receives zeros, rather than None, for a result that no gradient reached."""
        self.materialize = value


class Function:
    """A pair of forward and backward. Call `apply` to run it; make no instances. If setup_context(ctx, args, result) is
    defined, it is called after forward to fill in ctx, and forward takes no ctx.
    """

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        raise NotImplementedError("a Function must define forward(ctx, *args), a static method")

    @staticmethod
    def backward(ctx: Any, *gys: Any) -> Any:
        raise NoGradientError("this Function does not define backward(ctx, *gradients), a static method")

    @staticmethod
    def jvp(ctx: Any, *dxs: Any) -> Any:
        raise NoGradientError("forward mode needs jvp(ctx, *tangents), a static method that this Function lacks")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Run forward, and record its result so that gradients go through backward."""
        ctx = Context(args)
        if (builder := modes.current.mode.builder) is not None:
            return apply_in_graph(cls, ctx, args, builder)
        with modes.in_mode(recording=False, watchers=()):
            given = run_forward(cls, ctx, args)
        several = isinstance(given, tuple)
        ys = conclude(cls, ctx, args, given if several else (given,))
        ctx._saved = ctx._forward = ctx._dirty = ctx._flat = ()  # the record has the arrays; tensors would make a cycle
        return ys if several else ys[0]


def apply_in_graph(function: type[Function], ctx: Context, args: tuple[Any, ...], builder: Any) -> Any:
    """apply() while a graph is built: forward, backward and jvp become parts of the graph."""
    with modes.no_grad():
        given = run_forward(function, ctx, args)
    if ctx._dirty:
        raise EditedError(f"{function.__name__} edits an argument, which is refused in a graph: return a new tensor")
    operands = [x for x in args if isinstance(x, Operand)]
    ys = clone_operands(ctx, builder, operands, given if isinstance(given, tuple) else (given,))
    zs = add_custom_op(function.__name__, builder, operands, ys, *rules_in_graph(function, ctx, args))
    zs = tuple(z.detach() if any(y is flat for flat in ctx._flat) else z for z, y in zip(zs, ys))
    return zs if isinstance(given, tuple) else zs[0]


def rules_in_graph(function: type[Function], ctx: Context, args: tuple[Any, ...]) -> tuple[Any, Any]:
    """The Function's backward (gradients → gradients) and jvp (tangents → tangents), or None if it has no jvp."""

    def backward(*gys: Any) -> list[Any]:
        ctx.saved_tensors = ctx._saved
        said = function.backward(ctx, *gys)
        gxs = said if isinstance(said, tuple) else (said,)
        if len(gxs) < len(args):
            raise NoGradientError(f"{function.__name__}.backward gave {len(gxs)} gradients for {len(args)} arguments")
        return [gx for gx, x in zip(gxs, args) if isinstance(x, Operand)]

    def jvp(*dxs: Any) -> tuple[Any, ...]:
        ctx.saved_tensors, moving = ctx._forward, iter(dxs)
        said = function.jvp(ctx, *[next(moving) if isinstance(x, Operand) else None for x in args])
        return said if isinstance(said, tuple) else (said,)

    return backward, None if function.jvp is Function.jvp else jvp


def clone_operands(ctx: Context, builder: Any, operands: list[Any], given: tuple[Any, ...]) -> tuple[Any, ...]:
    """The results of forward. Those that share memory with an operand are cloned, also where ctx has saved them."""
    taken = {id(builder.lift(x).memory) for x in operands}
    ys = tuple(y.clone() if id(builder.lift(y).memory) in taken else y for y in given)
    for some in ("_saved", "_forward", "_flat"):
        setattr(ctx, some, tuple(counterpart(x, given, ys) for x in getattr(ctx, some)))
    return ys


def run_forward(function: type[Function], ctx: Context, args: tuple[Any, ...]) -> Any:
    """Call forward, then setup_context if it is defined, as in PyTorch. Returns the result of forward."""
    setup = getattr(function, "setup_context", None)
    if setup is None:
        return function.forward(ctx, *args)
    given = function.forward(*args)
    setup(ctx, args, given)
    return given


def conclude(function: type[Function], ctx: Context, args: tuple[Any, ...], given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Turn the values that forward returned into results: give them their own memory, record them, notify watchers."""
    ys = results(function, ctx, args, given)
    mode = modes.current.mode
    refuse_dirty(function, ctx, given)
    xs = tuple(placed_before(x, ctx) for x in args if isinstance(x, Tensor))
    for x in ctx._dirty:
        versions.edit(x.value)
    if mode.recording and any(ctx.needs_input_grad):
        connect(function, ctx, args, given, ys)
    ctx._forward = tuple(counterpart(x, given, ys) for x in ctx._forward)
    arguments = tuple(x.spec if isinstance(x, Tensor) else None for x in args)
    for watcher in mode.watchers:
        for i, y in enumerate(ys):
            watcher.on_forward(FunctionCall(function, ctx, arguments, i), y, xs)
    for x in ctx._dirty if mode.recording or modes.has_backward_watcher() else ():
        renew(root(x), x)
    return ys


def results(function: type[Function], ctx: Context, args: tuple[Any, ...], given: tuple[Any, ...]) -> tuple[Any, ...]:
    """A new tensor for each result that is not dirty. Shared memory is copied: an edit of it would break backward."""
    taken = {id(versions.owner(x.value)) for x in args if isinstance(x, Tensor)}
    ys = []
    for y in given:
        if not isinstance(y, Tensor):
            raise TypeError(f"{function.__name__}.forward must return a tensor or a tuple of tensors, and gave {y!r}")
        if not any(y is x for x in ctx._dirty):
            shared = id(versions.owner(y.value)) in taken
            taken.add(id(versions.owner(y.value)))
            y = wrap_array(y.value.copy() if shared else y.value, y.spec)
            y.tracked = modes.current.mode.tracked
        ys.append(y)
    return tuple(ys)


def refuse_dirty(function: type[Function], ctx: Context, given: tuple[Any, ...]) -> None:
    """Raises EditedError if a dirty argument is not returned, or is a leaf that requires a gradient."""
    for x in ctx._dirty:
        if not any(x is y for y in given):
            raise EditedError(f"{function.__name__} marked {x.spec} dirty, and does not return it: return it too")
        if modes.current.mode.recording and root(x).tracked and root(x).is_leaf:
            raise EditedError(f"{function.__name__} edits {x.spec} in place, and it is a leaf that requires a gradient")


def root(x: Tensor) -> Tensor:
    """The tensor that owns x's memory."""
    alias = getattr(x, "alias", None)
    return x if alias is None else alias.root


def placed_before(x: Tensor, ctx: Context) -> Tensor:
    """x; if forward edited x in place, x with its node from before the edit."""
    return x.with_node(x.value, origin(x)) if any(x is dirty for dirty in ctx._dirty) else x


def counterpart(x: Tensor | None, given: tuple[Any, ...], ys: tuple[Any, ...]) -> Tensor | None:
    """If forward returned x, the result that was made from x; else x itself."""
    return next((y for y, z in zip(ys, given) if z is x), x)


def connect(
    function: type[Function], ctx: Context, args: tuple[Any, ...], given: tuple[Any, ...], ys: tuple[Tensor, ...]
) -> None:
    """Make a record of the call, and set it as the node of the results."""
    arguments = tuple(x.spec if isinstance(x, Tensor) else None for x in args)
    specs = tuple(y.spec for y in ys)
    rule = FunctionRule(specs[0], function, ctx, arguments, specs, tuple(place(x, args, given) for x in ctx._saved))
    saved = tuple(None if x is None else x.value for x in ctx._saved)
    inputs = tuple(origin(x) for x in args if isinstance(x, Tensor))
    record = Record(FunctionCall(function, ctx, arguments), inputs, rule, saved)
    for i, (y, z) in enumerate(zip(ys, given)):
        if y.spec.is_float and not any(z is flat for flat in ctx._flat):
            y.node = Record(Output(i), (record,), OutputRule(y.spec, i), ()) if len(ys) > 1 else record
            y.tracked = True


def place(x: Tensor | None, args: tuple[Any, ...], given: tuple[Any, ...]) -> Place:
    """The place of a saved tensor in the graph: an argument, a result, or another node."""
    for kind, tensors in (("result", given), ("argument", args)):
        for i, other in enumerate(tensors):
            if x is other and x is not None:
                return kind, i
    return None if x is None else x.node


def once_differentiable(backward: Any) -> Any:
    """Mark a Function's backward as not differentiable: a second derivative through it raises NoGradientError. In a
    graph the mark has no effect, as backward becomes ops, which have derivatives.
    """

    @wraps(backward)
    def once(ctx: Any, *gys: Any) -> Any:
        if not modes.current.mode.recording or modes.current.mode.builder is not None:
            return backward(ctx, *gys)
        reads = [x for x in (*gys, *ctx.saved_tensors, *vars(ctx).values()) if isinstance(x, Tensor)]
        with modes.no_grad():
            gxs = backward(ctx, *gys)
        ends = tuple(gx if gx is None else End.apply(gx, *reads) for gx in (gxs if isinstance(gxs, tuple) else (gxs,)))
        return ends if isinstance(gxs, tuple) else ends[0]

    return once


class End(Function):
    """Returns x, a gradient that a once_differentiable backward computed from `reads`. Its backward raises an error."""

    @staticmethod
    def forward(ctx: Any, x: Any, *reads: Any) -> Any:
        return x

    @staticmethod
    def backward(ctx: Any, *gys: Any) -> Any:
        raise NoGradientError("cannot take a second derivative through a backward that is marked @once_differentiable")


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate f(*xs), which returns its result and a function from gradients of the result to gradients of the xs."""

    def forward(ctx: Any, rule: Callable[..., Any], values: tuple[Any, ...], several: bool, *xs: Any) -> Any:
        ctx.rule = rule
        return values if several else values[0]

    def backward(ctx: Any, *gys: Any) -> tuple[Any, ...]:
        gxs = ctx.rule(*gys)
        return None, None, None, *(gxs if isinstance(gxs, tuple | list) else (gxs,))

    written: Any = type(f.__name__, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})

    @wraps(f)
    def wrapper(*xs: Any, **options: Any) -> Any:
        operands = [x if isinstance(x, Operand) else Tensor(x) for x in xs]
        value, rule = f(*operands, **options)
        several = isinstance(value, tuple | list)
        values = tuple(y.detach() for y in (value if several else (value,)))
        return written.apply(rule, values, several, *operands)

    return wrapper
