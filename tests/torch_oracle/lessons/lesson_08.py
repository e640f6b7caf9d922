"""08 A graph for each input."""

import torch


def road(x):
    y = x
    while y.item() > 1:
        y = y / 2 if y.item() % 2 == 0 else 3 * y + 1
    return y


def cost(degrees, threshold):
    return 0.2 * (20 - degrees) if degrees.item() < threshold.item() else 0.05 * (20 - degrees) ** 2


def lines():
    for start in (4.0, 6.0, 7.0, 8.0):
        x = torch.tensor(start, dtype=torch.float64, requires_grad=True)
        road(x).backward()
        yield f"backward: {x.grad.item():.6f}\n"

    degrees, threshold = (torch.tensor(number, requires_grad=True) for number in (14.0, 15.0))
    cost(degrees, threshold).backward()
    yield f"degrees.grad: {degrees.grad!s}   threshold.grad: {threshold.grad}"
    for t in (15, 14.5, 13.5, 13):
        yield f"threshold {t:4}: cost {cost(degrees, torch.tensor(t)).item():.1f}"

    x = torch.tensor([4.0, 0.0], requires_grad=True)
    y = torch.where(x > 0, x.sqrt(), 0 * x)
    y.sum().backward()
    yield f"forward: {y.detach()}   backward: {x.grad}"
