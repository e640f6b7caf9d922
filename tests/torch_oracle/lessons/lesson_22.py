"""22 Many workers, one gradient: four of PyTorch's gloo, each in a thread, add up to what minigrad's ranks do."""

from concurrent.futures import ThreadPoolExecutor

import torch
from torch import distributed, nn
from torch.utils.data import DistributedSampler

from minigrad.data import text

P = 4


def lines():
    letters = sorted(set(text()))
    alice = torch.tensor([letters.index(letter) for letter in text()[:257]])
    torch.manual_seed(0)
    net = nn.Sequential(nn.Embedding(65, 32), nn.Tanh(), nn.Linear(32, 65)).double()

    def gradient(part):
        loss = nn.functional.cross_entropy(net(alice[:-1][part]), alice[1:][part])
        return torch.cat([g.ravel() for g in torch.autograd.grad(loss, [*net.parameters()])])

    whole = gradient(slice(0, 256))
    sums = all_reduced([gradient(slice(64 * rank, 64 * (rank + 1))) for rank in range(P)])
    yield "the sum: " + ", ".join(f"{each @ whole / (whole @ whole):.4f}" for each in sums)
    yield f"the sum divided by 4: equal is {all(torch.allclose(each / P, whole) for each in sums)} in all four"
    total = all_reduced([torch.full((840,), rank + 1.0).double() for rank in range(P)])[0]
    yield f"sum {total[0].item():g}"
    for rank in range(P):
        dealt = list(DistributedSampler(range(10), P, rank, shuffle=False))
        yield f"rank {rank} gets rows {dealt}"


def all_reduced(xs):
    """What each of gloo's ranks has after an all-reduce of these."""
    store = distributed.HashStore()

    def reduced(rank):
        group = distributed.ProcessGroupGloo(store, rank, len(xs))
        group.allreduce([xs[rank]]).wait()
        return xs[rank]

    with ThreadPoolExecutor(len(xs)) as threads:
        return list(threads.map(reduced, range(len(xs))))
