"""Memory over a training step: the live bytes of each consumer, at each moment of a real run.

Each combination of the switches is run once, on a copy of the learner's model, and measured (profiler/ledger.py). All
charts have the same scale, so that runs can be compared.

    checkpointing    parts of the model save only their arguments, and run again in backward
    micro-batches    the batch is cut into pieces, whose gradients are added up
    memory           eager, an array for each op's result; or compiled, with planned buffers
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from html import escape
from itertools import groupby
from math import ceil, sqrt
from typing import Any, NamedTuple

from ...draw.charts import BOTTOM, LEFT, RIGHT, TOP, across, bars, chart, compact, legend, swatch, upwards
from ...draw.svg import text
from ...engine.base.device import CPU
from ...engine.base.spec import spec_of
from ...engine.core.modes import in_mode, watching
from ...engine.random import fork_rng
from ...engine.tensor.tensor import Tensor
from ...graph.function import function
from ...nn.container import Sequential
from ...nn.module import Module
from ...optim import Adam
from ...optim.optimizer import Optimizer
from ...profiler.books import CONSUMERS, Consumer
from ...profiler.ledger import Ledger
from ...profiler.memory_table import BEYOND, Moment
from ...utils.checkpoint import checkpoint
from .film import ChartFilm, Choice, Cut, Panel, Reel, table
from .recording import time_limit

MICRO = (1, 2, 4)
PHASES = ("start", "forward", "backward", "update")
MOST = 400  # the most moments of a run
SECONDS = 60.0  # time limit of a run
PLANNED = (
    "nothing has run yet. Each program will keep its workspace from its first call on, so that no call asks the "
    "allocator for memory again; and what forward saved is there until the whole backward program is done. So the peak "
    "may be higher than without a plan"
)


class Switches(NamedTuple):
    """The settings of a run."""

    checkpointing: bool
    micro: int
    planned: bool

    def __str__(self) -> str:
        batch = "whole batch" if self.micro == 1 else f"{self.micro} micro-batches"
        return f"{batch}, {'planned' if self.planned else 'eager'}{', checkpoints' if self.checkpointing else ''}"


class MemoryTimeline(ChartFilm):
    """Live bytes by consumer over training steps.

    model        a Module; checkpointing needs a Sequential of three parts or more
    loss_fn      (model(x), y) → the mean loss over the batch
    x, y         the batch; micro-batches are offered if the batch divides into equal parts of two rows or more
    optimizer    for the model's parameters; Adam by default
    steps        number of training steps; from the second on, the optimiser's state takes memory from the start

    Or MemoryTimeline(ledger), or MemoryTimeline(ledger.timeline()), for a block of `profiler.memory`. If there are more
    than 400 moments, only the highest of every few is shown.

    runs         the moments of each combination of the switches
    The model and the optimiser are copied and not changed. Raises TypeError for arguments of other types, ValueError
    for a run of more than 400 moments, TooLong for a run of more than a minute. Errors raised by the model or the loss
    pass through.
    """

    def __init__(
        self, model: Any, loss_fn: Any = None, x: Any = None, y: Any = None, optimizer: Optimizer | None = None,
        steps: int = 2,
    ):  # fmt: skip
        self.runs: dict[Any, Sequence[Moment]]
        moments: Any = model.timeline() if isinstance(model, Ledger) else model
        if isinstance(moments, list) and moments and isinstance(moments[0], Moment):
            self.runs = {"this run": downsample_moments(moments)}
            super().__init__("Memory of a run", PHASES, [*map(self.reel, self.runs)])
            return
        refuse(model, x, y, optimizer, steps)
        optimizer = Adam(model.parameters()) if optimizer is None else optimizer
        checkpointing = [False, True] if isinstance(model, Sequential) and len(model) > 2 else [False]
        micro = [n for n in MICRO if n == 1 or (len(x) % n == 0 and len(x) > n)]
        ways = [Switches(c, n, p) for c in checkpointing for n in micro for p in (False, True)]
        self.runs = {way: run(model, loss_fn, x, y, optimizer, steps, way) for way in ways}
        choices = [
            Choice("checkpointing", ["off", "on"][: len(checkpointing)]),
            Choice("micro-batches", [str(n) for n in micro]),
            Choice("memory", ["an array for each result", "planned buffers"]),
        ]
        label = f"Memory of {steps} training step{'s' * (steps > 1)}"
        super().__init__(label, PHASES, [*map(self.reel, ways)], choices)

    def reel(self, way: Any) -> Reel:
        """The film of one run."""
        entries, peaks = self.runs[way], {each: max(m.total for m in moments) for each, moments in self.runs.items()}
        is_planned = getattr(way, "planned", any(entry.live[Consumer.WORKSPACE] for entry in entries))
        every = dict(enumerate((*CONSUMERS, *BEYOND)[: len(entries[0].live)]))
        names = {i: name for i, name in every.items() if i != Consumer.WORKSPACE or is_planned}
        panels = [
            Panel("Live bytes", draw_timeline(names, entries, max(peaks.values()))),
            Panel("The same in numbers", numbers(names, entries)),
            Panel("The peak of each run", peak_table(way, peaks)),
        ]
        return Reel(panels, cuts(names, entries))


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


def run(
    model: Module, loss_fn: Callable[[Any, Any], Any], x: Tensor, y: Tensor, optimizer: Optimizer, steps: int,
    way: Switches,
) -> list[Moment]:  # fmt: skip
    """Train a copy of the model for some steps and return the live bytes at each moment."""
    model, optimizer = deepcopy((model, optimizer))
    x, y = x.detach(), y.detach()
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
            ledger.note("the gradients are let go by zero_grad()")
    return ledger.moments


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


def loss_function(
    model: Module, loss_fn: Callable[[Any, Any], Any], way: Switches
) -> Callable[[Tensor, Tensor], Tensor]:
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


def downsample_moments(moments: Sequence[Moment]) -> list[Moment]:
    """The moments as bars; if there are more than 400, only the highest of every few."""
    few = ceil(len(moments) / MOST)
    highest = [max(moments[i : i + few], key=lambda moment: moment.total) for i in range(0, len(moments), few)]
    return [bar(moment) for moment in highest]


def bar(moment: Moment) -> Moment:
    """The moment, with the op's temporaries and the unaccounted bytes as two more consumers."""
    live = *moment.live, moment.inside, max(moment.untold, 0)
    return moment._replace(live=live, inside=0, untold=min(moment.untold, 0))


