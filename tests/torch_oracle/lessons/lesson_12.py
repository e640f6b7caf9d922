"""12 Three ways."""

import numpy as np
import torch

import minigrad as mg


def lines():
    losses, slopes = trained(100)
    yield f"loss {losses[0]:.6f} → {losses[-1]:.6f}"
    for shape, slope in zip(("(2, 16)", "(16,)", "(16, 1)", "(1,)"), slopes):
        yield f"gradient {shape:8}  length {torch.linalg.norm(slope):.6f}"


def trained(steps):
    """The losses, and the gradients of the first step."""
    points, labels = mg.data.moons(200, noise=0.1, seed=0)
    x, side = torch.tensor(points), torch.tensor(2.0 * labels[:, None] - 1)
    rng = np.random.default_rng(0)
    start = [rng.normal(size=(2, 16)), np.zeros(16), rng.normal(size=(16, 1)) / 4, np.zeros(1)]
    W, b, v, c = weights = [torch.tensor(w, requires_grad=True) for w in start]
    optimizer = torch.optim.SGD(weights, lr=1.0)
    losses, slopes = [], None
    for _ in range(steps):
        score = torch.tanh(x @ W + b) @ v + c
        loss = torch.log(1 + torch.exp(-side * score)).mean()
        optimizer.zero_grad()
        loss.backward()
        slopes = slopes or [w.grad.clone() for w in weights]
        optimizer.step()
        losses.append(loss.item())
    return losses, slopes
