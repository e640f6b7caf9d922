"""JAX, compiled by XLA: a whole training step as one function, with its old parameters donated."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..workloads import Arrays, Workload
from . import Run


class Jax:
    """On one processor, by CPU affinity, the only limit that XLA's threads obey; or on a GPU, without TF32."""

    def __init__(self, device: str = "cpu"):
        if device not in ("cpu", jax.default_backend()):
            raise NotImplementedError(f"JAX {jax.__version__} finds no {device} here")
        if device == "cpu" and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        jax.config.update("jax_default_matmul_precision", "highest")
        self.waited = jax.block_until_ready if device == "cpu" else lambda y: y

    def finish(self) -> None:
        """Wait for a value computed after all queued work."""
        jax.block_until_ready(jnp.zeros(()) + 1)

    tanh, sum, reshape = staticmethod(jnp.tanh), staticmethod(jnp.sum), staticmethod(jnp.reshape)
    permute, relu, sigmoid = staticmethod(jnp.transpose), staticmethod(jax.nn.relu), staticmethod(jax.nn.sigmoid)
    gelu = staticmethod(jax.nn.gelu)  # its default is the tanh form
    softmax, logsumexp = staticmethod(jax.nn.softmax), staticmethod(jax.nn.logsumexp)
    unbind = staticmethod(tuple)

    def linear(self, x: Any, W: Any, b: Any = 0.0) -> Any:
        return x @ W.T + b

    def mse_loss(self, x: Any, y: Any) -> Any:
        return jnp.mean((x - y) ** 2)

    def cross_entropy(self, z: Any, y: Any) -> Any:
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(z), y[:, None], 1))

    def conv2d(self, x: Any, K: Any, b: Any) -> Any:
        return jax.lax.conv(x, K, (1, 1), "VALID") + b[:, None, None]

    def max_pool2d(self, x: Any, size: int) -> Any:
        window = (1, 1, size, size)
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, window, "VALID")

    def embedding(self, x: Any, W: Any) -> Any:
        return W[x]

    def layer_norm(self, x: Any, shape: tuple[int, ...], gain: Any, bias: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * gain + bias

    def attention(self, q: Any, k: Any, v: Any) -> Any:
        T, d = q.shape[-2:]
        s = q @ jnp.swapaxes(k, -1, -2) * d**-0.5
        return jax.nn.softmax(jnp.where(jnp.tri(T, dtype=bool), s, -jnp.inf)) @ v

    def given(self, workload: Workload) -> tuple[Any, Any, Callable[..., Any]]:
        batch, P = ({n: jnp.asarray(a) for n, a in arrays.items()} for arrays in workload.arrays())
        return batch, P, lambda P, batch: workload.loss(self, **batch, **P)

    def training(self, workload: Workload) -> Run:
        batch, P, loss = self.given(workload)
        gradients = jax.value_and_grad(loss)
        state = [P, UPDATES[workload.update].start(P)]

        def update(P: Any, kept: Any, batch: Any) -> Any:
            value, G = gradients(P, batch)
            return value, *UPDATES[workload.update].update(P, G, kept, workload.lr)

        compiled = jax.jit(update, donate_argnums=(0, 1))

        def step() -> None:
            _, *state[:] = self.waited(compiled(*state, batch))

        answer = self.answer(jax.jit(gradients), lambda: (state[0], batch))
        return Run({"step": step}, answer, finish=self.finish)

    def large(self, workload: Workload) -> Run:
        batch, P, loss = self.given(workload)
        forward, gradients = jax.jit(loss), jax.jit(jax.value_and_grad(loss))
        stages = {
            "forward": lambda: self.waited(forward(P, batch)),
            "gradient": lambda: self.waited(gradients(P, batch)),
        }
        return Run(stages, self.answer(gradients, lambda: (P, batch)), finish=self.finish)

    def hvp(self, workload: Workload) -> Run:
        batch, P, loss = self.given(workload)
        V = {name: jnp.asarray(v) for name, v in workload.vectors().items()}

        def product(P: Any, batch: Any) -> Any:
            (value, _), (_, along) = jax.jvp(lambda P: jax.value_and_grad(loss)(P, batch), (P,), (V,))
            return value, along

        compiled = jax.jit(product)
        stages = {"product": lambda: jax.block_until_ready(compiled(P, batch))}
        return Run(stages, self.answer(compiled, lambda: (P, batch)))

    def answer(self, gradients: Any, given: Callable[[], Any]) -> Callable[[], tuple[float, Arrays]]:
        def answer() -> tuple[float, Arrays]:
            value, G = gradients(*given())
            return float(value), {name: np.asarray(g) for name, g in G.items()}

        return answer


class Nothing:
    def start(self, P: Any) -> Any:
        return ()

    def update(self, P: Any, G: Any, kept: Any, lr: float) -> Any:
        return P, (G,)


class Descent(Nothing):
    def update(self, P: Any, G: Any, kept: Any, lr: float) -> Any:
        return {name: p - lr * G[name] for name, p in P.items()}, ()


class Adam:
    """Kingma & Ba 2015."""

    def start(self, P: Any) -> Any:
        return {name: (jnp.zeros_like(p), jnp.zeros_like(p)) for name, p in P.items()}, jnp.float32(0)

    def update(self, P: Any, G: Any, kept: Any, lr: float) -> Any:
        moments, t = kept[0], kept[1] + 1
        root = jnp.sqrt(1 - 0.999**t)
        new, kept = {}, {}
        for name, g in G.items():
            m, v = moments[name]
            m, v = m + 0.1 * (g - m), v + 0.001 * (g * g - v)
            new[name] = P[name] - lr * root / (1 - 0.9**t) * m / (jnp.sqrt(v) + 1e-8 * root)
            kept[name] = m, v
        return new, (kept, t)


UPDATES: dict[str | None, Any] = {None: Nothing(), "sgd": Descent(), "adam": Adam()}
