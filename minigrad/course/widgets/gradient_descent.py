"""Gradient descent on a curve, or on a surface seen from above: a ball, a learning rate, a momentum, a start.

One step, derivative included, is a traced minigrad function. Python runs the trace; so does the browser when a reader
moves a slider (`graph_program`). Neither has code for a particular function, or for the update rule.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from inspect import signature
from itertools import pairwise, product
from math import inf, isfinite
from typing import Any

import numpy as np
import traitlets
from contourpy import contour_generator

from ...api.func import value_and_grad, vmap
from ...draw.charts import BOTTOM, LEFT, LOOKS, RIGHT, TOP, Axis, across, chart, compact, line, place_in_rows, upwards
from ...draw.svg import STYLE, text
from ...draw.words import number, pluralize
from ...engine.core import formula
from ...engine.core.graph import Graph
from ...engine.core.modes import no_grad
from ...engine.core.node import Node
from ...engine.core.op import Elementwise
from ...engine.ops import Const
from ...engine.tensor.rewrite import optimise
from ...engine.tensor.tensor import Tensor
from ...graph.function import function
from .dragging import SPELT, ast_to_lists, tree_ops
from .widget import Plain, SteppedWidget, javascript

LINES, SIDE = 400, 51  # segments of a curve, inside and outside the axes; sample points along each side of a surface
SHARES = [(k / 10) ** 2 for k in range(1, 10)]  # the share of the surface below each contour
MOST_LOOKS = 40  # around the lowest point, for a lower one
FAR = 10  # picture widths; farther from the middle, the ball has run away
FOOT, TALLEST = 0.12, 1e7  # empty share of the plot below a curve; limit of a pixel coordinate
HINT = f'<g class="mg-hint">{text("mg-number", 320, 14, "click to start elsewhere")}</g>'
LENS = f'<circle cx="60" cy="60" r="57"/>{text("", 126, 88, "→ the step, enlarged")}'
LENS += text("mg-pull", 126, 64, "→ −{rate} × gradient")
WIDE, HIGH = RIGHT - LEFT, BOTTOM - TOP
FIELD = (  # clips the drawing to the axes; its inline size overrides the style sheets' rules for pictures
    f'<svg x="{LEFT}" y="{TOP}" width="{WIDE}" height="{HIGH}" viewBox="{LEFT} {TOP} {WIDE} {HIGH}" '
    f'style="width: {WIDE}px; height: {HIGH}px; min-width: 0; max-width: none">'
)
TRAIL = """
.mg-picture :is(.mg-trail, .mg-ahead, .mg-slope) { fill: none; stroke: var(--mg-ink); stroke-width: 2; }
.mg-picture .mg-level { fill: var(--mg-forward); fill-opacity: 0.09; stroke: var(--mg-paper); stroke-opacity: 0.6; }
.mg-chart:has(.mg-level) .mg-faint { stroke: none; }
.mg-picture :is(.mg-trail, .mg-ahead) { stroke: var(--mg-backward); }
.mg-picture .mg-ahead { stroke-dasharray: 2 4; }
.mg-picture .mg-trail-dot { stroke: var(--mg-backward); stroke-width: 6; stroke-linecap: round; }
.mg-picture [data-scene] * { vector-effect: non-scaling-stroke; }
.mg-picture .mg-step { color: var(--mg-ink); fill: none; stroke: currentColor; stroke-width: 3; stroke-linecap: round; }
.mg-picture .mg-push { color: var(--mg-forward); }
.mg-picture .mg-push path:first-child { stroke-dasharray: 5 5; }
.mg-picture .mg-pull { color: var(--mg-backward); }
.mg-picture text:is(.mg-push, .mg-pull) { fill: currentColor; }
.mg-picture.mg-lens circle { fill: var(--mg-op); stroke: var(--mg-line); }
.mg-picture .mg-below { fill: var(--mg-backward); fill-opacity: 0.12; stroke: var(--mg-backward); stroke-dasharray: 2; }
.mg-picture .mg-ball { fill: var(--mg-backward); }
.mg-chart:has(.mg-level) .mg-ball { stroke: var(--mg-paper); stroke-width: 2; }
.mg-picture .mg-left text { text-anchor: end; transform: translateX(-22px); }
.mg-picture .mg-start { fill: none; stroke: var(--mg-ink); stroke-width: 2.5; }
"""


class GradientDescent(SteppedWidget):
    """GradientDescent(lambda w: (w - 3) ** 2): the steps of a ball, downhill.

    f             a function of one or two numbers, written with minigrad, which differentiates it
    start         where the ball begins: a number, or two
    rate          the learning rate; its slider ends at 12 times this value
    momentum      the share of the last step that is added to the next step
    longest       the maximum number of steps
    low, high     the limits of the axes, for both coordinates or for each
    path          recorded points, such as those of a training run: the widget only shows them, without sliders

    The sliders set start, rate and momentum; steps and text follow. If f uses arrays, as a loss over data does, the
    browser cannot evaluate it, and shows the steps that Python computed.
    Raises ValueError if f or its slope is not finite at the start.
    """

    _esm = javascript("stepper", "number", "dragging", "gradient_descent")
    sheets = "stepper", "charts", "slider", "gradient_descent"
    looks = STYLE + LOOKS + TRAIL

    settings = ("start", "rate", "momentum", "longest")
    shown = (*SteppedWidget.shown, "names", "words", "axes", "picture", "program", *settings)
    names: traitlets.List[str] = traitlets.List().tag(sync=True)
    words: traitlets.Dict[str, str] = traitlets.Dict().tag(sync=True)
    axes: traitlets.List[Any] = traitlets.List().tag(sync=True)  # [low, high, pixel of low, pixel of high]
    picture = traitlets.Unicode().tag(sync=True)
    program: traitlets.Dict[str, Any] = traitlets.Dict().tag(sync=True)
    start: traitlets.List[float] = traitlets.List().tag(sync=True)
    rate = traitlets.Float(min=0.0).tag(sync=True)
    momentum = traitlets.Float(min=0.0, max=0.98).tag(sync=True)
    longest = traitlets.Int(min=1).tag(sync=True)

    def __init__(
        self, f: Callable[..., Any], start: Any = 0.0, rate: float = 0.1, momentum: float = 0.0, longest: int = 30,
        low: Any = -4.0, high: Any = 4.0, path: Sequence[Any] | None = None,
    ):  # fmt: skip
        names, value = [*signature(f).parameters], f.__name__ if f.__name__.isidentifier() else "value"
        n = len(names)
        if n not in (1, 2):
            raise ValueError(f"GradientDescent shows functions of one or two numbers; {value} has {n} parameters")
        self.f, self._step, self._end = f, stepping(f, n), "end"
        self._path = None if path is None else np.reshape(np.asarray(path, float), (-1, n)).tolist()
        start, low, high = (np.broadcast_to(np.asarray(x, float), n).tolist() for x in (start, low, high))
        if not all(a < b for a, b in zip(low, high)):
            raise ValueError(f"low must be less than high; got {format_numbers(low)} and {format_numbers(high)}")
        at = [Tensor(0.5)] * len(inputs(n))
        x, y, picture = drawing(f, names, value, low, high, HINT)
        super().__init__(
            label=f"Gradient descent on {value}",
            names=names,
            words=words(names, value, path is None),
            axes=[[axis.low, axis.high, axis.start, axis.end] for axis in (x, y)],
            picture=picture,
            program={} if self._path else graph_program(optimise(self._step.graph_for(*at)), inputs(n)),
            start=self._path[0] if self._path else start,
            rate=rate,
            momentum=momentum,
            longest=longest,
        )

    @traitlets.observe(*settings)
    def _walk(self, _: Any) -> None:
        points = [{"at": at, "value": value_at(self.f, at)} for at in self._path] if self._path else self._descend()
        if not points:
            where = f"{format_tuple(self.names)} = {format_numbers(self.start)}"
            raise ValueError(f"{self.words['value']} or its slope is not finite at {where}: start somewhere else")
        self.index = min(self.index, len(points) - 1)
        keys = [*["step"] * (len(points) - 1), "last"]  # no step follows the last
        self.steps = [{"phase": "", "say": self._format_step(n, p, keys[n]), **p} for n, p in enumerate(points)]

    def _descend(self) -> list[Plain]:
        """Run the descent and return its points. Sets `_end` to the key in `words` for how the descent ends."""
        points: list[Plain] = []
        n, state = len(self.names), [*self.start, *[0.0] * len(self.names)]
        self._end = "end"
        while len(points) <= self.longest and self._end == "end":
            with np.errstate(all="ignore"):
                value, *rest = map(float, self._step(*map(Tensor, [self.rate, self.momentum, *state])))
            at, slopes, state = state[:n], rest[:n], rest[n:]
            far = max(abs(x - (low + high) / 2) / (high - low) for x, (low, high, *_) in zip(at, self.axes))
            if points and not far < FAR:
                self._end = "away"
            elif not all(map(isfinite, [value, *slopes])):
                self._end = "nowhere"
            else:
                move = [b - a for a, b in zip(at, state)]
                points.append({"at": at, "value": value, "slopes": slopes, "move": move})
        return points

    def _format_step(self, n: int, point: Plain, key: str) -> str:
        key = f"pushed {key}" if n and self.momentum and f"pushed {key}" in self.words else key
        numbers = {name: format_numbers(xs) for name, xs in point.items() if isinstance(xs, list)}
        settings = {"rate": number(self.rate), "momentum": number(self.momentum)}
        return self.words[key].format(n=n, value=number(point["value"]), **settings, **numbers)

    @property
    def text(self) -> str:
        """Each step in words, and how it ends."""
        last = len(self.steps) - 1
        return f"{super().text}\n{self._format_step(last, self.steps[last], self._end)}"

    @property
    def svg(self) -> str:
        """The ball's whole path in wide axes; on a curve, its first step; beside a surface, the height at each step."""
        ends = [*zip(*(axis[:2] for axis in self.axes)), *(p["at"] for p in self.steps)]
        low, high = ([*map(pick, *(end[: len(self.names)] for end in ends))] for pick in (min, max))
        x, y, picture = drawing(self.f, self.names, self.words["value"], low, high)
        at = [(x.at(p["at"][0]), y.at([*p["at"], p["value"]][1])) for p in self.steps]
        dots = "".join(f"M{a:.1f},{b:.1f}h0" for a, b in at)
        trail = f'{line("mg-trail", at)}<path class="mg-trail-dot" d="{dots}"/>'
        picture = picture.replace('<g data-trail="">', f"<g>{trail}")
        for mark, (a, b) in ("start", at[0]), ("ball", at[-1]):
            picture = picture.replace(f'data-at="{mark}"', f'transform="translate({a:.1f} {b:.1f})"')
        if len(self.names) == 1 and not self._path and self.steps[1:]:
            (a, _), (b, _) = at[:2]
            tip, said = b - 8 * np.sign(b - a), f"first step {self._format_step(0, self.steps[0], 'arrow')}"
            arrow = line("mg-step", [(a, BOTTOM), (b, BOTTOM), (tip, BOTTOM - 4), (b, BOTTOM), (tip, BOTTOM + 4)])
            arrow += text("mg-sign mg-name", min(231, 404 - 3.9 * len(said)), 291, said)
            picture = picture.replace('<g data-step="">', f"<g>{arrow}")
        if len(self.names) == 2:
            heights, name = [p["value"] for p in self.steps], self.words["value"]
            x = across(0, max(len(heights) - 1, 1), "step", words=compact)
            y = upwards(min(0, *heights), max(*heights, min(heights) + 1e-9), name, words=compact)
            drawn = chart(name, x, y, line("mg-trail", [(x.at(n), y.at(height)) for n, height in enumerate(heights)]))
            return place_in_rows(self.label, self.looks, [("", picture), ("", drawn)])
        return picture.replace(">", f"><style>{self.looks}</style>", 1)

    def __repr__(self) -> str:
        end = f"{format_tuple(self.names)} = {format_numbers(self.steps[-1]['at'])}"
        return f"GradientDescent({pluralize(len(self.steps) - 1, 'step', 'steps')}; {end})"


