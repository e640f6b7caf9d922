"""Schedules: who runs what and when; and threads that run it, with results equal to the last bit."""

import threading
from itertools import pairwise

import numpy as np
import pytest
from test_fuse import graph_of

from minigrad import ops
from minigrad.engine.base.errors import SingularError
from minigrad.engine.base.spec import Spec
from minigrad.engine.core.graph import Graph
from minigrad.engine.core.interpret import interpret
from minigrad.engine.core.node import Node
from minigrad.engine.core.op import Elementwise, Op
from minigrad.engine.tensor.symbol import placeholder
from minigrad.graph.compiler.passes.pipeline import optimised
from minigrad.graph.compiler.schedule import Workers, critical_path, estimate, schedule
from tests.support.other_processes import run_in_threads


def branches(x, w):
    """Two long arms and a short one, that meet."""
    a = b = x
    for _ in range(4):
        a, b = (a @ w).tanh(), (b @ w).exp() * 1e-3
    return a + b + x.abs()


def second(node):
    return 1.0 if node.inputs else 0.0


SHAPES = (200, 200), (200, 200)


def test_no_node_runs_before_its_operands_and_no_worker_does_two_things_at_once():
    graph = graph_of(branches, *SHAPES)
    for workers in (1, 2, 3):
        slots = schedule(graph, workers).slots
        done = {slot.node: slot for slot in slots}

        assert set(done) == {n for n in graph.nodes if n.inputs}
        assert all(done[x].end <= slot.start for slot in slots for x in slot.node.inputs if x in done)
        for worker in range(workers):
            mine = sorted((s.start, s.end) for s in slots if s.worker == worker)
            assert all(end <= start for (_, end), (start, _) in pairwise(mine))


def two_products(x):
    """What the gallery shows on workers."""
    return ((x @ x).tanh() @ x + (x @ x).sigmoid() @ x).sum()


# µs of each kind of op, as NumPy on one core of a server took them in November 2026.
TOOK = {
    64: {"MatMul": 11.2, "Tanh": 8.4, "Sigmoid": 11.6, "Add": 2.2, "Sum": 3.3},
    256: {"MatMul": 790, "Tanh": 135, "Sigmoid": 405, "Add": 78, "Sum": 40},
}


@pytest.mark.parametrize(("n", "busy"), [(64, 1), (256, 2)])
def test_an_estimate_says_as_the_clock_does_whether_a_second_worker_is_worth_its_hand_over(n, busy):
    """Products at 2 GFLOPs a second would take 24 times too long, and two workers seem nearly twice as fast as one."""
    graph = graph_of(two_products, (n, n))
    took = {node: 1e-6 * TOOK[n][node.op.kind] for node in graph.nodes if node.inputs}
    plans = [schedule(graph, 4, seconds) for seconds in (estimate, lambda node: took.get(node, 0.0))]

    assert [len({slot.worker for slot in plan.slots}) for plan in plans] == [busy, busy]
    assert all(1 / 8 < estimate(node) / seconds < 8 for node, seconds in took.items())


def test_two_workers_take_an_arm_each():
    graph = graph_of(branches, *SHAPES)
    alone, both = schedule(graph, 1), schedule(graph, 2)

    assert alone.seconds == pytest.approx(alone.alone)
    assert both.seconds < 0.6 * alone.seconds
    assert both.path <= both.seconds


def test_the_critical_path_is_the_longest_chain_and_no_schedule_is_shorter():
    graph = graph_of(lambda x: x.exp().tanh().exp() + x.abs(), (3,))

    assert [n.op.kind for n in critical_path(graph, second)] == ["Exp", "Tanh", "Exp", "Add"]
    assert schedule(graph, 8, second).path == 4
    assert schedule(graph, 8, second).seconds >= 4


def test_small_work_is_not_handed_over():
    graph = graph_of(lambda x: x.exp() + x.tanh(), (3,))

    assert {slot.worker for slot in schedule(graph, 2).slots} == {0}


def test_a_schedule_prints_as_a_chart():
    first, second, times = repr(schedule(graph_of(branches, *SHAPES), 2)).splitlines()
    assert first.startswith("0  ")
    assert "@" in first + second
    assert "critical path" in times


