"""DistributedSampler deals out a data set as PyTorch's does; no process but this one is needed to see it."""

import numpy as np
import pytest

import minigrad as mg
import minigrad.distributed as dist
from tests.support.table import table

SIZES = [(n, p, drop) for n in (0, 1, 2, 3, 7, 8, 12) for p in (1, 2, 3, 4) for drop in (False, True)]


def shares(n, p, **options):
    return [list(dist.DistributedSampler(range(n), p, rank, **options)) for rank in range(p)]


@table("n, p, drop_last", SIZES)
def test_the_shares_are_those_of_pytorch(n, p, drop_last):
    torch = pytest.importorskip("torch")
    for rank in range(p):
        theirs = torch.utils.data.DistributedSampler(range(n), p, rank, shuffle=False, drop_last=drop_last)
        options = {"num_replicas": p, "rank": rank, "drop_last": drop_last}
        ours, shuffled = (dist.DistributedSampler(range(n), shuffle=each, **options) for each in (False, True))

        assert list(ours) == list(theirs)
        assert len(ours) == len(shuffled) == len(theirs)


def test_a_shuffled_order_is_one_permutation_dealt_out_and_another_in_each_epoch():
    orders = []
    for seed, epoch in ((0, 0), (0, 1), (1, 0)):
        samplers = [dist.DistributedSampler(range(13), 4, rank, seed=seed) for rank in range(4)]
        for sampler in samplers:
            sampler.set_epoch(epoch)
        mg.manual_seed(epoch)  # which nothing here draws from
        dealt = np.array([list(sampler) for sampler in samplers]).T.reshape(-1).tolist()
        assert sorted(dealt[:13]) == list(range(13))
        assert dealt[13:] == dealt[:3]
        orders.append(dealt)

    assert len({*map(tuple, orders)}) == 3
    assert orders[0] == np.array(shares(13, 4)).T.reshape(-1).tolist()


def test_a_loader_gives_each_process_its_share_and_goes_on_in_an_epoch_under_way():
    def loader():
        sampler = dist.DistributedSampler(range(10), 2, 1)
        return mg.data.DataLoader(mg.data.TensorDataset(np.arange(10.0)), batch_size=2, sampler=sampler)

    whole = loader()
    whole.sampler.set_epoch(3)
    batches = iter(whole)
    seen = [next(batches)[0].tolist() for _ in range(2)]
    other = loader()
    other.load_state_dict(whole.state_dict())
    rest = [x.tolist() for (x,) in other]

    assert [x for batch in seen + rest for x in batch] == [float(i) for i in whole.sampler]
    assert len(whole) == 3


def test_a_rank_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="rank must be 0 to 1, and got 2"):
        dist.DistributedSampler(range(4), 2, 2)
