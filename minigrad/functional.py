"""Functions made of ops: softmax and its losses. Differentiation is the ops' business."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import DTypeError, ShapeError
from .functions.face import operand
from .operand import Operand
from .tensor import Tensor


def log_softmax(x: Any, axis: int = -1) -> Any:
    """ln of softmax: x − ln Σ eˣ along the axis, which stays exact where softmax itself rounds to 0."""
    x = operand(x)
    return x - x.logsumexp(axis, keepdims=True)


def softmax(x: Any, axis: int = -1) -> Any:
    """eˣ / Σ eˣ along the axis: positive, and summing to 1."""
    return log_softmax(x, axis).exp()


def cross_entropy(logits: Any, target: Any) -> Any:
    """Mean over the batch of −ln softmax(logits)[target]: what a classifier pays for its doubt.

    logits    (N, C)  scores, before any softmax
    target    (N,)    class indices, 0 to C − 1

    Raises ShapeError or DTypeError on targets that are no such indices, IndexError outside 0 to C − 1.
    """
    logits = operand(logits)
    classes = target.numpy() if isinstance(target, Tensor) else np.asarray(target)
    if logits.ndim != 2 or classes.shape != logits.shape[:1]:
        raise ShapeError(
            f"cross_entropy needs logits (N, C) and target (N,), and got {logits.spec} with {classes.shape}"
        )
    if classes.dtype.kind not in "iu":
        raise DTypeError(f"cross_entropy needs integer classes, and the target is {classes.dtype}: use .astype(int)")
    if classes.size and not 0 <= classes.min() <= classes.max() < logits.shape[1]:
        span = f"{classes.min()} to {classes.max()}"
        raise IndexError(f"the classes of {logits.spec} are 0 to {logits.shape[1] - 1}, and the target holds {span}")
    chosen = logits[np.arange(len(classes)), classes]
    return (logits.logsumexp(1) - chosen).mean()


def mse_loss(x: Any, target: Any) -> Any:
    """Mean of (x − target)². Raises ShapeError where the shapes differ: broadcasting here hides mistakes."""
    x = operand(x)
    y = x.lift(target)
    if x.shape != y.shape:
        raise ShapeError(f"mse_loss compares tensors of one shape, and got {x.spec} with {y.spec}")
    return ((x - y) ** 2).mean()


def where(condition: Any, x: Any, y: Any) -> Any:
    """x where the condition holds, y elsewhere."""
    kind = next((o for o in (x, y, condition) if isinstance(o, Operand)), None)
    kind = Tensor(x) if kind is None else kind
    return kind.lift(x).where(condition, y)
