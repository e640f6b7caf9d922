"""NumPy without an engine: forward and backward written by hand, in arrays that are made once.

In float32 it shows how much faster than an engine one can be, and is the target of compiled programs. In float64 it is
the reference that every engine is checked against; the tests check it against PyTorch in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..workloads import CHAIN_OPS, LAYERS, WIDTHS, Arrays, Workload
from . import Run, large
from .images import Conv2d, PoolRelu
from .layers import Attention, CrossEntropy, Gelu, LayerNorm, Linear, Relu, SquaredError, Tanh
from .parameters import UPDATES, Parameters


class ByHand(NamedTuple):
    """A loss with its gradients.

    gradients    returns the loss, and leaves the gradients in parameters.G
    """

    parameters: Parameters
    gradients: Callable[[], Any]


class Numpy:
    """Hand-written losses with their gradients.

    dtype    "f4" as in the other engines, "f8" for the reference
    """

    block: int | None = None

    def __init__(self, dtype: str = "f4"):
        self.dtype = dtype

    def training(self, workload: Workload) -> Run:
        batch, arrays = workload.arrays()
        parameters, gradients = self.by_hand(workload, batch, arrays)
        update = UPDATES[workload.update](parameters.flat, workload.lr) if workload.update else None

        def step() -> None:
            gradients()
            if update is not None:
                update(parameters.gradient)

        def answer() -> tuple[float, Arrays]:
            loss = float(gradients())
            return loss, {name: parameters.G[name].copy() for name in arrays}

        return Run({"step": step}, answer)

    def by_hand(self, workload: Workload, batch: Arrays, arrays: Arrays) -> ByHand:
        batch = {name: a.astype(self.dtype) if a.dtype.kind == "f" else a for name, a in batch.items()}
        return BY_HAND[workload.loss.__name__](arrays, self.dtype, **batch)

    def large(self, workload: Workload) -> Run:
        return large.run(workload, self.dtype, self.block)

    def scalars(self, workload: Workload) -> Run:
        """The network of single numbers, computed by arrays."""
        batch, P = workload.arrays()

        def step() -> None:
            P["numbers"] -= workload.lr * moons(P, **batch)[1]["numbers"]

        return Run({"step": step}, lambda: moons(P, **batch))


class Blocked(Numpy):
    """The same kernels on blocks that fit in a processor's cache."""

    block = large.BLOCK


def chain(arrays: Arrays, dtype: str) -> ByHand:
    parameters = Parameters(arrays, dtype)
    P, G = parameters.P, parameters.G
    h, scale, shift = P["h"], P["scale"], P["shift"]
    gh, gscale, gshift = G["h"], G["scale"], G["shift"]
    after, s, one = list(np.empty((CHAIN_OPS, h.size), dtype)), np.empty_like(h), np.array(1, dtype)
    turns = list(zip([h, *after[2::3]], after[::3], after[1::3], after[2::3]))  # around each three ops
    before, end = after[-2:]  # and of the last op alone
    multiply, add, subtract, tanh = np.multiply, np.add, np.subtract, np.tanh

    def gradients() -> Any:
        for x, y, z, t in turns:
            multiply(x, scale, y)
            add(y, shift, z)
            tanh(z, t)
        multiply(before, scale, end)
        gscale[...] = before
        gshift.fill(0)
        gh[...] = scale
        for x, _, _, t in reversed(turns):
            multiply(t, t, s)
            subtract(one, s, s)
            multiply(gh, s, gh)
            add(gshift, gh, gshift)
            multiply(gh, x, s)
            add(gscale, s, gscale)
            multiply(gh, scale, gh)
        return add.reduce(end)

    return ByHand(parameters, gradients)


def network(parameters: Parameters, x: np.ndarray, act: Any, last: Any) -> ByHand:
    """Three linear layers, two of them with an activation, and a loss."""
    P, G, N = parameters.P, parameters.G, len(x)
    layers: list[Any] = []
    for name in "12":
        layers += [Linear(P, G, name, N, first=name == "1"), act((N, len(P[f"b{name}"])), x.dtype)]
    layers.append(Linear(P, G, "3", N))

    def gradients() -> Any:
        h = x
        for layer in layers:
            h = layer.forward(h)
        loss, g = last.forward(h), last.gz
        for layer in reversed(layers):
            g = layer.backward(g)
        return loss

    return ByHand(parameters, gradients)


def tiny(arrays: Arrays, dtype: str, x: np.ndarray, y: np.ndarray) -> ByHand:
    return network(Parameters(arrays, dtype), x, Relu, SquaredError(y))


def mlp(arrays: Arrays, dtype: str, x: np.ndarray, y: np.ndarray, act: Any = Relu) -> ByHand:
    return network(Parameters(arrays, dtype), x, act, CrossEntropy(y, len(arrays["b3"]), dtype))


def smooth_mlp(arrays: Arrays, dtype: str, x: np.ndarray, y: np.ndarray) -> ByHand:
    return mlp(arrays, dtype, x, y, Tanh)


