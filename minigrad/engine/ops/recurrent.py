"""Recurrent networks as ops on whole sequences: a state s is updated by every element of the sequence.

    a        (T, N, g H)    the input's contribution to g gates of H units; T steps of N sequences
    U        (g H, H)       the weights of the previous state's contribution
    start    (S, N, H)      the S states before the first step: h, or h and c
    y        (S, T, N, H)   the states after each step

Each network defines its forward computation and its slopes: the derivatives of one step. A small change of the states
propagates from step to step by a linear recurrence that has the same form for all networks:

    change      ds[t] = db[t] + J[t] ds[t − 1]        from the first step on
    gradient    gs[t] = gb[t] + J[t + 1]ᵀ gs[t + 1]   from the last: backpropagation through time

(Werbos 1990, “Backpropagation through time: what it does and how to do it”.) The two recurrences are transposes of each
other, so one op, LinearRecurrence, run in either direction, computes derivatives of every order. The Jacobian J is
never formed: the slopes determine it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from ..base.dtypes import result_type
from ..base.errors import ShapeError
from ..base.spec import Spec, common_device
from ..core.op import Op
from .matmul import rows
from .movement import Concatenate, Pad, Stack
from .scan import Shift


class Stepping(Op):
    """The base class of ops with a loop over steps.

    batch_sizes    the number of sequences at each step, sorted by length, longest first; None if all have T steps
    """

    batch_sizes: tuple[int, ...] | None = None

    def steps(self, T: int, N: int) -> Sequence[tuple[int, int]]:
        """Each step, with the number of sequences that reach it. The states of the other sequences are 0."""
        return list(enumerate(self.batch_sizes or (N,) * T))


class Slopes(NamedTuple):
    """The derivatives of the states of one step, where u = U h[t − 1] is the previous state's contribution.

        dc[t] = F dc[t−1] + Σ K du        Σ over the gates; if there is P, over all but the last gate, and
        dh[t] = P dc[t] + K du            with K du of the last gate. Without P there is one state, h = c

    before    h[t − 1]
    K         (T, N, g, H)  ∂/∂u
    A         (T, N, g, H)  ∂/∂a
    rest      F, and P; each (T, N, H), and may be missing
    """

    before: Any
    K: Any
    A: Any
    rest: tuple[Any, ...] = ()


class LinearRecurrence(Stepping):
    """s[t] = b[t] + J[t] s[t−1]; s[t] = b[t] + J[t+1]ᵀ s[t+1] if reverse. K, U, F and P define J: see Slopes."""

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
        gb = gs.apply(LinearRecurrence(self.batch_sizes, not self.reverse), K, U, *rest)
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
            moved = join_states(s, dh, dF * s[-1]).apply(Shift(1, -1)) + join_states(s, 0 * s[0], dP * s[0])
        else:
            before = s.apply(Shift(1, 1))
            u, du = (before[0].linear(M).reshape(K.shape) for M in (U, dU))
            moved = at_states(s, dK * u + K * du) + join_states(s, dP * s[-1], dF * before[-1])
        return (db + moved).apply(self, K, U, *rest)

    def flops(self, s, b, K, U, *rest): return 2 * K.size * (U.shape[-1] + 1) + 2 * sum(f.size for f in rest)
    def macs(self, s, b, K, U, *rest): return K.size * U.shape[-1]


def flat(w):
    """(T, N, g, H) as (T, N, g H)"""
    T, N, g, H = w.shape
    return w.reshape(T, N, g * H)


def at_gates(s, K):
    """For each gate (T, N, g, H), the state of s (S, T, N, H) it acts on: c; of two states, h for the last gate."""
    if len(s) == 1:
        return s[0].unsqueeze(2).broadcast_to(K.shape)
    T, N, g, H = K.shape
    return s[1].unsqueeze(2).broadcast_to(T, N, g - 1, H).apply(Concatenate(2), s[0].unsqueeze(2))


def at_states(s, v):
    """The sums of v (T, N, g, H) over the gates of each state: the transpose of `at_gates`."""
    return v.sum(2).unsqueeze(0) if len(s) == 1 else v[:, :, -1].apply(Stack(0), v[:, :, :-1].sum(2))


def join_states(s, h, c):
    """h and c stacked as the two states; their sum if there is only one state."""
    return (h + c).unsqueeze(0) if len(s) == 1 else h.apply(Stack(0), c)


class Recurrent(Stepping):
    """A recurrent network. The operands are a, U and start; a GRU also takes c (g H,), which is added to U h."""

    gates: ClassVar[int]
    states: ClassVar[int] = 1

    autocast = "lower"

    def infer(self, a, U, start, *c):
        H = U.shape[-1] if U.shape else 0
        wanted = (*a.shape[:2], self.gates * H), (self.gates * H, H), (self.states, *a.shape[1:2], H)
        if (a.shape, U.shape, start.shape) != wanted or any(x.shape != (self.gates * H,) for x in c):
            needed = f"a (T, N, {self.gates} H), U ({self.gates} H, H) and start ({self.states}, N, H)"
            raise ShapeError(f"{self} needs {needed}, and got {', '.join(map(str, (a, U, start, *c)))}")
        dtype = result_type(*(x.dtype for x in (a, U, start, *c)))
        return Spec((self.states, *a.shape[:2], H), dtype, common_device(self, a, U, start, *c))

    def blank(self, xp, a, U, start, *c):
        """An array of zeros for the states y; and `start`, the states before the first step, in y's dtype."""
        y = xp.zeros((*start.shape[:1], *a.shape[:2], *U.shape[1:]), xp.result_type(a, U, start, *c))
        return y, start.astype(y.dtype, copy=False)

    def slopes(self, y, a, U, start, *c) -> Slopes:
        """The derivatives of each step with respect to its operands."""
        raise NotImplementedError(f"{self} does not define its slopes: write {type(self).__name__}.slopes")

    def before(self, y, start):
        """s[t − 1]"""
        return start.unsqueeze(1).apply(Concatenate(1), y)[:, : y.spec.shape[1]]

    def vjp(self, gy, y, a, U, start, *c):
        h, K, A, rest = self.slopes(y, a, U, start, *c)
        g = gy.apply(LinearRecurrence(self.batch_sizes, True), K, U, *rest)
        w = at_gates(g, K)
        gu = flat(w * K)
        ga = gu if A is K else flat(w * A)
        gh = gu[0] @ U
        gstart = join_states(start, gh, rest[0][0] * g[-1, 0]) if rest else gh.unsqueeze(0)
        return ga, rows(gu).mT @ rows(h), gstart, *(rows(gu).sum(0) for _ in c)

    def jvp(self, dxs, y, a, U, start, *c):
        da, dU, dstart, *dc = dxs
        h, K, A, rest = self.slopes(y, a, U, start, *c)
        first = dstart.unsqueeze(1).apply(Pad(((0, 0), (0, len(a) - 1), (0, 0), (0, 0))))
        du = h.linear(dU) + first[0].linear(U) + sum(dc)
        b = at_states(y, A * da.reshape(A.shape) + K * du.reshape(K.shape))
        if rest:
            b = b + join_states(y, 0 * first[0], rest[0] * first[-1])
        return b.apply(LinearRecurrence(self.batch_sizes), K, U, *rest)

    def flops(self, y, a, U, start, *c): return 2 * self.macs(y, a, U) + 10 * a.size
    def macs(self, y, a, U, *rest): return a.size * U.shape[-1]


