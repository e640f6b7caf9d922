"""Losses with a margin: what is right by far enough costs nothing.

input     x, scores or distances
target    t, 1 and −1, or classes

Connectionist temporal classification: the loss of a sequence whose letters are known, and not when they are said.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from typing import Any

import numpy as np

from ..base.dimension import needed
from ..base.errors import BoundsError, ShapeError
from ..functions.creation import arange
from ..functions.movement import pad, stack
from ..methods import Operand
from ..tensor.lift import operand
from .activation import pairwise_distance
from .bounds import within
from .loss import pair, reduced, weighed


def soft_margin_loss(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    """ln(1 + e^(−t x)), t being 1 or −1."""
    x, t = pair("soft_margin_loss", input, target)
    return reduced(-(t * x).logsigmoid(), reduction)


def hinge_embedding_loss(input: Any, target: Any, margin: float = 1.0, *, reduction: str = "mean") -> Any:
    """x where t is 1, max(0, margin − x) where it is −1: of distances, small for what belongs together."""
    x, t = pair("hinge_embedding_loss", input, target)
    return reduced(x.where(t != -1, 0.0) + (margin - x).clamp(min=0).where(t != 1, 0.0), reduction)


def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, *, reduction: str = "mean") -> Any:
    """max(0, margin − t (x₁ − x₂)): x₁ should be the larger where t is 1, x₂ where it is −1."""
    (x, y), (_, t) = pair("margin_ranking_loss", input1, input2), pair("margin_ranking_loss", input1, target)
    return reduced((margin - t * (x - y)).clamp(min=0), reduction)


def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, *, reduction: str = "mean"
) -> Any:
    """1 − cos(x₁, x₂) where t is 1, max(0, cos(x₁, x₂) − margin) where it is −1, of rows (N, D), or of one (D,)."""
    x, y = operand(input1), operand(input1).lift(input2)
    t = x.lift(target)
    if x.shape != y.shape or x.ndim not in (1, 2) or t.shape != x.shape[:-1]:
        raise ShapeError(f"cosine_embedding_loss is of (N, D), (N, D) and (N,), and got {x.spec}, {y.spec}, {t.spec}")
    cos = (x * y).sum(-1) / (((x * x).sum(-1) + 1e-12) * ((y * y).sum(-1) + 1e-12)).sqrt()
    return reduced((1 - cos).where(t == 1, 0.0) + (cos - margin).clamp(min=0).where(t == -1, 0.0), reduction)


def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    *,
    reduction: str = "mean",
) -> Any:
    """max(0, margin + ‖a − p‖ − ‖a − n‖): an anchor is nearer to its own kind than to another, by a margin.

    swap    whether n is also to be far from p: Balntas et al. 2016, “Learning local feature descriptors with triplets”
    """
    far = partial(pairwise_distance, p=p, eps=eps)
    return triplet_margin_with_distance_loss(
        anchor, positive, negative, distance_function=far, margin=margin, swap=swap, reduction=reduction
    )


def triplet_margin_with_distance_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    *,
    distance_function: Callable[[Any, Any], Any] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """triplet_margin_loss with another distance."""
    a, p, n = (operand(x) for x in (anchor, positive, negative))
    if not a.ndim == p.ndim == n.ndim:
        raise ShapeError(f"a triplet has as many axes in each part, and got {a.spec}, {p.spec} and {n.spec}")
    far = pairwise_distance if distance_function is None else distance_function
    apart = far(a, n).minimum(far(p, n)) if swap else far(a, n)
    return reduced((margin + far(a, p) - apart).clamp(min=0), reduction)


def multi_margin_loss(
    input: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None, *, reduction: str = "mean"
) -> Any:
    """Σ max(0, margin − x[t] + x[i])ᵖ / C over the other classes i: of scores (N, C) and classes (N,), or of one.

    weight    (C,), what each class counts
    """
    x = operand(input)
    t = x.lift(target)
    C = x.shape[-1] if x.ndim else 1  # classes
    if x.ndim > 2 or t.size != x.size // max(C, 1) or p not in (1, 2):
        raise ShapeError(f"multi_margin_loss is of (N, C) and (N,), p being 1 or 2: got {x.spec}, {t.spec} and p={p}")
    within(t, 0, C - 1, BoundsError, f"the classes of {x.spec} are 0 to {C - 1}")
    rows, t = x.reshape(-1, C), t.reshape(-1, 1)
    short = (margin - rows.gather(1, t) + rows).relu() ** p
    loss = weighed(short, None if weight is None else x.lift(weight)[t]).where(t != arange(C), 0.0).sum(1) / C
    return reduced(loss.reshape(x.shape[:-1]), reduction)


def multilabel_margin_loss(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    """Σ max(0, 1 − x[j] + x[i]) / C over the labels j and what is none i: of scores (N, C), or of one (C,).

    target    the labels of each row, as classes; those behind the first −1 do not count
    """
    x, t = operand(input), operand(input).lift(target)
    if x.ndim > 2 or t.shape != x.shape:
        raise ShapeError(f"multilabel_margin_loss is of (N, C) and labels (N, C), and got {x.spec} and {t.spec}")
    C = x.shape[-1] if x.ndim else 1  # classes
    within(t, -1, C - 1, BoundsError, f"the labels of {x.spec} are 0 to {C - 1}, and behind them -1")
    rows, t = x.reshape(-1, C), t.reshape(-1, C)
    said = (t < 0).astype(int).cumsum(1) == 0
    is_label = ((t.unsqueeze(2) == arange(C)) & said.unsqueeze(2)).any(1)
    short = (1 - rows.gather(1, t.clamp(min=0)).unsqueeze(2) + rows.unsqueeze(1)).relu()
    loss = short.where(said.unsqueeze(2) & ~is_label.unsqueeze(1), 0.0).sum((1, 2)) / C
    return reduced(loss.reshape(x.shape[:-1]), reduction)


def multilabel_soft_margin_loss(input: Any, target: Any, weight: Any = None, *, reduction: str = "mean") -> Any:
    """−t ln σ(x) − (1 − t) ln(1 − σ(x)), the mean over the last axis: each class for itself, yes or no."""
    x, t = pair("multilabel_soft_margin_loss", input, target)
    loss = weighed(-(t * x.logsigmoid() + (1 - t) * (-x).logsigmoid()), weight)
    return reduced(loss.mean(-1), reduction)


NEVER = -1e30  # ln 0, of which differences are numbers


def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    """−ln of the probability that the letters are said in their order, each for a while, with blanks between or not.

    log_probs         (T, N, C) or (T, C), ln of what is said at each moment, of C letters: log_softmax makes them
    targets           (N, S), or all rows one behind the other (Σ target_lengths,)
    input_lengths     (N,), how many of the T moments count; and target_lengths, how many letters
    reduction         'mean' divides each loss by its number of letters first
    zero_infinity     whether a row that cannot be said in its time costs 0 and not ∞

    Graves et al. 2006, “Connectionist Temporal Classification”, eq. 6-8.
    """
    logp = operand(log_probs)
    t, lengths, sizes = (logp.lift(x if isinstance(x, Operand) else np.asarray(x))
                         for x in (targets, input_lengths, target_lengths))  # fmt: skip
    if logp.ndim == 2:
        loss = ctc_loss(logp.unsqueeze(1), t.reshape(1, -1), lengths.reshape(1), sizes.reshape(1), blank,
                        "mean" if reduction == "mean" else "none", zero_infinity)  # fmt: skip
        return loss if reduction == "mean" else reduced(loss.squeeze(0), reduction)
    needed("ctc_loss, to go through its moments,", *logp.shape)
    t = in_rows(t, np.asarray(target_lengths), blank) if t.ndim == 1 else t
    refuse_outside(logp, t, lengths, sizes)
    loss = -ln_said(logp, t, lengths, sizes, blank)
    loss = loss.where(loss < -NEVER / 2, 0.0 if zero_infinity else inf)
    return (loss / sizes.clamp(min=1).astype(loss.dtype)).mean() if reduction == "mean" else reduced(loss, reduction)


def in_rows(t: Any, sizes: Any, blank: int) -> Any:
    """Sequences that were one behind the other as rows (N, S), filled up with blanks."""
    parts = zip(sizes, np.cumsum(sizes))
    return stack([pad(t[end - n : end], (0, int(max(sizes) - n)), value=blank) for n, end in parts])


def refuse_outside(logp: Any, t: Any, lengths: Any, sizes: Any) -> None:
    """Raises ShapeError unless there are as many rows and lengths as sequences, BoundsError where one is too large."""
    T, N, C = logp.shape
    if t.shape[:-1] != (N,) or not lengths.shape == sizes.shape == (N,):
        came = f"{t.spec}, {lengths.spec}, {sizes.spec}"
        raise ShapeError(f"ctc_loss of {logp.spec} needs {N} rows of letters, and as many lengths of each: got {came}")
    for x, last, what in ((t, C - 1, "letters"), (lengths, T, "input_lengths"), (sizes, t.shape[1], "target_lengths")):
        within(x, 0, last, BoundsError, f"the {what} of {logp.spec} with targets {t.spec} are 0 to {last}")


def ln_said(logp: Any, t: Any, lengths: Any, sizes: Any, blank: int) -> Any:
    """ln of the probability of each row, (N,): α, of each place on its path of letters and blanks, moment by moment."""
    T, N, _ = logp.shape
    places = 2 * t.shape[1] + 1  # a blank around each letter
    path = pad(stack([t * 0 + blank, t], 2).reshape(N, places - 1), (0, 1), value=blank)
    leaps = pad((path[:, 2:] != path[:, :-2]) & (path[:, 2:] != blank), (2, 0), value=False)[:, :places]
    said = logp.gather(2, path.unsqueeze(0).broadcast_to(T, N, places)).clamp(min=NEVER)
    alpha = said.lift(np.where(np.arange(places) > 0, NEVER, 0.0)).astype(said.dtype).broadcast_to(N, places)
    for moment in range(T):
        step, leap = (pad(alpha, (n, 0), value=NEVER)[:, :places] for n in (1, 2))
        onward = said[moment] + stack([alpha, step, leap.where(leaps, NEVER)]).logsumexp(0)
        alpha = onward.where((lengths > moment).unsqueeze(1), alpha)
    ends = alpha.gather(1, stack([2 * sizes, (2 * sizes - 1).clamp(min=0)], 1))
    return ends.where(stack([sizes >= 0, sizes > 0], 1), NEVER).logsumexp(1)
