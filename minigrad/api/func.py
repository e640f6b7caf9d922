"""Function transforms: each takes a function and returns its derivative, without graphs, tapes or `.grad`.

    grad(f)(x)              ∇f(x), for an f that returns a number
    vjp(f, x)               f(x), and the map gy → Jᵀ gy: one backward pass for each gy
    jvp(f, (x,), (dx,))     f(x), and J dx: one forward pass, nothing saved
    jacrev, jacfwd          J itself, by rows or by columns
    hessian                 jacfwd(jacrev(f)): forward over reverse
    linearize(f, x)         f(x), and the map dx → J dx: f runs once, for any number of dx
    vmap(f)                 f over an axis of its arguments, called once for all slices
    functional_call         a module as a function of its parameters

Transforms nest: `grad(grad(f))` is the second derivative. Arguments and results may be nested tuples, lists and
dictionaries of tensors. Names and semantics are those of JAX and torch.func.

A transform differentiates by a new alias of each argument. So `grad(lambda y: x * y)(x)` is x and not 2x: the x in the
closure is another tensor, and constant. (Siskind & Pearlmutter 2005, “Perturbation confusion and referential
transparency”.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ..autograd.forward_ad import Tangents
from ..autograd.gradient import basis, fresh, gradients, pull_stacked, record_gradients, zeros_like
from ..autograd.gradient import jacobian as blocks_of
from ..engine.base.errors import NoGradientError, ShapeError, StateError
from ..engine.base.pytree import leaves, leaves_beside, unflatten_like
from ..engine.base.pytree import tree_map as tree_map
from ..engine.core import modes
from ..engine.core.node import Source
from ..engine.methods import Operand
from ..engine.ops import Alias
from ..engine.tensor.lift import operand
from ..tracing.vmap import drop_history
from ..tracing.vmap import vmap as vmap


def functional_call(module: Any, parameters_and_buffers: dict[str, Any], args: Any = (), kwargs: Any = None) -> Any:
    """Call module(*args), with some of the module's tensors replaced during the call.

    parameters_and_buffers    dotted name → the replacement; a shared parameter is replaced under all its names
    """
    before = {name: module.get_parameter(name) for name in parameters_and_buffers}
    others = {id(x): parameters_and_buffers[name] for name, x in before.items()}
    held = [(vars(part), name, x) for part in module.modules() for name, x in vars(part).items() if id(x) in others]
    found = {id(x) for _, _, x in held}
    if computed := [name for name, x in before.items() if id(x) not in found]:
        raise StateError(
            f"functional_call cannot replace {computed}, which the module computes, like weight_orig * weight_mask"
        )
    try:
        for attributes, name, x in held:
            attributes[name] = others[id(x)]
        return module(*(args if isinstance(args, tuple) else (args,)), **({} if kwargs is None else kwargs))
    finally:
        for attributes, name, x in held:
            attributes[name] = x


Function = Callable[..., Any]
Argnums = int | Sequence[int]


def grad(f: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """The function ∇f: the gradient of f, which returns one number, by the arguments at the positions argnums.

    has_aux    f returns (number, aux), and ∇f returns (gradient, aux)
    """

    @wraps(f)
    def gradient(*args: Any, **options: Any) -> Any:
        value, g = value_and_grad(f, argnums, has_aux)(*args, **options)
        return (g, value[1]) if has_aux else g

    return gradient


def value_and_grad(f: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """A function that returns (f(…), gradient), from one forward and one backward pass. Arguments are those of grad."""

    @wraps(f)
    def both(*args: Any, **options: Any) -> Any:
        chosen = positions(argnums, args)
        level = Level([args[i] for i in chosen])
        y, aux = level.run(f, with_arguments(args, chosen, level.trees), options, has_aux)
        if not isinstance(y, Operand) or y.size != 1:
            raise NoGradientError(
                f"grad() needs a function that returns a tensor of one number, and this one returned {y!r}: "
                + ("see jacrev()" if isinstance(y, Operand) else "item(), float() and numpy() leave the graph")
            )
        gs = level.pull_gradients([y], [None])
        value = level.let_go(y)
        level.close()
        return (value, aux) if has_aux else value, gs[0] if isinstance(argnums, int) else tuple(gs)

    return both


def grad_and_value(f: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Function:
    """As value_and_grad, in PyTorch's order: the new function returns (gradient, f(…))."""

    @wraps(f)
    def both(*args: Any, **options: Any) -> Any:
        value, g = value_and_grad(f, argnums, has_aux)(*args, **options)
        return g, value

    return both


