"""The workloads: each a loss of named arrays, written once for every engine.

A loss receives the engine as `e`, whose functions are PyTorch's (weights are (out, in), as there), then the batch and
the parameters by their names. Arrays are float32, the scalars float64.

chain          1000 elementwise ops on 10 numbers: only the overhead of ops
tiny           MLP 2-16-16-1, batch 32, plain gradient descent: a lesson's network
mlp            MLP 784-256-128-10, batch 64, Adam: mostly matrix products
cnn            two convolutions and a linear layer, batch 64, Adam: LeNet's plan (LeCun et al. 1998)
transformer    two pre-norm layers of width 64 with 4 heads, 64 characters, batch 8, Adam
hvp            Hessian times vector of the mlp, with tanh: backward of backward
fused          Σ sigmoid(a x + b) tanh(c x) + x² of ten million numbers: memory traffic between ops
softmax, layernorm
               of 8192 rows of 1024, weighted and summed: rows are read more than once
scalars        an MLP 2-16-16-1 of single numbers on 100 points of two moons: 65,000 of the smallest possible ops
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np

CHAIN_OPS = 1000
WIDTHS = (2, 16, 16, 1)
POINTS = 100
NUMBERS, ROWS, COLUMNS = 10_000_000, 8192, 1024
A, B, C = 1.3, -0.2, 0.7
LAYERS, HEADS, LENGTH, WIDTH, CHARACTERS, SEQUENCES = 2, 4, 64, 64, 65, 8

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Workload:
    """A computation, and the unit of its time.

    data         rng → (the batch, the parameters)
    loss         (e, **batch, **parameters) → the loss
    kind         the method of an engine that runs it
    update       the optimiser's name; None if only gradients are wanted
    lr           small, so that a thousand timed steps hardly change the numbers
    per          divisor of a step's time
    tolerance    of each gradient's relative error
    """

    name: str
    about: str
    data: Callable[[np.random.Generator], tuple[Arrays, Arrays]]
    loss: Callable[..., Any]
    kind: str = "training"
    update: str | None = None
    lr: float = 1e-5
    per: int = 1
    unit: str = "ms"
    tolerance: float = 1e-3  # float32 after a thousand ops; a wrong rule is off by more than 1e-1

    def arrays(self) -> tuple[Arrays, Arrays]:
        """The same batch and parameters for every engine."""
        return self.data(np.random.default_rng([*map(ord, self.name)]))

    def vectors(self) -> Arrays:
        """A direction for each parameter, for Hessian times vector."""
        rng = np.random.default_rng(1)
        return {name: normal(rng, *p.shape, fan_in=p.size) for name, p in self.arrays()[1].items()}


def normal(rng: np.random.Generator, *shape: int, fan_in: int) -> np.ndarray:
    """N(0, 1 / fan_in), as float32."""
    return (rng.standard_normal(shape) / sqrt(fan_in)).astype("f4")


def layers(rng: np.random.Generator, *widths: int) -> Arrays:
    """W1 (out, in) and b1, W2 and b2, … of linear layers."""
    arrays: Arrays = {}
    for i, (n_in, n_out) in enumerate(pairwise(widths), 1):
        arrays |= {f"W{i}": normal(rng, n_out, n_in, fan_in=n_in), f"b{i}": normal(rng, n_out, fan_in=100)}
    return arrays


def chain_data(rng: np.random.Generator) -> tuple[Arrays, Arrays]:
    # Close to the identity, so that gradients neither vanish nor explode: arithmetic on denormals is slow.
    between = {"h": (-1, 1), "scale": (0.995, 1.005), "shift": (-1e-3, 1e-3)}
    return {}, {name: rng.uniform(*bounds, 10).astype("f4") for name, bounds in between.items()}


def chain(e: Any, h: Any, scale: Any, shift: Any) -> Any:
    tanh = e.tanh
    for i in range(CHAIN_OPS):
        h = h * scale if i % 3 == 0 else h + shift if i % 3 == 1 else tanh(h)
    return e.sum(h)


def tiny_data(rng: np.random.Generator) -> tuple[Arrays, Arrays]:
    x = rng.standard_normal((32, 2)).astype("f4")
    return {"x": x, "y": np.sin(3 * x[:, :1]) * x[:, 1:]}, layers(rng, *WIDTHS)


def tiny(e: Any, x: Any, y: Any, W1: Any, b1: Any, W2: Any, b2: Any, W3: Any, b3: Any) -> Any:
    h = e.relu(e.linear(x, W1, b1))
    h = e.relu(e.linear(h, W2, b2))
    return e.mse_loss(e.linear(h, W3, b3), y)


def mlp_data(rng: np.random.Generator) -> tuple[Arrays, Arrays]:
    return {"x": normal(rng, 64, 784, fan_in=1), "y": rng.integers(0, 10, 64)}, layers(rng, 784, 256, 128, 10)


def mlp(e: Any, x: Any, y: Any, W1: Any, b1: Any, W2: Any, b2: Any, W3: Any, b3: Any) -> Any:
    h = e.relu(e.linear(x, W1, b1))
    h = e.relu(e.linear(h, W2, b2))
    return e.cross_entropy(e.linear(h, W3, b3), y)


def smooth_mlp(e: Any, x: Any, y: Any, W1: Any, b1: Any, W2: Any, b2: Any, W3: Any, b3: Any) -> Any:
    h = e.tanh(e.linear(x, W1, b1))
    h = e.tanh(e.linear(h, W2, b2))
    return e.cross_entropy(e.linear(h, W3, b3), y)


def cnn_data(rng: np.random.Generator) -> tuple[Arrays, Arrays]:
    parameters = {
        "K1": normal(rng, 8, 1, 3, 3, fan_in=9), "b1": normal(rng, 8, fan_in=100),
        "K2": normal(rng, 16, 8, 3, 3, fan_in=72), "b2": normal(rng, 16, fan_in=100),
        "W3": normal(rng, 10, 400, fan_in=400), "b3": normal(rng, 10, fan_in=100),
    }  # fmt: skip
    return {"x": normal(rng, 64, 1, 28, 28, fan_in=1), "y": rng.integers(0, 10, 64)}, parameters


def cnn(e: Any, x: Any, y: Any, K1: Any, b1: Any, K2: Any, b2: Any, W3: Any, b3: Any) -> Any:
    h = e.max_pool2d(e.relu(e.conv2d(x, K1, b1)), 2)  # 28 × 28 → 26 × 26 → 13 × 13
    h = e.max_pool2d(e.relu(e.conv2d(h, K2, b2)), 2)  # → 11 × 11 → 5 × 5
    return e.cross_entropy(e.linear(e.reshape(h, (-1, 400)), W3, b3), y)


def transformer_data(rng: np.random.Generator) -> tuple[Arrays, Arrays]:
    D = WIDTH
    parameters = {"embedding": normal(rng, CHARACTERS, D, fan_in=25), "position": normal(rng, LENGTH, D, fan_in=25)}
    for i in range(LAYERS):
        for name, n_in, n_out in [("qkv", D, 3 * D), ("out", D, D), ("up", D, 4 * D), ("down", 4 * D, D)]:
            parameters[f"W{i}{name}"] = normal(rng, n_out, n_in, fan_in=n_in)
            parameters[f"b{i}{name}"] = normal(rng, n_out, fan_in=100)
    for norm in [*(f"{i}{name}" for i in range(LAYERS) for name in ("attention", "mlp")), "last"]:
        parameters[f"gain{norm}"] = 1 + normal(rng, D, fan_in=100)
        parameters[f"bias{norm}"] = normal(rng, D, fan_in=100)
    parameters["Wcharacters"] = normal(rng, CHARACTERS, D, fan_in=D)
    batch = {name: rng.integers(0, CHARACTERS, (SEQUENCES, LENGTH)) for name in "xy"}
    return batch | {"y": batch["y"].reshape(-1)}, parameters


def transformer(e: Any, x: Any, y: Any, **p: Any) -> Any:
    """Vaswani et al. 2017, with the norms first (Xiong et al. 2020) and GELU in its tanh form, as in GPT-2."""
    (B, T), D = x.shape, WIDTH

    def norm(h: Any, name: str) -> Any:
        return e.layer_norm(h, (D,), p[f"gain{name}"], p[f"bias{name}"])

    def linear(h: Any, name: str) -> Any:
        return e.linear(h, p[f"W{name}"], p[f"b{name}"])

    h = e.embedding(x, p["embedding"]) + p["position"]
    for i in range(LAYERS):
        qkv = e.reshape(linear(norm(h, f"{i}attention"), f"{i}qkv"), (B, T, 3, HEADS, D // HEADS))
        q, k, v = e.unbind(e.permute(qkv, (2, 0, 3, 1, 4)))  # each (B, heads, T, D / heads)
        a = e.permute(e.attention(q, k, v), (0, 2, 1, 3))
        h = h + linear(e.reshape(a, (B, T, D)), f"{i}out")
        h = h + linear(e.gelu(linear(norm(h, f"{i}mlp"), f"{i}up")), f"{i}down")
    logits = e.linear(norm(h, "last"), p["Wcharacters"])
    return e.cross_entropy(e.reshape(logits, (B * T, CHARACTERS)), y)


def fused_data(rng: np.random.Generator) -> tuple[Arrays, Arrays]:
    return {}, {"x": rng.standard_normal(NUMBERS, "f4")}


def fused(e: Any, x: Any) -> Any:
    return e.sum(e.sigmoid(A * x + B) * e.tanh(C * x) + x * x)


def matrix_data(rng: np.random.Generator) -> tuple[Arrays, Arrays]:
    """x, and the weight of each result."""
    x, w = (rng.standard_normal((ROWS, COLUMNS), "f4") for _ in "xw")
    return {"w": w}, {"x": 2 * x}


def softmax(e: Any, w: Any, x: Any) -> Any:
    return e.sum(e.softmax(x, -1) * w)


def layernorm_data(rng: np.random.Generator) -> tuple[Arrays, Arrays]:
    batch, parameters = matrix_data(rng)
    gain, bias = 1 + normal(rng, COLUMNS, fan_in=100), normal(rng, COLUMNS, fan_in=100)
    return batch, parameters | {"gain": gain, "bias": bias}


def layernorm(e: Any, w: Any, x: Any, gain: Any, bias: Any) -> Any:
    return e.sum(e.layer_norm(x, (COLUMNS,), gain, bias) * w)


def scalars_data(rng: np.random.Generator) -> tuple[Arrays, Arrays]:
    from minigrad.data import moons

    x, y = moons(POINTS)
    count = sum((i + 1) * o for i, o in pairwise(WIDTHS))
    return {"points": np.column_stack([x, 2.0 * y - 1])}, {"numbers": rng.uniform(-1, 1, count)}


def scalars(e: Any, points: list[list[float]], numbers: list[Any]) -> Any:
    """Mean hinge loss, and 1e-4 of the sum of squares; each neuron's numbers are its weights, then its bias."""
    relu = e.relu
    total: Any = None
    for *h, sign in points:
        k = 0
        for n_in, n_out in pairwise(WIDTHS):
            out = []
            for _ in range(n_out):
                a = numbers[k + n_in]
                for w, x in zip(numbers[k : k + n_in], h):
                    a = a + w * x
                out.append(relu(a) if n_out > 1 else a)
                k += n_in + 1
            h = out
        doubt = relu(h[0] * -sign + 1.0)
        total = doubt if total is None else total + doubt
    squares = numbers[0] * numbers[0]
    for w in numbers[1:]:
        squares = squares + w * w
    return total * (1 / len(points)) + squares * 1e-4


