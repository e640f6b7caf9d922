"""In-place operations: an ordinary op whose result is written into the memory of its first operand.

`x.add_(y)` computes x + y, writes it into x's memory, and gives x the history of the sum. Other tensors may share
that memory, so their history is updated too: the tensor that owns it becomes `ViewScatter(its old value, x)`, and
each of its views becomes a view of that new value. Arrays saved for backward are not updated: their version shows that
they were saved before the edit, and backward raises EditedError (engine/core/backward.py).

`exp_` is `exp` in place, and so on; methods that change shape or dtype have no in-place twin. `uniform_`, `normal_`
and similar methods take keys from the sequence of mg.manual_seed, or from a `generator`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import inf, log1p, pi
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from .. import ops
from ..base.dtypes import kind
from ..base.errors import DTypeError, EditedError, ShapeError
from ..core import modes, versions
from ..core.modes import current
from ..core.op import Op
from ..core.random_bits import default_sequence
from ..methods import Operand
from .grad import origin

KINDS = {"b": 0, "u": 1, "i": 1, "f": 2}  # a result fits into its own kind, and into kinds with a larger number


class ViewInfo(NamedTuple):
    """The memory that a view shares.

    root    the tensor that owns it
    ops     the ops that lead from the root to the view
    """

    root: Any
    ops: tuple[Op, ...]


def view(y: Any, x: Any, op: Op) -> None:
    """Register y = op(x) as a view, if it shares x's memory."""
    if y.value.base is None or versions.owner(y.value) is not versions.owner(x.value):
        return
    root, way = getattr(x, "alias", None) or (x, ())
    y.alias = ViewInfo(root, (*way, op))
    if root.tracked and root.is_leaf:
        return  # edits of a leaf are unrecorded or refused, so its views keep their place in the graph
    views = root.views = getattr(root, "views", None) or []
    if len(views) & (len(views) - 1) == 0:  # at 1, 2, 4, 8, … entries: drop the dead ones
        views[:] = [v for v in views if v() is not None]
    views.append(ref(y))


def owns(x: Any) -> bool:
    """Whether x is neither a tracked leaf nor a view, and has no views, so that its layout may be changed."""
    looked_at = any(v() is not None for v in getattr(x, "views", None) or ())
    return getattr(x, "alias", None) is None and not looked_at and not (x.tracked and x.is_leaf)


def become(x: Any, y: Any) -> None:
    """Write y's value into x's memory, and give x the history of y.

    Raises ShapeError or DTypeError if y does not fit; EditedError if x is a leaf that is being recorded, or if x was
    made in inference_mode and is edited outside of it.
    """
    builder = modes.current.mode.builder or getattr(x, "builder", None)
    if builder is not None:
        builder.become(x, y)
        return
    root = (getattr(x, "alias", None) or (x,))[0]
    if x.tracked is None and not modes.is_inference_mode_enabled():
        raise EditedError(f"{x.spec} was made in inference_mode, and cannot be edited outside of it: use x.clone()")
    if KINDS[kind(y.dtype)] > KINDS[kind(x.dtype)]:
        raise DTypeError(f"the result is {y.spec}, and does not fit into {x.spec}, edited in place: write x = …")
    if modes.current.mode.recording and root.tracked and root.is_leaf:
        what = "a view of a leaf" if root is not x else "a leaf"
        raise EditedError(
            f"{x.spec} is {what} that requires a gradient: edited in place, its old value could not be told from its "
            "new one. Edit it inside `with no_grad():`, or make a new tensor, as x = x + 1 does"
        )
    if y.tracked and y.node.saved:  # the rule reads x's old value, so save a copy of it
        y.node.saved = tuple([kept.copy() if kept is x.value else kept for kept in y.node.saved])
    y = y.astype(x.dtype)
    write(x, y.value)
    settle(x, y)
    if modes.current.mode.recording or modes.has_backward_watcher():
        renew(root, x)


def settle(x: Any, y: Any) -> None:
    """Give x the place that y has in the graph, if any, and y's tangent. A retain_grad() of x stays in force."""
    is_own_leaf = x.tracked and x.is_leaf and not y.tracked  # a view that itself requires a gradient stays a leaf
    if modes.current.mode.recording and not is_own_leaf:
        before = None if x.node is None else x.node.hooks
        x.node, x.tracked = (y.node, y.tracked) if y.tracked else (None, False)
        if before is not None and before.retain is not None and x.tracked:
            before.retain = None
            x.retain_grad()
    for watcher in modes.current.mode.watchers:
        watcher.on_forward(ops.Alias(), x, (y,))


