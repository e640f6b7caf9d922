"""Derivatives of a function at a point, as in PyTorch's older module `torch.autograd.functional`.

`inputs` is a tensor or a tuple of them, and results have the same structure. With create_graph the results
can be differentiated again; without it they have no history. If an output does not depend on an input, the
result is zeros, or an error with `strict`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..engine import ops
from ..engine.base.errors import NoGradientError, ShapeError
from ..engine.core import modes
from ..engine.methods import Operand
from ..engine.tensor.tensor import Tensor
from .forward_ad import Tangents
from .gradient import fresh, gradients, ones_like, record_gradients, zeros_like
from .gradient import jacobian as jacobian_by

Function = Callable[..., Any]
Pair = tuple[Any, Any]


def vjp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Pair:
    """func(*inputs), and vᵀ J: the gradient if v arrives at the outputs. v is 1 by default for a single number."""
    xs, ys, y = record_call(func, inputs, create_graph)
    gxs = gradients_or_zeros(xs, ys, directions(v, ys, "output"), create_graph, strict)
    return drop_history(y, create_graph), alike(inputs, gxs)


def jvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Pair:
    """func(*inputs), and J v: how the outputs move when the inputs move by v. One pass of forward mode."""
    if modes.current.mode.builder is not None:
        return jvp_in_graph(func, inputs, v, strict)
    xs = [x.apply(ops.Alias()) if create_graph or modes.has_backward_watcher() else x.detach() for x in as_list(inputs)]
    dxs = directions(v, xs, "input")
    with modes.watching(Tangents()) as level:
        for x, dx in zip(xs, dxs):
            level.start(x, dx)
        y = func(*xs)
    refuse_independent([level.get(each) for each in results(y)], strict)
    dys = alike(y, [level.tangent(each) for each in as_list(y)])
    return drop_history(y, create_graph), drop_history(dys, create_graph)


def jvp_in_graph(func: Function, inputs: Any, v: Any, strict: bool) -> tuple[Any, Any]:
    """jvp() while a graph is built, by two backward passes."""
    xs, ys, y = record_call(func, inputs, True)
    duals = [fresh(zeros_like(each)) for each in ys]
    slopes = gradients_or_zeros(xs, ys, duals, True, strict)
    return y, alike(y, gradients_or_zeros(duals, slopes, directions(v, xs, "input"), True))


def jacobian(func: Function, inputs: Any, create_graph: bool = False, strict: bool = False) -> Any:
    """∂output/∂input, of shape (*output.shape, *input.shape), for each pair. One backward pass per output element."""
    xs, ys, y = record_call(func, inputs, create_graph)
    return alike(y, [alike(inputs, jacobian_rows(xs, each, create_graph, strict)) for each in ys])


def hessian(func: Function, inputs: Any, create_graph: bool = False, strict: bool = False) -> Any:
    """The second derivatives of a function that returns one number, for each pair of inputs."""

    def slope(*xs: Tensor) -> tuple[Tensor, ...]:
        with record_gradients():
            y = number(func(*xs), "hessian")
            return tuple(jacobian_rows(list(xs), y, create_graph=True, strict=strict))

    blocks = jacobian(slope, tuple(as_list(inputs)), create_graph=create_graph, strict=strict)
    return alike(inputs, [alike(inputs, row) for row in blocks])


def vhp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Pair:
    """func(*inputs), and vᵀ H: backward through backward."""
    xs, ys, y = record_call(func, inputs, create_graph)
    number(y, "vhp")
    slope = gradients_or_zeros(xs, ys, [None], True, strict)
    products = gradients_or_zeros(xs, slope, directions(v, xs, "input"), create_graph, strict)
    return drop_history(y, create_graph), alike(inputs, products)


def hvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Pair:
    """func(*inputs), and H v: the same as vhp, as the Hessian is symmetric."""
    return vhp(func, inputs, v, create_graph, strict)


# -- shared parts ---------------------------------------------------------------------------------


def record_call(func: Function, inputs: Any, create_graph: bool) -> tuple[list[Tensor], list[Tensor], Any]:
    """Call func on fresh inputs. Returns the inputs, the outputs as a list, and the outputs as func returned them."""
    with record_gradients():
        follows = modes.has_backward_watcher() or modes.current.mode.builder is not None
        xs = [
            fresh(x) if (create_graph and x.tracked) or follows else x.detach().requires_grad_()
            for x in as_list(inputs)
        ]
        y = func(*xs)
    return xs, results(y), y


def results(y: Any) -> list[Tensor]:
    """The results of a function as a list. Raises TypeError if one is not a tensor."""
    for each in as_list(y):
        if not isinstance(each, Operand):
            raise TypeError(f"the function must return a tensor or a tuple of tensors; it returned {each!r}")
    return as_list(y)


def number(y: Any, name: str) -> Any:
    """The result of a function as a tensor without axes. Raises NoGradientError unless it is one number."""
    if not isinstance(y, Operand) or y.size != 1:
        raise NoGradientError(f"{name} needs a function that returns one number; this one returned {y!r}")
    return y.reshape(())


def gradients_or_zeros(
    xs: list[Tensor], ys: list[Tensor], gys: list[Any], create_graph: bool, strict: bool = False, retain: bool = False
) -> list[Tensor]:
    """Σ ⟨gy, ∂y/∂x⟩ over the ys, for each x; zeros if there is no gradient."""
    gxs = gradients(ys, [x.node for x in xs], gys, retain or create_graph, create_graph)
    refuse_independent(gxs, strict)
    return [zeros_like(x) if gx is None else gx for x, gx in zip(xs, gxs)]


def jacobian_rows(xs: list[Tensor], y: Tensor, create_graph: bool, strict: bool) -> list[Any]:
    """The Jacobian of y by each x, from one backward pass for each element of y."""
    return jacobian_by(y, xs, lambda unit: gradients_or_zeros(xs, [y], [unit], create_graph, strict, retain=True))


def directions(v: Any, beside: list[Tensor], kind: str) -> list[Any]:
    """v as a list, with a direction for each tensor of `beside`. None means 1 if `beside` is a single number."""
    if v is None and len(beside) == beside[0].size == 1:
        return [ones_like(beside[0])]
    given = [] if v is None else as_list(v)
    if len(given) != len(beside):
        raise ShapeError(
            f"v needs one tensor for each {kind}, {' and '.join(str(x.spec) for x in beside)}; it has {len(given)}. "
            f"v may be left out only if there is one {kind}, a single number"
        )
    return given


def refuse_independent(found: list[Any], strict: bool) -> None:
    """Raises NoGradientError if strict is set and an output does not depend on an input."""
    if strict and any(g is None for g in found):
        where = [i for i, g in enumerate(found) if g is None]
        raise NoGradientError(f"strict=True, and the function does not depend on inputs {where}")


def as_list(x: Any) -> list[Any]:
    """A value, or the items of a tuple or list, as a list."""
    return list(x) if isinstance(x, tuple | list) else [x]


def alike(like: Any, found: list[Any]) -> Any:
    """The results as a tuple if `like` is a tuple or list, else the single result."""
    return tuple(found) if isinstance(like, tuple | list) else found[0]


def drop_history(y: Any, create_graph: bool) -> Any:
    """The outputs, detached unless create_graph is set or forward mode is active."""
    return y if create_graph or modes.has_backward_watcher() else alike(y, [each.detach() for each in as_list(y)])
