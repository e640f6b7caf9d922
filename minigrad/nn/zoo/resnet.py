"""Residual networks: each block adds to its input.

                        parameters    multiply-adds at 224 × 224
        resnet(18)      11,689,512     1.814 G
        resnet(34)      21,797,672     3.664 G
        resnet(50)      25,557,032     4.089 G
        resnet(101)     44,549,160     7.801 G
        resnet(152)     60,192,808    11.514 G

The paper's table 1 has 3.8 G for 50 layers: its blocks have the stride in the first convolution. Here the second,
of 3 × 3, has it, as in Goyal et al. 2017, §5.1, and in later code. https://arxiv.org/abs/1706.02677

He et al. 2015, “Deep Residual Learning for Image Recognition”, fig. 5 and table 1. https://arxiv.org/abs/1512.03385
"""

from __future__ import annotations

from typing import Any

from ... import nn

Convolution = tuple[int, int, int]  # output channels, kernel, stride


def conv(channels: int, out: int, kernel: int = 1, stride: int = 1, groups: int = 1, **where: Any) -> list[nn.Module]:
    """A convolution and a batch normalisation."""
    layer = nn.Conv2d(channels, out, kernel, stride, kernel // 2, groups=groups, bias=False, **where)
    return [layer, nn.BatchNorm2d(out, **where)]


class ResidualBlock(nn.Module):
    """y = relu(x + f(x)). If f changes the shape, x passes through a convolution of 1 × 1.

    convolutions    the convolutions of f, with a relu between each two
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
    """Two convolutions of 3 × 3."""
    return (width, 3, stride), (width, 3, 1)


def bottleneck(width: int, stride: int) -> tuple[Convolution, ...]:
    """1 × 1 to fewer channels, 3 × 3, and 1 × 1 to four times as many."""
    return (width, 1, 1), (width, 3, stride), (4 * width, 1, 1)


class ResNet(nn.Module):
    """A stem, stages of blocks, and a dense layer. Each stage halves the resolution and doubles the channels.

    f          the kind of block: plain or bottleneck
    repeats    the number of blocks of each stage
    width      the channels of the first stage
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
    """The network whose number of layers with a weight is `depth`: 18, 34, 50, 101 or 152."""
    if depth not in REPEATS:
        raise ValueError(f"residual networks of the paper have {', '.join(map(str, REPEATS))} layers, not {depth}")
    return ResNet(plain if depth < 50 else bottleneck, REPEATS[depth], classes, width, **where)
