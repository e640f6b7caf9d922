"""Gradients in half precision: which vanish, which overflow, and how a loss scale helps.

Gradients are small, and float16 rounds to 0 below 2⁻²⁵. The loss times 2ᵏ has gradients 2ᵏ times as large, in the
middle of float16's range; the optimiser divides by 2ᵏ again. Each step of the widget is a scale; each gradient is cast
to see whether it survives.

Micikevicius et al. 2018, “Mixed Precision Training”, section 3.2. https://arxiv.org/abs/1710.03740
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from math import log2
from typing import Any

import numpy as np

from ...draw.charts import BOTTOM, TOP, Axis, across, area, chart, compact, picture, stairs, upwards
from ...draw.svg import text, text_width, tip_back
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


class Format:
    """A 16-bit floating-point format.

    smallest    exponent of the smallest subnormal number
    normal      exponent of the smallest normal number
    end         exponent of the first power of 2 that overflows
    bits        bits of a normal number's mantissa, with the leading 1
    """

    def __init__(self, dtype: np.dtype):
        info = finfo(dtype)
        self.dtype, self.name, self.bits = dtype, dtype.name, info.nmant + 1
        self.smallest, self.normal, self.end = round(log2(info.smallest_subnormal)), int(info.minexp), int(info.maxexp)

    @np.errstate(over="ignore", under="ignore")
    def cast(self, x: np.ndarray) -> np.ndarray:
        """x rounded to float32, and then to the format."""
        return x.astype(np.float32).astype(self.dtype).astype(np.float64)


FORMATS = Format(float16), Format(bfloat16)
Counts = Mapping[int, Sequence[int]]  # exponent of a scale → the number of gradients with each fate


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
        found = {f: {k: counts(f, kept, k) for k in EXPONENTS} for f in FORMATS}
        self.counts = {(f.name, k): each for f in FORMATS for k, each in found[f].items()}
        self.best = {f.name: best([*found[f].values()]) for f in FORMATS}
        reels = [reel(f, kept, every.size - kept.size, found[f], self.best[f.name]) for f in FORMATS]
        label = f"{pluralize(every.size, 'gradient', 'gradients')} in half precision"
        super().__init__(label, (), reels, [Choice("format", [f.name for f in FORMATS])])

    @property
    def svg(self) -> str:
        """The gradients as they are, and below with the best scale; each with the bits of one gradient."""
        pictures, bits = (FIRST.findall(panel["html"]) for panel in self.film["panels"])
        return self.place_in_rows(*([("", pictures[n]), ("", bits[n])] for n in sorted({0, self.film["best"]})))


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


def reel(format: Format, gradients: np.ndarray, left_out: int, counts: Counts, chosen: int) -> Reel:
    """The film of one format, scale after scale."""
    sizes = exponents(gradients)
    low = max(min(int(sizes.min()), FORMATS[0].smallest - 12), LEAST)  # with room for what float16 cannot hold
    high = max(int(sizes.max()) + EXPONENTS[-1] + 1, FORMATS[0].end + 10)
    x = across(low, high, "size of the gradient", words=power, marks=range(low + -low % 8, high, 8))
    most = int(np.bincount(sizes - sizes.min()).max())
    y = upwards(0, most * 1.75, "gradients", words=compact)
    y = replace(y, marks=[tick for tick in y.ticks if tick < 1.1 * most])  # words are above
    samples = pick(gradients, sizes)
    picked = int(np.partition(sizes, sizes.size // 10)[sizes.size // 10] - sizes.min())  # small, but not the smallest

    def scenes(draw: Callable[[int], str]) -> str:
        return "".join(f'<div data-scene="scale {k}"{" hidden" * (k > 0)}>{draw(k)}</div>' for k in EXPONENTS)

    drawn = scenes(lambda k: draw_histogram(format, gradients, k, x, y, picked))
    one = scenes(lambda k: draw_bits(format, samples[picked] or 0.0, k))
    title = f"How large they are, and what {format.name} makes of them"
    panels = [Panel(title, drawn), Panel("", one + listing(counts, chosen))]
    bits = [[g if g is None else describe_bits(format, g, k) for g in samples] for k in EXPONENTS]
    say = {f"scale {k}": describe_fates(k, counts[k]) for k in EXPONENTS}
    say["scale 0"] += opening(format, left_out)
    cuts = [*say.items(), (f"scale {chosen}", verdict(format, counts, chosen))]
    found = [Cut("", words, scene=scale, hot={"hot": [scale]}) for scale, words in cuts]
    axis = [x.at(sizes.min()), x.at(low + 1) - x.at(low)]
    data = {"scales": EXPONENTS, "best": EXPONENTS.index(chosen), "bits": bits, "typical": picked, "axis": axis}
    return Reel(panels, found, data=data)


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


def describe_fates(k: int, found: Sequence[int]) -> str:
    """The fates of the gradients under one scale, in words."""
    scale = f"The loss times {power(k)}, {2**k:,}" if k else "The loss as it is"
    return f"{scale}: of {pluralize(sum(found), 'gradient', 'gradients')}, {tally(found)}."


def tally(found: Sequence[int]) -> str:
    share = f"{number(100 * found[0] / sum(found), 3)} percent"
    names = f"rounded to 0 ({share})", "subnormal with fewer bits", "normal", "infinite"
    return join_names([f"{n:,} {name}" for n, name in zip(found, names) if n])


def verdict(format: Format, counts: Counts, chosen: int) -> str:
    """Which scale is best, and what it saves."""
    best = f"Of these scales, {power(chosen)} is best for" if chosen else "None of these scales does better than 1 for"
    divides = f"The optimiser divides by {2**chosen:,} again, in float32."
    more = f" Without a scale: {tally(counts[0])}. {divides}" * (chosen > 0)
    return f"{best} {format.name}: {tally(counts[chosen])}.{more}"


# -- the picture ----------------------------------------------------------------------------------------------


def exponents(gradients: np.ndarray) -> np.ndarray:
    """For each gradient, the exponent of the largest power of 2 that is not above its absolute value."""
    return np.maximum(np.frexp(np.abs(gradients.astype(np.float64)))[1] - 1, LEAST)


def draw_histogram(format: Format, gradients: np.ndarray, k: int, x: Axis, y: Axis, picked: int) -> str:
    """A step for each power of 2, in the colours of its fates, over the zones of the format and their counts."""
    sizes, fate, found = exponents(gradients), fates(format, gradients, k), counts(format, gradients, k)
    # From half of the smallest number, a gradient rounds up to it.
    ends = [min(max(end, x.low), x.high) for end in (x.low, format.smallest - 1, format.normal, format.end, x.high)]
    zones = ("→ 0", "0 bits"), ("fewer", f"1–{format.bits - 1} bits"), ("normal", f"{format.bits} bits"), ("→ ∞", "")
    parts = [
        draw_zone(series, x.at(start), x.at(end), words, n, sizes.size)
        for series, start, end, words, n in zip(SERIES, ends, ends[1:], zones, found)
        if start < end
    ]
    first, all_bits, end = map(x.at, ends[1:4])
    ruler = f"M{first:.1f},{TOP + RULER}L{all_bits:.1f},{TOP}H{end:.1f}V{TOP + RULER}z"
    parts += [f'<path class="mg-area mg-s6" d="{ruler}"/>', text("mg-number mg-dim", end, TOP - 4, "grey: bits kept")]
    low, n = int(sizes.min()), int(np.ptp(sizes)) + 1
    heights = [np.bincount(sizes[fate == i] - low, minlength=n) for i in range(len(FATES))]
    edges, tops = [x.at(low + k + i) for i in range(n + 1)], [y.at(top) for top in np.sum(heights, axis=0)]
    if k:
        former = [x.at(low + i) for i in range(n + 1)]
        parts += [f'<path class="mg-former" d="{stairs(former, tops)}V{BOTTOM}z"/>']
        start, head = former[n // 2], f"{edges[n // 2]:.1f},{TOP + 88}"  # an arrow from the heap that is not scaled
        tip = f'<polygon class="mg-tip" points="{tip_back(f"{head} {start:.1f},{TOP + 88}", 4)}"/>'
        parts.append(f'<g class="mg-arrow"><path d="M{start:.1f},{TOP + 88}L{head}"/>{tip}</g>')
        parts.append(text("mg-sign mg-name mg-halo", (start + edges[n // 2]) / 2, TOP + 92, f"× {power(k)}"))
        x = replace(x, label="size of the scaled gradient (grey: not scaled)")
    of = f"gradients of the loss{f' times {power(k)}' * (k > 0)}, in {format.name}"
    heap = draw_heap(heights, edges, y, [max(low + k + i - format.smallest + 1, 1) / format.bits for i in range(n)])
    turn = f"translate({x.at(low + k + picked + 0.5):.1f})"
    mark = f'<path class="mg-pick mg-tip" d="M0,{BOTTOM + 1}l5,7h-10z" transform="{turn}"/>'
    return chart(of, x, replace(y, label=f"how many {of}"), *parts, '<g data-key="heap">', *heap, "</g>", mark)


def draw_heap(heights: Sequence[np.ndarray], edges: Sequence[float], y: Axis, bits: Sequence[float]) -> Iterator[str]:
    """The bars of each fate: those with fewer bits in as much of their colour, those that are lost as outlines."""
    sums = np.cumsum(heights, axis=0) * (np.array(heights) > 0)
    for i, look in reversed([*enumerate((" mg-gone", "", "", " mg-gone"))]):
        at = np.flatnonzero(heights[i]).tolist()
        runs = [(j, j) for j in at] if i == 1 else [(at[0], at[-1])] if at else []
        for first, last in runs:
            drawn = area(SERIES[i], edges[first : last + 2], [y.at(top) for top in sums[i][first : last + 1]])
            yield f'<g class="mg-heap{look}" opacity="{0.1 + 0.9 * bits[first] if i == 1 else 1:.2g}">{drawn}</g>'


def draw_zone(series: int, left: float, right: float, lines: Sequence[str], n: int, of: int) -> str:
    """The sizes of one fate: shaded, with its name, its share and its count above the bars."""
    zone = f'<path class="mg-zone mg-s{series}" d="M{left:.1f},{TOP}H{right:.1f}V{BOTTOM}H{left:.1f}z"/>'
    edge = f'<path class="mg-rule" stroke-dasharray="4 3" d="M{left:.1f},{TOP}V{BOTTOM}"/>'
    middle, share = (left + right) / 2, 100 * n / of
    percent = "< 0.1 %" if 0 < share < 0.1 else "> 99 %" if 99 < share < 100 else f"{number(share, 2 + (n == of))} %"
    shown = [x if text_width(x, 12) < right - left else x.removesuffix(" bits") for x in lines]  # the ruler says "bits"
    words = [text("mg-sign mg-halo", middle, TOP + 23 + 15 * i, line) for i, line in enumerate(shown)]
    look = "mg-dim" if n == 0 else f"mg-big mg-hue mg-s{series}"
    words.append(text(f"mg-sign mg-halo {look}", middle, TOP + 59, percent))
    words.append(text("mg-sign mg-halo mg-dim", middle, TOP + 75, compact(n) if n > 99_999 else f"{n:,}"))
    return "".join([zone, edge, *words])


# -- one gradient -------------------------------------------------------------------------------------------


def pick(gradients: np.ndarray, sizes: np.ndarray) -> list[float | None]:
    """For each power of 2, a gradient of that size: the median; None if there is none."""
    low = int(sizes.min())
    found = (np.sort(gradients[sizes == low + i]) for i in range(int(np.ptp(sizes)) + 1))
    return [float(each[each.size // 2]) if each.size else None for each in found]


def describe_bits(format: Format, gradient: float, k: int) -> tuple[str, str, str, int]:
    """A gradient times 2ᵏ in words; its bits in the format; what became of it in words; its chart series."""
    scaled = scale_gradients(np.array([gradient]), k)
    with np.errstate(over="ignore", under="ignore"):
        bits = f"{int(scaled.astype(np.float32).astype(format.dtype).view(np.uint16)[0]):016b}"
    before, after, fate = float(scaled[0]), float(format.cast(scaled)[0]), fates(format, np.array([gradient]), k)[0]
    off = f"off by {number(100 * abs(after / before - 1), 2)} %" if after != before else "exact"
    said = {0: "= 0: lost", 3: "= ∞: lost"}.get(int(fate), f"= {number(after, 6)}, {off}")
    times = f" × {power(k)} = {number(before, 6)}" if k else ""
    return f"One gradient: {number(gradient, 6)}{times}", bits, said, SERIES[fate]


def draw_bits(format: Format, gradient: float, k: int) -> str:
    """The bits that a gradient becomes, and what they say."""
    head, bits, said, series = describe_bits(format, gradient, k)
    parts, wide = [text("mg-name mg-one", 2, 14, head)], 16 - format.bits
    for start, end, name in ((0, 1, "sign"), (1, wide + 1, "exponent"), (wide + 1, 16, "mantissa")):
        left = 2 + 23 * start + 14 * ((start > 0) + (start > 1))
        for x, bit in zip(range(left, 999, 23), bits[start:end]):
            frame = f'<rect class="mg-frame" x="{x}" y="26" width="21" height="28" rx="3"/>'
            parts.append(f'<g class="mg-bit mg-{name}">{frame}{text("mg-sign", x + 10.5, 45, bit)}</g>')
        parts.append(text("mg-sign mg-dim", left + 23 * (end - start) / 2 - 1, 70, name))
    parts.append(text(f"mg-fate mg-big mg-hue mg-s{series}", 2, 96, said))
    return picture(f"One gradient in {format.name}", 404, 106, parts, "mg-bits")


def listing(counts: Counts, chosen: int) -> str:
    """A table with a row for each scale."""
    cells = {k: [f"{n:,}" for n in found] for k, found in counts.items()}
    rows = [row(power(k) + " (best)" * (k == chosen), each, f"scale {k}") for k, each in cells.items()]
    return table(["scale", "zero", "fewer bits", "normal", "infinite"], rows)
