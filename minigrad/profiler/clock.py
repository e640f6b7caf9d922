"""Seconds of a call, measured with a clock of limited resolution: a microsecond or less, in a browser 0.1 or 1 ms.

A call shorter than one tick of the clock measures as 0. So short calls are repeated many times in a row.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from time import perf_counter

TICKS = 20  # least ticks of the clock in each measurement: the error is then at most 5 %
MOST = 1 << 20  # calls in one measurement


def seconds(run: Callable[[], object], calls: int = 1) -> float:
    """Seconds of a call, on average."""
    start = perf_counter()
    for _ in range(calls):
        run()
    return (perf_counter() - start) / calls


def calls_for(run: Callable[[], object], least: float = 0.0) -> int:
    """The number of calls, a power of 2, that take at least `least` seconds and TICKS ticks."""
    calls, least = 1, max(least, TICKS * tick())
    while calls < MOST and calls * min(seconds(run, calls) for _ in range(2)) < least:  # two, as one may be slowed down
        calls *= 2
    return calls


@cache
def tick() -> float:
    """The resolution of the clock in seconds: the least of five readings, as the machine may be busy."""
    return min(wait_for_tick() for _ in range(5))


def wait_for_tick() -> float:
    start = perf_counter()
    while (now := perf_counter()) == start:
        pass
    return now - start
