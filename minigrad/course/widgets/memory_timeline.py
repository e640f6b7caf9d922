"""Memory over a training step: the live bytes of each consumer, at each moment of a real run.

Each combination of the switches is run once, on a copy of the learner's model, and measured (profiler/ledger.py). All
charts have the same scale, so that runs can be compared. memory_timeline.js moves the cursor, writes the numbers of the
step, and says which arrays make up an area that the reader points at.

    checkpointing    parts of the model save only their arguments, and run again in backward
    micro-batches    the batch is cut into pieces, whose gradients are added up
    memory           eager, an array for each op's result; or compiled, with planned buffers
"""

from __future__ import annotations

import gc
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from html import escape
from importlib import import_module
from itertools import accumulate, groupby
from math import ceil, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...draw.charts import BOTTOM, LEFT, TOP, WIDTH, Axis, across, area, chart, compact, stairs, upwards
from ...draw.svg import text, text_width
from ...engine.base.device import CPU
from ...engine.base.spec import spec_of
from ...engine.core.modes import in_mode, watching
from ...engine.core.node import spot
from ...engine.random import fork_rng
from ...engine.tensor.tensor import Tensor
from ...graph.function import function
from ...nn.container import Sequential
from ...nn.module import Module
from ...optim import Adam
from ...optim.optimizer import Optimizer
from ...profiler.books import CONSUMERS, Books, Holding
from ...profiler.ledger import Ledger, of_pytorch
from ...profiler.memory_table import BEYOND, Moment
from ...utils.checkpoint import checkpoint
from .film import ChartFilm, Choice, Cut, Panel, Reel
from .recording import time_limit
from .stills import compact as shorten_svg
from .widget import javascript

MICRO = (1, 2, 4)
PHASES = ("start", "forward", "backward", "update", "end")
MOST = 400  # the most moments of a run
SECONDS = 60.0  # time limit of a run
SPACE = 1.05  # the end of the axis, as a multiple of the largest peak
THIN = 0.01  # the share of a peak below which a part has no label
BAND = {"forward": (0, "fwd", "saves"), "backward": (3, "back", "frees"), "update": (2, "", "update")}
SHORT = {"compiler's workspace": "workspace", BEYOND[0]: "inside the op", BEYOND[1]: "Python's objects"}
NAMES = {*CONSUMERS, *SHORT.values()}
FEW = 2  # makers of arrays that are named
WIDE, NARROW = 440, 262  # pixels: the right end of the axis, on a phone too
COLUMN, BESIDE = 14, 222  # pixels: from the axis to the column of the peak, and to the right edge
AREAS = re.compile(r"(<path class=.mg-area mg-s\d. data-series=.\d.) d=[^/]*")  # memory_timeline.js draws them
WHO, TABLES = '<p class="mg-who" aria-live="polite"></p>', '<div class="mg-numbers"></div><div class="mg-runs"></div>'
WHY = "<small>Planned: each program keeps its workspace, and what forward saved until backward is done.</small>"
Run = tuple[Any, Sequence[Moment]]  # switches, and moments
Loss = Callable[[Any, Any], Any]  # of two tensors
POINT = "Live bytes: point at a colour to see whose they are"
PLANNED = (
    "nothing has run yet. Each program will keep its workspace from its first call on, and what forward saved until "
    "the whole backward program is done. So the peak may be higher than without a plan"
)


class Switches(NamedTuple):
    """The settings of a run."""

    checkpointing: bool
    micro: int
    planned: bool

    def __str__(self) -> str:
        batch = "whole batch" if self.micro == 1 else f"{self.micro} micro-batches"
        return f"{batch}, {'planned' if self.planned else 'eager'}{', checkpoints' if self.checkpointing else ''}"

    def apart(self, other: Switches) -> str:
        """The settings of `other` that differ."""
        checkpoints = "with checkpoints" if other.checkpointing else "no checkpoints"
        words = checkpoints, "whole batch", "planned" if other.planned else "eager"
        return ", ".join(word for word, a, b in zip(words, self, other) if a != b)


