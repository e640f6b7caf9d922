"""12 Three ways."""

import numpy as np
import torch

import minigrad as mg

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def lines():
    losses, slopes = trained(100)
    yield f"loss {losses[0]:.6f} → {losses[-1]:.6f}"
    for name, slope in zip("EWV", slopes):
        yield f"gradient of {name}: length {torch.linalg.norm(slope):.6f}"


def trained(steps):
    """The losses, and the gradients of the first step."""
    six = [(name, label) for name, label in mg.data.names().train if len(name) == 6]
    letters = torch.tensor([[LETTERS.index(letter) for letter in name] for name, _ in six])
    labels = torch.tensor([label for _, label in six])
    rng = np.random.default_rng(0)
    start = [rng.normal(0, 0.2, shape) for shape in ((26, 24), (24, 24), (24, 7))]
    E, W, V = weights = [torch.tensor(w, requires_grad=True) for w in start]
    optimizer = torch.optim.SGD(weights, lr=1.0)
    losses, slopes = [], None
    for _ in range(steps):
        state = torch.zeros(1, 24, dtype=torch.float64)
        for column in letters.T:
            state = torch.tanh(E[column] + state @ W)
        loss = torch.nn.functional.cross_entropy(state @ V, labels)
        optimizer.zero_grad()
        loss.backward()
        slopes = slopes or [w.grad.clone() for w in weights]
        optimizer.step()
        losses.append(loss.item())
    return losses, slopes
