"""Collectives, on one process without MPI, and on two and on three with it."""

import pytest
from ranks import on_ranks

pytestmark = pytest.mark.share(1)

test_on_ranks = on_ranks("collectives.py", 2, 3)
test_at_the_edges = on_ranks("edges.py", 2)
