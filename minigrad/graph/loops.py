"""Loops that know their number of steps when they begin: `scan` along an axis, `fori_loop` along numbers, as in JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base.dimension import is_unknown, unsaid
from ..base.errors import ShapeError
from ..base.pytree import leaves, leaves_beside
from ..compiler.control import Scan
from ..functions.creation import empty
from ..functions.movement import stack
from ..tensor.lift import operand
from ..tracing.builder import GraphBuilder
from .control import while_loop
from .default import builder_of
from .structure import filled, is_value, wrapping
from .subgraph import Subgraph, Variables, made, outside_of


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """c, y[t] = f(c, x[t]) for each t, c being init before the first: the last c, and all y.

    xs         tensors in any structure; t goes along their first axis
    length     how many t there are, where no x says it
    reverse    whether the last t comes first

    c keeps its structure, dtypes and shapes. y may have any, and None for leaves.
    """
    builder, steps = builder_of((*leaves(init), *leaves(xs))), steps_of(leaves(xs), length)
    if builder is None:
        return stepped(f, init, xs, steps, reverse)
    return traced_scan(builder, f, init, xs, steps, reverse, "scan()")


def traced_scan(
    builder: GraphBuilder, f: Any, init: Any, xs: Any, steps: int, reverse: bool, called: str
) -> tuple[Any, Any]:
    """A scan as one op. An error about its variables says what the user has called."""
    carries, slices = Variables(builder, init), Variables(builder, xs, row=True)
    body = Subgraph(builder, "the body").write(f, lambda its: (carries.arguments(its), slices.arguments(its)), pair)
    body.outputs = carries.carried(body, body.result[0], called)
    body.refuse_gradients_through_turns()
    edited = body.edited_outside()
    ys = [body.lift(y) for y in leaves(body.result[1]) if is_value(y)]
    outside = outside_of(body, but=edited)
    n, m = len(carries.start), len(slices.start)
    graph = body.step(edited, outside, ys, m)
    op = Scan(graph, n + len(edited), m, reverse, None if m else steps)
    operands = (*carries.start, *edited, *slices.start, *outside)
    found = made(builder, op, operands, edited, (n, len(ys)), None)
    last = carries.left(body, found[:n], may_skip=type(steps) is not int or is_unknown(steps) or steps == 0)
    return filled(init, last), filled(body.result[1], found[n:])


def stepped(f: Any, init: Any, xs: Any, steps: int, reverse: bool) -> tuple[Any, Any]:
    """The same on values, by Python."""
    if not steps:
        return init, of_no_steps(f, init, xs)
    rows, carry, results = [operand(x) for x in leaves(xs) if is_value(x)], init, [None] * steps
    for t in reversed(range(steps)) if reverse else range(steps):
        carry, results[t] = pair(f(carry, filled(xs, (x[t] for x in rows))))
        leaves_beside(init, carry)
    columns = zip(*(leaves_beside(results[0], y) for y in results))
    ys = (stack([operand(y) for y in column]) for column in columns if is_value(column[0]))
    return carry, filled(results[0], ys)


def of_no_steps(f: Any, init: Any, xs: Any) -> Any:
    """The ys of no step at all: how long a row would be, f says on symbols."""
    builder = GraphBuilder()
    carries, slices = Variables(builder, init), Variables(builder, xs, row=True)
    body = Subgraph(builder, "the body").write(f, lambda its: (carries.arguments(its), slices.arguments(its)), pair)
    ys = [body.lift(y) for y in leaves(body.result[1]) if is_value(y)]
    return filled(body.result[1], (empty((0, *y.shape), dtype=y.dtype) for y in ys))


def pair(result: Any) -> tuple[Any, Any]:
    """What f returned. Raises ShapeError where it is no pair."""
    if not isinstance(result, tuple) or len(result) != 2:
        raise ShapeError(f"the function of scan() returns (carry, y), where y may be None; it returned {result!r}")
    return result


def steps_of(xs: Any, length: int | None) -> int:
    """How many steps. Raises ShapeError where nothing says it, or two say differently."""
    said = {f"x{i}": operand(x).spec.shape[:1] for i, x in enumerate(xs) if is_value(x)}
    said |= {} if length is None else {"length": (unsaid(length),)}
    if len(set(said.values())) != 1 or () in said.values():
        raise ShapeError(f"scan() goes along the first axis of all xs, or takes length= steps, and got {said}")
    return next(iter(said.values()))[0]  # type: ignore[no-any-return]


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any) -> Any:
    """x = body_fun(i, x) for i from lower to upper − 1, x being init_val before: the last x.

    Of Python numbers the number of steps is known, and the loop is a scan.
    """

    def turn(i: Any, x: Any) -> tuple[Any, Any]:
        return i + 1, body_fun(i, x)

    builder = builder_of(leaves(init_val))
    if isinstance(lower, int) and isinstance(upper, int) and builder is not None:
        if upper <= lower:
            return init_val
        body = wrapping(body_fun, lambda c, _: (turn(*c), None))
        (_, x), _ = traced_scan(builder, body, (lower, init_val), None, upper - lower, False, "fori_loop()")
        return x
    return while_loop(lambda i, x: i < upper, wrapping(body_fun, turn), (lower, init_val))[1]
