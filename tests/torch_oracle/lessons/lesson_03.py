"""03 Train a network."""

import random

import numpy as np
import torch

import minigrad as mg


def descent(rate, steps=20):
    """The path of w under gradient descent on (w − 3)², from 0."""
    w = torch.zeros((), dtype=torch.float64, requires_grad=True)
    optimizer, path = torch.optim.SGD([w], lr=rate), [0.0]
    for _ in range(steps):
        optimizer.zero_grad()
        ((w - 3) ** 2).backward()
        optimizer.step()
        path.append(w.item())
    return path


def layer(rng, inputs, neurons):
    rows = [[rng.uniform(-1, 1) for _ in range(inputs + 1)] for _ in range(neurons)]
    return torch.tensor(rows, dtype=torch.float64, requires_grad=True)


def weigh(rows, xs):
    return xs @ rows[:, :-1].T + rows[:, -1]


def on_moons(clear=True):
    """The losses of 200 steps on the two moons."""
    points, labels = mg.data.moons(60, noise=0.1, seed=0)
    xs, signs = torch.tensor(points), torch.tensor(np.where(labels == 1, -1.0, 1.0))
    rng = random.Random(0)
    hidden, output = layer(rng, 2, 8), layer(rng, 8, 1)
    optimizer, curve = torch.optim.SGD([hidden, output], lr=1.5), []
    for _ in range(200):
        loss = torch.log(1 + torch.exp(signs * weigh(output, weigh(hidden, xs).tanh())[:, 0])).mean()
        if clear:
            optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        curve.append(loss.item())
    return curve


def on_arrays(rate, steps=300):
    """The losses of the network of arrays, from the numbers that minigrad draws for it."""
    points, labels = mg.data.moons(60, noise=0.1, seed=0)
    rng = np.random.default_rng(0)
    net = mg.nn.Sequential(mg.nn.Linear(2, 8, rng=rng), mg.nn.Linear(8, 1, rng=rng))
    w, b, v, c = (torch.tensor(p.numpy(), dtype=torch.float64, requires_grad=True) for p in net.parameters())
    optimizer, losses = torch.optim.SGD([w, b, v, c], lr=rate), []
    for _ in range(steps):
        scores = (torch.tensor(points) @ w.T + b).tanh() @ v.T + c
        targets = torch.tensor(labels, dtype=torch.float64)[:, None]
        loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def lines():
    losses = on_arrays(18)
    yield f"at 18: {losses[0]:.2f} at first, {max(losses):.1f} at most, {losses[-1]:.2f} at last"
    yield " ".join(f"{w:.2f}" for w in descent(0.1))
    for rate in (0.01, 0.1, 0.5, 0.9, 1.0, 1.1):
        path = descent(rate)
        yield f"learning rate {rate:4}: {' '.join(f'{w:7.2f}' for w in path[:6])}  …  after 20 steps {path[-1]:8.2f}"
    cleared, forgotten = on_moons(), on_moons(clear=False)
    yield f"loss: {cleared[0]:.2f} before, {cleared[-1]:.2f} after;"
    yield f"cleared {cleared[-1]:.2f}, not cleared {forgotten[-1]:.2f}"
