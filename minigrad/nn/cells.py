"""Recurrent cells: one step of a layer, for loops that are written by hand."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..device import Device
from ..errors import ShapeError
from ..functions.creation import zeros
from ..functions.face import operand
from ..functions.movement import stack
from ..tensor import Tensor
from . import init
from .linear import uniform_of_fan
from .module import Module
from .parameter import parameter
from .steps import STATES, Weights, states_after


class Cell(Module):
    """One step.

    weight_ih    W (gates · hidden_size, input_size)
    weight_hh    U (gates · hidden_size, hidden_size)
    bias_ih      b (gates · hidden_size,); None without
    bias_hh      c, likewise
    """

    gates: ClassVar[int]
    kind: ClassVar[str]
    bias_ih: Tensor | None
    bias_hh: Tensor | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        *,
        device: Device | str | None = None,
        dtype: Any = None,
        rng: np.random.Generator | None = None,
    ):
        self.input_size, self.hidden_size = input_size, hidden_size
        rows, where = self.gates * hidden_size, {"device": device, "dtype": dtype}
        self.weight_ih = parameter(rows, input_size, **where)
        self.weight_hh = parameter(rows, hidden_size, **where)
        self.register_parameter("bias_ih", parameter(rows, **where) if bias else None)
        self.register_parameter("bias_hh", parameter(rows, **where) if bias else None)
        self.reset_parameters(rng)

    def reset_parameters(self, rng: np.random.Generator | None = None) -> None:
        """Draw every weight and bias anew."""
        rng = init.source(rng)
        for p in self.parameters():
            uniform_of_fan(self.hidden_size, p, None, rng)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The state after input (N, input_size) or (input_size,); hx has hidden_size in its place, zeros if None."""
        x = operand(input)
        if x.ndim not in (1, 2) or x.shape[-1] != self.input_size:
            raise ShapeError(f"{self} needs x (N, {self.input_size}) or ({self.input_size},), and got {x.spec}")
        shape = (*x.shape[:-1], self.hidden_size)
        if hx is None:
            states = [zeros(shape, dtype=x.dtype, device=x.spec.device)] * STATES[self.kind]
        else:
            states = [x.lift(h) for h in (hx if STATES[self.kind] > 1 else (hx,))]
        if len(states) != STATES[self.kind] or any(h.shape != shape for h in states):
            got = ", ".join(str(h.spec) for h in states)
            raise ShapeError(f"{self} takes {STATES[self.kind]} of states {shape} beside {x.spec}, and got {got}")
        start = stack(states).reshape(len(states), -1, self.hidden_size)
        weights = Weights(self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        after = states_after(self.kind, x.reshape(1, -1, self.input_size), weights, start)
        states = after.reshape(len(states), *shape).unbind(0)
        return states if len(states) > 1 else states[0]

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}{'' if self.bias_ih is not None else ', bias=False'}"


class RNNCell(Cell):
    """h' = tanh(W x + b + U h + c), or relu in place of tanh."""

    gates = 1

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", **options: Any
    ):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"RNNCell's nonlinearity is 'tanh' or 'relu', and got {nonlinearity!r}")
        self.nonlinearity = nonlinearity
        super().__init__(input_size, hidden_size, bias, **options)

    @property
    def kind(self) -> str:  # type: ignore[override]
        return self.nonlinearity


class LSTMCell(Cell):
    """(h', c'): see LSTM."""

    gates, kind = 4, "lstm"


class GRUCell(Cell):
    """h': see GRU."""

    gates, kind = 3, "gru"
