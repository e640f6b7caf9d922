"""L-BFGS: Newton's method with the curvature estimated from the changes of the gradient over the last steps."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from itertools import chain
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from ..engine.base.damaged_state import refuse_by_name
from ..engine.base.errors import GraphError, ShapeError
from ..engine.core.modes import current, enable_grad
from ..engine.core.versions import edit
from .groups import Group
from .optimizer import UpdateRule


class Trial(NamedTuple):
    """An evaluation at distance t along a direction: the loss, its gradient, and its slope in that direction."""

    t: float
    loss: float
    gradient: Any
    slope: float


class LBFGS(UpdateRule):
    """p ← p + t d, with d = −H g, where H y = s for the last `history_size` steps s, which changed the gradient by y

    Each call takes several steps. `closure` computes the loss and calls backward(). Eager mode only.
    Nocedal & Wright 2006, “Numerical Optimization”, algorithms 7.4, 7.5, and 3.5, 3.6 with line_search_fn.

    line_search_fn    "strong_wolfe" to search for a t where the slope is small; None for t = lr
    """

    options = Group(lr=1.0, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9, history_size=100)
    options |= Group(line_search_fn=None)

    def __init__(self, *given: Any, **named: Any):
        super().__init__(*given, **named)
        if len(self.param_groups) > 1:
            raise ValueError(f"LBFGS takes one parameter group, got {self!r}")
        self.past: dict[str, Any] = {"steps": 0, "pairs": [], "scale": 1.0}

    def check(self, options: Group) -> None:
        if (search := options["line_search_fn"]) not in (None, "strong_wolfe"):
            raise ValueError(f"line_search_fn of LBFGS must be None or 'strong_wolfe', got {search!r}")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take several steps. Returns the loss before the first."""
        if current.mode.builder is not None:
            raise GraphError("LBFGS takes a number of steps that depends on the losses: call it in eager mode")
        if closure is None:
            raise TypeError("LBFGS needs the loss several times a step: pass a closure that also calls backward()")
        o, past = self.param_groups[0], self.past
        self.evals = 0
        found, g = self.loss_and_gradient(closure)
        loss, x = float(found), self.flat(lambda p: p.value)
        most = o["max_iter"] * 5 // 4 if o["max_eval"] is None else o["max_eval"]
        for i in range(o["max_iter"]):
            if abs(g).max() <= o["tolerance_grad"] or self.evals >= most:
                break
            d = self.direction(g)
            t = min(1.0, 1 / abs(g).sum()) * o["lr"] if past["steps"] == 1 else o["lr"]
            slope, before = g @ d, loss
            if slope > -o["tolerance_change"]:
                break
            if o["line_search_fn"]:
                probe, start = partial(self.probe, closure, x, d), Trial(0.0, loss, g, slope)
                t, loss, g, _ = strong_wolfe(probe, start, t, most - self.evals, o["tolerance_change"] / abs(d).max())
            past["t"] = t
            if o["line_search_fn"] or i + 1 == o["max_iter"]:
                self.place(x + t * d)
            else:
                _, loss, g, _ = self.probe(closure, x, d, t)
            x = x + t * d
            if abs(d * t).max() <= o["tolerance_change"] or abs(loss - before) < o["tolerance_change"]:
                break
        return found

    def direction(self, g: Any) -> Any:
        """−H g, by the two-loop recursion over the last steps. Updates the history for this step."""
        past = self.past
        past["steps"] += 1
        if past["steps"] > 1:
            y, s = g - past["g"], past["d"] * past["t"]
            if y @ s > 1e-10:
                past["pairs"] = [*past["pairs"], (y, s)][-self.param_groups[0]["history_size"] :]
                past["scale"] = y @ s / (y @ y)
        d, parts = -g, []
        for y, s in reversed(past["pairs"]):
            parts.append(s @ d / (y @ s))
            d = d - parts[-1] * y
        d = d * past["scale"]
        for (y, s), part in zip(past["pairs"], reversed(parts)):
            d = d + (part - y @ d / (y @ s)) * s
        past |= {"g": g, "d": d}
        return d

    def probe(self, closure: Callable[[], Any], x: Any, d: Any, t: float) -> Trial:
        """Evaluate the loss at x + t d."""
        self.place(x + t * d)
        loss, g = self.loss_and_gradient(closure)
        return Trial(t, float(loss), g, g @ d)

    def loss_and_gradient(self, closure: Callable[[], Any]) -> tuple[Any, Any]:
        """The loss at the current parameters, and its gradient as a vector. Counts the evaluation."""
        self.evals += 1
        with enable_grad():
            loss = closure()
        return loss, self.flat(lambda p: p.value * 0 if p.grad is None else p.grad.value)

    def flat(self, array: Callable[[Any], Any]) -> Any:
        xp = next(self.parameters()).spec.device.xp
        return xp.concatenate([array(p).reshape(-1) for p in self.parameters()])

    def place(self, x: Any) -> None:
        """Set all parameters from the vector x."""
        start = 0
        for p in self.parameters():
            p.value[...] = x[start : start + p.size].reshape(p.shape)
            start += p.size
            edit(p.value)

    def state_dict(self) -> Group:
        return {**super().state_dict(), "past": deepcopy(self.past)}

    @refuse_by_name
    def load_state_dict(self, state_dict: Group) -> None:
        past, n = state_dict.get("past"), sum(p.size for p in self.parameters())
        if past is None or past.keys() - {"g", "d", "t"} != self.past.keys() - {"g", "d", "t"}:
            raise ValueError("LBFGS can only load the state_dict() of a minigrad LBFGS: this state lacks its 'past'")
        vectors = [*chain.from_iterable(past["pairs"]), *(past[name] for name in "gd" if name in past)]
        if any(np.shape(x) != (n,) for x in vectors):
            raise ShapeError(
                f"each vector in an LBFGS state must have {n} elements, as many as the parameters together"
            )
        numbers = [past[name] for name in past.keys() & {"steps", "scale", "t"}]
        if any(np.shape(x) != () or np.asarray(x).dtype.kind not in "iuf" for x in numbers):
            raise ValueError(f"steps, scale and t of an LBFGS state must be numbers, got {numbers}")
        super().load_state_dict(state_dict)
        self.past = deepcopy(past)


