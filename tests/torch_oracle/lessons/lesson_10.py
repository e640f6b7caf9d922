"""10 Control flow in graphs."""

import numpy as np
import torch

from .reader import initial_weights, scores


def lines():
    x = torch.tensor(-1.0, requires_grad=True)
    torch.where(x > 0, torch.sqrt(x), 0 * x).backward()
    yield f"x = -1.0: where gives 0, gradient {x.grad:g}; cond"

    for number in (4.0, 9.0, 1e6):
        root, turns, slope = newton(number)
        yield f"a = {number:9,.0f}: root {root:10.4f} after {turns:2} turns, gradient {slope:.4f}"
    root, turns, slope = newton(1.0)
    yield f"root {root:.4f} after {turns} turns, gradient {slope:.4f}"

    weights = initial_weights(np.random.default_rng(0))
    for name in ("yui", "sopuruchukwu", "oluwatobiloba"):
        loss = torch.nn.functional.cross_entropy(scores([name], *weights), torch.tensor([1])).item()
        yield f"{name:13} loss {loss:.6f}, eagerly"


def newton(number):
    """The root by Newton's iteration, how many turns it took, and its gradient."""
    a = torch.tensor(number, dtype=torch.float64, requires_grad=True)
    y, turns = a, 0
    while abs(y * y - a) > 1e-12 * a:
        y, turns = (y + a / y) / 2, turns + 1
    (slope,) = torch.autograd.grad(y, a)
    return y.item(), turns, slope.item()