def write(x: Any, value: Any) -> None:
    """Write a value into x's memory without recording it. Arrays of this memory saved for backward become stale."""
    if value.shape != x.shape and np.broadcast_shapes(value.shape, x.shape) != x.shape:
        raise ShapeError(f"the result has shape {value.shape}, and {x.spec} is edited in place: its shape stays")
    try:
        x.value[...] = value
    except ValueError:
        raise EditedError(
            f"{x.spec} cannot be written to: several of its elements share memory, or its memory is read-only, as that "
            "of a weight with a mask. Edit x.clone(), or weight_orig"
        ) from None
    versions.edit(x.value)


def renew(root: Any, x: Any) -> None:
    """After an edit of x, which shares root's memory, update the places of root and of all its views in the graph."""
    followed = modes.has_backward_watcher()
    if root is not x and (root.tracked or x.tracked or followed):
        settle(root, root.apply(ops.ViewScatter(x.alias.ops), x))
    for v in [held() for held in getattr(root, "views", ())]:
        if v is not None and (root.tracked or v.tracked or followed):
            y = root
            for op in v.alias.ops:
                y = y.apply(op)
            settle(v, y)


def in_place(names: str) -> list[Callable[..., Any]]:
    """The in-place twins of these methods: `add_` is `add`, but writes the result into the tensor itself."""
    return [twin(getattr(Operand, name)) for name in names.split()]


