"""Recurrent layers, which update a state with each element of a sequence; and cells, which make one such step.

    RNN     h' = tanh(W x + b + U h + c)
    GRU     h' = (1 − z) n + z h
    LSTM    c' = f c + i g,  h' = o tanh c'

Each layer is one op on the whole sequence (engine/ops/recurrent.py). Packed sequences of different lengths
(utils/rnn.py) are padded for the op, which skips the padding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..api.functions.creation import zeros, zeros_like
from ..api.functions.movement import cat, pad, stack
from ..engine import ops
from ..engine.base.device import Device
from ..engine.base.errors import ShapeError
from ..engine.tensor.lift import operand
from ..engine.tensor.tensor import Tensor
from . import functional, init
from .linear import uniform_of_fan
from .module import Module
from .tree import parameter
from .utils.rnn import PackedSequence, packed_lengths

ELMAN = {"tanh": ops.Elman, "relu": ops.ElmanRelu}


class RecurrentBase(Module):
    """The common base of layers and cells: an op, four parameters for each layer and direction, and states.

    weight_ih    W (gates · hidden_size, features): all rows of the first gate, then of the second, …
    weight_hh    U (gates · hidden_size, hidden_size)
    bias_ih      b (gates · hidden_size,); None with bias=False
    bias_hh      c, likewise

    All are from U(−1/√hidden_size, 1/√hidden_size).
    """

    op: Any
    input_size: int
    hidden_size: int
    proj_size = 0
    bias_ih: Tensor | None

    def _use(self, nonlinearity: str) -> None:
        if nonlinearity not in ELMAN:
            raise ValueError(f"{type(self).__name__}'s nonlinearity must be 'tanh' or 'relu', got {nonlinearity!r}")
        self.nonlinearity, self.op = nonlinearity, ELMAN[nonlinearity]

    def _make(self, features: int, bias: bool, suffix: str = "", **where: Any) -> None:
        rows = self.op.gates * self.hidden_size
        self.register_parameter(f"weight_ih{suffix}", parameter(rows, features, **where))
        self.register_parameter(f"weight_hh{suffix}", parameter(rows, self.proj_size or self.hidden_size, **where))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name + suffix, parameter(rows, **where) if bias else None)
        if self.proj_size:
            self.register_parameter(f"weight_hr{suffix}", parameter(self.proj_size, self.hidden_size, **where))

    def reset_parameters(self, rng: np.random.Generator | None = None) -> None:
        """Draw every weight and bias again."""
        rng = init.source(rng)
        for p in self.parameters():
            uniform_of_fan(self.hidden_size, p, None, rng)

    def _tuple(self, hx: Any) -> tuple[Any, ...]:
        return tuple(hx) if self.op.states > 1 else (hx,)

    def _start(self, x: Any, hx: Any, shape: tuple[int, ...]) -> list[Any]:
        """The initial states, each of this shape; zeros if hx is None."""
        if hx is None:
            return [zeros(shape, dtype=x.dtype, device=x.spec.device)] * self.op.states
        states = [x.lift(h) for h in self._tuple(hx)]
        if len(states) != self.op.states or any(h.shape != shape for h in states):
            got = ", ".join(str(h.spec) for h in states)
            raise ShapeError(f"{self} of {x.spec} needs {self.op.states} initial states of shape {shape}, got {got}")
        return states

    def _states_after(self, x: Any, suffix: str, start: Any, batch_sizes: tuple[int, ...] | None = None) -> Any:
        """The states (S, T, N, H) after each element of x (T, N, features), from start (S, N, H).

        One product W x serves all steps; only the product with the state is computed in the loop.
        """
        W, U, b, c = (getattr(self, name + suffix) for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
        op = self.op(batch_sizes)
        if b is None:
            return functional.linear(x, W).apply(op, U, start)
        if self.op is ops.Gru:
            return functional.linear(x, W, b).apply(op, U, start, c)
        return functional.linear(x, W, b + c).apply(op, U, start)


class RNNCellBase(RecurrentBase):
    """One step: input (N, input_size) or (input_size,), and states (N, hidden_size) or (hidden_size,)."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True,
        *, device: Device | str | None = None, dtype: Any = None, rng: np.random.Generator | None = None,
    ):  # fmt: skip
        self.input_size, self.hidden_size = input_size, hidden_size
        self._make(input_size, bias, device=device, dtype=dtype)
        self.reset_parameters(rng)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next state. hx is the state before, (N, hidden_size) or (hidden_size,); zeros if None."""
        x = operand(input)
        if x.ndim not in (1, 2) or x.shape[-1] != self.input_size:
            raise ShapeError(f"{self} needs x (N, {self.input_size}) or ({self.input_size},), and got {x.spec}")
        shape = (*x.shape[:-1], self.hidden_size)
        start = stack(self._start(x, hx, shape)).reshape(self.op.states, -1, self.hidden_size)
        states = self._states_after(x.reshape(1, -1, self.input_size), "", start).reshape(self.op.states, *shape)
        return states.unbind(0) if self.op.states > 1 else states[0]

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}{'' if self.bias_ih is not None else ', bias=False'}"


class RNNCell(RNNCellBase):
    """h' = tanh(W x + b + U h + c), or relu instead of tanh."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", **options: Any
    ):
        self._use(nonlinearity)
        super().__init__(input_size, hidden_size, bias, **options)