def stepping(f: Callable[..., Any], n: int) -> Any:
    """One step of gradient descent on f: (rate, momentum, *at, *velocity) → (f, *slopes, *at, *velocity)."""

    def step(rate: Any, momentum: Any, *state: Any) -> Any:
        at, velocity = state[:n], state[n:]
        value, slopes = value_and_grad(f, argnums=tuple(range(n)))(*at)
        velocity = tuple(momentum * v + slope for v, slope in zip(velocity, slopes))
        return value, *slopes, *(x - rate * v for x, v in zip(at, velocity)), *velocity

    return function(step)


def inputs(n: int) -> list[str]:
    """The names of a step's inputs in the browser."""
    return ["rate", "momentum", *[f"{kind}{i}" for kind in ("at", "velocity") for i in range(n)]]


def words(names: Sequence[str], value: str, is_walked: bool) -> dict[str, str]:
    """Format strings: the sentence about a step, and a sentence for each way in which the descent can end."""
    where, height = f"{format_tuple(names)} = {{at}}", f"{value} {{value}}."
    slope = "slope" if len(names) == 1 else "gradient"
    point, step = f"Point {{n}}: {where}; {height}", f"Step {{n}}: {where}; {slope} {{slopes}}, {height}"
    moves = f"−rate × {slope}: −{{rate}} × {{slopes}}", f"{{momentum}} × last move − {{rate}} × {slope}"
    steps = [*(f"{step} It moves by {x} = {{move}}." for x in moves), step] if is_walked else [point] * 3
    return dict(zip(("step", "pushed step", "last"), steps)) | {
        "value": value,
        "lens": LENS,
        "pushed lens": LENS + text("mg-push", 126, 40, "⇢ {momentum} × last move"),
        "arrow": f"→ −rate × {slope} = " + "−{rate} × {slopes} = " * (len(names) == 1) + "{move}",
        "pushed arrow": f"→ {{momentum}} × last move − {{rate}} × {slope}",
        "end": f"{'After step {n}' if is_walked else 'The path ends'}: {where}; {height}",
        "away": "It runs away: step {n} ends more than ten picture widths away. Take a smaller learning rate.",
        "nowhere": f"It stops: after step {{n}}, {value} or its slope is not finite.",
    }