def twin(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def edit(self: Any, *others: Any, **options: Any) -> Any:
        # A copy if any watcher keeps the arrays that rules save, as all do unless `holds` is False.
        hold = [getattr(watcher, "holds", True) for watcher in current.mode.watchers if current.mode.builder is None]
        old = self.with_node(self.value.copy(), origin(self)) if any(hold) else self
        become(self, method(old, *(old if o is self else o for o in others), **options))
        return self

    edit.__name__ = edit.__qualname__ = f"{method.__name__}_"
    edit.__doc__ = f"{method.__name__}, in place: {method.__doc__ or ''}".rstrip(": ")
    return edit


class InPlace:
    """Methods that edit in place: those that fill with values or random numbers, and in-place twins such as `exp_`."""

    __slots__ = ()

    @property
    def _version(self: Any) -> int:
        """How often this tensor's memory was edited in place."""
        return versions.edits_of(self._note_read("_version").value)

    def copy_(self: Any, other: Any) -> Any:
        """Copy the other tensor's values."""
        become(self, self.apply(ops.ViewScatter(()), self.lift(other).astype(self.dtype).broadcast_to(self.shape)))
        return self

    def fill_(self: Any, value: Any) -> Any:
        """Set all elements to one number."""
        return self.copy_(value)

    def zero_(self: Any) -> Any:
        """Set all elements to 0."""
        return self.copy_(0)

    def __setitem__(self: Any, index: Any, value: Any) -> None:
        become(self, self.index_set(index, value))

    # -- random numbers in place of the old values: the names are PyTorch's -------------------------------

    def uniform_(self: Any, low: float = 0.0, high: float = 1.0, *, generator: Any = None) -> Any:
        """Fill with uniform random numbers in [low, high)."""
        become(self, self._draw(ops.RandomUniform(self.shape, self.dtype), generator) * (high - low) + low)
        return self

    def normal_(self: Any, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Any:
        """Fill with random numbers from N(mean, std²)."""
        become(self, self._draw(ops.RandomNormal(self.shape, self.dtype), generator) * std + mean)
        return self

    def bernoulli_(self: Any, p: float = 0.5, *, generator: Any = None) -> Any:
        """Fill with random numbers that are 1 with probability p, else 0."""
        drawn = self._draw(ops.RandomBernoulli(self.shape, np.dtype(bool), float(p)), generator)
        become(self, drawn.astype(self.dtype))
        return self

    def log_normal_(self: Any, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Any:
        """Fill with random numbers whose logarithms are from N(mean, std²)."""
        become(self, (self._draw(ops.RandomNormal(self.shape, self.dtype), generator) * std + mean).exp())
        return self

    def exponential_(self: Any, lambd: float = 1.0, *, generator: Any = None) -> Any:
        """Fill with random waiting times for an event of rate λ: the exponential distribution."""
        below_1 = self._draw(ops.RandomUniform(self.shape, self.dtype), generator)
        become(self, -(-below_1).log1p() / above_0("lambd of exponential_", lambd))
        return self

    def cauchy_(self: Any, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Any:
        """Fill with random numbers from the Cauchy distribution, which has no mean: half lie within σ of the median."""
        angle = (self._draw(ops.RandomUniform(self.shape, self.dtype), generator) - 0.5) * pi
        become(self, angle.tan() * above_0("sigma of cauchy_", sigma) + median)
        return self

    def geometric_(self: Any, p: float, *, generator: Any = None) -> Any:
        """Fill from the geometric distribution: numbers of trials up to the first success, of probability p each."""
        drawn = self._draw(ops.RandomUniform(self.shape, np.dtype(float)), generator)
        become(self, ((-drawn).log1p() / log1p(-above_0("p of geometric_", p, 1))).floor().astype(self.dtype) + 1)
        return self

    def fill_diagonal_(self: Any, fill_value: float) -> Any:
        """Set the diagonal to one number: the elements x[i, i, …] whose indices are all equal."""
        if self.ndim < 2 or (self.ndim > 2 and len(set(self.shape)) > 1):
            raise ShapeError(f"fill_diagonal_ needs a matrix, or more axes of equal length, and got {self.spec}")
        self[(np.arange(min(self.shape)),) * self.ndim] = fill_value
        return self

    def _draw(self: Any, op: Op, generator: Any) -> Any:
        """The result of a random op with the next key of the sequence."""
        sequence = default_sequence if generator is None else generator.keys
        if (builder := current.mode.builder) is not None:
            return builder.apply(ops.NextKey(sequence), (0,)).apply(op)
        return self.lift(sequence.next_words()).apply(op)

    # -- operators, arithmetic and logic --------------------------------------------------------

    __iadd__, __isub__, __imul__, __itruediv__ = in_place("__add__ __sub__ __mul__ __truediv__")
    __ifloordiv__, __imod__, __ipow__ = in_place("__floordiv__ __mod__ __pow__")
    __iand__, __ior__, __ixor__, __ilshift__, __irshift__ = in_place("__and__ __or__ __xor__ __lshift__ __rshift__")

    add_, sub_, subtract_, mul_, multiply_, div_, divide_ = in_place("add sub subtract mul multiply div divide")
    true_divide_, floor_divide_, remainder_, pow_, neg_ = in_place("true_divide floor_divide remainder pow neg")
    negative_, addcmul_, addcdiv_, addmm_, lerp_ = in_place("negative addcmul addcdiv addmm lerp")
    logical_and_, logical_or_, logical_xor_ = in_place("logical_and logical_or logical_xor")
    logical_not_, bitwise_and_, bitwise_or_ = in_place("logical_not bitwise_and bitwise_or")
    bitwise_xor_, bitwise_not_ = in_place("bitwise_xor bitwise_not")
    bitwise_left_shift_, bitwise_right_shift_ = in_place("bitwise_left_shift bitwise_right_shift")

    # -- functions of each element ----------------------------------------------------------------

    absolute_, sgn_, round_, frac_, fix_, reciprocal_ = in_place("absolute sgn round frac fix reciprocal")
    clamp_, clip_, clamp_min_, clamp_max_, square_ = in_place("clamp clip clamp_min clamp_max square")
    arcsin_, arccos_, arctan_, arcsinh_, arccosh_ = in_place("arcsin arccos arctan arcsinh arccosh")
    arctanh_, arctan2_, sigmoid_, nan_to_num_ = in_place("arctanh arctan2 sigmoid nan_to_num")

    # -- written by scripts/phrasebook: their twins -------------------------------------------------
    relu_, fmod_, hypot_, atan2_, copysign_, logaddexp_ = in_place("relu fmod hypot atan2 copysign logaddexp")
    xlogy_, maximum_, minimum_, exp_, exp2_, expm1_, log_ = in_place("xlogy maximum minimum exp exp2 expm1 log")
    log2_, log10_, log1p_, sqrt_, rsqrt_, sin_, cos_, tan_ = in_place("log2 log10 log1p sqrt rsqrt sin cos tan")
    asin_, acos_, atan_, sinh_, cosh_, tanh_, asinh_, acosh_ = in_place("asin acos atan sinh cosh tanh asinh acosh")
    atanh_, abs_, sign_, floor_, ceil_, trunc_, erf_, erfc_ = in_place("atanh abs sign floor ceil trunc erf erfc")
    (erfinv_,) = in_place("erfinv")
    # -- to here ------------------------------------------------------------------------------------

    # -- running totals, parts of a matrix, places --------------------------------------------------

    cumsum_, cumprod_, tril_, triu_, masked_fill_ = in_place("cumsum cumprod tril triu masked_fill")
    index_add_, index_copy_, index_fill_, index_put_ = in_place("index_add index_copy index_fill index_put")
    scatter_, scatter_add_ = in_place("scatter scatter_add")


def above_0(what: str, x: float, below: float = inf) -> float:
    """x. Raises ValueError unless 0 < x < below."""
    if not 0 < x < below:
        raise ValueError(f"the {what} must be more than 0{f' and less than {below}' * (below < inf)}, and got {x}")
    return x
