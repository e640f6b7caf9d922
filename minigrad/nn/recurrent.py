"""Recurrent layers: a state that each element of a sequence changes.

    RNN     h' = tanh(W x + b + U h + c)
    GRU     h' = (1 − z) n + z h
    LSTM    c' = f c + i g,  h' = o tanh c'

A batch of sequences is run as a packed one (utils/rnn.py): at step t the first `batch_sizes[t]` sequences are still
there. Where all are of one length, that is the whole batch at every step.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .. import functional
from ..device import Device
from ..errors import ShapeError
from ..functions.face import operand
from ..functions.movement import cat, stack
from . import init
from .linear import uniform_of_fan
from .module import Module
from .parameter import parameter
from .steps import STATES, STEPS
from .utils.rnn import PackedSequence


class Recurrent(Module):
    """Layers of recurrent cells, one on the outputs of the other.

    weight_ih_l0, …    W (gates · hidden_size, input_size), of the gates one below the other; from layer 1 on the
                       input is the outputs of the layer below
    weight_hh_l0, …    U (gates · hidden_size, hidden_size)
    bias_ih_l0, …      b (gates · hidden_size,); None of them without bias
    bias_hh_l0, …      c, likewise
    …_reverse          those of the direction from the end, if bidirectional

    All are from U(−1/√hidden_size, 1/√hidden_size).
    """

    gates: ClassVar[int]
    kind: ClassVar[str]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        *,
        device: Device | str | None = None,
        dtype: Any = None,
        rng: np.random.Generator | None = None,
    ):
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout, self.bidirectional = bias, batch_first, dropout, bidirectional
        rows = self.gates * hidden_size
        for layer in range(num_layers):
            below = hidden_size * self._directions if layer else input_size
            for suffix in self._suffixes(layer):
                shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, below), "weight_hh": (rows, hidden_size)}
                shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)} if bias else {}
                for name, shape in shapes.items():
                    setattr(self, name + suffix, parameter(*shape, dtype=dtype, device=device))
        self.reset_parameters(rng)

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _suffixes(self, layer: int) -> tuple[str, ...]:
        return (f"_l{layer}", f"_l{layer}_reverse")[: self._directions]

    def reset_parameters(self, rng: np.random.Generator | None = None) -> None:
        """Draw every weight and bias anew."""
        rng = init.source(rng)
        for p in self.parameters():
            uniform_of_fan(self.hidden_size, p, None, rng)

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """The outputs of the last layer, and the states each layer ends with.

        input     (T, N, input_size), or (N, T, input_size) with batch_first; (T, input_size) of one sequence; or packed
        hx        the states at the start, (num_layers · directions, N, hidden_size); zeros if None

        Outputs have hidden_size · directions features, and otherwise input's form; states have that of hx.
        """
        if isinstance(input, PackedSequence):
            states = self._states(input.data, input.batch_sizes[0], hx, input.sorted_indices)
            data, ends = self._run(input.data, input.batch_sizes, states)
            return input._replace(data=data), self._result(ends, input.unsorted_indices)

        x = operand(input)
        if x.ndim not in (2, 3) or x.shape[-1] != self.input_size:
            order = "N, T" if self.batch_first else "T, N"
            raise ShapeError(f"{self} needs x ({order}, {self.input_size}) or (T, {self.input_size}), and got {x.spec}")
        alone = x.ndim == 2
        if alone:
            x = x.unsqueeze(1)
            hx = None if hx is None else tuple(operand(h).unsqueeze(1) for h in self._tuple(hx))
        elif self.batch_first:
            x = x.swapaxes(0, 1)
        T, N, features = x.shape  # time, batch
        if not T:
            raise ShapeError(f"{self} needs a sequence of at least one element, and got {operand(input).spec}")
        data, ends = self._run(x.reshape(T * N, features), [N] * T, self._states(x, N, hx, None))
        y = data.reshape(T, N, data.shape[-1])
        if alone:
            return y.squeeze(1), self._result([h.squeeze(1) for h in ends], None)
        return y.swapaxes(0, 1) if self.batch_first else y, self._result(ends, None)

    def _run(self, data: Any, batch_sizes: list[int], states: list[Any]) -> tuple[Any, list[Any]]:
        """Outputs of the last layer, packed, and the states at the end: (num_layers · directions, N, hidden_size)."""
        ends = []
        for layer in range(self.num_layers):
            outputs = []
            for d, suffix in enumerate(self._suffixes(layer)):
                row = layer * self._directions + d
                y, end = self._pass(data, batch_sizes, [h[row] for h in states], suffix, backwards=d == 1)
                outputs.append(y)
                ends.append(end)
            data = outputs[0] if len(outputs) == 1 else cat(outputs, 1)
            if layer < self.num_layers - 1:
                data = functional.dropout(data, self.dropout, self.training)
        return data, [stack(list(of_layers)) for of_layers in zip(*ends)]

    def _pass(
        self, data: Any, batch_sizes: list[int], start: list[Any], suffix: str, backwards: bool
    ) -> tuple[Any, list[Any]]:
        """One layer in one direction: outputs, packed, and the states at each sequence's end."""
        W, U = getattr(self, "weight_ih" + suffix), getattr(self, "weight_hh" + suffix)
        b, c = (getattr(self, name + suffix) if self.bias else None for name in ("bias_ih", "bias_hh"))
        gates = functional.linear(data, W, b)  # of every step at once: one product
        step, UT = STEPS[self.kind], U.T
        each = pieces(gates, batch_sizes)
        n = batch_sizes[-1 if backwards else 0]
        state, ended, outputs = [h[:n] for h in start], [], []
        for t in reversed(range(len(batch_sizes))) if backwards else range(len(batch_sizes)):
            m = batch_sizes[t]
            if m < n:  # the shorter sequences have ended
                ended.append([h[m:] for h in state])
                state = [h[:m] for h in state]
            elif m > n:  # they begin, from the end
                state = [cat([h, h0[n:m]]) for h, h0 in zip(state, start)]
            n = m
            state = step(each[t], state, UT, c)
            outputs.append(state[0])
        if backwards:
            outputs.reverse()
        if ended:
            state = [cat(list(parts)) for parts in zip(state, *reversed(ended))]
        return cat(outputs), state

    def _tuple(self, hx: Any) -> tuple[Any, ...]:
        return tuple(hx) if STATES[self.kind] > 1 else (hx,)

    def _states(self, x: Any, N: int, hx: Any, order: Any) -> list[Any]:
        """The states at the start, each (num_layers · directions, N, hidden_size), in the order of a packed batch."""
        shape = (self.num_layers * self._directions, N, self.hidden_size)
        if hx is None:
            return [x.lift(np.zeros(shape, x.dtype))] * STATES[self.kind]
        states = [x.lift(h) for h in self._tuple(hx)]
        if len(states) != STATES[self.kind] or any(h.shape != shape for h in states):
            got = ", ".join(str(h.spec) for h in states)
            raise ShapeError(f"{type(self).__name__} starts from {STATES[self.kind]} of states {shape}, and got {got}")
        return states if order is None else [h[:, order] for h in states]

    def _result(self, ends: list[Any], order: Any) -> Any:
        ends = ends if order is None else [h[:, order] for h in ends]
        return tuple(ends) if STATES[self.kind] > 1 else ends[0]

    def extra_repr(self) -> str:
        options = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        said = [f"{name}={getattr(self, name)}" for name, usual in options.items() if getattr(self, name) != usual]
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *said])


