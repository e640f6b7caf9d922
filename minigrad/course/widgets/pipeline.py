"""A network cut into stages, one per worker, and a batch cut into micro-batches that pass through the stages.

The picture is a timeline: of schedules (distributed/schedules.py), where backward takes twice as long as forward, or
of a measured run. A stage idles while the first micro-batch is on its way to it, and while the last one is on its way
back: that is the bubble, drawn hatched and counted. It is the same for GPipe and 1F1B, which are drawn on one axis, but
1F1B keeps fewer micro-batches' activations at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from math import inf

from ...distributed.schedules import Schedule, Step, Task, bubble, bubble_fraction, makespan, most_kept, schedule
from ...draw.charts import BETWEEN, picture, round_step
from ...draw.svg import STYLE, text
from ...draw.words import number, pluralize
from .film import FIRST, Choice, Cut, Film, Panel, Reel, combinations
from .stills import compact
from .widget import HERE

STAGES, MICRO, SCHEDULES = (2, 3, 4), (1, 2, 4, 8), ("GPipe", "1F1B")
WIDE, LETTERS = 890, 17  # pixels: the width of a run, which grows until a typical task has room for its label
NAMES, TOP, ROW, BAR, STACK, HEAD = 78, 20, 38, 20, 14, 30  # pixels: names of rows, times, row, its two parts, heading
LEGENDS = {  # look → width, height, and the places of its parts
    "": (970, 22, (78, 0), (288, 0), (398, 0), (558, 0), (730, 0)),
    "mg-down": (360, 70, (4, 0), (196, 0), (4, 24), (196, 24), (4, 48)),
}
Run = tuple[str, list[Task]]  # its name, and its tasks


class Pipeline(Film):
    """A pipeline's run, task by task.

    run    a Schedule, or the tasks of minigrad.distributed's `Pipeline.measured()`, in seconds: the widget opens at the
           last step. Without `run`, the reader chooses stages and micro-batches, and compares GPipe with 1F1B
    """

    looks = STYLE + (HERE / "pipeline.css").read_text(encoding="utf-8")

    def __init__(self, run: Schedule | Sequence[Task] | None = None) -> None:
        if run is not None:
            runs = [(run.name, run.timeline())] if isinstance(run, Schedule) else [("measured", in_ms(run))]
            unit = "" if isinstance(run, Schedule) else " ms"
            super().__init__("A pipeline of stages", (), [reel(runs, unit)])
            self.index = len(self.steps) - 1
            return
        choices = [Choice("stages", [*map(str, STAGES)]), Choice("micro-batches", [*map(str, MICRO)])]
        sizes = [(STAGES[s], MICRO[m]) for s, m in combinations(choices)]
        reels = [reel([(name, schedule(name, *size).timeline()) for name in SCHEDULES]) for size in sizes]
        super().__init__("A pipeline of stages", (), reels, choices)
        self.choice = [STAGES.index(4), MICRO.index(8)]

    @property
    def svg(self) -> str:
        """The names of the rows, and beside them the rows; below, the legend."""
        first, below = ([("", each) for each in FIRST.findall(panel["html"])] for panel in self.film["panels"])
        drawn = self.place_in_rows(first, below[:1])
        return drawn.replace(f'<svg x="{NAMES + BETWEEN}"', f'<svg x="{NAMES}"')


def in_ms(run: Sequence[Task]) -> list[Task]:
    """Measured tasks in milliseconds from the first on."""
    zero = min((task.start for task in run), default=0)
    return [task._replace(start=(task.start - zero) * 1000, end=(task.end - zero) * 1000) for task in run]


def reel(runs: list[Run], unit: str = "") -> Reel:
    """The film of some runs on one axis, with the unit of their times."""
    if not all(tasks for _, tasks in runs):
        raise ValueError("Pipeline draws runs with at least one task, and this run has none")
    every = [task for _, tasks in runs for task in tasks]
    below = legend(describe_sizes(every, rows_of(every)), bool(most_by_worker(every)))
    return Reel([Panel("", timeline(runs, unit), wide=True), Panel("", below, wide=True)], list(cuts(runs, unit)))


def waits_of(tasks: Sequence[Task]) -> list[Task]:
    """The times in which workers have no task, as tasks of the kind "idle"."""
    found = list[Task]()
    for worker in range(1 + max(task.worker for task in tasks)):
        busy = sorted((task.start, task.end) for task in tasks if task.worker == worker)
        pairs = zip([(0.0, 0.0), *busy], [*busy, (makespan(tasks), 0.0)])
        found += [Task(worker, Step("idle", 0), end, start) for (_, end), (start, _) in pairs if start - end > 1e-9]
    return found


def rows_of(tasks: Sequence[Task]) -> list[str]:
    who = "worker" if any(task.step.chunk for task in tasks) else "stage"
    return [f"{who} {i}" for i in range(1 + max(task.worker for task in tasks))]


def name_of(task: Task, r: int) -> str:
    """The id of a task of run r."""
    return f"{task.step.kind[0]}{task.worker}-{task.step.microbatch}-{task.step.chunk}{chr(97 + r)}"


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


def share(tasks: Sequence[Task], time: float = inf) -> str:
    """The part of all workers' time that is idle until `time`: 42.9 %."""
    waits = sum(max(0, min(wait.end, time) - wait.start) for wait in waits_of(tasks))
    return f"{number(100 * waits / makespan(tasks) / (1 + max(task.worker for task in tasks)), 3)} %"


