"""Tensor parallelism on two and on four ranks, and on this process alone."""

import numpy as np
import pytest
from ranks import all_is_well, names, needs_mpi

import minigrad as mg
import minigrad.distributed as dist


@needs_mpi
@pytest.mark.parametrize("check", names("tensor_parallel.py"))
@pytest.mark.parametrize("n", [2, 4])
def test_on_ranks(check, n):
    all_is_well("tensor_parallel.py", n, check)


def test_a_process_alone_has_every_part(alone):
    whole, x = mg.nn.Linear(3, 4), np.ones((2, 3))
    assert (dist.ColumnParallelLinear(whole)(x).numpy() == whole(x).numpy()).all()
    assert (dist.RowParallelLinear(whole)(x).numpy() == whole(x).numpy()).all()
