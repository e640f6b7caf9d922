"""Gradients in half precision: which vanish, which overflow, and how a loss scale helps.

Gradients are small, and float16 rounds to 0 below 2⁻²⁵. The loss times 2ᵏ has gradients 2ᵏ times as large, in the
middle of float16's range; the optimiser divides by 2ᵏ again. Each step of the widget is a scale; each gradient is cast
to see whether it survives.

Micikevicius et al. 2018, “Mixed Precision Training”, section 3.2. https://arxiv.org/abs/1710.03740
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from math import log2
from typing import Any

import numpy as np

from ...draw.charts import BOTTOM, LEFT, TOP, Axis, across, area, chart, compact, stairs, upwards
from ...draw.svg import text, text_width
from ...draw.words import join_names, number, pluralize
from ...engine.base.dtypes import bfloat16, finfo, float16, kind
from ...engine.core.modes import in_mode
from ...engine.random import fork_rng
from ...engine.tensor.tensor import Tensor
from ...nn.module import Module
from .film import FIRST, ChartFilm, Choice, Cut, Panel, Reel, row, table
from .widget import javascript

EXPONENTS = (0, 4, 8, 12, 16, 20, 24)  # of the loss scales, which are powers of 2
FATES = ("zero", "subnormal", "normal", "infinite")
SERIES = (3, 4, 0, 6)  # the chart series of each fate
RULER = 9  # pixels: height of the ruler above the zones: how many bits a number keeps
LEAST = -64  # the smallest exponent on the axis: smaller ones are counted as this one


@dataclass(frozen=True)
class Format:
    """A 16-bit floating-point format.

    smallest    exponent of the smallest subnormal number
    normal      exponent of the smallest normal number
    end         exponent of the first power of 2 that overflows
    bits        bits of a normal number's mantissa, with the leading 1
    """

    dtype: np.dtype
    smallest: int
    normal: int
    end: int
    bits: int

    name = property(lambda self: self.dtype.name)

    @np.errstate(over="ignore", under="ignore")
    def cast(self, x: np.ndarray) -> np.ndarray:
        """x rounded to float32, and then to the format."""
        return x.astype(np.float32).astype(self.dtype).astype(np.float64)


def format_of(dtype: np.dtype) -> Format:
    """The format of a dtype, from its finfo."""
    info = finfo(dtype)
    smallest = round(log2(info.smallest_subnormal))
    return Format(dtype, smallest, int(info.minexp), int(info.maxexp), info.nmant + 1)


FORMATS = format_of(float16), format_of(bfloat16)


class Precision(ChartFilm):
    """The fate of gradients in float16 and bfloat16, under loss scales from 1 to 2²⁴.

    gradients    a Module with gradients in `.grad`; or tensors or arrays, in a list or a dict; or, with loss_fn, a
                 Module whose copy is differentiated here, for loss_fn(model(x), y)

    counts       (format, exponent of the scale) → the number of gradients with each of FATES
    best         format → the exponent with the fewest overflows, then the most normal gradients

    The scale multiplies gradients that were computed without it: these equal the gradients of the scaled loss unless
    an intermediate value overflows. Gradients that are 0, infinite or NaN stay so at any scale and are left out.
    Raises TypeError if there are no gradients, ValueError if none is left.
    """

    _esm = javascript("stepper", "film", "precision")
    sheets = (*ChartFilm.sheets, "precision")

    def __init__(self, gradients: Any, loss_fn: Callable[[Any, Any], Any] | None = None, x: Any = None, y: Any = None):
        if loss_fn is not None:
            gradients = gradients_of(gradients, loss_fn, x, y)
        every = np.concatenate([array.reshape(-1) for array in arrays_of(gradients)])
        kept = every[np.isfinite(every) & (every != 0)]
        if not kept.size:
            raise ValueError(f"Precision needs a finite gradient other than 0; all {every.size} are 0, infinite or NaN")
        self.counts = {(f.name, k): counts(f, kept, k) for f in FORMATS for k in EXPONENTS}
        self.best = {f.name: best([self.counts[f.name, k] for k in EXPONENTS]) for f in FORMATS}
        reels = [reel(f, kept, every.size, self.counts, self.best[f.name]) for f in FORMATS]
        label = f"{pluralize(every.size, 'gradient', 'gradients')} in half precision"
        super().__init__(label, (), reels, [Choice("format", [f.name for f in FORMATS])])

    @property
    def svg(self) -> str:
        """The gradients as they are, and below with the best scale."""
        pictures = FIRST.findall(self.film["panels"][0]["html"])
        return self.place_in_rows(*([("", pictures[n])] for n in sorted({0, self.film["best"]})))


def gradients_of(model: Any, loss_fn: Callable[[Any, Any], Any], x: Any, y: Any) -> Module:
    """A copy of the model with the gradients of the loss."""
    if not isinstance(model, Module):
        raise TypeError(f"with a loss_fn, Precision expects a Module, got {model!r}")
    if x is None or y is None:
        raise TypeError("with a loss_fn, Precision needs a batch too: Precision(model, loss_fn, x, y)")
    copied = deepcopy(model)
    for p in copied.parameters():
        p.grad = None
    with fork_rng(), in_mode(recording=True, tracked=False):
        loss_fn(copied(x), y).backward()
    return copied


def arrays_of(gradients: Any) -> list[np.ndarray]:
    """The gradients as arrays of floats."""
    if isinstance(gradients, Module):
        gradients = [p.grad for p in gradients.parameters() if p.grad is not None]
        if not gradients:
            raise TypeError("no parameter has a .grad: call backward() first, or pass loss_fn, x and y")
    if isinstance(gradients, Mapping):
        gradients = list(gradients.values())
    if isinstance(gradients, Tensor | np.ndarray) or not isinstance(gradients, Iterable):
        gradients = [gradients]
    found = [np.asarray(g.numpy() if isinstance(g, Tensor) else g) for g in gradients]
    if not found or any(kind(array.dtype) != "f" for array in found):
        raise TypeError(f"Precision expects floating-point gradients, got {[str(a.dtype) for a in found]}")
    return found


# -- the fates -------------------------------------------------------------------------------------------------


def scale_gradients(gradients: np.ndarray, k: int) -> np.ndarray:
    """The gradients times 2ᵏ, in float32 or wider."""
    with np.errstate(over="ignore"):
        return gradients.astype(np.promote_types(gradients.dtype, np.float32)) * np.float32(2.0**k)


def fates(format: Format, gradients: np.ndarray, k: int) -> np.ndarray:
    """The index in FATES of each gradient under the scale 2ᵏ."""
    size = np.abs(format.cast(scale_gradients(gradients, k)))
    return np.select([size == 0, size < 2.0**format.normal, np.isfinite(size)], [0, 1, 2], 3)


def counts(format: Format, gradients: np.ndarray, k: int) -> tuple[int, ...]:
    """The number of gradients with each fate."""
    return tuple(int(n) for n in np.bincount(fates(format, gradients, k), minlength=len(FATES)))


def best(found: Sequence[tuple[int, ...]]) -> int:
    """The exponent with the fewest infinite gradients; among equals, with the most normal ones; then the smallest."""
    return EXPONENTS[min(range(len(found)), key=lambda i: (found[i][3], -found[i][2]))]


# -- the film --------------------------------------------------------------------------------------------------


def reel(
    format: Format, gradients: np.ndarray, given: int, counts: Mapping[tuple[str, int], tuple[int, ...]], chosen: int
) -> Reel:
    """The film of one format, scale after scale."""
    sizes = exponents(gradients)
    low = max(min(int(sizes.min()), FORMATS[0].smallest - 12), LEAST)  # with room for what float16 cannot hold
    high = max(int(sizes.max()) + EXPONENTS[-1] + 1, FORMATS[0].end + 10)
    x = across(low, high, "size of the scaled gradient", words=power, marks=range(low + -low % 8, high, 8))
    most = int(np.bincount(sizes - sizes.min()).max())
    y = upwards(0, most * 1.4, "gradients", words=compact)
    y = replace(y, marks=[tick for tick in y.ticks if tick < 1.3 * most])  # the ruler's label is there
    pictures = ((k, draw_histogram(format, gradients, sizes, k, x, y)) for k in EXPONENTS)
    scenes = "".join(f'<div data-scene="scale {k}"{" hidden" * (k > 0)}>{each}</div>' for k, each in pictures)
    sizes_drawn = Panel(f"How large they are, and what {format.name} makes of them", scenes)
    panels = [sizes_drawn, Panel("The same in numbers", listing(format, counts, chosen))]
    say = {f"scale {k}": describe_fates(format, k, counts[format.name, k]) for k in EXPONENTS}
    say["scale 0"] += opening(format, given - gradients.size)
    cuts = [*say.items(), (f"scale {chosen}", verdict(format, counts, chosen))]
    found = [Cut("", words, scene=scale, hot={"hot": [scale]}) for scale, words in cuts]
    return Reel(panels, found, data={"scales": EXPONENTS, "best": EXPONENTS.index(chosen)})


def power(k: float) -> str:
    """2 to the power of k, as text."""
    return "2" + str(int(k)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def opening(format: Format, left_out: int) -> str:
    """The sentences about the format, for the first step."""
    zeros = f" Not counted, at any scale: {left_out:,} that are exactly 0 or not finite." if left_out else ""
    return (
        f" {format.name} has {format.bits} bits for a number from {power(format.normal)} to below "
        f"{power(format.end)}, fewer down to {power(format.smallest)}, and nothing beyond.{zeros}"
    )


def describe_fates(format: Format, k: int, found: Sequence[int]) -> str:
    """The fates of the gradients under one scale, in words."""
    scale = f"The loss times {power(k)}, {2**k:,}" if k else "The loss as it is"
    return f"{scale}: of {pluralize(sum(found), 'gradient', 'gradients')}, {tally(found)}."


def tally(found: Sequence[int]) -> str:
    share = f"{number(100 * found[0] / sum(found), 3)} percent"
    names = f"rounded to 0 ({share})", "subnormal with fewer bits", "normal", "infinite"
    return join_names([f"{n:,} {name}" for n, name in zip(found, names) if n])


def verdict(format: Format, counts: Mapping[tuple[str, int], tuple[int, ...]], chosen: int) -> str:
    """Which scale is best, and what it saves."""
    best = f"Of these scales, {power(chosen)} is best for" if chosen else "None of these scales does better than 1 for"
    divides = f"The optimiser divides by {2**chosen:,} again, in float32."
    more = f" Without a scale: {tally(counts[format.name, 0])}. {divides}" * (chosen > 0)
    return f"{best} {format.name}: {tally(counts[format.name, chosen])}.{more}"


# -- the picture ----------------------------------------------------------------------------------------------


def exponents(gradients: np.ndarray) -> np.ndarray:
    """For each gradient, the exponent of the largest power of 2 that is not above its absolute value."""
    return np.maximum(np.frexp(np.abs(gradients.astype(np.float64)))[1] - 1, LEAST)


def draw_histogram(format: Format, gradients: np.ndarray, sizes: np.ndarray, k: int, x: Axis, y: Axis) -> str:
    """A step for each power of 2, in the colours of its fates, over the zones of the format and their counts."""
    fate, found = fates(format, gradients, k), counts(format, gradients, k)
    # From half of the smallest number, a gradient rounds up to it.
    ends = [min(max(end, x.low), x.high) for end in (x.low, format.smallest - 1, format.normal, format.end, x.high)]
    zones = ("→ 0", "0 bits"), ("fewer", f"1–{format.bits - 1} bits"), ("normal", f"{format.bits} bits"), ("→ ∞", "")
    parts = [
        draw_zone(series, x.at(start), x.at(end), [*words, compact(n) if n > 99_999 else f"{n:,}"])
        for series, start, end, words, n in zip(SERIES, ends, ends[1:], zones, found)
        if start < end
    ]
    first, all_bits, end = map(x.at, ends[1:4])
    ruler = f"M{first:.1f},{TOP + RULER}L{all_bits:.1f},{TOP}H{end:.1f}V{TOP + RULER}z"
    parts += [f'<path class="mg-area mg-s6" d="{ruler}"/>', text("mg-number mg-dim", LEFT - 6, TOP + 9, "bits")]
    low, n = int(sizes.min()), int(np.ptp(sizes)) + 1
    tops = np.cumsum([np.bincount(sizes[fate == i] - low, minlength=n) for i in range(len(FATES))], axis=0)
    edges = [x.at(low + k + i) for i in range(n + 1)]
    if k:
        former = stairs([x.at(low + i) for i in range(n + 1)], [y.at(top) for top in tops[-1]])
        parts.append(f'<path class="mg-other" d="{former}"/>')
        x = replace(x, label=f"{x.label} (dashed: not scaled)")
    heap = [area(series, edges, [y.at(top) for top in each]) for series, each in zip(SERIES, tops)]
    of = f"gradients of the loss{f' times {power(k)}' * (k > 0)}, in {format.name}"
    return chart(of, x, replace(y, label=f"how many {of}"), *parts, '<g data-key="heap">', *reversed(heap), "</g>")


def draw_zone(series: int, left: float, right: float, lines: Sequence[str]) -> str:
    """The sizes of one fate: shaded, with its name and its count above the bars."""
    zone = f'<path class="mg-zone mg-s{series}" d="M{left:.1f},{TOP}H{right:.1f}V{BOTTOM}H{left:.1f}z"/>'
    edge = f'<path class="mg-rule" stroke-dasharray="4 3" d="M{left:.1f},{TOP}V{BOTTOM}"/>'
    shown = [x if text_width(x, 12) < right - left else x.removesuffix(" bits") for x in lines]  # the ruler says "bits"
    words = (text("mg-sign mg-halo", (left + right) / 2, TOP + 23 + 15 * i, line) for i, line in enumerate(shown))
    return "".join([zone, edge, *words])


def listing(format: Format, counts: Mapping[tuple[str, int], tuple[int, ...]], chosen: int) -> str:
    """A table with a row for each scale."""
    cells = {k: [f"{n:,}" for n in counts[format.name, k]] for k in EXPONENTS}
    rows = [row(power(k) + " (best)" * (k == chosen), each, f"scale {k}") for k, each in cells.items()]
    return table(["scale", *FATES], rows)
