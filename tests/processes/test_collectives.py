"""Collectives, on one process without MPI, and on two and on three with it."""

import pytest
from ranks import all_is_well, names, needs_mpi

pytestmark = pytest.mark.share(1)


@needs_mpi
@pytest.mark.parametrize("check", names("collectives.py"))
@pytest.mark.parametrize("n", [2, 3])
def test_on_ranks(check, n):
    all_is_well("collectives.py", n, check)


@needs_mpi
@pytest.mark.parametrize("check", names("edges.py"))
def test_at_the_edges(check):
    all_is_well("edges.py", 2, check)
