"""One step of each recurrent layer: gates of the input and the states → the states after it.

gates    W x + b (N, gates · hidden_size)
state    [h], or [h, c] of an LSTM; each (N, hidden_size)
UT, c    Uᵀ (hidden_size, gates · hidden_size), and the bias added to h Uᵀ, or None
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Step = Callable[[Any, list[Any], Any, Any], list[Any]]


def recalled(h: Any, UT: Any, c: Any) -> Any:
    """h Uᵀ + c"""
    return h @ UT if c is None else h @ UT + c


def tanh_step(gates: Any, state: list[Any], UT: Any, c: Any) -> list[Any]:
    """h' = tanh(gates + h Uᵀ + c)"""
    return [(gates + recalled(state[0], UT, c)).tanh()]


def relu_step(gates: Any, state: list[Any], UT: Any, c: Any) -> list[Any]:
    """h' = max(gates + h Uᵀ + c, 0)"""
    return [(gates + recalled(state[0], UT, c)).relu()]


def lstm_step(gates: Any, state: list[Any], UT: Any, bias: Any) -> list[Any]:
    """c' = f c + i g;  h' = o tanh c'"""
    h, c = state
    i, f, g, o = (gates + recalled(h, UT, bias)).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return [o.sigmoid() * c.tanh(), c]


def gru_step(gates: Any, state: list[Any], UT: Any, bias: Any) -> list[Any]:
    """h' = n + z (h − n)"""
    (h,) = state
    H = h.shape[-1]
    again = recalled(h, UT, bias)
    r, z = (gates[:, : 2 * H] + again[:, : 2 * H]).sigmoid().chunk(2, -1)
    n = (gates[:, 2 * H :] + r * again[:, 2 * H :]).tanh()
    return [n + z * (h - n)]


STEPS: dict[str, Step] = {"tanh": tanh_step, "relu": relu_step, "lstm": lstm_step, "gru": gru_step}
STATES = {"tanh": 1, "relu": 1, "lstm": 2, "gru": 1}  # how many states each has
