"""09 Define, then run."""

import numpy as np
import torch

import minigrad as mg


def lines():
    x, y = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([4.0, 5.0, 6.0])
    yield f"{(x * y).sum().item()}\n"
    yield f"{(x * y).sum().item()} {(x - y).square().mean().item()}\n"

    x = torch.tensor(0.5, dtype=torch.float64)
    w = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    loss = (w * x).tanh()
    (gw,) = torch.autograd.grad(loss, [w], create_graph=True)
    yield f"{np.round([loss.item(), gw.item()], 6)}\n"
    (curvature,) = torch.autograd.grad(gw, [w])
    yield f"by nodes: {curvature.item():.6f}"

    curve = moons()
    yield f"loss: {curve[0]:.2f} at first, {curve[-1]:.2f} at last"


def moons():
    points, labels = mg.data.moons(100, noise=0.1, seed=0)
    x, side = torch.tensor(points), torch.tensor(2.0 * labels - 1)
    rng = np.random.default_rng(0)
    first = rng.normal(0, 1, (2, 8)), np.zeros(8), rng.normal(0, 1, (8, 1))
    W, b, v = parameters = [torch.tensor(array, requires_grad=True) for array in first]
    optimizer = torch.optim.SGD(parameters, lr=1.0)
    curve = []
    for _ in range(300):
        loss = (1 + (-side * ((x @ W + b).tanh() @ v).reshape(-1)).exp()).log().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        curve.append(loss.item())
    return curve
