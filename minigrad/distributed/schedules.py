"""Pipeline schedules as data: the steps of each worker, in order.

A network is cut into stages, and a batch into m microbatches that pass through them. With p workers, and v chunks of
the network on each, worker w has the stages w, p + w, 2p + w, …: forward goes up the stages, and backward down.

    GPipe               all forward, then all backward. Huang et al. 2019, §2.3. https://arxiv.org/abs/1811.06965
    1F1B                one forward, one backward, once a backward is ready; a worker keeps no more microbatches
                        than there are workers. Narayanan et al. 2021, §2.2.1. https://arxiv.org/abs/2104.04473
    interleaved 1F1B    with v > 1 chunks: a worker waits for p − 1 chunks, which are v times smaller, and sends v
                        times as much. Same paper, §2.2.2; GPipe with v > 1 is Lamy-Poirier 2023's breadth-first
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from ..engine.base.errors import MinigradError


class ScheduleError(MinigradError, ValueError):
    """A schedule that omits a step, repeats one, or would deadlock."""


class Step(NamedTuple):
    """A worker's step: forward or backward of a microbatch, through one of its chunks."""

    kind: str
    microbatch: int
    chunk: int = 0

    def __str__(self) -> str:
        return f"{self.kind} of microbatch {self.microbatch}" + (f" in chunk {self.chunk}" if self.chunk else "")


class Task(NamedTuple):
    """A step with its worker, start and end: computed in advance, or measured."""

    worker: int
    step: Step
    start: float
    end: float


def units(_: int, step: Step) -> float:
    """The duration of a step, if backward takes twice as long as forward."""
    return 1 if step.kind == "forward" else 2