class LSTMCell(RNNCellBase):
    """One step of an LSTM, which returns (h', c'): see LSTM."""

    op = ops.Lstm


class GRUCell(RNNCellBase):
    """One step of a GRU, which returns h': see GRU."""

    op = ops.Gru


class RNNBase(RecurrentBase):
    """Stacked layers of recurrent cells: weight_ih_l0, weight_ih_l1, …

    From layer 1 on, the features are the outputs of the layer below. If bidirectional, the parameters …_reverse belong
    to the pass from the last element to the first.
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
        *, device: Device | str | None = None, dtype: Any = None, rng: np.random.Generator | None = None,
    ):  # fmt: skip
        if proj_size and (self.op is not ops.Lstm or not 0 < proj_size < hidden_size):
            raise ValueError(f"proj_size needs an LSTM, and must be below hidden_size {hidden_size}, got {proj_size}")
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.proj_size, outputs = proj_size, proj_size or hidden_size
        self.bias, self.batch_first, self.dropout, self.bidirectional = bias, batch_first, dropout, bidirectional
        for layer in range(num_layers):
            suffixes = self._suffixes(layer)
            for suffix in suffixes:
                self._make(outputs * len(suffixes) if layer else input_size, bias, suffix, device=device, dtype=dtype)
        self.reset_parameters(rng)

    def _suffixes(self, layer: int) -> tuple[str, ...]:
        return (f"_l{layer}", f"_l{layer}_reverse")[: 1 + self.bidirectional]

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """The outputs of the last layer, and the final states of each layer.

        input     (T, N, input_size), or (N, T, …) with batch_first; (T, input_size) of one sequence; or PackedSequence
        hx        the initial states, (num_layers · directions, N, hidden_size); zeros if None

        Outputs have the form of input, but hidden_size · directions features; states have the form of hx.
        """
        if isinstance(input, PackedSequence):
            sizes, lengths = np.array(input.batch_sizes), packed_lengths(input)
            times, places = np.nonzero(np.arange(len(sizes))[:, None] < lengths)
            x = operand(input.data)[places_in(sizes, lengths)]
            y, ends = self._run(x, self._states(x, hx, input.sorted_indices), lengths)
            return input._replace(data=y[times, places]), self._result(ends, input.unsorted_indices)

        x = operand(input)
        if x.ndim not in (2, 3) or x.shape[-1] != self.input_size:
            order = "N, T" if self.batch_first else "T, N"
            raise ShapeError(f"{self} needs x ({order}, {self.input_size}) or (T, {self.input_size}), and got {x.spec}")
        alone = x.ndim == 2
        if alone:
            x = x.unsqueeze(1)
            if hx is not None:
                states = tuple(operand(h).unsqueeze(1) for h in self._tuple(hx))
                hx = states if self.op.states > 1 else states[0]
        elif self.batch_first:
            x = x.swapaxes(0, 1)
        if x.spec.shape[0] == 0:
            raise ShapeError(f"{self} needs a sequence of at least one element, and got {operand(input).spec}")
        y, ends = self._run(x, self._states(x, hx, None), None)
        if alone:
            return y.squeeze(1), self._result(ends.squeeze(2), None)
        return y.swapaxes(0, 1) if self.batch_first else y, self._result(ends, None)

    def _run(self, x: Any, start: list[Any], lengths: Any) -> tuple[Any, Any]:
        """Outputs of the last layer (T, N, …), and final states (S, num_layers · directions, N, hidden_size).

        x          (T, N, input_size)
        start      the initial states of each layer and direction, (S, N, hidden_size)
        lengths    the lengths of the N sequences, the longest first; None if all are as long as x
        """
        ends: list[Any] = []
        for layer in range(self.num_layers):
            outputs = []
            for d, suffix in enumerate(self._suffixes(layer)):
                turned = x if d == 0 else backwards(x, lengths)
                states = self._states_after(turned, suffix, start[len(ends)], count_active(lengths))
                h = self._trim_projection(states[0])
                outputs.append(h if d == 0 else backwards(h, lengths))
                ends.append(states[:, -1] if lengths is None else states[:, lengths - 1, np.arange(len(lengths))])
            x = outputs[0] if len(outputs) == 1 else cat(outputs, 2)
            if layer < self.num_layers - 1:
                x = functional.dropout(x, self.dropout, self.training)
        return x, stack(ends, 1)

    def _states(self, x: Any, hx: Any, order: Any) -> list[Any]:
        """The initial states, (S, N, hidden_size) for each layer and direction, in the order of a packed batch."""
        rows, shape = self.num_layers * (1 + self.bidirectional), (x.shape[1], self.hidden_size)
        if hx is None:
            return [zeros(self.op.states, *shape, dtype=x.dtype, device=x.spec.device)] * rows
        states = self._start(x, hx, (rows, *shape))
        return list(stack(states if order is None else [h[:, order] for h in states], 1).unbind(0))

    def _result(self, ends: Any, order: Any) -> Any:
        h, *c = ends.unbind(0) if order is None else ends[:, :, order].unbind(0)
        return (self._trim_projection(h), *c) if self.op.states > 1 else h

    def _trim_projection(self, h: Any) -> Any:
        return h[..., : self.proj_size] if self.proj_size else h

    def extra_repr(self) -> str:
        named = [f"{name}={getattr(self, name)}" for name, usual in OPTIONS.items() if getattr(self, name) != usual]
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *named])


OPTIONS = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False}


class RNN(RNNBase):
    """h' = tanh(W x + b + U h + c), or relu instead of tanh; the output is h'.

    Elman 1990, “Finding Structure in Time”. Parameters and shapes: see RNNBase.
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", **options: Any
    ):
        self._use(nonlinearity)
        super().__init__(input_size, hidden_size, num_layers, **options)


