"""EfficientNet: a network that grows in depth, width and resolution together.

Compound scaling, eq. 3 of the paper: with φ times the budget depth is 1.2^φ, width 1.1^φ and resolution 1.15^φ times
as large, where 1.2 · 1.1² · 1.15² ≈ 2: costs go with depth, and with the squares of the other two.

    name    width    depth    resolution    parameters    multiply-adds
    b0      1.0      1.0      224            5,288,548    0.39 G
    b1      1.0      1.1      240            7,794,184    0.70 G
    b2      1.1      1.2      260            9,109,994    1.0 G
    b3      1.2      1.4      300           12,233,232    1.8 G
    b4      1.4      1.8      380           19,341,616    4.2 G
    b5      1.6      2.2      456           30,389,784    9.9 G
    b6      1.8      2.6      528           43,040,704    19 G
    b7      2.0      3.1      600           66,347,960    37 G

Its dropping of whole blocks in training (Huang et al. 2016, “Deep Networks with Stochastic Depth”) is left out.

Tan & Le 2019, “EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks”, tables 1 and 2.
https://arxiv.org/abs/1905.11946
"""

from __future__ import annotations

from functools import partial
from math import ceil
from typing import Any, NamedTuple

from .. import nn
from .mobilenet import conv, rounded


class Scale(NamedTuple):
    """How large a network is, against b0; `resolution` is the pictures' that it is meant for."""

    width: float
    depth: float
    resolution: int
    dropout: float


SCALES = {
    "b0": Scale(1.0, 1.0, 224, 0.2),
    "b1": Scale(1.0, 1.1, 240, 0.2),
    "b2": Scale(1.1, 1.2, 260, 0.3),
    "b3": Scale(1.2, 1.4, 300, 0.3),
    "b4": Scale(1.4, 1.8, 380, 0.4),
    "b5": Scale(1.6, 2.2, 456, 0.4),
    "b6": Scale(1.8, 2.6, 528, 0.5),
    "b7": Scale(2.0, 3.1, 600, 0.5),
}
# Table 1: expansion, kernel, stride, channels, repeats.
TABLE_1 = (
    *((1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3)),
    *((6, 5, 1, 112, 3), (6, 5, 2, 192, 4), (6, 3, 1, 320, 1)),
)


layer = partial(conv, relu=nn.SiLU)


class SqueezeExcitation(nn.Module):
    """Each channel weighed by what all of them are on the whole picture.

    Hu et al. 2017, “Squeeze-and-Excitation Networks”, eq. 2 to 4. https://arxiv.org/abs/1709.01507
    """

    def __init__(self, channels: int, squeezed: int, **where: Any):
        down, up = nn.Conv2d(channels, squeezed, 1, **where), nn.Conv2d(squeezed, channels, 1, **where)
        self.weights = nn.Sequential(nn.AdaptiveAvgPool2d(1), down, nn.SiLU(), up, nn.Sigmoid())

    def forward(self, x: Any) -> Any:
        return x * self.weights(x)


class MBConv(nn.Module):
    """An inverted residual with squeeze and excitation."""

    def __init__(self, channels: int, out: int, kernel: int, stride: int, expansion: int, **where: Any):
        inner = rounded(channels * expansion)
        wider = layer(channels, inner, **where) if expansion > 1 else []
        places = layer(inner, inner, kernel, stride, inner, **where)
        weighed = SqueezeExcitation(inner, max(1, channels // 4), **where)
        self.f = nn.Sequential(*wider, *places, weighed, *conv(inner, out, relu=None, **where))
        self.adds = stride == 1 and channels == out

    def forward(self, x: Any) -> Any:
        return x + self.f(x) if self.adds else self.f(x)


class EfficientNet(nn.Sequential):
    """The network of table 1, scaled."""

    def __init__(self, scale: Scale, classes: int = 1000, **where: Any):
        channels = rounded(32 * scale.width)
        layers: list[nn.Module] = [nn.Sequential(*layer(3, channels, 3, 2, **where))]
        for expansion, kernel, stride, out, repeats in TABLE_1:
            for i in range(ceil(repeats * scale.depth)):
                wide = rounded(out * scale.width)
                layers.append(MBConv(channels, wide, kernel, 1 if i else stride, expansion, **where))
                channels = wide
        head = nn.Sequential(*layer(channels, 4 * channels, **where))
        last = nn.Dropout(scale.dropout), nn.Linear(4 * channels, classes, **where)
        super().__init__(*layers, head, nn.AdaptiveAvgPool2d(1), nn.Flatten(), *last)


def efficientnet(name: str = "b0", classes: int = 1000, **where: Any) -> EfficientNet:
    """The network of that name, b0 to b7."""
    if name not in SCALES:
        raise ValueError(f"EfficientNets are b0 to b7, and {name!r} was asked; EfficientNet(Scale(…)) is any other")
    return EfficientNet(SCALES[name], classes, **where)