class MemoryTimeline(ChartFilm):
    """Live bytes by consumer over training steps.

    model        a Module; checkpointing needs a Sequential of three parts or more
    loss_fn      (model(x), y) → the mean loss over the batch
    x, y         the batch; micro-batches are offered if the batch divides into equal parts of two rows or more
    optimizer    for the model's parameters; Adam by default
    steps        number of training steps; from the second on, the optimiser's state takes memory from the start

    Or MemoryTimeline(ledger), or MemoryTimeline(ledger.timeline()), for a block of `profiler.memory`. If there are more
    than 400 moments, only the highest of every few is shown. A PyTorch model gets no switches.

    runs         the moments of each combination of the switches
    The model and the optimiser are copied and not changed. Raises TypeError for arguments of other types, ValueError
    for a run of more than 400 moments, TooLong for a run of more than a minute. Errors raised by the model or the loss
    pass through.
    """

    _esm = javascript("stepper", "film", "memory_timeline")
    sheets = (*ChartFilm.sheets, "memory_timeline")

    def __init__(
        self, model: Any, loss_fn: Any = None, x: Any = None, y: Any = None, optimizer: Optimizer | None = None,
        steps: int = 2,
    ):  # fmt: skip
        self.runs: dict[Any, Sequence[Moment]]
        self.owners: list[list[str]] = []
        if of_pytorch(model):
            torch_ledger = import_module("minigrad.profiler.pytorch_memory")
            model = torch_ledger.watch_steps(model, loss_fn, x, y, optimizer, steps)
        if isinstance(model, Ledger) or (isinstance(model, list) and model and isinstance(model[0], Moment)):
            self.show_run(model)
            return
        refuse(model, x, y, optimizer, steps)
        optimizer = Adam(model.parameters()) if optimizer is None else optimizer
        checkpointing = [False, True] if isinstance(model, Sequential) and len(model) > 2 else [False]
        micro = [n for n in MICRO if n == 1 or (len(x) % n == 0 and len(x) > n)]
        ways = [Switches(c, n, p) for c in checkpointing for n in micro for p in (False, True)]
        batch = x.detach(), y.detach()
        ledgers = {way: run(model, loss_fn, *deepcopy(batch), optimizer, steps, way) for way in ways}
        self.runs = {way: ledger.moments for way, ledger in ledgers.items()}
        choices = [
            Choice("checkpointing", ["off", "on"][: len(checkpointing)]),
            Choice("micro-batches", [*map(str, micro)]),
            Choice("memory", ["an array for each result", "planned buffers"]),
        ]
        label = f"Memory of {steps} training step{'s' * (steps > 1)}"
        super().__init__(label, PHASES[:-1], [self.reel(way, ledgers[way].books) for way in ways], choices)

    def show_run(self, run: Ledger | Sequence[Moment]) -> None:
        """Make the film of a block of `profiler.memory`."""
        moments, books = (run.timeline(), run.books) if isinstance(run, Ledger) else (run, Books())
        numbers = downsample(moments)
        self.runs = {"this run": [bar(moments[k]) for k in numbers]}
        phases = [phase for phase in PHASES if any(phase == moment.phase for moment in moments)]
        super().__init__("Memory of a run", phases, [self.reel("this run", books, numbers)])

    def reel(self, way: Any, books: Books, numbers: Sequence[int] = ()) -> Reel:
        """The film of one run. If not every moment is shown, `numbers` has the indices of those that are."""
        entries, peaks = self.runs[way], self.peaks
        names, makers = names_of(entries), dict[str, int]()
        axis = self.alike(way)
        wide, narrow = (draw_timeline(entries, axis, way, self.reference_run(way), end) for end in (WIDE, NARROW))
        drawn = AREAS.sub(r"\1", shorten_svg(wide + narrow.replace("mg-picture", "mg-picture mg-down", 1)))
        panels = [Panel(POINT, drawn + WHO), Panel("The same in numbers", TABLES + WHY * (len(peaks) > 1))]
        end = verdict(entries, {str(each): peak for each, peak in peaks.items() if each != way})
        large = [each for each in books.log if each.nbytes >= peaks[way] / 1000]
        self.owners.append(list(owners(entries, large, numbers)))
        data = {
            "way": str(way),
            "names": names,
            "live": [entry.live for entry in entries],
            "held": [[makers.setdefault(whose(h), len(makers)), h.nbytes, h.died, h.story] for h in large],
            "since": {k: entry.since for k, entry in enumerate(entries) if entry.since is not None},
            "numbers": numbers,
            "plot": [LEFT, TOP, BOTTOM, SPACE * max(axis)],
            "runs": [[str(each), *each, peak] for each, peak in peaks.items()] if len(peaks) > 1 else [],
        }
        return Reel(panels, cuts(entries, end), data=data | {"makers": [*makers]})

    peaks = property(lambda self: {way: max(m.total for m in run) for way, run in self.runs.items()}, doc="In bytes.")

    def alike(self, way: Any) -> list[int]:
        """The peaks of the runs that share one axis: those with the same memory, eager or planned; its reference."""
        peaks = [peak for each, peak in self.peaks.items() if each == way or each.planned == way.planned]
        outer = self.peaks[self.reference_run(way)[0]]
        return [*peaks, outer] if outer > max(peaks) else peaks

    def reference_run(self, way: Any) -> Run:
        """The run behind this one: without switches; behind that, with checkpoints, or else with planned buffers."""
        ways = Switches(False, 1, False), Switches(True, 1, False), Switches(False, 1, True)
        reference = next((each for each in ways if each in self.runs and each != way), way)
        return reference, self.runs[reference]

    @property
    def text(self) -> str:
        """All steps in words; then the dashed outline; then, for the peak, the ops that made each consumer's arrays."""
        way = self.reference_run([*self.runs][self.number])[0]
        than = change(self.peaks[way], self.peaks[[*self.runs][self.number]])
        dashed = [f"Dashed: {way}, with a peak of {self.peaks[way]:,} bytes, {than}."] * (len(self.runs) > 1)
        return "\n".join([super().text, *dashed, *self.owners[self.number]])

    @property
    def svg(self) -> str:
        """The chart of the chosen run."""
        way, entries = [*self.runs.items()][self.number]
        drawn = draw_timeline(entries, self.alike(way), way, self.reference_run(way), WIDE)
        return self.place_in_rows([("", drawn)])


