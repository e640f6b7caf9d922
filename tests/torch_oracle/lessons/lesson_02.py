"""02 The chain rule, backwards."""

import torch


def lines():
    x, y, w = (torch.tensor(value, requires_grad=True) for value in (2.0, 3.0, -4.0))
    ((x * y + w) ** 2).backward()
    for name, leaf in {"x": x, "y": y, "w": w}.items():
        yield f"{name}.grad = {leaf.grad:g}, nudging says"

    x = torch.tensor(3.0, requires_grad=True)
    (x * x + x).backward()
    yield f"x * x + x: += gives {x.grad:g}, ="

    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = torch.tensor([4.0, 5.0, 6.0], requires_grad=True)
    loss = (x * y).sum()
    loss.backward()
    yield f"{loss.item()}\n"
    yield f"x.grad = {x.grad}"
    yield f"y.grad = {y.grad}"
