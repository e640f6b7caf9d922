"""In-place operations: the same op, its result written into the memory of its first operand.

`x.add_(y)` computes x + y, writes it where x was, and gives x the history of the sum. Others may look at
the same memory. Views of x, and what x is a view of, are told: the tensor that owns the memory becomes
`ViewScatter(its old self, x)`, and every view of it becomes a view of that. What backward kept is not told,
and need not be: its version says that it was kept before the edit, and backward refuses (engine/core/backward.py).

Each method with an underscore is the twin of one without: `exp_` is `exp`, written back; what gives another shape or
dtype has none. `uniform_`, `normal_` and their kin fill anew, by the sequence of mg.manual_seed or a `generator`.
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

KINDS = {"b": 0, "u": 1, "i": 1, "f": 2}  # a number of one kind fits into its own, and into later ones


class ViewInfo(NamedTuple):
    """What a view knows of the memory it looks at.

    root    the tensor that owns it
    ops     the way from there to the view
    """

    root: Any
    ops: tuple[Op, ...]


def view(y: Any, x: Any, op: Op) -> None:
    """Note that y = op(x) looks at x's memory, if it does."""
    if y.value.base is None or versions.owner(y.value) is not versions.owner(x.value):
        return
    root, way = getattr(x, "alias", None) or (x, ())
    y.alias = ViewInfo(root, (*way, op))
    if root.tracked and root.is_leaf:
        return  # it is edited unrecorded or not at all, and its views keep their place
    views = root.views = getattr(root, "views", None) or []
    if len(views) & (len(views) - 1) == 0:  # at 1, 2, 4, 8, … those that died are let go
        views[:] = [v for v in views if v() is not None]
    views.append(ref(y))


def owns(x: Any) -> bool:
    """Whether x is a result, and no view nor looked at by any: its memory may be laid out anew."""
    looked_at = any(v() is not None for v in getattr(x, "views", None) or ())
    return getattr(x, "alias", None) is None and not looked_at and not (x.tracked and x.is_leaf)


def become(x: Any, y: Any) -> None:
    """x takes y's value, in its own memory, and y's history.

    Raises ShapeError or DTypeError where y does not fit, EditedError where x is a leaf that is being recorded, or was
    made in inference_mode.
    """
    builder = modes.current.mode.builder or getattr(x, "builder", None)
    if builder is not None:
        builder.become(x, y)
        return
    root = (getattr(x, "alias", None) or (x,))[0]
    if x.tracked is None and not modes.is_inference_mode_enabled():
        raise EditedError(f"{x.spec} was made in inference_mode, and is edited there or not at all: take x.clone()")
    if KINDS[kind(y.dtype)] > KINDS[kind(x.dtype)]:
        raise DTypeError(f"the result is {y.spec}, and does not fit into {x.spec}, edited in place: write x = …")
    if modes.current.mode.recording and root.tracked and root.is_leaf:
        what = "a view of a leaf" if root is not x else "a leaf"
        raise EditedError(
            f"{x.spec} is {what} that requires a gradient: edited in place, its old value could not be told from its "
            "new one. Edit it inside `with no_grad():`, or make a new tensor, as x = x + 1 does"
        )
    if y.tracked and y.node.saved:  # what the rule reads of x is its old value
        y.node.saved = tuple([kept.copy() if kept is x.value else kept for kept in y.node.saved])
    y = y.astype(x.dtype)
    write(x, y.value)
    settle(x, y)
    if modes.current.mode.recording or modes.followed():
        renew(root, x)


def settle(x: Any, y: Any) -> None:
    """x stands where y does, in the graph if there is one; retain_grad() goes with it, and so does its tangent."""
    is_own_leaf = x.tracked and x.is_leaf and not y.tracked  # a view that was itself asked for a gradient stays one
    if modes.current.mode.recording and not is_own_leaf:
        before = None if x.node is None else x.node.hooks
        x.node, x.tracked = (y.node, y.tracked) if y.tracked else (None, False)
        if before is not None and before.retain is not None and x.tracked:
            before.retain = None
            x.retain_grad()
    for watcher in modes.current.mode.watchers:
        watcher.saw(ops.Alias(), x, (y,))


def write(x: Any, value: Any) -> None:
    """Write a value into x's memory, unrecorded: what backward kept of it is out of date."""
    if value.shape != x.shape and np.broadcast_shapes(value.shape, x.shape) != x.shape:
        raise ShapeError(f"the result has shape {value.shape}, and {x.spec} is edited in place: its shape stays")
    try:
        x.value[...] = value
    except ValueError:
        raise EditedError(
            f"{x.spec} cannot be written to: it looks at memory in which several elements are one, or that is "
            "read-only, as a weight with a mask is. Edit x.clone(), or weight_orig"
        ) from None
    versions.edit(x.value)