def refuse(model: Any, x: Any, y: Any, optimizer: Any, steps: int) -> None:
    """Raises TypeError or ValueError for arguments that cannot be trained."""
    if not isinstance(model, Module):
        raise TypeError(f"MemoryTimeline trains a Module, got {model!r}: put the function into a Module's forward")
    if not (isinstance(x, Tensor) and isinstance(y, Tensor)) or len(x.shape) == 0 or y.shape[:1] != x.shape[:1]:
        got = " and ".join(str(each.spec) if isinstance(each, Tensor) else type(each).__name__ for each in (x, y))
        raise TypeError(f"x and y must be tensors with one row for each example; got {got}")
    if optimizer is not None and not isinstance(optimizer, Optimizer):
        raise TypeError(f"optimizer must be one of mg.optim, made with model.parameters(); got {optimizer!r}")
    if not isinstance(steps, int) or steps < 1:
        raise ValueError(f"steps must be an integer, 1 or more; got steps={steps}")
    if optimizer is not None and not {*map(id, optimizer.parameters())} <= {*map(id, model.parameters())}:
        raise ValueError("the optimizer belongs to another model: make it with model.parameters()")
    if any(each.spec.device is not CPU for each in (x, y, *model.parameters())):
        raise ValueError("MemoryTimeline measures CPU memory: move the model and the batch to the CPU")


# -- the run ----------------------------------------------------------------------------------------------


def run(model: Module, loss_fn: Loss, x: Tensor, y: Tensor, optimizer: Optimizer, steps: int, way: Switches) -> Ledger:
    """Train a copy of the model for some steps and return the ledger."""
    model, optimizer = deepcopy((model, optimizer))
    ledger = ShortLedger(model, optimizer, [x, y])
    loss_of = loss_function(model, loss_fn, way)
    ledger.note(PLANNED if way.planned else "nothing has run yet")
    long = time_limit(SECONDS, f"a run of the model and its loss has taken {SECONDS:g} seconds, and was stopped")
    with long, pause_gc(), fork_rng(), in_mode(recording=True, tracked=False), watching(ledger):
        for _ in range(steps):
            for part in zip(pieces(x, way.micro), pieces(y, way.micro)):
                loss = loss_of(*part)
                loss.backward()
                del loss
                ledger.note("backward is done; the gradients are in .grad")
            optimizer.step()
            optimizer.zero_grad()
            ledger.note("the gradients are freed by zero_grad()")
    return ledger


