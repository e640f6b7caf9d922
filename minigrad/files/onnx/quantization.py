"""int8 layers in QDQ form, which engines recognise: QuantizeLinear and DequantizeLinear around a float layer.

An engine with integer kernels replaces these nodes by such a kernel. Any other engine multiplies floats; its results
differ only in the last bits.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import numpy_helper

from ...engine.base.spec import Spec
from ...engine.core.modes import in_mode
from ...engine.core.op import Op
from ...nn.linear import Conv2d, Linear
from ...nn.module import Module
from ...nn.quantization.affine import INT32, limits, spread
from ...nn.quantization.layers import STATE, QuantizedLayer, floating, kinds, product
from ...nn.quantization.workflow import replace_modules
from .array import NamedArray
from .function import NodeReading, OnnxFunction
from .spellings import spells


@dataclass(frozen=True)
class QuantizeLinear(Op):
    """q = x / s rounded to the nearest integer, plus z, clipped to the range of z's dtype"""

    axis: int = 0

    def infer(self, x: Spec, s: Spec, z: Spec) -> Spec:  # type: ignore[override]
        return x.with_dtype(z.dtype)


@dataclass(frozen=True)
class DequantizeLinear(Op):
    """x = (q − z) s, with one s and z per tensor, or per index along the axis; z is 0 by default"""

    axis: int = 0

    def infer(self, q: Spec, s: Spec, *z: Spec) -> Spec:  # type: ignore[override]
        return q.with_dtype(s.dtype)


@spells(QuantizeLinear, DequantizeLinear)
def emit_quantize(g: Any, op: Any, x: NamedArray, s: NamedArray, *z: NamedArray) -> Any:
    read = (node.input[0] for node in g.writer.nodes if node.op_type == "DequantizeLinear")
    if x.name in g.writer.constants and x.name in read:
        x, z = duplicate_initializer(g, x), tuple(duplicate_initializer(g, t) for t in z)
    dtype = z[0].dtype if isinstance(op, QuantizeLinear) else s.dtype
    return g.call(type(op).__name__, [x, s, *z], x.shape, dtype, axis=op.axis)


def duplicate_initializer(g: Any, x: NamedArray) -> NamedArray:
    """Copy an initializer for each use: on CPUs that need uint8, ONNX Runtime converts initializers with one use."""
    array = numpy_helper.to_array(g.writer.constants[x.name])
    return NamedArray(g, g.writer.constant(array, x.name), x.shape, x.dtype)


class QDQLayer(QuantizedLayer):
    """An integer layer that multiplies dequantized values; zero points have the dtypes of the integers.

    bias_int, bias_scale    the bias as int32, with the scale s_x s_w of the product; None without a bias. If the bias
                            is not int32, ONNX Runtime computes a last layer in floats
    """

    @classmethod
    def from_layer(cls, layer: Any) -> Any:
        made: Any = cls.__new__(cls)
        vars(made).update(vars(layer))
        made.register_buffer("input_zero_point", layer.input_zero_point.astype(layer.quantize[2]))
        made.register_buffer("weight_zero_point", layer.weight_zero_point.astype(layer.weight_int.dtype))
        made.register_buffer("bias_int", None)
        if (b := layer.bias) is not None:
            made.register_buffer("bias_scale", layer.weight_scale * layer.input_scale)
            made.register_buffer("bias_int", (b.astype(np.float64) / made.bias_scale).round().astype(np.int32))
        return made

    def forward(self: Any, input: Any) -> Any:
        x, (low, high, dtype) = floating(input), self.quantize
        s, z = self.input_scale, self.input_zero_point
        with in_mode(autocast=None):
            y = x.astype(np.float32)
            if (low, high) != limits(dtype):  # QuantizeLinear clips to the dtype's range only
                y = y.clamp(*((end - int(z.item())) * s.item() for end in (low, high)))
            y = y.apply(QuantizeLinear(), s, z).apply(DequantizeLinear(), s, z)
            w = self.weight_int.apply(DequantizeLinear(), self.weight_scale, self.weight_zero_point)
            b = None if self.bias_int is None else self.bias_int.apply(DequantizeLinear(), self.bias_scale)
            return product(self, y, w, b).astype(x.dtype)


WRITTEN = kinds(QDQLayer)


class QDQStep(NodeReading):
    """A QDQ node of a loaded file that is exported unchanged, so that its integers stay integers."""

    def __call__(self, scope: Any) -> Any:
        xs = [scope[name] for name in self.node.input]
        integers = {x.dtype for x in (xs[0], *xs[2:]) if x.dtype.kind in "iu"}
        if not integers <= {np.dtype(n) for n in ("i1", "u1", "i4")} or xs[1].dtype != np.float32:
            return super().__call__(scope)
        kind = QuantizeLinear if self.node.op_type == "QuantizeLinear" else DequantizeLinear
        return (xs[0].apply(kind(self.options.get("axis", 1)), *xs[1:]),)


def is_qdq_step(step: NodeReading) -> bool:
    """Whether the node is a QuantizeLinear or DequantizeLinear with no attribute beyond those of our ops."""
    node, few = step.node, {"QuantizeLinear": 3, "DequantizeLinear": 2}
    has_inputs = len(node.input) >= few.get(node.op_type, 4) and all(node.input)
    return has_inputs and not node.domain and {*step.options} <= {"axis"}


def is_static(layer: Any) -> bool:
    """Whether this is an integer layer with a fixed input scale whose sums, including the bias, fit in int32.

    Engines do not check for overflow. A layer whose sums could overflow is written by running its `forward`.
    """
    if not isinstance(layer, QuantizedLayer) or layer.activation is not None:
        return False
    (low, high, _), (w, s_w, z_w, s, _, b) = layer.quantize, (getattr(layer, name) for name in STATE)
    distance = (w.astype(np.float64) - spread(z_w, 0, w.ndim)).abs().reshape(len(w), -1).sum(1)
    steps = 0 if b is None else b.astype(np.float64).abs() / (s_w * s)
    return bool((distance * (high - low) + steps < INT32).all())


def to_qdq(func: Any) -> Any:
    """A copy of the module with its integer layers in QDQ form; without integer layers, `func` itself."""
    if isinstance(func, OnnxFunction):
        made = copy(func)
        made.body = func.body._replace(steps=[QDQStep(*s) if is_qdq_step(s) else s for s in func.body.steps])
        return made
    if not isinstance(func, Module) or not any(map(is_static, func.modules())):
        return func

    def change(path: str, layer: Any, config: Any) -> Any:
        return WRITTEN[Conv2d if isinstance(layer, Conv2d) else Linear].from_layer(layer) if is_static(layer) else layer

    return replace_modules(func, change, None, False, "")
