"""Networks for phones: a convolution taken apart into one over places, channel by channel, and one over channels.

A convolution of k × k from C to O channels costs C · O · k² multiply-adds for each place. Taken apart it costs C · k²
for the places and C · O for the channels: 1/O + 1/k² as many. Two numbers make a network smaller:

    width multiplier α         channels are α times as many     costs go with α², nearly
    resolution multiplier ρ    the picture is ρ times as wide   costs go with ρ², parameters stay
"""

from __future__ import annotations

from typing import Any

from .. import nn


def conv(
    channels: int, out: int, kernel: int = 1, stride: int = 1, groups: int = 1, relu: Any = nn.ReLU6, **where: Any
) -> list[nn.Module]:
    """A convolution, batch normalisation, and a relu, which stops at 6; another one, or none for None."""
    layer = nn.Conv2d(channels, out, kernel, stride, kernel // 2, groups=groups, bias=False, **where)
    return [layer, nn.BatchNorm2d(out, **where), *([] if relu is None else [relu()])]


class MobileNetV1(nn.Sequential):
    """Depthwise-separable convolutions, one behind the other.

    width    α. The resolution multiplier ρ is the size of the picture: 224 ρ

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
        first = nn.Sequential(*conv(3, wide[0], 3, 2, relu=nn.ReLU, **where))
        blocks = [separable(c, out, stride, **where) for c, out, stride in zip(wide, wide[1:], strides)]
        super().__init__(first, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(wide[-1], classes, **where))


def separable(channels: int, out: int, stride: int, **where: Any) -> nn.Sequential:
    """3 × 3 over places, channel by channel; then 1 × 1 over channels."""
    places = conv(channels, channels, 3, stride, channels, relu=nn.ReLU, **where)
    return nn.Sequential(*places, *conv(channels, out, relu=nn.ReLU, **where))


class InvertedResidual(nn.Module):
    """To more channels, over places, and back to few, without a relu there: it would lose what so few channels hold."""

    def __init__(self, channels: int, out: int, stride: int, expansion: int, **where: Any):
        inner = channels * expansion
        wider = conv(channels, inner, **where) if expansion > 1 else []
        places = conv(inner, inner, 3, stride, inner, **where)
        self.f = nn.Sequential(*wider, *places, *conv(inner, out, relu=None, **where))
        self.adds = stride == 1 and channels == out

    def forward(self, x: Any) -> Any:
        return x + self.f(x) if self.adds else self.f(x)


class MobileNetV2(nn.Sequential):
    """Inverted residuals: between blocks there are few channels, and inside them many.

    width    α, of which numbers of channels are rounded to eighths

                                 parameters    multiply-adds at 224 × 224
        MobileNetV2()            3,504,872     300 M
        MobileNetV2(1.4)         6,108,776     582 M        the paper's table 4 has 6.9 M and 585 M

    Sandler et al. 2018, “MobileNetV2: Inverted Residuals and Linear Bottlenecks”, table 2.
    https://arxiv.org/abs/1801.04381
    """

    def __init__(self, width: float = 1.0, classes: int = 1000, **where: Any):
        channels = rounded(32 * width)
        layers = [nn.Sequential(*conv(3, channels, 3, 2, **where))]
        for expansion, out, repeats, stride in TABLE_2:
            for i in range(repeats):
                wide = rounded(out * width)
                layers.append(InvertedResidual(channels, wide, 1 if i else stride, expansion, **where))  # type: ignore[arg-type]
                channels = wide
        last = rounded(1280 * max(width, 1.0))
        layers.append(nn.Sequential(*conv(channels, last, **where)))
        head = nn.Dropout(0.2), nn.Linear(last, classes, **where)
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), *head)


# Expansion, channels, repeats, stride.
TABLE_2 = (
    *((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2)),
    *((6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)),
)


def rounded(channels: float) -> int:
    """To a multiple of 8, and not to less than nine tenths."""
    near = max(8, int(channels + 4) // 8 * 8)
    return near if near >= 0.9 * channels else near + 8