@contextmanager
def pause_gc() -> Iterator[None]:
    """A block without cyclic garbage collection: its timing varies, but every run must count the same bytes."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class ShortLedger(Ledger):
    """A ledger that is short enough for a film: it raises ValueError after 400 moments."""

    def write(self, *args: Any, **options: Any) -> None:
        if len(self.moments) >= MOST:
            advice = "steps=1, or a model of fewer layers"
            raise ValueError(f"MemoryTimeline shows up to {MOST} moments of a run, and this run has more: {advice}")
        super().write(*args, **options)


def loss_function(model: Module, loss_fn: Loss, way: Switches) -> Loss:
    """(x, y) → the loss, with the settings `way`. With checkpointing, all parts but the last are checkpoints."""
    *first, last = segments(model) if way.checkpointing else [model]

    def end(h: Any, y: Any) -> Any:
        loss = loss_fn(last(h), y)
        return loss / way.micro if way.micro > 1 else loss

    parts: list[Callable[..., Any]] = [part.forward for part in first]
    parts, end = ([function(part) for part in parts], function(end)) if way.planned else (parts, end)

    def loss_of(x: Tensor, y: Tensor) -> Tensor:
        h: Any = x
        for part in parts:
            h = checkpoint(part, h)
        loss: Tensor = end(h, y)
        return loss

    return loss_of


def segments(model: Any) -> list[Any]:
    """A Sequential of n modules, cut into about √n parts of equal length."""
    size = ceil(len(model) / round(sqrt(len(model))))
    return [model[start : start + size] for start in range(0, len(model), size)]


def pieces(x: Tensor, n: int) -> list[Tensor]:
    """Views of x: its rows in n equal parts."""
    size = len(x) // n
    views = (x.value[i * size : (i + 1) * size] for i in range(n))
    return [Tensor.wrap_array(view, spec_of(view)) for view in views] if n > 1 else [x]


# -- the film ---------------------------------------------------------------------------------------------


def downsample(moments: Sequence[Moment]) -> list[int]:
    """The indices of the moments to show: if there are more than 400, only the highest of every few."""
    few = ceil(len(moments) / MOST)
    groups = (range(i, min(i + few, len(moments))) for i in range(0, len(moments), few))
    return [max(group, key=lambda k: moments[k].total) for group in groups]


def bar(moment: Moment) -> Moment:
    """The moment, with the op's temporaries and the unaccounted bytes as two more consumers."""
    return moment._replace(live=(*moment.live, moment.inside, moment.untold), inside=0, untold=0)


def names_of(entries: Sequence[Moment]) -> dict[int, str]:
    """The consumers that hold any bytes in this run."""
    every = (*CONSUMERS, *BEYOND)[: len(entries[0].live)]
    return {i: name for i, name in enumerate(every) if any(entry.live[i] for entry in entries)}


def whose(array: Holding) -> str:
    """The op that made an array, or else the module or the user's line in which the array was first used."""
    op, module, line = array.about
    made = op or (f"module {module}" if module else "data" + " from before" * (line is None))
    return made if line is None else f"{made} at {Path(spot(line.file, line.line)).name}"


def owners(entries: Sequence[Moment], large: Sequence[Holding], numbers: Sequence[int]) -> Iterator[str]:
    """For each consumer, which ops made its arrays at the peak. memory_timeline.js shows the same for any moment."""
    k = max(range(len(entries)), key=lambda k: entries[k].total)
    found = defaultdict[int | None, defaultdict[str, list[int]]](lambda: defaultdict(list))
    for each in large:
        found[each.live_consumer(numbers[k] if numbers else k, entries[k].since)][whose(each)].append(each.nbytes)
    for i, name in names_of([entries[k]]).items():
        total = entries[k].live[i]
        most = sorted(found[i].items(), key=lambda item: -sum(item[1]))[:FEW]
        parts = [f"{sum(n):,} of {maker}{f' ({len(n)} arrays)' * (len(n) > 1)}" for maker, n in most]
        rest = total - sum(sum(n) for _, n in most)
        parts += [f"{rest:,} of others"] * (rest > 0 < len(parts))
        yield f"Moment {k}, {name}: {total:,} bytes{' = ' * bool(parts)}{' + '.join(parts)}."


def verdict(entries: Sequence[Moment], others: dict[str, int]) -> str:
    """The peak of a run, its moment and its largest consumer; and the lowest peak of the `others`."""
    peak = max(entries, key=lambda entry: entry.total)
    most = max(peak.live)
    name = (*CONSUMERS, *BEYOND)[peak.live.index(most)]
    says = f"Peak: {peak.total:,} bytes, {peak.when}; the largest part is {name}, {most:,}."
    least = min(others, key=lambda each: others[each], default="")
    return says + f" The lowest peak of another run: {others[least]:,} ({least})." if others else says


def cuts(entries: Sequence[Moment], end: str) -> list[Cut]:
    """A cut for each moment of the run; `end` is said with the last one."""
    says = [f"{entry.what[0].upper()}{entry.what[1:]}. Alive: {entry.total:,} bytes." for entry in entries]
    says[-1] += f" {end}"
    return [Cut(entry.phase, say) for entry, say in zip(entries, says)]