def cnn(arrays: Arrays, dtype: str, x: np.ndarray, y: np.ndarray) -> ByHand:
    """A kernel and its bias are stored together, for one matrix product."""
    own, B = dict(arrays), len(x)
    for i in "12":
        K = own.pop(f"K{i}")
        own[f"Kb{i}"] = np.column_stack([K.reshape(len(K), -1), own.pop(f"b{i}")])
    parameters = Parameters(own, dtype)
    P, G = parameters.P, parameters.G
    for views in (P, G):
        for i in "12":
            views[f"K{i}"] = views[f"Kb{i}"][:, :-1].reshape(arrays[f"K{i}"].shape)
            views[f"b{i}"] = views[f"Kb{i}"][:, -1]
    inward = np.empty((*x.shape[1:], B), dtype)
    layers: list[Any] = []
    shape = inward.shape
    for i in "12":
        conv = Conv2d(P[f"Kb{i}"], G[f"Kb{i}"], shape, first=i == "1")
        pool = PoolRelu(conv.y.shape, dtype)
        layers += [conv, pool]
        shape = pool.y.shape
    linear: Any = Linear(P, G, "3", B)
    last = CrossEntropy(y, len(P["b3"]), dtype)
    rows, grows = np.empty((B, P["W3"].shape[1]), dtype), np.empty(shape, dtype)

    def gradients() -> Any:
        inward[...] = x.transpose(1, 2, 3, 0)
        h = inward
        for layer in layers:
            h = layer.forward(h)
        rows[...] = h.reshape(-1, B).T
        loss = last.forward(linear.forward(rows))
        grows.reshape(-1, B)[...] = linear.backward(last.gz).T
        g = grows
        for layer in reversed(layers):
            g = layer.backward(g)
        return loss

    return ByHand(parameters, gradients)


def transformer(arrays: Arrays, dtype: str, x: np.ndarray, y: np.ndarray) -> ByHand:
    parameters = Parameters(arrays, dtype)
    P, G = parameters.P, parameters.G
    (V, D), (B, T) = P["embedding"].shape, x.shape
    N = B * T
    branches: list[list[Any]] = []
    for i in range(LAYERS):
        qkv, up = Linear(P, G, f"{i}qkv", N), Linear(P, G, f"{i}up", N)
        attended, bent = Attention(B, D, dtype), Gelu(up.y.shape, dtype)
        branches += [
            [LayerNorm(P, G, f"{i}attention", N), qkv, attended, Linear(P, G, f"{i}out", N)],
            [LayerNorm(P, G, f"{i}mlp", N), up, bent, Linear(P, G, f"{i}down", N)],
        ]
    head: list[Any] = [LayerNorm(P, G, "last", N), Linear(P, G, "characters", N)]
    last = CrossEntropy(y, V, dtype)
    h, gh = np.empty((N, D), dtype), np.empty((N, D), dtype)
    places, chosen = np.arange(N), np.empty((V, N), dtype)

    def gradients() -> Any:
        np.take(P["embedding"], x, 0, h.reshape(B, T, D), "clip")
        np.add(h.reshape(B, T, D), P["position"], h.reshape(B, T, D))
        for branch in branches:
            a = h
            for layer in branch:
                a = layer.forward(a)
            np.add(h, a, h)
        loss = last.forward(head[1].forward(head[0].forward(h)))
        gh[...] = head[0].backward(head[1].backward(last.gz))
        for branch in reversed(branches):
            g = gh
            for layer in reversed(branch):
                g = layer.backward(g)
            np.add(gh, g, gh)
        chosen.fill(0)
        chosen[x.reshape(-1), places] = 1  # a matrix product: np.add.at, which adds row by row, is slower
        np.dot(chosen, gh, G["embedding"])
        np.add.reduce(gh.reshape(B, T, D), 0, None, G["position"])
        return loss

    return ByHand(parameters, gradients)


def moons(P: Arrays, points: np.ndarray) -> tuple[Any, Arrays]:
    numbers, x, sign = P["numbers"], points[:, :2], points[:, 2:]
    rows, k, hs = [], 0, [x]
    for n_in, n_out in pairwise(WIDTHS):
        rows.append(numbers[k : k + n_out * (n_in + 1)].reshape(n_out, -1))  # a neuron's weights, then its bias
        k += rows[-1].size
        h = hs[-1] @ rows[-1][:, :-1].T + rows[-1][:, -1]
        hs.append(np.maximum(h, 0) if n_out > 1 else h)
    doubt = np.maximum(1 - hs.pop() * sign, 0)
    gh, gs = (doubt > 0) * -sign / len(points), []
    for row, h in zip(reversed(rows), reversed(hs)):
        gs.append(np.column_stack([gh.T @ h, gh.sum(0)]).ravel())
        gh = gh @ row[:, :-1] * (h > 0)
    return doubt.mean() + 1e-4 * numbers @ numbers, {"numbers": np.concatenate(gs[::-1]) + 2e-4 * numbers}


BY_HAND = {f.__name__: f for f in (chain, tiny, mlp, smooth_mlp, cnn, transformer)}
