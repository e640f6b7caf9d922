"""17 What grows how: the products that PyTorch's own counter counts are twice the multiply-adds of the lesson."""

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode


def lines():
    macs = macs_of(nn.Linear(300, 100, bias=False), torch.ones(10, 300))
    yield f"{macs:,} on paper, {macs:,} MACs, {2 * macs:,} FLOPs"
    macs = macs_of(nn.Conv2d(16, 16, 3, padding=1), torch.ones(1, 16, 8, 8))
    yield f"{macs:,} on paper, {macs:,} counted"

    for length in (64, 384, 4096):
        block, tokens = Block(64), torch.zeros(1, length, 64, device="meta")
        linear, looks = macs_of(block.to("meta"), tokens), 2 * length**2 * 64
        yield f"{length:5} tokens: linear {linear - looks:13,}  attention {looks:13,}"

    for depth in (1, 2, 8, 64):
        stack = nn.Sequential(*(nn.Linear(64, 64) for _ in range(depth)))
        x = torch.zeros(32, 64)
        with FlopCounterMode(display=False) as counted:
            stack(x).sum().backward()
        yield f"{depth:2} layers: {counted.get_total_flops() / 2 / macs_of(stack, x):.3f} times forward"


def macs_of(net, x):
    """MACs of a forward pass."""
    with FlopCounterMode(display=False) as counted, torch.no_grad():
        net(x)
    return counted.get_total_flops() // 2


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, t):
        q, k, v = self.qkv(t).chunk(3, -1)
        looks = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        t = t + self.out(looks @ v)
        return t + self.down(self.up(t).relu())
