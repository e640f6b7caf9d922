"""What can be seen of a network in training: how its layers are spread, where its boundary runs, and when to look.

Looking costs time that training would have had, so it is rationed by the clock, not by the step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from ...draw.charts import LOOKS, across, chart, compact, line, upwards
from ...draw.svg import STYLE
from ...engine.core.modes import no_grad
from ...engine.tensor.tensor import Tensor
from .film import styled
from .widget import Plain

GAP = 0.2  # seconds from one look to the next, at least,
SOON = 20  # once there were so many; before, in proportion
SHARE = 0.08  # of the time, at most, is spent on looking
MOST_PASSED = 12  # losses that a frame brings, of the steps since the one before
MOST_FRAMES = 200  # beyond, every second one is dropped
BINS = 15  # bars of a histogram
SIDE = 24  # points where the boundary is looked for, along each side
SURE, MIDDLE = 31, ord("O")  # steps from the boundary to where the network is surest, and the letter of the boundary
MOST_POINTS = 200
MOST_VALUES = 4096  # of an array, looked at for its histogram
MOST_LAYERS = 12
HALTED = "Training stopped before the update of this step: the weights are those after step {}."
Clock = Callable[[], float]


class Diverged(Exception):
    """A loss that is no number."""


class Ration:
    """When to look again: after training for 1/SHARE times what the last look cost; and later and later, up to five
    times a second, so that a short run has looks, too."""

    def __init__(self, clock: Clock):
        self.clock = clock
        self.next = -math.inf
        self.looks = 0

    def due(self) -> bool:
        return self.clock() >= self.next

    def spent(self, began: float) -> None:
        """A look that began then is over now."""
        now = self.clock()
        self.looks += 1
        self.next = now + max(GAP * min(self.looks / SOON, 1), (now - began) / SHARE)


def passed(losses: list[float], since: int) -> list[list[float]]:
    """[step, loss] of some steps after `since`, the last among them."""
    if len(losses) == since:
        return []
    some = np.unique(np.linspace(since + 1, len(losses), MOST_PASSED).astype(int))
    return [[n, losses[n - 1]] for n in some.tolist()]


def thinned(frames: list[Plain]) -> list[Plain]:
    """Every second frame, the first and the last among them; each with half the losses of two."""
    first, *rest = frames
    pairs = zip(rest[::2], rest[1::2])
    kept = [{**b, "curve": [*a["curve"], *b["curve"]][::-2][::-1]} for a, b in pairs]
    return [first, *kept, *rest[len(rest) // 2 * 2 :]]


def batches(data: Any) -> Iterator[tuple[Any, Any]]:
    """(x, y) for ever: a pair is the same batch at each step, anything else is gone through again and again.

    Raises ValueError where there is none left.
    """
    if isinstance(data, tuple) and len(data) == 2:
        while True:
            yield data
    while True:
        some = False
        for batch in data:
            some = True
            yield batch
        if not some:
            raise ValueError("the data has no batch left: give a list or a loader, which can be gone through again")


def number_of(loss: Any, n: int) -> float:
    """The loss after n steps. Raises TypeError for what is no tensor, Diverged for what is no number."""
    if not hasattr(loss, "backward"):
        raise TypeError(f"loss_fn gives a tensor of one number, and gave {loss!r}")
    value = float(loss.item())
    if not math.isfinite(value):
        raise Diverged(f"Step {n + 1}: the loss is {value}. {HALTED.format(n)} A smaller learning rate may help.")
    return value


def first_of(data: Any) -> tuple[tuple[Any, Any], Iterator[tuple[Any, Any]]]:
    """The first batch, and all of them. Raises TypeError where it is none."""
    every = batches(data)
    first = next(every) if hasattr(data, "__iter__") else data
    if not isinstance(first, tuple | list) or len(first) != 2:
        got = type(data).__name__ if first is data else f"the first batch is a {type(first).__name__}"
        raise TypeError(f"data is a pair (x, y), or batches that are pairs, and {got}")
    x, y = first
    return (x, y), chain([(x, y)], every)


def array(x: Any) -> np.ndarray:
    """The numbers of a tensor or an array, on the CPU."""
    return np.asarray(x.detach().cpu().numpy() if isinstance(x, Tensor) else x)


def parameters(model: Any, optimizer: Any) -> list[tuple[str, Tensor]]:
    """What is trained, by name."""
    named = getattr(model, "named_parameters", None)
    found = list(named()) if named else [(f"parameter {i}", p) for i, p in enumerate(optimizer.parameters())]
    return found[:MOST_LAYERS]


def spread(x: Any) -> Plain | None:
    """A histogram of some numbers, each bar from 0 to 9, and its ends.

    None for what is not computed yet, and for numbers that no finite scale holds.
    """
    if x is None:
        return None
    values = array(x).ravel()
    values = values[:: max(1, values.size // MOST_VALUES)].astype(float)
    with np.errstate(all="ignore"):
        if not values.size or not np.isfinite(values.max() - values.min()):
            return None
    bars, _ = np.histogram(values, BINS)
    heights = "".join(str(math.ceil(9 * n / bars.max())) for n in bars.tolist())
    return {"bars": heights, "low": float(values.min()), "high": float(values.max())}


def right_of(output: Any, y: Any, threshold: float) -> float | None:
    """The share of a batch that is classified rightly; None where nothing is classified."""
    scores, wanted = array(output), array(y).ravel()
    if scores.ndim == 2 and scores.shape[1] > 1 and np.issubdtype(wanted.dtype, np.integer):
        return float((scores.argmax(1) == wanted).mean()) if len(scores) == len(wanted) else None
    if scores.size != wanted.size or not are_two(classes := np.unique(wanted)):
        return None
    high = classes[-1] if len(classes) == 2 else max(classes[0], 1)
    return float(((scores.ravel() > threshold) == (wanted == high)).mean())


def are_two(classes: np.ndarray) -> bool:
    """Whether targets that are different are two classes, or one of them: 0 and 1, −1 and 1, or any two integers."""
    signs = {*classes.tolist()}
    return len(signs) <= 2 and (not np.issubdtype(classes.dtype, np.floating) or signs <= {0, 1} or signs <= {-1, 1})


class Boundary:
    """Where a network that tells two classes of points in the plane apart changes its mind.

    points       [x, y, class 0 or 1], some of the data
    low, high    the corners of what is looked at
    """

    def __init__(self, model: Any, x: Any, y: Any, threshold: float):
        self.model, self.threshold = model, threshold
        at, wanted = array(x), array(y).ravel()
        classes = np.unique(wanted)
        if at.ndim != 2 or at.shape[1] != 2 or len(at) != len(wanted) or not are_two(classes) or len(classes) != 2:
            raise ValueError("a boundary is drawn for points in the plane, of two classes")
        some = slice(None, None, -(-len(at) // MOST_POINTS))
        self.points = [[*map(float, p), int(c == classes[1])] for p, c in zip(at[some], wanted[some])]
        margin = 0.08 * (at.max(0) - at.min(0)) + 1e-9
        self.low, self.high = at.min(0) - margin, at.max(0) + margin
        across, up = (np.linspace(a, b, 2 * SIDE + 1)[1::2] for a, b in zip(self.low, self.high))
        grid = np.stack(np.meshgrid(across, up[::-1]), -1).reshape(-1, 2)
        self.grid = Tensor(grid.astype(at.dtype))
        self.levels()

    def levels(self) -> str:
        """Row by row from the top, a letter for each point: behind "O" where it says class 1, the farther the surer.

        Steps are of the square root. Raises ValueError if the network gives neither one score for each point nor two.
        """
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
            raise ValueError(f"two classes have one score or two for each point, and not {scores.shape[1:]}")
        most = np.abs(sure).max()
        if not np.isfinite(most):  # it says nothing any more
            return ""
        steps = np.sign(sure) * np.ceil(SURE * np.sqrt(np.abs(sure) / (most or 1)))
        return "".join(map(chr, (MIDDLE + steps).astype(int).tolist()))


def threshold_of(model: Any) -> float:
    """0.5 where the last thing the model does is a Sigmoid, and else 0."""
    last = list(model.modules())[-1] if hasattr(model, "modules") else None
    return 0.5 if type(last).__name__ == "Sigmoid" else 0.0


def boundary_of(model: Any, x: Any, y: Any, threshold: float) -> Boundary | None:
    """The boundary, where there is one to draw; a model that fails says so in its first step."""
    try:
        return Boundary(model, x, y, threshold)
    except Exception:
        return None


def columns(table: list[Plain]) -> str:
    """Step, loss and accuracy below each other, with their heads."""
    rows = [("step", "loss", "accuracy")]
    for row in table:
        right = "" if row["accuracy"] is None else f"{row['accuracy']:.1%}"
        rows.append((str(row["step"]), f"{row['loss']:.4g}", right))
    return "\n".join(f"{step:>6}  {loss:>10}  {right:>8}".rstrip() for step, loss, right in rows)


def curve(losses: list[float]) -> str:
    """Losses over steps as SVG."""
    some: list[int] = np.unique(np.linspace(0, len(losses) - 1, 200).astype(int)).tolist() if losses else []
    x = across(1, max(len(losses), 2), "step")
    y = upwards(min([0.0, *losses]), max([0.0, *losses]) or 1.0, "loss", words=compact)
    drawn = line("mg-line", [(x.at(n + 1), y.at(losses[n])) for n in some])
    return styled(chart(f"Loss over {len(losses)} steps", x, y, drawn), STYLE + LOOKS)
