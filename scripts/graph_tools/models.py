"""Ten models of PyTorch that people draw, each a module with example arguments. The small ones are the tests' own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.support.torch_models import MODELS as SMALL


class BasicBlock(nn.Module):
    """As in torchvision's ResNet-18."""

    def __init__(self, inside: int, outside: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.bn1, self.relu = nn.BatchNorm2d(outside), nn.ReLU(inplace=True)
        self.conv2, self.bn2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False), nn.BatchNorm2d(outside)
        shortcut = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))
        self.downsample = None if stride == 1 else shortcut

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


def resnet18() -> nn.Module:
    stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    widths = [(64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)]
    stages = [nn.Sequential(BasicBlock(n, m, stride), BasicBlock(m, m, 1)) for n, m, stride in widths]
    return nn.Sequential(*stem, *stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb, self.lstm, self.out = nn.Embedding(50, 16), nn.LSTM(16, 32, num_layers=2), nn.Linear(32, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.lstm(self.emb(x))[0])


class Block(nn.Module):
    """A block of GPT-2, as nanoGPT writes it."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads, self.ln_1, self.ln_2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))

    def forward(self, x: Tensor) -> Tensor:
        b, t, c = x.shape
        parts = self.c_attn(self.ln_1(x)).split(c, dim=2)
        q, k, v = (part.view(b, t, self.heads, c // self.heads).transpose(1, 2) for part in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).contiguous().view(b, t, c))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    """GPT-2 with 124 million parameters: 12 blocks of 12 heads, 768 wide, and the head tied to the embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(50257, 768), nn.Embedding(1024, 768)
        self.h, self.ln_f = nn.ModuleList(Block(768, 12) for _ in range(12)), nn.LayerNorm(768)
        self.lm_head = nn.Linear(768, 50257, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, ids: Tensor) -> Tensor:
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


class Step(nn.Module):
    """A step of a GAN as a module: torchview and torchvista read nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.make, self.judge = (
            nn.Sequential(nn.Linear(2, 4), nn.Tanh()),
            nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1)),
        )

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        fake = self.make(torch.randn(len(x), 2))
        return (self.judge(fake.detach()) - self.judge(x)).mean(), -self.judge(fake).mean()


MODELS: dict[str, Callable[[], tuple[Any, Tensor]]] = {
    "MLP": SMALL["MLP"],
    "ResNet-18": lambda: (resnet18(), torch.randn(1, 3, 224, 224)),
    "LSTM": lambda: (Tagger(), torch.randint(0, 50, (7, 2))),
    "Transformer": SMALL["Transformer"],
    "GPT-2": lambda: (GPT(), torch.randint(0, 50257, (1, 64))),
    "VAE, two losses": SMALL["two losses"],
    "GAN step": lambda: (Step(), torch.randn(3, 4)),
    "MoE": SMALL["experts"],
    "weight tying": SMALL["weight tying"],
    "checkpointed block": SMALL["checkpoint"],
}


def deep(layers: int = 1000) -> tuple[nn.Module, Tensor]:
    """A model of so many linear layers, each followed by tanh."""
    return nn.Sequential(*[each for _ in range(layers) for each in (nn.Linear(8, 8), nn.Tanh())]), torch.randn(2, 8)
