"""Tensor parallelism on two and on four ranks, and on this process alone."""

import numpy as np
from ranks import on_ranks

import minigrad as mg
import minigrad.distributed as dist

test_on_ranks = on_ranks("tensor_parallel.py", 2, 4)


def test_a_process_alone_has_every_part(alone):
    whole, x = mg.nn.Linear(3, 4), np.ones((2, 3))
    assert (dist.ColumnParallelLinear(whole)(x).numpy() == whole(x).numpy()).all()
    assert (dist.RowParallelLinear(whole)(x).numpy() == whole(x).numpy()).all()
