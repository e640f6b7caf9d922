"""On every rank: the reference algorithms give what NumPy gives, the same bits in all, by the messages they say."""

import numpy as np
import pytest
from mpi4py import MPI

import minigrad as mg
import minigrad.distributed as dist
from minigrad.distributed.algorithms import ALL_REDUCE, messages
from minigrad.distributed.group import DistributedError

DTYPES = [mg.float64, mg.float32, mg.float16, mg.bfloat16, mg.int64, mg.int8, mg.uint8]
COMM = MPI.COMM_WORLD
RANK, P = COMM.rank, COMM.size


def under(backend):
    dist.destroy_process_group()
    dist.init_process_group(backend)


def of(rank, shape, dtype=mg.float64):
    return np.random.default_rng(rank).normal(0, 20, shape).astype(dtype)


def everyone(*arguments):
    return [of(rank, *arguments) for rank in range(P)]


def check_sums():
    for backend in ALL_REDUCE:
        under(backend)
        for dtype in DTYPES:
            for n in (0, 1, 2, 7, 200):
                x = mg.tensor(of(RANK, (n,), dtype))
                dist.all_reduce(x)
                assert len(set(COMM.allgather(x.numpy().tobytes()))) == 1
                arrays = everyone((n,), dtype)
                if np.dtype(dtype).kind in "iu":
                    assert (x.numpy() == sum(arrays)).all()
                else:
                    eps = {mg.float64: 1e-15, mg.float32: 1e-7, mg.float16: 1e-3, mg.bfloat16: 1e-2}[dtype]
                    wide = [a.astype(float) for a in arrays]  # terms are added in another order: (p − 1) roundings
                    atol = P * eps * sum(map(abs, wide)).max(initial=0)
                    np.testing.assert_allclose(x.numpy().astype(float), sum(wide), rtol=0, atol=atol)


def check_the_other_collectives():
    for backend in ALL_REDUCE:
        under(backend)
        x = mg.tensor(of(RANK, (4, 3)))
        dist.all_reduce(x, dist.ReduceOp.MAX)
        assert (x.numpy() == np.max(everyone((4, 3)), axis=0)).all()
        for src in range(P):
            x = mg.tensor(of(RANK, (4, 3)))
            dist.broadcast(x, src)
            assert (x.numpy() == of(src, (4, 3))).all()
            x = mg.tensor(of(RANK, (4, 3)))
            dist.reduce(x, src)
            np.testing.assert_allclose(x.numpy(), sum(everyone((4, 3))) if src == RANK else of(RANK, (4, 3)))
        y = mg.zeros(4 * P, 3)
        dist.all_gather_into_tensor(y, mg.tensor(of(RANK, (4, 3))))
        assert (y.numpy() == np.concatenate(everyone((4, 3)))).all()
        part = mg.zeros(2, 3)
        given = mg.tensor(of(RANK, (2 * P, 3)))
        dist.reduce_scatter_tensor(part, given)
        np.testing.assert_allclose(part.numpy(), sum(everyone((2 * P, 3)))[2 * RANK : 2 * RANK + 2])
        assert (given.numpy() == of(RANK, (2 * P, 3))).all()


def check_the_messages_that_were_sent_are_those_of_the_text():
    for backend, algorithm in ALL_REDUCE.items():
        under(backend)
        with dist.CommDebugMode() as counted:
            dist.all_reduce(mg.zeros(12 * P))
        mine = [(m.to, 8 * m.size) for each in messages(algorithm, P, 12 * P) for m in each if m.source == RANK]
        assert counted.messages == mine
        assert counted.get_comm_counts() == {"all_reduce": 1}
        assert counted.comm_bytes == {"all_reduce": 12 * P * 8}
    under("ring")
    with dist.CommDebugMode() as counted:
        dist.all_reduce(mg.zeros(12 * P))
    assert sum(nbytes for _, nbytes in counted.messages) == 12 * P * 8 * 2 * (P - 1) / P


def check_two_under_way_at_once():
    for backend in ALL_REDUCE:
        under(backend)
        xs = [mg.tensor(of(RANK, (50,)) + i) for i in range(3)]
        works = [dist.all_reduce(x, async_op=True) for x in xs]
        for work in works[::-1] if RANK else works:
            work.wait()
        for i, x in enumerate(xs):
            np.testing.assert_allclose(x.numpy(), sum(everyone((50,))) + i * P)


def check_what_is_under_way_moves_while_its_rank_waits_for_something_else():
    for backend in ALL_REDUCE:
        under(backend)
        others = dist.new_group(range(P))
        x = mg.tensor(of(RANK, (50,)))
        work = dist.all_reduce(x, group=others, async_op=True)
        if RANK:
            work.wait()
        dist.barrier()
        dist.all_reduce(mg.zeros(1))
        work.wait()
        np.testing.assert_allclose(x.numpy(), sum(everyone((50,))))


def check_a_part_of_the_ranks():
    under("halving")
    group = dist.new_group(range(P - 1))
    if dist.get_rank(group) >= 0:
        x = mg.tensor(of(RANK, (5,)))
        with dist.CommDebugMode() as counted:
            dist.all_reduce(x, group=group)
        np.testing.assert_allclose(x.numpy(), sum(everyone((5,))[:-1]))
        assert len(counted.messages) == 2 * (P > 2)


def check_another_backend_is_refused():
    dist.destroy_process_group()
    with pytest.raises(DistributedError, match=r"'ring', 'tree', 'halving'.*'gloo'"):
        dist.init_process_group("gloo")
    dist.init_process_group()


def check_ranks_that_wait_for_each_other_are_told_under_these_backends_too():
    under("ring")
    with pytest.raises(DistributedError, match="recv from rank"):
        dist.recv(mg.zeros(2), (RANK + 1) % P)