def format_tuple(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def format_numbers(xs: Sequence[float]) -> str:
    return format_tuple([*map(number, xs)])


def value_at(f: Callable[..., Any], at: Sequence[float]) -> float:
    with no_grad(), np.errstate(all="ignore"):
        return float(f(*map(Tensor, at)))


def drawing(f: Callable[..., Any], names: Any, value: str, low: Any, high: Any, hint: str = "") -> tuple[Any, Any, str]:
    """Both axes, and a chart of f with empty groups for the trail and the step; with a hint, also for the ticks."""
    x, y, below, at = curve(f, names, value, low, high) if len(names) == 1 else surface(f, names, low, high)
    field = f'{FIELD}<g class="mg-moves" data-scene="">{below}<g data-trail=""></g></g>{lowest(f, at, (x, y))}</svg>'
    start = f'<circle class="mg-start" r="7"/>{text("mg-halo", 11, -6, "start")}</g>'
    marks = f'<g class="mg-moves" data-at="start">{start}<circle class="mg-moves mg-ball" data-at="ball" r="7"/>'
    legend = text("mg-number mg-dim", RIGHT, 14, "bluer is higher") * (len(names) > 1)
    bare, ticks = (replace(x, marks=()), replace(y, marks=())), '<g data-ticks=""></g>'
    return x, y, chart(value, *(bare if hint else (x, y)), ticks, field, legend, hint, marks, '<g data-step=""></g>')


def curve(f: Callable[..., Any], names: Any, value: str, low: Any, high: Any) -> tuple[Axis, Axis, str, list[float]]:
    """Both axes, the curve of f, which continues outside them, and its lowest point."""
    x = across(low[0], high[0], names[0], words=compact)
    far = FAR * (x.high - x.low) * np.sinh(6 * np.linspace(-1, 1, LINES + 1)) / np.sinh(6)  # half of them inside
    grid = [*((x.low + x.high) / 2 + far).tolist(), x.low, x.high]
    known = [(at, height) for at in grid if isfinite(height := value_at(f, [at]))]
    inside = [(height, at) for at, height in known if x.low <= at <= x.high]
    (least, at), (most, _) = min(inside), max(inside)
    y = upwards(least - FOOT * (most - least), most, value, words=compact)
    drawn = line("mg-line", [(x.at(at), np.clip(y.at(height), -TALLEST, TALLEST)) for at, height in sorted(known)])
    return x, y, drawn, [at]


def lowest(f: Callable[..., Any], at: list[float], axes: Sequence[Axis]) -> str:
    """A mark at the minimum near the lowest grid point; "" if that is at the edge of the picture."""
    steps = [(axis.high - axis.low) / (SIDE - 1) for axis in axes[: len(at)]]
    if any(x - step < axis.low or x + step > axis.high for x, step, axis in zip(at, steps, axes)):
        return ""
    for _ in range(MOST_LOOKS):
        near = product(*([x, x - step, x + step] for x, step in zip(at, steps)))
        best = [*min(near, key=lambda each: value if isfinite(value := value_at(f, each)) else inf)]
        at, steps = best, [step / (1 + (best == at)) for step in steps]
    at = [*at, value_at(f, at)][:2]
    x, y = (axis.at(each) for axis, each in zip(axes, at))
    side, down = (-1 if x > RIGHT - 60 else 1), (-14 if y > BOTTOM - 20 else 18)
    mark = f'<path class="mg-start" d="M-6,0h12m-6,-6v12"/>{text("mg-halo mg-sign", 26 * side, down, "lowest")}'
    place = f'data-at="{at[0]:.6g},{at[1]:.6g}" transform="translate({x:.1f} {y:.1f})"'
    return f'<g class="mg-moves" {place}>{mark}</g>'


def sample_heights(f: Callable[..., Any], axes: Sequence[Axis]) -> tuple[list[list[float]], Any]:
    """A grid on both axes, and f there: fine if vmap can run f, else coarse, as each point takes a call."""
    fine, coarse = ([np.linspace(axis.low, axis.high, side).tolist() for axis in axes] for side in (4 * SIDE - 3, SIDE))
    with suppress(Exception), no_grad(), np.errstate(all="ignore"):
        points = [Tensor(each.ravel()) for each in np.meshgrid(*fine)]
        return fine, np.ma.masked_invalid(vmap(f)(*points).numpy().reshape(len(fine[1]), -1))
    return coarse, np.ma.masked_invalid([[value_at(f, [x, y]) for x in coarse[0]] for y in coarse[1]])


def surface(f: Callable[..., Any], names: Any, low: Any, high: Any) -> tuple[Axis, Axis, str, list[float]]:
    """Both axes, filled contours of f (bluer is higher), and its lowest grid point."""
    x, y = across(low[0], high[0], names[0], words=compact), upwards(low[1], high[1], names[1], words=compact)
    grid, heights = sample_heights(f, (x, y))
    pixels = [[*map(axis.at, at)] for axis, at in zip((x, y), grid)]
    drawn = contour_generator(pixels[0], pixels[1], heights, fill_type="OuterOffset")
    layers = []  # of every second point of the contours
    for level in np.quantile(heights.compressed(), SHARES).tolist():
        rings = [p[a:b:2] for p, ends in zip(*drawn.filled(level, inf)) for a, b in pairwise(ends)]
        outline = "".join(f"M{'L'.join(f'{a:.1f} {b:.1f}' for a, b in ring)}z" for ring in rings)
        layers.append(f'<path class="mg-level" fill-rule="evenodd" d="{outline}"/>')
    row, column = np.unravel_index(heights.argmin(), heights.shape)
    return x, y, "".join(layers), [grid[0][column], grid[1][row]]


def graph_program(graph: Graph, inputs: Sequence[str]) -> dict[str, Any]:
    """{"lines": [name, formula] of each node, "outputs": names}; {} if a browser cannot evaluate the graph of scalars.

    inputs    names for the graph's inputs
    """
    called = {n: f"t{i}" for i, n in enumerate(graph.nodes)} | dict(zip(graph.inputs, inputs))
    lines = [[called[n], number_tree(n, [called[x] for x in n.inputs])] for n in graph.nodes if n not in graph.inputs]
    if len(graph.inputs) > len(inputs) or not all(tree_ops(each) <= SPELT for _, each in lines):
        return {}
    return {"lines": lines, "outputs": [called[y] for y in graph.outputs if y is not None]}


def number_tree(node: Node, operands: list[str]) -> Any:
    """The formula of a node; ["?"] if it is not a function of scalars."""
    match node.op:
        case Const(value) if isfinite(value):
            return value
        case Elementwise() if not node.spec.shape:
            return ast_to_lists(ast.parse(formula.write(node.op.forward, *operands), mode="eval").body)
    return ["?"]
