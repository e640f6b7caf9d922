"""Parameter: a tensor that a module learns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..device import Device
from ..tensor import Tensor


class Parameter(Tensor):
    """A leaf tensor that belongs to the module it is assigned to, and is learned.

    With requires_grad=False it is frozen: still the module's, still saved, and no gradient comes.
    """

    __slots__ = ()

    def __init__(self, data: Any, requires_grad: bool = True):
        super().__init__(data, requires_grad=requires_grad)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


def parameter(*shape: int, dtype: Any = None, device: Device | str | None = None) -> Parameter:
    """A parameter of that shape, of zeros until it is initialised."""
    return Parameter(Tensor(np.zeros(shape), dtype, device=device))


def move_to(x: Tensor, dtype: Any, device: Device | str | None) -> None:
    """Give a leaf another dtype or device, and its gradient with it. It stays the same object."""
    grad = x.grad
    Tensor.__init__(x, x.value, dtype, x.requires_grad, device)
    if grad is not None:
        x.grad = Tensor(grad.value, dtype, device=device)
