"""DistributedDataParallel, on one process without MPI, and on two and on three with it."""

import pytest
from models import assert_close, made, mlp, state, trained
from ranks import on_ranks

import minigrad as mg
import minigrad.distributed as dist
from minigrad.engine.base.errors import StateError

test_on_ranks = on_ranks("data_parallel.py", 2, 3)


def test_one_process_needs_no_mpi(alone):
    (model, batch), (copy, _) = made(mlp), made(mlp)
    many = dist.DistributedDataParallel(copy, bucket_cap_mb=0.0002, find_unused_parameters=True)
    for each in (model, many):
        trained(each, batch, mg.optim.Adam(each.parameters()), 3, 6)

    assert_close(state(many), state(model), 0)


@pytest.mark.parametrize("damaged", [None, 3, {1: 2}])
def test_a_damaged_state_is_refused_by_name(alone, damaged):
    with pytest.raises(StateError, match="DistributedDataParallel cannot load this state"):
        dist.DistributedDataParallel(made(mlp)[0]).load_state_dict(damaged)


def test_a_model_that_learns_nothing_is_refused(alone):
    with pytest.raises(ValueError, match="call it directly"):
        dist.DistributedDataParallel(mg.nn.ReLU())
