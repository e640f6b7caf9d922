"""Graphs whose nodes are placed on workers: on two and on three ranks; and what a process alone sees of it."""

import re

import numpy as np
import pytest
from ranks import on_ranks

import minigrad as mg
import minigrad.distributed as dist
from minigrad.distributed.collectives import groups
from minigrad.distributed.functional import all_gather
from minigrad.distributed.group import ProcessGroup
from minigrad.engine.base.errors import BoundsError, DeviceError, GraphError

test_on_ranks = on_ranks("placement.py", 2, 3)


def two_workers():
    g = mg.Graph()
    with g.as_default():
        x = mg.placeholder("float64", (None, 3), name="x")
        with mg.device("worker:0"):
            h = x.tanh()
        with mg.device("worker:1"):
            y = (h * h).sum()
    return g, x, y


def test_the_parts_of_all_workers_are_drawn_without_any():
    _, _, y = two_workers()
    first, second = (mg.draw(part).text for part in dist.worker_graphs([y], 2))

    assert "send Tanh to worker:1" in first
    assert "receive Sum from worker:1" in first
    assert "receive Tanh from worker:0" in second
    assert set(re.findall(r"@ worker:\d", second)) == {"@ worker:1"}


def test_the_whole_graph_says_where_each_node_is():
    g, _, _ = two_workers()

    lines = mg.draw(g, names={}).text.splitlines()
    assert [line.rpartition("@ ")[2] for line in lines[2:]] == ["worker:0", "worker:1", "worker:1"]


def test_blocks_nest_and_end():
    g = mg.Graph()
    with g.as_default():
        with mg.device("worker:1"):
            a = mg.placeholder("float64", ())
            with mg.device("worker:0"), mg.device("cpu"):
                b = a + 1
            c = b + 1
        d = c + 1

    assert [y.node.worker for y in (a, b, c, d)] == [1, 0, 1, None]


def test_a_worker_is_no_place_for_arrays():
    with pytest.raises(DeviceError, match=r"with device\('worker:1'\)"):
        mg.zeros(3, device="worker:1")
    with pytest.raises(DeviceError, match="worker:"):
        mg.device("worker:one")


class Twice(ProcessGroup):
    """Two processes, of which the other has the same."""

    def all_gather(self, y, x):
        y[...] = np.concatenate([x, x])
        return lambda: True


def test_the_op_that_failed_is_named_and_not_one_that_reads_what_was_sent():
    """Where a run that failed is looked into nothing is sent again, and zeros stand for what came."""
    groups["twice"] = Twice("twice", 0, (0, 1))
    f = mg.function(lambda x, i: all_gather(x, groups["twice"]).reshape(2, 2)[i])
    try:
        with pytest.raises(BoundsError, match=r"Index.* = 5"):
            f(mg.tensor([1.0, 2.0]), mg.tensor(5))
    finally:
        del groups["twice"]


def test_a_process_alone_runs_worker_0_and_refuses_others(alone):
    g, x, y = two_workers()
    with dist.Session(g) as session, pytest.raises(GraphError, match="worker:1, and there are 1 processes"):
        session.run(y, {x: np.ones((2, 3))})
    g = mg.Graph()
    with g.as_default(), mg.device("worker:0"):
        v = mg.Variable(np.arange(3.0))
        z = v * 2
    with dist.Session(g) as session:
        session.run(v.initializer)
        assert session.run(z).tolist() == [0.0, 2.0, 4.0]
