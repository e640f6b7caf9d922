"""Snapshots of a network in training: histograms of its layers, its decision boundary, and when to take them.

Snapshots take time from training. Therefore the clock limits their number, and not the number of steps.
"""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise
from struct import pack
from typing import Any
from zlib import compress, crc32

import numpy as np

from ...draw.charts import BOTTOM, LEFT, RIGHT, Axis, chart, compact, line, picture, upwards
from ...draw.svg import text, text_width
from ...draw.words import number, pluralize
from ...engine.core.modes import no_grad
from ...engine.tensor.tensor import Tensor
from .widget import Plain

GAP = 0.2  # minimum seconds between snapshots, once there are SOON of them
SOON = 20  # snapshots; before that, the minimum grows in proportion to their number
SHARE = 0.08  # the largest share of the time that snapshots take
MOST_PASSED = 12  # the most losses in a frame, from the steps since the last frame
MOST_FRAMES = 200  # with more frames, every second one is dropped
BINS = 15  # bars of a histogram
SIDE = 24  # grid points of the boundary, along each side
SURE, MIDDLE = 31, ord("O")  # number of confidence levels on each side of the boundary, and the letter for level 0
MOST_POINTS = 200
MOST_VALUES = 4096  # elements; arrays of at least twice as many are sampled for a histogram
MOST_LAYERS = 12
LAYERS = {"Linear", "Tanh", "ReLU", "Sigmoid"}
LOSSES, OPTIMIZERS = {"binary_cross_entropy_with_logits", "cross_entropy"}, {"SGD", "Adam"}
MOST_UNITS, MOST_COLUMNS = 8, 6  # units drawn per layer; Linear layers, since the columns of more would overlap
UNIT, PITCH, WIDE, HIGH = 30, 35, 370, 300  # pixels: a unit, the distance between units, the network
HALTED = "Training stopped before the update of this step: the weights are those after step {:,}."
NETWORK = """
.mg-picture .mg-weight { fill: none; stroke: var(--mg-forward); }
.mg-picture .mg-weight[data-sign="-1"] { stroke: var(--mg-backward); stroke-dasharray: 5 3; }
.mg-picture .mg-unit { fill: transparent; stroke: var(--mg-line); }
.mg-picture.mg-net { overflow: visible; }
.mg-picture .mg-enlarged { stroke: var(--mg-line); stroke-dasharray: 2 3; }
"""
Clock = Callable[[], float]


class Divergence(Exception):
    """The loss is NaN or infinite."""


class Ration:
    """Decides when the next snapshot is due: after 1/SHARE times the duration of the last one, and after a gap. The gap
    grows up to 0.2 seconds, so that even a short run has several snapshots."""

    def __init__(self, clock: Clock):
        self.clock = clock
        self.next = -math.inf
        self.looks = 0

    def due(self) -> bool:
        return self.clock() >= self.next

    def record_look(self, began: float) -> None:
        """Record a snapshot that began at this time and ends now."""
        now = self.clock()
        self.looks += 1
        self.next = now + max(GAP * min(self.looks / SOON, 1), (now - began) / SHARE)


def sample_losses(losses: list[float], since: int) -> list[list[float]]:
    """[step, loss] for a sample of the steps after step `since`, which includes the last step."""
    if len(losses) == since:
        return []
    some = np.unique(np.linspace(since + 1, len(losses), MOST_PASSED).astype(int))
    return [[n, losses[n - 1]] for n in some.tolist()]