def vjp(f: Function, *primals: Any, has_aux: bool = False) -> Any:
    """f(*primals), and the function gy → Jᵀ gy, which returns a tuple, one entry per primal. has_aux adds f's aux."""
    level = Level(primals)
    y, aux = level.run(f, level.trees, {}, has_aux)
    ys = leaves(y)

    def pull(gy: Any) -> tuple[Any, ...]:
        return tuple(level.pull_gradients(ys, leaves_beside(y, gy), retain=True))

    outputs = unflatten_like(y, map(level.let_go, ys))
    level.close()
    return (outputs, pull, aux) if has_aux else (outputs, pull)


def jvp(f: Function, primals: tuple[Any, ...], tangents: tuple[Any, ...], has_aux: bool = False) -> Any:
    """f(*primals), and J dx, the directional derivative of f along the tangents dx. has_aux adds f's aux."""
    if modes.current.mode.builder is not None:
        y, push, *rest = linearize(f, *primals, has_aux=has_aux)  # two backward passes; unused nodes are removed later
        return y, push(*tangents), *rest
    with modes.in_mode(tracked=False):
        xs = [operand(x).apply(Alias()) for x in leaves(primals)]
        with modes.watching(Tangents()) as level:
            for x, dx in zip(xs, leaves_beside(primals, tangents)):
                level.start(x, dx)
            value = f(*unflatten_like(primals, iter(xs)))
    y, aux = value if has_aux else (value, None)
    moved = unflatten_like(y, map(level.tangent, leaves(y)))
    y, dy, aux = (unflatten_like(tree, map(drop_history, leaves(tree))) for tree in (y, moved, aux))
    return (y, dy, aux) if has_aux else (y, dy)


def linearize(f: Function, *primals: Any, has_aux: bool = False) -> Any:
    """f(*primals), and the function dx → J dx. f runs once; each dx costs a pass over the record. has_aux adds f's aux.

    Two backward passes replace the forward pass: gy → Jᵀ gy is linear, so the gradient of ⟨Jᵀ gy, dx⟩ by gy is J dx.
    """
    with record_gradients():
        level = Level(primals)
        y, aux = level.run(f, level.trees, {}, has_aux)
        ys = leaves(y)
        dual = Level([zeros_like(each) for each in ys])
        gxs = leaves(level.pull_gradients(ys, dual.xs, retain=True))
    level.close()
    dual.close()

    def push(*dxs: Any) -> Any:
        given = [operand(dx).astype(x.dtype) for x, dx in zip(level.xs, leaves_beside(primals, dxs))]
        dual.keeps = modes.current.mode.recording
        return unflatten_like(y, iter(dual.pull_gradients(gxs, given, retain=True)))

    outputs = unflatten_like(y, map(level.let_go, ys))
    return (outputs, push, aux) if has_aux else (outputs, push)


