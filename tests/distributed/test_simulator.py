"""The simulator: cases worked by hand, the formulas, and simulations that take one message, or step, at a time."""

import doctest
from xml.etree import ElementTree

import numpy as np
import pytest

import minigrad as mg
from minigrad.distributed import cost, simulator
from minigrad.distributed.algorithms import ALL_REDUCE, messages
from minigrad.distributed.schedules import bubble_fraction, schedule
from minigrad.distributed.simulator import LETTERS, all_reduce, failures, rounds, simulate, stragglers
from tests.support.python_calls import count_calls
from tests.support.table import mistakes

SIZES = [1, 2, 3, 4, 5, 7, 8, 12, 16, 21]


# -- collectives -------------------------------------------------------------------------------------------


def one_by_one(start, nbytes, alpha, beta, algorithm):
    """The same all-reduce, a message at a time; in a round each sends and receives once, both at the same time."""
    clock = list(start)
    for senders, receivers, sizes in rounds(algorithm, nbytes, len(start)):
        before = list(clock)
        for sender, receiver, size in zip(senders, receivers, np.broadcast_to(sizes, len(senders))):
            end = max(before[sender], before[receiver]) + alpha + size * beta
            clock[sender], clock[receiver] = max(clock[sender], end), max(clock[receiver], end)
    return clock


@pytest.mark.parametrize("algorithm", ALL_REDUCE)
@pytest.mark.parametrize("p", SIZES)
def test_rounds_at_once_are_messages_one_by_one(algorithm, p):
    start = 10 * mg.random.uniform(mg.random.key(p), (3, p)).numpy()
    clock, messages = all_reduce(start, 1000, 0.5, 0.001, algorithm)

    np.testing.assert_allclose(clock, [one_by_one(each, 1000, 0.5, 0.001, algorithm) for each in start], rtol=1e-13)
    assert messages == 3 * sum(len(senders) for senders, _, _ in rounds(algorithm, 1000, p))


@pytest.mark.parametrize("algorithm", ALL_REDUCE)
@pytest.mark.parametrize("p", SIZES)
def test_what_is_simulated_is_what_processes_do(algorithm, p):
    """The ring, turned, is that of algorithms.py, whose messages tests on real processes count."""
    for n in (0, 1, p + 1, 60 * p):
        real = [sorted((m.source, m.to, m.size) for m in sent) for sent in messages(ALL_REDUCE[algorithm], p, n)]

        assert [sorted(zip(*(each.tolist() for each in found))) for found in rounds(algorithm, n, p)] == real


@pytest.mark.parametrize("p", SIZES)
def test_a_ring_sends_the_fewest_bytes_whether_or_not_p_divides_them(p):
    for nbytes in (0, 1, 60 * p, 60 * p + 1, 1000):
        sent = np.zeros(p)
        for senders, _, sizes in rounds("ring", nbytes, p):
            sent[senders] += sizes

        assert sent.sum() == 2 * (p - 1) * nbytes
        assert np.ptp(sent) <= 2
        if nbytes % p == 0:
            assert sent[0] == cost.all_reduce(nbytes, p, 0.0, 1.0)


def test_three_in_a_ring_by_hand():
    """Rank 2 comes at 4. A message takes 1 + 1. Round 1: 0 → 1 at 0 to 2; 1 → 2 and 2 → 0 at 4 to 6.

    So in round 2 all are there at 6, and three rounds more take 6.
    """
    first = next(iter(rounds("ring", 300, 3)))

    assert [list(each) for each in first] == [[0, 1, 2], [1, 2, 0], [100, 100, 100]]
    assert list(all_reduce([0.0, 0.0, 4.0], 300, 1.0, 0.01)[0]) == [12, 12, 12]


def test_a_tree_of_five_by_hand():
    pairs = [sorted(zip(senders.tolist(), receivers.tolist())) for senders, receivers, _ in rounds("tree", 8, 5)]

    assert pairs == [[(1, 0), (3, 2)], [(2, 0)], [(4, 0)], [(0, 4)], [(0, 2)], [(0, 1), (2, 3)]]


def test_who_is_late_in_a_tree_is_waited_for_by_those_above_it_only_on_the_way_up():
    on_time, late = all_reduce(np.zeros(8), 0, 1.0, 0.0, "tree")[0], all_reduce([0] * 7 + [2.5], 0, 1.0, 0.0, "tree")[0]

    assert on_time.max() == 6
    np.testing.assert_array_equal(late - on_time, 2.5)


# -- pipelines ---------------------------------------------------------------------------------------------

