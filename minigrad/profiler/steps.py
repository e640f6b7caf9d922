"""Which steps of a run are profiled: some are waited for, some warm up, some are active, and so again."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum


class ProfilerAction(Enum):
    """What is done in a step."""

    NONE = 0  # nothing
    WARMUP = 1  # it is recorded, so that all that happens once has happened, and thrown away
    RECORD = 2  # it is recorded
    RECORD_AND_SAVE = 3  # and is the last of its cycle: on_trace_ready is called at its end


Schedule = Callable[[int], ProfilerAction]


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0) -> Schedule:
    """Number of a step → what is done in it: skip_first steps of nothing, then cycles of wait, warmup and active steps.

    repeat    how many cycles; 0 for as long as it runs
    """
    for name, n, least in (
        *(("wait", wait, 0), ("warmup", warmup, 0), ("active", active, 1)),
        *(("repeat", repeat, 0), ("skip_first", skip_first, 0)),
    ):
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
