"""Seconds that something takes, by a clock that has ticks: of a microsecond or less, and in a browser of 0.1 or 1 ms.

What takes less than a tick took none, by the clock. So it is called many times in a row.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from time import perf_counter

TICKS = 20  # at the least, in what is timed: the error is then 5 %
MOST = 1 << 20  # calls


def seconds(run: Callable[[], object], calls: int = 1) -> float:
    """Seconds of a call, on average."""
    start = perf_counter()
    for _ in range(calls):
        run()
    return (perf_counter() - start) / calls


def calls_for(run: Callable[[], object], least: float = 0.0) -> int:
    """How many calls take so many seconds, and as many ticks as it needs to time them: a power of 2."""
    calls, least = 1, max(least, TICKS * tick())
    while calls < MOST and calls * min(seconds(run, calls) for _ in range(2)) < least:  # one may meet a bad moment
        calls *= 2
    return calls


@cache
def tick() -> float:
    """Seconds from one number that the clock shows to the next: the least of five, as the machine may be busy."""
    return min(wait_for_tick() for _ in range(5))


def wait_for_tick() -> float:
    start = perf_counter()
    while (now := perf_counter()) == start:
        pass
    return now - start
