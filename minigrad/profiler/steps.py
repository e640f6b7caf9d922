"""Which steps of a run are profiled: repeated cycles of waiting, warm-up and active steps."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum


class ProfilerAction(Enum):
    """What the profiler does in a step."""

    NONE = 0  # nothing
    WARMUP = 1  # record it, so that one-time work is done, and discard the result
    RECORD = 2  # record it
    RECORD_AND_SAVE = 3  # record it; it is the last of its cycle: call on_trace_ready at its end


Schedule = Callable[[int], ProfilerAction]


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0) -> Schedule:
    """Number of a step → its action: `skip_first` idle steps, then cycles of wait, warmup and active steps.

    repeat    number of cycles; 0 for no limit
    """
    numbers = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat, "skip_first": skip_first}
    for name, n in numbers.items():
        least = int(name == "active")
        if not isinstance(n, int) or n < least:
            raise ValueError(f"a schedule needs {name} to be a whole number of at least {least}, and got {n!r}")
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        turn, place = divmod(step - skip_first, cycle)
        if turn < 0 or place < wait or (repeat and turn >= repeat):
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action
