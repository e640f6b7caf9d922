"""12 Three ways."""

import numpy as np
import torch

import minigrad as mg

from .reader import initial_weights, scores


def lines():
    losses, slopes = trained(100)
    yield f"loss {losses[0]:.6f} → {losses[-1]:.6f}"
    for name, slope in zip("EWV", slopes):
        yield f"gradient of {name}: length {torch.linalg.norm(slope):.6f}"


def trained(steps):
    """The losses, and the gradients of the first step."""
    names, labels = zip(*((name, label) for name, label in mg.data.names().train if len(name) == 6))
    weights = initial_weights(np.random.default_rng(0))
    optimizer = torch.optim.SGD(weights, lr=1.0)
    losses, slopes = [], None
    for _ in range(steps):
        loss = torch.nn.functional.cross_entropy(scores(names, *weights), torch.tensor(labels))
        optimizer.zero_grad()
        loss.backward()
        slopes = slopes or [w.grad.clone() for w in weights]
        optimizer.step()
        losses.append(loss.item())
    return losses, slopes
