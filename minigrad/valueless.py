"""What a tensor is asked that has no value yet: its place in memory, its gradient, others of its kind.

A function that was written for tensors with values is traced on symbols, and asks them the same. What can be answered
without a value is; the rest says that there is none.
"""

from __future__ import annotations

from typing import Any, NoReturn, Self

from . import ops
from .device import CPU, NAMES, Device
from .device import device as device_called
from .errors import GraphError
from .hooks import TRACED
from .operand import Operand, integers, lengths
from .spec import Spec


class Valueless(Operand):
    """The part of a symbol that answers in Tensor's words."""

    __slots__ = ()

    requires_grad = tracked = property(lambda self: self.spec.is_float, doc="Whether gradients can be taken of it.")
    device = property(lambda self: self.spec.device, doc="Where it will live.")
    is_cuda = property(lambda self: self.spec.device is not CPU, doc="Whether that is a GPU.")
    is_leaf = property(lambda self: False, doc="Whether it was made by hand: what is in a graph was not.")
    data = property(lambda self: self.detach(), doc="The same value, through which no gradient passes.")
    grad_fn = property(lambda self: None, doc="Its recorded derivative: a graph has none until it is asked for.")

    def detach(self) -> Self:
        """The same value, through which no gradient passes."""
        return self.apply(ops.StopGradient())

    def to(
        self, *where: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False, copy: bool = False
    ) -> Any:
        """The same numbers on another device, or in another dtype, or both."""
        x: Any = self
        for to in (*where, dtype, device):
            if isinstance(to, Operand):
                x = x.to(to.spec.dtype, to.spec.device)
            elif isinstance(to, Device) or (isinstance(to, str) and to in NAMES):
                x = x if device_called(to) is x.spec.device else x.apply(ops.Move(device_called(to)))
            elif to is not None:
                x = x.astype(to)
        return x.clone() if copy and x is self else x

    def cpu(self) -> Any:
        return self.to("cpu")

    def cuda(self) -> Any:
        return self.to("gpu")

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Itself: in a graph gradients can be taken of every floating value, and of no other."""
        return self if self.spec.is_float or not requires_grad else self._nowhere("requires_grad_()")

    def _nowhere(self, asked: str) -> NoReturn:
        raise GraphError(
            f"{asked} of {self}, which is part of a graph being built, has no meaning: only values have it"
        )

    def register_hook(self, hook: Any) -> NoReturn:
        raise GraphError(TRACED)

    def retain_grad(self) -> NoReturn:
        self._nowhere("retain_grad()")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._read()  # which raises NoValueError

    def tolist(self) -> Any:
        return self._read()

    def new_full(self, size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, **grad: bool) -> Any:
        """All one value, of that shape; dtype and device are self's unless said otherwise."""
        where = self.spec.device if device is None else device_called(device)
        spec = Spec((), self.spec.dtype if dtype is None else dtype, where)
        return self.lift(fill_value).astype(spec.dtype).to(where).broadcast_to(lengths((size,)))

    def new_zeros(self, *size: Any, **options: Any) -> Any:
        """All 0; options as in new_full."""
        return self.new_full(integers(size), 0, **options)

    def new_ones(self, *size: Any, **options: Any) -> Any:
        """All 1; options as in new_full."""
        return self.new_full(integers(size), 1, **options)
