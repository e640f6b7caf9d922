"""Losses: how far a prediction is from its target, one number for all elements, or one for each.

    reduction    'mean' over the elements, their 'sum', or 'none': each its own

Target and prediction have one shape: broadcasting here hides mistakes, such as (N,) beside (N, 1).

Losses of classifiers: what a distribution over classes pays for the class that was right.

input     (N, C, …)  a score or log-probability for each class; or (C,)
target    (N, …)     class indices, 0 to C − 1; or ()
weight    (C,)       what each class counts
"""

from __future__ import annotations

from math import inf, log, pi
from typing import Any

from .. import ops
from ..base.errors import BoundsError, DTypeError, ShapeError
from ..base.spec import broadcast_shape
from ..functions.creation import arange
from ..tensor.lift import operand
from .bounds import all_within, within


def mse_loss(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    """(x − t)²"""
    x, t = pair("mse_loss", input, target)
    return reduced((x - t) ** 2, reduction)


def l1_loss(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    """|x − t|"""
    x, t = pair("l1_loss", input, target)
    return reduced((x - t).abs(), reduction)


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
    within(x, 0, 1, ValueError, "binary_cross_entropy is of probabilities 0 to 1: x.sigmoid() makes them of scores")
    return reduced(weighed(x.apply(ops.BinaryCrossEntropy(), t), weight), reduction)


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
    within(v, 0, inf, ValueError, "gaussian_nll_loss needs variances of 0 or more")
    v = v.where(v >= eps, v - v.detach() + eps)  # raised without a slope of its own
    return reduced((v.log() + (x - t) ** 2 / v) * 0.5 + (log(2 * pi) / 2 if full else 0.0), reduction)


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
    if x.shape != t.shape:
        raise ShapeError(f"{loss} compares tensors of one shape, and got {x.spec} with {t.spec}")
    return x, t if t.spec.is_float else t.astype(x.dtype)


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
    if t.spec.is_float and t.shape == x.shape and x.ndim:
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
    if not x.ndim or t.shape != x.shape[:axis] + x.shape[axis + 1 :]:
        raise ShapeError(
            f"{loss} needs input (N, C) and target (N,), or (N, C, …) and (N, …), and got {x.spec} with {t.spec}"
        )
    if t.dtype.kind not in "iu":
        raise DTypeError(f"{loss} needs integer classes, and the target is {t.dtype}: use .astype(int)")
    C = x.shape[axis]  # classes
    rows = x.reshape(1, C) if x.ndim == 1 else x
    if x.ndim > 2:
        rows = x.permute(0, *range(2, x.ndim), 1).reshape(t.size, C)
    classes, kept = t.reshape(t.size), None
    if 0 <= ignore_index < C or not all_within(classes, 0, C - 1):
        kept = classes != ignore_index
        classes = classes * kept
        within(classes, 0, C - 1, BoundsError, f"the classes of {x.spec} are 0 to {C - 1}")
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
