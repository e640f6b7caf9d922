"""11 Tracing."""

import numpy as np
import torch

from .reader import initial_weights, scores


def lines():
    rows = torch.tensor([[1.0, 1.0, 1.0], [1.0, 2.0, 3.0], [0.0, 0.0, 5.0]])
    yield f"{(rows * rows + 1).sum(1).tolist()} ['Python was here'] traces: 1"

    w, b = torch.tensor(2.0), 1.0
    yield f"first call: {(w * 3.0 + b).item()}"

    found = [round(bent(torch.tensor(number, dtype=torch.float64)).item(), 3) for number in (3.0, -1.0)]
    yield f"{found} traces: 1"

    weights = initial_weights(np.random.default_rng(0))
    loss = torch.nn.functional.cross_entropy(scores(["katarzyna"], *weights), torch.tensor([4]))
    lengths = [round(torch.linalg.norm(g).item(), 6) for g in torch.autograd.grad(loss, weights)]
    for way in ("eager", "traced"):
        yield f"{way}: loss {loss.item():.6f}, lengths of the gradients {lengths}, ops"


def bent(x):
    return (x * x if x > 0 else torch.exp(-x)) + 1
