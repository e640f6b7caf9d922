"""04 A whole array is one node."""

import numpy as np
import torch


def lines():
    x, y = (torch.tensor(value, requires_grad=True) for value in ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]))
    (x * y).sum().backward()
    yield f"arrays:  {x.grad} {y.grad}"

    x = torch.tensor([-2.0, -1.0, 0.0, 1.0, 2.0], requires_grad=True)
    (x**2).backward(gradient=torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0]))
    yield f"x.grad      {x.grad}"

    b = torch.tensor([100.0, 200.0, 300.0], requires_grad=True)
    (torch.arange(12.0).reshape(4, 3) + b).sum().backward()
    yield f"b.grad has shape {tuple(b.grad.shape)} and is {b.grad}"

    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    x.T.reshape(6).backward(gradient=torch.arange(1.0, 7.0))
    yield f"{x.grad}"

    yield from trained()


def trained():
    x = torch.tensor(np.random.default_rng(0).normal(size=(100, 2)))
    t = x @ torch.tensor([[2.0], [-3.0]], dtype=torch.float64) + 4
    w, b = (torch.zeros(shape, dtype=torch.float64, requires_grad=True) for shape in ((2, 1), (1,)))
    losses = []
    for _ in range(300):
        loss = ((x @ w + b - t[:, 0]) ** 2).mean()
        w.grad = b.grad = None
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
            b -= 0.1 * b.grad
        losses.append(loss.item())
    yield f"loss: {losses[0]:.2f} at first, {losses[100]:.2f} after 100 steps, {losses[-1]:.2f} after 300"
    yield f"b: {b.detach().numpy().round(3)}"
