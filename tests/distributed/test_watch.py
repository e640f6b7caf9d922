"""What nobody can end is told, on two and on three ranks."""

import pytest
from ranks import all_is_well, names, needs_mpi


@needs_mpi
@pytest.mark.parametrize("check", names("knots.py"))
@pytest.mark.parametrize("n", [2, 3])
def test_on_ranks(check, n):
    all_is_well("knots.py", n, check)