def draw_timeline(entries: Sequence[Moment], peaks: Collection[int], way: Any, other: Run, end: int) -> str:
    """The areas of the consumers, the peak as a column, the outline of `other`, the phases; with room for `peaks`."""
    most, peak = max(peaks), max(entries, key=lambda entry: entry.total)
    words = f" (one axis for {len(peaks)} of the runs; their largest has {size(most)})" * (most > 1.1 * peak.total)
    y = upwards(0, most * SPACE, "memory in use" + words, words=size)
    x = replace(across(0, len(entries), "", marks=[]), end=end)
    ghost, labels = outline(way, *other, entries, x, y) if other[1] is not entries else ("", [])
    parts = [*areas(entries, x, y, ghost), *strip(entries, x)]
    parts += draw_peak(entries, peak, x.at(entries.index(peak) + 0.5), end + COLUMN, y, labels)
    title, beside = f"Live bytes by consumer; peak {peak.total:,} bytes", BESIDE if end == WIDE else WIDTH - end
    return chart(title, x, y, *parts, height=312, beside=beside)


def size(nbytes: float) -> str:
    """A number of bytes in a few characters: 12 kB."""
    words = compact(nbytes)
    return f"{words} B" if words[-1].isdigit() else f"{words[:-1]} {words[-1]}B"


def change(new: int, old: int) -> str:
    return f"{round(100 * (new / old - 1)):+} %".replace("-", "−")


def outline(way: Any, name: Any, run: Sequence[Moment], entries: Sequence[Moment], x: Axis, y: Axis) -> Any:
    """The total of another run as a dashed line, on the moments of this run; its peak as a line, and a label for it."""
    ends, totals = [x.at(k) for k in align(run, entries)], [moment.total for moment in run]
    most, path = max(totals), stairs(ends, [y.at(total) for total in totals])
    line = f"M{ends[totals.index(most)]:.0f},{y.at(most):.1f}H{x.end + COLUMN + 22}"
    words = f"{size(most)} ({change(most, max(entry.total for entry in entries))})"
    drawn = f'<path class="mg-other" d="{path}"/><path class="mg-other mg-reach" d="{line}"/>'
    return drawn, [(y.at(most), 2, words, way.apart(name).split(", "))]


def draw_peak(
    entries: Sequence[Moment], peak: Moment, at: float, left: int, y: Axis, labels: Sequence[Any]
) -> Iterator[str]:
    """The peak as a column, with the size and the name of each consumer that is ever thick enough, and the whole above.

    labels    more labels: where, a series, words, and lines below them
    """
    edges, is_wide = [y.at(total) for total in accumulate(peak.live, initial=0)], left > WIDE
    top = min([edges[-1], *(each[0] - 0.1 for each in labels if edges[-1] - each[0] < 60)])  # above a label nearby
    labels = [*labels, (top, -1, size(peak.total), ["peak"])]
    yield f'<path class="mg-rule mg-crest" d="M{at:.0f},{edges[-1]:.0f}H{left}"/>'
    for i, name in names_of(entries).items():
        low, high = edges[i : i + 2]
        yield f'<path class="mg-area mg-s{i}" d="M{left},{low:.1f}h16V{high:.1f}h-16z"/>'
        if max(entry.live[i] for entry in entries) >= THIN * peak.total:
            labels.append(((low + high) / 2, i, size(peak.live[i]), [SHORT.get(name, name)]))
    for height, below, middle, series, words, lines in place_labels(labels, is_wide):
        look, start = ("", left + 26) if series >= 0 else (' class="mg-peak"', left)
        place = f' x="{start}" dy="13"' * bool(below)
        yield f'<text{look} x="{start}" y="{height:.1f}"><tspan class="mg-name">{words}</tspan>'
        yield "".join(f" <tspan{place}>{escape(each)}</tspan>" for each in lines) + "</text>"
        leader = f'<path class="mg-leader mg-s{series}" d="M{left + 17},{middle:.0f}L{left + 23},{height - 4:.0f}"/>'
        yield leader * (series >= 0 and abs(height - 4 - middle) > 3 and words != size(0))  # else it looks like a minus


