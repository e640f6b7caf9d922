"""Losses of classifiers: what a distribution over classes pays for the class that was right.

input     (N, C, …)  a score or log-probability for each class; or (C,)
target    (N, …)     class indices, 0 to C − 1; or ()
weight    (C,)       what each class counts
"""

from __future__ import annotations

from typing import Any

from .. import ops
from ..errors import BoundsError, DTypeError, ShapeError
from ..functions.creation import arange
from ..functions.face import operand
from .loss import reduced
from .within import all_within, within


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
