"""A network cut into stages, one per worker, and a batch cut into micro-batches that pass through the stages.

The picture is a timeline: of a schedule (distributed/schedules.py), where backward takes twice as long as forward, or
of a measured run. A stage idles while the first micro-batch is on its way to it, and while the last one is on its way
back: that is the bubble, drawn hatched and counted. It is the same for GPipe and 1F1B, but 1F1B keeps fewer
micro-batches' activations at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...distributed.schedules import Schedule, Step, Task, bubble, bubble_fraction, makespan, most_kept, schedule
from ...draw.charts import picture, round_step
from ...draw.svg import STYLE, text
from ...draw.words import number, pluralize
from .film import Choice, Cut, Film, Panel, Reel, combinations
from .stills import compact
from .widget import HERE

STAGES, MICRO, SCHEDULES = (2, 3, 4), (1, 2, 4, 8), ("GPipe", "1F1B")
WIDE, LETTERS = 720, 17  # pixels: the width of a run, which grows until a typical task has room for its label
MEANINGS = {"forward": "forward", "backward": "backward", "idle": "idle: the bubble"}
LABEL, TOP, ROW, STACK, RIGHT = 124, 30, 54, 18, 110  # pixels: row names, time labels, row, stack in it, counts


class Pipeline(Film):
    """A pipeline's run, task by task.

    run    a Schedule, or the tasks of minigrad.distributed's `Pipeline.measured()`, in seconds: the widget opens at the
           last step. Without `run`, the reader chooses stages, micro-batches and schedule
    """

    looks = STYLE + (HERE / "pipeline.css").read_text(encoding="utf-8")

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
    if not tasks:
        raise ValueError("Pipeline draws runs with at least one task, and this run has none")
    zero = min(task.start for task in tasks)
    tasks = [t._replace(start=(t.start - zero) * scale, end=(t.end - zero) * scale) for t in tasks]
    waits = [wait for worker in range(1 + max(task.worker for task in tasks)) for wait in gaps(worker, tasks)]
    return Reel([Panel("", timeline(name, tasks, waits, unit), wide=True)], list(cuts(name, tasks, waits, unit)))


def gaps(worker: int, tasks: Sequence[Task]) -> Iterator[Task]:
    """The times in which a worker has no task, as tasks of the kind "idle"."""
    busy = sorted((task.start, task.end) for task in tasks if task.worker == worker)
    for k, ((_, start), (end, _)) in enumerate(zip([(0.0, 0.0), *busy], [*busy, (makespan(tasks), 0.0)])):
        if end - start > 1e-9:
            yield Task(worker, Step("idle", k), start, end)


def rows_of(tasks: Sequence[Task]) -> list[str]:
    who = "worker" if any(task.step.chunk for task in tasks) else "stage"
    return [f"{who} {i}" for i in range(1 + max(task.worker for task in tasks))]


def name_of(task: Task) -> str:
    return f"{task.step.kind[0]}{task.worker}-{task.step.microbatch}-{task.step.chunk}"


def label(task: Task, rows: Sequence[str]) -> str:
    """The label of a task: its micro-batch, and its chunk as a letter, if workers have several."""
    letter = "abcdefghijklmnopqrstuvwxyz"[task.step.chunk] if rows[0].startswith("worker") else ""
    return f"{task.step.microbatch}{letter}"


def describe_sizes(tasks: Sequence[Task], rows: Sequence[str]) -> str:
    """The values of the letters in the formula: p = 4 stages, m = 8 micro-batches."""
    m, v = 1 + max(task.step.microbatch for task in tasks), 1 + max(task.step.chunk for task in tasks)
    who = rows[0].split()[0]
    words = f"p = {pluralize(len(rows), who, f'{who}s')}, m = {pluralize(m, 'micro-batch', 'micro-batches')}"
    return f"{words}, v = {v} chunks" if v > 1 else words


def most_by_worker(tasks: Sequence[Task]) -> list[int]:
    """The most activations that each worker keeps; empty if no backward pass needs any."""
    steps = ([t.step for t in tasks if t.worker == i] for i in range(1 + max(task.worker for task in tasks)))
    return [*map(most_kept, steps)] if any(task.step.kind == "backward" for task in tasks) else []


def time_in(waits: Sequence[Task], worker: int | None = None) -> str:
    """The waiting time of one worker, or of all workers together."""
    return number(sum(wait.end - wait.start for wait in waits if worker in (None, wait.worker)), 3)


def count(waits: Sequence[Task], worker: int, length: float, unit: str) -> str:
    return f"{time_in(waits, worker)} of {number(length, 3)}{unit}"


def timeline(name: str, tasks: list[Task], waits: list[Task], unit: str) -> str:
    """A row for each worker, in which its waits are hatched, with counts at its end; and a legend."""
    rows, length = rows_of(tasks), makespan(tasks)
    typical = sorted(task.end - task.start for task in tasks)[len(tasks) // 4]
    wide = min(max(WIDE, LETTERS * length / (typical or 1)), 3 * WIDE) if unit else WIDE
    tick = round_step(length / 20) if unit else round_step(max(1, length / 25))
    one, below = wide / length, TOP + len(rows) * ROW
    ticks = [(LABEL + n * tick * one, n * tick) for n in range(int(length / tick) + (length % tick > 0))]
    lines = "".join(f"M{x:.0f},{TOP - 4}V{below - 4}" for x, _ in ticks)
    stacks = draw_stacks(tasks, one)
    parts = [*stacks, *draw_waits(tasks, waits, one, below - TOP)]
    parts += [f'<path class="mg-lines" d="{lines}"/>', text("mg-number mg-dim", LABEL - 8, 23, "time")]
    times = [text("mg-sign mg-dim", x + (0 if unit else one / 2), 23, f"{time:g}") for x, time in ticks]
    parts.append(f'<g class="mg-times">{"".join(times)}</g>')
    parts.append(text("mg-dim", LABEL + wide + 8, 23, "idle"))
    for i, row in enumerate(rows):
        y, end = TOP + i * ROW + 20, count(waits, i, length, unit)
        parts.append(text("mg-number", LABEL - 8, y, row))
        parts.append(f'<text data-id="idle {i}" x="{LABEL + wide + 8:.0f}" y="{y}">{end}</text>')
    for t in tasks:
        x, y = LABEL + t.start * one, TOP + t.worker * ROW
        parts.append(draw_bar(name_of(t), t.step.kind, x, y, (t.end - t.start) * one, label(t, rows)))
    for k, (look, meaning) in enumerate(MEANINGS.items()):
        parts.append(draw_bar("", look, LABEL + 190 * k, below + 8, 36, "0"))
        parts.append(text("mg-dim", LABEL + 190 * k + 44, below + 28, meaning))
    parts.append(text("mg-name", 4, below + 28, name))
    units = "number = micro-batch" + ", stack = activations kept" * bool(stacks)
    parts.append(text("mg-dim", LABEL, below + 60, units))
    total = f"{time_in(waits)} of {number(len(rows) * length, 3)}{unit} idle: {number(100 * bubble(tasks), 3)} %"
    parts.append(f'<text class="mg-name" data-id="all" x="{LABEL + 380}" y="{below + 60}">{total}</text>')
    twice = "; backward takes 2" * (not unit and rows[0] == "stage 0" and stacks != [])
    parts.append(text("mg-dim mg-sizes", LABEL, below + 90, describe_sizes(tasks, rows) + twice))
    title, look = f"{name}: who does what, and when", "mg-pipe" if unit else "mg-pipe mg-plan"
    return compact(picture(title, LABEL + wide + RIGHT, below + 100, parts, look))


def draw_stacks(tasks: Sequence[Task], one: float) -> list[str]:
    """The activations of each worker; none if no task keeps any."""
    workers = [[t for t in tasks if t.worker == i] for i in range(len(most_by_worker(tasks)))]
    return [draw_kept_activations(mine, one, TOP + i * ROW + 32 + STACK) for i, mine in enumerate(workers)]


def draw_waits(tasks: Sequence[Task], waits: Sequence[Task], one: float, high: float) -> Iterator[str]:
    """The waits; and for each moment when a task begins, a rectangle that covers all later waits and stacks."""
    for t in waits:
        yield draw_bar("", "idle", LABEL + t.start * one, TOP + t.worker * ROW, (t.end - t.start) * one, "")
    for start in sorted({task.start for task in tasks}):
        place = f'x="{LABEL + start * one:.0f}" y="{TOP}" width="{(makespan(tasks) - start) * one:.0f}" height="{high}"'
        yield f'<rect class="mg-cover" data-id="t{start:g}" {place}/>'


def draw_kept_activations(tasks: Sequence[Task], one: float, y: float) -> str:
    """A worker's activations over time, as a stack above y: each is kept from its forward to its backward."""
    path, n, most = "", 0, most_kept(task.step for task in tasks)
    for time, change in sorted((t.start, 1) if t.step.kind == "forward" else (t.end, -1) for t in tasks):
        n += change
        path += f"H{LABEL + time * one:.0f}V{y - n * 2 * STACK / len(tasks):.1f}"
    words = text("mg-number mg-dim mg-keeps", LABEL - 8, y - 1, f"keeps ≤ {most}")
    return f'{words}<path class="mg-stack" d="M{LABEL},{y}{path}z"/>'


