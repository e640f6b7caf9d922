"""What recurrent layers and cells have in common: the op of each, and how it is called."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import functional, ops

OPS: dict[str, Any] = {"tanh": ops.Elman, "relu": ops.ElmanRelu, "lstm": ops.Lstm, "gru": ops.Gru}
STATES = {kind: op.states for kind, op in OPS.items()}  # how many states each has


class Weights(NamedTuple):
    """Of one layer in one direction: W of the input, U of the state before, and their biases, or None."""

    W: Any
    U: Any
    b: Any
    c: Any


def states_after(kind: str, x: Any, weights: Weights, start: Any, batch_sizes: tuple[int, ...] | None = None) -> Any:
    """The states (S, T, N, H) after each element of x (T, N, features), from start (S, N, H).

    What the input says to the gates is one product for all steps, and only what the state says is left to the loop.
    """
    W, U, b, c = weights
    op = OPS[kind](batch_sizes)
    if b is None:
        return functional.linear(x, W).apply(op, U, start)
    if kind == "gru":
        return functional.linear(x, W, b).apply(op, U, start, c)
    return functional.linear(x, W, b + c).apply(op, U, start)
