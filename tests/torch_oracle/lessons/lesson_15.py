"""15 Compiled code."""

import numpy as np
import torch

import minigrad as mg


def lines():
    bent = torch.tanh(torch.ones(3, dtype=torch.float64) * torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64))
    yield str(bent.numpy().round(4))
    losses = trained(100)
    yield f"loss {losses[0]:.6f} →"
    yield f"→ {losses[-1]:.6f}; the graph has"


def trained(steps):
    points, labels = mg.data.moons(100, noise=0.1, seed=0)
    x, side = torch.tensor(points), torch.tensor(2.0 * labels[:, None] - 1)
    rng = np.random.default_rng(0)
    start = [rng.normal(size=(2, 16)), np.zeros(16), rng.normal(size=(16, 1)) / 4]
    W, b, v = weights = [torch.tensor(w, requires_grad=True) for w in start]
    losses = []
    for _ in range(steps):
        loss = torch.log(1 + torch.exp(-side * (torch.tanh(x @ W + b) @ v))).mean()
        slopes = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            for w, g in zip(weights, slopes):
                w -= 0.5 * g
        losses.append(loss.item())
    return losses