def jacrev(f: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """The Jacobian by reverse mode, of shape (*f(…).shape, *argument.shape): one backward pass for each output element.

    The result has the structure of the outputs; if there are several arguments, each of its leaves has their structure.
    """

    @wraps(f)
    def jacobian(*args: Any, **options: Any) -> Any:
        chosen = positions(argnums, args)
        level = Level([args[i] for i in chosen])
        y, aux = level.run(f, with_arguments(args, chosen, level.trees), options, has_aux)

        def by_arguments(each: Any) -> Any:
            blocks = blocks_of(each, level.xs, lambda unit: leaves(level.pull_gradients([each], [unit], retain=True)))
            found = unflatten_like(level.shape, map(level.let_go, blocks))
            return found[0] if isinstance(argnums, int) else found

        J = unflatten_like(y, map(by_arguments, leaves(y)))
        level.close()
        return (J, aux) if has_aux else J

    return jacobian


def jacfwd(f: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """The Jacobian by forward mode, column by column, with the shape and structure of jacrev's. f runs once."""

    @wraps(f)
    def jacobian(*args: Any, **options: Any) -> Any:
        chosen = positions(argnums, args)
        shape = tuple(args[i] for i in chosen)
        y, push, *aux = linearize(
            lambda *new: f(*with_arguments(args, chosen, new), **options), *shape, has_aux=has_aux
        )
        xs = [operand(x) for x in leaves(shape)]

        def columns(i: int) -> list[Any]:
            """∂y/∂xs[i] for each leaf of y: J dx for the unit vectors dx of xs[i], and 0 for the other arguments."""

            def pushforward(dx: Any) -> list[Any]:
                tangents = [dx if j == i else zeros_like(x) for j, x in enumerate(xs)]
                return leaves(push(*unflatten_like(shape, iter(tangents))))

            return [dy.movedim(0, -1) for dy in pull_stacked(pushforward, [basis(xs[i])])]

        slopes = [columns(i) for i in range(len(xs))]

        def by_arguments(k: int, each: Any) -> Any:
            parts = (drop_history(slope[k].reshape(each.shape + x.shape)) for slope, x in zip(slopes, xs))
            found = unflatten_like(shape, parts)
            return found[0] if isinstance(argnums, int) else found

        J = unflatten_like(y, (by_arguments(k, each) for k, each in enumerate(leaves(y))))
        return (J, *aux) if has_aux else J

    return jacobian


def hessian(f: Function, argnums: Argnums = 0) -> Function:
    """The second derivatives of an f that returns one number, of shape (*argument.shape, *argument.shape)."""
    return jacfwd(jacrev(f, argnums), argnums)


class Level:
    """The computation of one derivative: fresh aliases of the arguments, and the graph recorded from them."""

    def __init__(self, args: Sequence[Any]):
        self.keeps = modes.current.mode.recording  # whether gradients must stay differentiable from outside
        self.shape = tuple(args)
        with record_gradients():
            self.xs = [fresh(operand(x)) for x in leaves(self.shape)]
        self.trees = unflatten_like(self.shape, iter(self.xs))

    def run(self, f: Function, args: Sequence[Any], options: dict[str, Any], has_aux: bool = False) -> tuple[Any, Any]:
        """Call f and record its ops, even inside no_grad. Returns the result and the aux of f."""
        with record_gradients():
            value = f(*args, **options)
        y, aux = value if has_aux else (value, None)
        return y, unflatten_like(aux, map(self.let_go, leaves(aux)))

    def pull_gradients(self, ys: list[Any], gys: list[Any], retain: bool = False) -> list[Any]:
        """The gradients by the arguments, in the structure of the arguments; zeros for an argument without gradient."""
        gxs = gradients(ys, [x.node for x in self.xs], gys, retain or self.keeps, self.keeps)
        given = [zeros_like(x) if gx is None else self.let_go(gx) for x, gx in zip(self.xs, gxs)]
        return list(unflatten_like(self.shape, iter(given)))

    def let_go(self, y: Any) -> Any:
        """y, detached unless the caller may differentiate it, as when f reads other tensors that require a gradient."""
        return drop_history(y, [x.node for x in self.xs], self.keeps)

    def close(self) -> None:
        """Mark the aliases as no longer needing a gradient, since the derivative is complete."""
        for x in self.xs:
            if isinstance(x.node, Source):
                x.node.needs_grad = False


def positions(argnums: Argnums, args: tuple[Any, ...]) -> list[int]:
    """argnums as a list of non-negative positions. Raises ShapeError if there is no such positional argument."""
    chosen = [argnums] if isinstance(argnums, int) else list(argnums)
    if not all(-len(args) <= i < len(args) for i in chosen):
        raise ShapeError(f"argnums={argnums} names positional arguments, and there are only {len(args)}")
    return [i % len(args) for i in chosen]


def with_arguments(args: tuple[Any, ...], places: list[int], new: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments, with those at `places` replaced by those of `new`."""
    replaced = dict(zip(places, new))
    return tuple(replaced.get(i, x) for i, x in enumerate(args))
