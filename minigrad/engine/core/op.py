"""Op: the interface of an operation.

    infer     specs of the operands → spec of the result        (checks; never computes)
    forward   arrays → array                                    (written once, against `xp`)
    vjp       gy, the gradient (cotangent) of the result → gx, the gradients of the operands
    jvp       dx, the tangents of the operands → dy, the tangent of the result
    flops     specs → number of scalar operations
    macs      specs → number of multiply-add pairs among these, in matrix products and convolutions

An op is a frozen dataclass. Its fields are its static parameters (axes, exponents…), so equal ops are
interchangeable, and `repr(op)` is its text in every listing. A class of the op table needs no `@dataclass`: `complete`
makes it a dataclass when its first op is made, because doing so for all 130 takes longer than importing the rest.

Nearly every op belongs to one of two families, which define most of these methods:

    Elementwise   y[i] = f(x[i], …)   defines `partials`; vjp, jvp, infer and flops follow
    Linear        y = A x             defines `adjoint`, which is Aᵀ; jvp is A itself
    Op            anything else       defines everything

Derivative rules receive tensors (y, x₁, x₂, …) and use only their methods and operators. So this module and
engine/ops/ import no Tensor, and the same rule serves eager backward, compiled rules, static graphs and
second derivatives. If `forward` is a single NumPy ufunc, `ufunc_of` detects it and the plan calls it directly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from operator import attrgetter
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar, Self, dataclass_transform

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..base.device import CPU, META
from ..base.dtypes import float32, narrow_dtype, wide
from ..base.errors import DTypeError, NoGradientError
from ..base.spec import Spec, Specs, broadcast
from . import formula

if TYPE_CHECKING:
    from ..tensor.rules import OpPlan


@dataclass_transform(frozen_default=True)
class InternMeta(type):
    """Equal calls return the same instance: `Sum((0,)) is Sum((0,))`, so an op finds the plans made for it earlier.

    The cache holds 4096 ops. The least recently used ops are dropped, and must be planned again when they return.
    """

    __call__ = lru_cache(maxsize=4096, typed=True)(type.__call__)


@dataclass(frozen=True)
class Op(metaclass=InternMeta):
    """An operation with its parameters.

    symbol    the symbol in drawings; None for the class name in lower case
    method    its name in `x.exp()` and `mg.exp(x)`, which scripts/phrasebook generates; None if written by hand
    inline    whether `forward` is a single expression, which compiled code may insert in place of a call
    is_view   whether the result may share the operand's memory
    effect    whether it has side effects: such an op is neither shared nor folded
    autocast   the dtype it runs in under autocast: "lower" or "float32"; None for the dtypes of its operands
    is_product    whether it sums products: a GPU's tensor cores sum half-precision products in float32 by themselves
    """

    symbol: ClassVar[str | None] = None
    method: ClassVar[str | None] = None
    inline: ClassVar[bool] = False
    is_view: ClassVar[bool] = False
    effect: ClassVar[bool] = False
    autocast: ClassVar[str | None] = None
    is_product: ClassVar[bool] = False

    def __new__(cls, *parameters: Any, **named: Any) -> Self:
        complete(cls)
        return super().__new__(cls)

    def __init_subclass__(cls) -> None:
        if not cls.__module__.startswith(OP_TABLE):  # `@dataclass` on the new class will read the fields of its bases
            for base in cls.__bases__:
                complete(base)

    def infer(self, *xs: Spec) -> Spec:
        raise NotImplementedError(f"{self} does not define the shape of its result: write {type(self).__name__}.infer")

    def forward(self, xp: Any, *xs: Any) -> Any:
        raise NotImplementedError(f"{self} does not define how to compute: write {type(self).__name__}.forward")

    def vjp(self, gy: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
        raise NoGradientError(f"{self} has no derivative: write {type(self).__name__}.vjp")

    def jvp(self, dxs: Any, y: Any, *xs: Any) -> Any:
        raise NoGradientError(f"{self} has no forward derivative: write {type(self).__name__}.jvp")

    def flops(self, y: Spec, *xs: Spec) -> int:
        raise NotImplementedError(f"{self} does not define its cost: write {type(self).__name__}.flops")

    def macs(self, y: Spec, *xs: Spec) -> int:
        return 0  # only products have multiply-adds; 1 MAC = 2 FLOPs, which `flops` includes

    def independent_axes(self, *xs: Spec) -> int:
        """The number of leading axes of y along which y[i] depends on x[i] only. Large arrays are cut along these."""
        return 0

    def gradients(self, gy: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
        """`vjp` in the form backward needs: one gradient per operand, in the operand's dtype; None for integers."""
        slots = (gy, y, *xs)
        if self.widens(y.spec, *map(attrgetter("spec"), xs)):
            slots = tuple(x.astype(float32) if x.spec.is_half else x for x in slots)
        gxs = one_each(self, "vjp", self.vjp(*slots), xs)
        pairs = zip(gxs, xs, strict=True)
        return tuple([None if gx is None or not x.spec.is_float else gx.astype(x.spec.dtype) for gx, x in pairs])

    def widens(self, y: Spec, *xs: Spec) -> bool:
        """Whether the op computes half precision in float32 and rounds once. Ops that only move data do not.

        A GPU widens by itself in products, and in the ufuncs of its array module.
        """
        halves = [x.dtype for x in xs if x.is_half]
        if not halves or self.is_view or self.effect or isinstance(y, Specs):
            return False
        if y.device not in (CPU, META) and (self.is_product or ufunc_of(self, len(xs))):
            return False
        is_moved = all(dtype == y.dtype for dtype in halves) and type(self).flops is not Op.flops
        return not is_moved or self.flops(y, *xs) != 0 or any(0 in x.shape for x in (y, *xs))  # empty: 0 flops anyway

    @cached_property
    def plans(self) -> dict[tuple[Spec, ...], OpPlan]:
        """Operand specs → the plan for them: see engine/tensor/rules.py."""
        return {}

    @property
    def label(self) -> str:
        """The op's text in drawings: its symbol, or its class name in lower case."""
        return self.symbol or type(self).__name__.lower()

    kind = property(attrgetter("__class__.__name__"), doc="The name of the op's class.")

    def __str__(self) -> str:
        return repr(self).removesuffix("()")


