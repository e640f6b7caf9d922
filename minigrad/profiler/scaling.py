"""How cost grows: runs of a function at several lengths, counted and measured, and the power of n that fits.

On logarithmic axes, a cost that grows as nᵖ is a straight line of slope p. The line is fitted to the upper half of the
points: at small n, call overhead dominates a run, however much arithmetic it does.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from tqdm.auto import tqdm

from ..draw.charts import Report, across, chart, compact, decades, line, upwards
from ..draw.words import number, took
from ..engine.base.table import Table
from ..engine.core.modes import watching
from ..nn.module import Module
from .counting import Counting
from .machine import fastest

APART = 2.0  # report where counted and measured differ by more than this factor
POWERS = {0: "constant", 1: "linear", 2: "quadratic", 3: "cubic"}
NEAR = 0.15  # a slope this close to an integer gets that power's name
COLUMNS = {
    "flops": "FLOPs counted", "saved": "saved for backward", "parameters": "parameters",
    "seconds": "time measured", "peak": "peak bytes measured",
}  # fmt: skip
TOGETHER = {"seconds": ("flops", "Time and FLOPs"), "peak": ("saved", "The peak and bytes saved")}  # measured → counted


class Sample(NamedTuple):
    """The cost of a run at one length. A figure that could not be counted is None.

    flops         FLOPs of the ops that ran, by their own formulas, and of their derivatives if backward ran
    saved         bytes that the ops save for backward, without parameters
    parameters    numbers in the model, if f returns one
    seconds       time of the fastest run
    peak          most bytes that a run allocated at once
    """

    n: int
    flops: int | None
    saved: int
    parameters: int | None
    seconds: float
    peak: int


class Fit(NamedTuple):
    """cost ∝ nᵖ

    slope       p
    residual    root mean square distance of the points from the line, as a factor minus 1
    ends        (n, cost) on the line, at the first and the last fitted point
    """

    slope: float
    residual: float
    ends: tuple[tuple[float, float], ...]

    @property
    def word(self) -> str:
        """The name of this growth: linear, quadratic, or n^p."""
        whole = round(self.slope)
        return POWERS[whole] if whole in POWERS and abs(self.slope - whole) <= NEAR else f"n^{number(self.slope, 2)}"

    def __str__(self) -> str:
        return f"{self.word} (slope {number(round(self.slope, 2))}, off by {number(round(100 * self.residual, 1))} %)"


def fit(xs: Sequence[float], ys: Sequence[float]) -> Fit:
    """Fit a line to the upper half of the points, at least 3, by least squares on logarithmic axes."""
    if len(xs) < 3:
        raise ValueError(f"a slope needs 3 points, and got {len(xs)}")
    upper = slice(len(xs) - max(3, ceil(len(xs) / 2)), None)
    x, y = np.log(np.asarray(xs[upper], float)), np.log(np.asarray(ys[upper], float))
    slope, start = np.polyfit(x, y, 1)
    ends = tuple([(float(np.exp(at)), float(np.exp(slope * at + start))) for at in (x[0], x[-1])])
    return Fit(float(slope), float(np.expm1(np.sqrt(np.mean((y - slope * x - start) ** 2)))), ends)


@dataclass(frozen=True)
class Scaling:
    """The runs with one length varied and the others fixed.

    name       the varied length
    held       the fixed lengths
    samples    the measurements, in order of n
    unsaid     an op without a cost formula, if there is one
    """

    name: str
    held: Mapping[str, int]
    samples: Sequence[Sample]
    unsaid: Any = None

    def column(self, what: str) -> list[Any]:
        """A figure of all samples: flops, saved, parameters, seconds or peak."""
        return [getattr(sample, what) for sample in self.samples]

    def fit(self, what: str) -> Fit | None:
        """The growth of a column; None if a value is missing or 0, or there are fewer than 3 points."""
        ys = self.column(what)
        return fit(self.column("n"), ys) if len(ys) >= 3 and all(ys) else None

    def theory(self, measured: str) -> list[float]:
        """A measured column as the counts predict it, exact at the largest n; [] if either of the two is missing."""
        counts, ys = self.column(TOGETHER[measured][0]), self.column(measured)
        return [ys[-1] * count / counts[-1] for count in counts] if all(counts) and all(ys) else []

    @property
    def apart(self) -> dict[str, list[int]]:
        """Measured column → each n at which the value is more than twice, or less than half, its prediction."""
        return {
            what: [s.n for s, y in zip(self.samples, told) if not 1 / APART <= getattr(s, what) / y <= APART]
            for what in TOGETHER
            if (told := self.theory(what))
        }

    @property
    def summary(self) -> list[str]:
        """The slopes, and where prediction and measurement disagree, in sentences."""
        lines = [f"{label}: {found}" for what, label in COLUMNS.items() if (found := self.fit(what)) is not None]
        for what, ns in self.apart.items():
            if ns:
                where = ", ".join(map(str, ns))
                lines.append(f"{TOGETHER[what][1]} part by more than {APART:g}x at {self.name} = {where}")
        if self.unsaid is not None:
            lines.append(f"FLOPs were not counted: {self.unsaid} has no cost formula")
        return lines

    @property
    def table(self) -> Table:
        """A row for each n."""
        held = "".join(f", {name}={n}" for name, n in self.held.items())
        counts = [["—" if x is None else f"{x:,}" for x in s[1:4]] for s in self.samples]
        rows = [(s.n, *each, took(s.seconds), s.peak) for s, each in zip(self.samples, counts)]
        head = {self.name: ",", **dict.fromkeys(COLUMNS.values(), ""), COLUMNS["peak"]: ","}
        return Table(head, rows, ".\n".join([f"{self.name} varied{held}", *self.summary, ""]).rstrip())

    @property
    def charts(self) -> list[str]:
        """Time with FLOPs, and the peak with the bytes saved for backward."""
        return [self.chart("seconds", took), self.chart("peak", compact)] if self.samples else []

    def chart(self, what: str, words: Callable[[float], str]) -> str:
        """A dot for each measurement, the line fitted to them, and a dashed line for the prediction."""
        ns, ys, told = self.column("n"), [max(y, 1e-9) for y in self.column(what)], self.theory(what)
        found, counted = self.fit(what), COLUMNS[TOGETHER[what][0]]
        label = f"{COLUMNS[what]}{f'; line, {found.word}' if found else ''}{f'; dashed, as {counted}' if told else ''}"
        x = across(ns[0], max(ns[-1], ns[0] + 1), self.name, log=True, marks=ns, words="{:,}".format)
        y = decades([*ys, *told], upwards, label, words)
        dots = [f'<circle class="mg-point" cx="{x.at(n):.1f}" cy="{y.at(t):.1f}" r="5"/>' for n, t in zip(ns, ys)]
        dashed = [line("mg-roof mg-second", [(x.at(n), y.at(t)) for n, t in zip(ns, told)])] if told else []
        fitted = [line("mg-roof", [(x.at(n), y.at(t)) for n, t in found.ends])] if found else []
        title = f"{COLUMNS[what]} against {self.name}{f': {found}' if found else ''}"
        return chart(title, x, y, *dashed, *fitted, *dots)


@dataclass(frozen=True, repr=False)
class Sweep(Report):
    """The result of a sweep: a Scaling for each length. It prints as tables; a notebook adds pictures.

    whole    whether it was completed, not interrupted
    """

    name: str
    scalings: Mapping[str, Scaling]
    whole: bool = True

    title = property(lambda self: f"How {self.name} scales")
    tables = property(lambda self: [each.table for each in self.scalings.values()])
    charts = property(lambda self: [chart for each in self.scalings.values() for chart in each.charts])

    def __getitem__(self, name: str) -> Scaling:
        return self.scalings[name]

    @property
    def summary(self) -> str:
        """The number of runs, in a sentence."""
        runs = sum(len(each.samples) for each in self.scalings.values())
        return f"{self.name} was run at {runs} lengths{'' if self.whole else ', and stopped before its end'}."


def sweep(f: Callable[..., Any], *, repeat: int = 5, progress: bool = True, **lengths: Sequence[int]) -> Sweep:
    """Measure the cost of f, varying one length at a time, with the others at their middle value.

        sweep(f, batch=[8, 16, 32], width=[64, 128, 256])      →  f(batch=8, width=128), f(batch=16, width=128), …

    f         called with a value of each length by name. If it returns (model, *inputs), model(*inputs) is measured; if
              it returns a function without arguments, that function is measured; otherwise f itself
    repeat    number of timed runs, of which the fastest counts

    Ctrl-C ends it early and returns the measurements so far. Raises ValueError for fewer than 3 values of a length, and
    if no op runs; TypeError if f is no function, or returns a model in another form.
    """
    validate_sweep(f, repeat, lengths)
    ordered = {name: sorted({*values}) for name, values in lengths.items()}
    middle = {name: values[len(values) // 2] for name, values in ordered.items()}
    samples: dict[str, list[Sample]] = {name: [] for name in ordered}
    unsaid: dict[str, Any] = {}
    points = [(name, n) for name, values in ordered.items() for n in values]
    whole = False
    with suppress(KeyboardInterrupt), tqdm(points, disable=not progress, leave=False, ncols=72) as bar:
        for name, n in bar:
            bar.set_postfix_str(f"{name}={n}")
            sample, unsaid[name] = measure_sample(f, {**middle, name: n}, n, repeat)
            samples[name].append(sample)
        whole = True
    called = getattr(f, "__name__", type(f).__name__)
    scalings = {
        name: Scaling(name, {other: m for other, m in middle.items() if other != name}, found, unsaid.get(name))
        for name, found in samples.items()
    }
    return Sweep(called, scalings, whole)


def validate_sweep(f: Any, repeat: int, lengths: Mapping[str, Any]) -> None:
    """Raise TypeError if f is not a function of lengths, ValueError if the lengths or `repeat` are invalid."""
    if isinstance(f, Module) or not callable(f):
        raise TypeError(f"sweep takes a function of the lengths, such as lambda batch: (net, x[:batch]), and got {f!r}")
    for name, values in lengths.items():
        ns = {*values} if isinstance(values, Iterable) else ()
        if len(ns) < 3 or not all(isinstance(n, Real) and float(n) >= 1 for n in ns):
            raise ValueError(f"a slope needs 3 values of {name} or more, each above 0 and each once: got {values!r}")
    if repeat < 1:
        raise ValueError(f"repeat is the number of timed runs, 1 or more, and got {repeat!r}")
    if not lengths:
        raise ValueError("sweep needs a length to vary, as in sweep(f, batch=[8, 16, 32])")


def measure_sample(f: Callable[..., Any], lengths: Mapping[str, int], n: int, repeat: int) -> tuple[Sample, Any]:
    """Measure one sample; also returns the op without a cost formula, if there is one."""
    run, model = runner(f, lengths)
    with watching(Counting()) as counting:
        y = run()  # holds the graph until its saved bytes are counted
        saved = counting.bytes_saved
    del y
    if not counting.ops:
        raise ValueError(f"sweep counts the ops that run, and none did in {f!r} at {dict(lengths)}")
    parameters = None if model is None else sum(p.size for p in model.parameters())
    return Sample(n, counting.flops, saved, parameters, fastest(run, repeat), peak_allocation(run)), counting.unsaid


def runner(f: Callable[..., Any], lengths: Mapping[str, int]) -> tuple[Callable[[], Any], Module | None]:
    """The function to run, and its model, if f returns one."""
    try:
        given = f(**lengths)
    except Exception as error:
        said = ", ".join(f"{name}={n}" for name, n in lengths.items())
        error.add_note(f"sweep called f({said}): the lengths are integers, from which f makes its tensors")
        raise
    if isinstance(given, tuple) and given and isinstance(given[0], Module):
        model, *inputs = given
        return lambda: model(*inputs), model
    if any(isinstance(each, Module) for each in (given if isinstance(given, list | tuple) else [given])):
        raise TypeError(f"sweep runs model(*inputs) of the tuple (model, *inputs), and f gave {given!r}")
    return (given, None) if callable(given) else (lambda: f(**lengths), None)


def peak_allocation(run: Callable[[], Any]) -> int:
    """Most bytes that a run allocates at once."""
    was_on = tracemalloc.is_tracing()
    tracemalloc.start()  # does nothing if it is on
    try:
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        run()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        if not was_on:
            tracemalloc.stop()