def test_a_product_is_estimated_to_take_longer_than_a_sum_of_the_same_size():
    graph = graph_of(lambda x: (x @ x, x + x), (300, 300))
    product, total = (estimate(y) for y in graph.outputs)

    assert product > 10 * total > 0
    assert estimate(graph.inputs[0]) == 0


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_threads_compute_what_one_computes_to_the_last_bit(workers):
    graph = graph_of(branches, *SHAPES)
    arrays = [np.random.default_rng(i).normal(size=shape) * 0.1 for i, shape in enumerate(SHAPES)]

    run = Workers(optimised(graph), workers, lambda node: 1e-2)

    for _ in range(5):
        np.testing.assert_array_equal(run(*arrays)[0], interpret(graph, *arrays)[0])


class Told(Elementwise):
    """An op with an effect: it notes down the thread that ran it, and its place in the order."""

    effect = True
    inline = False
    notes: list = []  # noqa: RUF012

    def infer(self, x):
        return x

    def flops(self, y, x):
        return y.size

    def forward(self, xp, x):
        Told.notes.append((threading.get_ident(), float(x.flat[0])))
        return x + 0


def test_effects_happen_in_the_order_in_which_they_were_written():
    def f(x, w):
        arms = [((x + i) * 1.0).apply(Told()) for i in range(8)]
        return tuple(arms)

    graph = graph_of(f, *SHAPES)
    Told.notes.clear()
    Workers(graph, 3, lambda node: 1e-2)(np.zeros(SHAPES[0]), np.zeros(SHAPES[1]))

    assert [first for _, first in Told.notes] == [float(i) for i in range(8)]


def test_both_arms_really_run_at_once():
    """Each arm waits for the other: one thread alone would wait for ever."""
    meeting = threading.Barrier(2, timeout=60)

    class Meets(Told):
        effect = False

        def forward(self, xp, x):
            meeting.wait()
            return x + 1

    graph = graph_of(lambda x, y: x.exp().apply(Meets()) + y.tanh().apply(Meets()), *SHAPES)

    (found,) = Workers(graph, 2, lambda node: 1.0)(np.zeros(SHAPES[0]), np.zeros(SHAPES[1]))

    assert (found == 3).all()


@pytest.mark.parametrize("wrong", [0, 1])
def test_an_error_in_one_worker_ends_them_all_and_is_raised(wrong):
    """Whichever arm it is in: the worker that would add the two must not wait for ever."""
    graph = graph_of(lambda x, w: x.exp().apply(ops.Inverse()) + w.exp().apply(ops.Inverse()), *SHAPES)
    run = Workers(graph, 2, lambda node: 1e-2)
    sound = [np.eye(200), np.eye(200)]
    singular = [np.zeros((200, 200)) if i == wrong else x for i, x in enumerate(sound)]

    with pytest.raises(SingularError):
        run(*singular)
    assert np.isfinite(run(*sound)[0]).all()


def test_the_callers_errstate_holds_in_every_worker():
    run = Workers(graph_of(lambda x, w: (1 / x) + (1 / w), *SHAPES), 2, lambda node: 1e-2)

    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        run(np.ones(SHAPES[0]), np.zeros(SHAPES[1]))
    with np.errstate(divide="ignore"):
        assert np.isinf(run(np.ones(SHAPES[0]), np.zeros(SHAPES[1]))[0]).all()


def test_calls_at_once_and_calls_from_within_disturb_nobody():
    graph = graph_of(branches, *SHAPES)
    run = Workers(graph, 3, lambda node: 1e-2)
    w = np.random.default_rng(1).normal(size=SHAPES[1]) * 0.1
    found = {}

    def call(i):
        found[i] = run(np.full(SHAPES[0], i / 10), w)[0]

    run_in_threads(call, range(6))

    for i in range(6):
        np.testing.assert_array_equal(found[i], interpret(graph, np.full(SHAPES[0], i / 10), w)[0])

    class Again(Op):
        inline = False

        def infer(self, x):
            return x

        def forward(self, xp, x):
            return outer(np.ones(3))[0] if x[0] == 0 else x

        def flops(self, y, x):
            return 0

    x = placeholder("x", Spec((3,), "f8"))
    outer = Workers(Graph((x.node,), (Node(Again(), (x.node,)),)), 2)
    assert outer(np.zeros(3))[0].tolist() == [1, 1, 1]
