"""What a traced function compares before each run is cheap, and what a schedule moves is no reason to trace again."""

import copy
import functools
import subprocess
import sys

import numpy as np
import pytest
from test_stale_reads import Holder
from test_stale_traces import X, learn

import minigrad as mg
from minigrad.engine.core.stateful import noticing_reads
from tests.support.python_calls import count_calls
from tests.support.root import ROOT
from tests.support.table import table

nn, optim = mg.nn, mg.optim

CYCLES = {
    "OneCycleLR": lambda o: optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=12),
    "CyclicLR": lambda o: optim.lr_scheduler.CyclicLR(o, 0.01, 0.1, step_size_up=3),
}
KINDS = [("SGD", {"nesterov": True, "momentum": 0.9}), ("RMSprop", {"centered": True, "momentum": 0.9}), ("Muon", {})]
KINDS += [(name, {}) for name in ("Adam", "AdamW", "Adamax", "NAdam", "RAdam")]


@pytest.mark.parametrize("cycle", CYCLES)
@table("kind", KINDS)
def test_one_trace_serves_all_steps_of_a_schedule_that_moves_momentum(kind, cycle):
    """Each step was traced again."""
    name, options = kind
    found = []
    for way in (mg.function, lambda f: f):
        w = nn.Parameter(mg.arange(6, dtype=mg.float32).reshape(2, 3) / 3)
        o = getattr(optim, name)([w], lr=0.1, **options)
        schedule = CYCLES[cycle](o)
        step = way(functools.partial(learn, o, w, mg.ones(2, 3)))
        for _ in range(9):
            step()
            schedule.step()
        found.append(w.tolist())
        assert getattr(step, "trace_count", 1) == 1
    assert found[0] == found[1]


def test_an_assignment_to_another_module_costs_a_traced_function_nothing():
    """Each note was compared."""
    blocks = [nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.ReLU()) for _ in range(6)]
    f, x, other = mg.function(nn.Sequential(*blocks).eval()), mg.ones(2, 3), nn.Linear(1, 1)
    f(x), f(x)
    warm = count_calls(lambda: f(x))
    other.seen = 1
    assert count_calls(lambda: f(x)) <= warm + 5


def test_a_function_that_reads_minigrad_does_not_compare_the_names_that_minigrad_lists():
    """Each run compared 431 strings: the lists behind the package's __dir__() and __getattr__()."""
    f = mg.function(lambda x: mg.relu(x) + nn.functional.gelu(x))
    f(mg.ones(2))
    (traces,) = f.traces.values()
    assert len(traces[0].guards.reached.ids) < 20


@table("held", [[1.0] * 100_000, np.ones(100_000), (1,) * 100_000])
def test_comparing_a_long_list_or_array_costs_no_call_for_each_part(held):
    f = mg.function(Holder(held, lambda a, x: x * a[0]))
    f(X), f(X)
    assert count_calls(lambda: f(X)) <= 100


def test_looking_at_names_costs_no_call_for_each():
    layers = [nn.Tanh() for _ in range(300)]
    costs = []
    for held in (layers, layers[:1]):
        f = mg.function(lambda x: [layer(x) for layer in held])  # noqa: B023
        f(X)
        costs.append(count_calls(f.latest.guards.reached.holds))
    assert costs[0] == costs[1]


def test_a_traced_step_makes_few_calls():
    """A later call made 84: 33 compared attributes of the optimiser, one by one. The first trace made some 19,000."""
    program = [sys.executable, "-m", "tests.support.traced_step"]
    first, later = map(int, subprocess.run(program, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout.split())
    assert first <= 8_000
    assert later <= 40


# -- objects of minigrad that are no modules: their attributes are compared as those of modules --------------


class Options(mg.data.Dataset):
    __slots__ = ("slot",)

    def __init__(self):
        self.a, self.slot, self.hooks = 1.5, 2.0, 1.0

    def factor(self):
        return self.a * self.slot * self.hooks * len(self)

    def __len__(self):
        return 1


class OtherOptions(Options):
    def factor(self):
        return 7.0


CHANGES = {
    "an attribute": lambda o: setattr(o, "a", 2.0),
    "an attribute with the name of a tensor's": lambda o: setattr(o, "hooks", 2.0),
    "a slot": lambda o: setattr(o, "slot", 3.0),
    "a method of its own": lambda o: setattr(o, "factor", lambda: 5.0),
    "a special method of its class": lambda o: setattr(type(o), "__len__", lambda self: 2),
    "another class": lambda o: setattr(o, "__class__", OtherOptions),
}


@table("change", CHANGES.values(), ids=CHANGES)
def test_what_was_read_of_an_object_changes(change):
    held = type("Given", (Options,), {"__len__": Options.__len__})()
    f = mg.function(lambda x: x * held.factor())
    f(X), f(X), change(held)
    np.testing.assert_array_equal(f(X).numpy(), (X * held.factor()).numpy())


def test_an_equal_value_or_an_object_that_is_gone_is_no_reason_to_trace_again():
    held = Options()
    f = mg.function(lambda x: x * held.factor() * len(mg.data.SequentialSampler(range(3))))
    f(X), f(X)
    held.a = float("1.5")
    f(X), f(X)
    assert f.trace_count == 1


def test_a_copy_or_a_trace_in_another_thread_does_not_cause_a_retrace():
    """Both set an attribute of a class of minigrad for a while: every function that had used the class was retraced."""
    f, x = mg.function(mg.nn.Linear(3, 3)), mg.ones(2, 3)
    f(x)
    copy.deepcopy(mg.nn.Linear(3, 3))
    with noticing_reads():
        f(x)
    assert "traced 1 time" in str(f.explain())
