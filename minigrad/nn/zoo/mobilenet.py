"""Networks for phones. They split a convolution into a depthwise part, on each channel, and a pointwise part, 1 × 1.

A convolution of k × k from C to O channels costs C · O · k² multiply-adds for each place. The depthwise part costs
C · k² and the pointwise part C · O, together 1/O + 1/k² as many. Two numbers make a network smaller:

    width multiplier α         α times as many channels       costs fall nearly with α²
    resolution multiplier ρ    the image is ρ times as wide   costs fall with ρ², parameters stay
"""

from __future__ import annotations

from math import ceil
from typing import Any, ClassVar, NamedTuple

from ... import nn
from .resnet import conv


class MobileNetV1(nn.Sequential):
    """A stack of depthwise-separable convolutions.

    width    α. The resolution multiplier ρ is set by the size of the image: 224 ρ

        Tables 6 and 7 of the paper: multiply-adds and parameters in millions
        α = 1       569    4.2         224 × 224    569
        α = 0.75    325    2.6         192 × 192    418
        α = 0.5     149    1.3         160 × 160    290
        α = 0.25     41    0.5         128 × 128    186

    Howard et al. 2017, “MobileNets: Efficient Convolutional Neural Networks for Mobile Vision Applications”, table 1.
    https://arxiv.org/abs/1704.04861
    """

    def __init__(self, width: float = 1.0, classes: int = 1000, **where: Any):
        wide = [int(n * width) for n in (32, 64, 128, 128, 256, 256, *[512] * 6, 1024, 1024)]
        strides = (1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1)
        layers = [nn.Sequential(*conv(3, wide[0], 3, 2, **where), nn.ReLU())]
        for c, out, stride in zip(wide, wide[1:], strides):
            places = *conv(c, c, 3, stride, groups=c, **where), nn.ReLU()
            layers.append(nn.Sequential(*places, *conv(c, out, **where), nn.ReLU()))
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(wide[-1], classes, **where))


class SqueezeExcitation(nn.Module):
    """Squeeze and excitation: weights each channel by a small network that reads the means of all channels.

    Hu et al. 2017, “Squeeze-and-Excitation Networks”, eq. 2 to 4. https://arxiv.org/abs/1709.01507
    """

    def __init__(self, channels: int, few: int, **where: Any):
        down, up = nn.Conv2d(channels, few, 1, **where), nn.Conv2d(few, channels, 1, **where)
        self.weights = nn.Sequential(nn.AdaptiveAvgPool2d(1), down, nn.SiLU(), up, nn.Sigmoid())

    def forward(self, x: Any) -> Any:
        return x * self.weights(x)