PIPELINES = [("gpipe", 4, 6, 1), ("1f1b", 4, 6, 1), ("1f1b", 4, 8, 2), ("1f1b", 1, 3, 1), ("gpipe", 3, 1, 2)]


@pytest.mark.parametrize("plan", PIPELINES)
def test_a_step_of_alike_workers_waits_as_the_papers_say(plan):
    _, p, m, v = plan
    run = simulate(schedule(*plan), 5)

    assert run.seconds == 3 * (v * m + (p - 1)) if v == 1 or m >= p else run.seconds > 0
    assert run.busy == pytest.approx(1 - bubble_fraction(p, m, v)) or m < p
    assert run.events == 5 * p * 2 * m * v


@pytest.mark.parametrize("plan", PIPELINES)
def test_each_replica_runs_as_its_schedule_does_alone(plan):
    planned = schedule(*plan)
    slow = stragglers(mg.random.key(1), planned.workers, 7, 0.8)
    run = simulate(planned, 7, forward=1.5, backward=2.5, transfer=0.25, slowdown=slow)
    takes = {"forward": 1.5 * slow, "backward": 2.5 * slow}
    alone = [planned.timeline(lambda w, step, r=r: takes[step.kind][w, r], 0.25) for r in range(7)]

    assert run.seconds == pytest.approx(max(task.end for tasks in alone for task in tasks), rel=1e-13)
    for name, spans in run.lanes.items():
        r, worker = divmod(int(name), planned.workers)
        mine = [(t.step.kind, t.start, t.end) for t in alone[r] if t.worker == worker]
        assert [kind for kind, *_ in spans[:-1]] == [kind for kind, *_ in mine]
        np.testing.assert_allclose([s[1:] for s in spans[:-1]], [s[1:] for s in mine], rtol=1e-13)


def test_a_step_is_a_pipeline_and_then_a_collective():
    """Alike workers: (m + p − 1) · 3 of the pipeline, though its first stage ends last, and the ring's formula."""
    run = simulate(schedule("1f1b", 4, 8), 16, nbytes=1600, alpha=0.5, beta=0.01)

    assert run.seconds == pytest.approx(3 * 11 + cost.all_reduce(1600, 16, 0.5, 0.01))
    assert run.events == 64 * 16 + 4 * 2 * 15 * 16


def test_more_replicas_are_no_more_calls():
    """A step of all replicas is one operation, be there 16 or 1,250 of them."""

    simulate(schedule("1f1b", 8, 16), 2)

    few, many = (count_calls(simulate, schedule("1f1b", 8, 16), replicas) for replicas in (16, 1250))

    assert few == many


@pytest.mark.share(8)
def test_10_000_workers_send_200_million_messages_in_a_ring():
    clock, messages = all_reduce(np.zeros(10_000), 10**8, 1e-5, 1e-10)

    assert messages == 199_980_000
    np.testing.assert_allclose(clock, cost.all_reduce(1e8, 10_000, 1e-5, 1e-10), rtol=1e-9)


# -- chance ------------------------------------------------------------------------------------------------


def test_the_slowest_of_many_is_waited_for():
    """The largest of n exponentials is 1 + 1/2 + … + 1/n in the mean, its variance 1 + 1/4 + …: 4 errors of 400."""
    n, jitter, one = 1000, 0.1, schedule("1f1b", 1, 1)
    took = [
        simulate(one, n, slowdown=stragglers(mg.random.fold_in(mg.random.key(3), i), 1, n, jitter)).seconds
        for i in range(400)
    ]
    harmonic = np.sum(1 / np.arange(1, n + 1))

    assert np.mean(took) == pytest.approx(3 * (1 + jitter * harmonic), abs=4 * 3 * jitter * np.sqrt(1.645 / 400))


def test_a_key_says_who_is_slow():
    a, b = (stragglers(mg.random.key(5), 2, 100, 0.5) for _ in range(2))

    np.testing.assert_array_equal(a, b)
    assert (a >= 1).all()
    assert not np.array_equal(a, stragglers(mg.random.key(6), 2, 100, 0.5))


DAY = 86400.0


@pytest.mark.parametrize(("interval", "restart"), [(600.0, 600.0), (1800.0, 600.0), (7200.0, 600.0), (1800.0, 8000.0)])
def test_failures_cost_what_dalys_formula_says(interval, restart):
    """Failures as of Llama 3 405B: 419 in 54 days on 16,384 GPUs (arXiv:2407.21783, §3.3.4). Of 60 runs, 2 percent."""
    mtbf = 54 * DAY * 16384 / 419
    options = {"checkpoint": 60.0, "restart": restart, "mtbf": mtbf, "workers": 16384}
    runs = [failures(54 * DAY, interval, key=mg.random.key(seed), **options).seconds for seed in range(60)]

    expected = cost.expected_seconds(54 * DAY, interval, 60.0, restart, mtbf / 16384)
    assert np.mean(runs) == pytest.approx(expected, rel=0.02)