def renew(root: Any, x: Any) -> None:
    """After x was edited, which shares root's memory: root and all its views take their new places in the graph."""
    followed = modes.followed()
    if root is not x and (root.tracked or x.tracked or followed):
        settle(root, root.apply(ops.ViewScatter(x.alias.ops), x))
    for v in [held() for held in getattr(root, "views", ())]:
        if v is not None and (root.tracked or v.tracked or followed):
            y = root
            for op in v.alias.ops:
                y = y.apply(op)
            settle(v, y)


def as_it_was(x: Any) -> Any:
    """x before it is edited: in memory of its own if somebody watches who `holds` what a rule keeps, as most do."""
    hold = [getattr(watcher, "holds", True) for watcher in current.mode.watchers if current.mode.builder is None]
    return x.placed(x.value.copy(), origin(x)) if any(hold) else x


def in_place(names: str) -> list[Callable[..., Any]]:
    """The twins of methods: `add_` is `add`, its result written into the tensor itself."""
    return [twin(getattr(Operand, name)) for name in names.split()]


def twin(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def edit(self: Any, *others: Any, **options: Any) -> Any:
        old = as_it_was(self)
        become(self, method(old, *(old if o is self else o for o in others), **options))
        return self

    edit.__name__ = edit.__qualname__ = f"{method.__name__}_"
    edit.__doc__ = f"{method.__name__}, in place: {method.__doc__ or ''}".rstrip(": ")
    return edit


class InPlace:
    """What changes values in place: by another, by a number, by random numbers; and each method with an underscore."""

    __slots__ = ()

    @property
    def _version(self: Any) -> int:
        """How often this memory was edited in place."""
        return versions.edits_of(self.value)

    def copy_(self: Any, other: Any) -> Any:
        """Take the other's values."""
        become(self, self.apply(ops.ViewScatter(()), self.lift(other).astype(self.dtype).broadcast_to(self.shape)))
        return self

    def fill_(self: Any, value: Any) -> Any:
        """Take one number everywhere."""
        return self.copy_(value)

    def zero_(self: Any) -> Any:
        """Become 0 everywhere."""
        return self.copy_(0)

    def __setitem__(self: Any, index: Any, value: Any) -> None:
        become(self, self.index_set(index, value))

    # -- filled, whatever the old values were: the names are PyTorch's -----------------------------------

    def uniform_(self: Any, low: float = 0.0, high: float = 1.0, *, generator: Any = None) -> Any:
        """Take numbers uniform in [low, high)."""
        become(self, self._drawn(ops.RandomUniform(self.shape, self.dtype), generator) * (high - low) + low)
        return self

    def normal_(self: Any, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Any:
        """Take numbers from N(mean, std²)."""
        become(self, self._drawn(ops.RandomNormal(self.shape, self.dtype), generator) * std + mean)
        return self

    def bernoulli_(self: Any, p: float = 0.5, *, generator: Any = None) -> Any:
        """Take 1 with probability p, and 0 otherwise."""
        drawn = self._drawn(ops.RandomBernoulli(self.shape, np.dtype(bool), float(p)), generator)
        become(self, drawn.astype(self.dtype))
        return self

    def log_normal_(self: Any, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Any:
        """Take numbers whose logarithms are from N(mean, std²)."""
        become(self, (self._drawn(ops.RandomNormal(self.shape, self.dtype), generator) * std + mean).exp())
        return self

    def exponential_(self: Any, lambd: float = 1.0, *, generator: Any = None) -> Any:
        """Take waiting times, for what happens λ times in a unit of time."""
        become(
            self,
            -(-self._drawn(ops.RandomUniform(self.shape, self.dtype), generator)).log1p()
            / above_0("lambd of exponential_", lambd),
        )
        return self

    def cauchy_(self: Any, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Any:
        """Take numbers of Cauchy's distribution, which has no mean: half of them are within σ of the median."""
        angle = (self._drawn(ops.RandomUniform(self.shape, self.dtype), generator) - 0.5) * pi
        become(self, angle.tan() * above_0("sigma of cauchy_", sigma) + median)
        return self

    def geometric_(self: Any, p: float, *, generator: Any = None) -> Any:
        """Take how many attempts it needs to succeed, which each does with probability p."""
        drawn = self._drawn(ops.RandomUniform(self.shape, np.dtype(float)), generator)
        become(self, ((-drawn).log1p() / log1p(-above_0("p of geometric_", p, 1))).floor().astype(self.dtype) + 1)
        return self

    def fill_diagonal_(self: Any, fill_value: float) -> Any:
        """Take a number where all indices are equal."""
        if self.ndim < 2 or (self.ndim > 2 and len(set(self.shape)) > 1):
            raise ShapeError(f"a matrix has a diagonal, and so have more axes of one length; this is {self.spec}")
        self[(np.arange(min(self.shape)),) * self.ndim] = fill_value
        return self

    def _drawn(self: Any, op: Op, generator: Any) -> Any:
        """What a random op draws by the next key."""
        sequence = default_sequence if generator is None else generator.sequence
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
    """x. Raises ValueError where it is not in between."""
    if not 0 < x < below:
        raise ValueError(f"the {what} is more than 0{f' and less than {below}' * (below < inf)}, and this is {x}")
    return x
