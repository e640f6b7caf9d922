"""SyncBatchNorm on two and on three ranks."""

import pytest
from ranks import all_is_well, names, needs_mpi


@needs_mpi
@pytest.mark.parametrize("check", names("sync_batch_norm.py"))
@pytest.mark.parametrize("n", [2, 3])
def test_on_ranks(check, n):
    all_is_well("sync_batch_norm.py", n, check)