class LSTM(RNNBase):
    """c' = f c + i g,  h' = o tanh c'. The quarters of W x + b + U h + c give i, f, g, o: tanh for g, σ for the others.

    The output is h'; the states are (h, c). Hochreiter & Schmidhuber 1997, “Long Short-Term Memory”, with the
    forget gate of Gers et al. 2000. Parameters and shapes: see RNNBase.

    proj_size    the number of features of h, below hidden_size; 0 for no projection. A projection is h' = R (o tanh c')
                 with R (proj_size, hidden_size) in weight_hr_l0, …, and U (4 hidden_size, proj_size). Sak et al. 2014,
                 “Long Short-Term Memory Based Recurrent Neural Network Architectures”, eq. 7 to 13.
                 https://arxiv.org/abs/1402.1128
    """

    op = ops.Lstm

    def _start(self, x: Any, hx: Any, shape: tuple[int, ...]) -> list[Any]:
        """Pad h with zeros to the width of c, because the op needs both states in one tensor."""
        if self.proj_size and hx is not None:
            h, *rest = map(x.lift, hx)
            if h.shape[-1:] != (self.proj_size,):
                raise ShapeError(f"{self} starts from h of {self.proj_size} features, and got {h.spec}")
            hx = (pad(h, (0, self.hidden_size - self.proj_size)), *rest)
        return super()._start(x, hx, shape)

    def _states_after(self, x: Any, suffix: str, start: Any, batch_sizes: tuple[int, ...] | None = None) -> Any:
        """With a projection, U (R h) = (U R) h: the op runs on the h before R, with U R as its U.

        The initial h is already projected, so U h is added to the first step's input, and the op starts from zeros.
        """
        if not self.proj_size:
            return super()._states_after(x, suffix, start, batch_sizes)
        W, U, R, b, c = (getattr(self, f"{name}{suffix}") for name in PROJECTED)
        first = (self._trim_projection(start[0]) @ U.T).unsqueeze(0)
        gates = functional.linear(x, W, None if b is None else b + c).index_add(0, np.array([0]), first)
        h, c = gates.apply(self.op(batch_sizes), U @ R, stack([zeros_like(start[0]), start[1]])).unbind(0)
        return stack([pad(h @ R.T, (0, self.hidden_size - self.proj_size)), c])


PROJECTED = "weight_ih", "weight_hh", "weight_hr", "bias_ih", "bias_hh"


class GRU(RNNBase):
    """h' = (1 − z) n + z h;  r, z = σ(W x + b + U h + c),  n = tanh(W x + b + r (U h + c)); gates in the order r z n.

    The output is h'. Cho et al. 2014, “Learning Phrase Representations using RNN Encoder–Decoder”, eq. 5 to 8; r is
    applied after the product with U. Parameters and shapes: see RNNBase.
    """

    op = ops.Gru


# -- sequences of different lengths, padded ------------------------------------------------------------


def places_in(sizes: Any, lengths: Any) -> Any:
    """The position in the packed data of each element [t, n]. Padding has the last position of its sequence."""
    t = np.minimum(np.arange(len(sizes))[:, None], lengths - 1)
    return (np.cumsum(sizes) - sizes)[t] + np.arange(len(lengths))


def backwards(x: Any, lengths: Any) -> Any:
    """Each sequence of x (T, N, …) reversed; padding stays at the end."""
    if lengths is None:
        return x.flip(0)
    t = np.arange(len(x))[:, None]
    return x[np.where(t < lengths, lengths - 1 - t, t), np.arange(len(lengths))]


def count_active(lengths: Any) -> tuple[int, ...] | None:
    """The number of sequences with an element t, for each t; None if all have the same length."""
    return None if lengths is None else tuple((np.arange(lengths[0])[:, None] < lengths).sum(1).tolist())
