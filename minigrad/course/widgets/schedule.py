"""A graph on several workers: ops that do not depend on each other run at the same time.

The schedule is the compiler's own (graph/compiler/schedule.py): a free worker takes the ready op with the longest path
to the end. The time of an op is either estimated there, from its FLOPs and bytes, or measured here, op by op.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from functools import partial
from html import escape
from io import StringIO
from math import isclose
from typing import Any

from ...draw.charts import WIDTH, picture, round_step
from ...draw.rules import sign_of
from ...draw.svg import text, text_width, tip_back
from ...draw.words import join_names, number, pluralize, shorten, took
from ...engine.core.graph import Graph
from ...engine.core.interpret import value, walk_graph
from ...engine.core.node import Node
from ...graph.compiler import schedule as planner
from ...graph.compiler.control import Loop
from ...graph.compiler.schedule import HANDOVER, ScheduledNode
from ...graph.compiler.schedule import NodeSchedule as Planned
from ...profiler.machine import fastest
from .film import ChartFilm, Choice, Cut, Panel, Reel, row, table
from .widget_trace import trace_for_widget

WORKERS = (1, 2, 4)
LARGEST = 60  # ops
WIDE, LEFT, END, TOP = 620, 66, 12, 54  # pixels: the width, the space beside the lanes, and that above them
ROOM = 118  # pixels: least space right of the lanes, for how much is gained
LANE, HIGH = 60, 34  # the heights of a lane and of a block, in pixels
TIMES = ("estimated", "measured")
ENDS = ("gain", "idle")  # what is known at the end
PLACE = 'width="18" height="13" rx="3"'  # of a block in the legend
Slots = Sequence[ScheduledNode]
LEGEND = {" mg-critical mg-output": "on the critical path", "": "other op", " mg-outlined": "not begun"}


class Schedule(ChartFilm):
    """The ops of a function on several workers. Each step starts one op.

    f          a Python function of tensors, or a traced one; its ops are scheduled as written, before any fusion;
               views take no time and are not shown
    workers    the numbers of workers to choose from

    The reader chooses between estimated and measured times; `text` and `repr` begin with the estimates.
    Raises TypeError if f is not callable, ValueError for a graph of no op or of more than 60.
    """

    sheets = (*ChartFilm.sheets, "schedule")

    def __init__(self, f: Callable[..., Any], *args: Any, workers: Sequence[int] = WORKERS):
        counts = [workers] if isinstance(workers, int) else list(workers)
        if not counts or len(set(counts)) < len(counts) or not all(type(n) is int and 1 <= n <= 8 for n in counts):
            raise ValueError(f"workers must be distinct integers from 1 to 8, such as (1, 2, 4); got {workers!r}")
        graph, arrays = trace_for_widget("Schedule", f, args, LARGEST)
        taken = measure_ops(graph, arrays)

        def seconds_of(node: Node) -> float:
            return taken.get(node, 0.0) if node.inputs and not node.op.is_view else 0.0

        sources: list[tuple[str, planner.Seconds]] = [*zip(TIMES, (planner.estimate, seconds_of))]
        self.schedules = {(n, times): planner.schedule(graph, n, seconds) for n in counts for times, seconds in sources}
        ways = {times: planner.critical_path(graph, seconds) for times, seconds in sources}
        paths = {times: [node for node in way if not node.op.is_view] for times, way in ways.items()}
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
    """The film of one schedule. Its picture is drawn twice, for a notebook and for a phone."""
    working = (slot for slot in plan.slots if not slot.node.op.is_view)
    slots = sorted(working, key=lambda slot: (slot.start, slot.worker))
    before = needs(plan, slots)
    wide, narrow = (lanes(plan, slots, before, set(path), width) for width in (WIDE, WIDTH))
    pictures = wide + narrow.replace("mg-picture", "mg-picture mg-down", 1)
    drawn = Panel(f"Who runs what, and when, by {times} times", pictures)
    numbers = Panel("The same in numbers", listing(slots, before, path))
    return Reel([drawn, numbers], cuts(plan, slots, before, path, times))


# -- the cuts ----------------------------------------------------------------------------------------------


def cuts(plan: Planned, slots: Slots, before: Sequence[list[int]], path: Sequence[Node], times: str) -> list[Cut]:
    """An opening cut, a cut for each op that starts, and a summary."""
    lines = [[f"d{j}.{i}" for j in needed] for i, needed in enumerate(before)]
    bound = speedup(plan, plan.path)
    say = (
        f"{pluralize(len(slots), 'op', 'ops')}, {pluralize(plan.workers, 'worker', 'workers')}. One worker takes "
        f"{took(plan.alone)}. The critical path, {join_names([sign_of(node.op) for node in path])}, takes "
        f"{took(plan.path)} without hand-overs, so no number of workers is more than {bound} times as fast. "
        + estimates(times, plan)
    )
    pale, later = [line for each in lines for line in each], [f"o{i}" for i in range(len(slots))]
    found = [Cut("", say, on={"weak": pale, "outlined": later, "hidden": ENDS})]
    for i, slot in enumerate(slots):
        on_path = ", and is on the critical path" if slot.node in path else ""
        say = (
            f"At {took(slot.start)} worker {slot.worker} begins {sign_of(slot.node.op)}, {slot.node.spec}, which "
            f"takes {took(slot.end - slot.start)}{on_path}. {waiting(slot, [slots[j] for j in before[i]])}"
        )
        hot = [f"o{i}", f"row {i}", f"at {i}", *lines[i]]
        found.append(Cut("", say, off={"weak": lines[i], "outlined": [f"o{i}"]}, hot={"hot": hot}))
    idle = plan.workers * plan.seconds - plan.alone
    share = number(100 * idle / (plan.workers * plan.seconds), 3) if plan.seconds else "0"
    fast = f"{speedup(plan, plan.seconds)} times as fast as one worker alone; the bound is {bound}"
    waits = f"idle or spent on starting them, {took(idle)} in all" if plan.workers > 1 else "idle"
    end = f"All is done after {took(plan.seconds)}: {fast}. {share} percent of the workers' time is {waits}."
    return [*found, Cut("", end, off={"hidden": ENDS})]


def needs(plan: Planned, slots: Slots) -> list[list[int]]:
    """For each slot, those whose results it waits for; in place of a view, those that the view waits for."""
    found, place = dict[Node, list[Node]](), {slot.node: i for i, slot in enumerate(slots)}
    for node, xs in planner.waits_for(plan.graph).items():
        each = ([x] if not x.op.is_view else found[x] for x in xs)
        found[node] = [*dict.fromkeys(x for ys in each for x in ys)]
    return [[place[x] for x in found[slot.node] if x in place] for slot in slots]


def estimates(times: str, plan: Planned) -> str:
    """A sentence that says whether the times are estimated or measured."""
    if times == TIMES[1]:
        return f"Each op was measured by itself; {took(HANDOVER)} for a hand-over are an estimate."
    loops = " A loop is estimated as one small op." * any(isinstance(x.op, Loop) for x in plan.graph.nodes)
    speeds = f"{planner.FLOPS / 1e9:g} GFLOP/s, {planner.BANDWIDTH / 1e9:g} GB/s"
    return f"Estimates: {speeds}, {took(HANDOVER)} for a hand-over.{loops}"


def speedup(plan: Planned, seconds: float) -> str:
    """The speedup of a run of this many seconds over one worker."""
    return number(plan.alone / seconds, 3) if seconds else "1"


def waiting(slot: ScheduledNode, needed: Slots) -> str:
    """A sentence about the operand that arrives last, or about several that arrive at the same time."""
    if not needed:
        is_told = slot.worker > 0 and slot.start == HANDOVER
        late = f" Telling worker {slot.worker} to start takes {took(HANDOVER)}." * is_told
        return f"It needs no other's result.{late}"
    came = [each.end + HANDOVER * (each.worker != slot.worker) for each in needed]
    last = [(each, at) for each, at in zip(needed, came) if isclose(at, max(came))]
    which = ", and ".join(
        f"{sign_of(each.node.op)}, done at {took(each.end)} by worker {each.worker}"
        + f" and handed over at {took(at)}" * (each.worker != slot.worker)
        for each, at in last
    )
    return f"The last that it needed {'are' if len(last) > 1 else 'is'} {which}."


# -- the picture ---------------------------------------------------------------------------------------------


def lanes(plan: Planned, slots: Slots, before: Sequence[list[int]], path: set[Node], width: int) -> str:
    """A lane for each worker: its ops, its gaps, an arrow to each op that waits for another worker; and the bound.

    The time is as long as one worker needs for all: so pictures of different numbers of workers compare.
    """
    right, bottom, parts = width - END, TOP + (plan.workers - 1) * LANE + HIGH, list[str]()
    whole = max(plan.alone, plan.seconds * (right - LEFT) / (right - LEFT - ROOM * (plan.workers > 1))) or 1.0

    def at(t: float) -> float:
        return LEFT + t / whole * (right - LEFT)

    parts += draw_times(plan, at, right, bottom)
    if plan.workers > 1:
        parts.append(f'<path class="mg-former" d="M{LEFT},{TOP - 30}H{at(plan.alone):.1f}v8H{LEFT}z"/>')
        parts.append(text("mg-dim mg-number", LEFT - 6, TOP - 22, "1 worker"))
    for worker in range(plan.workers):
        y = TOP + worker * LANE
        parts.append(text("mg-number", LEFT - 6, y + HIGH / 2 + 4, f"worker {worker}"))
        for start, end in gaps(plan, worker):
            if worker > 0 and (start, end) == (0.0, HANDOVER):
                parts.append(f'<path class="mg-former mg-begins" d="M{LEFT},{y}H{at(end):.1f}v{HIGH}H{LEFT}z"/>')
            else:
                idle = draw_idle(at(start), at(end), y + HIGH / 2, f"idle {took(end - start)}")
                parts.append(f'<g data-id="idle">{idle}</g>')
    parts += draw_dependencies(slots, before, at)
    for i, slot in enumerate(slots):
        later = [each.start for each in slots if each.worker == slot.worker and each.start >= slot.end]
        room = (at(min(later)) - at(slot.end)) / 2 - 40 if later else right - at(slot.end) - ROOM
        parts.append(block(i, slot, at, TOP + slot.worker * LANE, slot.node in path, room))
    for i, left in enumerate(at(slot.start) for slot in slots):
        now = text("mg-number", max(left - 4, LEFT + 32), TOP - 9, "now")
        parts.append(f'<g class="mg-moment" data-id="at {i}"><path d="M{left:.1f},{TOP - 14}V{bottom + 10}"/>{now}</g>')
    parts += draw_legend(bottom + 44, plan.workers > 1)
    high = bottom + 64 + 20 * (plan.workers > 1)
    return picture(f"{pluralize(plan.workers, 'worker', 'workers')}, by time", width, high, parts)


def draw_dependencies(slots: Slots, before: Sequence[list[int]], at: Callable[[float], float]) -> Iterator[str]:
    """An arrow to each op from each op that it waits for: straight between workers, an arc on one worker."""
    name = f"hand-over {took(HANDOVER)}"  # at the first arrow
    for i, j in ((i, j) for i, needed in enumerate(before) for j in needed):
        start, slot = slots[j], slots[i]
        towards = slot.worker - start.worker
        edge = HIGH / 2 if towards > 0 else -HIGH / 2  # the edge of a block that faces the other worker
        above, below = (TOP + each.worker * LANE + HIGH / 2 for each in (start, slot))
        if towards:
            ends = [(at(start.end), above + edge), (at(slot.start), below - edge)]
            tail, head = (f"{across:.1f},{down:.1f}" for across, down in ends)
            tip = f'<polygon class="mg-tip" points="{tip_back(f"{head} {tail}", 3)}"/>'
            look, drawn = "handover", f'<path d="M{tail}L{head}"/>{tip}'
        else:  # an arc between the middles of both blocks
            tail, head = (f"{at((each.start + each.end) / 2):.1f}" for each in (start, slot))
            y, bend = f"{above + edge:.1f}", f"{above + edge - 8:.1f}"
            tip = f'<polygon class="mg-tip" points="{tip_back(f"{head},{y} {head},{bend}", 3)}"/>'
            look, drawn = "need", f'<path d="M{tail},{y}C{tail},{bend} {head},{bend} {head},{y}"/>{tip}'
        if towards and name:
            right = max(ends[0][0] - 2, LEFT + text_width(name, 12))
            drawn += text("mg-halo mg-number", right, ends[0][1] + edge / 2 + 4.5, name)
            name = ""
        yield f'<g class="mg-arrow mg-{look}" data-id="d{j}.{i}">{drawn}</g>'


def draw_times(plan: Planned, at: Callable[[float], float], right: float, bottom: float) -> list[str]:
    """The axis of time, the bound that no plan can beat, and how much is gained, in the space that this leaves."""
    shared, parts = plan.alone / plan.workers, list[str]()
    bound, down = max(shared, plan.path), (TOP + bottom) / 2
    why = "critical path (blue)" if plan.path >= shared else f"all work / {plan.workers}"
    parts.append(f'<path class="mg-roof mg-second" d="M{at(bound):.1f},20V{bottom + 10}"/>')
    why += f", {took(bound)}: no plan ends before this line"
    parts.append(text("mg-number", max(at(bound) + 4, min(text_width(why, 12), right)), 14, why))
    parts.append(f'<path class="mg-rule" d="M{LEFT},{bottom + 10}H{right}"/>')
    most = max(plan.alone, plan.seconds)
    step = round_step((most or 1.0) / 5)
    for n in range(int(most / step) + 1):
        words = took(n * step) if n else "0"
        parts.append(f'<path class="mg-rule" d="M{at(n * step):.1f},{bottom + 10}v4"/>')
        parts.append(text("mg-sign mg-dim", min(at(n * step), right - text_width(words, 12) / 2), bottom + 28, words))
    gained = f"{took(plan.alone)} → {took(plan.seconds)}", f"at most {speedup(plan, bound)}×"
    if plan.workers > 1:
        lines = [text("mg-number mg-huge", right, down, f"{speedup(plan, plan.seconds)}×")]
        lines += [text("mg-number", right, down + 20 + 16 * i, words) for i, words in enumerate(gained)]
        parts.append(f'<g data-id="gain">{"".join(lines)}</g>')
    return parts


def draw_legend(y: float, waits: bool) -> Iterator[str]:
    """The legend below the picture: what its blocks mean; with `waits`, also the two ways in which a worker waits."""
    parts = [(words, f'<g class="mg-box{look}"><rect class="mg-frame" {PLACE}/></g>') for look, words in LEGEND.items()]
    parts[2] = parts[2][0], parts[2][1].replace("/>", ' stroke-dasharray="3"/>')
    if waits:
        parts += [("idle", draw_idle(0, 20, 7)), ("told to start", f'<rect class="mg-former" {PLACE}/>')]
    for (x, down), (words, drawn) in zip(((12, 0), (164, 0), (252, 0), (12, 20), (164, 20)), parts):
        yield f'<g transform="translate({x} {y + down})">{drawn}{text("mg-dim", 24, 11, words)}</g>'


def block(i: int, slot: ScheduledNode, at: Callable[[float], float], y: float, critical: bool, room: float) -> str:
    """One op as a block, with its symbol: for a narrow block beside it, if there is `room`, or else upright."""
    left, right = at(slot.start), at(slot.end)
    sign, look = sign_of(slot.node.op), " mg-critical mg-output" if critical else ""
    full, wide = f"{i}. {sign}", right - left - 6
    words = text("mg-sign", (left + right) / 2, y + HIGH / 2 + 4, full if text_width(full, 12) <= wide else sign)
    if text_width(sign, 12) > wide:
        words = ""
        if text_width(full, 12) < room:
            words = text("mg-halo", right + 4, y + HIGH / 2 + 4, full)
        elif wide > 6:
            turn = f"translate({(left + right) / 2 + 4:.1f} {y + HIGH / 2}) rotate(-90)"
            words = f'<g transform="{turn}">{text("mg-sign", 0, 0, shorten(sign, 5))}</g>'
    return (
        f'<g class="mg-box{look}" data-id="o{i}"><title>{escape(full)}</title>'
        f'<rect class="mg-frame" x="{left + 1:.1f}" y="{y:.1f}" '
        f'width="{max(right - left - 2, 1.5):.1f}" height="{HIGH}" rx="3"/>{words}</g>'
    )


def gaps(plan: Planned, worker: int) -> list[tuple[float, float]]:
    """The idle intervals of a worker."""
    mine = sorted((slot.start, slot.end) for slot in plan.slots if slot.worker == worker)
    starts, ends = [*(start for start, _ in mine), plan.seconds], [0.0, *(end for _, end in mine)]
    return [(end, start) for end, start in zip(ends, starts) if start - end > 1e-12]


def draw_idle(left: float, right: float, y: float, words: str = "") -> str:
    """An idle interval of a worker: a thin line, with these words or only "idle" where there is room."""
    said = next((each for each in (words, "idle") if words and text_width(each, 12) < right - left - 6), "")
    half = (right - left - text_width(said, 12) - 8) / 2 if said else right - left - 6  # the words interrupt the line
    again = f"M{right - half:.1f},{y:g}H{right - 3:.1f}" * bool(said)
    line = f'<path class="mg-idle" d="M{left + 3:.1f},{y:g}h{half - 3 * bool(said):.1f}{again}"/>'
    return line + (text("mg-sign mg-dim mg-halo", (left + right) / 2, y + 4, said) if said else "")


def listing(slots: Slots, before: Sequence[list[int]], path: Sequence[Node]) -> str:
    """A table with a row for each op, in the order in which they start."""
    rows = []
    for i, slot in enumerate(slots):
        head = f"{i}. {escape(sign_of(slot.node.op))}{' (critical)' * (slot.node in path)}"
        waits = ", ".join(map(str, before[i]))
        rows.append(row(head, [waits, slot.worker, took(slot.start), took(slot.end - slot.start)], f"row {i}"))
    return table(["op", "needs", "worker", "starts", "takes"], rows)