def draw_bar(id: str, look: str, x: float, y: float, wide: float, words: str) -> str:
    """A task with its label, or a wait with its hatch."""
    inside = text("mg-sign mg-value", x + wide / 2, y + 20, words)
    if look.startswith("idle"):
        inside = f'<path transform="skewX(-25)" d="M{x + 0.466 * y + 15:.0f},{y + 16}h{max(wide - 17, 0):.0f}"/>'
    frame = f'<rect class="mg-frame" x="{x + 1:.1f}" y="{y + 1}" width="{max(wide - 2, 0.5):.1f}" height="30" rx="4"/>'
    return f'<g class="mg-box mg-{look}" data-id="{id}">{frame}{inside}</g>'


def cuts(name: str, tasks: list[Task], waits: list[Task], unit: str) -> Iterator[Cut]:
    """A cut for each moment at which a task begins, then a summary."""
    rows, length = rows_of(tasks), makespan(tasks)
    who, p = rows[0].split()[0], len(rows)
    m, v = 1 + max(task.step.microbatch for task in tasks), 1 + max(task.step.chunk for task in tasks)
    letters = " and a letter the chunk" if v > 1 else ""
    twice = ", which takes twice as long" * bool(most_by_worker(tasks) and not unit)
    say = f"{describe_sizes(tasks, rows)}, {name}. Blue is forward, dashed is backward{twice}; the number is the"
    looks, idle = {"outlined": [*map(name_of, tasks)], "hidden": ["all"]}, {f"idle {i}": "" for i in range(p)}
    yield Cut("", f"{say} micro-batch{letters}.", text=idle, on=looks, hot={"now": ["t0"]})
    for start in sorted({task.start for task in tasks}):
        yield cut_at(start, tasks, waits, unit)
    took = f"{number(length, 4)}{unit or ' units of time'}"
    share = f"{took}, of which a {who} waits for {number(100 * bubble(tasks), 3)} percent, the bubble"
    ideal = f"(p − 1) / ({'v ' * (v > 1)}m + p − 1) is {number(100 * bubble_fraction(p, m, v), 3)} percent"
    counts = {f"idle {i}": count(waits, i, length, unit) for i in range(p)}
    yield Cut("", f"{share}; {ideal}.{describe_kept(tasks, rows, v > 1)}", text=counts, off={"hidden": ["all"]})


def cut_at(start: float, tasks: list[Task], waits: list[Task], unit: str) -> Cut:
    """The cut at `start`: the tasks that begin then, and the waits until then."""
    rows, now = rows_of(tasks), [task for task in tasks if task.start == start]
    past = [wait._replace(end=min(wait.end, start)) for wait in waits if wait.start < start]
    does = "; ".join(f"{rows[t.worker]} takes micro-batch {label(t, rows)} {t.step.kind}" for t in now)
    texts = {f"idle {wait.worker}": time_in(past, wait.worker) for wait in past if wait.end == start}
    ids, say = [*map(name_of, now)], f"Time {number(start, 4)}{unit}: {does}."
    return Cut("", say, text=texts, off={"outlined": ids}, hot={"hot": ids, "now": [f"t{start:g}"]})


def describe_kept(tasks: list[Task], rows: Sequence[str], interleaved: bool) -> str:
    """A sentence on the most activations that each worker keeps; "" if no backward pass needs any."""
    each = ", ".join(f"{row}: {most}" for row, most in zip(rows, most_by_worker(tasks)))
    of = "micro-batches in a chunk" if interleaved else "micro-batches"
    return f" The most {of} whose activations are kept: {each}." if each else ""
