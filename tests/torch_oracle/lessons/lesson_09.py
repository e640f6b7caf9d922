"""09 Define, then run."""

import numpy as np
import torch

import minigrad as mg


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
    weights = [torch.tensor(rng.normal(0, 0.2, shape), requires_grad=True) for shape in ((26, 24), (24, 24), (24, 7))]
    with torch.no_grad():
        yield f"{scores([[ord(letter) - ord('a')] for letter in 'yui'], *weights).numpy().round(2)}\n"
    for epoch, losses in enumerate(training(weights, rng)):
        yield f"epoch {epoch}: {len(losses)} runs, mean loss {np.mean(losses):.2f}\n"


def scores(columns, E, W, V):
    state = torch.zeros(1, 24, dtype=torch.float64)
    for column in columns:
        state = (E[column] + state @ W).tanh()
    return state @ V


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
            columns = [[ord(letter) - ord("a") for letter in column] for column in zip(*read)]
            loss = torch.nn.functional.cross_entropy(scores(columns, *weights), torch.tensor(labels))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        yield losses
