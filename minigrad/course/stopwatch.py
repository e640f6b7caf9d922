"""Compare the running times of several functions on a machine that also runs other programs.

    times = in_turns(eager=f, traced=g)
    print(f"{times['eager'] / times['traced']:.1f} times as long")

Another program slows down whichever function is running. So the functions take turns, and each round is a separate
measurement. If the rounds disagree there is no verdict, and the text is `somewhere between 0.9 and 3.1`.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from statistics import quantiles

from minigrad.profiler.clock import calls_for, seconds

ROUNDS = 7
TRIES = 3  # times that a round measures each function; the fastest counts
LEAST = 1e-3  # seconds; shorter calls are timed several together, because the clock is too coarse for one
STABLE = 1.5  # the largest ratio of the upper to the lower quartile


@dataclass(frozen=True)
class Rounds:
    """A number for each round: seconds, or a difference or ratio of them."""

    each: tuple[float, ...]

    def __sub__(self, other: Rounds) -> Rounds:
        return Rounds(tuple(a - b for a, b in zip(self.each, other.each, strict=True)))

    def __truediv__(self, other: Rounds) -> Rounds:
        return Rounds(tuple(a / b if b else inf for a, b in zip(self.each, other.each, strict=True)))

    @property
    def quartiles(self) -> tuple[float, float, float]:
        low, middle, high = quantiles(self.each, method="inclusive")
        return low, middle, high

    @property
    def stable(self) -> bool:
        low, _, high = self.quartiles
        return low > 0 and high <= STABLE * low

    def among(self, *limits: float) -> int | None:
        """How many of these ascending limits the rounds exceed; None if the rounds disagree."""
        low, _, high = (bisect(limits, quartile) for quartile in self.quartiles)
        return low if low == high else None

    def __format__(self, spec: str) -> str:
        low, middle, high = (format(quartile, spec) for quartile in self.quartiles)
        if self.stable:
            return middle
        return f"somewhere between {low} and {high}" if self.quartiles[0] > 0 else f"anything up to {high}"


def in_turns(rounds: int = ROUNDS, **ways: Callable[[], object]) -> dict[str, Rounds]:
    """The seconds of one call of each function, in each round. A first call, which may compile, is not counted."""
    return {name: Rounds(times) for name, times in measure(rounds, ways).items()}


def measure(rounds: int, ways: dict[str, Callable[[], object]]) -> dict[str, tuple[float, ...]]:
    """The times for in_turns(). When scripts/ runs a notebook, each function is called once instead."""
    calls = {}
    for name, way in ways.items():
        way()
        calls[name] = calls_for(way, LEAST)
    times: dict[str, tuple[float, ...]] = dict.fromkeys(ways, ())
    for _ in range(rounds):
        tries = [{name: seconds(way, calls[name]) for name, way in ways.items()} for _ in range(TRIES)]
        for name in ways:
            times[name] += (min(each[name] for each in tries),)
    return times
