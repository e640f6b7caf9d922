"""Losses: how far a prediction is from its target, one number for all elements, or one for each.

    reduction    'mean' over the elements, their 'sum', or 'none': each its own

backward() adds to `.grad`, so a large batch may come in parts. A part of n rows of N counts n / N of its mean loss, or
all of its sum: `(loss * n / N).backward()`. A mean of means is something else where parts, or the targets that count in
them, are not as many; and what batch_norm and dropout do depends on the part.

Of numbers, target and prediction have one shape: broadcasting here hides mistakes, such as (N,) beside (N, 1).

Of classes:
    input     (N, C, …)  a score or log-probability for each class; or (C,)
    target    (N, …)     class indices, 0 to C − 1; or ()
    weight    (C,)       what each class counts

With a margin, what is right by far enough costs nothing; the target is 1 and −1, or classes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf, log, pi
from typing import Any

import numpy as np

from ...api.functions.creation import arange
from ...api.functions.indexing import all_within, within
from ...api.functions.movement import pad, stack
from ...engine import ops
from ...engine.base.dimension import needed
from ...engine.base.errors import DTypeError, GraphError, ShapeError
from ...engine.base.spec import broadcast_shape
from ...engine.core.modes import current
from ...engine.methods import Operand
from ...engine.methods.arguments import listed
from ...engine.tensor.lift import operand
from .activation import pairwise_distance


@listed("float32")
def mse_loss(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    """(x − t)²"""
    x, t = pair("mse_loss", input, target)
    return reduced((x - t) ** 2, reduction)


@listed("float32")
def l1_loss(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    """|x − t|"""
    x, t = pair("l1_loss", input, target)
    return reduced((x - t).abs(), reduction)


@listed("float32")
def smooth_l1_loss(input: Any, target: Any, *, reduction: str = "mean", beta: float = 1.0) -> Any:
    """(x − t)² / 2β where |x − t| < β, |x − t| − β/2 beyond.

    Girshick 2015, “Fast R-CNN”, eq. 3. https://arxiv.org/abs/1504.08083
    """
    if beta < 0:
        raise ValueError(f"smooth_l1_loss needs beta of 0 or more, and got {beta}")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    x, t = pair("smooth_l1_loss", input, target)
    return huber_loss(x, t, reduction=reduction, delta=beta) / beta


@listed("float32")
def huber_loss(input: Any, target: Any, *, reduction: str = "mean", delta: float = 1.0) -> Any:
    """(x − t)² / 2 where |x − t| < δ, δ (|x − t| − δ/2) beyond.

    Huber 1964, “Robust estimation of a location parameter”, eq. 1.
    """
    if delta <= 0:
        raise ValueError(f"huber_loss needs delta above 0, and got {delta}")
    x, t = pair("huber_loss", input, target)
    far = (x - t).abs()
    near = far.clamp(max=delta)
    return reduced(near * (far - near * 0.5), reduction)


def binary_cross_entropy(input: Any, target: Any, weight: Any = None, *, reduction: str = "mean") -> Any:
    """−t ln x − (1 − t) ln(1 − x), for probabilities x; each ln no less than −100, so that a sure mistake stays finite.

    From scores, `binary_cross_entropy_with_logits` is exact where this rounds.
    """
    x, t = pair("binary_cross_entropy", input, target)
    if x.spec.is_half and current.mode.autocast is not None:
        raise DTypeError(
            f"binary_cross_entropy of {x.spec} is refused under autocast: probabilities near 0 and 1 are lost. Take "
            "binary_cross_entropy_with_logits, of scores"
        )
    x = within(x, 0, 1, "binary_cross_entropy is of probabilities 0 to 1: x.sigmoid() makes them of scores")
    return reduced(weighed(x.apply(ops.BinaryCrossEntropy(), t), weight), reduction)


@listed("float32")
def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, *, reduction: str = "mean", pos_weight: Any = None
) -> Any:
    """−p t ln σ(x) − (1 − t) ln(1 − σ(x)), for scores x, without forming σ(x).

    weight        of each element
    pos_weight    p, of the positive class: above 1 it raises recall, below 1 precision
    """
    x, t = pair("binary_cross_entropy_with_logits", input, target)
    doubt = -x.logsigmoid()  # −ln σ(x); −ln(1 − σ(x)) is x more
    if pos_weight is None:
        return reduced(weighed((1 - t) * x + doubt, weight), reduction)
    return reduced(weighed((1 - t) * x + (1 + (x.lift(pos_weight).astype(x.dtype) - 1) * t) * doubt, weight), reduction)


@listed("float32")
def kl_div(input: Any, target: Any, *, reduction: str = "mean", log_target: bool = False) -> Any:
    """t (ln t − x), for log-probabilities x and probabilities t; 0 where t is 0.

    reduction     also 'batchmean', the sum divided by the length of axis 0: the divergence as it is defined
    log_target    whether the target is ln t

    Kullback & Leibler 1951, “On information and sufficiency”, eq. 2.4.
    """
    x, t = pair("kl_div", input, target)
    loss = t.exp() * (t - x) if log_target else t.xlogy(t) - t * x
    if reduction == "batchmean":
        return loss.sum() / x.shape[0] if x.ndim else loss
    return reduced(loss, reduction)


@listed("float32")
def gaussian_nll_loss(
    input: Any, target: Any, var: Any, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """(ln v + (x − t)² / v) / 2, v being var and at least eps: the doubt of a prediction that says its own variance.

    var     in the shape of input; or one for each of its rows, or for all
    full    whether to add ln(2π) / 2, so that it is the likelihood itself

    Nix & Weigend 1994, “Estimating the mean and variance of the target probability distribution”, eq. 3.
    """
    x, t = pair("gaussian_nll_loss", input, target)
    v = x.lift(var)
    v = v.reshape(*v.shape, 1) if x.ndim and v.shape == x.shape[:-1] else v
    if v.ndim not in (0, x.ndim) or broadcast_shape(v.spec.shape, x.spec.shape) != x.spec.shape:
        raise ShapeError(f"gaussian_nll_loss of {x.spec} needs var of that shape, or one for each row, not {v.spec}")
    v = within(v, 0, inf, "gaussian_nll_loss needs variances of 0 or more")
    v = v.where(v >= eps, v - v.detach() + eps)  # raised without a slope of its own
    return reduced((v.log() + (x - t) ** 2 / v) * 0.5 + (log(2 * pi) / 2 if full else 0.0), reduction)


@listed("float32")
def poisson_nll_loss(
    input: Any, target: Any, log_input: bool = True, full: bool = False, *, eps: float = 1e-8, reduction: str = "mean"
) -> Any:
    """eˣ − t x, for x the ln of the rate at which t events come; x − t ln(x + ε) where x is the rate itself.

    full    whether to add Stirling's t ln t − t + ln(2π t) / 2 where t > 1, so that it is nearly the likelihood itself
    """
    x, t = pair("poisson_nll_loss", input, target)
    loss = x.exp() - t * x if log_input else x - t * (x + eps).log()
    if full:
        many = t.where(t > 1, 1.0)
        loss = loss + (many * many.log() - many + 0.5 * (2 * pi * many).log()).where(t > 1, 0.0)
    return reduced(loss, reduction)


def pair(loss: str, input: Any, target: Any) -> tuple[Any, Any]:
    """Prediction and target as operands in one shape; integers as floats, a target's in the prediction's dtype."""
    x = operand(input).real_valued()
    t = x.lift(target)
    if differ(loss, x, t, x.shape):
        raise ShapeError(f"{loss} compares tensors of one shape, and got {x.spec} with {t.spec}")
    return x, t if t.spec.is_float else t.astype(x.dtype)


def differ(loss: str, x: Any, t: Any, wanted: tuple[Any, ...]) -> bool:
    """Whether t has another shape than `wanted`, for an input x. Raises GraphError where only a run can tell."""
    try:
        return bool(t.shape != wanted)
    except GraphError:
        raise GraphError(
            f"{loss} needs a target of shape {wanted} for an input of {x.spec}, and got {t.spec}: whether these are "
            "equal is known only when the graph runs. Make a length unknown in both, under one name, or in neither"
        ) from None


def weighed(loss: Any, weight: Any) -> Any:
    return loss if weight is None else loss * weight


def reduced(loss: Any, reduction: str) -> Any:
    """The losses of the elements as `reduction` says."""
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"reduction is 'mean', 'sum' or 'none', and got {reduction!r}")


@listed("float32")
def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """−ln softmax(input)[target]: what a classifier pays for its doubt, before any softmax.

    target             class indices; or probabilities, floating and in input's shape
    ignore_index       a target that costs nothing and is not counted by 'mean'
    label_smoothing    ε: the target becomes 1 − ε of itself and ε of all classes alike

    'mean' is the weighted one, Σ w loss / Σ w. Smoothing: Szegedy et al. 2016, “Rethinking the Inception
    Architecture”, §7. https://arxiv.org/abs/1512.00567

    Raises ShapeError or DTypeError on targets that are no such indices, IndexError outside 0 to C − 1.
    """
    x = operand(input).real_valued()
    t = x.lift(target)
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"label_smoothing is 0 to 1, and got {label_smoothing}")
    if t.spec.is_float and x.ndim and not differ("cross_entropy", x, t, x.shape):
        return of_probabilities(x, t, weight, reduction, label_smoothing)

    rows, classes, kept = by_row("cross_entropy", x, t, ignore_index)
    w = None if weight is None else x.lift(weight)
    counts = None if w is None else w[classes]
    if label_smoothing:
        logp = rows.log_softmax(1)
        even = -(logp.mean(1) if w is None else (logp * w).mean(1))
        loss = -chosen(logp, classes) if counts is None else -chosen(logp, classes) * counts
        loss = loss * (1 - label_smoothing) + even * label_smoothing
    else:
        loss = rows.apply(ops.CrossEntropy(), classes)
        loss = loss if counts is None else loss * counts
    return over_rows(loss, counts, kept, reduction, t.shape)


@listed("float32")
def nll_loss(input: Any, target: Any, weight: Any = None, *, ignore_index: int = -100, reduction: str = "mean") -> Any:
    """−input[target], for log-probabilities: the negative log-likelihood. cross_entropy is this after log_softmax."""
    x = operand(input)
    t = x.lift(target)
    rows, classes, kept = by_row("nll_loss", x, t, ignore_index)
    loss = -chosen(rows, classes)
    counts = None if weight is None else x.lift(weight)[classes]
    return over_rows(loss if counts is None else loss * counts, counts, kept, reduction, t.shape)


def of_probabilities(x: Any, t: Any, weight: Any, reduction: str, label_smoothing: float) -> Any:
    """−Σ w t ln softmax(x) over the classes; the mean is over everything else, whatever the weights."""
    axis = min(1, x.ndim - 1)
    C = x.shape[axis]  # classes
    if label_smoothing:
        t = t * (1 - label_smoothing) + label_smoothing / C
    if weight is not None:
        t = t * x.lift(weight).reshape(C, *(1,) * (x.ndim - 1 - axis))
    return reduced(-(t * x.log_softmax(axis)).sum(axis), reduction)


def by_row(loss: str, x: Any, t: Any, ignore_index: int) -> tuple[Any, Any, Any]:
    """Scores (M, C), classes (M,), and which of them count (M,), or None for all."""
    axis = min(1, x.ndim - 1)
    if not x.ndim or differ(loss, x, t, x.shape[:axis] + x.shape[axis + 1 :]):
        raise ShapeError(
            f"{loss} needs input (N, C) and target (N,), or (N, C, …) and (N, …), and got {x.spec} with {t.spec}"
        )
    if t.dtype.kind not in "iu":
        raise DTypeError(f"{loss} needs integer classes, and the target is {t.dtype}: use .astype(int)")
    t = t.astype(np.int64) if t.dtype.kind == "u" else t  # unsigned dtypes may be unable to hold ignore_index
    C = x.shape[axis]  # classes
    rows = x.reshape(1, C) if x.ndim == 1 else x
    if x.ndim > 2:
        rows = x.permute(0, *range(2, x.ndim), 1).reshape(t.size, C)
    classes, kept = t.reshape(t.size), None
    if not all_within(classes, 0, C - 1) or 0 <= ignore_index < C:
        kept = classes != ignore_index
        classes = within(classes * kept, 0, C - 1, f"the classes of {x.spec} are 0 to {C - 1}")
    return rows, classes, kept


def chosen(rows: Any, classes: Any) -> Any:
    """rows[i, classes[i]] for each i."""
    return rows[arange(classes.shape[0], device=rows.spec.device), classes]


def over_rows(loss: Any, counts: Any, kept: Any, reduction: str, shape: tuple[int, ...]) -> Any:
    """The losses of the rows that are kept as `reduction` says; `counts` is what each counts in a mean."""
    if kept is not None:
        loss = loss.where(kept, 0.0)
        counts = kept.astype(loss.dtype) if counts is None else counts.where(kept, 0.0)
    if reduction == "mean" and counts is not None:
        return loss.sum() / counts.sum()
    return reduced(loss.reshape(shape) if reduction == "none" else loss, reduction)


@listed("float32")
def soft_margin_loss(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    """ln(1 + e^(−t x)), t being 1 or −1."""
    x, t = pair("soft_margin_loss", input, target)
    return reduced(-(t * x).logsigmoid(), reduction)


@listed("float32")
def hinge_embedding_loss(input: Any, target: Any, margin: float = 1.0, *, reduction: str = "mean") -> Any:
    """x where t is 1, max(0, margin − x) where it is −1: of distances, small for what belongs together."""
    x, t = pair("hinge_embedding_loss", input, target)
    return reduced(x.where(t != -1, 0.0) + (margin - x).clamp(min=0).where(t != 1, 0.0), reduction)


@listed("float32")
def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, *, reduction: str = "mean") -> Any:
    """max(0, margin − t (x₁ − x₂)): x₁ should be the larger where t is 1, x₂ where it is −1."""
    (x, y), (_, t) = pair("margin_ranking_loss", input1, input2), pair("margin_ranking_loss", input1, target)
    return reduced((margin - t * (x - y)).clamp(min=0), reduction)


@listed("float32")
def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, *, reduction: str = "mean"
) -> Any:
    """1 − cos(x₁, x₂) where t is 1, max(0, cos(x₁, x₂) − margin) where it is −1, of rows (N, D), or of one (D,)."""
    x, y = operand(input1), operand(input1).lift(input2)
    t = x.lift(target)
    name = "cosine_embedding_loss"
    if x.ndim not in (1, 2) or differ(name, x, y, x.shape) or differ(name, x, t, x.shape[:-1]):
        raise ShapeError(f"{name} is of (N, D), (N, D) and (N,), and got {x.spec}, {y.spec}, {t.spec}")
    cos = (x * y).sum(-1) / (((x * x).sum(-1) + 1e-12) * ((y * y).sum(-1) + 1e-12)).sqrt()
    return reduced((1 - cos).where(t == 1, 0.0) + (cos - margin).clamp(min=0).where(t == -1, 0.0), reduction)


@listed("float32")
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
    if margin <= 0:
        raise ValueError(f"a triplet loss needs a margin above 0, and got {margin}")
    a, p, n = (operand(x) for x in (anchor, positive, negative))
    if not a.ndim == p.ndim == n.ndim:
        raise ShapeError(f"a triplet has as many axes in each part, and got {a.spec}, {p.spec} and {n.spec}")
    far = pairwise_distance if distance_function is None else distance_function
    apart = far(a, n).minimum(far(p, n)) if swap else far(a, n)
    return reduced((margin + far(a, p) - apart).clamp(min=0), reduction)


@listed("float32")
def multi_margin_loss(
    input: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None, *, reduction: str = "mean"
) -> Any:
    """Σ max(0, margin − x[t] + x[i])ᵖ / C over the other classes i: of scores (N, C) and classes (N,), or of one.

    weight    (C,), what each class counts
    """
    x = operand(input)
    t = x.lift(target)
    C = x.shape[-1] if x.ndim else 1  # classes
    wrong = differ("multi_margin_loss", x, t, x.shape[:-1]) if x.ndim > 1 else t.size != 1
    if x.ndim > 2 or wrong or p not in (1, 2):
        raise ShapeError(f"multi_margin_loss is of (N, C) and (N,), p being 1 or 2: got {x.spec}, {t.spec} and p={p}")
    t = within(t, 0, C - 1, f"the classes of {x.spec} are 0 to {C - 1}")
    rows, t = x.reshape(-1, C), t.reshape(-1, 1)
    short = (margin - rows.gather(1, t) + rows).relu() ** p
    loss = weighed(short, None if weight is None else x.lift(weight)[t]).where(t != arange(C), 0.0).sum(1) / C
    return reduced(loss.reshape(x.shape[:-1]), reduction)


@listed("float32")
def multilabel_margin_loss(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    """Σ max(0, 1 − x[j] + x[i]) / C over the labels j and what is none i: of scores (N, C), or of one (C,).

    target    the labels of each row, as classes; those behind the first −1 do not count
    """
    x, t = operand(input), operand(input).lift(target)
    if x.ndim > 2 or differ("multilabel_margin_loss", x, t, x.shape):
        raise ShapeError(f"multilabel_margin_loss is of (N, C) and labels (N, C), and got {x.spec} and {t.spec}")
    C = x.shape[-1] if x.ndim else 1  # classes
    t = within(t, -1, C - 1, f"the labels of {x.spec} are 0 to {C - 1}, and behind them -1")
    rows, t = x.reshape(-1, C), t.reshape(-1, C)
    said = (t < 0).astype(int).cumsum(1) == 0
    is_label = ((t.unsqueeze(2) == arange(C)) & said.unsqueeze(2)).any(1)
    short = (1 - rows.gather(1, t.clamp(min=0)).unsqueeze(2) + rows.unsqueeze(1)).relu()
    loss = short.where(said.unsqueeze(2) & ~is_label.unsqueeze(1), 0.0).sum((1, 2)) / C
    return reduced(loss.reshape(x.shape[:-1]), reduction)


@listed("float32")
def multilabel_soft_margin_loss(input: Any, target: Any, weight: Any = None, *, reduction: str = "mean") -> Any:
    """−t ln σ(x) − (1 − t) ln(1 − σ(x)), the mean over the last axis: each class for itself, yes or no."""
    x, t = pair("multilabel_soft_margin_loss", input, target)
    loss = weighed(-(t * x.logsigmoid() + (1 - t) * (-x).logsigmoid()), weight)
    return reduced(loss.mean(-1), reduction)


NEVER = -1e30  # ln 0, of which differences are numbers


@listed("float32")
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
    needed("ctc_loss, to go through its moments,", logp.shape[0])
    t = in_rows(t, np.asarray(target_lengths), blank) if t.ndim == 1 else t
    t, lengths, sizes = inside(logp, t, lengths, sizes)
    loss = -ln_said(logp, t, lengths, sizes, blank)
    loss = loss.where(loss < -NEVER / 2, 0.0 if zero_infinity else inf)
    return (loss / sizes.clamp(min=1).astype(loss.dtype)).mean() if reduction == "mean" else reduced(loss, reduction)


def in_rows(t: Any, sizes: Any, blank: int) -> Any:
    """Sequences that were one behind the other as rows (N, S), filled up with blanks."""
    parts = zip(sizes, np.cumsum(sizes))
    return stack([pad(t[end - n : end], (0, int(max(sizes) - n)), value=blank) for n, end in parts])


def inside(logp: Any, t: Any, lengths: Any, sizes: Any) -> list[Any]:
    """Letters and lengths, as many as sequences, or a ShapeError; none of them too large, or a BoundsError."""
    T, N, C = logp.shape
    if t.shape[:-1] != (N,) or not lengths.shape == sizes.shape == (N,):
        came = f"{t.spec}, {lengths.spec}, {sizes.spec}"
        raise ShapeError(f"ctc_loss of {logp.spec} needs {N} rows of letters, and as many lengths of each: got {came}")
    each = ((t, C - 1, "letters"), (lengths, T, "input_lengths"), (sizes, t.shape[1], "target_lengths"))
    told = f"of {logp.spec} with targets {t.spec} are 0 to"
    return [within(x, 0, last, f"the {what} {told} {last}") for x, last, what in each]


def ln_said(logp: Any, t: Any, lengths: Any, sizes: Any, blank: int) -> Any:
    """ln of the probability of each row, (N,): α, of each place on its path of letters and blanks, moment by moment."""
    T, N, _ = logp.shape
    places = 2 * t.shape[1] + 1  # a blank around each letter
    path = pad(stack([t * 0 + blank, t], 2).reshape(N, places - 1), (0, 1), value=blank)
    order = arange(places, device=logp.spec.device)
    leaps = (path != path.roll(2, 1)) & (path != blank) & (order > 1)
    said = logp.gather(2, path.unsqueeze(0).broadcast_to(T, N, places)).clamp(min=NEVER)
    alpha = said.lift(NEVER).where(order > 0, 0.0).broadcast_to(N, places)
    for moment in range(T):
        step, leap = (pad(alpha, (n, 0), value=NEVER)[:, :places] for n in (1, 2))
        onward = said[moment] + stack([alpha, step, leap.where(leaps, NEVER)]).logsumexp(0)
        alpha = onward.where((lengths > moment).unsqueeze(1), alpha)
    ends = alpha.gather(1, stack([2 * sizes, (2 * sizes - 1).clamp(min=0)], 1))
    return ends.where(stack([sizes >= 0, sizes > 0], 1), NEVER).logsumexp(1)
