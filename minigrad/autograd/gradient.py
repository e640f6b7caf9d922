"""Gradients returned as values, and gradients of gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any

from ..engine import ops
from ..engine.base.dimension import is_unknown
from ..engine.base.errors import GraphError, NoGradientError, NoValueError
from ..engine.core import modes
from ..engine.core.backward import run_backward
from ..engine.core.node import Record, history
from ..engine.methods import Operand
from ..engine.tensor.grad import backward as backward_from
from ..engine.tensor.grad import received_gradients, seed_gradients, towards
from ..engine.tensor.symbol import Symbol
from ..engine.tensor.tensor import Tensor, wrap_array
from ..tracing.tracer import Tracer
from ..tracing.vmap import Slices, vmap


def backward(
    tensors: Tensor | Sequence[Tensor], grad_tensors: Any = None,
    retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None,
) -> None:  # fmt: skip
    """Add the gradients of several tensors to `.grad` of the leaves, in one pass.

    grad_tensors    the gradient that arrives at each tensor; None means 1 for a tensor of one element
    """
    ys = as_list(tensors)
    given = gradients_of(ys, grad_tensors)
    if modes.current.mode.builder is not None:
        for y, gy in zip(ys, given):
            y.backward(gy, inputs=inputs)
        return
    backward_from(ys, given, retain_graph, create_graph, inputs)


def grad(
    outputs: Tensor | Sequence[Tensor], inputs: Tensor | Sequence[Tensor], grad_outputs: Any = None,
    retain_graph: bool | None = None, create_graph: bool = False, only_inputs: bool = True,
    allow_unused: bool | None = None, is_grads_batched: bool = False, materialize_grads: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    """∂(Σ outputs)/∂x for each x of inputs. Changes no `.grad`.

    grad_outputs         the gradient that arrives at each output; None means 1 for a tensor of one element
    retain_graph         keep the saved values for another backward pass; by default only with create_graph
    create_graph         run the rules on tensors, so that the gradients can be differentiated again
    only_inputs          must be True; backward() is the function that adds to `.grad` of the leaves
    allow_unused         return None for an input that the outputs do not depend on
    is_grads_batched     grad_outputs have an extra first axis; return the gradients for each index along it, stacked
    materialize_grads    return zeros for an input that the outputs do not depend on

    Raises NoGradientError if the outputs do not depend on an input, unless one of these two options allows it.
    """
    if not only_inputs:
        raise NoGradientError("grad() does not change any .grad: for only_inputs=False use backward()")
    ys, xs = as_list(outputs), as_list(inputs)
    if not all(x.tracked for x in (*xs, *ys)):
        raise NoGradientError("grad() needs outputs computed from inputs with requires_grad=True, outside no_grad()")
    gys = gradients_of(ys, grad_outputs)
    if is_grads_batched:
        gxs = pull_stacked(lambda *row: gradients(ys, [x.node for x in xs], [*row], True, create_graph), gys)
    else:
        gxs = gradients(ys, [x.node for x in xs], gys, retain_graph, create_graph)
    unused = [i for i, gx in enumerate(gxs) if gx is None]
    if unused and not (allow_unused or materialize_grads):
        advice = "allow_unused=True gives None"
        raise NoGradientError(f"the output does not depend on inputs {unused}, so it has no gradient there: {advice}")
    if materialize_grads:  # so that these zeros can be differentiated again, like other gradients
        gxs = [zeros_like(x).requires_grad_(create_graph) if gx is None else gx for x, gx in zip(xs, gxs)]
    return tuple(gxs)


def gradients(
    ys: list[Tensor], wrt: list[Any], gys: list[Any], retain_graph: bool | None = None,
    create_graph: bool = False, through: Callable[[Record], bool] | None = None,
) -> list[Tensor | None]:  # fmt: skip
    """Σ ⟨gy, ∂y/∂node⟩ over the ys, for each node of wrt; None if there is no gradient. Constant ys are skipped.

    through    record → whether gradients pass through it; by default, they pass through every record
    """
    moving = [(y, gy) for y, gy in zip(ys, gys, strict=True) if y.tracked]
    if not moving:
        return [None] * len(wrt)
    ys, gys = ([*column] for column in zip(*moving))
    builder, create_graph = modes.current.mode.builder, create_graph or modes.has_backward_watcher()
    at_once = isinstance(builder, Slices) and not builder.once and not any(isinstance(y, Symbol) for y in ys)
    if builder is not None and not at_once:
        return gradients_in_graph(builder, ys, wrt, gys, create_graph)
    if builder is None and isinstance(ys[0], Symbol):  # of a session's graph, outside its `with` block
        with ys[0].builder.building():
            return gradients(ys, wrt, gys, retain_graph, create_graph, through)
    keeps, create_graph = create_graph, create_graph or at_once
    seeds = seed_gradients(ys, gys, create_graph)
    order = towards([*filter(through, history(*seeds))], wrt)
    grads = run_backward(order, seeds, create_graph if retain_graph is None else retain_graph, create_graph, set(wrt))
    given = received_gradients(wrt, grads, order)
    if not create_graph:
        given = {node: wrap_array(g, node.spec) for node, g in given.items()}
    elif at_once and not keeps:
        given = {node: g.detach() for node, g in given.items()}
    return [given.get(node) for node in wrt]


def gradients_in_graph(builder: Any, ys: list[Any], wrt: list[Any], gys: list[Any], create_graph: bool) -> list[Any]:
    """gradients() while a graph is built: adds nodes to that graph, or to the outer graph that contains the ys."""
    builder = builder_around(builder, ys)
    symbols = {c.what.node: c.symbol for c in builder.captured.values() if c.what.node is not None}
    like = builder.lift(ys[0])
    xs = [None if node is None else symbols[node] if node in symbols else like.at_node(node) for node in wrt]
    found = iter(builder.gradients(ys, [x for x in xs if x is not None], gys))
    gxs = [None if x is None else next(found) for x in xs]
    gxs = [gx if gx is None or node.hooks is None else node.hooks(gx) for node, gx in zip(wrt, gxs)]
    return [gx if gx is None or create_graph else gx.detach() for gx in gxs]


def builder_around(builder: Any, ys: list[Any]) -> Any:
    """The innermost builder, from `builder` outwards, that one of the ys belongs to; `builder` if there is none."""
    around = builder
    while around is not None and not any(isinstance(y, Tracer) and y.builder is around for y in ys):
        around = around.outer
    return builder if around is None else around


def as_list(tensors: Tensor | Sequence[Tensor]) -> list[Tensor]:
    """One tensor or several, as a list."""
    return [tensors] if isinstance(tensors, Operand) else list(tensors)


def gradients_of(ys: list[Tensor], gradients: Any) -> list[Any]:
    """The gradients as a list, one for each output. The gradient of a single output need not be in a list."""
    if gradients is None:
        return [None] * len(ys)
    one_each = isinstance(gradients, tuple | list) and all(isinstance(g, Operand | NoneType) for g in gradients)
    given = list(gradients) if one_each or len(ys) > 1 else [gradients]
    if len(given) != len(ys):
        raise NoGradientError(f"{len(ys)} outputs need {len(ys)} gradients, and got {len(given)}")
    return given


def record_gradients() -> Any:
    """A block in which gradients are recorded, whatever the outer mode."""
    return modes.in_mode(recording=True, tracked=False)


def fresh(x: Tensor) -> Tensor:
    """An alias of x that requires a gradient and has its own node. In forward mode, it has the tangent of x."""
    y: Tensor = x.apply(ops.Alias())
    if not y.tracked:
        y = y.detach().requires_grad_()
        for watcher in modes.current.mode.watchers:
            watcher.on_forward(ops.Alias(), y, (x,))
    return y


def pull_stacked(pull: Callable[..., Sequence[Any]], gys: Sequence[Any]) -> list[Any]:
    """Call pull for each index along the first axis of the gys, and stack its results; None where it returns None."""
    missing: list[bool] = []

    def pullback(*row: Any) -> list[Any]:
        gxs = pull(*row)
        missing[:] = [gx is None for gx in gxs]
        return [gx for gx in gxs if gx is not None]

    try:
        found = vmap(pullback, tuple(None if gy is None else 0 for gy in gys))(*gys)
    except (GraphError, NoValueError):  # a rule needs a value or a loop's length, so vmap fails: one pass per index
        n = next(len(gy) for gy in gys if gy is not None)
        rows = [pullback(*(gy if gy is None else gy[i] for gy in gys)) for i in range(n)]
        found = [gs[0].apply(ops.Stack(0), *gs[1:]) for gs in zip(*rows)]
    given = iter(found)
    return [None if none else next(given) for none in missing]


def basis(y: Tensor) -> Tensor:
    """The unit vectors of y's space, each in the shape of y, stacked."""
    if is_unknown(y.spec.size):
        raise GraphError(f"a Jacobian has a row for each element of {y.spec}, whose number must be known")
    shape = (y.spec.size, *y.spec.shape)
    return wrap_array(y.spec.device.xp.eye(y.spec.size, dtype=y.dtype).reshape(shape), y.spec.with_shape(shape))


def jacobian(y: Tensor, xs: Sequence[Tensor], pull: Callable[[Any], Sequence[Any]]) -> list[Any]:
    """∂y/∂x, of shape (*y.shape, *x.shape), for each x: `pull` of each unit vector of y; None where it returns None."""
    rows = pull_stacked(pull, [basis(y)])
    return [None if row is None else row.reshape(y.shape + x.shape) for row, x in zip(rows, xs)]


def ones_like(x: Tensor) -> Tensor:
    """Ones in the shape of x: the gradient of x.sum()."""
    ones: Tensor = x.new_ones(x.shape)
    return ones


def zeros_like(x: Tensor) -> Tensor:
    """Zeros in the shape of x."""
    zeros: Tensor = x.new_zeros(x.shape)
    return zeros
