"""vmap: run a function of one slice on all slices at once.

The function is traced once, on symbols of one slice. Then each op of that graph is applied once, to all slices stacked
along a first axis, by the rules in batching_rules.py. Values that do not depend on a slice are computed once. A
gradient taken inside the function is just more nodes of the graph of one slice, and needs no rules here. Nor do outer
derivatives or vmap of vmap, as the stacked ops are applied as usual: recorded, or added to an outer graph.

An op without a rule runs once for each slice, with a warning. Names and meaning are those of torch.func.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any

from ..engine.base.dimension import require_known
from ..engine.base.errors import EditedError, GraphError, NoGradientError, ShapeError
from ..engine.base.pytree import broadcast_prefix, leaves, unflatten_like
from ..engine.base.spec import Specs
from ..engine.core import modes
from ..engine.core.interpret import value, walk_graph
from ..engine.core.node import Node, Source, history
from ..engine.core.op import Op
from ..engine.ops import Concatenate, ControlDep, Move, NextKey, SplitKey, Stack
from ..engine.ops.random import Random
from ..engine.tensor.lift import operand
from ..engine.tensor.tensor import Tensor, wrap_array
from .batching_rules import batch_op
from .builder import GraphBuilder, Tracer


def vmap(
    f: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error",
    *, chunk_size: int | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """f mapped over an axis of its arguments, with stacked results. f is called once, for all slices.

    in_dims       the mapped axis: one for all arguments, or one for each argument or part of it; None if not mapped
    out_dims      the axis along which results are stacked, likewise; None for a result that is equal for all slices
    randomness    for a function that draws random numbers: 'error', the 'same' numbers in all slices, or 'different'
    chunk_size    the largest number of slices to run together; all by default
    """
    if randomness not in ("error", "same", "different"):
        raise ValueError(f"randomness is 'error', 'same' or 'different', and got {randomness!r}")

    @wraps(f)
    def map_slices(*args: Any, **options: Any) -> Any:
        axes = [in_dims] * len(args) if isinstance(in_dims, int) or in_dims is None else in_dims
        if len(axes) != len(args):
            raise ShapeError(f"vmap needs an axis, or None, for each of {len(args)} arguments: in_dims={in_dims}")
        dims = broadcast_prefix(args, tuple(axes))
        xs = [x if axis is None else in_front(operand(x), axis) for x, axis in zip(leaves(args), dims)]
        lengths = {x.spec.shape[0] for x, axis in zip(xs, dims) if axis is not None}
        if len(lengths) != 1:
            raise ShapeError(f"vmap goes over axes of one length, and got lengths {[*lengths]}")
        trees = []
        for part in chunks(lengths.pop(), chunk_size):
            some = [x if axis is None or part is None else x[part] for x, axis in zip(xs, dims)]
            trees.append(Slices(randomness).run(f, args, some, dims, out_dims, options))
        return unflatten_like(trees[0], map(join_parts, zip(*map(leaves, trees)), broadcast_prefix(trees[0], out_dims)))

    return map_slices


def in_front(x: Any, axis: int) -> Any:
    """x with this axis moved to the front."""
    axis = x.axis(axis)
    return x.movedim(axis, 0) if axis else x


def chunks(n: Any, size: int | None) -> list[slice | None]:
    """The ranges of slices that run together; [None] means all."""
    if size is None:
        return [None]
    require_known("vmap(chunk_size=…), to tell how many chunks there are,", n)
    return [slice(start, start + size) for start in range(0, n, size)] or [None]


def join_parts(parts: Sequence[Any], axis: int | None) -> Any:
    """Concatenate the chunks of a result along this axis. If axis is None, all chunks are equal: return the first."""
    if axis is None:
        return parts[0]
    y = parts[0].apply(Concatenate(0), *parts[1:]) if len(parts) > 1 else parts[0]
    return y.movedim(0, axis) if axis else y


class Slices(GraphBuilder):
    """The builder of the graph of one slice, which then runs the graph for all slices.

    randomness    see vmap
    n             the number of slices
    """

    way_out = (
        "vmap runs the function once for all slices, so a single slice has no value here, nor has anything computed "
        "from it. Choose with where(), compute what all slices share outside, or loop over the slices in Python"
    )
    n: Any

    def __init__(self, randomness: str):
        super().__init__(modes.current.mode.builder)
        self.randomness = randomness

    # Without an outer builder, the graph runs once, immediately.
    once = property(lambda self: self.outer is not None and self.outer.once)

    def run(
        self, f: Callable[..., Any], args: Any, xs: Sequence[Any], dims: Sequence[Any], out_dims: Any, options: Any
    ) -> Any:
        """The results of f for all slices, stacked, in the structure of its result for one slice."""
        moved = [x for x, axis in zip(xs, dims) if axis is not None]
        self.n = moved[0].spec.shape[0]
        slices = [self.argument("slice", x.spec.with_shape(x.spec.shape[1:])) for x in moved]
        with modes.in_mode(builder=self, recording=True):
            symbols = iter(slices)
            given = unflatten_like(args, iter([x if axis is None else next(symbols) for x, axis in zip(xs, dims)]))
            result = self.call(f, *given, **options)
            ys = self.after_effects([self.lift(y) for y in leaves(result)])
        self.refuse_edits(slices)
        graph = self.finish_graph(ys)
        pairs = [*((x, True) for x in moved), *((c.what, False) for c in self.captured.values())]
        with modes.in_mode(autocast=None):  # the graph has its casts already
            results = walk_graph(graph, pairs, self.value)
        return unflatten_like(result, map(self.place_result, results, broadcast_prefix(result, out_dims)))

    def place_result(self, pair: tuple[Any, bool], axis: int | None) -> Any:
        """A stacked result. Raises ShapeError if slices differ although out_dims is None."""
        y, is_mapped = pair
        if is_mapped and axis is None:
            raise ShapeError("out_dims=None is for a result that is the same for all slices, and these differ")
        return drop_history(y) if is_mapped or axis is None else y.broadcast_to((self.n, *y.spec.shape))

    def value(self, node: Node, xs: Sequence[tuple[Any, bool]]) -> tuple[Any, bool]:
        """(result of the node, whether it is stacked over slices), from the same pair for each operand."""
        op = node.op
        if not xs:
            return constant(node), False
        if isinstance(op, ControlDep):  # its dependencies have run
            return xs[0]
        if isinstance(node.spec, Specs):
            raise GraphError(f"vmap does not take {op}, which has several results: make it return one, by mg.stack(…)")
        (first, *others), mapped = zip(*xs)
        if self.randomness == "different" and not isinstance(op, Move) and is_next_key(node.inputs[0]):
            if isinstance(op, Random):
                return first.apply(replace(op, shape=(self.n, *op.shape))), True
            first, mapped = first.apply(SplitKey(self.n)), (True, *mapped[1:])
        if not any(mapped):
            return first.apply(op, *others), False
        y = batch_op(op, self.n, mapped, first, *others)
        return self.one_by_one(node, mapped, [first, *others]) if y is None else y, True

    def one_by_one(self, node: Node, mapped: Sequence[bool], xs: Sequence[Any]) -> Any:
        """Apply an op without a batching rule to one slice after the other, and stack the results."""
        require_known(f"vmap of {node.op}, to take one slice after the other,", self.n)
        if not self.n:
            raise ShapeError(f"vmap runs {node.op} slice by slice, and there are no slices")
        file, line, *_ = getattr(node, "place", None) or ("vmap", 1)
        said = f"vmap: {node.op.label} has no rule for all slices together, and runs {self.n} times"
        warnings.warn_explicit(said, UserWarning, file, line)
        rows = []
        for i in range(self.n):
            first, *others = (x[i] if each else x for each, x in zip(mapped, xs))
            rows.append(first.apply(node.op, *others))
        return rows[0].apply(Stack(0), *rows[1:])

    # -- what the function may not do ---------------------------------------------------------------

    def refuse_edits(self, slices: Sequence[Tracer]) -> None:
        """Raises EditedError if the function edited an argument, or a tensor from outside."""
        edited = [x for x, node in zip(slices, self.inputs) if x.node is not node]
        edited += [c.what for c in self.edited.values()]
        if edited:
            raise EditedError(
                f"a function under vmap edited {edited[0].spec} in place, but that tensor is an argument or comes "
                "from outside. Write x = x + 1, or edit x.clone(), and return the result"
            )

    def effect(self, op: Op, *xs: Any) -> Tracer:
        if isinstance(op, NextKey) and self.randomness == "error":
            raise GraphError(
                "a function under vmap draws random numbers: use vmap(…, randomness='different') for other numbers in "
                "each slice, 'same' for the same in all; or draw with keys, as mg.random.normal(key, shape) does"
            )
        return super().effect(op, *xs)

    def note_backward(self) -> None:
        raise NoGradientError(
            "backward() adds to .grad, which is one for all slices, and is refused under vmap. Take mg.func.grad(f), "
            "or mg.autograd.grad(y, x): each slice has its own"
        )

    def set_grad(self, x: Any, grad: Any) -> None:
        self.note_backward()


def drop_history(y: Any, mine: Collection[Node] = (), keeps: bool = True) -> Any:
    """y, detached unless `keeps` and a leaf in its history, not in `mine`, needs a gradient. Never in forward mode."""
    if not isinstance(y, Tensor) or y.node is None or not y.tracked or modes.has_backward_watcher():
        return y
    sources = [y.node, *(x for node in history(y.node) for x in node.inputs)]
    wanted = keeps and any(isinstance(x, Source) and x.needs_grad and x not in mine for x in sources)
    return y if wanted else y.detach()


def is_next_key(node: Node) -> bool:
    """Whether the node is a key drawn from a generator, possibly moved to another device."""
    while isinstance(node.op, Move):
        (node,) = node.inputs
    return isinstance(node.op, NextKey)


def constant(node: Node) -> Any:
    """A constant of one slice's graph, as an operand for ops outside that graph."""
    outer = modes.current.mode.builder
    return wrap_array(value(node), node.spec) if outer is None else Tracer(outer.node(node.op, (), node.spec), outer)
