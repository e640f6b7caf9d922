"""Plot expected against actual numbers, for lists long enough to make a picture useful.

A ring marks the expected number, a diamond the actual one. Where they agree, the diamond lies in the ring. Where they
differ, a dashed line joins them and a cross stands below. A text states the same differences. The colours are those of
the arrows in drawings, in shades that can be read on white and on black.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain, pairwise
from typing import Any, TypeGuard

from minigrad.course.probe import Outcome, equal

Row = Sequence[float | None]
FEWEST, MOST = 4, 200  # numbers in a picture
CROWD = 24  # more numbers than this are drawn as a line
MOST_NAMED = 5  # differences listed in the text
WANTED, CAME = "#2a85c4", "#d55e00"  # Okabe and Ito's blue and vermilion, the blue a little lighter
FONT = 'font-family="Arimo, Arial, Helvetica, sans-serif" font-size="12"'
LEFT, RIGHT, TOP, HEIGHT, WIDTH = 56, 12, 12, 130, 380
BELOW = 40  # room for crosses and labels


@dataclass(frozen=True)
class Comparison:
    """Two rows of numbers, expected and actual.

    of        the expression that returned them
    places    the label of each number: 3, or [0, 3] in a matrix, or x = 0.5 on a curve
    xs        the horizontal position of each number
    wanted    the expected number; None where the actual row is longer
    came      the actual number; None where the expected row is longer
    """

    of: str
    places: tuple[str, ...]
    xs: tuple[float, ...]
    wanted: tuple[float | None, ...]
    came: tuple[float | None, ...]

    @property
    def wrong(self) -> list[int]:
        """The indices of the numbers that differ."""
        return [i for i, (a, b) in enumerate(zip(self.wanted, self.came)) if not equal(a, b)]

    @property
    def words(self) -> str:
        """The differences in words."""
        n, row = len(self.wrong), "at {}: {} instead of {}"
        rows = ((self.places[i], self.came[i], self.wanted[i]) for i in self.wrong[:MOST_NAMED])
        named = [row.format(place, format_number(came), format_number(wanted)) for place, came, wanted in rows]
        rest = [f"and {n - MOST_NAMED} more"] if n > MOST_NAMED else []
        return f"Of {len(self.places)} numbers {n} {'differs' if n == 1 else 'differ'}: {'; '.join(named + rest)}."

    def svg(self) -> str:
        return draw_comparison(self)


def comparison(failed: tuple[tuple[str, Outcome, Outcome], ...]) -> Comparison | None:
    """The comparison for the first failed probe whose values can be drawn; None if no probe has such values."""
    both = ((of, wanted.value, came.value) for of, wanted, came in failed if wanted.kind == came.kind == "gave")
    return next((found for each in both if (found := compare_values(*each))), None)


def compare_values(of: str, wanted: Any, came: Any) -> Comparison | None:
    """The comparison of two lists of numbers, two matrices of equal shape or two curves; None for anything else."""
    if not isinstance(wanted, list) or not isinstance(came, list) or not wanted or not came:
        return None
    if is_curve(wanted) and is_curve(came) and [x for x, _ in wanted] == [x for x, _ in came]:
        xs = [as_float(x) for x, _ in wanted]
        return compare_rows(
            of, [f"x = {format_number(x)}" for x in xs], xs, [y for _, y in wanted], [y for _, y in came]
        )
    if all(map(is_row, wanted)) and all(map(is_row, came)) and list(map(len, wanted)) == list(map(len, came)):
        places = [f"[{i}, {j}]" for i, row in enumerate(wanted) for j in range(len(row))]
        wanted, came = [*chain.from_iterable(wanted)], [*chain.from_iterable(came)]
    else:
        places = [str(i) for i in range(max(len(wanted), len(came)))]
    return compare_rows(of, places, list(map(float, range(len(places)))), wanted, came)


def compare_rows(of: str, places: list[str], xs: list[float], wanted: list[Any], came: list[Any]) -> Comparison | None:
    n = len(places)
    if not (is_row(wanted) and is_row(came) and FEWEST <= n <= MOST and all(map(math.isfinite, xs))):
        return None
    a, b = ((*map(as_float, row), *[None] * (n - len(row))) for row in (wanted, came))
    found = Comparison(of, tuple(places), tuple(xs), a, b)
    return found if found.wrong else None


def is_row(x: Any) -> bool:
    return isinstance(x, list) and all(isinstance(y, int | float) and not isinstance(y, bool) for y in x)


def is_curve(x: list[Any]) -> bool:
    """Whether these are at least four pairs of numbers whose first numbers increase."""
    pairs = len(x) >= FEWEST and all(is_row(pair) and len(pair) == 2 for pair in x)
    return pairs and all(a[0] < b[0] for a, b in pairwise(x))


def as_float(x: float) -> float:
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf


def format_number(x: float | None) -> str:
    return "nothing" if x is None else f"{x + 0.0:.4g}".replace("-", "−")


# -- the drawing ------------------------------------------------------------------------------


def draw_comparison(c: Comparison) -> str:
    """The picture as SVG. Equal comparisons have equal bytes."""
    low, high = bounds(c)
    across = [LEFT + 12 + (WIDTH - LEFT - RIGHT - 24) * share(x, c.xs[0], c.xs[-1]) for x in c.xs]

    def y(value: float) -> float:
        return TOP + HEIGHT * (1 - share(value, low, high))

    bottom, crowded = TOP + HEIGHT, len(across) > CROWD
    wanted = draw_polyline(across, c.wanted, y, "") if crowded else draw_points(ring, across, c.wanted, y)
    line = draw_polyline(across, c.came, y, "5 3") if crowded else ""
    gaps = [(x, y(a), y(b)) for x, a, b in zip(across, c.wanted, c.came) if a != b and is_seen(a) and is_seen(b)]
    between = "".join(f'<path d="M{x:.1f},{a:.1f}V{b:.1f}" stroke-dasharray="3 2"/>' for x, a, b in gaps)
    came = draw_points(diamond, across, [v if not crowded or i in c.wrong else None for i, v in enumerate(c.came)], y)
    frame = f'width="{WIDTH}" height="{bottom + BELOW}" viewBox="0 0 {WIDTH} {bottom + BELOW}"'
    look = f'{FONT} fill="currentColor" style="max-width:100%;height:auto;display:block"'
    label = escape(f"{c.of}: what it should give, and what it gave. {c.words}", quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" {frame} {look}>'
        f'{axis(low, high, y)}<g stroke="{WANTED}" fill="none" stroke-width="2">{wanted}</g>'
        f'<g stroke="{CAME}" fill="{CAME}">{line}{between}{came}</g>{marks(c, across, bottom)}</svg>'
    )


def draw_points(
    shape: Callable[[float, float], str], across: list[float], values: Row, y: Callable[[float], float]
) -> str:
    return "".join(shape(x, y(v)) for x, v in zip(across, values) if is_seen(v))


def ring(x: float, y: float) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5"/>'


def bounds(c: Comparison) -> tuple[float, float]:
    """The limits of the vertical axis; they include 0 unless it is far away."""
    values = [v for v in (*c.wanted, *c.came) if is_seen(v)] or [0.0]
    low, high = min(values), max(values)
    if low > 0 and low < high / 2:
        low = 0.0
    if high < 0 and high > low / 2:
        high = 0.0
    return (low - 1, high + 1) if low == high else (low, high)


def is_seen(v: float | None) -> TypeGuard[float]:
    return v is not None and math.isfinite(v)


def share(x: float, low: float, high: float) -> float:
    """The position of x between low and high, from 0 to 1. It divides by 2 first, because high - low may overflow."""
    return (x / 2 - low / 2) / (high / 2 - low / 2)


def axis(low: float, high: float, y: Callable[[float], float]) -> str:
    """Up to three numbers at the left, and a horizontal line at each, and at 0 if 0 is within the limits."""
    ticks = {high: y(high), low: y(low)}
    if low < 0 < high and min(abs(y(0.0) - at) for at in ticks.values()) > 14:
        ticks[0.0] = y(0.0)
    lines = ticks | ({0.0: y(0.0)} if low <= 0 <= high else {})
    named = [
        f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{format_number(v)}</text>' for v, at in ticks.items()
    ]
    drawn = [f'<path d="M{LEFT},{at:.1f}H{WIDTH - RIGHT}" opacity="{0.2 if v else 0.6}"/>' for v, at in lines.items()]
    return f'{"".join(named)}<g stroke="currentColor" fill="none">{"".join(drawn)}</g>'


def draw_polyline(across: list[float], values: Row, y: Callable[[float], float], dashes: str) -> str:
    """A line through the points, with gaps at missing, infinite and NaN values."""
    steps, pen = [], "M"
    for x, v in zip(across, values):
        steps.append(f"{pen}{x:.1f},{y(v):.1f}" if is_seen(v) else "")
        pen = "L" if is_seen(v) else "M"
    return f'<path d="{"".join(steps)}" fill="none" stroke-width="2" stroke-dasharray="{dashes}"/>'


def diamond(x: float, y: float) -> str:
    return f'<path stroke="none" d="M{x:.1f},{y - 4:.1f}l4,4l-4,4l-4,-4z"/>'


def marks(c: Comparison, across: list[float], bottom: float) -> str:
    """Labels and crosses below the axis, and the actual value where it is infinite or NaN."""
    n = len(across)
    roomy = n <= CROWD // 2 and max(map(len, c.places)) * n <= CROWD * 2
    named = range(n) if roomy else (0, n - 1)
    crossed = c.wrong if len(c.wrong) <= CROWD else []
    odd = [i for i in c.wrong if c.came[i] is not None and not is_seen(c.came[i])]
    texts = [
        *((across[i], 33, "", c.places[i].removeprefix("x = ")) for i in named),
        *((across[i], 17, f' fill="{CAME}" aria-hidden="true"', "✗") for i in crossed),
        *((across[i], -4, ' font-weight="bold"', format_number(c.came[i])) for i in odd),
    ]
    text = '<text x="{:.1f}" y="{}" text-anchor="middle"{}>{}</text>'
    return "".join(text.format(x, bottom + below, look, escape(words)) for x, below, look, words in texts)