class RNN(Recurrent):
    """h' = tanh(W x + b + U h + c), or relu in place of tanh; the output is h'.

    Elman 1990, “Finding Structure in Time”. Parameters and shapes: see Recurrent.
    """

    gates = 1

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", **options: Any
    ):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"RNN's nonlinearity is 'tanh' or 'relu', and got {nonlinearity!r}")
        self.nonlinearity = nonlinearity
        super().__init__(input_size, hidden_size, num_layers, **options)

    @property
    def kind(self) -> str:  # type: ignore[override]
        return self.nonlinearity


class LSTM(Recurrent):
    """c' = f c + i g,  h' = o tanh c'; i, f, o = σ and g = tanh of W x + b + U h + c, a quarter each, as i f g o.

    The output is h'; states are the two (h, c). Hochreiter & Schmidhuber 1997, “Long Short-Term Memory”, with the
    forget gate of Gers et al. 2000. Parameters and shapes: see Recurrent.
    """

    gates, kind = 4, "lstm"


class GRU(Recurrent):
    """h' = (1 − z) n + z h;  r, z = σ(W x + b + U h + c),  n = tanh(W x + b + r (U h + c)), in the order r z n.

    The output is h'. Cho et al. 2014, “Learning Phrase Representations using RNN Encoder–Decoder”, eq. 5 to 8; r is
    applied after the product with U. Parameters and shapes: see Recurrent.
    """

    gates, kind = 3, "gru"


def pieces(x: Any, lengths: list[int]) -> list[Any]:
    """x cut into pieces of those lengths: in four, and each of these in four again.

    The gradient of a piece is as long as what it was cut from. Cut all at once, T pieces would cost T² in backward.
    """
    if len(lengths) == 1:
        return [x]
    n = -(-len(lengths) // 4)
    groups = [lengths[i : i + n] for i in range(0, len(lengths), n)]
    parts = x.split([sum(group) for group in groups])
    return [piece for part, group in zip(parts, groups) for piece in pieces(part, group)]
