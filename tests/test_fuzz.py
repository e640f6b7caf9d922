"""Programs at random agree: PyTorch where it is installed, and minigrad by run, traced, compiled and by session.

NIGHTLY=1 tries 50,000 of them instead of these few; `python tests/fuzz_programs.py 20000` collects what differs.
"""

import os

from fuzz_programs import program, report, trouble
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

PROGRAMS = 50_000 if os.environ.get("NIGHTLY") else 200
WAYS = ("function", "compiled")


@settings(max_examples=PROGRAMS, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False).map(program))
def test_a_program_is_the_same_by_whatever_way_it_runs(made):
    assert trouble(made, None, WAYS) is None, report(made, WAYS)
