"""Linear and Conv2d in three forms: observed for calibration, rounded for training, and quantised to int8.

A layer quantises its own input and returns floats. So a model needs no QuantStub, and sums, activations and
normalisation between layers stay as they are. The product of integers is exact:

    y = s_x s_w Σ (q_x − z_x) (q_w − z_w) + b
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ...engine import ops
from ...engine.core.modes import in_mode
from ...engine.tensor.lift import operand
from ...engine.tensor.tensor import Tensor
from .. import functional
from ..linear import Conv2d, Linear
from ..module import Module
from .affine import exact, spread
from .observer import MinMaxObserver, MovingAverageMinMaxObserver, PerChannelMinMaxObserver


class QConfig(NamedTuple):
    """Factories for the observers of a layer's input and of its weight."""

    activation: Callable[[], MinMaxObserver]
    weight: Callable[[], MinMaxObserver]

    def observers(self) -> tuple[MinMaxObserver, MinMaxObserver]:
        """A new observer of each kind. Raises ValueError if the product would not have one scale for each output."""
        activation, weight = self.activation(), self.weight()
        if activation.ch_axis is not None or weight.ch_axis not in (None, 0):
            axes = f"{activation.ch_axis} and {weight.ch_axis}"
            raise ValueError(f"an input needs ch_axis=None, and a weight None or 0, one scale per output; got {axes}")
        return activation, weight


per_tensor_weight = MinMaxObserver.with_args(dtype=np.int8, qscheme="per_tensor_symmetric")
per_channel_weight = PerChannelMinMaxObserver.with_args(dtype=np.int8, qscheme="per_channel_symmetric")
default_qconfig = QConfig(MinMaxObserver, per_channel_weight)
default_qat_qconfig = QConfig(MovingAverageMinMaxObserver, per_channel_weight)
default_dynamic_qconfig = QConfig(MinMaxObserver, per_tensor_weight)
per_channel_dynamic_qconfig = QConfig(MinMaxObserver, per_channel_weight)


class ObservedLayer(Module):
    """A layer that computes in floats, and observes its input. It keeps the parameters and hooks of the original layer.

    activation    observes the input
    qconfig       makes an observer of the weight for each use, because that observer needs no state
    """

    activation: MinMaxObserver
    qconfig: QConfig
    weight: Any
    bias: Any

    @classmethod
    def from_float(cls, layer: Module, qconfig: QConfig) -> Any:
        made = cls.__new__(cls)
        vars(made).update(vars(layer))
        made.activation, made.qconfig = qconfig.observers()[0], qconfig
        return made

    def forward(self, input: Any) -> Any:
        return product(self, self.activation(input), self.weight, self.bias)


class RoundedLayer(ObservedLayer):
    """A layer that computes with input and weight rounded as by quantisation. In training it observes the input."""

    def forward(self, input: Any) -> Any:
        x, weight = floating(input), self.qconfig.weight()
        if self.training:
            self.activation(x)
        if 0 not in x.spec.shape:
            x = self.activation.fake_quantize(x, *self.activation.calculate_qparams())
        w = weight.fake_quantize(self.weight, *weight.qparams(*weight.extremes(self.weight)))
        return product(self, x, w, self.bias)


STATE = "weight_int", "weight_scale", "weight_zero_point", "input_scale", "input_zero_point", "bias"


class QuantizedLayer(Module):
    """A layer that computes in integers. It has no gradient; for gradients, use the prepared model.

    weight_int, weight_scale, weight_zero_point    the quantised weight
    input_scale, input_zero_point                  scale and zero point of the input; None if dynamic
    activation                                     the observer that computes these for each input; None unless dynamic
    """

    activation: MinMaxObserver | None
    quantize: tuple[Any, ...]
    exact: np.dtype[Any]

    @classmethod
    def from_float(cls, layer: Any, qconfig: QConfig, activation: MinMaxObserver | None = None) -> Any:
        """The layer in integers. It is dynamic if `activation`, the observer of its input, is None."""
        made, (grid, observer) = cls.__new__(cls), qconfig.observers()
        grid = activation or grid
        gone = {"activation", "qconfig", "_parameters", "_buffers", "_computed"}
        vars(made).update({n: x for n, x in vars(layer).items() if not (isinstance(x, Tensor) or n in gone)})
        low, high = observer.quant_min, observer.quant_max
        largest = max(-low, high) if observer.symmetric and observer.middle == 0 else high - low
        made.exact = exact(prod(layer.weight.shape[1:]), (grid.quant_max - grid.quant_min) * largest)
        made.quantize, made.activation = (grid.quant_min, grid.quant_max, grid.dtype), None if activation else grid
        bias = None if layer.bias is None else layer.bias.detach().clone()
        of_input = activation.calculate_qparams() if activation else (None, None)
        for name, x in zip(STATE, (*observer.quantize_by_range(layer.weight)[:3], *of_input, bias), strict=True):
            vars(made).pop(name, None)
            made.register_buffer(name, x)
        return made

    def forward(self, input: Any) -> Any:
        x, (w, s_w, z_w, s, z, bias) = floating(input), (getattr(self, name) for name in STATE)
        if self.activation is not None:
            seen = x.sum() if 0 in x.spec.shape else x  # an empty batch has no extremes; any scale will do
            s, z = self.activation.qparams(*self.activation.extremes(seen))
        else:  # no integer stands for NaN, so a NaN in x makes the scale NaN
            s, z = s.where(~x.isnan().any(), np.nan), z.astype(np.float32)
        q = x.apply(ops.Quantize(*self.quantize), s, z).astype(self.exact) - z.astype(self.exact)
        w = w.astype(self.exact) - spread(z_w, 0, w.ndim).astype(self.exact)
        with in_mode(autocast=None):  # half precision would round
            total = product(self, q, w, None).astype(np.result_type(x.dtype, np.float32))
        y = total * (s * broadcast_per_output(self, s_w))
        return (y if bias is None else y + broadcast_per_output(self, bias)).astype(x.dtype)


def floating(input: Any) -> Any:
    """The input as floats; integers are converted as a float layer would."""
    x = operand(input)
    return x if x.spec.is_float else x.astype(np.result_type(x.dtype, np.float32))


def product(layer: Any, x: Any, weight: Any, bias: Any) -> Any:
    """The product of the layer, linear or convolution, with this input and weight."""
    return layer._conv_forward(x, weight, bias) if isinstance(layer, Conv2d) else functional.linear(x, weight, bias)


def broadcast_per_output(layer: Any, t: Any) -> Any:
    """t, with one number for each output of the layer, reshaped to broadcast with its result."""
    return t.reshape(-1, *[1] * (2 * isinstance(layer, Conv2d))) if t.ndim else t


def kinds(kind: type[Module]) -> dict[type, Any]:
    """The classes of this kind for Linear and Conv2d, such as ObservedLinear."""
    prefix = kind.__name__.removesuffix("Layer")
    return {of: type(prefix + of.__name__, (kind, of), {"__doc__": kind.__doc__}) for of in (Linear, Conv2d)}


OBSERVED, ROUNDED, QUANTIZED = map(kinds, (ObservedLayer, RoundedLayer, QuantizedLayer))

# pickle finds a class through an attribute of its module, so each class needs one.
ObservedLinear, ObservedConv2d = OBSERVED.values()
RoundedLinear, RoundedConv2d = ROUNDED.values()
QuantizedLinear, QuantizedConv2d = QUANTIZED.values()
