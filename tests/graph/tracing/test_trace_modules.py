"""Layers, traced: the outputs, gradients and state that they have op by op."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.pytree import leaves
from minigrad.graph.function import function
from tests.support.activations import ACTIVATIONS
from tests.support.table import table

nn, F = mg.nn, mg.nn.functional

rng = np.random.default_rng(9)
ROWS, SEQUENCE, IMAGE = rng.normal(size=(6, 4)), rng.normal(size=(5, 3, 4)), rng.normal(size=(2, 4, 7, 6))
LINE, VOLUME = rng.normal(size=(2, 4, 9)), rng.normal(size=(2, 4, 3, 4, 5))
STATE, CELL = rng.normal(size=(4, 3, 5)), rng.normal(size=(4, 3, 5))
WORDS = rng.normal(size=(6, 3, 8))
INDICES = rng.integers(0, 7, (3, 2))
MASK = ~np.tri(6, dtype=bool)

# Name → (what makes the module, the arrays it is called with).
LAYERS = {
    "Linear": (lambda: nn.Linear(4, 3), (ROWS,)), "Bilinear": (lambda: nn.Bilinear(4, 4, 3), (ROWS, ROWS + 1)),
    "Sequential": (lambda: nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)), (ROWS,)),
    "Flatten": (lambda: nn.Sequential(nn.Flatten(), nn.Unflatten(1, (8, 21))), (IMAGE,)),
    "Conv1d": (lambda: nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), (LINE,)),
    "Conv2d": (lambda: nn.Conv2d(4, 3, (3, 2), padding=(1, 0), dilation=(2, 1)), (IMAGE,)),
    "Conv2d, same": (lambda: nn.Conv2d(4, 4, 3, padding="same", groups=4, bias=False), (IMAGE,)),
    "Conv3d": (lambda: nn.Conv3d(4, 2, 2), (VOLUME,)),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(4, 6, 3, 2, 1, groups=2), (IMAGE,)),
    "MaxPool2d": (lambda: nn.MaxPool2d(2, ceil_mode=True), (IMAGE,)),
    "AvgPool2d": (lambda: nn.AvgPool2d(2, padding=1, count_include_pad=False), (IMAGE,)),
    "AdaptiveAvgPool2d": (lambda: nn.AdaptiveAvgPool2d((3, None)), (IMAGE,)),
    "AdaptiveMaxPool1d": (lambda: nn.AdaptiveMaxPool1d(4), (LINE,)),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(4), (ROWS,)),
    "BatchNorm1d, plain mean": (lambda: nn.BatchNorm1d(4, momentum=None), (LINE,)),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(4, eps=0.1, momentum=0.3), (IMAGE,)),
    "BatchNorm2d, nothing kept": (lambda: nn.BatchNorm2d(4, track_running_stats=False), (IMAGE,)),
    "BatchNorm2d, float32": (lambda: nn.BatchNorm2d(4).float(), (IMAGE.astype("f4"),)),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(4, affine=True, track_running_stats=True), (IMAGE,)),
    "LayerNorm": (lambda: nn.LayerNorm((3, 4)), (SEQUENCE,)), "GroupNorm": (lambda: nn.GroupNorm(2, 4), (IMAGE,)),
    "RMSNorm": (lambda: nn.RMSNorm(4), (SEQUENCE,)),
    "Embedding": (lambda: nn.Embedding(7, 3, padding_idx=-2), (INDICES,)),
    "Dropout": (lambda: nn.Dropout(0.5), (IMAGE,)), "Dropout2d": (lambda: nn.Dropout2d(0.5), (IMAGE,)),
    "PReLU": (lambda: nn.PReLU(4), (IMAGE,)), "RNN": (lambda: nn.RNN(4, 5, 2, nonlinearity="relu"), (SEQUENCE,)),
    "LSTM": (lambda: nn.LSTM(4, 5, 2, bidirectional=True), (SEQUENCE, (STATE, CELL))),
    "LSTM, dropout": (lambda: nn.LSTM(4, 5, 2, dropout=0.5), (SEQUENCE,)),
    "GRU": (lambda: nn.GRU(4, 5, 2, bidirectional=True), (SEQUENCE, STATE)),
    "RNNCell": (lambda: nn.RNNCell(4, 5), (SEQUENCE[0], STATE[0])),
    "LSTMCell": (lambda: nn.LSTMCell(4, 5), (SEQUENCE[0], (STATE[0], CELL[0]))),
    "GRUCell": (lambda: nn.GRUCell(4, 5), (SEQUENCE[0, 0], STATE[0, 0])),
    "MultiheadAttention": (lambda: nn.MultiheadAttention(8, 2), (WORDS, WORDS + 1, WORDS - 1)),
    "MultiheadAttention, dropout": (lambda: nn.MultiheadAttention(8, 2, dropout=0.3), (WORDS, WORDS + 1, WORDS - 1)),
    "TransformerEncoder":
        (lambda: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, 16, 0.1, activation="gelu", norm_first=True), 2, nn.LayerNorm(8)),
         (WORDS, MASK)),
}  # fmt: skip
LAYERS |= {
    name: (lambda name=name, options=options: getattr(nn, name)(*options), (ROWS * 3,))
    for name, options in ACTIVATIONS.items()
}
LOSSES = {
    "MSELoss": ({}, (ROWS, ROWS + 1)), "L1Loss": ({"reduction": "sum"}, (ROWS, ROWS[::-1].copy())),
    "SmoothL1Loss": ({"beta": 0.3}, (ROWS, ROWS[::-1].copy())),
    "HuberLoss": ({"delta": 0.3}, (ROWS, ROWS[::-1].copy())),
    "KLDivLoss": ({"reduction": "batchmean"}, (ROWS, np.abs(ROWS))),
    "GaussianNLLLoss": ({}, (ROWS, ROWS + 1, np.abs(ROWS))),
    "BCELoss": ({}, (1 / (1 + np.exp(-ROWS)), np.abs(np.sin(ROWS)))),
    "BCEWithLogitsLoss": ({}, (ROWS, np.abs(np.sin(ROWS)))),
    "NLLLoss": ({"ignore_index": 3}, (ROWS, np.array([0, 1, 2, 3, 0, 1]))),
    "CrossEntropyLoss": ({"label_smoothing": 0.1}, (ROWS, np.array([0, 1, 2, 3, 0, 1]))),
}  # fmt: skip
LAYERS |= {name: (lambda n=name, o=options: getattr(nn, n)(**o), xs) for name, (options, xs) in LOSSES.items()}


def made(name):
    mg.manual_seed(4)
    return LAYERS[name][0]()


def tensors(arrays):
    if isinstance(arrays, tuple):
        return tuple(map(tensors, arrays))
    return mg.tensor(arrays, requires_grad=arrays.dtype.kind == "f")


def ends(module, call, arrays):
    """Outputs, gradients of what came in, gradients of parameters, and the state, after two calls."""
    mg.manual_seed(7)
    found = []
    for _ in range(2):
        xs = tensors(arrays)
        ys = [y for y in leaves(call(*xs)) if y is not None]
        loss = sum((y * np.cos(np.arange(y.numel())).reshape(y.shape)).sum() for y in ys if y.spec.is_float)
        if loss.requires_grad:
            loss.backward()
        found += [*ys, *(x.grad for x in leaves(xs))]
    found += [p.grad for p in module.parameters()] + list(module.state_dict().values())
    return [None if x is None else x.detach().numpy() for x in found]


@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluating"])
@table("name", LAYERS)
def test_a_traced_layer_does_what_it_does_op_by_op(name, training):
    ours, theirs = made(name).train(training), made(name).train(training)
    traced = function(ours)

    found, expected = ends(ours, traced, LAYERS[name][1]), ends(theirs, theirs, LAYERS[name][1])

    assert traced.trace_count == 1
    for a, b in zip(found, expected, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            tolerance = 1e-5 if b.dtype == np.float32 else 1e-12  # sums may be formed in another order
            np.testing.assert_allclose(a, b, tolerance, tolerance)
            assert a.dtype == b.dtype
