"""Derivatives of a function at a point, with PyTorch's older spelling: `torch.autograd.functional`.

`inputs` is a tensor or a tuple of them, and results have the same structure. With create_graph the results
can be differentiated again; without, they have no history. `strict` raises where an output does not depend
on an input, in place of zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import modes, ops
from ..errors import NoGradientError, ShapeError
from ..tensor import Tensor, made
from .forward_ad import Tangents, still
from .gradient import gradients, zeros_like

Function = Callable[..., Any]


def vjp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """func(*inputs), and vᵀ J: the gradient when v arrives at the outputs; 1 for an output of one element."""
    xs, ys, y = called(func, inputs, create_graph)
    gxs = answer(xs, ys, tupled(v) or [None] * len(ys), create_graph, strict)
    return let_go(y, create_graph), alike(inputs, gxs)


def jvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """func(*inputs), and J v: how the outputs move when the inputs move by v. By forward mode, in one pass."""
    xs, dxs = tupled(inputs), tupled(v) or [made(x.spec.device.xp.ones(x.shape, x.dtype), x.spec) for x in tupled(inputs)]
    fresh = [x.apply(ops.Alias()) for x in xs]
    with modes.in_mode(recording=create_graph), modes.watching(Tangents()) as level:
        for x, dx in zip(fresh, dxs, strict=True):
            if x.shape != dx.shape:
                raise ShapeError(f"v has the shape of its input, and got {dx.spec} for {x.spec}")
            level.set(x, dx)
        y = func(*fresh)
    moved = [level.get(each) for each in tupled(y)]
    refuse_independent(moved, strict)
    return y, alike(y, [still(each) if m is None else m for each, m in zip(tupled(y), moved)])


def jacobian(func: Function, inputs: Any, create_graph: bool = False, strict: bool = False) -> Any:
    """∂output/∂input, of shape (*output.shape, *input.shape), for each pair: one backward pass for each output element."""
    xs, ys, y = called(func, inputs, create_graph)
    return alike(y, [alike(inputs, jacobian_rows(xs, each, create_graph, strict)) for each in ys])


def hessian(func: Function, inputs: Any, create_graph: bool = False, strict: bool = False) -> Any:
    """The second derivatives of a function that gives one number, for each pair of inputs."""

    def slope(*xs: Tensor) -> tuple[Tensor, ...]:
        with modes.enable_grad():
            return tuple(tupled(jacobian(func, xs, create_graph=True, strict=strict)))

    blocks = jacobian(slope, tuple(tupled(inputs)), create_graph=create_graph)
    return alike(inputs, [alike(inputs, row) for row in blocks]) if isinstance(inputs, tuple) else blocks[0][0]


def vhp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """func(*inputs), and vᵀ H: backward through backward."""
    xs, ys, y = called(func, inputs, create_graph)
    slope = answer(xs, ys, [None] * len(ys), True, strict)
    directions = tupled(v) or [None] * len(xs)
    products = answer(xs, [g for g in slope if g.tracked], [d for g, d in zip(slope, directions) if g.tracked], create_graph)
    return let_go(y, create_graph), alike(inputs, products)


def hvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """func(*inputs), and H v: the same as vhp, the Hessian being symmetric."""
    return vhp(func, inputs, v, create_graph, strict)


# -- what they share ------------------------------------------------------------------------------


def called(func: Function, inputs: Any, create_graph: bool) -> tuple[list[Tensor], list[Tensor], Any]:
    """Fresh inputs, the outputs as a list, and the outputs as func gave them."""
    with modes.enable_grad():
        given = tupled(inputs)
        xs = [x.apply(ops.Alias()) if create_graph and x.tracked else x.detach().requires_grad_() for x in given]
        y = func(*xs)
    for each in tupled(y):
        if not isinstance(each, Tensor):
            raise TypeError(f"the function gives tensors, one or a tuple of them, and it gave {each!r}")
    return xs, tupled(y), y


def answer(
    xs: list[Tensor], ys: list[Tensor], gys: list[Any], create_graph: bool, strict: bool = False, retain: bool = False
) -> list[Tensor]:
    """The gradient of the ys together at each x, zeros where there is none."""
    pairs = [(y, gy) for y, gy in zip(ys, gys, strict=True) if y.tracked]
    nodes = [x.node for x in xs]
    gxs: list[Any] = [None] * len(xs)
    if pairs:
        gxs = gradients([y for y, _ in pairs], nodes, [gy for _, gy in pairs], retain or create_graph, create_graph)
    refuse_independent(gxs, strict)
    return [zeros_like(x) if gx is None else gx for x, gx in zip(xs, gxs)]


def jacobian_rows(xs: list[Tensor], y: Tensor, create_graph: bool, strict: bool) -> list[Tensor]:
    """The Jacobians of y by each x, from one backward pass for each element of y."""
    rows: list[list[Tensor]] = []
    for i in range(y.size):
        unit = y.spec.device.xp.zeros(y.size, y.dtype)
        unit[i] = 1
        rows.append(answer(xs, [y], [unit.reshape(y.shape)], create_graph, strict, retain=True))
    columns = zip(*rows) if rows else [()] * len(xs)
    return [stacked(column, x).reshape(y.shape + x.shape) for column, x in zip(columns, xs)]


def stacked(rows: Any, x: Tensor) -> Tensor:
    """Rows of x's shape as one tensor."""
    if not rows:
        return made(x.spec.device.xp.zeros((0, *x.shape), x.dtype), x.spec.with_shape((0, *x.shape)))
    first, *others = rows
    return first.apply(ops.Stack(0), *others)  # type: ignore[no-any-return]


def refuse_independent(found: list[Any], strict: bool) -> None:
    """Raises NoGradientError where strict forbids an output that does not depend on an input."""
    if strict and any(g is None for g in found):
        where = [i for i, g in enumerate(found) if g is None]
        raise NoGradientError(f"strict=True, and the function does not depend on inputs {where}")


def tupled(x: Any) -> list[Any]:
    """One or several, as a list; nothing for None."""
    return [] if x is None else list(x) if isinstance(x, tuple | list) else [x]


def alike(like: Any, found: list[Any]) -> Any:
    """A tuple where `like` is one, else the one."""
    return tuple(found) if isinstance(like, tuple | list) else found[0]


def let_go(y: Any, create_graph: bool) -> Any:
    """The outputs, without their history unless it is wanted."""
    return y if create_graph else alike(y, [each.detach() for each in tupled(y)])
