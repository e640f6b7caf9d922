"""Control flow in a graph: `cond` and `while_loop` with TensorFlow's meaning, `scan` and `fori_loop` with JAX's.

On tensors that have values they are Python's own `if`, `while` and `for`. While a graph is built, or on its symbols,
each branch and each body is called once and traced into a subgraph; a run of the whole graph decides which subgraphs
run, and how often. `scan` and `fori_loop` know their number of steps when they begin.

`switch_case` chooses by a number, `case` by the first true condition; both build nested `cond`s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..api.functions.creation import empty
from ..api.functions.movement import stack
from ..engine.base.dimension import is_unknown, unwrap_dimension
from ..engine.base.errors import GraphError, ShapeError
from ..engine.base.pytree import leaves, leaves_beside
from ..engine.core.modes import in_mode
from ..engine.methods import Operand
from ..engine.tensor.lift import operand
from ..tracing.builder import GraphBuilder, Tracer
from ..tracing.vmap import Slices
from . import subgraph
from .compiler.control import Cond, Scan, While
from .graph import builder_of
from .sharing import pass_on, refuse_lost_edits, share, sources_outside
from .subgraph import Side, Subgraph, Variables, apply_control, as_loop_vars, fill_tree, is_value, outside_of, wrapping

Function = Callable[..., Any]


def cond(
    pred: Any, true_fn: Function, false_fn: Function, operands: Sequence[Any] = (), name: str | None = None
) -> Any:
    """true_fn(*operands) if pred else false_fn(*operands). In a graph both are traced, and one of them runs.

    Both return tensors of the same structure, dtypes and shapes. Raises GraphError if one of them is not a function.
    """
    refuse_uncallable(true_fn=true_fn, false_fn=false_fn)
    builder = writer_of((pred, *leaves(tuple(operands))))
    if builder is None or isinstance(pred, bool | np.bool_):
        return true_fn(*operands) if pred else false_fn(*operands)
    p = truth(builder, pred, "cond()")
    true = Subgraph(builder, "the true branch").write(true_fn, lambda part: operands)
    false = Subgraph(builder, "the false branch").write(false_fn, lambda part: operands)
    one, other = (Side(part, part.result, f"in {part}") for part in (true, false))
    law = "both branches of cond() give the same structure and specs"
    true.outputs, false.outputs = subgraph.match_sides(one, other, law)
    edited = list({id(what): what for part in (true, false) for what in part.edited_outside()}.values())
    for part in (true, false):
        part.outputs += map(part.lift, edited)
    given, kept = len(true.outputs) - len(edited), (true.of_effects(), false.of_effects())
    true.outputs += [*kept[0], *map(true.zeros, kept[1])]
    false.outputs += [*map(false.zeros, kept[0]), *kept[1]]
    pairs = [refuse_lost_edits(part) for part in (true, false)]
    outside = outside_of(true, false)
    op = Cond(true.graph((), outside), false.graph((), outside))
    found = apply_control(builder, op, (p, *outside), edited, (given, 0), name)
    for part in (true, false):
        pass_on(found, part, sources_outside(part))
    share(found, *zip((true, false), pairs))
    return fill_tree(true.result, found)


def writer_of(xs: Iterable[Any]) -> GraphBuilder | None:
    """The builder that traces a branch or a loop over these values; None if Python runs it, as under vmap."""
    builder = builder_of(xs)
    return None if isinstance(builder, Slices) else builder


def refuse_uncallable(**ways: Any) -> None:
    """Raises GraphError if a branch passed to cond() is not a function."""
    for name, way in ways.items():
        if not callable(way):
            raise GraphError(
                f"cond() needs a function for each branch, lambda: y, not y; {name} is {subgraph.format_leaf(way)[:80]}"
            )


def while_loop(
    cond: Function, body: Function, loop_vars: Any, shape_invariants: Any = None,
    maximum_iterations: Any = None, name: str | None = None,
) -> Any:  # fmt: skip
    """Repeat loop_vars = body(*loop_vars) while cond(*loop_vars) holds; return the last loop_vars.

    shape_invariants      a shape for each variable; an axis that is None may change its length at each step
    maximum_iterations    the largest number of steps

    The body keeps the structure of loop_vars, and the dtype and shape of each variable. Raises GraphError if loop_vars
    is not a tuple or list.
    """
    if not isinstance(loop_vars, tuple | list):
        raise GraphError(
            f"while_loop() takes its variables in a tuple, (x,) for one; it got {subgraph.format_leaf(loop_vars)[:80]}"
        )
    if maximum_iterations is not None:
        return bounded_loop(cond, body, loop_vars, shape_invariants, maximum_iterations, name)
    builder = writer_of(leaves(loop_vars))
    if builder is None:
        while cond(*loop_vars):
            loop_vars = as_loop_vars(loop_vars, body(*loop_vars))
        return loop_vars
    return traced_loop(builder, cond, body, loop_vars, shape_invariants, name)


def traced_loop(
    builder: GraphBuilder, cond: Function, body: Function, loop_vars: Any, shape_invariants: Any, name: str | None
) -> Any:
    """A while loop as one op. Its test graph and its body graph have the variables and the edited tensors as inputs."""
    variables = Variables(builder, loop_vars, shape_invariants, names=subgraph.names_of_variables(body, loop_vars))
    test = Subgraph(builder, "the test").write(cond, variables.arguments)
    step = Subgraph(builder, "the body").write(
        body, variables.arguments, lambda result: as_loop_vars(loop_vars, result)
    )
    refuse_no_truth(test)
    test.outputs = [truth(test, test.result, "while_loop()")]
    step.outputs = variables.next_values(step, step.result, "while_loop()")
    step.refuse_gradients_through_turns()
    pairs = refuse_lost_edits(step, test=test)
    edited = step.edited_outside()
    outside = outside_of(test, step, but=edited)
    body_graph = step.step(edited, outside)
    test_graph = test.per_turn(test.graph(edited, outside), edited)
    op = While(test=test_graph, body=body_graph, carried=len(variables.start) + len(edited))
    operands = (*variables.start, *edited, *outside)
    found = apply_control(builder, op, operands, edited, (len(variables.start), 0), name)
    return fill_tree(loop_vars, variables.loop_results(step, found, pairs, may_skip=True))


def refuse_no_truth(test: Subgraph) -> None:
    """Raises GraphError if the test of a loop edits a tensor, or does not return a truth value."""
    variables = [node.name for symbol, node in zip(test.symbols, test.inputs) if id(symbol) in test.written]
    with in_mode(builder=None):  # str() reads the elements, which a builder refuses after an edit
        edited = ", ".join([*variables, *map(str, test.edited_outside())])
    if edited or not isinstance(test.result, Operand | bool | np.bool_):
        raise GraphError(
            f"the test of while_loop(), {test.place}, must return one truth value and edit nothing; it returned "
            f"{test.result!r}{f' and edited {edited}' if edited else ''}"
        )


def bounded_loop(
    cond: Function, body: Function, loop_vars: Any, shape_invariants: Any, most: Any, name: str | None
) -> Any:
    """A while loop that counts its steps, and ends after at most `most` of them."""

    def test(i: Any, *variables: Any) -> Any:
        go = cond(*variables)
        return (i < most) & (go if isinstance(go, Operand) else bool(go))

    def step(i: Any, *variables: Any) -> Any:
        return i + 1, *as_loop_vars(loop_vars, body(*variables))

    invariants = None if shape_invariants is None else ((), *shape_invariants)
    _, *last = while_loop(wrapping(cond, test), wrapping(body, step), (0, *loop_vars), invariants, None, name)
    return as_loop_vars(loop_vars, last)


def truth(builder: GraphBuilder, x: Any, who: str) -> Tracer:
    """x as a truth value. Raises GraphError if it has several elements."""
    with builder.building():
        p = builder.lift(x)
        if p.spec.size != 1:
            raise GraphError(f"the condition of {who} is one number; got {p.spec}: reduce it with .any() or .all()")
        return p if p.dtype == bool else p != 0


def switch_case(
    branch_index: Any,
    branch_fns: Sequence[Callable[[], Any]] | Mapping[int, Callable[[], Any]],
    default: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """branch_fns[branch_index](); default() if there is no such branch. The default is the last branch unless given."""
    pairs = branch_fns.items() if isinstance(branch_fns, Mapping) else enumerate(branch_fns)
    branches = sorted(((i, f[1] if isinstance(f, tuple) else f) for i, f in pairs), key=lambda pair: pair[0])
    if not branches:
        raise GraphError("switch_case() needs at least one branch")
    otherwise = branches[-1][1] if default is None else default
    return case([(branch_index == i, f) for i, f in branches], otherwise, name=name)


def case(
    pred_fn_pairs: Sequence[tuple[Any, Callable[[], Any]]],
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    name: str | None = None,
) -> Any:
    """f() of the first (condition, f) whose condition holds; default() if none does.

    The default is the last function unless given.
    """
    if exclusive:
        raise GraphError("case() takes the first condition that holds, and never checks the others: exclusive=False")
    pairs = list(pred_fn_pairs)
    if not pairs:
        raise GraphError("case() needs at least one (condition, function)")
    (pred, f), *rest = pairs
    if not rest and default is None:
        return f()
    return cond(pred, f, lambda: case(rest, default) if rest else default(), name=name)  # type: ignore[misc]


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]], init: Any,
    xs: Any = None, length: int | None = None, reverse: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """c, y[t] = f(c, x[t]) for each t, starting from c = init. Returns the last c, and all y stacked.

    xs         tensors in any structure; t runs along their first axis
    length     the number of steps, needed if there is no x
    reverse    whether t runs from the last step to the first

    c keeps its structure, dtypes and shapes. y may have any, and may contain None.
    """
    builder, steps = writer_of((*leaves(init), *leaves(xs))), steps_of(leaves(xs), length)
    if builder is None:
        return eager_scan(f, init, xs, steps, reverse)
    return traced_scan(builder, f, init, xs, steps, reverse, "scan()")


def traced_scan(
    builder: GraphBuilder, f: Any, init: Any, xs: Any, steps: int, reverse: bool, called: str
) -> tuple[Any, Any]:
    """A scan as one op. `called` is the function that the user called, for error messages."""
    carries, slices = Variables(builder, init), Variables(builder, xs, row=True)
    body = Subgraph(builder, "the body").write(f, lambda its: (carries.arguments(its), slices.arguments(its)), pair)
    body.outputs = carries.next_values(body, body.result[0], called)
    body.refuse_gradients_through_turns()
    edited = body.edited_outside()
    ys = [body.lift(y) for y in leaves(body.result[1]) if is_value(y)]
    pairs = refuse_lost_edits(body, ys)
    outside = outside_of(body, but=edited)
    n, m = len(carries.start), len(slices.start)
    graph = body.step(edited, outside, ys, m)
    op = Scan(graph, n + len(edited), m, reverse, None if m else steps)
    operands = (*carries.start, *edited, *slices.start, *outside)
    found = apply_control(builder, op, operands, edited, (n, len(ys)), None)
    may_skip = type(steps) is not int or is_unknown(steps) or steps == 0
    last = carries.loop_results(body, found[:n], pairs, may_skip)
    return fill_tree(init, last), fill_tree(body.result[1], found[n:])


def eager_scan(f: Any, init: Any, xs: Any, steps: int, reverse: bool) -> tuple[Any, Any]:
    """A scan on tensors with values, run by Python."""
    if not steps:
        return init, of_no_steps(f, init, xs)
    rows, carry, results = [operand(x) for x in leaves(xs) if is_value(x)], init, [None] * steps
    for t in reversed(range(steps)) if reverse else range(steps):
        carry, results[t] = pair(f(carry, fill_tree(xs, (x[t] for x in rows))))
        leaves_beside(init, carry)
    columns = zip(*(leaves_beside(results[0], y) for y in results))
    ys = (stack([operand(y) for y in column]) for column in columns if is_value(column[0]))
    return carry, fill_tree(results[0], ys)


def of_no_steps(f: Any, init: Any, xs: Any) -> Any:
    """The ys of a scan without steps. f is traced once, to find the shape of a row."""
    builder = GraphBuilder()
    carries, slices = Variables(builder, init), Variables(builder, xs, row=True)
    body = Subgraph(builder, "the body").write(f, lambda its: (carries.arguments(its), slices.arguments(its)), pair)
    ys = [body.lift(y) for y in leaves(body.result[1]) if is_value(y)]
    return fill_tree(body.result[1], (empty((0, *y.shape), dtype=y.dtype) for y in ys))


def pair(result: Any) -> tuple[Any, Any]:
    """The pair that f returned. Raises ShapeError if it is not a pair."""
    if not isinstance(result, tuple) or len(result) != 2:
        raise ShapeError(f"the function of scan() returns (carry, y), where y may be None; it returned {result!r}")
    return result


def steps_of(xs: Any, length: int | None) -> int:
    """The number of steps. Raises ShapeError if it is unknown, or if two xs disagree."""
    said = {f"x{i}": operand(x).spec.shape[:1] for i, x in enumerate(xs) if is_value(x)}
    said |= {} if length is None else {"length": (unwrap_dimension(length),)}
    if len(set(said.values())) != 1 or () in said.values():
        raise ShapeError(f"scan() goes along the first axis of all xs, or takes length= steps, and got {said}")
    return next(iter(said.values()))[0]  # type: ignore[no-any-return]


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any) -> Any:
    """x = body_fun(i, x) for i from lower to upper − 1, starting from x = init_val. Returns the last x.

    If lower and upper are Python numbers, the number of steps is known, and the loop is a scan.
    """

    def turn(i: Any, x: Any) -> tuple[Any, Any]:
        return i + 1, body_fun(i, x)

    builder = writer_of(leaves(init_val))
    if isinstance(lower, int) and isinstance(upper, int) and builder is not None:
        if upper <= lower:
            return init_val
        body = wrapping(body_fun, lambda c, _: (turn(*c), None))
        (_, x), _ = traced_scan(builder, body, (lower, init_val), None, upper - lower, False, "fori_loop()")
        return x
    return while_loop(lambda i, x: i < upper, wrapping(body_fun, turn), (lower, init_val))[1]
