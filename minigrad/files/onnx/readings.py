"""The table of readings that `mg.onnx.load` uses: each ONNX op as operations on tensors.

A reading takes a node's inputs (None if omitted) and its attributes by name. A value that is an attribute in older
opsets and an input in newer ones has one parameter, so most readings serve every opset. `version` is the opset in which
the op last changed, `outputs` the number of results that are used. Results may have any dtype: function.py casts them
to the dtype in the op's schema. Elementwise ops, reductions, products, control flow and sequences are in this module,
the others in shapes.py and networks.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod
from operator import add, and_, eq, ge, gt, le, lt, mul, or_, sub, xor
from operator import pow as power
from typing import Any

import numpy as np
from onnx import TensorProto

from ...api.functions.algebra import einsum
from ...api.functions.creation import full
from ...api.functions.movement import cat, stack
from ...engine.base.dtypes import kind
from ...engine.base.errors import GraphError
from ...engine.methods import Operand
from ...engine.tensor.tensor import Tensor
from ...graph import control
from ...nn import functional as F
from .writer import dtype_of

Reading = Callable[..., Any]
READINGS: dict[str, Reading] = {}
SELU = 1.67326319217681884765625, 1.05070102214813232421875  # α and γ, as the standard has them


def reads(*names: str) -> Callable[[Reading], Reading]:
    """Register the decorated function as the reading of these ops."""

    def say(f: Reading) -> Reading:
        READINGS.update(dict.fromkeys(names, f))
        return f

    return say


# -- values that are known while tracing ------------------------------------------------------------


def is_known(x: Any) -> bool:
    """Whether the elements of x are known while tracing and need no gradient."""
    if isinstance(x, list):
        return all(map(is_known, x))
    return x is None or (isinstance(x, Tensor) and not x.requires_grad)


def concrete_array(x: Any) -> Any:
    """The elements of x. Raises GraphError if they are known only at run time."""
    if not isinstance(x, Tensor):
        raise GraphError(
            "a shape or an order depends on elements of the inputs, which are unknown in a traced function: call the "
            "loaded function without mg.function"
        )
    return x.numpy()


def numbers(x: Any) -> Any:
    """A list of numbers, from an attribute or an input; None stays None."""
    if x is None or isinstance(x, list):
        return x
    return [x] if isinstance(x, int) else concrete_array(x).ravel().tolist()


def number(x: Any) -> Any:
    """One number, from an attribute or an input."""
    return x if isinstance(x, int | float | None) else concrete_array(x).reshape(()).item()


def require_supported(holds: Any, what: str) -> None:
    """Raises GraphError unless the condition holds. `what` describes the kind of node that has no reading."""
    if not holds:
        raise GraphError(f"{what} has no reading in mg.onnx.load")


def constant(array: Any, dtype: Any = None) -> Tensor:
    return Tensor(np.asarray(array, dtype))


def is_float(x: Any) -> bool:
    return kind(x.dtype) == "f"


# -- elementwise ------------------------------------------------------------------------------------


def binary(f: Reading) -> Reading:
    """A reading of f with broadcasting. Before opset 7, the axes of y are aligned with those of x from `axis` on."""

    def reading(x: Any, y: Any, axis: Any = None, broadcast: int = 0) -> Any:
        if axis is not None and y.ndim:
            y = y.reshape(*y.shape, *[1] * (x.ndim - axis % x.ndim - y.ndim))
        return f(x, y)

    return reading


def many(f: Reading) -> Reading:
    """A reading that combines any number of operands by f, from left to right."""
    return lambda *xs: reduce(f, xs)


def clip(x: Any, min: Any = None, max: Any = None) -> Any:
    x = x if min is None else x.maximum(min)
    return x if max is None else x.minimum(max)


def cast(x: Any, to: Any, saturate: int = 1, round_mode: Any = None) -> Any:
    """Before opset 6, `to` is the name of a dtype."""
    return x.astype(dtype_of(to if isinstance(to, int) else TensorProto.DataType.Value(to), "the result"))


def infinite(x: Any, detect_negative: int = 1, detect_positive: int = 1) -> Any:
    return x.isinf() & ((x > 0) & bool(detect_positive) | (x < 0) & bool(detect_negative))


def prelu(x: Any, slope: Any, version: int = 7) -> Any:
    """Before opset 7, a 1-D slope has one number per channel; since then it broadcasts."""
    row = version < 7 and slope.ndim == 1
    return x.where(x >= 0, x * (slope.reshape(-1, *[1] * (x.ndim - 2)) if row else slope))


def hard_sigmoid(x: Any, alpha: float = 0.2, beta: float = 0.5) -> Any:
    return (x * alpha + beta).clamp(0, 1)


def method(name: str) -> Reading:
    return lambda x: getattr(x, name)()


NAMES = (
    "Abs Neg Exp Log Sqrt Ceil Floor Round Sign Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh Erf "
    "Sigmoid Relu Reciprocal IsNaN Det"
)
READINGS |= {name: method(name.lower()) for name in NAMES.split()}
READINGS |= {
    "Identity": lambda x: x, "Not": method("logical_not"), "BitwiseNot": method("bitwise_not"),
    "Softplus": F.softplus, "Softsign": F.softsign, "Mish": F.mish,
    "Add": binary(add), "Sub": binary(sub), "Mul": binary(mul), "Pow": binary(power),
    "Div": binary(lambda x, y: x / y if is_float(x) else x.div(y, rounding_mode="trunc")),
    "And": binary(lambda x, y: x.logical_and(y)), "Or": binary(lambda x, y: x.logical_or(y)),
    "Xor": binary(lambda x, y: x.logical_xor(y)), "Equal": binary(eq), "Less": binary(lt), "Greater": binary(gt),
    "LessOrEqual": binary(le), "GreaterOrEqual": binary(ge),
    "BitwiseAnd": and_, "BitwiseOr": or_, "BitwiseXor": xor,
    "BitShift": lambda x, y, direction: x << y if direction == "LEFT" else x >> y,
    "Mod": lambda x, y, fmod=0: x.fmod(y) if fmod else x.remainder(y),
    "Max": many(lambda x, y: x.maximum(y)), "Min": many(lambda x, y: x.minimum(y)), "Sum": many(add),
    "Mean": lambda *xs: reduce(add, xs) / len(xs),
    "Where": lambda c, x, y: x.where(c, y), "Clip": clip, "IsInf": infinite, "PRelu": prelu,
    "Selu": lambda x, alpha=SELU[0], gamma=SELU[1]: F.elu(x, alpha) * gamma,
    "LeakyRelu": lambda x, alpha=0.01: F.leaky_relu(x, alpha),
    "Elu": lambda x, alpha=1.0: F.elu(x, alpha), "Celu": lambda x, alpha=1.0: F.celu(x, alpha),
    "HardSigmoid": hard_sigmoid, "HardSwish": lambda x: x * hard_sigmoid(x, 1 / 6),
    "Gelu": lambda x, approximate="none": F.gelu(x, approximate),
    "ThresholdedRelu": lambda x, alpha=1.0: x.where(x > alpha, 0),
    "Cast": cast, "CastLike": lambda x, like, saturate=1, round_mode=None: x.astype(like.dtype),
}  # fmt: skip


# -- reductions -------------------------------------------------------------------------------------


def reduction(f: Reading, before: Reading = lambda x: x, after: Reading = lambda x: x) -> Reading:
    def reading(x: Any, axes: Any = None, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Any:
        along = tuple(numbers(axes) or range(x.ndim))
        x = before(x)
        if (noop_with_empty_axes and not numbers(axes)) or not along:
            return after(x)
        return after(f(x, along, keepdims=bool(keepdims)))

    return reading


def by(method: str) -> Reading:
    return lambda x, axes, keepdims: getattr(x, method)(axes, keepdims=keepdims)


def extreme(method: str, none: Callable[[Any], Any]) -> Reading:
    """A reduction by this method; if there are no elements to reduce, the result is none(dtype)."""

    def reduce_extreme(x: Any, axes: Sequence[int], keepdims: bool) -> Any:
        if 0 not in [n for n in x.shape if isinstance(n, int)]:
            return by(method)(x, axes, keepdims)
        return full(x.shape, 0, x.dtype).sum(axes, keepdims=keepdims).astype(x.dtype) + none(x.dtype)

    return reduce_extreme


def dtype_limit(dtype: Any, sign: int) -> Any:
    if kind(dtype) == "f":
        return sign * np.inf
    ends = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return ends[sign > 0]


def logsumexp(x: Any, axes: Sequence[int], keepdims: bool) -> Any:
    return x.logsumexp(axes, keepdims=keepdims) if 0 not in x.shape else x.exp().sum(axes, keepdims=keepdims).log()


READINGS |= {
    "ReduceSum": reduction(by("sum")), "ReduceMean": reduction(by("mean")), "ReduceProd": reduction(by("prod")),
    "ReduceMax": reduction(extreme("amax", lambda d: dtype_limit(d, -1))),
    "ReduceMin": reduction(extreme("amin", lambda d: dtype_limit(d, 1))),
    "ReduceL1": reduction(by("sum"), lambda x: x.abs()), "ReduceSumSquare": reduction(by("sum"), lambda x: x * x),
    "ReduceL2": reduction(by("sum"), lambda x: x * x, lambda y: y.sqrt()),
    "ReduceLogSum": reduction(by("sum"), after=lambda y: y.log()), "ReduceLogSumExp": reduction(logsumexp),
}  # fmt: skip


def arg(method: str) -> Reading:
    def reading(x: Any, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Any:
        if not select_last_index:
            return getattr(x, method)(axis, bool(keepdims))
        return x.shape[axis] - 1 - getattr(x.flip(axis), method)(axis, bool(keepdims))

    return reading


def running(method: str, none: int) -> Reading:
    def reading(x: Any, axis: Any, exclusive: int = 0, reverse: int = 0) -> Any:
        axis = number(axis) % x.ndim
        x = x.flip(axis) if reverse else x
        y = getattr(x, method)(axis).astype(x.dtype)
        if exclusive:
            first = full(tuple(1 if a == axis else n for a, n in enumerate(x.shape)), none, x.dtype)
            y = cat([first, y.narrow(axis, 0, x.shape[axis] - 1)], axis)
        return y.flip(axis) if reverse else y

    return reading


def along(f: Reading, since: int = 13) -> Reading:
    """A reading of f along an axis; before opset 13, along the axis, by default 1, and all later axes, flattened."""

    def reading(x: Any, axis: Any = None, version: int = 13) -> Any:
        if version >= since:
            return f(x, -1 if axis is None else axis)
        axis = (1 if axis is None else axis) % max(x.ndim, 1)
        return f(x.reshape(prod(x.shape[:axis]), prod(x.shape[axis:])), -1).reshape(*x.shape)

    return reading


def hardmax(x: Any, axis: int) -> Any:
    """1 at the first maximum, 0 elsewhere."""
    places = constant(np.arange(x.shape[axis])).reshape(-1, *[1] * (x.ndim - 1 - axis % x.ndim))
    return (x.argmax(axis, True) == places).astype(x.dtype)


READINGS |= {
    "ArgMax": arg("argmax"), "ArgMin": arg("argmin"),
    "CumSum": running("cumsum", 0), "CumProd": running("cumprod", 1),
    "Softmax": along(lambda x, axis: x.softmax(axis)), "LogSoftmax": along(lambda x, axis: x.log_softmax(axis)),
    "Hardmax": along(hardmax),
}  # fmt: skip


# -- products ---------------------------------------------------------------------------------------


@reads("Gemm")
def gemm(a: Any, b: Any, c: Any = None, alpha: float = 1.0, beta: float = 1.0, transA: int = 0, transB: int = 0,
         broadcast: int = 0) -> Any:  # fmt: skip
    """α a b + β c, as a linear layer if α = β = 1 and c is a row or missing."""
    a = a.T if transA else a
    if alpha == 1.0 and (c is None or (beta == 1.0 and c.ndim == 1 and c.shape[0] == b.shape[0 if transB else 1])):
        return a.linear(b if transB else b.T, c)
    y = a @ (b.T if transB else b)
    y = y if alpha == 1.0 else y * alpha
    return y if c is None else y + (c if beta == 1.0 else c * beta)


READINGS |= {"MatMul": lambda a, b: a @ b, "Einsum": lambda *xs, equation: einsum(equation.replace(" ", ""), *xs)}


# -- control flow: if a condition is known, Python runs the branch; if not, it is an op, as with mg.cond --


@reads("If")
def branch(condition: Any, then_branch: Any, else_branch: Any) -> Any:
    if is_known(condition):
        return then_branch() if number(condition) else else_branch()
    return tuple(control.cond(condition.reshape(()), then_branch, else_branch))


@reads("Loop")
def loop(most: Any, going: Any, *states: Any, body: Any, outputs: int = 0) -> Any:
    """Run the body in turns. Returns the final states, then for each other output its values in all turns, stacked."""
    n = len(states)
    going = constant(True) if going is None else going
    if not all(map(is_known, (most, going, *states))) and outputs <= n and all(isinstance(x, Operand) for x in states):
        return traced_loop(most, going, states, body)
    turn = 0
    stacks: list[list[Any]] = [[] for _ in range(outputs - n)]
    while (most is None or turn < number(most)) and number(going):
        going, *ys = body(constant(turn), going, *states)
        states, turn = tuple(ys[:n]), turn + 1
        for rows, y in zip(stacks, ys[n:]):
            rows.append(y)
    require_supported(all(stacks), "a loop of no turns with stacked outputs")
    return (*states, *map(stack, stacks))


def traced_loop(most: Any, going: Any, states: Sequence[Any], body: Any) -> Any:
    """Trace a while loop; the first result of the body says whether to go on."""

    def test(turn: Any, going: Any, *_: Any) -> Any:
        return going if most is None else going & (turn < most.reshape(()))

    def step(turn: Any, going: Any, *states: Any) -> Any:
        going, *ys = body(turn, going, *states)
        return (turn + 1, going.reshape(()), *ys[: len(states)])

    return tuple(control.while_loop(test, step, (constant(0), going.reshape(()), *states))[2:])


@reads("Scan")
def scan(*xs: Any, body: Any, num_scan_inputs: int, scan_input_axes: Any = None, scan_input_directions: Any = None,
         scan_output_axes: Any = None, scan_output_directions: Any = None, version: int = 9) -> Any:  # fmt: skip
    require_supported(version >= 9, "a scan of opset 8, over a batch,")
    n = len(xs) - num_scan_inputs
    rows = [x.movedim(a, 0) for x, a in zip(xs[n:], scan_input_axes or [0] * num_scan_inputs)]
    rows = [x.flip(0) if back else x for x, back in zip(rows, scan_input_directions or [0] * num_scan_inputs)]

    def step(states: Any, slices: Any) -> Any:
        ys = body(*states, *slices)
        return tuple(ys[:n]), tuple(ys[n:])

    states, stacks = control.scan(step, tuple(xs[:n]), tuple(rows))
    stacks = [y.flip(0) if back else y for y, back in zip(stacks, scan_output_directions or [0] * len(stacks))]
    return (*states, *(y.movedim(0, a) for y, a in zip(stacks, scan_output_axes or [0] * len(stacks))))


# -- sequences and optional values: lists, and None -------------------------------------------------


@reads("SequenceInsert")
def sequence_insert(sequence: Any, x: Any, i: Any = None) -> Any:
    at = len(sequence) if i is None else number(i)
    return [*sequence[:at], x, *sequence[at:]]


@reads("SequenceErase")
def sequence_erase(sequence: Any, i: Any = None) -> Any:
    at = (-1 if i is None else number(i)) % len(sequence)
    return [*sequence[:at], *sequence[at + 1 :]]


@reads("SplitToSequence")
def split_to_sequence(x: Any, lengths: Any = None, axis: int = 0, keepdims: int = 1) -> Any:
    n = x.shape[axis]
    if lengths is None:
        parts = [x.narrow(axis, i, 1) for i in range(n)]
        return parts if keepdims else [part.squeeze(axis) for part in parts]
    each = numbers(lengths)
    if not lengths.ndim:
        each = [min(each[0], n - i) for i in range(0, n, each[0])]
    return [x.narrow(axis, sum(each[:i]), m) for i, m in enumerate(each)]


READINGS |= {
    "SequenceEmpty": lambda dtype=None: [],
    "SequenceConstruct": lambda *xs: [*xs],
    "SequenceAt": lambda sequence, i: sequence[number(i)],
    "SequenceLength": lambda sequence: constant(len(sequence), np.int64),
    "ConcatFromSequence": lambda xs, axis, new_axis=0: stack(xs, axis) if new_axis else cat(xs, axis),
    "Optional": lambda x=None, type=None: x,
    "OptionalHasElement": lambda x=None: constant(x is not None),
    "OptionalGetElement": lambda x: x,
}  # fmt: skip