class Elman(Recurrent):
    """h' = tanh(a + U h). Elman 1990, “Finding Structure in Time”."""

    symbol = "rnn"
    gates = 1

    def forward(self, xp, a, U, start):
        y, (h,) = self.blank(xp, a, U, start)
        for t, m in self.steps(*a.shape[:2]):
            u = xp.matmul(h[:m], U.T)
            u += a[t, :m]
            h = self.bent(xp, u, y[0, t, :m])
        return y

    def bent(self, xp, u, y): return xp.tanh(u, out=y)
    def slope(self, y): return 1 - y * y

    def slopes(self, y, a, U, start):
        K = self.slope(y[0]).unsqueeze(2)
        return Slopes(self.before(y, start)[0], K, K)


class ElmanRelu(Elman):
    """h' = max(a + U h, 0)

    Le et al. 2015, “A Simple Way to Initialize Recurrent Networks of Rectified Linear Units”, §2.
    https://arxiv.org/abs/1504.00941
    """

    def bent(self, xp, u, y): return xp.maximum(u, 0, out=y)
    def slope(self, y): return (y > 0).astype(y.dtype)


class Gru(Recurrent):
    """h' = (1 − z) n + z h, with r, z = σ(a + u) and n = tanh(a + r u), where u = U h + c and the gates are r, z, n.

    Cho et al. 2014, “Learning Phrase Representations using RNN Encoder–Decoder”, eq. 5 to 8, except that r is applied
    after U. https://arxiv.org/abs/1406.1078
    """

    gates = 3

    def forward(self, xp, a, U, start, *c):
        y, (h,) = self.blank(xp, a, U, start, *c)
        H = U.shape[-1]
        for t, m in self.steps(*a.shape[:2]):
            u = xp.matmul(h[:m], U.T)
            for bias in c:
                u += bias
            rz = u[:, : 2 * H]
            rz += a[t, :m, : 2 * H]
            sigmoid(xp, rz)
            n = u[:, 2 * H :]
            n *= rz[:, :H]
            n += a[t, :m, 2 * H :]
            xp.tanh(n, out=n)
            h = xp.subtract(h[:m], n, out=y[0, t, :m])
            h *= rz[:, H:]
            h += n
        return y

    def slopes(self, y, a, U, start, *c):
        H = U.shape[-1]
        h = self.before(y, start)[0]
        u = h.linear(U, *c)
        r, z = (a + u)[..., : 2 * H].sigmoid().chunk(2, -1)
        n = (a[..., 2 * H :] + r * u[..., 2 * H :]).tanh()
        dn = (1 - z) * (1 - n * n)
        dr, dz = dn * u[..., 2 * H :] * (r * (1 - r)), (h - n) * (z * (1 - z))
        return Slopes(h, dr.apply(Stack(2), dz, dn * r), dr.apply(Stack(2), dz, dn), (z,))