def test_youngs_interval_is_nearly_the_best():
    best = cost.checkpoint_interval(60.0, 11_000.0)
    took = [cost.expected_seconds(54 * DAY, each, 60.0, 600.0, 11_000.0) for each in np.linspace(100, 10_000, 1000)]

    assert cost.expected_seconds(54 * DAY, best, 60.0, 600.0, 11_000.0) < 1.001 * min(took)


def test_a_failure_loses_no_more_than_an_interval_and_its_checkpoint():
    run = failures(30 * DAY, 1800.0, checkpoint=60.0, restart=600.0, mtbf=3e7, workers=10_000, key=mg.random.key(0))
    lost = [end - start for kind, start, end in run.lanes["all"] if kind == "lost"]
    worked = sum(end - start for kind, start, end in run.lanes["all"] if kind == "work")

    assert len(lost) > 100
    assert max(lost) <= 1860
    assert worked == pytest.approx(30 * DAY * 1860 / 1800)
    assert run.busy == pytest.approx(30 * DAY / run.seconds)


def test_without_failures_only_checkpoints_are_lost():
    run = failures(1000.0, 300.0, checkpoint=10.0, restart=60.0, mtbf=1e12, workers=10, key=mg.random.key(0))

    assert run.seconds == 4 * 310
    assert run.summary == "10 workers: 0.3 hours, 0 failures; goodput 96.8 percent"


# -- how it is shown ---------------------------------------------------------------------------------------


def test_a_run_in_letters_says_what_its_picture_does():
    run = simulate(schedule("gpipe", 2, 2), nbytes=8, replicas=2, alpha=0.0, beta=0.875 / 8)
    rows = dict(run.tables[0].rows)
    picture = ElementTree.fromstring(run.svg)

    assert run.until == run.seconds == 9.875
    assert list(rows) == ["0", "1", "2", "3"]
    assert {len(row) for row in rows.values()} == {LETTERS}
    assert [*dict.fromkeys(rows["0"])] == ["f", ".", "b", "a"]
    assert [*dict.fromkeys(rows["1"])] == [".", "f", "b", "a"]
    words = {e.text for e in picture.iter("{http://www.w3.org/2000/svg}text")}
    assert {"0", "1", "2", "3", "9.88 s"} <= words
    assert "f forward, b backward, a all-reduce, . waits" in str(run)


def test_of_many_workers_some_are_drawn_the_first_and_the_last_too():
    run = simulate(schedule("1f1b", 4, 4), 2500)

    assert len(run.lanes) == 12
    assert {"0", "9999"} <= set(run.lanes)
    assert len(run.svg) < 100_000
    assert "10,000 workers" in str(run)
    assert "<svg" in run._repr_html_()


# -- what is refused ---------------------------------------------------------------------------------------


TWO = schedule("1f1b", 2, 2)
OPTIONS = {"checkpoint": 60.0, "restart": 60.0, "mtbf": 1e6, "key": mg.random.key(0)}


test_nonsense_is_refused_in_words = mistakes([
    (lambda: all_reduce([0.0] * 4, 8, 1.0, 1.0, "rings"), "are ring, tree, halving, and got 'rings'"),
    (lambda: all_reduce([0.0] * 4, -8, 1.0, 1.0), "n ≥ 0 bytes"),
    (lambda: all_reduce([0.0] * 4, 8, -1.0, 1.0), "α, β, γ ≥ 0"),
    (lambda: simulate(TWO, 0), "replicas must be above 0, and got 0"),
    (lambda: simulate(TWO, transfer=-1.0), "transfer must be at least 0, .* got -1.0 and"),
    (lambda: simulate(TWO, 2, slowdown=[[1.0, 0.0], [1.0, 1.0]]), "slowdown must be above 0, and got 0"),
    (lambda: simulate(TWO, 2, slowdown=np.ones((3, 2))), "a number or of shape .2, 2., and got 0.0 and .3, 2."),
    (lambda: failures(1e6, 1e5, workers=1000, **OPTIONS),
     "1000 workers fail every 1e[+]03 s: 1e[+]05 s of work, 60 s to save and 60 s to restart would never finish"),
    (lambda: failures(1e6, 0.0, workers=10, **OPTIONS), "interval must be above 0"),
], ValueError)  # fmt: skip


def test_examples_in_docstrings_run():
    found = doctest.testmod(simulator)

    assert (found.failed, found.attempted) == (0, 3)
