"""NumPy without an engine: forward and backward as one writes them by hand.

In float32 this is what there is to be gained over an engine; in float64 it is the reference that every engine is
checked against (and PyTorch in float64 checks it, in the tests).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np

from ..workloads import CHAIN_OPS, LAYERS, WIDTHS, Arrays, Workload
from . import Run
from .layers import (
    Layer,
    attention,
    conv2d,
    cross_entropy,
    first_linear,
    gelu,
    layer_norm,
    linear,
    max_pool2d,
    relu,
    tanh,
)

Gradients = tuple[Any, Arrays]


class Numpy:
    """Hand-written losses with their gradients.

    dtype    "f4" as the other engines compute, "f8" for the reference
    """

    def __init__(self, dtype: str = "f4"):
        self.dtype = dtype

    def training(self, workload: Workload) -> Run:
        batch, P = workload.arrays()
        batch = {name: a.astype(self.dtype) if a.dtype.kind == "f" else a for name, a in batch.items()}
        P = {name: a.astype(self.dtype) for name, a in P.items()}
        gradients = BY_HAND[workload.loss.__name__]
        update = {"sgd": descent, "adam": Adam(P, workload.lr), None: None}[workload.update]

        def step() -> None:
            _, G = gradients(P, **batch)
            if update is not None:
                update(P, G, workload.lr)

        def answer() -> Gradients:
            loss, G = gradients(P, **batch)
            return float(loss), {name: g.copy() for name, g in G.items()}

        return Run({"step": step}, answer)

    def scalars(self, workload: Workload) -> Run:
        """The network of single numbers as the arrays it is made of."""
        batch, P = workload.arrays()

        def step() -> None:
            descent(P, moons(P, **batch)[1], workload.lr)

        return Run({"step": step}, lambda: moons(P, **batch))


def descent(P: Arrays, G: Arrays, lr: float) -> None:
    for name, g in G.items():
        P[name] -= lr * g


class Adam:
    """Kingma & Ba 2015, with the two corrections folded into the step, as at the end of their section 2."""

    def __init__(self, P: Arrays, lr: float):
        self.t = 0
        self.state = {name: (np.zeros_like(p), np.zeros_like(p), np.empty_like(p)) for name, p in P.items()}

    def __call__(self, P: Arrays, G: Arrays, lr: float) -> None:
        self.t += 1
        correction = sqrt(1 - 0.999**self.t)
        for name, g in G.items():
            m, v, s = self.state[name]
            m += np.multiply(np.subtract(g, m, s), 0.1, s)
            np.subtract(np.multiply(g, g, s), v, s)
            v += np.multiply(s, 0.001, s)
            np.add(np.sqrt(v, s), 1e-8 * correction, s)
            np.divide(m, s, s)
            P[name] -= np.multiply(s, lr * correction / (1 - 0.9**self.t), s)


def chain(P: Arrays) -> Gradients:
    scale, shift = P["scale"], P["shift"]
    hs = [P["h"]]
    for i in range(CHAIN_OPS):
        h = hs[-1]
        hs.append(h * scale if i % 3 == 0 else h + shift if i % 3 == 1 else np.tanh(h))
    gh, gscale, gshift = np.ones_like(scale), np.zeros_like(scale), np.zeros_like(shift)
    for i in reversed(range(CHAIN_OPS)):
        if i % 3 == 0:
            gscale += gh * hs[i]
            gh = gh * scale
        elif i % 3 == 1:
            gshift += gh
        else:
            gh = gh * (1 - hs[i + 1] * hs[i + 1])
    return hs[-1].sum(), {"h": gh, "scale": gscale, "shift": gshift}


def network(P: Arrays, x: np.ndarray, act: Callable[[np.ndarray], Layer]) -> tuple[np.ndarray, Callable[..., Arrays]]:
    """The result of three linear layers, and the function from its gradient to those of P."""
    G: Arrays = {}
    h, back1 = first_linear(P, G, "1", x)
    h, bend1 = act(h)
    h, back2 = linear(P, G, "2", h)
    h, bend2 = act(h)
    z, back3 = linear(P, G, "3", h)

    def back(gz: np.ndarray) -> Arrays:
        back1(bend1(back2(bend2(back3(gz)))))
        return G

    return z, back


def tiny(P: Arrays, x: np.ndarray, y: np.ndarray) -> Gradients:
    z, back = network(P, x, relu)
    d = z - y
    return np.vdot(d, d) / d.size, back(d * d.dtype.type(2 / d.size))


def mlp(P: Arrays, x: np.ndarray, y: np.ndarray, act: Callable[[np.ndarray], Layer] = relu) -> Gradients:
    z, back = network(P, x, act)
    loss, gz = cross_entropy(z, y)
    return loss, back(gz)


def smooth_mlp(P: Arrays, x: np.ndarray, y: np.ndarray) -> Gradients:
    return mlp(P, x, y, tanh)


def cnn(P: Arrays, x: np.ndarray, y: np.ndarray) -> Gradients:
    G: Arrays = {}
    h, conv1 = conv2d(P, G, 1, np.ascontiguousarray(x.transpose(1, 2, 3, 0)))
    h, pool1 = max_pool2d(h)  # of the larger values, and then their positive part: the other order does more work
    h, bend1 = relu(h)
    h, conv2 = conv2d(P, G, 2, h)
    h, pool2 = max_pool2d(h)
    h, bend2 = relu(h)
    z, last = linear(P, G, "3", h.reshape(-1, len(x)).T)
    loss, gz = cross_entropy(z, y)
    conv1(pool1(bend1(conv2(pool2(bend2(last(gz).T.reshape(h.shape)))))))
    return loss, G


def transformer(P: Arrays, x: np.ndarray, y: np.ndarray) -> Gradients:
    G: Arrays = {}
    h, blocks = P["embedding"][x] + P["position"], []
    for i in range(LAYERS):
        for parts in [(f"{i}attention", f"{i}qkv", attention, f"{i}out"), (f"{i}mlp", f"{i}up", gelu, f"{i}down")]:
            norm, before, middle, after = parts
            a, back1 = layer_norm(P, G, norm, h)
            a, back2 = linear(P, G, before, a)
            a, back3 = middle(a)
            a, back4 = linear(P, G, after, a)
            h = h + a
            blocks.append((back1, back2, back3, back4))
    a, normed = layer_norm(P, G, "last", h)
    z, last = linear(P, G, "characters", a)
    loss, gz = cross_entropy(z.reshape(-1, z.shape[-1]), y)
    gh = normed(last(gz.reshape(z.shape)))
    for back1, back2, back3, back4 in reversed(blocks):
        gh = gh + back1(back2(back3(back4(gh))))
    chosen = np.eye(len(P["embedding"]), dtype=gh.dtype)[x.reshape(-1)]
    return loss, G | {"embedding": chosen.T @ gh.reshape(-1, gh.shape[-1]), "position": gh.sum(0)}


def moons(P: Arrays, points: np.ndarray) -> Gradients:
    numbers, x, sign = P["numbers"], points[:, :2], points[:, 2:]
    backs, k, h = [], 0, x
    G: Arrays = {}
    for i, (n_in, n_out) in enumerate(pairwise(WIDTHS)):
        rows = numbers[k : k + n_out * (n_in + 1)].reshape(n_out, -1)  # a neuron's weights, then its bias
        h, back = linear({f"W{i}": rows[:, :-1], f"b{i}": rows[:, -1]}, G, str(i), h)
        h, bend = relu(h) if n_out > 1 else (h, lambda gy: gy)
        backs += [back, bend]
        k += rows.size
    doubt, back = relu(1 - h * sign)
    gh = back(np.full_like(h, 1 / len(points))) * -sign
    for back in reversed(backs):
        gh = back(gh)
    by_neuron = [np.column_stack([G[f"W{i}"], G[f"b{i}"]]).ravel() for i in range(len(WIDTHS) - 1)]
    return doubt.mean() + 1e-4 * numbers @ numbers, {"numbers": np.concatenate(by_neuron) + 2e-4 * numbers}


BY_HAND = {f.__name__: f for f in (chain, tiny, mlp, smooth_mlp, cnn, transformer)}
