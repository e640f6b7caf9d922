"""21 Twice, to keep less: what a checkpoint keeps, and what micro-batches add up to, is the same in PyTorch."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from .lesson_16 import kept_by


def lines():
    layers = [nn.Sequential(nn.Linear(32, 32), nn.Tanh()) for _ in range(64)]
    x = torch.randn(1024, 32)
    net = nn.Sequential(*layers)
    yield f"{like(x, lambda: net(x))} arrays saved; the peak"
    half = like(x, lambda: nn.Sequential(*layers[8:16])(checkpoint(net[:8], x, use_reentrant=False)))
    yield f"after forward {half} arrays"
    for k in (2, 4, 8, 16, 32):
        between = like(x, lambda k=k: checkpoint_sequential(net, k, x, use_reentrant=False)) - 64 // k
        yield f"{k:2} parts: {between + 64 // k} arrays on paper, {between + 64 // k} measured"

    net = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10))
    rows, label = torch.randn(256, 64), torch.randint(0, 10, (256,))
    whole = gradient(net, rows, label, [256], lambda n: 1)
    parts = gradient(net, rows, label, [64] * 4, lambda n: 1)
    close = torch.allclose(parts / 4, whole, atol=1e-6)
    yield f"undivided: {parts @ whole / (whole @ whole):.4f} times the whole batch's; divided by 4: equal is {close}"
    whole = gradient(net, rows[:100], label, [100], lambda n: 1)
    parts = gradient(net, rows, label, [32, 32, 32, 4], lambda n: n / 100)
    yield f"each by its share of the rows: equal is {torch.allclose(parts, whole, atol=1e-6)}"


def like(x, run):
    """How many arrays like x a run keeps, by the hooks and by who holds them: neither x itself nor weights."""
    own = x.untyped_storage().data_ptr()
    return sum(size == x.nbytes for at, size in kept_by(run).items() if at != own)


def gradient(net, x, label, sizes, weight):
    net.zero_grad()
    start = 0
    for n in sizes:
        part = slice(start, start + n)
        (nn.functional.cross_entropy(net(x[part]), label[part]) * weight(n)).backward()
        start += n
    return torch.cat([p.grad.ravel() for p in net.parameters()])
