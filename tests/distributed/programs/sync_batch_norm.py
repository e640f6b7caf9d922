"""On every rank: SyncBatchNorm of parts of a batch is BatchNorm of the whole, forward, backward, and afterwards."""

from copy import deepcopy

import numpy as np
import pytest
from ranks import calls_of

import minigrad as mg
import minigrad.distributed as dist
from minigrad.distributed.group import ProcessGroup
from minigrad.engine.base.errors import ShapeError

dist.init_process_group()
RANK, P = dist.get_rank(), dist.get_world_size()
ENDS = np.cumsum([0, 5, 2, 0][: P + 1])  # batches of 5 and 2, or of 5, 2 and none
mg.manual_seed(0)


def batch(*places, mean=3.0):
    rng = np.random.default_rng(1)
    return rng.normal(mean, 2, (ENDS[-1], 3, *places)), rng.normal(size=(ENDS[-1], 3, *places))


def mine(array):
    return array[ENDS[RANK] : ENDS[RANK + 1]]


def same(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)  # another order of sums


def step(norm, x, u, traced=False):
    x = mg.tensor(x, requires_grad=True)
    f = mg.function(norm) if traced else norm
    y = f(x)
    (y * mg.tensor(u)).sum().backward()
    return y.numpy(), x.grad.numpy()


def compare(places, traced=False, **options):
    whole = getattr(mg.nn, f"BatchNorm{max(1, len(places))}d")(3, **options)
    if whole.affine:
        with mg.no_grad():
            whole.weight.copy_(mg.tensor([1.0, 2.0, -3.0]))
    norm = dist.SyncBatchNorm.convert_sync_batchnorm(deepcopy(whole))
    assert type(norm) is dist.SyncBatchNorm
    x, u = batch(*places)
    for _ in range(2):
        y, gx = step(whole, x, u)
        my_y, my_gx = step(norm, mine(x), mine(u), traced)
        same(my_y, mine(y))
        same(my_gx, mine(gx))
    for name, value in whole.state_dict().items():
        same(norm.state_dict()[name].numpy(), value.numpy())
    for p, my_p in zip(whole.parameters(), norm.parameters()):
        dist.all_reduce(my_p.grad)
        same(my_p.grad.numpy(), p.grad.numpy())
    whole.eval(), norm.eval()
    same(step(norm, mine(x), mine(u))[0], mine(step(whole, x, u)[0]))


def check_forward_backward_and_running_statistics():
    compare(())
    compare((2,))
    compare((2, 4))
    compare((2, 1, 2))


def check_options():
    compare((2,), momentum=None)
    compare((2,), affine=False)
    compare((2,), bias=False)
    if P < 3:  # of no examples BatchNorm has no statistics in eval()
        norm = dist.SyncBatchNorm.convert_sync_batchnorm(mg.nn.BatchNorm1d(3, track_running_stats=False))
        assert norm.running_mean is None
        step(norm, *map(mine, batch()))


def check_traced():
    compare((2, 2), traced=True)


def check_a_large_mean_keeps_its_digits():
    x, u = batch(mean=1e9)
    want = step(mg.nn.BatchNorm1d(3), x, u)[0]
    np.testing.assert_allclose(step(dist.SyncBatchNorm(3), mine(x), mine(u))[0], mine(want), atol=1e-6)


def check_half_precision_is_summed_in_float32():
    x, u = batch(200, mean=1000.0)  # whose sum float16 does not hold
    x = x.astype(np.float16)
    y = dist.SyncBatchNorm(3, dtype=mg.float16)(mg.tensor(mine(x)))
    assert y.dtype == mg.float16
    np.testing.assert_allclose(y.numpy(), mine(step(mg.nn.BatchNorm1d(3), x.astype(float), u)[0]), atol=5e-3)


def check_one_message_forward_and_one_back():
    with calls_of(dist.collectives.groups["world"]) as calls:
        step(dist.SyncBatchNorm(3), *map(mine, batch(4)))
    assert calls == [("all_gather", 7 * P), ("reduce_scatter", 7 * P)], calls


def check_one_value_for_a_channel_is_refused():
    x = mg.ones(1 if RANK == 0 else 0, 3)
    with pytest.raises(ShapeError, match="more than one value"):
        dist.SyncBatchNorm(3)(x)


def check_a_model_is_converted_with_its_tensors():
    model = mg.nn.Sequential(mg.nn.Conv2d(1, 3, 1), mg.nn.BatchNorm2d(3), mg.nn.Sequential(mg.nn.BatchNorm2d(3)))
    before = [*model.parameters(), *model.buffers()]
    model.eval()
    made = dist.SyncBatchNorm.convert_sync_batchnorm(model)
    assert made is model
    assert {id(x) for x in before} == {id(x) for x in (*made.parameters(), *made.buffers())}
    assert [type(m).__name__ for m in made.modules()].count("SyncBatchNorm") == 2
    assert not made[1].training
    first = made[1]
    assert dist.SyncBatchNorm.convert_sync_batchnorm(made)[1] is first


def check_a_group_of_one_is_batch_norm():
    alone = ProcessGroup("alone", 0, (RANK,))
    dist.collectives.groups["alone"] = alone
    x, u = batch(2)
    x = x + np.arange(len(x)).reshape(-1, 1, 1) * RANK
    same(step(dist.SyncBatchNorm(3, process_group=alone), x, u)[1], step(mg.nn.BatchNorm1d(3), x, u)[1])
