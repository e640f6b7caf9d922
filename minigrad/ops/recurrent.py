"""Recurrent networks, each a whole sequence at a time: a state s, which every element of the sequence changes.

    a        (T, N, g H)    what the input says to g gates of H units: step, sequence of the batch, gate · unit
    U        (g H, H)       what the state before says to them
    start    (S, N, H)      the state before the first element: h, or h and c
    y        (S, T, N, H)   the state after each

Whatever the network, a small change of its states obeys a linear recurrence (`Carried`), and the gradient of its states
obeys the transposed one, from the end: backpropagation through time (Werbos 1990, “Backpropagation through time: what
it does and how to do it”). So a network says two things here: how it computes, and its slopes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..errors import ShapeError
from ..op import Op
from ..spec import Spec, common_device
from .joining import Concatenate, Stack
from .linalg import rows
from .scan import Shift


@dataclass(frozen=True)
class Stepping(Op):
    """What they have in common: the loop over the steps.

    batch_sizes    how many sequences are still there at each step, the longest first; None if all are to the end
    """

    batch_sizes: tuple[int, ...] | None = None

    inline = False

    def steps(self, T: int, N: int) -> Sequence[tuple[int, int]]:
        """Each step, with the number of sequences that have it. States that are not there are 0."""
        return list(enumerate(self.batch_sizes or (N,) * T))


# -- the slopes, and the linear recurrence they make ------------------------------------------------


class Slopes(NamedTuple):
    """How the states of one step move, u = U h[t − 1] being what comes from the state before.

        dc[t] = F dc[t−1] + Σ K du        over the gates; with P, over all but the last, and
        dh[t] = P dc[t] + K du            of the last gate. Without P there is one state, h = c

    before    h[t − 1]
    K         (T, N, g, H)  ∂/∂u
    A         (T, N, g, H)  ∂/∂a
    rest      F, and P; each (T, N, H), and may be missing
    """

    before: Any
    K: Any
    A: Any
    rest: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Carried(Stepping):
    """s[t] = b[t] + J[t] s[t−1], where J are slopes; s[t] = b[t] + J[t+1]ᵀ s[t+1] if reverse. Operands: b, K, U, F, P."""

    reverse: bool = False

    symbol = "carried"

    def infer(self, b, K, U, *rest): return Spec(b.shape, b.dtype, common_device(self, b, K, U, *rest))

    def forward(self, xp, b, K, U, *rest):
        F, P = (*rest, None, None)[:2]
        return (self.backwards if self.reverse else self.forwards)(xp, b, K, U, F, P)

    def forwards(self, xp, b, K, U, F, P):
        T, N, g, H = K.shape
        s, gates = xp.zeros(b.shape, b.dtype), g if P is None else g - 1
        for t, m in self.steps(T, N):
            s[:, t, :m] = b[:, t, :m]
            h, c = s[0, t, :m], s[-1, t, :m]
            if t:
                u = (s[0, t - 1, :m] @ U.T).reshape(m, g, H)
                u *= K[t, :m]
                for gate in range(gates):
                    c += u[:, gate]
                if F is not None:
                    c += F[t, :m] * s[-1, t - 1, :m]
                if P is not None:
                    h += u[:, gates]
            if P is not None:
                h += P[t, :m] * c
        return s

    def backwards(self, xp, b, K, U, F, P):
        T, N, g, H = K.shape
        s, gates = xp.zeros(b.shape, b.dtype), g if P is None else g - 1
        later, gu = 0, xp.empty((N, g, H), b.dtype)
        for t, m in reversed(self.steps(T, N)):
            s[:, t, :m] = b[:, t, :m]
            h, c = s[0, t, :m], s[-1, t, :m]
            if later:
                h[:later] += gu[:later].reshape(later, g * H) @ U
                if F is not None:
                    c[:later] += F[t + 1, :later] * s[-1, t + 1, :later]
            if P is not None:
                c += P[t, :m] * h
                xp.multiply(K[t, :m, gates], h, out=gu[:m, gates])
            xp.multiply(K[t, :m, :gates], c[:, None], out=gu[:m, :gates])
            later = m
        return s

    def vjp(self, gs, s, b, K, U, *rest):
        gb = gs.apply(Carried(self.batch_sizes, not self.reverse), K, U, *rest)
        s, g = (gb, s) if self.reverse else (s, gb)
        before, w = s.apply(Shift(1, 1)), at_gates(g, K, rest)
        gK = w * before[0].linear(U).reshape(K.shape)
        return gb, gK, rows(flat(w * K)).mT @ rows(before[0]), *(g[-1] * before[-1], g[0] * s[-1])[: len(rest)]

    def jvp(self, dxs, s, b, K, U, *rest):
        db, dK, dU, *drest = dxs
        if self.reverse:
            w = at_gates(s, K, rest)
            gh = rows(flat(w * K)) @ dU + rows(flat(w * dK)) @ U
            db = db + self.placed(gh.reshape(s[0].shape), *(d * s[-1] for d in drest[:1])).apply(Shift(1, -1))
            extra = [d * s[0] for d in drest[1:]]
        else:
            before = s.apply(Shift(1, 1))
            u, du = (before[0].linear(M).reshape(K.shape) for M in (U, dU))
            db = db + at_states(dK * u + K * du, rest)
        return db.apply(self, K, U, *rest)

    def flops(self, s, b, K, U, *rest): return 2 * K.size * U.shape[-1] + 2 * K.size + 2 * sum(f.size for f in rest)
