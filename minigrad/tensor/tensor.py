"""Tensor: a value, and the node that says where it came from.

Every operation goes through `Tensor.apply`, the one door: look up the plan, compute, record, tell.
What can be done to a tensor is in methods/, family by family.
"""

from __future__ import annotations

from functools import lru_cache
from math import copysign
from typing import Any

import numpy as np

from .. import ops
from ..base.device import CPU, Device, device_of
from ..base.device import device as device_called
from ..base.dimension import Dimension
from ..base.errors import DTypeError, GraphError, NoGradientError, ShapeError
from ..base.spec import Spec, spec_of
from ..core.modes import current
from ..core.node import Node, Record
from ..core.op import Op
from ..methods import Operand, integers
from .conversion import Kindred, Readable
from .grad import Differentiable, origin
from .inplace import InPlace, owns, view
from .rules import plan, unrolled
from .symbol import Symbol


class Tensor(InPlace, Readable, Kindred, Differentiable, Operand):
    """An n-dimensional array that remembers its origin.

    value      the array
    spec       its shape, dtype and device
    node       where it came from; None as long as nobody asked
    tracked    whether backward will pass through it
    """

    __slots__ = ("__weakref__", "alias", "spec", "value", "views")
    __hash__ = Operand.__hash__

    def __init__(self, data: Any, dtype: Any = None, requires_grad: bool = False, device: Device | str | None = None):
        self.value = array_of(data, dtype, device)
        self.spec: Spec = spec_of(self.value)
        self.node: Node | None = None
        self.tracked: bool | None = current.mode.tracked
        if (builder := current.mode.builder) is not None:
            builder.born[id(self)] = self
        if requires_grad:
            self.requires_grad_()

    # -- the one door -------------------------------------------------------------------

    @unrolled
    def apply(self, op: Op, *others: Any) -> Tensor:
        """The result of `op` on self and others. Raises what `op.infer` raises on operands that do not fit."""
        if (mode := current.mode).builder is not None:
            return mode.builder.apply(op, (self, *others))  # type: ignore[no-any-return]
        xs = (self, *[o if isinstance(o, Tensor) else self.lift(o) for o in others])
        _, *others = xs  # type: ignore[assignment]
        specs = tuple([x.spec for x in xs])
        planned = op.plans.get(specs) or plan(op, specs)
        values = [x.value for x in xs]
        y: Tensor = _new(Tensor)
        y.value, y.spec, y.node, y.tracked = planned.run(*values), planned.spec, None, mode.tracked
        if mode.recording and True in (wanted := tuple([x.tracked for x in xs])):  # noqa: SIM102  (too long for one)
            if rule := planned.rules.get(wanted) or planned.rule(wanted):
                y.node, y.tracked = Record(op, tuple([x.node or origin(x) for x in xs]), rule, (y.value, *values)), True
        if op.is_view:
            view(y, self, op)
        for watcher in mode.watchers:
            watcher.saw(op, y, xs)
        return y

    def lift(self, o: Any) -> Tensor:
        if isinstance(o, Tensor):
            return o
        if current.mode.builder is not None:
            return current.mode.builder.lift(o, self.spec)  # type: ignore[no-any-return]
        if isinstance(o, Symbol):
            raise GraphError(
                f"{o}, built at {getattr(o.node, 'place', None)}, has no value yet, and {self.spec} beside it has one: "
                "build inside `with graph.as_default():`, where a tensor becomes part of the graph"
            )
        if isinstance(o, int | float) and not isinstance(o, np.generic):
            return constant(o, self.spec, copysign(1.0, o))
        return Tensor(o, device=self.spec.device)

    def arriving(self, gradient: Any) -> Tensor:
        """The gradient that arrives here from outside, of self's spec: 1 for a tensor of one element."""
        if gradient is None:
            if self.size != 1:
                raise NoGradientError(
                    f"backward() starts from one number, and this is {self.spec}: reduce it, as in .sum() or .mean(), "
                    "or say how much each element counts with backward(gradient=…)"
                )
            return made(self.spec.device.xp.ones(self.shape, self.dtype), self.spec)
        given = gradient if isinstance(gradient, Tensor) else Tensor(gradient, self.dtype, device=self.spec.device)
        if given.shape != self.shape:
            raise ShapeError(f"gradient= needs the shape of {self.spec}, and got {given.shape}")
        return given.astype(self.dtype)

    def placed(self, value: Any, node: Node) -> Tensor:
        """A value at its place in the graph."""
        x = made(value, node.spec)
        x.node, x.tracked = node, node.needs_grad
        return x

    @staticmethod
    def made(value: Any, spec: Spec) -> Tensor:
        """A tensor around an array whose spec is known, with no origin."""
        return made(value, spec)

    # -- its value ----------------------------------------------------------------------

    @property
    def data(self) -> Tensor:
        """The same memory with no origin, as detach() gives it; assigning to it replaces the value, unrecorded."""
        return self.detach()

    @data.setter
    def data(self, data: Any) -> None:
        value = array_of(data, self.dtype, self.spec.device)
        if value.shape != self.shape:
            raise ShapeError(f"data of {self.spec} is replaced by the same shape, and got {value.shape}")
        self.value = value

    def to(
        self, *where: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False, copy: bool = False
    ) -> Tensor:
        """The same numbers on another device, or in another dtype, or both; self where nothing changes, unless copy.

        non_blocking is heard, and needs no saying: nothing waits for a device until a value is read.
        """
        x: Tensor = self
        places, flags = [w for w in where if not isinstance(w, bool)], [w for w in where if isinstance(w, bool)]
        copy = copy or flags[1:] == [True]  # to(device, dtype, non_blocking, copy)
        for to in (*places, dtype, device):
            if isinstance(to, Tensor):
                x = x.to(to.spec.dtype, to.spec.device)
            elif isinstance(to, Device | str) and str(to) not in np.sctypeDict:
                x = x if device_called(to) is x.spec.device else x.apply(ops.Move(device_called(to)))
            elif to is not None:
                x = x.astype(to)
        return x.clone() if copy and x is self else x

    def cpu(self) -> Tensor:
        return self.to("cpu")

    def cuda(self) -> Tensor:
        return self.to("gpu")

    def view(self, *shape: Any) -> Tensor:
        """The same memory in another shape. Raises ShapeError where that needs a copy: reshape makes one.

        A result in memory of its own is laid out in the order of its axes first: convolutions leave another.
        """
        if current.mode.builder is not None:
            return self.reshape(*shape)
        if not self.value.flags.c_contiguous and owns(self):
            self.value = self.spec.device.xp.ascontiguousarray(self.value)
        return self.apply(ops.View(self._worked_out(integers(shape))))

    device = property(lambda self: self.spec.device, doc="Where it lives.")
    is_cuda = property(lambda self: self.spec.device is not CPU, doc="Whether that is a GPU.")

    def is_inference(self) -> bool:
        """Whether it was made in inference_mode, and has no gradient for ever."""
        return self.tracked is None


