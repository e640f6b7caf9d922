"""Schedules of pipelines, in one process: what the papers say of them, and that nobody waits for ever."""

from collections import defaultdict
from functools import cache
from itertools import pairwise, product
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minigrad.distributed.schedules import (
    Schedule,
    ScheduleError,
    Step,
    bubble,
    bubble_fraction,
    makespan,
    most_kept,
    schedule,
)

ALL = [
    (name, p, m, v)
    for name, p, m, v in product(("gpipe", "1f1b"), range(1, 9), range(1, 17), range(1, 5))
    if name == "gpipe" or v == 1 or m % p == 0
]
planned = cache(schedule)
sizes = st.sampled_from(ALL)


def test_each_step_is_done_once_and_after_what_it_needs():
    for each in ALL:
        found = planned(*each)
        tasks = found.timeline()
        end = {(found.stage(t.worker, t.step), t.step.kind, t.step.microbatch): t.end for t in tasks}
        _, p, m, v = each
        assert len(tasks) == len(end) == 2 * p * m * v
        mine = defaultdict(list)
        for t in tasks:
            stage, kind, i = found.stage(t.worker, t.step), t.step.kind, t.step.microbatch
            assert stage % p == t.worker
            before = (stage - 1, "forward", i) if kind == "forward" else (stage + 1, "backward", i)
            assert t.start >= end.get(before, 0)
            assert kind == "forward" or t.start >= end[stage, "forward", i]
            mine[t.worker].append(t)
        assert all(a.end <= b.start for each in mine.values() for a, b in pairwise(each))


def test_the_bubble_is_that_of_the_papers():
    """Narayanan et al. 2021, §2.2: one of v-th the size. Breadth-first needs as many microbatches as workers for it."""
    for name, p, m, v in ALL:
        tasks = planned(name, p, m, v).timeline()
        if v == 1 or m >= p:
            assert makespan(tasks) == 3 * (v * m + p - 1)
            assert bubble(tasks) == pytest.approx(bubble_fraction(p, m, v))
        else:
            assert bubble(tasks) > bubble_fraction(p, m, v)
    assert bubble_fraction(4, 8) == 3 / 11
    assert bubble_fraction(4, 8, 2) == 3 / 19


def test_gpipe_keeps_every_microbatch_and_1f1b_no_more_than_stages_are_to_come():
    for name, p, m, v in ALL:
        kept = [most_kept(steps) for steps in planned(name, p, m, v).steps]
        if name == "gpipe":
            assert kept == [m * v] * p
        elif v == 1:
            assert kept == [min(m, p - s) for s in range(p)]
        else:
            assert kept == [min(m * v, (v - 1) * p + 2 * (p - 1 - s) + 1) for s in range(p)]


def test_gradients_of_a_stage_are_added_in_one_order_whatever_the_schedule():
    for each in ALL:
        for steps in planned(*each).steps:
            for chunk in range(each[3]):
                assert [s.microbatch for s in steps if s.chunk == chunk and s.kind == "backward"] == [*range(each[2])]


def test_messages_are_one_of_each_between_two_stages():
    for each in ALL:
        found = planned(*each)
        crossing = [t for t in found.timeline() if (need := found.needs(t.worker, t.step)) and need[0] != t.worker]
        assert found.messages == len(crossing)
        assert 2 * found.forward_only().messages == found.messages


def test_steps_are_in_the_order_of_pytorch():
    torch = pytest.importorskip("torch.distributed.pipelining.schedules")

    for _, p, m, v in (each for each in ALL if each[0] == "1f1b" and each[3] > 1 and each[2] <= 8):
        self = SimpleNamespace(n_local_stages=v, microbatches_per_round=p, pp_group_size=p, _n_microbatches=m)
        found = planned("1f1b", p, m, v)
        for self.rank, steps in enumerate(found.steps):
            theirs = torch.ScheduleInterleaved1F1B._calculate_single_rank_operations(self, self.rank)
            wanted = [(a.stage_index, a.computation_type.name == "FORWARD", a.microbatch_index) for a in theirs if a]
            assert [(found.stage(self.rank, s), s.kind == "forward", s.microbatch) for s in steps] == wanted


@pytest.mark.parametrize(("arguments", "match"), [
    (("zigzag", 2, 2), "'gpipe' or '1f1b'.*'zigzag'"), (("1f1b", 0, 2), "at least 1, and got 0, 2 and 1"),
    (("1f1b", 4, 6, 2), "rounds of 4 microbatches.*got 6: use 8, or chunks=1"), (("1f1b", 4, 2, 2), "use 4, or"),
])  # fmt: skip
def test_what_is_no_schedule_is_refused(arguments, match):
    with pytest.raises(ScheduleError, match=match):
        schedule(*arguments)


@pytest.mark.parametrize(("steps", "match"), [
    ([[Step("forward", 0)], []], "worker 1 does forward of microbatch 0, 0 times; it must do, once, forward of "),
    ([[Step("forward", 0)] * 2], "forward of microbatch 0, 2 times"),
    ([[Step("forward", 0), Step("forward", 1)]], "forward of microbatch 1, 1 times"),
    ([[Step("forward", 0), Step("sideways", 0)]], "does sideways of microbatch 0, 1 times"),
    ([[Step("backward", 0), Step("forward", 0)]], "worker 0 for forward of microbatch 0 on worker 0"),
])  # fmt: skip
def test_a_schedule_that_is_no_run_is_refused(steps, match):
    with pytest.raises(ScheduleError, match=match):
        Schedule("mine", steps, 1)


@given(sizes, st.randoms(use_true_random=False))
def test_steps_shuffled_are_run_in_time_or_refused(size, random):
    """An independent judge: a worker may begin if the steps before it, and what it needs, are done."""
    found = schedule(*size)
    steps = [[*each] for each in found.steps]
    for _ in range(random.randint(1, 3)):
        mine = random.choice(steps)
        i, j = random.randrange(len(mine)), random.randrange(len(mine))
        mine[i], mine[j] = mine[j], mine[i]
    done, moves = set(), True
    left = [[*each] for each in steps]
    while moves:
        moves = False
        for worker, mine in enumerate(left):
            while mine and (found.needs(worker, mine[0]) is None or found.needs(worker, mine[0]) in done):
                done.add((worker, mine.pop(0)))
                moves = True

    if any(left):
        with pytest.raises(ScheduleError, match="wait for ever: worker"):
            Schedule("mine", steps, found.microbatches, found.chunks)
    else:
        assert len(Schedule("mine", steps, found.microbatches, found.chunks).timeline()) == len(done)


@given(sizes, st.floats(0.1, 9), st.floats(0, 3))
def test_nothing_is_slower_for_a_faster_worker_and_messages_take_time(size, slow, transfer):
    found = schedule(*size)
    plain = makespan(found.timeline())

    assert makespan(found.timeline(transfer=transfer)) >= plain
    late = makespan(found.timeline(lambda worker, step: 1 + slow * (worker == 0)))
    assert late >= makespan(found.timeline(lambda worker, step: 1))
