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

from typing import Any, ClassVar

from .. import nn


class Block(nn.Module):
    """y = relu(x + f(x)); where the shape changes, x passes a convolution of 1 × 1."""

    expansion: ClassVar[int] = 1

    def __init__(self, channels: int, width: int, stride: int, **where: Any):
        self.f = self.branch(channels, width, stride, **where)
        out = width * self.expansion
        self.shortcut: nn.Module = nn.Identity()
        if stride > 1 or channels != out:
            self.shortcut = normed(channels, out, 1, stride, **where)

    def branch(self, channels: int, width: int, stride: int, **where: Any) -> nn.Sequential:
        """f: two convolutions of 3 × 3."""
        return nn.Sequential(normed(channels, width, 3, stride, **where), nn.ReLU(), normed(width, width, 3, **where))

    def forward(self, x: Any) -> Any:
        return (self.f(x) + self.shortcut(x)).relu()


class Bottleneck(Block):
    """The same with f through fewer channels: 1 × 1, 3 × 3, and 1 × 1 to four times as many."""

    expansion = 4

    def branch(self, channels: int, width: int, stride: int, **where: Any) -> nn.Sequential:
        return nn.Sequential(
            *(normed(channels, width, 1, **where), nn.ReLU()),
            *(normed(width, width, 3, stride, **where), nn.ReLU()),
            normed(width, 4 * width, 1, **where),
        )


def normed(channels: int, out: int, kernel: int, stride: int = 1, **where: Any) -> nn.Sequential:
    """A convolution, and batch normalisation of what it gives."""
    conv = nn.Conv2d(channels, out, kernel, stride, kernel // 2, bias=False, **where)
    return nn.Sequential(conv, nn.BatchNorm2d(out, **where))


class ResNet(nn.Module):
    """A stem, stages of blocks, each of half the resolution and twice the channels, and a dense layer.

    repeats    blocks of each stage
    width      channels of the first
    """

    def __init__(
        self, block: type[Block], repeats: tuple[int, ...], classes: int = 1000, width: int = 64, **where: Any
    ):
        self.stem = nn.Sequential(normed(3, width, 7, 2, **where), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        stages, channels = [], width
        for stage, n in enumerate(repeats):
            blocks = []
            for i in range(n):
                blocks.append(block(channels, width * 2**stage, 2 if stage and not i else 1, **where))
                channels = width * 2**stage * block.expansion
            stages.append(nn.Sequential(*blocks))
        self.stages = nn.Sequential(*stages)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(channels, classes, **where)

    def forward(self, x: Any) -> Any:
        return self.head(self.pool(self.stages(self.stem(x))).flatten(1))


REPEATS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}


def resnet(depth: int, classes: int = 1000, width: int = 64, **where: Any) -> ResNet:
    """The network of so many layers with a weight: 18, 34, 50, 101 or 152."""
    if depth not in REPEATS:
        raise ValueError(f"a residual network of the paper has {', '.join(map(str, REPEATS))} layers, and not {depth}")
    return ResNet(Block if depth < 50 else Bottleneck, REPEATS[depth], classes, width, **where)
