"""09 Define, then run."""

import numpy as np
import torch

import minigrad as mg

from .reader import initial_weights, scores


def lines():
    x, y = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([4.0, 5.0, 6.0])
    yield f"{(x * y).sum().item()}\n"

    x = torch.tensor(0.5, dtype=torch.float64)
    w = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    loss = (w * x).tanh()
    (gw,) = torch.autograd.grad(loss, [w], create_graph=True)
    yield f"{np.round([loss.item(), gw.item()], 6)}\n"
    (curvature,) = torch.autograd.grad(gw, [w])
    yield f"its gradient, by nodes: {curvature.item():.6f}"

    rng = np.random.default_rng(0)
    weights = initial_weights(rng)
    with torch.no_grad():
        yield f"{scores(['yui'], *weights).numpy().round(2)}\n"
    for epoch, losses in enumerate(training(weights, rng)):
        yield f"epoch {epoch}: {len(losses)} runs, mean loss {np.mean(losses):.2f}\n"


def training(weights, rng, most=10):
    """The losses of each of four epochs, over names of one length at a time."""
    names = mg.data.names().train
    optimizer = torch.optim.Adam(weights, lr=0.01)
    for _ in range(4):
        by_length = {}
        for i in rng.permutation(len(names)):
            by_length.setdefault(len(names[i][0]), []).append(names[i])
        groups = [each[i : i + most] for each in by_length.values() for i in range(0, len(each), most)]
        losses = []
        for i in rng.permutation(len(groups)):
            read, labels = zip(*groups[i])
            loss = torch.nn.functional.cross_entropy(scores(read, *weights), torch.tensor(labels))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        yield losses
