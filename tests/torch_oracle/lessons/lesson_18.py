"""18 FLOPs are not time: work and parameters of the two kinds of convolution, as PyTorch counts them."""

import torch
from torch import nn

from .lesson_17 import macs_of


def lines():
    depthwise, pointwise = nn.Conv2d(64, 64, 3, padding=1, groups=64), nn.Conv2d(64, 64, 1)
    layers = {
        "full": nn.Conv2d(64, 64, 3, padding=1), "separable": nn.Sequential(depthwise, pointwise),
        "depthwise": depthwise, "pointwise": pointwise,
    }  # fmt: skip
    for name, layer in layers.items():
        parameters = sum(p.numel() for p in layer.parameters())
        yield f"{name:10} {parameters:7,} parameters {macs_of(layer, torch.ones(8, 64, 28, 28)):13,} MACs"
    x = torch.ones(8, 64, 28, 28)
    moved = 2 * x.nbytes + (x + x).nbytes
    yield f"a + b      {x.numel() / moved:8.3f} FLOPs a byte, {moved:9,} bytes"
