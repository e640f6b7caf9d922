"""EfficientNet: a network that grows in depth, width and resolution together.

Compound scaling, eq. 3 of the paper: a step φ multiplies depth by 1.2^φ, width by 1.1^φ and resolution by 1.15^φ. The
cost is proportional to depth, width² and resolution², so it grows by (1.2 · 1.1² · 1.15²)^φ ≈ 2^φ.

Stochastic depth, which drops whole blocks in training (Huang et al. 2016), is left out.

Tan & Le 2019, “EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks”, tables 1 and 2.
https://arxiv.org/abs/1905.11946
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ... import nn
from .mobilenet import InvertedResiduals, round_channels


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
    """The network of table 1, scaled."""

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