class InvertedResidual(nn.Module):
    """Expands the channels, convolves depthwise, and projects to few channels. No relu follows: it would lose data."""

    def __init__(
        self, channels: int, out: int, kernel: int, stride: int, expansion: int, relu: Any, squeezed: bool, **where: Any
    ):
        inner = channels * expansion
        wider = [*conv(channels, inner, **where), relu()] if expansion > 1 else []
        places = *conv(inner, inner, kernel, stride, groups=inner, **where), relu()
        weighed = [SqueezeExcitation(inner, max(1, channels // 4), **where)] if squeezed else []
        self.f = nn.Sequential(*wider, *places, *weighed, *conv(inner, out, **where))
        self.adds = stride == 1 and channels == out

    def forward(self, x: Any) -> Any:
        return x + self.f(x) if self.adds else self.f(x)


class InvertedResiduals(nn.Sequential):
    """A convolution, stages of inverted residuals from a table, a convolution of 1 × 1, and a dense layer.

    table           for each stage: expansion, kernel, stride of the first block, channels, blocks
    squeezed        whether blocks have squeeze and excitation
    width, depth    factors for the channels, which are rounded to multiples of 8, and for the blocks
    last            channels after the last stage
    """

    table: ClassVar[tuple[tuple[int, int, int, int, int], ...]]
    relu: ClassVar[Any] = nn.ReLU6
    squeezed: ClassVar[bool] = False

    def __init__(self, width: float, depth: float, last: int, dropout: float, classes: int, **where: Any):
        channels = round_channels(32 * width)
        layers: list[nn.Module] = [nn.Sequential(*conv(3, channels, 3, 2, **where), self.relu())]
        for expansion, kernel, stride, out, repeats in self.table:
            for i in range(ceil(repeats * depth)):
                shape = channels, round_channels(out * width), kernel, 1 if i else stride, expansion
                layers.append(InvertedResidual(*shape, self.relu, self.squeezed, **where))
                channels = round_channels(out * width)
        layers.append(nn.Sequential(*conv(channels, last, **where), self.relu()))
        head = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(dropout), nn.Linear(last, classes, **where)
        super().__init__(*layers, *head)


class MobileNetV2(InvertedResiduals):
    """Inverted residuals: few channels between blocks, many inside them.

    width    α; numbers of channels are rounded to multiples of 8

                                 parameters    multiply-adds at 224 × 224
        MobileNetV2()            3,504,872     300 M
        MobileNetV2(1.4)         6,108,776     582 M        the paper's table 4 has 6.9 M and 585 M

    Sandler et al. 2018, “MobileNetV2: Inverted Residuals and Linear Bottlenecks”, table 2.
    https://arxiv.org/abs/1801.04381
    """

    table = (
        *((1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 3, 2, 32, 3)),
        *((6, 3, 2, 64, 4), (6, 3, 1, 96, 3), (6, 3, 2, 160, 3), (6, 3, 1, 320, 1)),
    )

    def __init__(self, width: float = 1.0, classes: int = 1000, **where: Any):
        super().__init__(width, 1.0, round_channels(1280 * max(width, 1.0)), 0.2, classes, **where)


def round_channels(channels: float) -> int:
    """The nearest multiple of 8, or the next larger multiple if the nearest is below 0.9 · `channels`."""
    near = max(8, int(channels + 4) // 8 * 8)
    return near if near >= 0.9 * channels else near + 8


class Scale(NamedTuple):
    """The size of a network: width and depth relative to b0, the image size it is designed for, and its dropout."""

    width: float
    depth: float
    resolution: int
    dropout: float


SCALES = {  #                          parameters    multiply-adds
    "b0": Scale(1.0, 1.0, 224, 0.2),  # 5,288,548    0.39 G
    "b1": Scale(1.0, 1.1, 240, 0.2),  # 7,794,184    0.70 G
    "b2": Scale(1.1, 1.2, 260, 0.3),  # 9,109,994    1.0 G
    "b3": Scale(1.2, 1.4, 300, 0.3),  # 12,233,232   1.8 G
    "b4": Scale(1.4, 1.8, 380, 0.4),  # 19,341,616   4.2 G
    "b5": Scale(1.6, 2.2, 456, 0.4),  # 30,389,784   9.9 G
    "b6": Scale(1.8, 2.6, 528, 0.5),  # 43,040,704   19 G
    "b7": Scale(2.0, 3.1, 600, 0.5),  # 66,347,960   37 G
}


class EfficientNet(InvertedResiduals):
    """A network that grows in depth, width and resolution together: that of table 1, scaled.

    Compound scaling, eq. 3 of the paper: a step φ multiplies depth by 1.2^φ, width by 1.1^φ and resolution by 1.15^φ.
    The cost is proportional to depth, width² and resolution², so it grows by (1.2 · 1.1² · 1.15²)^φ ≈ 2^φ.

    Stochastic depth, which drops whole blocks in training (Huang et al. 2016), is left out.

    Tan & Le 2019, “EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks”, tables 1 and 2.
    https://arxiv.org/abs/1905.11946
    """

    table = (
        *((1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3)),
        *((6, 5, 1, 112, 3), (6, 5, 2, 192, 4), (6, 3, 1, 320, 1)),
    )
    relu, squeezed = nn.SiLU, True

    def __init__(self, scale: Scale, classes: int = 1000, **where: Any):
        width, depth, _, dropout = scale
        super().__init__(width, depth, 4 * round_channels(320 * width), dropout, classes, **where)


def efficientnet(name: str = "b0", classes: int = 1000, **where: Any) -> EfficientNet:
    """The network with this name, b0 to b7."""
    if name not in SCALES:
        raise ValueError(f"EfficientNets are b0 to b7, not {name!r}; EfficientNet(Scale(…)) makes any other")
    return EfficientNet(SCALES[name], classes, **where)
