"""A verdict from a clock, on a machine that has other things to do."""

from __future__ import annotations

import pytest

from minigrad.course.stopwatch import Rounds, in_turns
from minigrad.profiler import clock as timing
from minigrad.profiler.machine import fastest
from tests.support.root import ROOT
from tests.support.table import table

LESSONS = sorted((ROOT / "lessons" / "source").glob("*.py"))


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until a way moves it."""
    now = [0.0]
    timing.tick()  # of the true one, which is found out once
    monkeypatch.setattr(timing, "perf_counter", lambda: now[0])
    return now


def lasting(clock, *durations):
    """A way whose calls last so long, one after another and round again."""
    called = []

    def way():
        clock[0] += durations[len(called) % len(durations)]
        called.append(clock[0])

    way.called = called
    return way


def test_a_machine_that_is_slow_for_a_while_slows_all_ways_alike(clock):
    """Lesson 12 timed one way after the other, and printed 332.8 times as fast, where there was nothing to gain."""
    speed = iter([1.0] * 20 + [50.0] * 22 + [1.0] * 100)  # 2 calls to begin with, then 3 tries of each in 7 rounds

    def eager():
        clock[0] += 0.4 * next(speed)

    def traced():
        clock[0] += 0.2 * next(speed)

    times = in_turns(eager=eager, traced=traced)

    assert f"{times['eager'] / times['traced']:.1f}" == "2.0"


def test_what_disturbs_single_tries_is_not_counted(clock):
    eager, traced = lasting(clock, 0.4, 0.4, 9.0), lasting(clock, 0.2, 3.0, 0.2)

    times = in_turns(eager=eager, traced=traced)

    assert f"{times['eager'] / times['traced']:.1f}" == "2.0"


def test_what_is_prepared_at_the_first_call_is_not_counted(clock):
    assert in_turns(cached=lasting(clock, 60.0, *[0.5] * 100))["cached"].each == pytest.approx([0.5] * 7)


def test_what_is_quick_is_timed_many_calls_at_a_time(clock):
    quick = lasting(clock, 1e-5)

    assert in_turns(quick=quick)["quick"].each == pytest.approx([1e-5] * 7)
    assert len(quick.called) >= 7 * 3 * 99


def test_rounds_that_disagree_give_no_verdict():
    """Two timings of one thing on a busy machine: their ratio is anything, and no single number is printed."""
    uneven = Rounds((0.9, 3.0, 332.8, 1.1, 0.4, 7.0, 2.0))

    assert not uneven.stable
    assert f"{uneven:.1f}" == "somewhere between 1.0 and 5.0"


def test_a_difference_that_is_lost_in_noise_gives_no_verdict():
    """More steps may seem to take less time than few, and then a step takes less than none."""
    long, short = Rounds((1.0, 2.0, 1.0, 3.0)), Rounds((2.0, 1.0, 1.0, 4.0))
    ratio = Rounds((1.0, 1.0, 1.0, 1.0)) / (long - short)

    assert f"{ratio:.0f}".startswith("anything up to")


@table("rounds, place", [
    ((0.9, 1.0, 1.1, 1.0), 0), ((1.3, 1.5, 1.4, 1.6), 1),
    ((4.0, 3.0, 9.0, 8.0), 2),  # uneven, and yet far from any limit
    ((1.0, 1.1, 1.2, 1.3), None), ((1.9, 1.8, 2.2, 2.4), None),
])  # fmt: skip
def test_a_place_among_limits_is_told_where_the_rounds_agree(rounds, place):
    assert Rounds(rounds).among(1.15, 2) == place


@table("lesson", LESSONS, ids=lambda path: path.stem)
def test_no_lesson_has_a_clock_of_its_own(lesson):
    """Eight of them had, each way timed by itself: under load they contradicted the sentence below."""
    text = lesson.read_text(encoding="utf-8")

    assert [word for word in ("perf_counter", "timeit", "process_time") if word in text] == []


def test_what_takes_less_than_a_tick_is_called_many_times(monkeypatch):
    """A browser's clock shows tenths of a millisecond: what took less took none, and a machine without limits."""
    now = 0

    def run():
        nonlocal now
        now += 100  # nanoseconds

    def shown():
        run()
        return now // 100_000 * 1e-4

    monkeypatch.setattr(timing, "perf_counter", shown)
    timing.tick.cache_clear()
    try:
        assert timing.tick() == pytest.approx(1e-4)
        assert timing.calls_for(run) > 100
        assert fastest(run, 3) > 0
    finally:
        timing.tick.cache_clear()


def test_a_bad_moment_does_not_make_a_call_long(monkeypatch):
    """The first call waits a second for another program; all others take a microsecond, and 0.01 s is asked for."""
    now = [0.0]
    monkeypatch.setattr(timing, "perf_counter", lambda: now[0])
    monkeypatch.setattr(timing, "tick", lambda: 1e-7)

    def run():
        now[0] += 1e-6 if now[0] else 1.0

    assert timing.calls_for(run, 0.01) == 1 << 14


def test_a_pause_of_the_process_does_not_lengthen_the_clocks_tick(monkeypatch):
    shown = iter([0, 50, *range(51, 99)])  # the process stands still in the first measurement
    monkeypatch.setattr(timing, "perf_counter", lambda: next(shown))

    assert timing.tick.__wrapped__() == 1
