"""vmap: a function of one slice, run once for all of them.

The function is called once, on symbols of one slice, and leaves a graph. Then each op of that graph is applied once, to
all slices side by side: how, says `batched` (batched.py). What no slice goes into is computed once. A
gradient that is taken inside is more nodes of the graph of one slice, and needs no rules here. Nor do derivatives from
outside, and vmap of vmap: ops are applied as ever, recorded, or written down in a graph around.

An op that says nothing of batches runs once for each slice, with a warning. Names and meaning are torch.func's.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any

from ..engine.base.dimension import needed
from ..engine.base.errors import EditedError, GraphError, NoGradientError, ShapeError
from ..engine.base.pytree import leaves, planted, spread
from ..engine.base.spec import Specs
from ..engine.core import modes
from ..engine.core.interpret import value, walked
from ..engine.core.node import Node, Source, history
from ..engine.core.op import Op
from ..engine.ops import Concatenate, ControlDep, Move, NextKey, SplitKey, Stack
from ..engine.ops.random import Random
from ..engine.tensor.lift import operand
from ..engine.tensor.tensor import Tensor, made
from .batched import batched
from .builder import GraphBuilder, Tracer


def vmap(
    f: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """f over an axis of its arguments, its results side by side. f is called once, for all slices.

    in_dims       the axis, for all arguments, for each, or for parts of one; None for what is the same every time
    out_dims      the axis along which results lie, likewise; None for what is the same for all slices
    randomness    what a function that draws random numbers does: 'error', the 'same' for all slices, 'different' ones
    chunk_size    how many slices are taken together at most; all, if it is not said
    """
    if randomness not in ("error", "same", "different"):
        raise ValueError(f"randomness is 'error', 'same' or 'different', and got {randomness!r}")

    @wraps(f)
    def mapped(*args: Any, **options: Any) -> Any:
        axes = [in_dims] * len(args) if isinstance(in_dims, int) or in_dims is None else in_dims
        if len(axes) != len(args):
            raise ShapeError(f"vmap needs an axis, or None, for each of {len(args)} arguments: in_dims={in_dims}")
        dims = spread(args, tuple(axes))
        xs = [x if axis is None else in_front(operand(x), axis) for x, axis in zip(leaves(args), dims)]
        lengths = {x.spec.shape[0] for x, axis in zip(xs, dims) if axis is not None}
        if len(lengths) != 1:
            raise ShapeError(f"vmap goes over axes of one length, and got lengths {[*lengths]}")
        trees = []
        for part in chunks(lengths.pop(), chunk_size):
            some = [x if axis is None or part is None else x[part] for x, axis in zip(xs, dims)]
            trees.append(Slices(randomness).run(f, args, some, dims, out_dims, options))
        return planted(trees[0], map(laid, zip(*map(leaves, trees)), spread(trees[0], out_dims)))

    return mapped


def in_front(x: Any, axis: int) -> Any:
    """x with that axis before the others."""
    axis = x.axis(axis)
    return x.movedim(axis, 0) if axis else x


def chunks(n: Any, size: int | None) -> list[slice | None]:
    """Which slices are taken together: None for all."""
    if size is None:
        return [None]
    needed("vmap(chunk_size=…), to tell how many chunks there are,", n)
    return [slice(start, start + size) for start in range(0, n, size)] or [None]


def laid(parts: Sequence[Any], axis: int | None) -> Any:
    """A result in parts, each of some slices side by side, along that axis; or what is the same for all."""
    if axis is None:
        return parts[0]
    y = parts[0].apply(Concatenate(0), *parts[1:]) if len(parts) > 1 else parts[0]
    return y.movedim(0, axis) if axis else y


class Slices(GraphBuilder):
    """The graph of one slice, and how it is run for all.

    randomness    see vmap
    n             how many slices there are
    """

    way_out = (
        "vmap runs the function once for all slices, so that one slice has no value here, nor has what is computed "
        "beside it. Choose with where(), compute what all slices share outside, or loop over the slices in Python"
    )
    n: Any

    def __init__(self, randomness: str):
        super().__init__(modes.current.mode.builder)
        self.randomness = randomness

    # Where no graph is built around it, it is run once, and at once.
    once = property(lambda self: self.outer is not None and self.outer.once)

    def run(
        self, f: Callable[..., Any], args: Any, xs: Sequence[Any], dims: Sequence[Any], out_dims: Any, options: Any
    ) -> Any:
        """What f gives, of all slices, in the structure of what it gives for one."""
        moved = [x for x, axis in zip(xs, dims) if axis is not None]
        self.n = moved[0].spec.shape[0]
        slices = [self.argument("slice", x.spec.with_shape(x.spec.shape[1:])) for x in moved]
        with modes.in_mode(builder=self, recording=True):
            symbols = iter(slices)
            given = planted(args, iter([x if axis is None else next(symbols) for x, axis in zip(xs, dims)]))
            result = self.call(f, *given, **options)
            ys = self.after_effects([self.lift(y) for y in leaves(result)])
        self.refuse_edits(slices)
        graph = self.finished(ys)
        pairs = [*((x, True) for x in moved), *((c.what, False) for c in self.captured.values())]
        with modes.in_mode(autocast=None):  # its casts are written down
            results = walked(graph, pairs, self.value)
        return planted(result, map(self.given, results, spread(result, out_dims)))

    def given(self, pair: tuple[Any, bool], axis: int | None) -> Any:
        """A result side by side. Raises ShapeError where slices differ, and shall lie along no axis."""
        y, is_mapped = pair
        if is_mapped and axis is None:
            raise ShapeError("out_dims=None is for what is the same for all slices, and here each has its own")
        return let_go(y) if is_mapped or axis is None else y.broadcast_to((self.n, *y.spec.shape))

    def value(self, node: Node, xs: Sequence[tuple[Any, bool]]) -> tuple[Any, bool]:
        """A node's result, and whether it has one for each slice; of its operands' likewise."""
        op = node.op
        if not xs:
            return constant(node), False
        if isinstance(op, ControlDep):  # what it waits for is done
            return xs[0]
        if isinstance(node.spec, Specs):
            raise GraphError(f"vmap does not take {op}, which has several results: let it give one, as by mg.stack(…)")
        (first, *others), mapped = zip(*xs)
        if self.randomness == "different" and not isinstance(op, Move) and is_next_key(node.inputs[0]):
            if isinstance(op, Random):
                return first.apply(replace(op, shape=(self.n, *op.shape))), True
            first, mapped = first.apply(SplitKey(self.n)), (True, *mapped[1:])
        if not any(mapped):
            return first.apply(op, *others), False
        y = batched(op, self.n, mapped, first, *others)
        return self.one_by_one(node, mapped, [first, *others]) if y is None else y, True

    def one_by_one(self, node: Node, mapped: Sequence[bool], xs: Sequence[Any]) -> Any:
        """The results of an op that does not say how it takes many: of one slice after the other."""
        needed(f"vmap of {node.op}, to take one slice after the other,", self.n)
        if not self.n:
            raise ShapeError(f"vmap takes {node.op} one slice after the other, and there is none")
        file, line, *_ = getattr(node, "place", None) or ("vmap", 1)
        said = f"vmap: {node.op.label} does not say how it takes all slices together, and runs {self.n} times"
        warnings.warn_explicit(said, UserWarning, file, line)
        rows = []
        for i in range(self.n):
            first, *others = (x[i] if each else x for each, x in zip(mapped, xs))
            rows.append(first.apply(node.op, *others))
        return rows[0].apply(Stack(0), *rows[1:])

    # -- what a function of one slice may not do ----------------------------------------------------

    def refuse_edits(self, slices: Sequence[Tracer]) -> None:
        """Raises EditedError where the function edited what it was given, or reached."""
        edited = [x for x, node in zip(slices, self.inputs) if x.node is not node]
        edited += [c.what for c in self.edited.values()]
        if edited:
            raise EditedError(
                f"a function under vmap edited {edited[0].spec} in place, which is not its own: an argument, or a "
                "tensor from outside. Write x = x + 1, or edit x.clone(), and return what it becomes"
            )

    def effect(self, op: Op, *xs: Any) -> Tracer:
        if isinstance(op, NextKey) and self.randomness == "error":
            raise GraphError(
                "a function under vmap draws random numbers: say vmap(…, randomness='different') for other numbers in "
                "each slice, 'same' for the same in all; or draw with keys, as mg.random.normal(key, shape) does"
            )
        return super().effect(op, *xs)

    def pulling(self) -> None:
        raise NoGradientError(
            "backward() adds to .grad, which is one for all slices, and is refused under vmap. Take mg.func.grad(f), "
            "or mg.autograd.grad(y, x): each slice has its own"
        )

    def set_grad(self, x: Any, grad: Any) -> None:
        self.pulling()


def let_go(y: Any, mine: Collection[Node] = (), keeps: bool = True) -> Any:
    """y; without its history, if no leaf there but mine wants a gradient. Who follows a history has it kept."""
    if not isinstance(y, Tensor) or y.node is None or not y.tracked or modes.followed():
        return y
    sources = [y.node, *(x for node in history(y.node) for x in node.inputs)]
    wanted = keeps and any(isinstance(x, Source) and x.needs_grad and x not in mine for x in sources)
    return y if wanted else y.detach()


def is_next_key(node: Node) -> bool:
    """Whether it is a key that was taken from a sequence, wherever it is now."""
    while isinstance(node.op, Move):
        (node,) = node.inputs
    return isinstance(node.op, NextKey)


def constant(node: Node) -> Any:
    """A constant of one slice, as an operand where all are computed."""
    outer = modes.current.mode.builder
    return made(value(node), node.spec) if outer is None else Tracer(outer.node(node.op, (), node.spec), outer)