class Lstm(Recurrent):
    """c' = f c + i g and h' = o tanh c', with i, f, o = σ(a + U h) and g = tanh(a + U h), the gates being i, f, g, o.

    Hochreiter & Schmidhuber 1997, “Long Short-Term Memory”, with the forget gate of Gers et al. 2000.
    """

    gates, states = 4, 2

    def forward(self, xp, a, U, start):
        y, (h, c) = self.blank(xp, a, U, start)
        H = U.shape[-1]
        half = xp.full(4 * H, 0.5, y.dtype)
        half[2 * H : 3 * H] = 1
        rest = 1 - half
        for t, m in self.steps(*a.shape[:2]):
            u = xp.matmul(h[:m], U.T)
            u += a[t, :m]
            u *= half  # all gates at once: σ(x) = (1 + tanh x/2) / 2
            xp.tanh(u, out=u)
            u *= half
            u += rest
            i, f, g, o = (u[:, gate * H : (gate + 1) * H] for gate in range(4))
            c = xp.multiply(f, c[:m], out=y[1, t, :m])
            i *= g
            c += i
            h = xp.tanh(c, out=y[0, t, :m])
            h *= o
        return y

    def slopes(self, y, a, U, start):
        h, c = self.before(y, start)
        i, f, g, o = (a + h.linear(U)).chunk(4, -1)
        i, f, g, o, top = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid(), y[1].tanh()
        K = (g * (i * (1 - i))).apply(Stack(2), c * (f * (1 - f)), i * (1 - g * g), top * (o * (1 - o)))
        return Slopes(h, K, K, (f, o * (1 - top * top)))


def sigmoid(xp: Any, x: Any) -> None:
    """Compute σ(x) in place, as (1 + tanh x/2) / 2, which is faster than with eˣ and cannot overflow."""
    x *= 0.5
    xp.tanh(x, out=x)
    x *= 0.5
    x += 0.5
