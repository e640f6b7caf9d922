"""A graph on several workers: ops that do not depend on each other run at the same time.

The schedule is the compiler's own (graph/compiler/schedule.py): a free worker takes the ready op with the longest path
to the end. The time of an op is either estimated there, from its FLOPs and bytes, or measured here, op by op.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from functools import partial
from html import escape
from io import StringIO
from typing import Any

from ...draw.charts import WIDTH, picture
from ...draw.rules import sign_of
from ...draw.svg import text
from ...draw.words import join_names, number, pluralize, took
from ...engine.core.graph import Graph
from ...engine.core.interpret import value, walk_graph
from ...engine.core.node import Node
from ...graph.compiler.schedule import (
    BANDWIDTH,
    FLOPS,
    HANDOVER,
    ScheduledNode,
    Seconds,
    critical_path,
    estimate,
    schedule,
    waits_for,
)
from ...graph.compiler.schedule import NodeSchedule as Planned
from ...profiler.machine import fastest
from .film import ChartFilm, Choice, Cut, Panel, Reel, row, table
from .widget_trace import trace_for_widget

WORKERS = (1, 2, 4)
LARGEST = 60  # ops
LEFT, RIGHT, TOP = 12, WIDTH - 12, 8
LANE, HIGH = 56, 30  # the heights of a lane and of a block, in pixels
TIMES = ("estimated", "measured")


class Schedule(ChartFilm):
    """The ops of a function on several workers. Each step starts one op.

    f          a Python function of tensors, or a traced one; its ops are scheduled as written, before any fusion;
               views take no time and are not shown
    workers    the numbers of workers to choose from

    The reader chooses between estimated and measured times; `text` and `repr` begin with the estimates.
    Raises TypeError if f is not callable, ValueError for a graph of no op or of more than 60.
    """

    def __init__(self, f: Callable[..., Any], *args: Any, workers: Sequence[int] = WORKERS):
        counts = [workers] if isinstance(workers, int) else list(workers)
        if not counts or len(set(counts)) < len(counts) or not all(type(n) is int and 1 <= n <= 8 for n in counts):
            raise ValueError(f"workers must be distinct integers from 1 to 8, such as (1, 2, 4); got {workers!r}")
        graph, arrays = trace_for_widget("Schedule", f, args, LARGEST)
        taken = measure_ops(graph, arrays)

        def seconds_of(node: Node) -> float:
            return taken.get(node, 0.0) if node.inputs and not node.op.is_view else 0.0

        sources: list[tuple[str, Seconds]] = [*zip(TIMES, (estimate, seconds_of))]
        self.schedules = {(n, times): schedule(graph, n, seconds) for n in counts for times, seconds in sources}
        found = ((times, critical_path(graph, seconds)) for times, seconds in sources)
        paths = {times: [node for node in path if not node.op.is_view] for times, path in found}
        reels = [reel(plan, paths[times], times) for (_, times), plan in self.schedules.items()]
        choices = [Choice("workers", [str(n) for n in counts]), Choice("times", TIMES)]
        name = getattr(f, "__name__", type(f).__name__)
        super().__init__(f"The schedule of {name}", (), reels, choices)
        self.choice = [min(1, len(counts) - 1), 0]  # open with the second; the first, one worker, is to compare


def measure_ops(graph: Graph, arrays: Sequence[Any]) -> dict[Node, float]:
    """Node → the seconds that the `forward` of its op takes."""
    seconds: dict[Node, float] = {}

    def timing(node: Node, xs: Sequence[Any]) -> Any:
        seconds[node] = fastest(partial(value, node, *xs))
        return value(node, *xs)

    with redirect_stdout(StringIO()):  # drops the output of print ops
        walk_graph(graph, arrays, timing)
    return seconds


def reel(plan: Planned, path: Sequence[Node], times: str) -> Reel:
    """The film of one schedule."""
    working = (slot for slot in plan.slots if not slot.node.op.is_view)
    slots = sorted(working, key=lambda slot: (slot.start, slot.worker))
    drawn = Panel(f"Who runs what, and when, by {times} times", lanes(plan, slots, set(path)))
    numbers = Panel("The same in numbers", listing(slots, set(path)))
    return Reel([drawn, numbers], cuts(plan, slots, path, times))


# -- the cuts ----------------------------------------------------------------------------------------------


def cuts(plan: Planned, slots: Sequence[ScheduledNode], path: Sequence[Node], times: str) -> list[Cut]:
    """An opening cut, a cut for each op that starts, and a summary."""
    before = needs(plan)
    place = {slot.node: i for i, slot in enumerate(slots)}
    of = {slot.node: slot for slot in slots}
    lines = {i: [f"d{place[x]}.{i}" for x in before[slot.node] if x in place] for i, slot in enumerate(slots)}
    every = [f"o{i}" for i in place.values()]
    say = (
        f"{pluralize(len(slots), 'op', 'ops')}, {plan.workers} worker{'s' * (plan.workers > 1)}. {basis(times)} "
        f"One worker alone takes {took(plan.alone)}. The critical path, "
        f"{join_names([sign_of(node.op) for node in path])}, takes {took(plan.path)}: no number of workers is "
        f"quicker, so none is more than {speedup_bound(plan)} times as fast."
    )
    hidden = [*every, *(line for each in lines.values() for line in each)]
    found = [Cut("", say, on={"hidden": hidden, "gone": ["idle"]})]
    for i, slot in enumerate(slots):
        say = (
            f"At {took(slot.start)} worker {slot.worker} begins {sign_of(slot.node.op)}, {slot.node.spec}, which "
            f"takes {took(slot.end - slot.start)}{on_path(slot, path)}. {waiting(slot, before[slot.node], of)}"
        )
        found.append(Cut("", say, off={"hidden": [f"o{i}", *lines[i]]}, hot={"hot": [f"o{i}", f"row {i}", *lines[i]]}))
    idle = plan.workers * plan.seconds - plan.alone
    share = number(100 * idle / (plan.workers * plan.seconds), 3) if plan.seconds else "0"
    end = (
        f"All is done after {took(plan.seconds)}: {number(plan.alone / (plan.seconds or 1.0), 3)} times as fast as one "
        f"worker alone; the bound is {speedup_bound(plan)}. Hatched is idle, {share} percent of the workers' time."
    )
    return [*found, Cut("", end, off={"gone": ["idle"]})]


def needs(plan: Planned) -> dict[Node, list[Node]]:
    """Node → the nodes whose results it waits for; in place of a view, the nodes that the view waits for."""
    found: dict[Node, list[Node]] = {}
    for node, xs in waits_for(plan.graph).items():
        each = ([x] if not x.op.is_view else found[x] for x in xs)
        found[node] = [*dict.fromkeys(x for ys in each for x in ys)]
    return found


def basis(times: str) -> str:
    """A sentence that says whether the times are estimated or measured."""
    if times == TIMES[1]:
        return "Each op was run and measured, by itself; what a hand-over takes is an estimate."
    return (
        f"Times are estimates: FLOPs at {number(FLOPS / 1e9)} G a second or bytes at {number(BANDWIDTH / 1e9)} GB a "
        f"second, whichever takes longer; {took(HANDOVER)} until another worker has heard of a result."
    )


def speedup_bound(plan: Planned) -> str:
    """The largest possible speedup over one worker, with any number of workers."""
    return number(plan.alone / plan.path, 3) if plan.path else "1"


def on_path(slot: ScheduledNode, path: Sequence[Node]) -> str:
    return ", and is on the critical path" if slot.node in path else ""


def waiting(slot: ScheduledNode, operands: Sequence[Node], of: dict[Node, ScheduledNode]) -> str:
    """A sentence about the last operand that the op waited for."""
    needed = [of[x] for x in operands if x in of]
    if not needed:
        return "It needs no other's result."
    last = max(needed, key=lambda each: each.end)
    which = f"{sign_of(last.node.op)}, done at {took(last.end)} by worker {last.worker}"
    return f"The last that it needed is {which}."


# -- the picture ---------------------------------------------------------------------------------------------


def lanes(plan: Planned, slots: Sequence[ScheduledNode], path: set[Node]) -> str:
    """A lane for each worker, its ops as blocks, idle time hatched; a line from each op to the ops that wait for it."""
    whole = plan.seconds or 1.0
    middle = {slot.node: TOP + 18 + slot.worker * LANE + HIGH / 2 for slot in slots}
    before = needs(plan)
    place = {slot.node: i for i, slot in enumerate(slots)}

    def at(t: float) -> float:
        return LEFT + t / whole * (RIGHT - LEFT)

    parts = []
    for worker in range(plan.workers):
        y = TOP + 18 + worker * LANE
        parts.append(f'<path class="mg-faint" d="M{LEFT},{y}h{RIGHT - LEFT}v{HIGH}h{LEFT - RIGHT}z"/>')
        parts += [draw_hatching(at(start), at(end), y) for start, end in gaps(plan, worker)]
    for i, slot in enumerate(slots):
        for x in before[slot.node]:
            if x in place:
                start, end = slots[place[x]], slot
                line = f"M{at(start.end):.1f},{middle[x]}L{at(end.start):.1f},{middle[slot.node]}"
                parts.append(f'<g class="mg-arrow" data-id="d{place[x]}.{i}"><path d="{line}"/></g>')
    parts += [block(i, slot, at, middle[slot.node] - HIGH / 2, slot.node in path) for i, slot in enumerate(slots)]
    heads = range(plan.workers)
    parts += [text("mg-dim mg-halo", LEFT, TOP + 13 + worker * LANE, f"worker {worker}") for worker in heads]
    bottom = TOP + 18 + plan.workers * LANE - (LANE - HIGH)
    parts.append(f'<path class="mg-rule" d="M{LEFT},{bottom + 10}H{RIGHT}"/>')
    parts.append(text("mg-dim", LEFT, bottom + 26, "0"))
    parts.append(text("mg-number mg-dim", RIGHT, bottom + 26, took(plan.seconds)))
    return picture(f"{plan.workers} workers: who runs what, and when", WIDTH, bottom + 34, parts)


def block(i: int, slot: ScheduledNode, at: Callable[[float], float], y: float, critical: bool) -> str:
    """One op as a block, with its symbol where there is room; outlined if it is on the critical path."""
    left, right = at(slot.start), at(slot.end)
    sign = sign_of(slot.node.op)
    words = sign if 7.5 * len(sign) + 4 <= right - left else str(i) if right - left >= 16 else ""
    look = " mg-output" if critical else ""
    return (
        f'<g class="mg-box{look}" data-id="o{i}"><rect class="mg-frame" x="{left + 1:.1f}" y="{y:.1f}" '
        f'width="{max(right - left - 2, 1.5):.1f}" height="{HIGH}" rx="3"/>'
        f"{text('mg-sign', (left + right) / 2, y + HIGH / 2 + 4, words)}</g>"
    )


def gaps(plan: Planned, worker: int) -> list[tuple[float, float]]:
    """The idle intervals of a worker."""
    mine = sorted((slot.start, slot.end) for slot in plan.slots if slot.worker == worker)
    starts, ends = [*(start for start, _ in mine), plan.seconds], [0.0, *(end for _, end in mine)]
    return [(end, start) for end, start in zip(ends, starts) if start - end > 1e-12]


def draw_hatching(left: float, right: float, top: float) -> str:
    """Slanted lines over an idle interval, as SVG."""
    width = right - left
    lines = (
        f"M{left + c + max(0, -c):.1f},{top + max(0, -c):.1f}L{left + c + low:.1f},{top + low:.1f}"
        for c in range(6 - HIGH, int(width) + 1, 7)
        if (low := min(HIGH, width - c)) > max(0, -c)
    )
    return f'<g data-id="idle"><path class="mg-faint" d="{"".join(lines)}"/></g>'


def listing(slots: Sequence[ScheduledNode], path: set[Node]) -> str:
    """A table with a row for each op, in the order in which they start."""
    rows = []
    for i, slot in enumerate(slots):
        head = f"{i}. {escape(sign_of(slot.node.op))}{' (critical)' * (slot.node in path)}"
        rows.append(row(head, [slot.worker, took(slot.start), took(slot.end - slot.start)], f"row {i}"))
    return table(["op", "worker", "starts at", "takes"], rows)
