"""Stacked convolutions followed by dense layers: AlexNet and VGG."""

from __future__ import annotations

from typing import Any

from ... import nn


class AlexNet(nn.Sequential):
    """Five convolutions and three dense layers, in the single-machine version.

                            parameters    multiply-adds at 224 × 224
        AlexNet()           61,100,840    714 M

    Krizhevsky 2014, “One weird trick for parallelizing convolutional neural networks”, §5.
    https://arxiv.org/abs/1404.5997
    """

    def __init__(self, classes: int = 1000, width: int = 64, **where: Any):
        n, dense = width, 64 * width
        features = nn.Sequential(
            *(nn.Conv2d(3, n, 11, 4, 2, **where), nn.ReLU(), nn.MaxPool2d(3, 2)),
            *(nn.Conv2d(n, 3 * n, 5, 1, 2, **where), nn.ReLU(), nn.MaxPool2d(3, 2)),
            *(nn.Conv2d(3 * n, 6 * n, 3, 1, 1, **where), nn.ReLU()),
            *(nn.Conv2d(6 * n, 4 * n, 3, 1, 1, **where), nn.ReLU()),
            *(nn.Conv2d(4 * n, 4 * n, 3, 1, 1, **where), nn.ReLU(), nn.MaxPool2d(3, 2)),
        )
        classifier = nn.Sequential(
            *(nn.Flatten(), nn.Dropout(), nn.Linear(4 * n * 36, dense, **where), nn.ReLU()),
            *(nn.Dropout(), nn.Linear(dense, dense, **where), nn.ReLU(), nn.Linear(dense, classes, **where)),
        )
        super().__init__({"features": features, "pool": nn.AdaptiveAvgPool2d(6), "classifier": classifier})


class VGG(nn.Sequential):
    """Convolutions of 3 × 3 in five stages; each stage halves the resolution.

    depth    number of layers with a weight, as in table 1 of the paper: 11, 13, 16 or 19
    width    channels of the first stage; dense layers have 64 · width features, 4096 in the paper

                    parameters     multiply-adds at 224 × 224
        VGG(11)     132,863,336     7.61 G
        VGG(16)     138,357,544    15.47 G
        VGG(19)     143,667,240    19.63 G

    Simonyan & Zisserman 2014, “Very Deep Convolutional Networks for Large-Scale Image Recognition”, tables 1 and 2.
    https://arxiv.org/abs/1409.1556
    """

    def __init__(self, depth: int = 16, classes: int = 1000, width: int = 64, **where: Any):
        stages = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
        if depth not in stages:
            raise ValueError(f"VGG has 11, 13, 16 or 19 layers, not {depth}")
        layers: list[nn.Module] = []
        channels = 3
        for stage, repeats in enumerate(stages[depth]):
            wide = width * min(2**stage, 8)
            for _ in range(repeats):
                layers += nn.Conv2d(channels, wide, 3, padding=1, **where), nn.ReLU()
                channels = wide
            layers.append(nn.MaxPool2d(2, 2))
        features = nn.Sequential(*layers)
        classifier = nn.Sequential(
            *(nn.Flatten(), nn.Linear(channels * 49, 64 * width, **where), nn.ReLU(), nn.Dropout()),
            *(nn.Linear(64 * width, 64 * width, **where), nn.ReLU(), nn.Dropout()),
            nn.Linear(64 * width, classes, **where),
        )
        super().__init__({"features": features, "pool": nn.AdaptiveAvgPool2d(7), "classifier": classifier})