# -- making tensors ---------------------------------------------------------------------------


def tensor(data: Any, dtype: Any = None, requires_grad: bool = False, device: Device | str | None = None) -> Tensor:
    """A new leaf from a number, nested lists or an array, which is copied.

    Python floats become float64, and integers int64, unless `dtype` says otherwise.
    """
    if isinstance(data, Dimension):
        return counted(data, dtype)  # type: ignore[no-any-return]
    value = array_of(data, dtype, device)
    return Tensor(value.copy() if value is getattr(data, "value", data) else value, None, requires_grad, device)


def counted(n: Dimension, dtype: Any) -> Any:
    """A length that is known only when the graph runs, as a value of the graph being built."""
    builder = current.mode.builder
    if builder is None:
        n.refuse("a tensor with its value")
    y = builder.lift(n)
    return y if dtype is None else y.astype(dtype)


def made(value: Any, spec: Spec) -> Tensor:
    """A tensor around a value whose spec is known, with no origin yet."""
    y: Tensor = _new(Tensor)
    y.value = np.asarray(value) if isinstance(value, np.generic) else value  # NumPy may give a number for an array
    y.spec, y.node, y.tracked = spec, None, False
    return y


@lru_cache(maxsize=1024, typed=True)
def constant(number: float, beside: Spec, sign: float) -> Tensor:
    """A Python number as the tensor it is beside a tensor of that spec.

    sign    tells 0.0 from −0.0, which are equal, one key to the cache, and divide differently
    """
    dtype = np.result_type(beside.dtype, number if isinstance(number, bool) else +number)  # + of a Count is an int
    y = Tensor(number, dtype, device=beside.device)
    y.node, y.tracked = Node(ops.const(number), (), y.spec), False  # it is shared with every mode
    return y


def array_of(data: Any, dtype: Any, where: Device | str | None) -> Any:
    """`data` as an array of numbers on a device. Raises DTypeError on what is no number."""
    data = unwrapped(data)
    place = device_of(data) if where is None else device_called(where)
    try:
        array = place.array(data, dtype)
    except ValueError as reason:
        if "inhomogeneous" in str(reason):
            raise ShapeError(f"a tensor needs rows of equal length: {reason}") from None
        raise DTypeError(f"a tensor holds numbers: {reason}") from None
    if array.dtype.kind not in "fiub":
        raise DTypeError(f"a tensor holds real numbers, integers or booleans, and this is {array.dtype}: {data!r}")
    return array


def unwrapped(data: Any) -> Any:
    """Nested lists with the tensors in them replaced by their arrays. Raises DTypeError where numbers are masked."""
    if isinstance(data, list | tuple):
        return [unwrapped(d) for d in data]
    if isinstance(data, np.ma.MaskedArray) and data.mask.any():
        raise DTypeError(
            f"a tensor holds numbers, and {data.mask.sum()} of these {data.size} are masked: fill them, as in "
            "x.filled(0), and hand the mask over as a tensor of its own, mg.tensor(x.mask)"
        )
    return data.value if isinstance(data, Tensor) else data


_new: Any = Tensor.__new__