def timeline(runs: Sequence[Run], unit: str) -> str:
    """The rows of all runs on one axis, and their names in a picture of their own, which stays in view."""
    every = [task for _, tasks in runs for task in tasks]
    length, durations = makespan(every), sorted(task.end - task.start for task in every)
    wide = min(max(WIDE, LETTERS * length / (durations[len(every) // 4] or 1)), 3 * WIDE) if unit else WIDE
    one, rows, most = wide / length, rows_of(every), max([1, *most_by_worker(every)])
    tops = [TOP + HEAD + r * (HEAD + len(rows) * ROW) for r in range(len(runs))]
    bottom = tops[-1] + len(rows) * ROW
    lines = "".join(f"M0,{top + i * ROW - 1}h{wide:.0f}" for top in tops for i in range(len(rows)))
    names = [f'<rect class="mg-paper" width="{NAMES}" height="{bottom}"/><path class="mg-lines" d="{lines}"/>']
    names.append(text("mg-number mg-dim", NAMES - 8, 13, "time"))
    parts, bars = list[str](), [f'<path class="mg-lines" d="{lines}"/>', *draw_times(length, one, unit)]
    for r, ((name, tasks), top) in enumerate(zip(runs, tops)):
        names += draw_names(r, name, tasks, rows, top)
        parts += draw_stacks(tasks, one, top, STACK / most)
        parts += [draw_bar("", "idle", t, "", one, top) for t in waits_of(tasks)]
        bars += [draw_bar(name_of(t, r), t.step.kind, t, label(t, rows), one, top) for t in tasks]
    covers = [f'<rect class="mg-cover" data-id="t{start:g}" x="{start * one:.0f}"/>' for start in starts_of(every)]
    title = f"{' and '.join(name for name, _ in runs)}: who does what, and when"
    drawn = picture("", NAMES, bottom, names, "mg-pipe mg-names")
    drawn += picture(title, wide + 2, bottom, [*parts, *covers, *bars], f"mg-pipe{' mg-fits' * (not unit)}")
    return compact(drawn.replace(' mg-fits"', ' mg-fits" preserveAspectRatio="none"'))


def starts_of(tasks: Sequence[Task]) -> list[float]:
    return sorted({task.start for task in tasks})


def draw_times(length: float, one: float, unit: str) -> list[str]:
    tick = round_step(length / 20) if unit else round_step(max(1, length / 17))
    times = [n * tick for n in range(int(length / tick) + (length % tick > 0))]
    return [text("mg-sign mg-dim", time * one + (5 if unit else one / 2), 13, f"{time:g}") for time in times]


def draw_names(r: int, name: str, tasks: list[Task], rows: Sequence[str], top: float) -> Iterator[str]:
    """The heading of a run, with its bubble and what it keeps; and the names of its rows."""
    most = most_by_worker(tasks)
    idle = f'<tspan class="mg-big" data-id="all{r}" dx="16">{share(tasks)}</tspan> idle<tspan data-id="so{r}"/>'
    yield f'<text x="4" y="{top - 10}"><tspan class="mg-name">{escape(name)}</tspan>{idle}'
    keeps = f'<tspan dx="20">keeps </tspan><tspan class="mg-big">≤ {max([0, *most])}</tspan> activations'
    yield f"{keeps * bool(most)}</text>"
    for i, row in enumerate(rows):
        yield text("mg-number", NAMES - 8, top + i * ROW + 16, row)
    for i, n in enumerate(most):
        yield text("mg-number mg-dim mg-keeps", NAMES - 8, top + i * ROW + 33, f"keeps ≤ {n}")


def legend(sizes: str, keeps: bool) -> str:
    """What the boxes mean, the stack of activations, and the sizes: in one row, and again in three rows for a phone."""
    drawn, words = "", {"forward": "forward of micro-batch 0", "backward": "backward", "idle": "idle: the bubble"}
    for look, (wide, high, *places) in LEGENDS.items():
        parts = [text("mg-dim mg-sizes", places[4][0], places[4][1] + 16, sizes)]
        for (x, y), (kind, meaning) in zip(places, [*words.items(), *[("", "activations kept")] * keeps]):
            box = draw_bar("", kind, Task(0, Step(kind, 0), x, x + 30), "0" * (kind != "idle"), 1, y)
            box = box if kind else f'<path class="mg-stack" d="M{x},{y + 20}v-5h10v-5h10v-5h10v15z"/>'
            parts += [box, text("mg-dim", x + 36, y + 16, meaning)]
        drawn += picture("", wide, high, parts, f"mg-pipe {look}")
    return compact(drawn)


def draw_stacks(tasks: Sequence[Task], one: float, top: float, each: float) -> Iterator[str]:
    """Each worker's activations over time, as a stack: they are kept from a forward to its backward.

    each    pixels: the height of one
    """
    for i in range(len(most_by_worker(tasks))):
        mine, path, n, y = [t for t in tasks if t.worker == i], "", 0, top + i * ROW + BAR + 1 + STACK
        for time, change in sorted((t.start, 1) if t.step.kind == "forward" else (t.end, -1) for t in mine):
            n += change
            path += f"H{time * one:.0f}V{y - n * each:.1f}"
        yield f'<path class="mg-stack" d="M0,{y}{path}z"/>'


def draw_bar(id: str, look: str, task: Task, words: str, one: float, top: float) -> str:
    """A task with its label, or a wait with its hatch."""
    x, y, wide = task.start * one, top + task.worker * ROW, (task.end - task.start) * one
    inside = text("mg-value", x + wide / 2, y + 15, words)
    if look == "idle":
        inside = f'<path transform="skewX(-25)" d="M{x + 0.466 * y + 11:.0f},{y + 10}h{max(wide - 13, 0):.0f}"/>'
    size = f'width="{max(wide - 2, 0.5):.1f}" height="{BAR - 2}"'
    frame = f'<rect class="mg-frame" x="{x + 1:.1f}" y="{y + 1}" {size}/>'
    return f'<g class="mg-box mg-{look}" data-id="{id}">{frame}{inside}</g>'


def cuts(runs: list[Run], unit: str) -> Iterator[Cut]:
    """A cut for each moment at which a task begins, then a summary."""
    every = [task for _, tasks in runs for task in tasks]
    rows, length = rows_of(every), max(makespan(tasks) for _, tasks in runs)
    who, p = rows[0].split()[0], len(rows)
    m, v = 1 + max(task.step.microbatch for task in every), 1 + max(task.step.chunk for task in every)
    letters = " and a letter the chunk" if v > 1 else ""
    twice = ", which takes twice as long" * bool(most_by_worker(every) and not unit)
    names = " and ".join(name for name, _ in runs)
    say = f"{describe_sizes(every, rows)}, {names}. Blue is forward, dashed is backward{twice}; the number is the"
    looks = {"outlined": [name_of(t, r) for r, (_, tasks) in enumerate(runs) for t in tasks]}
    first = [name_of(min(runs[0][1], key=lambda task: task.start), 0)]  # a phone scrolls to what comes first here
    hot = {"opens": first, "now": ["t0"]}
    yield Cut("", f"{say} micro-batch{letters}.", text=counts(runs, -1), on=looks, hot=hot)
    for start in starts_of(every):
        yield cut_at(start, runs, rows, unit)
    took = f"{number(length, 4)}{unit or ' units of time'}"
    waits = f"{took}, of which a {who} waits for {number(100 * bubble(runs[0][1]), 3)} percent, the bubble"
    ideal = f"(p − 1) / ({'v ' * (v > 1)}m + p − 1) is {number(100 * bubble_fraction(p, m, v), 3)} percent"
    yield Cut("", f"{waits}; {ideal}.{describe_kept(runs, v > 1)}", text=counts(runs))


def cut_at(start: float, runs: list[Run], rows: Sequence[str], unit: str) -> Cut:
    """The cut at `start`: the tasks that begin then, and the waits until then."""
    say, ids = f"Time {number(start, 4)}{unit}.", list[str]()
    for r, (name, tasks) in enumerate(runs):
        now = [task for task in tasks if task.start == start]
        words = [f"{rows[task.worker]} {task.step.kind} {label(task, rows)}" for task in now]
        say += f" {name}: {', '.join(words) or 'nothing begins'}."
        ids += [name_of(task, r) for task in now]
    return Cut("", say, text=counts(runs, start), off={"outlined": ids}, hot={"hot": ids, "now": [f"t{start:g}"]})


def counts(runs: list[Run], time: float = inf) -> dict[str, str]:
    so_far = {f"so{r}": " so far" * (time < inf) for r in range(len(runs))}
    return so_far | {f"all{r}": share(tasks, time) for r, (_, tasks) in enumerate(runs)}


def describe_kept(runs: list[Run], interleaved: bool) -> str:
    """A sentence on the most activations that each worker keeps; "" if no backward pass needs any."""
    found = [f"{name}: {', '.join(map(str, most))}" for name, tasks in runs if (most := most_by_worker(tasks))]
    of = "micro-batches in a chunk" if interleaved else "micro-batches"
    return f" The most {of} whose activations are kept, by stage: {'; '.join(found)}." if found else ""