@dataclass(frozen=True)
class Schedule:
    """The steps of each worker, in order. Raises ScheduleError if they are not a valid pipeline.

    Each worker runs forward, and backward unless the schedule has none, once for each microbatch and chunk.
    """

    name: str
    steps: Sequence[Sequence[Step]]
    microbatches: int
    chunks: int = 1

    def __post_init__(self) -> None:
        kinds = ["forward", "backward"][: 1 + any(step.kind != "forward" for step in self.steps[0])]
        wanted = [Step(k, i, c) for k in kinds for i in range(self.microbatches) for c in range(self.chunks)]
        for worker, steps in enumerate(self.steps):
            counts = Counter(steps)
            if wrong := [step for step in (*steps, *wanted) if counts[step] != (step in wanted)]:
                raise ScheduleError(
                    f"{self.name}: worker {worker} does {wrong[0]}, {counts[wrong[0]]} times; it must do, once, "
                    f"{' and '.join(kinds)} of each of {self.microbatches} microbatches through {self.chunks} chunks"
                )
        self.timeline()

    @property
    def workers(self) -> int:
        return len(self.steps)

    @property
    def stages(self) -> int:
        """Number of stages of the network: the chunks of all workers."""
        return self.workers * self.chunks

    @property
    def messages(self) -> int:
        """Number of messages in a run: between each two neighbouring stages, one per microbatch and kind of step."""
        kinds = len({step.kind for step in self.steps[0]})
        return kinds * self.microbatches * (self.stages - 1) if self.workers > 1 else 0

    def forward_only(self) -> Schedule:
        """The schedule without backward, for evaluation."""
        steps = [[step for step in steps if step.kind == "forward"] for steps in self.steps]
        return Schedule(f"{self.name}, forward only", steps, self.microbatches, self.chunks)

    def stage(self, worker: int, step: Step) -> int:
        """The stage of the network that a step of this worker runs."""
        return step.chunk * self.workers + worker

    def needs(self, worker: int, step: Step) -> tuple[int, Step] | None:
        """The worker and the step whose result a step needs; None for forward of the first stage."""
        stage = self.stage(worker, step)
        if step.kind == "backward" and stage == self.stages - 1:
            return worker, step._replace(kind="forward")
        before = stage - 1 if step.kind == "forward" else stage + 1
        return None if before < 0 else (before % self.workers, step._replace(chunk=before // self.workers))

    def timeline(self, takes: Callable[[int, Step], float] = units, transfer: float = 0) -> list[Task]:
        """All steps in the order of their starts, each as early as its worker and its inputs allow.

        takes       worker and step → duration
        transfer    time until a result reaches another worker

        Raises ScheduleError, with the waiting steps, if workers deadlock.
        """
        done: dict[tuple[int, Step], Task] = {}
        free, at = [0.0] * self.workers, [0] * self.workers
        waiting: dict[tuple[int, Step], int] = {}  # (worker, step) → the worker that waits for it
        ready = [*range(self.workers)]
        while ready:
            worker = ready.pop()
            while at[worker] < len(self.steps[worker]):
                step = self.steps[worker][at[worker]]
                need = self.needs(worker, step)
                if need is not None and need not in done:
                    waiting[need] = worker
                    break
                there = done[need].end + transfer * (need[0] != worker) if need is not None else 0.0
                start = max(free[worker], there)
                free[worker] = start + takes(worker, step)
                done[worker, step] = Task(worker, step, start, free[worker])
                at[worker] += 1
                if (worker, step) in waiting:
                    ready.append(waiting.pop((worker, step)))
        if waiting:
            who = "; ".join(f"worker {w} for {step} on worker {other}" for (other, step), w in waiting.items())
            raise ScheduleError(f"{self.name}: workers wait for ever: {who}")
        return sorted(done.values(), key=lambda task: (task.start, task.worker))


def schedule(name: str, stages: int, microbatches: int, chunks: int = 1) -> Schedule:
    """The schedule "gpipe" or "1f1b" of `stages` workers, with `chunks` stages of the network each.

    Raises ScheduleError if there is none: in interleaved 1F1B, p workers need a multiple of p microbatches.
    """
    p, m, v = stages, microbatches, chunks
    known = {"gpipe": "GPipe", "1f1b": "1F1B" if v == 1 else "interleaved 1F1B"}.get(name.lower())
    if known is None:
        raise ScheduleError(f"a schedule is 'gpipe' or '1f1b' (with chunks > 1, interleaved), and got {name!r}")
    if min(p, m, v) < 1:
        raise ScheduleError(f"{name}: stages, microbatches and chunks must be at least 1, and got {p}, {m} and {v}")
    if known == "GPipe":
        return Schedule(known, [order(m, v, m, m * v)] * p, m, v)
    if v > 1 and m % p:
        advice = f"use {m + p - m % p}, or chunks=1"
        raise ScheduleError(f"{known} goes in rounds of {p} microbatches, one for each worker, and got {m}: {advice}")
    ahead = [p - w if v == 1 else 2 * (p - 1 - w) + (v - 1) * p + 1 for w in range(p)]
    return Schedule(known, [order(m, v, min(p, m), n) for n in ahead], m, v)


def order(m: int, v: int, a_round: int, ahead: int) -> list[Step]:
    """`ahead` forward steps, then backward and forward alternating, in rounds of microbatches through all chunks."""
    firsts = range(0, m, a_round)
    ways = [(i, c) for first in firsts for c in range(v) for i in range(first, min(first + a_round, m))]
    forward = [Step("forward", i, c) for i, c in ways]
    backward = [Step("backward", i, v - 1 - c) for i, c in ways]
    after = [step for pair in zip(backward, forward[ahead:]) for step in pair]
    return [*forward[:ahead], *after, *backward[max(len(forward) - ahead, 0) :]]


# -- figures of a run, computed or measured --------------------------------------------------------


def bubble_fraction(stages: int, microbatches: int, chunks: int = 1) -> float:
    """The share of the time in which a worker waits: (p − 1) / (v m + p − 1), for both GPipe and 1F1B.

    Its ratio of waiting time to working time is (p − 1) / (v m): Narayanan et al. 2021, §2.2.
    """
    return (stages - 1) / (chunks * microbatches + stages - 1)


def makespan(tasks: Iterable[Task]) -> float:
    """The time from the first start to the last end."""
    tasks = [*tasks]
    return max(task.end for task in tasks) - min(task.start for task in tasks)


def bubble(tasks: Sequence[Task]) -> float:
    """The share of the time in which workers wait."""
    workers = len({task.worker for task in tasks})
    return 1 - sum(task.end - task.start for task in tasks) / (workers * makespan(tasks))


def most_kept(steps: Iterable[Step]) -> int:
    """The most activations a worker keeps at once. Each microbatch and chunk has one, from forward to backward."""
    return max(accumulate(1 if step.kind == "forward" else -1 for step in steps), default=0)
