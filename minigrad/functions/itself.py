"""The tensor itself: what it is, and others like it. The names are PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..operand import Operand
from ..tensor import Tensor
from .face import function, operand

Size = tuple[int, ...]  # a shape is Python's own tuple: mg.Size([2, 3]) == (2, 3)

numel = function(Operand.numel)
clone = function(Tensor.clone)
detach = function(Tensor.detach)
zero_ = function(Tensor.zero_)


def is_tensor(obj: Any) -> bool:
    """Whether it is a Tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input: Any) -> bool:
    """Whether the elements are floats, of whatever width."""
    return bool(operand(input).is_floating_point())


def is_nonzero(input: Any) -> bool:
    """Whether the one element of a tensor is not 0."""
    return bool(operand(input))


def result_type(tensor1: Any, tensor2: Any) -> np.dtype[Any]:
    """The dtype of an operation on the two, tensors or numbers."""
    return np.result_type(*(x.dtype if isinstance(x, Operand) else x for x in (tensor1, tensor2)))
