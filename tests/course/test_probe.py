"""What is left of a learner's values once they are plain data, and when two of them are the same."""

from __future__ import annotations

import _thread
import math
import signal
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

from minigrad.course import probe
from minigrad.course.probe import GRACE, Odd, Outcome, Stop, equal, plain, run_limited


def test_a_list_that_lies_about_its_items_is_read_as_it_is():
    class Lie(list):
        def __iter__(self):
            return iter([1, 2, 3])

    assert plain(Lie([7])) == [7]


def test_nan_is_nothing_but_nan():
    assert equal(math.nan, math.nan)
    for other in (0.0, 1.0, math.inf, None, "nan", True):
        assert not equal(math.nan, other)
        assert not equal(other, math.nan)


def test_plain_data_are_the_same_when_a_reader_would_say_so():
    same = [
        (1, 1.0), (0.1 + 0.2, 0.3), ([1, [2.0]], [1.0, [2]]), ({"a": 1}, {"a": 1.0}), (None, None), (10**400, 10**400),
    ]  # fmt: skip
    different = [(1, True), (0, False), (0, None), ("1", 1), ([1], [1, 1]), ({"a": 1}, {"b": 1}), (10**9, 10**9 + 1),
                 (1.0, 1.0001), (10**400, 1.0), ([], {})]  # fmt: skip

    assert all(equal(a, b) and equal(b, a) for a, b in same)
    assert not any(equal(a, b) or equal(b, a) for a, b in different)


def test_numpy_becomes_plain_and_objects_do_not():
    given = {"a": (np.float32(0.5), np.arange(2), np.bool_(True)), 3: np.array(7)}

    assert plain(given) == {"a": [0.5, [0, 1], True], "3": 7}
    for odd in (object(), int, len, {1, 2}, b"1", 1j, np.array([object()]), np.arange(10**6), [0] * 10**6):
        with pytest.raises(Odd):
            plain(odd)


def test_a_list_within_itself_is_no_plain_data():
    endless: list[Any] = []
    endless.append(endless)

    with pytest.raises(Odd, match="levels"):
        plain(endless)


def test_outcomes_of_a_kind_match_whatever_words_an_exception_had():
    assert Outcome("raised", "TypeError", "one").matches(Outcome("raised", "TypeError", "two"))
    assert not Outcome("raised", "TypeError").matches(Outcome("raised", "ValueError"))
    assert not Outcome("gave", "TypeError").matches(Outcome("raised", "TypeError"))


@pytest.fixture
def interruptible():
    """Python's own handler of SIGINT, which a process that was started in the background ignores."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, handler)


@pytest.mark.usefixtures("interruptible")
def test_interrupting_the_kernel_interrupts_the_check_and_stops_what_it_ran():
    def work() -> Outcome:
        while True:
            time.sleep(0.01)

    before = set(threading.enumerate())
    interrupt = threading.Timer(0.2, _thread.interrupt_main)
    interrupt.start()

    with pytest.raises(KeyboardInterrupt):
        run_limited(work, 2)

    interrupt.join()
    while set(threading.enumerate()) != before:  # a thread that has said its last word takes a moment to go
        time.sleep(0.01)


def test_a_word_to_stop_that_a_finalizer_swallows_is_said_again_and_not_reported(monkeypatch):
    reported, begun = [], []
    monkeypatch.setattr(sys, "unraisablehook", lambda dropped: reported.append(dropped.exc_type))

    class Endless:
        def __del__(self):
            begun.append(self)
            if len(begun) == 1:
                raise ValueError
            while len(begun) < 4:
                pass

    def work() -> Outcome:
        for _ in range(4):
            Endless()
        while True:
            pass

    assert run_limited(work, 0.2).kind == "endless"
    assert reported == [ValueError]


def test_on_a_busy_machine_a_probe_has_seconds_of_work_and_not_of_the_wall():
    """Another thread holds the one lock that Python has for half of the time."""
    enough = threading.Event()
    other = threading.Thread(target=turn, args=(enough,), daemon=True)
    other.start()

    def work():
        began = time.thread_time()
        while time.thread_time() - began < 0.3:
            pass
        enough.set()
        return Outcome("gave", 2)

    outcome = run_limited(work, 0.5)  # side by side with the other it takes 0.6 s by the clock, or more
    enough.set()
    other.join()
    assert (outcome.kind, outcome.value) == ("gave", 2)


@pytest.mark.skipif(not hasattr(time, "pthread_getcpuclockid"), reason="it is not known here what a thread has worked")
def test_a_machine_that_stands_still_takes_no_time_from_a_probe(monkeypatch, stands_still):
    """As a virtual one does whose host is busy: after it, a right answer had been running for too long."""

    def work():
        began = time.thread_time()
        while time.thread_time() - began < 0.3:
            pass
        return Outcome("gave", 2)

    monkeypatch.setattr(probe, "time", stands_still)
    assert run_limited(work, 0.5).value == 2


def test_what_stops_but_slowly_has_seconds_of_work_to_stop_too():
    """To leave 10⁵ calls takes more than a second, in which no word to stop arrives."""

    def work():
        until = time.thread_time() + 0.1 + GRACE / 2
        while time.thread_time() < until:
            try:
                while time.thread_time() < until:
                    pass
            except Stop:
                pass
        return Outcome("gave", "its end")

    enough = threading.Event()
    other = threading.Thread(target=turn, args=(enough,), daemon=True)
    other.start()
    outcome = run_limited(work, 0.1)
    enough.set()
    other.join()
    assert outcome.value == "its end"


def turn(enough):
    while not enough.is_set():
        pass


def test_what_sleeps_has_its_seconds_by_the_clock_on_the_wall():
    awake = threading.Event()
    assert run_limited(awake.wait, 0.2).kind in ("endless", "stuck")
    awake.set()


def test_a_long_message_is_cut_after_a_word():
    """It was cut after 300 characters, in the middle of a word, and nothing showed that more had followed."""
    message = "so the list grows in the loop " * 12

    told = probe.cut(message)

    assert len(told) <= 302
    assert told.endswith(" …")
    assert message.startswith(told.removesuffix(" …") + " ")
    assert probe.cut("a short message") == "a short message"
