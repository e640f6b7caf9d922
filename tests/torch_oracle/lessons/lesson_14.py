"""14 Memory and schedule."""

import torch


def lines():
    three = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    y = ((three * 2).flip(0) - (three + 1).exp()).numpy().round(2)
    c = (three + 1).exp()
    yield f"by names  {(c.flip(0) - c).numpy().round(2)}\n"
    yield f"eager     {y}\n"

    big = torch.ones(100, 100, dtype=torch.float64)
    small = big.sum(0)
    yield f" {2 * big.nbytes + small.nbytes:,} bytes"
    yield f" {big.nbytes + 2 * small.nbytes:,} bytes"