def cuts(names: dict[int, str], entries: Sequence[Moment]) -> list[Cut]:
    """A cut for each moment of the run."""
    found, peak, shown = [], 0, dict[str, str]()
    for k, entry in enumerate(entries):
        rises = entry.total > peak > 0
        peak = max(peak, entry.total)
        words = {f"now {name}": f"{entry.live[i]:,}" for i, name in names.items()}
        words |= {"now total": f"{entry.total:,}", "so far": f"{peak:,}"}
        so_far = "the peak so far" if rises else f"peak so far {peak:,}"
        say = f"{entry.what[0].upper()}{entry.what[1:]}. Alive: {entry.total:,} bytes, {so_far}."
        changed = {key: each for key, each in words.items() if shown.get(key) != each}
        found.append(Cut(entry.phase, say, text=changed, hot={"here": [f"at {k}"]}))
        shown = words
    return found


def draw_timeline(names: dict[int, str], entries: Sequence[Moment], most: int) -> str:
    """A stacked bar and a cursor for each moment; below, the phases and the legend."""
    x = across(0, len(entries), "moments of the run")
    y = upwards(0, most * 1.05, "live bytes", words=compact)
    width = (RIGHT - LEFT) / len(entries)
    floors = [0] * len(entries)
    parts = []
    for i in range(len(entries[0].live)):
        tops = [bottom + entry.live[i] for bottom, entry in zip(floors, entries)]
        parts.append(bars(i, [(x.at(k), y.at(floors[k]), y.at(tops[k])) for k in range(len(entries))], width))
        floors = tops
    peak = max(entry.total for entry in entries)
    parts.append(f'<path class="mg-rule" stroke-dasharray="4 3" d="M{LEFT},{y.at(peak):.1f}H{RIGHT}"/>')
    parts.append(text("mg-number mg-halo", RIGHT, y.at(peak) - 5, f"peak {peak:,} bytes"))
    cursor = '<path class="mg-cursor" data-id="at {}" d="M{:.1f},{}V{}m0,24v16"/>'
    parts += [cursor.format(k, x.at(k + 0.5), TOP - 6, BOTTOM) for k in range(len(entries))]
    held, below = legend({i: name for i, name in names.items() if any(entry.live[i] for entry in entries)}, 320)
    parts += strip(entries, x.at) + held
    return chart(f"Live bytes by consumer over the run; at most {peak:,}", x, y, *parts, height=318, below=below + 6)


def strip(entries: Sequence[Moment], at: Callable[[float], float]) -> list[str]:
    """The phases of the run as boxes below the axis, labelled where there is room."""
    parts, k = [], 0
    for phase, group in groupby(entries, lambda entry: entry.phase):
        n = len(list(group))
        left, right = at(k), at(k + n)
        k += n
        look = f" mg-{phase}" if phase in ("forward", "backward") else ""
        place = f'x="{left:.1f}" y="{BOTTOM + 24}" width="{right - left:.1f}" height="16"'
        parts.append(f'<g class="mg-box{look}"><rect class="mg-frame" {place}/></g>')
        if right - left > 7 * len(phase):
            parts.append(text("mg-sign", (left + right) / 2, BOTTOM + 36, phase))
    return parts


def numbers(names: dict[int, str], entries: Sequence[Moment]) -> str:
    """A table of the bytes that each consumer holds now, and held at the peak."""
    peak = max(entries, key=lambda entry: entry.total)
    row = '<tr><th scope="row">{}{}</th><td data-id="now {}"></td><td>{:,}</td></tr>'
    rows = [row.format(swatch(i), escape(name), escape(name), peak.live[i]) for i, name in reversed(names.items())]
    rows.append(f'<tr><th scope="row">all</th><td data-id="now total"></td><td>{peak.total:,}</td></tr>')
    rows.append('<tr><th scope="row">peak so far</th><td data-id="so far"></td><td></td></tr>')
    return table(["bytes", "now", "at the peak"], rows)


def peak_table(way: Any, peaks: dict[Any, int]) -> str:
    """A table of the peak of each run; the row of the run shown is marked."""
    rows = []
    for each, peak in peaks.items():
        mark, shown = (" aria-current=true", " (shown)") if each == way else ("", "")
        rows.append(f'<tr{mark}><th scope="row">{each}{shown}</th><td>{peak:,}</td></tr>')
    return table(["run", "peak bytes"], rows)