TABLE = [
    Workload("chain", "1000 ops on 10 numbers, an op", chain_data, chain, per=CHAIN_OPS, unit="µs"),
    Workload("tiny", "MLP 2-16-16-1, batch 32, a step", tiny_data, tiny, update="sgd", unit="µs"),
    Workload("mlp", "MLP 784-256-128-10, batch 64, Adam, a step", mlp_data, mlp, update="adam"),
    Workload("cnn", "LeNet-like, batch 64, Adam, a step", cnn_data, cnn, update="adam"),
    Workload("transformer", "2 layers of 64, 8 × 64 characters, Adam", transformer_data, transformer, update="adam"),
    Workload("hvp", "Hessian × vector of the MLP, tanh", mlp_data, smooth_mlp, kind="hvp"),
    Workload("fused", "Σ sigmoid(a x + b) tanh(c x) + x², 10 million", fused_data, fused, "large"),
    Workload("softmax", "8192 rows of 1024", matrix_data, softmax, "large"),
    Workload("layernorm", "8192 rows of 1024", layernorm_data, layernorm, "large"),
    Workload("scalars", "MLP of numbers, 100 points", scalars_data, scalars, "scalars", "sgd", tolerance=1e-9),
]
WORKLOADS = {workload.name: workload for workload in TABLE}
