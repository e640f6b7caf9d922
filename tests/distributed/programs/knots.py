"""On every rank: what nobody can end is an error with the lines of all, and what is only slow is not."""

import time

import numpy as np
import pytest

import minigrad as mg
import minigrad.distributed as dist
from minigrad.distributed.group import DistributedError

dist.init_process_group()
RANK, P = dist.get_rank(), dist.get_world_size()
LARGE = 1 << 18  # elements: what is smaller leaves before anybody receives it


def knotted(act, *says):
    """All ranks raise the same words. In a group of its own, where no message of an old knot arrives."""
    group = dist.new_group()
    with pytest.raises(DistributedError) as raised:
        act(group)
    for words in says:
        assert words in str(raised.value), str(raised.value)


def check_sends_that_wait_for_one_another():
    def act(group):
        dist.send(mg.zeros(LARGE), (RANK + 1) % P, group)

    knotted(
        act, "none can go on", *(f"rank {r} waits in send to rank {(r + 1) % P} at " for r in range(P)), "knots.py:"
    )


def check_a_receipt_of_what_nobody_sends():
    def act(group):
        dist.barrier(group) if RANK == 0 else dist.recv(mg.zeros(3), 0, group)

    knotted(act, "rank 0 waits in barrier at ", "rank 1 waits in recv from rank 0 at ", "knots.py:")


def check_calls_of_two_groups_that_cross():
    first, second = dist.new_group(), dist.new_group()

    def act(group):
        dist.all_reduce(mg.zeros(2 + RANK), group=first if RANK else second)

    knotted(act, "rank 0 waits in all_reduce sum of float64 (2,) at ", "rank 1 waits in all_reduce sum of float64 (3,)")


def check_another_tag_is_another_message():
    def act(group):
        if RANK < 2:
            (dist.recv if RANK else dist.send)(mg.zeros(LARGE), 1 - RANK, group, tag=RANK)
        else:
            dist.recv(mg.zeros(1), 0, group)

    knotted(act, "rank 0 waits in send to rank 1", "rank 1 waits in recv from rank 0")


def check_who_is_slow_is_waited_for():
    x = mg.ones(LARGE)
    if RANK == 0:
        time.sleep(2)
    dist.all_reduce(x)
    if RANK == 1:
        time.sleep(1.5)
        dist.send(x, 0)
    if RANK == 0:
        dist.recv(x, 1)
    assert x.numpy()[0] == P


def check_a_wait_for_one_message_while_another_arrives():
    """The first is not asked for until the second is there: sender and receiver wait for one another for a while."""
    if RANK == 0:
        dist.send(mg.ones(8 * LARGE), 1, tag=1)
        time.sleep(1.5)
        dist.send(mg.ones(3), 1, tag=2)
    if RANK == 1:
        x, y = mg.zeros(8 * LARGE), mg.zeros(3)
        first, second = dist.irecv(x, 0, tag=1), dist.irecv(y, 0, tag=2)
        second.wait()
        first.wait()
        assert x.numpy().all()
        assert y.numpy().all()


def told_that_it_does_not_fit(sent, received):
    """Who receives is told both specs and both lines; nothing is taken for what it is not."""
    group = dist.new_group()
    if RANK == 0:
        work = dist.isend(sent, 1, group)
        dist.barrier()
        work.is_completed()
    if RANK == 1:
        with pytest.raises(DistributedError) as raised:
            dist.recv(received, 0, group)
        dist.barrier()
        says = str(raised.value)
        assert f"rank 1 receives {received.dtype} {received.shape} at " in says
        assert f"rank 0 sends {sent.dtype} {sent.shape} at " in says
        assert says.count("knots.py:") == 2
        assert not received.numpy().any()
    if RANK > 1:
        dist.barrier()


def check_a_message_of_another_dtype():
    told_that_it_does_not_fit(mg.zeros(4, dtype=mg.float32), mg.zeros(4))
    told_that_it_does_not_fit(mg.tensor(np.zeros(4, np.int64)), mg.zeros(4))


def check_a_message_of_another_shape():
    told_that_it_does_not_fit(mg.zeros(2, 2), mg.zeros(4))
    told_that_it_does_not_fit(mg.zeros(3), mg.zeros(4))
    told_that_it_does_not_fit(mg.zeros(LARGE), mg.zeros(LARGE - 1))
    told_that_it_does_not_fit(mg.zeros(*[1] * 20, 2), mg.zeros(*[1] * 20, 3))


def check_time_that_is_up_says_who_was_at_what():
    group = dist.new_group()
    group.timeout = 0.5
    if RANK == 0:
        time.sleep(1.5)
    else:
        with pytest.raises(DistributedError, match=r"(?s)rank . waited 0.5 s in barrier at .*rank 0 is computing; its"):
            dist.barrier(group)
    dist.barrier()