def strong_wolfe(probe: Callable[[float], Trial], start: Trial, t: float, most: int, least: float) -> Trial:
    """A point that meets the strong Wolfe conditions: loss ≤ loss₀ + 10⁻⁴ t slope₀, and |slope| ≤ 0.9 |slope₀|.

    Steps grow until they bracket such a point; then the bracket shrinks.
    """

    def breaks_armijo(p: Trial) -> bool:
        return bool(p.loss > start.loss + 1e-4 * p.t * start.slope)

    def meets_curvature(p: Trial) -> bool:
        return bool(abs(p.slope) <= -0.9 * start.slope)

    before, now, n = start, probe(t), 0
    while n < most:
        passed = breaks_armijo(now) or (n > 1 and now.loss >= before.loss)
        if meets_curvature(now) and not passed:
            return now
        if passed or now.slope >= 0:
            break
        t = cubic(before, now, now.t + 0.01 * (now.t - before.t), now.t * 10)
        before, now, n = now, probe(t), n + 1
    else:
        before = start
    best, other = (before, now) if before.loss <= now.loss else (now, before)
    stuck = False
    while n < most and abs(best.t - other.t) >= least:
        left, right = sorted((best.t, other.t))
        t, edge = cubic(best, other, left, right), 0.1 * (right - left)
        near = min(right - t, t - left) < edge
        if near and (stuck or not left < t < right):
            t, near = (right - edge if right - t < t - left else left + edge), False
        stuck = near
        now, n = probe(t), n + 1
        if breaks_armijo(now) or now.loss >= best.loss:
            best, other = (best, now) if best.loss <= now.loss else (now, best)
        elif meets_curvature(now):
            return now
        else:
            best, other = now, best if now.slope * (other.t - best.t) >= 0 else other
    return best


def cubic(a: Trial, b: Trial, low: float, high: float) -> float:
    """The minimum in low … high of the cubic through two losses and slopes: Nocedal & Wright 2006, eq. 3.59."""
    a, b = (a, b) if a.t <= b.t else (b, a)
    mean = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = mean * mean - a.slope * b.slope
    if square < 0:
        return (low + high) / 2
    t = b.t - (b.t - a.t) * ((b.slope + sqrt(square) - mean) / (b.slope - a.slope + 2 * sqrt(square)))
    return float(min(max(t, low), high))