def place_labels(labels: Sequence[Any], is_wide: bool) -> list[Any]:
    """The labels of a column, each with its height and that of the lines below it, so that none covers another."""
    rows, lowest, highest = list[Any](), BOTTOM + 4.0, 21.0
    for label in sorted(labels, reverse=True):  # from the bottom up, and then from the top down, where room ends
        middle, series, _, lines = label
        below = 0 if series < 0 or (is_wide and lines[0] in NAMES) else 13 * len(lines)
        rows.append([min(middle + (4 if series >= 0 else -9), lowest - below), below, *label])
        lowest = rows[-1][0] - (16 if series >= 0 else 24)
    for row in reversed(rows):
        row[0] = max(row[0], highest)
        highest = row[0] + row[1] + 16
    return rows


def align(run: Sequence[Moment], entries: Sequence[Moment]) -> list[float]:
    """The moments of a run, and its end, on the axis of another: each phase is stretched to the same phase there.

    If one of them has more micro-batches, each training step is stretched to the same step, and each update to its own.
    """
    keys: list[Callable[[Moment], object]] = [lambda m: m.phase, lambda m: m.phase == "update"]
    for key in keys:
        lengths = [[len([*each]) for _, each in groupby(every, key)] for every in (run, entries)]
        if len(lengths[0]) == len(lengths[1]):
            break
    theirs, ours = ([0, *accumulate(each)] for each in lengths)
    return np.interp([*range(len(run) + 1)], theirs, ours).tolist()


def areas(entries: Sequence[Moment], x: Axis, y: Axis, ghost: str) -> Iterator[str]:
    """The area of each consumer, from the top down: each covers the lower part of the one before; then names in it."""
    edges = [[y.at(total) for total in accumulate(entry.live, initial=0)] for entry in entries]
    ends, labels = [x.at(k) for k in range(len(entries) + 1)], list[str]()
    for i, name in reversed(names_of(entries).items()):
        yield area(i, ends, [edge[i + 1] for edge in edges])
        start, end, top, bottom = find_room([(edge[i + 1], edge[i]) for edge in edges])
        split = name.replace(" for ", " for\n").split("\n") if bottom - top > 32 else [name]
        spellings = [name], split, [name.removesuffix(" for backward")]
        fits = (each for each in spellings if max(text_width(w, 12) for w in each) < x.at(end) - x.at(start))
        if lines := next(fits, []):
            baseline = max((top + bottom) / 2 + 4, bottom - 10) - 13 * (len(lines) - 1)
            middle = (x.at(start) + x.at(end)) / 2
            labels += [text("mg-sign mg-halo", middle, baseline + 13 * k, line) for k, line in enumerate(lines)]
    yield f'<rect class="mg-future" x="{x.end}" y="{TOP}" width="0" height="{BOTTOM - TOP}"/>'
    yield from [ghost, '<g class="mg-cursor" opacity="0"><path/><circle r="5"/></g>', *labels]


def find_room(gaps: Sequence[tuple[float, float]]) -> tuple[int, int, float, float]:
    """The largest rectangle between the tops and bottoms that is high enough for text: start, end, top and bottom."""
    found, most = (0, 0, 0.0, 0.0), 0.0
    for start, (top, bottom) in enumerate(gaps):
        for end in range(start, len(gaps)):
            top, bottom = max(top, gaps[end][0]), min(bottom, gaps[end][1])
            if bottom - top < 15:
                break
            room = float(end + 1 - start) ** 1.5 * (bottom - top)  # rather wide than high
            if room > most:
                found, most = (start, end + 1, top, bottom), room
    return found


def strip(entries: Sequence[Moment], x: Axis) -> Iterator[str]:
    """The phases of the run as boxes below the axis, and below these what they do with memory."""
    k, last = 0, float(LEFT)
    for phase, group in groupby(entries, lambda entry: entry.phase):
        left, right = x.at(k), x.at(k := k + len([*group]))
        look, short, below = BAND.get(phase, (2, "", ""))
        word = next((w for w in (phase, short, short[:1]) if text_width(w, 13) < right - left), "")
        yield f'<g class="mg-s{look}"><path class="mg-band" d="M{left:.1f},{BOTTOM + 6}H{right:.1f}v18H{left:.1f}z"/>'
        yield text("mg-sign", (left + right) / 2, BOTTOM + 19.5, word) * bool(word) + "</g>"
        middle = min((left + right) / 2, x.end - 18)
        is_update = phase == "update"
        if below and (middle - last > 46 if is_update else right - left > 66):
            last = middle if is_update else last
            yield text("mg-sign mg-dim", middle, BOTTOM + 40 + 13 * is_update, below)