@cache
def complete(kind: type[Op]) -> None:
    """Make an op class of the table a frozen dataclass, after its bases, unless it has no fields of its own."""
    with COMPLETING:
        for base in reversed(kind.__mro__):
            if base.__module__.startswith(OP_TABLE) and base.__annotations__ and "__match_args__" not in vars(base):
                dataclass(frozen=True)(base)


COMPLETING, OP_TABLE = RLock(), __name__.replace("core.op", "ops.")


class Elementwise(Op):
    """y[i] = f(x₁[i], x₂[i], …), with NumPy broadcasting."""

    inline = True

    def partials(self, y: Any, *xs: Any) -> tuple[Any, ...]:
        """The slopes ∂y/∂x₁, ∂y/∂x₂, …: None for an operand without a slope, a boolean mask for slopes of 1 and 0."""
        raise NoGradientError(f"{self} has no derivative: write {type(self).__name__}.partials")

    def infer(self, *xs: Spec) -> Spec:
        # Running `forward` on empty arrays gives the dtype, so there is no second rule to keep consistent.
        try:
            nothing = self.forward(np, *[np.empty(0, wide(x.dtype)) for x in xs])
        except TypeError as reason:
            raise DTypeError(f"{self} of {' and '.join(map(str, xs))}: {reason}") from reason
        y = broadcast(self, *xs)
        return y.with_dtype(narrow_dtype(nothing.dtype, y.dtype))

    def vjp(self, gy: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
        # Broadcasting copies a value, so the gradients of the copies are summed.
        partials = one_each(self, "partials", self.partials(y, *xs), xs)
        return tuple(
            None if p is None else scale_gradient(gy, p).sum_to(x.shape) for p, x in zip(partials, xs, strict=True)
        )

    def jvp(self, dxs: Any, y: Any, *xs: Any) -> Any:
        partials = one_each(self, "partials", self.partials(y, *xs), xs)
        terms = [scale_gradient(dx, p) for dx, p in zip(dxs, partials, strict=True) if p is not None]
        return sum(terms[1:], terms[0])

    def independent_axes(self, *xs: Spec) -> int:
        return max(x.ndim for x in xs)

    def flops(self, y: Spec, *xs: Spec) -> int:
        return y.size * formula.cost(self.forward, len(xs))


def scale_gradient(g: Any, p: Any) -> Any:
    """g · ∂y/∂x. Where the slope is 0, by a mask or everywhere, the result is 0, even if g is ∞: 0 · ∞ would be NaN."""
    if isinstance(p, int) and p == 0:
        return g.where(False, 0)
    return g.where(p, 0) if not isinstance(p, int | float) and p.dtype == np.bool_ else g * p


class Linear(Op):
    """y = A x for a fixed linear map A: moving, copying, selecting or summing elements."""

    inline = True

    def adjoint(self, gy: Any, x: Any) -> Any:
        """Aᵀ gy. Only the spec of x is available: a linear map saves nothing for backward."""
        raise NoGradientError(f"{self} has no derivative: write {type(self).__name__}.adjoint")

    def vjp(self, gy: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
        (x,) = xs
        gx = self.adjoint(gy, x)
        if isinstance(gx, tuple):
            raise TypeError(f"{self}.adjoint must return Aᵀ gy itself, and it returned a tuple: {gx!r}")
        return (gx,)

    def jvp(self, dxs: Any, y: Any, *xs: Any) -> Any:
        (dx,) = dxs
        return dx.apply(self)

    def flops(self, y: Spec, *xs: Spec) -> int:
        return 0  # elements move; nothing is computed


def one_each(op: Op, rule: str, said: Any, xs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The result of a rule. Raises TypeError unless it is a tuple, one entry per operand: a comma is soon forgotten."""
    if isinstance(said, tuple) and len(said) == len(xs) and tuple not in map(type, said):
        return said
    entries = "gradient" if rule == "vjp" else "slope"
    wanted = f"({entries},)" if len(xs) == 1 else f"({', '.join(f'{entries}{i}' for i in range(len(xs)))})"
    raise TypeError(
        f"{op}.{rule} must return a tuple, one {entries} for each of its operands, as {wanted}; it returned {said!r}"
    )


class UfuncProbe(NDArrayOperatorsMixin):
    """A placeholder operand for `forward`, or the result of one ufunc on such operands."""

    def __init__(self, ufunc: np.ufunc | None = None, inputs: tuple[Any, ...] = ()):
        self.ufunc, self.inputs = ufunc, inputs

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return NotImplemented if options or method != "__call__" else UfuncProbe(ufunc, inputs)


@lru_cache(maxsize=4096)
def ufunc_of(op: Op, arity: int) -> Callable[..., Any] | None:
    """The ufunc, if all that op.forward does is to apply one to its operands, in order; otherwise None."""
    if not (isinstance(op, Elementwise) and op.inline):
        return None
    operands = tuple(UfuncProbe() for _ in range(arity))
    try:
        result = op.forward(np, *operands)
    except (TypeError, AttributeError):  # forward does more than call ufuncs
        return None
    if isinstance(result, UfuncProbe) and len(result.inputs) == arity and all(map(is_same, result.inputs, operands)):
        return result.ufunc
    return None


def is_same(x: Any, y: Any) -> bool:
    """x is y. Comparing operands by == would apply a ufunc."""
    return x is y
