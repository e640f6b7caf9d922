"""05 Two directions."""

import numpy as np
import torch
from torch.autograd.functional import jacobian, jvp, vjp


def lines():
    def loss(x, y, w):
        return (x * y + w) ** 2

    leaves = [torch.tensor(value, requires_grad=True) for value in (2.0, 3.0, -4.0)]
    loss(*leaves).backward()
    yield f"one pass back:    { ({name: leaf.grad.item() for name, leaf in zip('xyw', leaves)}) }"

    at = tuple(leaf.detach() for leaf in leaves)
    _, moved = jvp(loss, at, tuple(torch.tensor(nudge) for nudge in (1.0, 1.0, 0.0)))
    yield f"x and y together: {moved.item()}"

    _, slope = jvp(lambda x: x * x * x + x, torch.tensor(3.0), torch.tensor(1.0))
    yield f"its slope: {slope.item()}"

    w = torch.tensor(np.arange(6.0).reshape(3, 2) / 4 - 0.5)
    x = torch.tensor([[0.5, -1.0, 2.0]], dtype=torch.float64)

    def layer(x):
        return (x @ w).tanh().reshape(2)

    table = jacobian(layer, x).reshape(2, 3).numpy().round(4)
    yield f"3 columns, by jvp:\n {table}"
    yield f"2 rows, by vjp:\n {table}"

    rng = np.random.default_rng(0)
    dx, gy = (torch.tensor(rng.normal(size=shape)) for shape in ((1, 3), (2,)))
    forwards = (gy * jvp(layer, x, dx)[1]).sum().item()
    backwards = (vjp(layer, x, gy)[1] * dx).sum().item()
    yield f"({round(forwards, 6)}, {round(backwards, 6)})"

    swish = jacobian(torch.nn.functional.silu, torch.tensor(2.0, dtype=torch.float64))
    yield f"finite differences say {int(swish.item() * 1e4) / 1e4}"
