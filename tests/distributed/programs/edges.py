"""On every rank: what is odd is done right, or refused by name. Nothing gives a wrong number without a word."""

import gc

import numpy as np
import pytest

import minigrad as mg
import minigrad.distributed as dist
from minigrad.distributed import functional
from minigrad.distributed.group import DistributedError
from minigrad.engine.base.errors import DTypeError, EditedError, GraphError, NoGradientError

dist.init_process_group()
RANK, P = dist.get_rank(), dist.get_world_size()
SUM, AVG, MAX, MIN = dist.ReduceOp.SUM, dist.ReduceOp.AVG, dist.ReduceOp.MAX, dist.ReduceOp.MIN


def reduced(x, op=SUM):
    dist.all_reduce(x, op)
    return x.numpy()


def check_odd_shapes():
    assert reduced(mg.tensor(2.0)) == 2 * P
    assert reduced(mg.tensor([1.0, 2.0]).sum()) == 3 * P
    assert reduced(mg.zeros(0, 3)).shape == (0, 3)
    x = mg.arange(6.0).reshape(2, 3)
    dist.all_reduce(x[:, ::2])
    assert (x.numpy() == [[0, 1, 2 * P], [3 * P, 4, 5 * P]]).all()


def check_odd_dtypes():
    assert (reduced(mg.tensor([RANK == 0, False]), MAX) == [True, False]).all()
    assert (reduced(mg.tensor([RANK == 0, True]), MIN) == [False, True]).all()
    assert (reduced(mg.tensor(np.array([200, 1], np.uint8))) == [200 * P % 256, P]).all()
    assert (reduced(mg.tensor([1.0, 2.0], dtype=mg.float16), AVG) == [1, 2]).all()
    for reduce in (reduced, functional.all_reduce):
        with pytest.raises(DTypeError, match="no boolean"):
            reduce(mg.tensor([True]))
        with pytest.raises(DTypeError, match="no integer"):
            reduce(mg.tensor([1]), AVG)
        with pytest.raises(TypeError, match="must be one of"):
            reduce(mg.ones(2), "sum")


def check_a_tensor_elsewhere_goes_through_the_hosts_memory():
    assert (reduced(mg.ones(3, device="simulated")) == P).all()
    y = functional.all_gather(mg.ones(3, device="simulated"))
    assert y.device == mg.device("simulated")
    assert (y.numpy() == np.ones(3 * P)).all()


def check_what_may_not_be_written_is_refused():
    with pytest.raises(ValueError, match="read-only"):
        reduced(mg.ones(1, 3).expand(2, 3))
    with pytest.raises(NoGradientError, match="has a history"):
        reduced(mg.ones(2, requires_grad=True) * 2)
    with pytest.raises(TypeError, match="takes tensors, and got ndarray"):
        reduced(np.ones(2))
    with pytest.raises(DistributedError, match="what new_group"):
        dist.all_reduce(mg.ones(2), group="evens")
    with pytest.raises(DistributedError, match=r"rank \d is this process, "):
        dist.send(mg.ones(2), RANK)
    for transformed in (mg.function, mg.func.vmap):
        with pytest.raises(GraphError, match="which is an op of the graph"):
            transformed(dist.all_reduce)(mg.ones(2))


def check_backward_is_told_of_what_others_wrote():
    """Also of what they may still be writing, to somebody who does not wait."""
    for async_op in (False, True):
        w, x = mg.ones(2, requires_grad=True), mg.ones(2) * 3
        y = (w * x).sum()
        dist.all_reduce(x, async_op=async_op)
        with pytest.raises(EditedError):
            y.backward()


def check_what_nobody_waits_for_keeps_its_memory():
    for _ in range(5):
        dist.all_reduce(mg.ones(100_000), async_op=True)
    gc.collect()
    assert len(dist.Work.pending) >= 5
    assert (reduced(mg.ones(3)) == P).all()
    for work in [*dist.Work.pending]:
        work.wait()
    assert not dist.Work.pending


def check_two_groups_at_once():
    one, two = dist.new_group(range(P)), dist.new_group(range(P))
    x, y = mg.ones(5), mg.ones(7) * 2
    works = [dist.all_reduce(x, group=one, async_op=True), dist.all_reduce(y, group=two, async_op=True)]
    for work in works[::-1] if RANK else works:
        work.wait()
    assert (x.numpy() == P).all()
    assert (y.numpy() == 2 * P).all()


def check_ops_in_every_mode():
    def f(x):
        return functional.all_reduce(x * 2) + 1

    x, wanted = mg.ones(2) * (RANK + 1), P * (P + 1) + 1
    for g in (mg.function(f), mg.jit(f)):
        for _ in range(2):
            assert (g(x).numpy() == wanted).all()
    with pytest.warns(UserWarning, match="runs 3 times"):
        assert (mg.func.vmap(f)(mg.ones(3, 2)).numpy() == 2 * P + 1).all()
    graph = mg.Graph()
    with graph.as_default():
        fed = mg.placeholder(mg.float64, (2,))
        y = f(fed)
    with mg.Session(graph) as session:
        assert (session.run(y, {fed: x.numpy()}) == wanted).all()