def thin_frames(frames: list[Plain]) -> list[Plain]:
    """The first and the last frame, and every second one between; each has half the losses of the two it replaces."""
    first, *rest = frames
    kept = [{**b, "curve": [*a["curve"], *b["curve"]][::-2][::-1]} for a, b in zip(rest[::2], rest[1::2])]
    return [first, *kept, *rest[len(rest) // 2 * 2 :]]


def batches(data: Any) -> Iterator[tuple[Any, Any]]:
    """Yields (x, y) endlessly. If data is a pair, it is the batch of every step; else data is iterated over repeatedly.

    Raises ValueError if an iteration yields no batch.
    """
    every = [data] if isinstance(data, tuple) and len(data) == 2 else data
    while True:
        some = False
        for batch in every:
            some = True
            yield batch
        if not some:
            raise ValueError("the data has no batch left: pass a list or a loader, which can be iterated again")


def number_of(loss: Any, n: int) -> float:
    """The loss after n steps as a float. Raises TypeError if it is no tensor, Divergence if it is not finite."""
    if not hasattr(loss, "backward"):
        raise TypeError(f"loss_fn must return a tensor of one element, got {loss!r}")
    value = float(loss.item())
    if not math.isfinite(value):
        advice = " A smaller learning rate may help." * (n > 0)
        raise Divergence(f"Step {n + 1:,}: the loss is {value}. {HALTED.format(n)}{advice}")
    return value


def first_of(data: Any) -> tuple[tuple[Any, Any], Iterator[tuple[Any, Any]]]:
    """The first batch, and an iterator over all batches. Raises TypeError if the first is not a pair."""
    every = batches(data)
    first = next(every) if hasattr(data, "__iter__") else data
    if not isinstance(first, tuple | list) or len(first) != 2:
        got = type(data).__name__ if first is data else f"a first batch of type {type(first).__name__}"
        raise TypeError(f"data must be a pair (x, y) or an iterable of such pairs; got {got}")
    x, y = first
    return (x, y), chain([(x, y)], every)


def array(x: Any) -> np.ndarray:
    """A tensor or an array as a NumPy array."""
    return np.asarray(x.detach().cpu().numpy() if isinstance(x, Tensor) else x)


def histograms(model: Any, optimizer: Any) -> tuple[list[Plain], int]:
    """The name and the histograms of the trained parameters, at most the 12 largest; and how many there are."""
    named = getattr(model, "named_parameters", None)
    found = list(named()) if named else [(f"parameter {i}", p) for i, p in enumerate(optimizer.parameters())]
    largest = {name for name, _ in sorted(found, key=lambda each: -array(each[1]).size)[:MOST_LAYERS]}
    some = [{"name": name, "weights": spread(p), "gradients": spread(p.grad)} for name, p in found if name in largest]
    return some, len(found)


def spread(x: Any) -> Plain | None:
    """A histogram of x: the heights of the bars, from 0 to 9, and the limits of the axis.

    None if x is None, is empty, or does not have a finite range.
    """
    if x is None:
        return None
    values = array(x).ravel()
    values = values[:: max(1, values.size // MOST_VALUES)].astype(float)
    with np.errstate(all="ignore"):
        if not values.size or not np.isfinite(span := values.max() - (low := values.min())):
            return None
    # np.histogram raises if the range has fewer numbers than there are bars.
    place = np.minimum((values - low) / span * BINS, BINS - 1) if span else np.full(values.size, BINS // 2)
    bars = np.bincount(place.astype(int), minlength=BINS)
    heights = "".join(str(math.ceil(9 * n / bars.max())) for n in bars.tolist())
    return {"bars": heights, "low": float(low), "high": float(values.max())}


def batch_accuracy(output: Any, y: Any, threshold: float) -> float | None:
    """The accuracy on a batch; None if the task is not classification."""
    scores, wanted = array(output), array(y).ravel()
    if scores.ndim == 2 and scores.shape[1] > 1 and np.issubdtype(wanted.dtype, np.integer):
        return float((scores.argmax(1) == wanted).mean()) if len(scores) == len(wanted) else None
    if scores.size != wanted.size or not are_two(classes := np.unique(wanted)):
        return None
    high = classes[-1] if len(classes) == 2 else max(classes[0], 1)
    return float(((scores.ravel() > threshold) == (wanted == high)).mean())


def are_two(classes: np.ndarray) -> bool:
    """Whether the distinct targets are those of a binary task: of 0 and 1, of −1 and 1, or any two integers."""
    signs = {*classes.tolist()}
    return len(signs) <= 2 and (not np.issubdtype(classes.dtype, np.floating) or signs <= {0, 1} or signs <= {-1, 1})


class Boundary:
    """The decision boundary of a network that classifies points in the plane into two classes.

    points       [x, y, class 0 or 1], a sample of the data
    low, high    the corners of the drawn rectangle
    """

    def __init__(self, model: Any, x: Any, y: Any, threshold: float):
        self.model, self.threshold = model, threshold
        at, wanted = array(x), array(y).ravel()
        classes = np.unique(wanted)
        if at.ndim != 2 or at.shape[1] != 2 or len(at) != len(wanted) or not are_two(classes) or len(classes) != 2:
            raise ValueError("a boundary needs points in the plane, of two classes")
        some = slice(None, None, -(-len(at) // MOST_POINTS))
        self.points = [[*map(float, p), int(c == classes[1])] for p, c in zip(at[some], wanted[some])]
        margin = 0.08 * (at.max(0) - at.min(0)) + 1e-9
        self.low, self.high = at.min(0) - margin, at.max(0) + margin
        across, up = (np.linspace(a, b, 2 * SIDE + 1)[1::2] for a, b in zip(self.low, self.high))
        self.grid = Tensor(np.stack(np.meshgrid(across, up[::-1]), -1).reshape(-1, 2).astype(at.dtype))
        self.levels()

    def levels(self) -> str:
        """The score at each grid point as a letter, row by row from the top; "" if a score is not finite.

        "O" is the boundary; later letters mean class 1. The distance from "O" grows with the square root of the score.
        Raises ValueError if the network does not return one or two scores for each point."""
        was_training = getattr(self.model, "training", False)
        try:
            if was_training:
                self.model.eval()
            with no_grad(), np.errstate(all="ignore"):
                scores = array(self.model(self.grid))
        finally:
            if was_training:
                self.model.train()
        if scores.shape == (len(self.grid), 2):
            sure = scores[:, 1] - scores[:, 0]
        elif scores.size == len(self.grid):
            sure = scores.ravel() - self.threshold
        else:
            raise ValueError(f"expected one or two scores for each point, got shape {scores.shape[1:]}")
        most = np.abs(sure).max()
        if not np.isfinite(most):
            return ""
        steps = np.sign(sure) * np.ceil(SURE * np.sqrt(np.abs(sure) / (most or 1)))
        return "".join(map(chr, (MIDDLE + steps).astype(int).tolist()))


def threshold_of(model: Any) -> float:
    """0.5 if the model's last module is a Sigmoid, else 0."""
    last = list(model.modules())[-1] if hasattr(model, "modules") else None
    return 0.5 if type(last).__name__ == "Sigmoid" else 0.0


def boundary_of(model: Any, x: Any, y: Any, threshold: float) -> Boundary | None:
    """The boundary, or None if it cannot be drawn. An error in the model will be reported at its first step."""
    try:
        return Boundary(model, x, y, threshold)
    except Exception:
        return None


def small_network(model: Any, loss_fn: Any, optimizer: Any) -> Plain:
    """Plain data to draw and train a Sequential of Linear layers and activations in the page; {} for other models."""
    layers = [*model] if type(model).__name__ == "Sequential" else []
    used = [*map(type, layers), type(optimizer), loss_fn]
    are_ours = [str(getattr(each, "__module__", "")).startswith("minigrad.") for each in used]
    *kinds, kind, loss = [getattr(each, "__name__", "") * ours for each, ours in zip(used, are_ours)]
    found = [array(p).ravel().tolist() for p in model.parameters()] if layers else []
    is_small = len(found) == 2 * kinds.count("Linear") and sum(map(len, found)) <= MOST_VALUES
    if kinds[:1] != ["Linear"] or not is_small or not LAYERS.issuperset(kinds) or len(found) > 2 * MOST_COLUMNS:
        return {}
    sizes = [[*each.weight.shape][::-1] if name == "Linear" else name for name, each in zip(kinds, layers)]
    program: Plain = {"layers": sizes, "picture": network(sizes)}
    is_known = loss in LOSSES and kind in OPTIMIZERS and math.isfinite(sum(map(sum, found)))
    if is_known and len(optimizer.param_groups) == 1:
        (group,) = optimizer.param_groups
        options = {name: group[name] for name in ("momentum", "betas", "eps") if name in group}
        if not any(value for name, value in group.items() if name not in ("params", "lr", *options)):
            program |= {"parameters": found, "loss": loss, "optimizer": {"name": kind, **options}}
    return program


def network(layers: list[Any], numbers: Sequence[Any] = (), columns: Sequence[Any] = ()) -> str:
    """A network as SVG: units are squares that show `columns`, their outputs on a grid; weights are lines."""
    linear = [k for k, each in enumerate(layers) if isinstance(each, list)]
    activations = [" ".join(layers[a + 1 : b]) for a, b in pairwise(linear)]
    parts, a = [text("mg-number", 22, HIGH // 2 + PITCH * i, f"x{index}") for i, index in enumerate("₀₁")], 0
    before: list[int] = []
    for c, (size, name) in enumerate(zip([2, *(layers[k][1] for k in linear)], ["in", *activations, "out"])):
        n, room = min(size, MOST_UNITS), (WIDE - UNIT - 52) // len(linear)
        x, words = 26 + c * room, f"{n} of " * (n < size) + f"{size} {name}"
        is_short = text_width(words, 12) < room
        parts.append(text("mg-sign mg-dim", x + UNIT / 2, 12, words if is_short else words.removesuffix(f" {name}")))
        column = [(HIGH + 26 - PITCH * n) // 2 + PITCH * i for i in range(n)]
        for i, y in enumerate(column):
            parts += [field(each[:, i], x, y, UNIT) for each in columns[c : c + 1]]
            parts.append(f'<rect class="mg-unit" data-at="{c},{i}" x="{x}" y="{y}" width="{UNIT}" height="{UNIT}"/>')
            for j, b in enumerate(before):
                k, at = 2 * c - 2, i * layers[linear[c - 1]][0] + j
                weight = numbers[k][at] if numbers else 0.0
                look = f'data-sign="{np.sign(weight):g}" stroke-width="{min(0.5 + 1.4 * abs(weight), 9):.2f}"'
                way = f"M{a},{b + 15}C{(a + x) // 2},{b + 15} {(a + x) // 2},{y + 15} {x},{y + 15}"
                parts.append(f'<path class="mg-weight" data-at="{k},{at}" {look} d="{way}"><title/></path>')
        before, a = column, x + UNIT
    ends = f"M{a},{before[0]}L{WIDE + 22},0M{a},{before[-1] + UNIT}L{WIDE + 22},{HIGH}"
    return picture("The network", WIDE, HIGH, [*parts, f'<path class="mg-enlarged" d="{ends}"/>'], "mg-net")


def outputs(model: Any, x: Any) -> list[np.ndarray]:
    """The input, and the outputs of each column of units in the picture."""
    results = [x]
    for layer in model:
        results.append(layer(results[-1]))
    return [array(y) for y, layer in zip(results, [*model, None]) if layer is None or hasattr(layer, "weight")]


def field(values: np.ndarray, x: object, y: object, size: int, least: float = 0.0) -> str:
    """Values on a square grid, row by row, as an SVG image: blue is positive, orange negative, stronger larger."""
    side, most = round(len(values) ** 0.5), max(1.0, np.abs(values).max())
    pixels = np.where(values[:, None] > 0, (58, 147, 210, 0), (222, 120, 24, 0)).astype(np.uint8)
    pixels[:, 3] = 255 * (least + 0.5 * np.sqrt(np.abs(values) / most))
    rows = np.insert(pixels.reshape(side, -1), 0, 0, axis=1)  # each row of a PNG begins with its filter: none
    png = b"\x89PNG\r\n\x1a\n"
    head = pack(">2I5B", side, side, 8, 6, 0, 0, 0)
    for kind, data in (b"IHDR", head), (b"IDAT", compress(rows.tobytes())), (b"IEND", b""):
        png += pack(">I", len(data)) + kind + data + pack(">I", crc32(kind + data))
    href = f"data:image/png;base64,{b64encode(png).decode()}"
    return f'<image x="{x}" y="{y}" width="{size}" height="{size}" href="{href}"/>'


def columns(table: list[Plain]) -> str:
    """Step, loss and accuracy as columns of text, with headings."""
    rows = [("step", "loss", "accuracy")]
    for row in table:
        right = "" if row["accuracy"] is None else f"{row['accuracy']:.1%}"
        rows.append((f"{row['step']:,}", f"{row['loss']:.4g}", right))
    return "\n".join(f"{step:>6}  {loss:>10}  {right:>8}".rstrip() for step, loss, right in rows)


def curve(losses: list[float]) -> str:
    """Losses over steps as SVG; after a fall of over 20 %, with the first, the last, and an early step of half."""
    some: list[int] = np.unique(np.linspace(0, len(losses) - 1, 200).astype(int)).tolist() if losses else []
    x = Axis(1, max(len(losses), 2), LEFT, RIGHT - 88, "step", words=compact)
    y = upwards(min([0.0, *losses]), max([0.0, *losses]) or 1.0, "loss", words=compact)
    drawn = [line("mg-line", [(x.at(n + 1), y.at(losses[n])) for n in some])]
    if len(losses) > 1 and losses[-1] < 0.8 * losses[0]:  # else the labels would overlap
        middle, above = (losses[0] + losses[-1]) / 2, y.at(max(losses[-len(losses) // 5 :])) - 10  # free of the curve
        n = next(n for n, loss in enumerate(losses, 1) if loss <= middle)
        if 2 * n < len(losses):  # there is room for the words
            rule = f'<path class="mg-rule" stroke-dasharray="3 3" d="M{x.at(n):.1f},{y.at(middle):.1f}V{BOTTOM}"/>'
            drawn += [rule, text("mg-dim mg-heading", x.at(n) + 10, BOTTOM - 10, f"step {n:,}: half of the fall")]
        drawn += [text("mg-name", x.at(1) + 8, y.at(losses[0]) + 10, f"first {number(losses[0], 3)}")]
        drawn += [text("mg-name mg-number", x.end, min(above, BOTTOM - 28), f"last {number(losses[-1], 3)}")]
    return chart(f"Loss over {pluralize(len(losses), 'step', 'steps')}", x, y, *drawn)


def summary(x: Any, output: Any, sizes: Sequence[int], accuracies: Sequence[float]) -> str:
    """A network's input, size and output as SVG, with its first and last accuracy."""
    given, out = (" × ".join(map("{:,}".format, array(each).shape)) or "1" for each in (x, output))
    some = " ".join(str(v) if isinstance(v, int) else number(v, 3) for v in array(x).ravel()[:4].tolist())
    percent = " → ".join(f"{number(100 * share, 3)} %" for share in [*accuracies[:1], *accuracies[-1:]])
    rows = [("in", f"{given} numbers", f"{some} …")]
    rows += [("model", f"{sum(sizes):,} trained numbers", pluralize(len(sizes), "array", "arrays"))] * bool(sizes)
    rows += [("out", f"{out} numbers", f"right: {percent}" * bool(accuracies))] * (output is not None)
    parts = [f'<path class="mg-rule" d="M150,{84 + 88 * i}v20m-5,-7l5,7l5,-7"/>' for i in range(len(rows) - 1)]
    for y, (name, words, more) in zip((22, 110, 198), rows):
        parts += [f'<rect class="mg-unit" x="56" y="{y}" width="200" height="56" rx="6"/>']
        parts += [text("mg-number mg-dim", 48, y + 32, name), text("mg-name", 68, y + 23, words)]
        parts += [text("mg-dim", 68, y + 43, more)]
    return picture("What is trained", 280, 300, parts)


def plane(seen: Boundary) -> str:
    """The boundary and the points as SVG: the class of ○ is blue, that of + orange; stronger is surer."""
    roots = np.array([*map(ord, seen.levels())]) / SURE - MIDDLE / SURE
    drawn = [text("mg-dim", 0, 16, "blue: class ○, orange: class +")]
    drawn += [field(roots * np.abs(roots), 0, 30, 11 * SIDE, 0.12)] if len(roots) else []
    high = 11 * SIDE / (seen.high - seen.low)
    for x, y, one in seen.points:
        at = (np.array([x, y]) - seen.low) * high
        drawn.append(text("mg-sign", at[0], 34 + 11 * SIDE - at[1], "○" if one else "+"))
    return picture("What it says where", 11 * SIDE, 300, drawn)
