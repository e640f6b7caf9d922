"""Residual networks: each block adds to what it is given.

                        parameters    multiply-adds at 224 × 224
        resnet(18)      11,689,512     1.814 G
        resnet(34)      21,797,672     3.664 G
        resnet(50)      25,557,032     4.089 G
        resnet(101)     44,549,160     7.801 G
        resnet(152)     60,192,808    11.514 G

The paper's table 1 has 3.8 G for 50 layers: there the first convolution of a block has its stride, here the second, of
3 × 3, as in Goyal et al. 2017, §5.1, and ever since. https://arxiv.org/abs/1706.02677

He et al. 2015, “Deep Residual Learning for Image Recognition”, fig. 5 and table 1. https://arxiv.org/abs/1512.03385
"""

from __future__ import annotations

from typing import Any

from ... import nn

Convolution = tuple[int, int, int]  # channels that it gives, kernel, stride


def conv(channels: int, out: int, kernel: int = 1, stride: int = 1, groups: int = 1, **where: Any) -> list[nn.Module]:
    """A convolution, and batch normalisation of what it gives."""
    layer = nn.Conv2d(channels, out, kernel, stride, kernel // 2, groups=groups, bias=False, **where)
    return [layer, nn.BatchNorm2d(out, **where)]


class ResidualBlock(nn.Module):
    """y = relu(x + f(x)); where the shape changes, x passes a convolution of 1 × 1.

    convolutions    of f, with a relu between two
    """

    def __init__(self, channels: int, *convolutions: Convolution, **where: Any):
        layers: list[nn.Module] = []
        wide, shrinks = channels, 1
        for out, kernel, stride in convolutions:
            layers += nn.Sequential(*conv(wide, out, kernel, stride, **where)), nn.ReLU()
            wide, shrinks = out, shrinks * stride
        self.f = nn.Sequential(*layers[:-1])
        changes = shrinks > 1 or wide != channels
        self.shortcut = nn.Sequential(*(conv(channels, wide, 1, shrinks, **where) if changes else []))

    def forward(self, x: Any) -> Any:
        return (self.f(x) + self.shortcut(x)).relu()


def plain(width: int, stride: int) -> tuple[Convolution, ...]:
    """3 × 3 twice."""
    return (width, 3, stride), (width, 3, 1)


def bottleneck(width: int, stride: int) -> tuple[Convolution, ...]:
    """3 × 3 through fewer channels, with 1 × 1 before it, and behind it to four times as many."""
    return (width, 1, 1), (width, 3, stride), (4 * width, 1, 1)


class ResNet(nn.Module):
    """A stem, stages of blocks, each of half the resolution and twice the channels, and a dense layer.

    f          of each block: plain or bottleneck
    repeats    blocks of each stage
    width      channels of the first
    """

    def __init__(self, f: Any, repeats: tuple[int, ...], classes: int = 1000, width: int = 64, **where: Any):
        self.stem = nn.Sequential(nn.Sequential(*conv(3, width, 7, 2, **where)), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        self.stages, channels = nn.Sequential(), width
        for stage, n in enumerate(repeats):
            blocks = []
            for i in range(n):
                convolutions = f(width * 2**stage, 2 if stage and not i else 1)
                blocks.append(ResidualBlock(channels, *convolutions, **where))
                channels = convolutions[-1][0]
            self.stages.append(nn.Sequential(*blocks))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(channels, classes, **where)

    def forward(self, x: Any) -> Any:
        return self.head(self.pool(self.stages(self.stem(x))).flatten(1))


REPEATS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}


def resnet(depth: int, classes: int = 1000, width: int = 64, **where: Any) -> ResNet:
    """The network of so many layers with a weight: 18, 34, 50, 101 or 152."""
    if depth not in REPEATS:
        raise ValueError(f"a residual network of the paper has {', '.join(map(str, REPEATS))} layers, and not {depth}")
    return ResNet(plain if depth < 50 else bottleneck, REPEATS[depth], classes, width, **where)
