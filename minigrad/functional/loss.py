"""Losses: how far a prediction is from its target, one number for all elements, or one for each.

    reduction    'mean' over the elements, their 'sum', or 'none': each its own

Target and prediction have one shape: broadcasting here hides mistakes, such as (N,) beside (N, 1).
"""

from __future__ import annotations

from math import inf, log, pi
from typing import Any

from .. import ops
from ..errors import ShapeError
from ..functions.face import operand
from ..spec import broadcast_shape
from .within import within


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
