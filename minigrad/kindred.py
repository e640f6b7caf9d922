"""Tensors made from one that is there: its copies, and new ones of its dtype, in its place."""

from __future__ import annotations

from typing import Any

import numpy as np

from .device import Device
from .device import device as device_called
from .errors import NoGradientError
from .operand import integers, lengths
from .spec import Spec


class Kindred:
    """The part of Tensor that makes others."""

    __slots__ = ()

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        kind, data, requires_grad = self._parts("copied")
        copied = memo[id(self)] = rebuilt(kind, data.copy(), requires_grad)
        if self.grad is not None:
            copied.grad = self.made(self.grad.value.copy(), self.grad.spec)
        return copied

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        return rebuilt, self._parts("pickled")

    def _parts(self: Any, wanted: str) -> tuple[type, Any, bool]:
        if not self.is_leaf:
            raise NoGradientError(f"only a leaf can be {wanted}, and this one carries its history: take x.detach()")
        return type(self), self.value, self.requires_grad

    # -- of another shape -----------------------------------------------------------------------

    def new_full(
        self: Any,
        size: Any,
        fill_value: Any,
        *,
        dtype: Any = None,
        device: Device | str | None = None,
        requires_grad: bool = False,
    ) -> Any:
        """All one value, of that shape; dtype and device are self's unless said otherwise."""
        shape = lengths((size,))
        where = self.spec.device if device is None else device_called(device)
        spec = Spec(shape, self.spec.dtype if dtype is None else dtype, where)
        return self.made(where.xp.full(shape, fill_value, spec.dtype), spec).requires_grad_(requires_grad)

    def new_zeros(self: Any, *lengths: Any, size: Any = None, **options: Any) -> Any:
        """All 0; options as in new_full."""
        return self.new_full(integers(lengths if size is None else (size,)), 0, **options)

    def new_ones(self: Any, *lengths: Any, size: Any = None, **options: Any) -> Any:
        """All 1; options as in new_full."""
        return self.new_full(integers(lengths if size is None else (size,)), 1, **options)

    def new_empty(self: Any, *lengths: Any, size: Any = None, **options: Any) -> Any:
        """To be filled, and all 0 until then; options as in new_full."""
        return self.new_zeros(*lengths, size=size, **options)

    def new_tensor(self: Any, data: Any, **options: Any) -> Any:
        """The data, copied; dtype and device are self's unless the options say otherwise."""
        given = np.asarray(data.detach().numpy() if hasattr(data, "detach") else data)
        y = self.new_full(given.shape, 0, **options)
        y.value[...] = y.spec.device.array(given)
        return y


def rebuilt(kind: type, data: Any, requires_grad: bool) -> Any:
    """A leaf of that kind: what copying and unpickling call."""
    return kind(data).requires_grad_(requires_grad)
