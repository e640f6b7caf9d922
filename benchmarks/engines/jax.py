"""JAX, compiled by XLA: a whole training step as one function, with its old parameters donated."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.example_libraries import optimizers

from ..workloads import Arrays, Workload
from . import Run

OPTIMISERS = {"sgd": optimizers.sgd, "adam": optimizers.adam}


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
    softmax, unbind = staticmethod(jax.nn.softmax), staticmethod(tuple)

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

    def run(self, stages: dict[str, Any], gradients: Any, given: Callable[[], Any]) -> Run:
        """A Run of compiled stages, whose answer is the compiled `gradients` of what is given."""

        def answer() -> tuple[float, Arrays]:
            value, G = gradients(*given())
            return float(value), {name: np.asarray(g) for name, g in G.items()}

        return Run(
            {name: lambda f=f: self.waited(f(*given())) for name, f in stages.items()}, answer, finish=self.finish
        )

    def training(self, workload: Workload) -> Run:
        batch, P, loss = self.given(workload)
        gradients = jax.value_and_grad(loss)
        compiled = jax.jit(gradients)
        if workload.update is None:
            return self.run({"step": compiled}, compiled, lambda: (P, batch))
        start, update, parameters = OPTIMISERS[workload.update](workload.lr)

        def updated(t: Any, kept: Any, batch: Any) -> Any:
            value, G = gradients(parameters(kept), batch)
            return value, t + 1, update(t, G, kept)

        one, state = jax.jit(updated, donate_argnums=(0, 1)), [0, start(P)]

        def step() -> None:
            _, *state[:] = self.waited(one(*state, batch))

        run = self.run({}, compiled, lambda: (parameters(state[1]), batch))
        run.stages["step"] = step
        return run

    def large(self, workload: Workload) -> Run:
        batch, P, loss = self.given(workload)
        gradients = jax.jit(jax.value_and_grad(loss))
        return self.run({"forward": jax.jit(loss), "gradient": gradients}, gradients, lambda: (P, batch))

    def hvp(self, workload: Workload) -> Run:
        batch, P, loss = self.given(workload)
        V = {name: jnp.asarray(v) for name, v in workload.vectors().items()}

        def product(P: Any, batch: Any) -> Any:
            (value, _), (_, along) = jax.jvp(lambda P: jax.value_and_grad(loss)(P, batch), (P,), (V,))
            return value, along

        compiled = jax.jit(product)
        return self.run({"product": compiled}, compiled, lambda: (P, batch))
