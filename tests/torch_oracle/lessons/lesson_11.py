"""11 Tracing."""

import torch


def lines():
    for numbers in ([1.0, 1.0, 1.0], [1.0, 2.0, 3.0], [0.0, 0.0, 5.0]):
        x = torch.tensor(numbers)
        yield f"{(x * x + 1).sum().item()} ['Python was here']"

    w, b = torch.tensor(2.0), 1.0
    yield f"first call: {(w * 3.0 + b).item()}"

    found = [round(bent(torch.tensor(number, dtype=torch.float64)).item(), 3) for number in (3.0, -1.0)]
    yield f"{found} traces: 1"

    a = torch.tensor(9.0, dtype=torch.float64, requires_grad=True)
    y = a
    while abs(y * y - a) > 1e-12 * a:
        y = (y + a / y) / 2
    y.backward()
    yield f"traced: root {y.item():.4f}, gradient {a.grad.item():.4f}, ops"


def bent(x):
    return (x * x if x > 0 else torch.exp(-x)) + 1
