"""A network cut into stages, each on a worker of its own, and a batch cut into micro-batches that pass through.

    GPipe    all forward, then all backward                            Huang et al. 2019
    1F1B     one forward, one backward, as soon as there is one        Narayanan et al. 2019, PipeDream, section 3.2

A stage waits while the first micro-batch is on its way to it, and the last one back: that is the bubble. Both schedules
have the same; 1F1B keeps fewer micro-batches' activations at a time. Backward takes twice as long as forward.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..draw.words import number
from .blocks import Block, grid
from .film import Choice, Cut, Film, Panel, Reel, combinations

STAGES, MICRO, SCHEDULES = (2, 3, 4), (1, 2, 4, 8), ("GPipe", "1F1B")
FORWARD, BACKWARD = 1, 2  # how long they take


@dataclass(frozen=True)
class Task:
    """What a stage does with a micro-batch."""

    stage: int
    micro: int
    is_forward: bool
    start: int

    @property
    def way(self) -> str:
        return "forward" if self.is_forward else "backward"

    @property
    def end(self) -> int:
        return self.start + (FORWARD if self.is_forward else BACKWARD)

    @property
    def id(self) -> str:
        return f"{self.way[0]}{self.stage}.{self.micro}"


class Pipeline(Film):
    """The schedule of a pipeline, task by task; stages, micro-batches and schedule can be chosen."""

    def __init__(self) -> None:
        choices = [
            Choice("stages", [*map(str, STAGES)]),
            Choice("micro-batches", [*map(str, MICRO)]),
            Choice("schedule", SCHEDULES),
        ]
        reels = [reel(STAGES[s], MICRO[m], SCHEDULES[k]) for s, m, k in combinations(choices)]
        super().__init__("A pipeline of stages", (), reels, choices)
        self.choice = [STAGES.index(4), MICRO.index(4), 0]


def orders(stages: int, micro: int, schedule: str) -> list[list[tuple[int, bool]]]:
    """For each stage, what it does in which order: (micro-batch, whether forward)."""
    found = []
    for stage in range(stages):
        ahead = micro if schedule == "GPipe" else min(micro, stages - stage)
        order = [(i, True) for i in range(ahead)]
        for i in range(micro):
            order.append((i, False))
            if ahead + i < micro:
                order.append((ahead + i, True))
        found.append(order)
    return found


def scheduled(stages: int, micro: int, schedule: str) -> list[Task]:
    """Every task, as early as the one before it on its stage, and the one whose result it needs, let it be."""
    todo = orders(stages, micro, schedule)
    done: dict[tuple[int, int, bool], Task] = {}
    free = [0] * stages
    while any(todo):
        for stage, order in enumerate(todo):
            if not order:
                continue
            i, is_forward = order[0]
            needs = (stage - 1, i, True) if is_forward else (stage + 1, i, False)
            if not is_forward and stage == stages - 1:
                needs = (stage, i, True)
            if needs[0] >= 0 and needs not in done:
                continue
            start = max(free[stage], done[needs].end if needs[0] >= 0 else 0)
            task = done[stage, i, is_forward] = Task(stage, i, is_forward, start)
            free[stage] = task.end
            order.pop(0)
    return sorted(done.values(), key=lambda task: (task.start, task.stage))


def most_kept(tasks: list[Task], stage: int) -> int:
    """The most micro-batches whose activations a stage holds at a time: from forward to the end of backward."""
    mine = [task for task in tasks if task.stage == stage]
    changes = sorted((task.start, 1) if task.is_forward else (task.end, -1) for task in mine)
    held = most = 0
    for _, change in changes:
        held += change
        most = max(most, held)
    return most


def reel(stages: int, micro: int, schedule: str) -> Reel:
    """The film of one pipeline."""
    tasks = scheduled(stages, micro, schedule)
    length = max(task.end for task in tasks)
    blocks = [Block(t.id, t.stage, t.start, str(t.micro), t.way, t.end - t.start) for t in tasks]
    rows = [f"stage {i}" for i in range(stages)]
    width = min(40.0, 900 / length)
    picture = grid(blocks, rows, [str(t) for t in range(length)], (width, 30), f"{schedule}: who does what, and when")
    panel = Panel("Who does what, and when", picture, wide=True)
    return Reel([panel], list(cuts(tasks, stages, micro, schedule)))


def cuts(tasks: list[Task], stages: int, micro: int, schedule: str) -> Iterator[Cut]:
    """Each moment at which a task begins, and what it all came to."""
    yield Cut(
        "",
        f"{stages} stages, {micro} micro-batches, {schedule}. Blue is forward, dashed is backward, and the number is "
        "the micro-batch.",
        on={"hidden": [task.id for task in tasks]},
    )
    for start in sorted({task.start for task in tasks}):
        now = [task for task in tasks if task.start == start]
        does = "; ".join(f"stage {t.stage} takes micro-batch {t.micro} {t.way}" for t in now)
        ids = [task.id for task in now]
        yield Cut("", f"Time {start}: {does}.", off={"hidden": ids}, hot={"hot": ids})
    length, busy = max(task.end for task in tasks), micro * (FORWARD + BACKWARD)
    waits = number(100 * (1 - busy / length), 3)
    yield Cut(
        "",
        f"{length} units of time, of which each stage works {busy}: it waits for {waits} percent, the bubble. The "
        f"first stage keeps the activations of up to {most_kept(tasks, 0)} micro-batches.",
    )
