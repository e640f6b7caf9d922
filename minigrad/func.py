"""Functions to functions: what a derivative is before there are graphs, tapes or `.grad`.

    grad(f)(x)              ∇f(x), for an f that gives a number
    vjp(f, x)               f(x), and the map gy → Jᵀ gy: one backward pass for each gy
    jvp(f, (x,), (dx,))     f(x), and J dx: one forward pass, nothing kept
    jacrev, jacfwd          J itself, a row or a column at a time
    hessian                 jacfwd(jacrev(f)): forward over reverse
    linearize(f, x)         f(x), and the map dx → J dx: f runs once, for however many dx

They nest: `grad(grad(f))` is the second derivative. Arguments and results may be nested tuples, lists and
dictionaries of tensors. Names and meaning are JAX's, which are torch.func's too.

What a transform differentiates is a fresh alias of its argument. So `grad(lambda y: x * y)(x)` is x, and not
2x: the x that the function closes over is another, and stands still. (Siskind & Pearlmutter 2005,
“Perturbation confusion and referential transparency”.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from . import modes, ops
from .autograd.forward_ad import Tangents, still
from .autograd.gradient import gradients, zeros_like
from .differentiable import origin
from .errors import NoGradientError, ShapeError
from .functions.face import operand
from .functions.movement import stack
from .node import Source, history
from .tensor import Tensor, made
from .tree import leaves, planted

Function = Callable[..., Any]


def grad(f: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Function:
    """∇f: the gradient of a number f(…) by the arguments of those positions.

    has_aux    f gives (number, anything), and ∇f gives (gradient, anything)
    """

    @wraps(f)
    def gradient(*args: Any, **options: Any) -> Any:
        value, g = value_and_grad(f, argnums, has_aux)(*args, **options)
        return (g, value[1]) if has_aux else g

    return gradient


def value_and_grad(f: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Function:
    """f and ∇f together, from one forward and one backward pass: (f(…), gradient)."""

    @wraps(f)
    def both(*args: Any, **options: Any) -> Any:
        chosen = [argnums] if isinstance(argnums, int) else list(argnums)
        level = Level([args[i] for i in chosen])
        value = level.run(f, with_arguments(args, chosen, level.trees), options)
        y = value[0] if has_aux else value
        if not isinstance(y, Tensor) or y.size != 1:
            raise NoGradientError(f"grad() is of functions that give one number, and this one gave {y!r}: see jacrev()")
        gs = level.pulled([y], [None])
        result = (level.let_go(y), value[1]) if has_aux else level.let_go(y)
        return result, gs[0] if isinstance(argnums, int) else tuple(gs)

    return both


def vjp(f: Function, *primals: Any, has_aux: bool = False) -> Any:
    """f(*primals), and the function gy → Jᵀ gy, a tuple with one entry for each primal; and what else f gave."""
    level = Level(primals)
    value = level.run(f, level.trees, {})
    y, aux = value if has_aux else (value, None)
    ys = leaves(y)

    def pull(gy: Any) -> tuple[Any, ...]:
        return tuple(level.pulled(ys, leaves(gy), retain=True))

    outputs = planted(y, iter([level.let_go(each) for each in ys]))
    return (outputs, pull, aux) if has_aux else (outputs, pull)


def jvp(f: Function, primals: tuple[Any, ...], tangents: tuple[Any, ...], has_aux: bool = False) -> Any:
    """f(*primals), and J dx: how it moves when each primal moves by its tangent; and what else f gave."""
    xs, dxs = [operand(x) for x in leaves(primals)], [operand(dx) for dx in leaves(tangents)]
    for x, dx in zip(xs, dxs, strict=True):
        if x.shape != dx.shape:
            raise ShapeError(f"a tangent has its primal's shape, and got {dx.spec} for {x.spec}")
    fresh = [x.apply(ops.Alias()) for x in xs]
    with modes.watching(Tangents()) as tangents_of:
        for x, dx in zip(fresh, dxs):
            tangents_of.set(x, dx.astype(x.dtype))
        value = f(*planted(primals, iter(fresh)))
    y, aux = value if has_aux else (value, None)
    moved = [tangents_of.get(each) for each in leaves(y)]
    dy = planted(y, iter([still(each) if m is None else m for each, m in zip(leaves(y), moved)]))
    return (y, dy, aux) if has_aux else (y, dy)


def linearize(f: Function, *primals: Any) -> tuple[Any, Function]:
    """f(*primals), and dx → J dx: f runs once, and each dx costs one pass over what was recorded.

    Backward twice is forward: gy → Jᵀ gy is linear, so the gradient of ⟨Jᵀ gy, dx⟩ by gy is J dx.
    """
    y, pull = vjp(f, *primals)
    with modes.enable_grad():
        gy = [zeros_like(each).requires_grad_() for each in leaves(y)]
        gxs = leaves(pull(planted(y, iter(gy))))

    def push(*dxs: Any) -> Any:
        moved = gradients(gxs, [g.node for g in gy], [operand(dx) for dx in leaves(dxs)], retain_graph=True)
        return planted(y, iter([zeros_like(g) if m is None else m for g, m in zip(gy, moved)]))

    return y, push


def jacrev(f: Function, argnums: int = 0) -> Function:
    """The Jacobian by reverse mode, of shape (*f(…).shape, *argument.shape): one backward pass for each output."""

    @wraps(f)
    def jacobian(*args: Any) -> Any:
        level = Level([args[argnums]])
        y = level.run(f, with_arguments(args, [argnums], level.trees), {})
        (x,) = level.xs
        rows = [level.pulled([y], [seed], retain=True)[0] for seed in basis(y)]
        return rows_of(rows, y.shape, x)

    return jacobian


def jacfwd(f: Function, argnums: int = 0) -> Function:
    """The Jacobian by forward mode, of shape (*f(…).shape, *argument.shape): one forward pass for each input."""

    @wraps(f)
    def jacobian(*args: Any) -> Any:
        x = operand(args[argnums])

        def alone(x: Any) -> Any:
            return f(*args[:argnums], x, *args[argnums + 1 :])

        columns = [jvp(alone, (x,), (seed,))[1] for seed in basis(x)]
        if not columns:
            return zeros_like(x).reshape(f(*args).shape + x.shape)
        return stack(columns, -1).reshape(columns[0].shape + x.shape)

    return jacobian


def hessian(f: Function, argnums: int = 0) -> Function:
    """The second derivatives of a number f(…), of shape (*argument.shape, *argument.shape): forward over reverse."""
    return jacfwd(jacrev(f, argnums), argnums)


def vmap(f: Function, in_dims: Any = 0, out_dims: int = 0) -> Function:
    """f over an axis of its arguments, its results stacked along `out_dims`.

    in_dims    the axis, for all arguments or for each; None for one that is the same every time

    The slices are taken one after the other: the meaning of JAX's vmap, without its speed.
    """

    @wraps(f)
    def mapped(*args: Any) -> Any:
        axes = [in_dims] * len(args) if isinstance(in_dims, int) or in_dims is None else list(in_dims)
        xs = [operand(x) if axis is not None else x for x, axis in zip(args, axes, strict=True)]
        lengths = {x.shape[axis] for x, axis in zip(xs, axes) if axis is not None}
        if len(lengths) != 1:
            raise ShapeError(f"vmap goes over axes of one length, and got lengths {sorted(lengths)}")
        results = [
            f(*(x if axis is None else x.select(axis, i) for x, axis in zip(xs, axes))) for i in range(lengths.pop())
        ]
        columns = zip(*map(leaves, results))
        return planted(results[0], iter([stack(list(column), out_dims) for column in columns]))

    return mapped


class Level:
    """One derivative being taken: fresh aliases of its arguments, and the graph from there."""

    def __init__(self, args: Sequence[Any]):
        self.keeps = modes.current.mode.recording  # then gradients can be differentiated from outside
        self.shape = tuple(args)
        with modes.enable_grad():
            self.xs = [fresh(x) for x in leaves(self.shape)]
        self.trees = planted(self.shape, iter(self.xs))

    def run(self, f: Function, args: Sequence[Any], options: dict[str, Any]) -> Any:
        """f's result, recorded, also within no_grad."""
        with modes.enable_grad():
            return f(*args, **options)

    def pulled(self, ys: list[Tensor], gys: list[Any], retain: bool = False) -> list[Any]:
        """The gradients by the arguments, in their structure; zeros where there are none."""
        wrt = [x.node for x in self.xs]
        pairs = [(y, gy) for y, gy in zip(ys, gys, strict=True) if y.tracked]
        reached = [y for y, _ in pairs]
        gxs = gradients(reached, wrt, [gy for _, gy in pairs], retain or self.keeps, self.keeps) if pairs else [None] * len(wrt)
        given = [zeros_like(x) if gx is None else self.let_go(gx) for x, gx in zip(self.xs, gxs)]
        return list(planted(self.shape, iter(given)))

    def let_go(self, y: Tensor) -> Tensor:
        """y; without its history, if nothing there is of interest outside this level."""
        if not y.tracked or modes.followed():
            return y
        mine = {x.node for x in self.xs}
        outside = (x for node in history(origin(y)) for x in node.inputs if isinstance(x, Source))
        return y if self.keeps and any(x.needs_grad and x not in mine for x in outside) else y.detach()


def fresh(x: Any) -> Tensor:
    """x at a place of its own, and asked for a gradient."""
    x = operand(x)
    y: Tensor = x.apply(ops.Alias())
    if not y.tracked:
        y = y.detach().requires_grad_()
        for watcher in modes.current.mode.watchers:
            watcher.saw(ops.Alias(), y, (x,))
    return y


def with_arguments(args: tuple[Any, ...], positions: list[int], new: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments, those at some positions replaced."""
    replaced = dict(zip(positions, new))
    return tuple(replaced.get(i, x) for i, x in enumerate(args))


def basis(y: Tensor) -> list[Tensor]:
    """The unit vectors of y's space, in y's shape."""
    units = []
    for i in range(y.size):
        unit = y.spec.device.xp.zeros(y.size, y.dtype)
        unit[i] = 1
        units.append(made(unit.reshape(y.shape), y.spec))
    return units


def rows_of(rows: list[Any], shape: tuple[int, ...], x: Tensor) -> Any:
    """The rows of a Jacobian as one tensor."""
    return stack(rows, 0).reshape(shape + x.shape) if rows else zeros_like(x).reshape(shape + x.shape)
