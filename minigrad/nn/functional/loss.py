"""Losses: the distance between a prediction and its target, as one number, or one for each element.

    reduction    'mean' over the elements, their 'sum', or 'none' for one loss per element

backward() adds to `.grad`, so a large batch can be split into parts. For a part of n of N rows, scale its mean loss:
`(loss * n / N).backward()`; a sum needs no scaling. An unscaled mean of means is wrong if the parts differ in size, or
in the number of targets that count. batch_norm and dropout act on each part separately.

Losses of numbers need a target of the prediction's shape: broadcasting would hide mistakes such as (N,) with (N, 1).

Losses of classes:
    input     (N, C, …)  a score or log-probability for each class; or (C,)
    target    (N, …)     class indices, 0 to C − 1; or ()
    weight    (C,)       the weight of each class

Margin losses are 0 for a prediction that is right by the margin; their target is 1 or −1, or a class.
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
from ...engine.base.dimension import require_known
from ...engine.base.errors import DTypeError, GraphError, ShapeError
from ...engine.base.spec import broadcast_shape
from ...engine.core.modes import current
from ...engine.methods import Operand
from ...engine.methods.arguments import autocast_to
from ...engine.tensor.lift import operand
from .activation import pairwise_distance


@autocast_to("float32")
def mse_loss(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    """(x − t)²"""
    x, t = pair("mse_loss", input, target)
    return reduce_loss((x - t) ** 2, reduction)


@autocast_to("float32")
def l1_loss(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    """|x − t|"""
    x, t = pair("l1_loss", input, target)
    return reduce_loss((x - t).abs(), reduction)


@autocast_to("float32")
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


@autocast_to("float32")
def huber_loss(input: Any, target: Any, *, reduction: str = "mean", delta: float = 1.0) -> Any:
    """(x − t)² / 2 where |x − t| < δ, δ (|x − t| − δ/2) beyond.

    Huber 1964, “Robust estimation of a location parameter”, eq. 1.
    """
    if delta <= 0:
        raise ValueError(f"huber_loss needs delta above 0, and got {delta}")
    x, t = pair("huber_loss", input, target)
    far = (x - t).abs()
    near = far.clamp(max=delta)
    return reduce_loss(near * (far - near * 0.5), reduction)


def binary_cross_entropy(input: Any, target: Any, weight: Any = None, *, reduction: str = "mean") -> Any:
    """−t ln x − (1 − t) ln(1 − x), for probabilities x. Each ln is at least −100, which keeps the loss finite.

    For scores use `binary_cross_entropy_with_logits`, which avoids rounding near 0 and 1.
    """
    x, t = pair("binary_cross_entropy", input, target)
    if x.spec.is_half and current.mode.autocast is not None:
        why = "half precision rounds probabilities near 0 and 1. Use binary_cross_entropy_with_logits on the scores"
        raise DTypeError(f"binary_cross_entropy of {x.spec} is refused under autocast: {why}")
    x = within(x, 0, 1, "binary_cross_entropy needs probabilities 0 to 1: x.sigmoid() makes them from scores")
    return reduce_loss(apply_weight(x.apply(ops.BinaryCrossEntropy(), t), weight), reduction)


@autocast_to("float32")
def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, *, reduction: str = "mean", pos_weight: Any = None
) -> Any:
    """−p t ln σ(x) − (1 − t) ln(1 − σ(x)), for scores x, without forming σ(x).

    weight        the weight of each element
    pos_weight    p, the weight of the positive class: above 1 it raises recall, below 1 precision
    """
    x, t = pair("binary_cross_entropy_with_logits", input, target)
    doubt = -x.logsigmoid()  # −ln σ(x); add x for −ln(1 − σ(x))
    if pos_weight is not None:
        doubt = (1 + (x.lift(pos_weight).astype(x.dtype) - 1) * t) * doubt
    return reduce_loss(apply_weight((1 - t) * x + doubt, weight), reduction)


@autocast_to("float32")
def kl_div(input: Any, target: Any, *, reduction: str = "mean", log_target: bool = False) -> Any:
    """t (ln t − x), for log-probabilities x and probabilities t; 0 where t is 0.

    reduction     may also be 'batchmean': the sum divided by the length of axis 0, which is the true divergence
    log_target    whether the target is ln t

    Kullback & Leibler 1951, “On information and sufficiency”, eq. 2.4.
    """
    x, t = pair("kl_div", input, target)
    loss = t.exp() * (t - x) if log_target else t.xlogy(t) - t * x
    if reduction == "batchmean":
        return loss.sum() / x.shape[0] if x.ndim else loss
    return reduce_loss(loss, reduction)


@autocast_to("float32")
def gaussian_nll_loss(
    input: Any, target: Any, var: Any, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """(ln v + (x − t)² / v) / 2 with v = max(var, eps): the loss of a network that predicts mean and variance.

    var     the variances: of input's shape, or one for each row of input, or one for all
    full    whether to add ln(2π) / 2, which makes it the exact negative log-likelihood

    Nix & Weigend 1994, “Estimating the mean and variance of the target probability distribution”, eq. 3.
    """
    x, t = pair("gaussian_nll_loss", input, target)
    v = x.lift(var)
    v = v.reshape(*v.shape, 1) if x.ndim and v.shape == x.shape[:-1] else v
    if v.ndim not in (0, x.ndim) or broadcast_shape(v.spec.shape, x.spec.shape) != x.spec.shape:
        raise ShapeError(f"gaussian_nll_loss of {x.spec} needs var of that shape, or one for each row, not {v.spec}")
    v = within(v, 0, inf, "gaussian_nll_loss needs variances of 0 or more")
    v = v.where(v >= eps, v - v.detach() + eps)  # max(var, eps), with the gradient of var
    return reduce_loss((v.log() + (x - t) ** 2 / v) * 0.5 + (log(2 * pi) / 2 if full else 0.0), reduction)


@autocast_to("float32")
def poisson_nll_loss(
    input: Any, target: Any, log_input: bool = True, full: bool = False, *, eps: float = 1e-8, reduction: str = "mean"
) -> Any:
    """eˣ − t x, for t events, where x is ln of their rate; if not log_input, x − t ln(x + ε), where x is the rate.

    full    whether to add Stirling's t ln t − t + ln(2π t) / 2 where t > 1, which approximates the full likelihood
    """
    x, t = pair("poisson_nll_loss", input, target)
    loss = x.exp() - t * x if log_input else x - t * (x + eps).log()
    if full:
        many = t.where(t > 1, 1.0)
        loss = loss + (many * many.log() - many + 0.5 * (2 * pi * many).log()).where(t > 1, 0.0)
    return reduce_loss(loss, reduction)


def pair(loss: str, input: Any, target: Any) -> tuple[Any, Any]:
    """Prediction and target as operands of one shape, with integers converted to floats."""
    x = operand(input).real_valued()
    t = x.lift(target)
    if differ(loss, x, t, x.shape):
        raise ShapeError(f"{loss} compares tensors of one shape, and got {x.spec} with {t.spec}")
    return x, t if t.spec.is_float else t.astype(x.dtype)


def differ(loss: str, x: Any, t: Any, wanted: tuple[Any, ...]) -> bool:
    """Whether the shape of t differs from `wanted`. Raises GraphError if only a run of the graph can tell."""
    try:
        return bool(t.shape != wanted)
    except GraphError:
        raise GraphError(
            f"{loss} needs a target of shape {wanted} for an input of {x.spec}, and got {t.spec}: whether these are "
            "equal is known only when the graph runs. Make a length unknown in both, under one name, or in neither"
        ) from None


def apply_weight(loss: Any, weight: Any) -> Any:
    return loss if weight is None else loss * weight


def reduce_loss(loss: Any, reduction: str) -> Any:
    """The losses of the elements, reduced as `reduction` specifies."""
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"reduction must be 'mean', 'sum' or 'none', got {reduction!r}")


@autocast_to("float32")
def cross_entropy(
    input: Any, target: Any, weight: Any = None,
    *, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    """−ln softmax(input)[target], from scores: the negative log-likelihood of the target class.

    target             class indices; or probabilities, as floats of input's shape
    ignore_index       a class index whose rows have loss 0 and are left out of 'mean'
    label_smoothing    ε: the target becomes (1 − ε) target + ε / C

    'mean' is weighted, Σ w loss / Σ w. Smoothing: Szegedy et al. 2016, “Rethinking the Inception Architecture”, §7.
    https://arxiv.org/abs/1512.00567

    Raises ShapeError or DTypeError on invalid targets, IndexError on a class outside 0 to C − 1.
    """
    x = operand(input).real_valued()
    t = x.lift(target)
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"label_smoothing must be 0 to 1, got {label_smoothing}")
    if t.spec.is_float and x.ndim and not differ("cross_entropy", x, t, x.shape):
        return of_probabilities(x, t, weight, reduction, label_smoothing)

    rows, classes, kept = by_row("cross_entropy", x, t, ignore_index)
    w = None if weight is None else x.lift(weight)
    counts = None if w is None else w[classes]
    if label_smoothing:
        logp = rows.log_softmax(1)
        even = -(logp.mean(1) if w is None else (logp * w).mean(1))
        loss = -pick_classes(logp, classes) if counts is None else -pick_classes(logp, classes) * counts
        loss = loss * (1 - label_smoothing) + even * label_smoothing
    else:
        loss = rows.apply(ops.CrossEntropy(), classes)
        loss = loss if counts is None else loss * counts
    return over_rows(loss, counts, kept, reduction, t.shape)


@autocast_to("float32")
def nll_loss(input: Any, target: Any, weight: Any = None, *, ignore_index: int = -100, reduction: str = "mean") -> Any:
    """−input[target], for log-probabilities: the negative log-likelihood. cross_entropy applies log_softmax first."""
    x = operand(input)
    t = x.lift(target)
    rows, classes, kept = by_row("nll_loss", x, t, ignore_index)
    loss = -pick_classes(rows, classes)
    counts = None if weight is None else x.lift(weight)[classes]
    return over_rows(loss if counts is None else loss * counts, counts, kept, reduction, t.shape)


def of_probabilities(x: Any, t: Any, weight: Any, reduction: str, label_smoothing: float) -> Any:
    """−Σ w t ln softmax(x) over the classes. 'mean' divides by the number of rows, not by weights."""
    axis = min(1, x.ndim - 1)
    C = x.shape[axis]  # classes
    if label_smoothing:
        t = t * (1 - label_smoothing) + label_smoothing / C
    if weight is not None:
        t = t * x.lift(weight).reshape(C, *(1,) * (x.ndim - 1 - axis))
    return reduce_loss(-(t * x.log_softmax(axis)).sum(axis), reduction)


def by_row(loss: str, x: Any, t: Any, ignore_index: int) -> tuple[Any, Any, Any]:
    """Scores (M, C), classes (M,), and a mask (M,) of the rows that count; None if all rows count."""
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


def pick_classes(rows: Any, classes: Any) -> Any:
    """rows[i, classes[i]] for each i."""
    return rows[arange(classes.shape[0], device=rows.spec.device), classes]


def over_rows(loss: Any, counts: Any, kept: Any, reduction: str, shape: tuple[int, ...]) -> Any:
    """The losses of the kept rows, reduced as `reduction` specifies. `counts` are the weights of a mean."""
    if kept is not None:
        loss = loss.where(kept, 0.0)
        counts = kept.astype(loss.dtype) if counts is None else counts.where(kept, 0.0)
    if reduction == "mean" and counts is not None:
        return loss.sum() / counts.sum()
    return reduce_loss(loss.reshape(shape) if reduction == "none" else loss, reduction)


@autocast_to("float32")
def soft_margin_loss(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    """ln(1 + e^(−t x)), where t is 1 or −1."""
    x, t = pair("soft_margin_loss", input, target)
    return reduce_loss(-(t * x).logsigmoid(), reduction)


@autocast_to("float32")
def hinge_embedding_loss(input: Any, target: Any, margin: float = 1.0, *, reduction: str = "mean") -> Any:
    """x where t is 1, max(0, margin − x) where t is −1, for distances x that should be small where t is 1."""
    x, t = pair("hinge_embedding_loss", input, target)
    return reduce_loss(x.where(t != -1, 0.0) + (margin - x).clamp(min=0).where(t != 1, 0.0), reduction)


@autocast_to("float32")
def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, *, reduction: str = "mean") -> Any:
    """max(0, margin − t (x₁ − x₂)): x₁ should be larger where t is 1, and x₂ where t is −1."""
    (x, y), (_, t) = pair("margin_ranking_loss", input1, input2), pair("margin_ranking_loss", input1, target)
    return reduce_loss((margin - t * (x - y)).clamp(min=0), reduction)


@autocast_to("float32")
def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, *, reduction: str = "mean"
) -> Any:
    """1 − cos(x₁, x₂) where t is 1, max(0, cos(x₁, x₂) − margin) where t is −1, for rows (N, D) or one row (D,)."""
    x, y = operand(input1), operand(input1).lift(input2)
    t = x.lift(target)
    name = "cosine_embedding_loss"
    if x.ndim not in (1, 2) or differ(name, x, y, x.shape) or differ(name, x, t, x.shape[:-1]):
        raise ShapeError(f"{name} needs (N, D), (N, D) and (N,), and got {x.spec}, {y.spec}, {t.spec}")
    cos = (x * y).sum(-1) / (((x * x).sum(-1) + 1e-12) * ((y * y).sum(-1) + 1e-12)).sqrt()
    return reduce_loss((1 - cos).where(t == 1, 0.0) + (cos - margin).clamp(min=0).where(t == -1, 0.0), reduction)


@autocast_to("float32")
def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: float = 1.0,
    p: float = 2.0, eps: float = 1e-6, swap: bool = False,
    *, reduction: str = "mean",
) -> Any:  # fmt: skip
    """max(0, margin + ‖a − p‖ − ‖a − n‖): the anchor should be nearer to the positive than to the negative.

    swap    use min(‖a − n‖, ‖p − n‖): Balntas et al. 2016, “Learning local feature descriptors with triplets”
    """
    far = partial(pairwise_distance, p=p, eps=eps)
    return triplet_margin_with_distance_loss(
        anchor, positive, negative, distance_function=far, margin=margin, swap=swap, reduction=reduction
    )


def triplet_margin_with_distance_loss(
    anchor: Any, positive: Any, negative: Any,
    *, distance_function: Callable[[Any, Any], Any] | None = None,
    margin: float = 1.0, swap: bool = False, reduction: str = "mean",
) -> Any:  # fmt: skip
    """triplet_margin_loss with any distance function."""
    if margin <= 0:
        raise ValueError(f"a triplet loss needs a margin above 0, and got {margin}")
    a, p, n = (operand(x) for x in (anchor, positive, negative))
    if not a.ndim == p.ndim == n.ndim:
        raise ShapeError(f"a triplet needs tensors with equally many axes, got {a.spec}, {p.spec} and {n.spec}")
    far = pairwise_distance if distance_function is None else distance_function
    apart = far(a, n).minimum(far(p, n)) if swap else far(a, n)
    return reduce_loss((margin + far(a, p) - apart).clamp(min=0), reduction)


@autocast_to("float32")
def multi_margin_loss(
    input: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None, *, reduction: str = "mean"
) -> Any:
    """Σ max(0, margin − x[t] + x[i])ᵖ / C over the other classes i, for scores (N, C) and classes (N,), or one row.

    weight    (C,), the weight of each class
    """
    x = operand(input)
    t = x.lift(target)
    C = x.shape[-1] if x.ndim else 1  # classes
    wrong = differ("multi_margin_loss", x, t, x.shape[:-1]) if x.ndim > 1 else t.size != 1
    if x.ndim > 2 or wrong or p not in (1, 2):
        raise ShapeError(f"multi_margin_loss needs (N, C), (N,) and p of 1 or 2, got {x.spec}, {t.spec} and p={p}")
    t = within(t, 0, C - 1, f"the classes of {x.spec} are 0 to {C - 1}")
    rows, t = x.reshape(-1, C), t.reshape(-1, 1)
    short = (margin - rows.gather(1, t) + rows).relu() ** p
    loss = apply_weight(short, None if weight is None else x.lift(weight)[t]).where(t != arange(C), 0.0).sum(1) / C
    return reduce_loss(loss.reshape(x.shape[:-1]), reduction)


@autocast_to("float32")
def multilabel_margin_loss(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    """Σ max(0, 1 − x[j] + x[i]) / C over labels j and all other classes i, for scores (N, C), or one row (C,).

    target    the labels of each row, as class indices; entries from the first −1 on are ignored
    """
    x, t = operand(input), operand(input).lift(target)
    if x.ndim > 2 or differ("multilabel_margin_loss", x, t, x.shape):
        raise ShapeError(f"multilabel_margin_loss needs (N, C) and labels (N, C), and got {x.spec} and {t.spec}")
    C = x.shape[-1] if x.ndim else 1  # classes
    t = within(t, -1, C - 1, f"the labels of {x.spec} are 0 to {C - 1}, then -1 to fill the row")
    rows, t = x.reshape(-1, C), t.reshape(-1, C)
    said = (t < 0).astype(int).cumsum(1) == 0
    is_label = ((t.unsqueeze(2) == arange(C)) & said.unsqueeze(2)).any(1)
    short = (1 - rows.gather(1, t.clamp(min=0)).unsqueeze(2) + rows.unsqueeze(1)).relu()
    loss = short.where(said.unsqueeze(2) & ~is_label.unsqueeze(1), 0.0).sum((1, 2)) / C
    return reduce_loss(loss.reshape(x.shape[:-1]), reduction)


@autocast_to("float32")
def multilabel_soft_margin_loss(input: Any, target: Any, weight: Any = None, *, reduction: str = "mean") -> Any:
    """The mean of −t ln σ(x) − (1 − t) ln(1 − σ(x)) over the last axis: an independent yes or no for each class."""
    x, t = pair("multilabel_soft_margin_loss", input, target)
    loss = apply_weight(-(t * x.logsigmoid() + (1 - t) * (-x).logsigmoid()), weight)
    return reduce_loss(loss.mean(-1), reduction)


NEVER = -1e30  # stands for ln 0: differences of it are finite, unlike ∞ − ∞


@autocast_to("float32")
def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any,
    blank: int = 0, reduction: str = "mean", zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """−ln of the probability of the target letters, in order; any letter may be repeated, and blanks may separate them.

    log_probs         (T, N, C) or (T, C), log-probabilities of C letters at each of T time steps, by log_softmax
    targets           (N, S), or the rows concatenated (Σ target_lengths,)
    input_lengths     (N,), the number of time steps of each row; target_lengths, its number of letters
    reduction         'mean' divides each loss by its number of letters first
    zero_infinity     whether a target that does not fit into its time steps has loss 0 instead of ∞

    Graves et al. 2006, “Connectionist Temporal Classification”, eq. 6-8.
    """
    logp = operand(log_probs)
    t, lengths, sizes = (logp.lift(x if isinstance(x, Operand) else np.asarray(x))
                         for x in (targets, input_lengths, target_lengths))  # fmt: skip
    if logp.ndim == 2:
        loss = ctc_loss(logp.unsqueeze(1), t.reshape(1, -1), lengths.reshape(1), sizes.reshape(1), blank,
                        "mean" if reduction == "mean" else "none", zero_infinity)  # fmt: skip
        return loss if reduction == "mean" else reduce_loss(loss.squeeze(0), reduction)
    require_known("ctc_loss, to go through its time steps,", logp.shape[0])
    t = in_rows(t, np.asarray(target_lengths), blank) if t.ndim == 1 else t
    t, lengths, sizes = check_ctc_targets(logp, t, lengths, sizes)
    loss = -ctc_log_likelihood(logp, t, lengths, sizes, blank)
    loss = loss.where(loss < -NEVER / 2, 0.0 if zero_infinity else inf)
    return (
        (loss / sizes.clamp(min=1).astype(loss.dtype)).mean() if reduction == "mean" else reduce_loss(loss, reduction)
    )


def in_rows(t: Any, sizes: Any, blank: int) -> Any:
    """Concatenated sequences as rows (N, S), padded with blanks."""
    parts = zip(sizes, np.cumsum(sizes))
    return stack([pad(t[end - n : end], (0, int(max(sizes) - n)), value=blank) for n, end in parts])


def check_ctc_targets(logp: Any, t: Any, lengths: Any, sizes: Any) -> list[Any]:
    """Letters and lengths, checked. Raises ShapeError on a wrong number of rows, BoundsError on a value too large."""
    T, N, C = logp.shape
    if t.shape[:-1] != (N,) or not lengths.shape == sizes.shape == (N,):
        came = f"{t.spec}, {lengths.spec}, {sizes.spec}"
        raise ShapeError(f"ctc_loss of {logp.spec} needs {N} rows of letters, and {N} lengths of each kind: got {came}")
    each = ((t, C - 1, "letters"), (lengths, T, "input_lengths"), (sizes, t.shape[1], "target_lengths"))
    told = f"of {logp.spec} with targets {t.spec} are 0 to"
    return [within(x, 0, last, f"the {what} {told} {last}") for x, last, what in each]


def ctc_log_likelihood(logp: Any, t: Any, lengths: Any, sizes: Any, blank: int) -> Any:
    """ln of the probability of each row, (N,), by a recursion for α, which has a number for each letter and blank."""
    T, N, _ = logp.shape
    places = 2 * t.shape[1] + 1  # blanks before, between and after the letters
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
