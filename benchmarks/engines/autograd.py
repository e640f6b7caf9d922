"""HIPS autograd: functions of arrays, differentiated by tracing. Missing functions are composed of existing ones."""

from __future__ import annotations

from typing import Any

import autograd
import autograd.numpy as anp
import numpy as np
from autograd.core import make_vjp

from ..workloads import Workload
from . import Run
from .parameters import UPDATES


class Autograd:
    tanh, sum = staticmethod(anp.tanh), staticmethod(anp.sum)
    reshape, permute = staticmethod(anp.reshape), staticmethod(anp.transpose)

    def sigmoid(self, x: Any) -> Any:
        return 0.5 * anp.tanh(0.5 * x) + 0.5

    def relu(self, x: Any) -> Any:
        return anp.maximum(x, 0)

    def linear(self, x: Any, W: Any, b: Any = None) -> Any:
        return anp.dot(x, W.T) if b is None else anp.dot(x, W.T) + b

    def mse_loss(self, x: Any, y: Any) -> Any:
        return anp.mean((x - y) ** 2)

    def cross_entropy(self, z: Any, y: Any) -> Any:
        chosen = np.eye(z.shape[1], dtype=z.dtype)[y]  # the gradient of indexing, np.add.at, is slower
        z = z - anp.max(z, 1, keepdims=True)
        return anp.mean(anp.log(anp.sum(anp.exp(z), 1)) - anp.sum(z * chosen, 1))

    def conv2d(self, x: Any, K: Any, b: Any) -> Any:
        (B, C, H, W), (out, _, a, c) = x.shape, K.shape
        windows = [x[:, :, i : i + H - a + 1, j : j + W - c + 1] for i in range(a) for j in range(c)]
        columns = anp.reshape(anp.concatenate(windows, 1), (B, a * c * C, -1))
        kernel = anp.reshape(anp.transpose(K, (0, 2, 3, 1)), (out, -1))
        return anp.reshape(anp.matmul(kernel, columns), (B, out, H - a + 1, W - c + 1)) + b[:, None, None]

    def max_pool2d(self, x: Any, size: int) -> Any:
        B, C, H, W = x.shape
        H, W = H // size, W // size
        x = x[:, :, : size * H, : size * W]
        return anp.max(anp.max(anp.reshape(x, (B, C, H, size, W, size)), 5), 3)

    def embedding(self, x: Any, W: Any) -> Any:
        return anp.reshape(anp.dot(np.eye(len(W), dtype=W.dtype)[x.reshape(-1)], W), (*x.shape, -1))

    def layer_norm(self, x: Any, shape: tuple[int, ...], gain: Any, bias: Any) -> Any:
        centred = x - anp.mean(x, -1, keepdims=True)
        return centred / anp.sqrt(anp.mean(centred * centred, -1, keepdims=True) + 1e-5) * gain + bias

    def gelu(self, x: Any) -> Any:
        return 0.5 * x * (1 + anp.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))

    def unbind(self, x: Any) -> Any:
        return x[0], x[1], x[2]

    def attention(self, q: Any, k: Any, v: Any) -> Any:
        T, d = q.shape[-2:]
        later = np.triu(np.full((T, T), -1e30, "f4"), 1)
        s = anp.matmul(q, anp.swapaxes(k, -1, -2)) * d**-0.5 + later
        p = anp.exp(s - anp.max(s, -1, keepdims=True))
        return anp.matmul(p / anp.sum(p, -1, keepdims=True), v)

    def training(self, workload: Workload) -> Run:
        batch, P = workload.arrays()
        gradients = autograd.value_and_grad(lambda P: workload.loss(self, **batch, **dict(P.items())))
        updates = {name: UPDATES[workload.update](p, workload.lr) for name, p in P.items()} if workload.update else {}

        def step() -> None:
            _, G = gradients(P)
            for name, update in updates.items():
                update(G[name])

        return Run({"step": step}, lambda: gradients(P))

    def large(self, workload: Workload) -> Run:
        run = self.training(workload)
        batch, P = workload.arrays()
        return Run({"forward": lambda: workload.loss(self, **batch, **P), "gradient": run.stages["step"]}, run.answer)

    def hvp(self, workload: Workload) -> Run:
        batch, P = workload.arrays()
        V = workload.vectors()

        def loss(P: Any) -> Any:
            return workload.loss(self, **batch, **dict(P.items()))

        gradient = autograd.grad(loss)

        def along(P: Any) -> Any:
            G = gradient(P)
            return sum(anp.sum(G[name] * v) for name, v in V.items())

        product = autograd.grad(along)
        return Run({"product": lambda: product(P)}, lambda: (loss(P), product(P)))

    def graph(self, workload: Workload) -> Run:
        numbers = tuple(workload.arrays()[1]["numbers"].tolist())
        built: list[Any] = []

        def build() -> None:
            built[:] = make_vjp(lambda numbers: workload.loss(self, numbers), numbers)

        def backward() -> Any:
            return built[0](1.0)

        def answer() -> Any:
            build()
            return built[1], {"numbers": np.array(backward())}

        return Run({"build": build, "backward": backward}, answer)
