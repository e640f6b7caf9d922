"""Connectionist temporal classification: the loss of a sequence whose letters are known, and not when they are said."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from ..dimension import needed
from ..errors import BoundsError, ShapeError
from ..functions.face import operand
from ..functions.movement import pad, stack
from ..operand import Operand
from .loss import reduced
from .within import within

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
