"""Simulates a training step on up to 10,000 workers: real schedules and collectives, on a simulated clock.

Collectives come from algorithms.py, pipelines from schedules.py, and waits follow from their messages. Nothing sleeps;
random numbers come from a key. A round of a collective takes a few NumPy operations, and so does a step of all replicas
of a stage: 10,000 workers in a ring send 200 million messages in 19,998 rounds.

The result is exact in the alpha-beta model (cost/formulas.py): a message of n bytes occupies its sender and its
receiver for α + nβ seconds once both are ready. Shared links, and all-reduces hidden by backward, are not modelled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..draw.charts import LEFT, RIGHT, WIDTH, Report, picture, sample
from ..draw.svg import text
from ..draw.words import number, took
from ..engine import random
from ..engine.base.table import Table
from .algorithms import ALL_REDUCE, messages, ring
from .cost.formulas import above_zero, validate_collective
from .schedules import Schedule

Array = NDArray[Any]
Round = tuple[Array, ...]  # senders, receivers, elements of each message
Ran = tuple[str, Array, Array]
Span = tuple[str, float, float]  # kind, start, end
KINDS = {"forward": 0, "backward": 3, "all-reduce": 5, "work": 0, "lost": 1, "restart": 7}  # → series
LETTERS, PIXELS, LANE, TOP = 64, (RIGHT - LEFT) // 2, 20, 10
SHOWN = 12  # workers or failures that are drawn
HOPELESS = 12.0  # mean times between failures: one gap between failures in 160,000 is longer


def rounds(algorithm: str, n: int, p: int) -> Iterator[Round]:
    """The messages of an algorithm, round by round: senders, receivers, and elements of each message, out of n.

    A ring has 2(p − 1) rounds. Each is the first round rotated, for all ranks at once. Others have about log p rounds.
    """
    if algorithm != "ring":
        for sent in messages(ALL_REDUCE[algorithm], p, n):
            yield tuple(np.array([(m.source, m.to, m.size) for m in sent], int).T)
    elif p > 1:
        ranks: Any = np.arange(p)
        send: Any = next(ring(ranks, p, n))[0]
        for turned in (*range(p - 1), *range(-1, p - 2)):
            yield ranks, send.to, np.roll(send.part.stop - send.part.start, turned)


def all_reduce(start: Any, nbytes: int, alpha: float, beta: float, algorithm: str = "ring") -> tuple[Array, int]:
    """The time at which each worker has the sum, and the number of messages.

    start    the time at which each worker is ready, (…, p): one row for each group of p

    >>> all_reduce([0.0, 0.0, 0.0, 5.0], 4000, alpha=1.0, beta=0.001)  # all wait for the last
    (array([17., 17., 17., 17.]), 24)
    """
    clock, total = np.array(start, float).T.copy(), 0  # (p, …): NumPy indexes rows faster
    validate_collective(nbytes, p := len(clock), alpha, beta, algorithm=algorithm)
    for senders, receivers, size in rounds(algorithm, nbytes, p):
        end = (np.maximum(clock[senders], clock[receivers]).T + (alpha + size * beta)).T
        clock[receivers] = end
        clock[senders] = np.maximum(clock[senders], end)
        total += end.size
    return clock.T, total


def pipeline(schedule: Schedule, seconds: dict[str, Array], transfer: float) -> dict[int, list[Ran]]:
    """Worker of a pipeline → its steps: (kind, starts, ends). Starts and ends have shape (r,), for r replicas.

    seconds    "forward" and "backward" → seconds for a chunk, of shape (workers, r)
    """
    ran: dict[int, list[Ran]] = {}
    done: dict[tuple[int, Any], Array] = {}
    for worker, step, *_ in schedule.timeline():  # each step after its inputs
        mine, need = ran.setdefault(worker, []), schedule.needs(worker, step)
        start = mine[-1][2] if mine else np.zeros_like(seconds["forward"][worker])
        if need is not None:
            start = np.maximum(start, done[need] + transfer * (need[0] != worker))
        done[worker, step] = start + seconds[step.kind][worker]
        mine.append((step.kind, start, done[worker, step]))
    return ran


def simulate(
    schedule: Schedule, replicas: int = 1, *, forward: float = 1.0, backward: float = 2.0, transfer: float = 0.0,
    nbytes: int = 0, alpha: float = 0.0, beta: float = 0.0, algorithm: str = "ring", slowdown: Any = 1.0,
) -> Timeline:  # fmt: skip
    """Simulate a step: each replica runs the schedule, then the replicas of each worker all-reduce their gradients.

    forward, backward    seconds of a step; transfer: seconds until another worker has its result
    nbytes               bytes of a worker's gradients; alpha, beta and algorithm describe their all-reduce
    slowdown             factor on each worker's time, (workers of the schedule, replicas): see stragglers

    >>> from minigrad.distributed.schedules import schedule
    >>> simulate(schedule("gpipe", 3, 2), 2, nbytes=1000, beta=0.001).summary
    '6 workers: 13 s, of which they compute 46.2 percent; 36 events'
    """
    above_zero(replicas=replicas, forward=forward, backward=backward, slowdown=np.min(slowdown))
    shape = schedule.workers, replicas
    if transfer < 0 or np.shape(slowdown) not in ((), shape):
        got = f"{transfer} and {np.shape(slowdown)}"
        raise ValueError(f"transfer must be at least 0, slowdown a number or of shape {shape}, and got {got}")
    slow = np.broadcast_to(np.asarray(slowdown, float), shape)
    ran = pipeline(schedule, {"forward": forward * slow, "backward": backward * slow}, transfer)
    computed = np.stack([ran[worker][-1][2] for worker in range(schedule.workers)])
    ends, sent = all_reduce(computed, nbytes, alpha, beta, algorithm) if nbytes else (computed, 0)
    seconds, events = float(ends.max()), sent + replicas * sum(map(len, ran.values()))
    busy = float(sum((end - start).sum() for steps in ran.values() for _, start, end in steps)) / (ends.size * seconds)
    lanes: dict[str, list[Span]] = {}
    for i in sorted({round(x) for x in np.linspace(0, ends.size - 1, SHOWN)}):
        r, worker = divmod(i, schedule.workers)
        spans = [*ran[worker], ("all-reduce", computed[worker], ends[worker])]
        lanes[str(i)] = [(kind, float(start[r]), float(end[r])) for kind, start, end in spans]
    share = number(100 * busy, 3)
    said = f"{ends.size:,} workers: {took(seconds)}, of which they compute {share} percent; {events:,} events"
    return Timeline(seconds, events, busy, lanes, said, seconds)


def exponential(key: Any, *shape: int) -> Array:
    """Exponential random numbers of mean 1, by a key of mg.random; the largest of n has mean 1 + 1/2 + … + 1/n."""
    return -np.log1p(-random.uniform(key, shape).numpy())  # type: ignore[no-any-return]


def stragglers(key: Any, stages: int, replicas: int, jitter: float) -> Array:
    """Slowdowns of shape (stages, replicas): 1 + jitter × exponential."""
    return 1 + jitter * exponential(key, stages, replicas)


def failures(
    work: float, interval: float, *, checkpoint: float, restart: float, mtbf: float, workers: int, key: Any
) -> Timeline:
    """Simulate `work` seconds of training, where each failure of a worker sets all back to the last checkpoint.

    interval      seconds of work between checkpoints, each of `checkpoint` seconds; work is rounded up to intervals
    restart       seconds until work resumes; another failure may happen in this time
    mtbf          mean seconds between a worker's failures, equally likely at any time; n workers fail n times as often

    The mean duration is `expected_seconds` (cost/formulas.py); `busy` is the goodput.
    """
    above_zero(work=work, interval=interval, mtbf=mtbf, workers=workers)
    cycle, total, mean = interval + checkpoint, ceil(work / interval), mtbf / workers
    if not 0 <= max(cycle, restart) <= HOPELESS * mean or min(checkpoint, restart) < 0:
        raise ValueError(
            f"{workers} workers fail every {took(mean)}: {took(interval)} of work, {took(checkpoint)} to save and "
            f"{took(restart)} to restart would never finish. Use checkpoint_interval(checkpoint, mtbf / workers)"
        )
    now, pause, left, failed, until = 0.0, 0.0, total, 0, 0.0
    spans: list[Span] = []
    for gap in (mean * x for block in count() for x in exponential(random.fold_in(key, block), 256).tolist()):
        begin, fails = now + min(pause, gap), now + gap
        cycles = min(left, int((fails - begin) // cycle))
        saved, left = begin + cycles * cycle, left - cycles
        spans += [("restart", now, begin), ("work", begin, saved)]
        if not left:
            break
        spans.append(("lost", saved, fails))
        now, pause, failed = fails, restart, failed + 1
        until = now if failed <= SHOWN else until
    busy = total * interval / saved
    said = (
        f"{workers:,} workers: {saved / 3600:,.1f} hours, {failed:,} failures; goodput {number(100 * busy, 3)} percent"
    )
    return Timeline(saved, failed + total, busy, {"all": spans}, said, until if failed > SHOWN else saved)


# -- a lane for each worker, as a picture and as text ---------------------------------------------


@dataclass(frozen=True, repr=False)
class Timeline(Report):
    """A simulated run. It prints as lanes of letters; a notebook adds a picture.

    events    number of simulated steps and messages
    busy      useful share of all workers' time
    lanes     worker → its spans until second `until`; only workers that are drawn
    """

    seconds: float
    events: int
    busy: float
    lanes: Mapping[str, Sequence[Span]]
    summary: str
    until: float
    title = "Who does what, and when"

    @property
    def tables(self) -> list[Table]:
        """The lanes, with a letter for the work in each 64th of the time."""
        kinds = [kind for kind in KINDS if any(kind == span[0] for lane in self.lanes.values() for span in lane)]
        rows = [(name, "".join(kind[:1] or "." for kind in self.sample_lane(name, LETTERS))) for name in self.lanes]
        note = f"From 0 to {took(self.until)}: {', '.join(f'{kind[0]} {kind}' for kind in kinds)}, . waits"
        return [Table({"worker": "", "what it does": "<"}, rows, note)]

    @property
    def charts(self) -> list[str]:
        size, parts = (RIGHT - LEFT) / PIXELS, []
        for i, name in enumerate(self.lanes, 1):
            low, at = TOP + i * LANE, 0
            parts.append(text("mg-number mg-dim", LEFT - 6, low - 5, name))
            for kind, group in groupby(self.sample_lane(name, PIXELS)):
                start, at = at, at + len([*group])
                if kind:
                    width, letter = (at - start) * size, kind[0].upper() * ((at - start) * size > 12)
                    parts.append(sample(KINDS[kind], LEFT + start * size, low - LANE + 2, letter, width))
        bottom = TOP + len(self.lanes) * LANE
        parts.append(text("mg-number mg-dim", RIGHT, bottom + 16, took(self.until)))
        return [picture(self.title, WIDTH, bottom + 24, parts)]

    def _repr_html_(self) -> str:
        return f'<div style="font-family: monospace">{super()._repr_html_()}</div>'

    def sample_lane(self, name: str, columns: int) -> list[str]:
        """The kind of work of a worker in each of `columns` equal periods; "" if it waits."""
        found = [""] * columns
        for kind, *span in self.lanes[name]:
            first, end = (round(t / self.until * columns) for t in span)
            found[first:end] = [kind] * (min(end, columns) - first)
        return found
