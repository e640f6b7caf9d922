"""What a small change of a recurrent network's states becomes, from step to step: a linear recurrence.

    change      ds[t] = db[t] + J[t] ds[t − 1]        from the first step on
    gradient    gs[t] = gb[t] + J[t + 1]ᵀ gs[t + 1]   from the last: backpropagation through time

(Werbos 1990, “Backpropagation through time: what it does and how to do it”.) Each is the other's transpose, so the two
are each other's derivative, and one op, run either way, has derivatives of every order. The Jacobian J of a network of
gates is not formed: it is told by slopes (recurrent.py).

Axes: S states, of which each is h, or h and c; T steps; N sequences of the batch; g gates; H units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

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
    """s[t] = b[t] + J[t] s[t−1]; s[t] = b[t] + J[t+1]ᵀ s[t+1] if reverse. J is told by K, U, F and P: see Slopes."""

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
                u = xp.matmul(s[0, t - 1, :m], U.T).reshape(m, g, H)
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
                h[:later] += xp.matmul(gu[:later].reshape(later, g * H), U)
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
        before, w = s.apply(Shift(1, 1)), at_gates(g, K)
        gK = w * before[0].linear(U).reshape(K.shape)
        grest = (g[-1] * before[-1], g[0] * s[-1])[: len(rest)]
        return gb, gK, rows(flat(w * K)).mT @ rows(before[0]), *grest

    def jvp(self, dxs, s, b, K, U, *rest):
        db, dK, dU, *drest = dxs
        dF, dP = (*drest, 0, 0)[:2]
        if self.reverse:
            w = at_gates(s, K)
            dh = (rows(flat(w * K)) @ dU + rows(flat(w * dK)) @ U).reshape(s.shape[1:])
            moved = joined(s, dh, dF * s[-1]).apply(Shift(1, -1)) + joined(s, 0 * s[0], dP * s[0])
        else:
            before = s.apply(Shift(1, 1))
            u, du = (before[0].linear(M).reshape(K.shape) for M in (U, dU))
            moved = at_states(s, dK * u + K * du) + joined(s, dP * s[-1], dF * before[-1])
        return (db + moved).apply(self, K, U, *rest)

    def flops(self, s, b, K, U, *rest): return 2 * K.size * (U.shape[-1] + 1) + 2 * sum(f.size for f in rest)


def flat(w):
    """(T, N, g, H) as (T, N, g H)"""
    T, N, g, H = w.shape
    return w.reshape(T, N, g * H)


def at_gates(s, K):
    """What states s (S, T, N, H) give to each gate (T, N, g, H): all take c, but of two states the last takes h."""
    if len(s) == 1:
        return s[0].unsqueeze(2).broadcast_to(K.shape)
    T, N, g, H = K.shape
    c = s[1].unsqueeze(2).broadcast_to(T, N, g - 1, H)
    return c.apply(Concatenate(2), s[0].unsqueeze(2))


def at_states(s, v):
    """What gates v (T, N, g, H) give to the states: the transpose of `at_gates`."""
    return v.sum(2).unsqueeze(0) if len(s) == 1 else v[:, :, -1].apply(Stack(0), v[:, :, :-1].sum(2))


def joined(s, h, c):
    """h and c as the states: two, or their sum where they are one."""
    return (h + c).unsqueeze(0) if len(s) == 1 else h.apply(Stack(0), c)
