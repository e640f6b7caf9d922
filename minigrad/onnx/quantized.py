"""int8 layers as engines look for them, QDQ: QuantizeLinear and DequantizeLinear around the layer in floats.

An engine with products of integers puts one in place of these nodes; to any other they are products of floats, with the
same numbers but for the last bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.spec import Spec
from ..core.modes import in_mode
from ..core.op import Op
from ..nn.linear import Conv2d, Linear
from ..nn.module import Module
from ..quantization.affine import INT32, limits
from ..quantization.layers import Quantized, floating, kinds, product
from ..quantization.workflow import changed
from .array import NamedArray
from .spellings import spells


@dataclass(frozen=True)
class QuantizeLinear(Op):
    """q = x / s to the nearest whole number, plus z, moved into the range of z's dtype"""

    def infer(self, x: Spec, s: Spec, z: Spec) -> Spec:  # type: ignore[override]
        return x.with_dtype(z.dtype)


@dataclass(frozen=True)
class DequantizeLinear(Op):
    """x = (q − z) s, with one s and z, or one for each index along the first axis; z = 0 unless given"""

    def infer(self, q: Spec, s: Spec, *z: Spec) -> Spec:  # type: ignore[override]
        return q.with_dtype(s.dtype)


@spells(QuantizeLinear, DequantizeLinear)
def of_the_same_name(g: Any, op: Op, x: NamedArray, s: NamedArray, *z: NamedArray) -> Any:
    dtype = z[0].dtype if isinstance(op, QuantizeLinear) else s.dtype
    return g.call(type(op).__name__, [x, s, *z], x.shape, dtype, axis=0)


class Written(Quantized):
    """A layer of integers whose product is that of what they stand for; zero points have the dtypes of the integers.

    bias_int, bias_scale    the bias as int32 in steps of the product, s_x s_w, without which ONNX Runtime leaves a last
                            layer in floats; None where it does not fit, or there is no bias
    """

    input_scale: Any
    input_zero_point: Any
    weight_int: Any
    weight_scale: Any
    weight_zero_point: Any
    bias: Any
    bias_int: Any
    bias_scale: Any

    @classmethod
    def of(cls, layer: Any) -> Any:
        made = cls.__new__(cls)
        vars(made).update(vars(layer))
        made.register_buffer("input_zero_point", layer.input_zero_point.astype(layer.quantize[2]))
        made.register_buffer("weight_zero_point", layer.weight_zero_point.astype(layer.weight_int.dtype))
        made.register_buffer("bias_int", None)
        if (b := layer.bias) is not None:
            made.register_buffer("bias", b.astype(np.float32))
            made.register_buffer("bias_scale", layer.weight_scale * layer.input_scale)
            q = (b.astype(np.float64) / made.bias_scale).round()
            made.register_buffer("bias_int", q.astype(np.int32) if bool((q.abs() <= INT32).all()) else None)
        return made

    def forward(self, input: Any) -> Any:
        x, (low, high, dtype) = floating(input), self.quantize
        s, z = self.input_scale, self.input_zero_point
        with in_mode(autocast=None):
            y = x.astype(np.float32)
            if (low, high) != limits(dtype):  # QuantizeLinear knows the ends of a dtype only
                y = y.clamp(*((end - int(z.item())) * s.item() for end in (low, high)))
            y = y.apply(QuantizeLinear(), s, z).apply(DequantizeLinear(), s, z)
            w = self.weight_int.apply(DequantizeLinear(), self.weight_scale, self.weight_zero_point)
            b = self.bias if self.bias_int is None else self.bias_int.apply(DequantizeLinear(), self.bias_scale)
            return product(self, y, w, b).astype(x.dtype)


WRITTEN = kinds(Written)


def is_static(layer: Any) -> bool:
    """Whether it is a layer of integers whose input has one scale for good."""
    return isinstance(layer, Quantized) and layer.activation is None


def written(func: Any) -> Any:
    """The module, or a copy of it whose layers of integers are QDQ; what is no module, as it is."""
    if not isinstance(func, Module) or not any(map(is_static, func.modules())):
        return func

    def change(path: str, layer: Any, config: Any) -> Any:
        return WRITTEN[Conv2d if isinstance(layer, Conv2d) else Linear].of(layer) if is_static(layer) else layer

    return changed(func, change, None, False, "")
