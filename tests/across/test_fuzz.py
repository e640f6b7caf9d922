"""Programs at random agree: PyTorch where it is installed, and minigrad by run, traced, compiled and by session.

NIGHTLY=1 tries 50,000 of them instead of these few; `python tests/support/fuzz_programs.py 20000` collects what
differs.
"""

import os
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minigrad as mg
from tests.support.fuzz_programs import Program, bounded, program, report, trouble

PROGRAMS = 50_000 if os.environ.get("NIGHTLY") else 100


def of(shapes, *lines, results):
    return Program(tuple((shape, "f8", gradient) for shape, gradient in shapes), lines, results)


ZEROS = "v0, = L.autograd.grad(x2.tanh().sum(), [x0], create_graph=True, materialize_grads=True)"
ONCE = {  # what programs such as these found, or should have: each gave a wrong number
    "a loop wrote over a row that its next block read again": [
        of([((300, 300), False), ((300,), False)], "v0 = x1.exp()*x0", "v1 = (x1+1).cumsum(0)", results=("v0", "v1")),
        of([((400, 400), False), ((400,), False)], "v0 = (x0*x1.exp()).tanh()@(x1-1)", results=("v0",)),
    ],
    "an edit of one result did not reach its view, another result": [
        of([((3,), True)], "v0 = x0*2", "v1 = v0[1:]", "v0.mul_(3)", results=("v0", "v1"))
    ],
    "an argument that was edited under no_grad lost its gradient in a trace": [
        of([((2, 2), True)], "with L.no_grad():\n        x0.mul_(0.5)", "v0 = x0.t()+1", results=("v0",)),
        of([((2, 2), True)], "v0 = x0*2", "with L.no_grad():\n        v0.mul_(0.5)", "v1 = v0*x0", results=("v1",)),
    ],
    "a session took the edit of a placeholder for what is fed": [of([((3,), False)], "x0.add_(1)", results=("x0",))],
    "zeros for an input that is not used did not require a gradient": [
        of([((2,), True), ((2,), False), ((2,), True)], ZEROS, "x1.sub_(v0)", results=("x1",))
    ],
    "a session raises no error of a line that nothing reads": [
        of([((2, 3), False)], "v0 = x0.amax(0)*2", "v1 = v0.detach()", "v1.add_(1)", "v2 = x0*3", results=("v2",))
    ],
    "a later run of a trace began with the edit of an earlier one": [
        of([((2,), True)], "v0 = x0.new_zeros(2)", "v0[0].add_(1)", results=("v0",))
    ],
    "PyTorch read what it had written, or refused to": [
        of([((8,), True)], "v0 = x0*1", "v1 = v0[::2][1:]", "v2 = v0[:6:2]", "v1.addcmul_(v2,v2)", results=("v0",))
    ],
    "a branch's result had memory of its own": [
        of([((3,), True)], "v0 = x0*1", "v1 = v0 if x0.sum() > -9 else v0*2", "v0 += 10", results=("v1",))
    ],
}


@pytest.mark.parametrize("programs", ONCE.values(), ids=ONCE)
def test_what_was_once_different_is_the_same(programs):
    for made in programs:
        assert trouble(made) is None, report(made)


@pytest.mark.skipif(sys.platform != "linux", reason="a process is bounded by Linux's limits")
def test_no_line_is_tried_that_would_take_the_memory_of_the_machine():
    """A worker was ended by the system: (65535,) beside (65535, 1) are 17 GB, in float32."""
    x = mg.zeros(65535, dtype=mg.float32)
    with bounded(), pytest.raises(MemoryError):
        x + x.reshape(-1, 1)


@settings(max_examples=PROGRAMS, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False).map(program))
@pytest.mark.timeout(300 if PROGRAMS < 1000 else 0)
def test_a_program_is_the_same_by_whatever_way_it_runs(made):
    assert trouble(made) is None, report(made)
