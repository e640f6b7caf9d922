"""A network cut into stages, one per worker, and a batch cut into micro-batches that pass through the stages.

The picture is a timeline: of a schedule (distributed/schedules.py), where backward takes twice as long as forward, or
of a measured run. A stage idles while the first micro-batch is on its way to it, and while the last one is on its way
back: that is the bubble. It is the same for GPipe and 1F1B, but 1F1B keeps fewer micro-batches' activations at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...distributed.schedules import Schedule, Task, bubble, bubble_fraction, makespan, most_kept, schedule
from ...draw.charts import round_step
from ...draw.words import number
from .blocks import Block, grid
from .film import Choice, Cut, Film, Panel, Reel, combinations

STAGES, MICRO, SCHEDULES = (2, 3, 4), (1, 2, 4, 8), ("GPipe", "1F1B")
WIDE, LETTERS = 900, 17  # pixels: the width of a run, which grows until a typical block has room for its label


class Pipeline(Film):
    """A pipeline's run, task by task.

    run    a Schedule, or the tasks of minigrad.distributed's `Pipeline.measured()`, in seconds: the widget opens at the
           last step. Without `run`, the reader chooses stages, micro-batches and schedule
    """

    def __init__(self, run: Schedule | Sequence[Task] | None = None) -> None:
        if run is not None:
            ran = (run.name, run.timeline()) if isinstance(run, Schedule) else ("measured", [*run], 1000, " ms")
            super().__init__("A pipeline of stages", (), [reel(*ran)])
            self.index = len(self.steps) - 1
            return
        sizes = [Choice("stages", [*map(str, STAGES)]), Choice("micro-batches", [*map(str, MICRO)])]
        choices = [*sizes, Choice("schedule", SCHEDULES)]
        plans = [schedule(SCHEDULES[k], STAGES[s], MICRO[m]) for s, m, k in combinations(choices)]
        super().__init__("A pipeline of stages", (), [reel(plan.name, plan.timeline()) for plan in plans], choices)
        self.choice = [STAGES.index(4), MICRO.index(4), 0]


def reel(name: str, tasks: list[Task], scale: float = 1, unit: str = "") -> Reel:
    """The film of one run.

    scale, unit    the factor for displayed times, and their unit
    """
    zero = min(task.start for task in tasks)
    tasks = [t._replace(start=(t.start - zero) * scale, end=(t.end - zero) * scale) for t in tasks]
    length, interleaved = makespan(tasks), any(task.step.chunk for task in tasks)
    tick = round_step(length / 20) if unit else max(1.0, round_step(length / 45))
    typical = sorted(task.end - task.start for task in tasks)[len(tasks) // 4]
    wide = min(max(WIDE, LETTERS * length / (typical or 1)), 3 * WIDE) if unit else min(WIDE, 40 * length)
    width = wide * tick / length
    blocks = [
        Block(name_of(t), t.worker, t.start / tick, words(t, interleaved), t.step.kind, (t.end - t.start) / tick)
        for t in tasks
    ]
    rows = [f"{'worker' if interleaved else 'stage'} {i}" for i in range(1 + max(task.worker for task in tasks))]
    above = [f"{(i + 0.5 * bool(unit)) * tick:g}" for i in range(int(length / tick) + (length % tick > 0))]
    picture = grid(blocks, rows, above, (width, 30), f"{name}: who does what, and when{unit and ', in' + unit}")
    return Reel([Panel("Who does what, and when", picture, wide=True)], list(cuts(name, tasks, rows, unit)))


def name_of(task: Task) -> str:
    return f"{task.step.kind[0]}{task.worker}.{task.step.microbatch}.{task.step.chunk}"


def words(task: Task, interleaved: bool) -> str:
    """The label of a task: its micro-batch, and its chunk as a letter."""
    return str(task.step.microbatch) + "abcdefghijklmnopqrstuvwxyz"[task.step.chunk] * interleaved


def cuts(name: str, tasks: list[Task], rows: Sequence[str], unit: str) -> Iterator[Cut]:
    """A cut for each moment at which a task begins, then a summary."""
    who, p = rows[0].split()[0], len(rows)
    m, v = 1 + max(task.step.microbatch for task in tasks), 1 + max(task.step.chunk for task in tasks)
    letters = " and a letter the chunk" if v > 1 else ""
    say = f"{p} {who}s, {m} micro-batches, {name}. Blue is forward, dashed is backward, and the number is the"
    yield Cut("", f"{say} micro-batch{letters}.", on={"hidden": [*map(name_of, tasks)]})
    for start in sorted({task.start for task in tasks}):
        now = [task for task in tasks if task.start == start]
        does = "; ".join(f"{rows[t.worker]} takes micro-batch {words(t, v > 1)} {t.step.kind}" for t in now)
        ids = [name_of(task) for task in now]
        yield Cut("", f"Time {number(start, 4)}{unit}: {does}.", off={"hidden": ids}, hot={"hot": ids})
    took = f"{number(makespan(tasks), 4)}{unit or ' units of time'}"
    waits = f"{took}, of which a {who} waits for {number(100 * bubble(tasks), 3)} percent, the bubble"
    ideal = f"(p − 1) / ({'v ' * (v > 1)}m + p − 1) is {number(100 * bubble_fraction(p, m, v), 3)} percent"
    yield Cut("", f"{waits}; {ideal}.{describe_kept(tasks, rows, v > 1)}")


def describe_kept(tasks: list[Task], rows: Sequence[str], interleaved: bool) -> str:
    """A sentence on the most activations that each worker keeps; "" if no backward pass needs any."""
    if not any(task.step.kind == "backward" for task in tasks):
        return ""
    steps = [[task.step for task in tasks if task.worker == worker] for worker in range(len(rows))]
    kept = ", ".join(f"{row}: {most_kept(each)}" for row, each in zip(rows, steps))
    of = "micro-batches in a chunk" if interleaved else "micro-batches"
    return f" The most {of} whose activations are kept: {kept}."
