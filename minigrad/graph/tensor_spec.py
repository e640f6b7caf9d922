"""TensorSpec: a tensor as it is announced, before there is one. The words are TensorFlow's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..device import CPU, Device
from ..device import device as device_called
from ..editable import KINDS
from ..errors import DTypeError, ShapeError
from ..spec import Spec
from ..standin import lengths_of
from ..tensor import Tensor, array_of
from ..tree import leaves


@dataclass(frozen=True)
class TensorSpec:
    """What a tensor will be: its shape, of which lengths may be open, its dtype, and a name.

    shape    a number for each axis; None for a length not known yet, a string for one that has a name
    dtype    float64 unless it says otherwise

    None on axis 0 is the length named "batch", the same in all specs; on other axes it is a length of its own.
    """

    shape: Any
    dtype: Any = np.float64
    name: str | None = None
    device: Device | str | None = None

    def __post_init__(self) -> None:
        if self.shape is None or isinstance(self.shape, int):
            raise ShapeError(
                f"a shape is a tuple, and this is {self.shape}: write ({self.shape},), with the comma, for one axis, "
                "and () for a single number"
            )

    @classmethod
    def from_tensor(cls, x: Tensor, name: str | None = None) -> TensorSpec:
        """The spec of a tensor."""
        return cls(x.shape, x.dtype, name, x.spec.device)

    def example(self) -> Tensor:
        """A tensor of this spec, its open lengths 1."""
        spec = self.spec()
        return Tensor(np.zeros([n if isinstance(n, int) else 1 for n in self.shape], spec.dtype), device=spec.device)

    def spec(self) -> Spec:
        """As the engine says it, open lengths as Dimensions."""
        shape = lengths_of(tuple(self.shape), lambda axis: "batch" if axis == 0 else None)
        return Spec(shape, np.dtype(self.dtype), CPU if self.device is None else device_called(self.device))

    def accepted(self, x: Any, name: str) -> Tensor:
        """x as a tensor of this spec. Raises ShapeError or DTypeError where it is none."""
        said = self.spec()
        tensor = x if isinstance(x, Tensor) else Tensor(fitting(x, said, f"argument {name}"), device=said.device)
        wanted = tuple(self.shape)
        fits = len(wanted) == tensor.ndim and all(
            n in (None, m) or isinstance(n, str) for n, m in zip(wanted, tensor.shape)
        )
        if not fits:
            raise ShapeError(f"argument {name} has shape {wanted} in input_signature, and came as {tensor.spec}")
        if tensor.dtype != said.dtype:
            raise DTypeError(
                f"argument {name} is {said.dtype} in input_signature, and came as {tensor.spec}: use .to({said.dtype})"
            )
        return tensor


def fitting(data: Any, spec: Spec, who: str) -> Any:
    """What is given for a tensor of that spec, in its dtype. Raises DTypeError where that does not hold it."""
    array = array_of(data, None, spec.device)
    if array.dtype == spec.dtype:
        return array
    if KINDS[array.dtype.kind] > KINDS[spec.dtype.kind]:
        raise DTypeError(
            f"{who} is {spec}, and was fed {array.dtype}, which would be cut: round it, or make it {array.dtype}"
        )
    cast = array.astype(spec.dtype)
    if spec.dtype.kind in "iu" and (wrong := cast != array).any():
        raise DTypeError(f"{who} is {spec}, and was fed {array[wrong].flat[0]}, which {spec.dtype} does not hold")
    return cast


def specs_only(signature: Any) -> tuple[Any, ...] | None:
    """An input signature, or None where there is none. Raises TypeError for what is no TensorSpec in it."""
    for each in leaves(signature or ()):
        if not isinstance(each, TensorSpec):
            raise TypeError(
                f"input_signature holds a TensorSpec for each argument, and this is {each!r}: TensorSpec(()) is one "
                "number, TensorSpec((None,)) a row of any length"
            )
    return None if signature is None else tuple(signature)
