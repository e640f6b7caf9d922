"""Layers against PyTorch's: the same state, and so the same outputs and gradients, in training and after it."""

import copy
import inspect

import numpy as np
import pytest

import minigrad as mg
from tests.support.activations import ACTIVATIONS
from tests.support.table import table

from .oracle import array, flat, torch

nn = mg.nn

pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # a fast way that PyTorch cannot take here

rng = np.random.default_rng(9)
ROWS, SEQUENCE, IMAGE = rng.normal(size=(6, 4)), rng.normal(size=(5, 3, 4)), rng.normal(size=(2, 4, 7, 6))
LINE, VOLUME = rng.normal(size=(2, 4, 9)), rng.normal(size=(2, 4, 3, 4, 5))
INDICES = rng.integers(0, 7, (3, 2))
STATE, CELL = rng.normal(size=(4, 3, 5)), rng.normal(size=(4, 3, 5))
Q, K, V = rng.normal(size=(5, 3, 8)), rng.normal(size=(6, 3, 8)), rng.normal(size=(6, 3, 8))
K5, V7 = rng.normal(size=(6, 3, 5)), rng.normal(size=(6, 3, 7))
LOOK = rng.uniform(size=(5, 6)) > 0.6
LOOK[:, 0] = False
PADDING = np.array([[0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1]], bool)
WORDS = rng.normal(size=(6, 3, 8))
CAUSAL = ~np.tri(6, dtype=bool)

# Name → (the module, made from `nn`; its arguments; what it is called with beside them).
LAYERS = {
    "Linear": (lambda nn: nn.Linear(4, 3), (ROWS,), {}),
    "Linear without bias": (lambda nn: nn.Linear(4, 3, bias=False), (SEQUENCE,), {}),
    "Bilinear": (lambda nn: nn.Bilinear(4, 4, 3), (ROWS, ROWS + 1), {}),
    "Sequential": (lambda nn: nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)), (ROWS,), {}),
    "Flatten": (lambda nn: nn.Sequential(nn.Flatten(), nn.Unflatten(1, (8, 21))), (IMAGE,), {}),
    "Conv1d": (lambda nn: nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), (LINE,), {}),
    "Conv2d": (lambda nn: nn.Conv2d(4, 3, (3, 2), padding=(1, 0), dilation=(2, 1)), (IMAGE,), {}),
    "Conv2d, same": (lambda nn: nn.Conv2d(4, 4, 3, padding="same", groups=4, bias=False), (IMAGE,), {}),
    "Conv2d of one": (lambda nn: nn.Conv2d(4, 3, 3), (IMAGE[0],), {}),
    "Conv3d": (lambda nn: nn.Conv3d(4, 2, 2), (VOLUME,), {}),
    "ConvTranspose1d": (lambda nn: nn.ConvTranspose1d(4, 6, 3, stride=2, output_padding=1), (LINE,), {}),
    "ConvTranspose2d": (lambda nn: nn.ConvTranspose2d(4, 6, 3, 2, 1, groups=2), (IMAGE,), {}),
    "MaxPool1d": (lambda nn: nn.MaxPool1d(3, 2, 1), (LINE,), {}),
    "MaxPool2d": (lambda nn: nn.MaxPool2d(2, ceil_mode=True), (IMAGE,), {}),
    "AvgPool1d": (lambda nn: nn.AvgPool1d(3, 2, 1), (LINE,), {}),
    "AvgPool2d": (lambda nn: nn.AvgPool2d(2, padding=1, count_include_pad=False), (IMAGE,), {}),
    "AvgPool2d, divisor": (lambda nn: nn.AvgPool2d(2, divisor_override=3), (IMAGE,), {}),
    "AdaptiveAvgPool2d": (lambda nn: nn.AdaptiveAvgPool2d((3, None)), (IMAGE,), {}),
    "AdaptiveMaxPool1d": (lambda nn: nn.AdaptiveMaxPool1d(4), (LINE,), {}),
    "AdaptiveAvgPool3d": (lambda nn: nn.AdaptiveAvgPool3d((2, None, 3)), (VOLUME,), {}),
    "AdaptiveMaxPool3d": (lambda nn: nn.AdaptiveMaxPool3d((2, 3, 4), return_indices=True), (VOLUME,), {}),
    "GLU": (lambda nn: nn.GLU(1), (IMAGE,), {}),
    "Softmax2d": (lambda nn: nn.Softmax2d(), (IMAGE,), {}),
    "Upsample": (lambda nn: nn.Upsample(scale_factor=2, mode="bicubic", align_corners=True), (IMAGE,), {}),
    "PixelShuffle": (lambda nn: nn.PixelShuffle(2), (IMAGE,), {}),
    "PixelUnshuffle": (lambda nn: nn.PixelUnshuffle(2), (IMAGE[..., :4, :],), {}),
    "ChannelShuffle": (lambda nn: nn.ChannelShuffle(2), (IMAGE,), {}),
    "Unfold": (lambda nn: nn.Unfold((3, 2), padding=1), (IMAGE,), {}),
    "Fold": (lambda nn: nn.Fold((4, 3), 2), (LINE[:, :, :6],), {}),
    "LocalResponseNorm": (lambda nn: nn.LocalResponseNorm(3, k=2.0), (IMAGE,), {}),
    "CosineSimilarity": (lambda nn: nn.CosineSimilarity(-1), (ROWS, ROWS + 1), {}),
    "PairwiseDistance": (lambda nn: nn.PairwiseDistance(3.0, keepdim=True), (ROWS, ROWS + 1), {}),
    "LPPool2d": (lambda nn: nn.LPPool2d(2, 3, 2), (IMAGE,), {}),
    "MaxUnpool1d":
        (lambda nn: nn.MaxUnpool1d(2), (LINE[..., :4],), {"indices": np.array([0, 3, 4, 7]) * np.ones((2, 4, 1), int)}),
    "EmbeddingBag": (lambda nn: nn.EmbeddingBag(7, 3, mode="max", padding_idx=-2), (), {"indices": INDICES}),
    "ConstantPad1d": (lambda nn: nn.ConstantPad1d((2, -1), 3.5), (LINE,), {}),
    **{
        f"{kind}{n}d": (lambda nn, kind=kind, n=n: getattr(nn, f"{kind}{n}d")(1), (x,), {})
        for kind in ("ZeroPad", "ReflectionPad", "ReplicationPad", "CircularPad")
        for n, x in enumerate((LINE, IMAGE, VOLUME), 1)
    },
    "BatchNorm1d": (lambda nn: nn.BatchNorm1d(4), (ROWS,), {}),
    "BatchNorm1d of lines": (lambda nn: nn.BatchNorm1d(4, momentum=None), (LINE,), {}),
    "BatchNorm2d": (lambda nn: nn.BatchNorm2d(4, eps=0.1, momentum=0.3), (IMAGE,), {}),
    "BatchNorm2d, nothing kept": (lambda nn: nn.BatchNorm2d(4, track_running_stats=False), (IMAGE,), {}),
    "BatchNorm3d": (lambda nn: nn.BatchNorm3d(4, affine=False), (VOLUME,), {}),
    "InstanceNorm1d": (lambda nn: nn.InstanceNorm1d(4), (LINE,), {}),
    "InstanceNorm2d": (lambda nn: nn.InstanceNorm2d(4, affine=True, track_running_stats=True), (IMAGE,), {}),
    "LayerNorm": (lambda nn: nn.LayerNorm((3, 4), bias=False), (SEQUENCE,), {}),
    "GroupNorm": (lambda nn: nn.GroupNorm(2, 4), (IMAGE,), {}),
    "RMSNorm": (lambda nn: nn.RMSNorm(4), (SEQUENCE,), {}),
    "Embedding": (lambda nn: nn.Embedding(7, 3, padding_idx=-2), (), {"indices": INDICES}),
    "PReLU": (lambda nn: nn.PReLU(4), (IMAGE,), {}),
    "RNN": (lambda nn: nn.RNN(4, 5, 2, nonlinearity="relu"), (SEQUENCE,), {}),
    "RNN, unbatched": (lambda nn: nn.RNN(4, 5, bidirectional=True), (SEQUENCE[:, 0],), {}),
    "RNN, unbatched, with a state": (lambda nn: nn.RNN(4, 5, 2, bidirectional=True), (SEQUENCE[:, 0], STATE[:, 0]), {}),
    "LSTM": (lambda nn: nn.LSTM(4, 5, 2, bidirectional=True), (SEQUENCE, (STATE, CELL)), {}),
    "LSTM, projected":
        (lambda nn: nn.LSTM(4, 5, 2, bidirectional=True, proj_size=3), (SEQUENCE, (STATE[..., :3], CELL)), {}),
    "LSTM, projected, without a bias":
        (lambda nn: nn.LSTM(4, 5, bias=False, batch_first=True, proj_size=1), (SEQUENCE,), {}),
    "LSTM, unbatched": (lambda nn: nn.LSTM(4, 5, 4), (SEQUENCE[:, 0], (STATE[:, 0], CELL[:, 0])), {}),
    "LSTM, batch first": (lambda nn: nn.LSTM(4, 5, bias=False, batch_first=True), (SEQUENCE,), {}),
    "GRU": (lambda nn: nn.GRU(4, 5, 2, bidirectional=True), (SEQUENCE, STATE), {}),
    "GRU, unbatched": (lambda nn: nn.GRU(4, 5, 4), (SEQUENCE[:, 0], STATE[:, 0]), {}),
    "GRU, batch first": (lambda nn: nn.GRU(4, 5, 3, batch_first=True), (SEQUENCE,), {}),
    "RNNCell": (lambda nn: nn.RNNCell(4, 5), (SEQUENCE[0], STATE[0]), {}),
    "LSTMCell": (lambda nn: nn.LSTMCell(4, 5), (SEQUENCE[0], (STATE[0], CELL[0])), {}),
    "GRUCell": (lambda nn: nn.GRUCell(4, 5), (SEQUENCE[0, 0], STATE[0, 0]), {}),
    "MultiheadAttention": (lambda nn: nn.MultiheadAttention(8, 2), (Q, K, V), {}),
    "MultiheadAttention to itself":
        (lambda nn: nn.MultiheadAttention(8, 2, bias=False, batch_first=True), (Q,),
         {"thrice": True, "average_attn_weights": False}),
    "MultiheadAttention, masked":
        (lambda nn: nn.MultiheadAttention(8, 2), (Q, K, V), {"attn_mask": LOOK, "key_padding_mask": PADDING}),
    "MultiheadAttention, no weights":
        (lambda nn: nn.MultiheadAttention(8, 4, kdim=5, vdim=7), (Q, K5, V7),
         {"key_padding_mask": PADDING, "need_weights": False}),
    "MultiheadAttention of one": (lambda nn: nn.MultiheadAttention(8, 4), (Q[:, 0], K[:, 0], V[:, 0]), {}),
    "MultiheadAttention, more keys":
        (lambda nn: nn.MultiheadAttention(8, 2, 0.0, True, True, True), (Q, K, V),
         {"attn_mask": LOOK, "key_padding_mask": PADDING}),
    "TransformerDecoderLayer":
        (lambda nn: nn.TransformerDecoderLayer(8, 2, 16, 0.0, norm_first=True), (WORDS, Q),
         {"tgt_mask": CAUSAL, "memory_key_padding_mask": PADDING[:, 1:]}),
    "TransformerDecoder":
        (lambda nn: nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, 0.0), 2, nn.LayerNorm(8)), (WORDS, Q),
         {"tgt_mask": CAUSAL}),
    "Transformer":
        (lambda nn: nn.Transformer(8, 2, 2, 1, 16, 0.0, "gelu", batch_first=True), (WORDS, Q[:, :, :].repeat(2, 0)[:6]),
         {"src_key_padding_mask": np.zeros((6, 3), bool), "tgt_mask": ~np.tri(3, dtype=bool)}),
    "TransformerEncoderLayer": (lambda nn: nn.TransformerEncoderLayer(8, 2, 16, 0.0), (WORDS,), {}),
    "TransformerEncoder":
        (lambda nn: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, 16, 0.0, activation="gelu", norm_first=True), 2, nn.LayerNorm(8)),
         (WORDS,), {"mask": CAUSAL}),
}  # fmt: skip
LAYERS |= {
    name: (lambda nn, name=name, options=options: getattr(nn, name)(*options), (ROWS * 3,), {})
    for name, options in ACTIVATIONS.items()
}
LOSSES = {
    "MSELoss": ({}, (ROWS, ROWS + 1)), "L1Loss": ({"reduction": "sum"}, (ROWS, ROWS[::-1].copy())),
    "SmoothL1Loss": ({"beta": 0.3}, (ROWS, ROWS[::-1].copy())),
    "HuberLoss": ({"delta": 0.3}, (ROWS, ROWS[::-1].copy())),
    "KLDivLoss": ({"reduction": "batchmean"}, (ROWS, np.abs(ROWS))),
    "GaussianNLLLoss": ({}, (ROWS, ROWS + 1, np.abs(ROWS))),
    "BCELoss": ({"weight": np.ones(4)}, (1 / (1 + np.exp(-ROWS)), np.abs(np.sin(ROWS)))),
    "BCEWithLogitsLoss": ({"pos_weight": np.arange(4.0)}, (ROWS, np.abs(np.sin(ROWS)))),
    "SoftMarginLoss": ({}, (ROWS, np.sign(ROWS))), "HingeEmbeddingLoss": ({"margin": 0.4}, (ROWS, np.sign(ROWS))),
    "MarginRankingLoss": ({"reduction": "sum"}, (ROWS, ROWS[::-1].copy(), np.sign(ROWS))),
    "CosineEmbeddingLoss": ({"margin": 0.1}, (ROWS, ROWS[::-1].copy(), np.sign(ROWS[:, 0]))),
    "TripletMarginLoss": ({"swap": True}, (ROWS, ROWS[::-1].copy(), ROWS + 1)),
    "TripletMarginWithDistanceLoss": ({"margin": 0.5}, (ROWS, ROWS[::-1].copy(), ROWS + 1)),
    "MultiMarginLoss": ({"weight": np.arange(4.0)}, (ROWS, np.array([0, 1, 2, 3, 0, 1]))),
    "MultiLabelMarginLoss": ({}, (ROWS, np.array([[0, 2, -1, 1]] * 6))),
    "MultiLabelSoftMarginLoss": ({"weight": np.arange(4.0)}, (ROWS, (ROWS > 0) * 1.0)),
    "PoissonNLLLoss": ({"full": True}, (ROWS, np.abs(ROWS) * 3)),
    "CTCLoss": ({"blank": 3}, (SEQUENCE, np.array([[0, 1], [2, 2], [1, 0]]), np.array([5, 4, 5]), np.array([2, 2, 1]))),
    "NLLLoss": ({"ignore_index": 3}, (ROWS, np.array([0, 1, 2, 3, 0, 1]))),
    "CrossEntropyLoss": ({"weight": np.arange(4.0), "label_smoothing": 0.1}, (ROWS, np.array([0, 1, 2, 3, 0, 1]))),
}  # fmt: skip


def pair_of(make, dtype="f8"):
    """Our module, and PyTorch's with the same values."""
    mg.manual_seed(4)
    ours = make(nn).to(dtype=dtype)
    for p in ours.parameters():  # norms start at ones and zeros, which hide mistakes
        nn.init.normal_(p, std=0.5, generator=np.random.default_rng(p.size))
    theirs = make(torch.nn).to(torch.float64 if dtype == "f8" else torch.float32)
    theirs.load_state_dict({name: torch.tensor(value.numpy()) for name, value in ours.state_dict().items()})
    return ours, theirs


def each(function, x):
    return tuple(each(function, part) for part in x) if isinstance(x, tuple) else function(x)


def called(module, tensor, arguments, options):
    """The leaves, and everything the module gives for them."""
    options = {name: tensor(o) if isinstance(o, np.ndarray) else o for name, o in options.items()}
    leaves = each(lambda a: tensor(a, requires_grad=True), arguments)
    xs = (*leaves, *([options.pop("indices")] if "indices" in options else []))
    xs = xs * 3 if options.pop("thrice", False) else xs
    return flat(leaves), [y for y in flat(module(*xs, **options)) if y is not None]


def ends(module, tensor, arguments, options):
    """Outputs, gradients of inputs, gradients of parameters by name, and the state afterwards: all as arrays."""
    leaves, outputs = called(module, tensor, arguments, options)
    loss = 0
    for y in outputs:
        weights = np.cos(np.arange(array(y).size)).reshape(y.shape)
        loss = loss + (y * tensor(weights.astype(array(y).dtype))).sum()
    if loss.requires_grad:
        loss.backward()
    grads = {name: p.grad for name, p in module.named_parameters()}
    return [
        {name: t if t is None else array(t) for name, t in tensors.items()}
        for tensors in (dict(enumerate(outputs)), dict(enumerate(x.grad for x in leaves)), grads, module.state_dict())
    ]


def assert_close(ours, theirs, **tolerance):
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        ours, theirs = list(ours.values()), list(theirs.values())
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, **tolerance)


@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluating"])
@table("name", LAYERS, groups=8)
def test_outputs_gradients_and_state_are_pytorchs(name, training):
    make, arguments, options = LAYERS[name]
    ours, theirs = pair_of(make)
    ours.train(training)
    theirs.train(training)

    mine, other = (ends(m, t, arguments, options) for m, t in ((ours, mg.tensor), (theirs, torch.tensor)))

    for a, b in zip(mine, other):
        assert_close(a, b, rtol=1e-9, atol=1e-11)


@table("name", LAYERS)
def test_float32_stays_float32(name):
    make, arguments, options = LAYERS[name]
    ours, theirs = pair_of(make, "f4")
    arguments = each(lambda a: a.astype(np.float32), arguments)

    mine, other = (ends(m, t, arguments, options) for m, t in ((ours, mg.tensor), (theirs, torch.tensor)))

    for a, b in zip(mine, other):
        assert {x.dtype for x in a.values() if x is not None} <= {np.dtype("f4"), np.dtype("i8")}
        assert_close(a, b, rtol=1e-3, atol=1e-3)


REPRS = [
    *("Linear", "Sequential", "Flatten", "Conv1d", "Conv2d", "Conv2d, same", "ConvTranspose1d", "ConvTranspose2d"),
    *("MaxPool2d", "AvgPool2d", "AdaptiveAvgPool2d", "RMSNorm", "Embedding", "RNN", "LSTM", "GRU"),
    *("PixelShuffle", "Softmax2d", "LPPool2d", "ConstantPad1d", "ZeroPad2d", "AdaptiveMaxPool3d", "GLU", "CELU"),
    *("Threshold", "LSTM, batch first", "LSTMCell", "LeakyReLU", "GELU", "ELU", "Softmax", "ReLU", "Hardtanh"),
    "Softplus",
]  # fmt: skip


@table("name", REPRS)
def test_the_repr_is_pytorchs(name):
    make, *_ = LAYERS[name]
    ours, theirs = make(nn), make(torch.nn)

    assert repr(ours) == repr(theirs)


HELD = [n for n, made in vars(nn).items() if hasattr(made, "function") and hasattr(torch.nn, n)]


@table("name", HELD)
def test_a_module_of_a_function_takes_pytorchs_options_in_pytorchs_order(name):
    """They are read off the function, which may have them in another order: max_pool2d has return_indices last."""
    ours, theirs = (inspect.signature(getattr(library.nn, name)).parameters for library in (mg, torch))
    placed = [p.name for p in ours.values() if p.kind is p.POSITIONAL_OR_KEYWORD]

    known = [n for n in theirs if n not in ("size_average", "reduce")]
    assert placed[: len(known)] == known[: len(placed)]
    assert all(ours[n].default == theirs[n].default for n in placed if n in theirs)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_pytorchs(name):
    options, arguments = LOSSES[name]
    results = []
    for library in (mg, torch):
        tensors = {k: library.tensor(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
        x = library.tensor(arguments[0], requires_grad=True)
        given = x.log_softmax(-1) if name == "CTCLoss" else x  # PyTorch's gradient is right only behind it
        loss = getattr(library.nn, name)(**tensors)(given, *map(library.tensor, arguments[1:]))
        loss.backward()
        results.append((loss.item(), x.grad.numpy()))

    (y, g), (t, h) = results
    assert y == pytest.approx(t, rel=1e-12)
    np.testing.assert_allclose(g, h, rtol=1e-10, atol=1e-13)


LENGTHS = [2, 5, 3]


@pytest.mark.parametrize(("kind", "options"), [("RNN", {}), ("LSTM", {}), ("GRU", {}), ("LSTM", {"proj_size": 3})])
@pytest.mark.parametrize("batch_first", [True, False])
def test_sequences_of_different_lengths_are_pytorchs(kind, options, batch_first):
    made = {"batch_first": batch_first, "bidirectional": True, **options}
    ours, theirs = pair_of(lambda nn: getattr(nn, kind)(4, 5, 2, **made))
    results = []
    for library, module in ((mg, ours), (torch, theirs)):
        rnn = library.nn.utils.rnn
        x = library.tensor(SEQUENCE.swapaxes(0, 1) if batch_first else SEQUENCE, requires_grad=True)
        first = STATE[..., : options.get("proj_size", 5)]
        hx = tuple(library.tensor(h, requires_grad=True) for h in (first, CELL))
        packed = rnn.pack_padded_sequence(x, LENGTHS, batch_first=batch_first, enforce_sorted=False)
        y, end = module(packed, hx if kind == "LSTM" else hx[0])
        padded, lengths = rnn.pad_packed_sequence(y, batch_first=batch_first, padding_value=-1.0, total_length=6)
        states = end if kind == "LSTM" else (end,)
        loss = (padded**2).sum() + sum((h**3).sum() for h in states)
        loss.backward()
        grads = [x.grad, hx[0].grad, *(p.grad for p in module.parameters())]
        results.append([t.detach().numpy() for t in (padded, *states, *grads)])
        assert lengths.tolist() == LENGTHS if library is torch else lengths.numpy().tolist() == LENGTHS

    assert_close(*results, rtol=1e-9, atol=1e-11)


def test_padding_and_packing_are_each_others_inverse_as_in_pytorch():
    parts = [SEQUENCE[:n, 0] for n in (2, 5, 3)]
    ours, theirs = ([library.tensor(p, requires_grad=True) for p in parts] for library in (mg, torch))
    for batch_first in (True, False):
        a = nn.utils.rnn.pad_sequence(ours, batch_first, 7.0)
        b = torch.nn.utils.rnn.pad_sequence(theirs, batch_first, 7.0)
        np.testing.assert_array_equal(a.numpy(), b.detach().numpy())
    a = nn.utils.rnn.pack_sequence(ours, enforce_sorted=False)
    b = torch.nn.utils.rnn.pack_sequence(theirs, enforce_sorted=False)
    np.testing.assert_array_equal(a.data.numpy(), b.data.detach().numpy())
    assert a.batch_sizes == b.batch_sizes.tolist()

    padded, _ = nn.utils.rnn.pad_packed_sequence(a)
    (padded**2).sum().backward()

    for x, part in zip(ours, parts):
        np.testing.assert_allclose(x.grad.numpy(), 2 * part)


@pytest.mark.parametrize("norm_type", [2.0, 1.0, 3.0, float("inf")])
@pytest.mark.parametrize("max_norm", [0.5, 1e3])
def test_gradients_are_clipped_as_pytorchs(norm_type, max_norm):
    results = []
    for library in (mg, torch):
        ps = [library.tensor(a, requires_grad=True) for a in (ROWS, LINE)]
        sum((p**3).sum() for p in ps).backward()
        norm = library.nn.utils.clip_grad_norm_(iter(ps), max_norm, norm_type)
        results.append([norm.numpy(), *(p.grad.numpy() for p in ps)])
        library.nn.utils.clip_grad_value_(ps, 0.01)
        results[-1] += [p.grad.numpy().copy() for p in ps]

    assert_close(*results, rtol=1e-12)


def test_parameters_become_a_vector_and_return():
    ours, theirs = pair_of(lambda nn: nn.Linear(4, 3))
    v, w = nn.utils.parameters_to_vector(ours.parameters()), torch.nn.utils.parameters_to_vector(theirs.parameters())
    np.testing.assert_array_equal(v.numpy(), w.detach().numpy())

    nn.utils.vector_to_parameters(v * 2, ours.parameters())
    torch.nn.utils.vector_to_parameters(w * 2, theirs.parameters())

    np.testing.assert_array_equal(ours.weight.numpy(), theirs.weight.detach().numpy())


HOW = {"mean": np.mean, "std": np.std, "lowest": np.min, "highest": np.max}


@pytest.mark.parametrize("name", ["uniform_", "normal_", "xavier_uniform_", "xavier_normal_", "trunc_normal_"])
def test_initialisers_draw_from_pytorchs_distributions(name):
    """Of 480 000 numbers, mean and spread are known to three digits."""
    assert_like(lambda init: getattr(init, name), (200, 800, 3))


@pytest.mark.parametrize("mode", ["fan_in", "fan_out"])
@pytest.mark.parametrize("name", ["kaiming_uniform_", "kaiming_normal_"])
def test_kaimings_initialisers_draw_from_pytorchs_distributions(name, mode):
    assert_like(lambda init: lambda x: getattr(init, name)(x, a=0.3, mode=mode), (200, 800, 3))
    assert_like(lambda init: lambda x: getattr(init, name)(x, mode=mode, nonlinearity="tanh"), (200, 800, 3))


def assert_like(initialiser, shape):
    torch.manual_seed(0)
    mg.manual_seed(0)
    x, t = mg.tensor(np.zeros(shape), requires_grad=True), torch.zeros(shape)
    initialiser(nn.init)(x)
    initialiser(torch.nn.init)(t)
    x, t = x.numpy(), t.numpy()
    assert abs(x.mean() - t.mean()) < 0.01 * t.std()
    assert x.std() == pytest.approx(t.std(), rel=0.01)
    if "uniform" in str(initialiser(nn.init)):
        assert np.abs(x).max() == pytest.approx(np.abs(t).max(), rel=0.01)


def test_orthogonal_matrices_are_orthogonal_and_gains_are_pytorchs():
    for shape in ((5, 3), (3, 5), (4, 2, 2)):
        x = nn.init.orthogonal_(mg.tensor(np.zeros(shape)), gain=2.0).numpy().reshape(shape[0], -1)
        product = x @ x.T if x.shape[0] <= x.shape[1] else x.T @ x
        np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-12)
    for name in ("linear", "conv2d", "sigmoid", "tanh", "relu", "selu", "leaky_relu"):
        assert nn.init.calculate_gain(name) == pytest.approx(torch.nn.init.calculate_gain(name))
    assert nn.init.calculate_gain("leaky_relu", 0.3) == pytest.approx(torch.nn.init.calculate_gain("leaky_relu", 0.3))


@pytest.mark.parametrize("name", ["Linear", "Conv2d", "Bilinear", "GRU", "LSTMCell", "MultiheadAttention", "Embedding"])
def test_layers_start_from_pytorchs_distributions(name):
    makes = {
        "Linear": lambda nn: nn.Linear(100, 300), "Conv2d": lambda nn: nn.Conv2d(20, 40, 5, groups=2),
        "Bilinear": lambda nn: nn.Bilinear(20, 30, 40), "GRU": lambda nn: nn.GRU(60, 70),
        "LSTMCell": lambda nn: nn.LSTMCell(60, 70), "MultiheadAttention": lambda nn: nn.MultiheadAttention(80, 4),
        "Embedding": lambda nn: nn.Embedding(100, 90, padding_idx=3),
    }  # fmt: skip
    mg.manual_seed(1)
    torch.manual_seed(1)
    ours, theirs = (dict(makes[name](library.nn).named_parameters()) for library in (mg, torch))

    assert list(ours) == list(theirs)
    for key, t in theirs.items():
        x, t = ours[key].numpy(), t.detach().numpy()
        assert x.shape == t.shape
        if t.size > 5000:
            assert x.std() == pytest.approx(t.std(), rel=0.03)
        assert np.abs(x).max() <= 1.1 * np.abs(t).max() or name == "Embedding"


def test_full_backward_hooks_see_what_pytorchs_see():
    results = []
    for library in (mg, torch):
        module = library.nn.Linear(4, 3).to(dtype=library.float64)
        with library.no_grad():
            for p, v in zip(module.parameters(), (np.ones((3, 4)), np.ones(3))):
                p.copy_(library.tensor(v))
        seen = []
        module.register_full_backward_hook(lambda m, gx, gy, seen=seen: seen.append((gx, gy)))
        x = library.tensor(ROWS, requires_grad=True)
        y = module(x * 2)
        (y**2).sum().backward()
        ((gx,), (gy,)) = seen[0]
        results.append([gx.numpy(), gy.numpy(), x.grad.numpy()])

        module.register_full_backward_hook(lambda m, gx, gy: (gx[0] * 10,))
        x = library.tensor(ROWS, requires_grad=True)
        (module(x) ** 2).sum().backward()
        results[-1].append(x.grad.numpy())

    assert_close(*results, rtol=1e-12)


def test_copies_of_a_module_learn_apart():
    for library in (mg, torch):
        module = library.nn.Sequential(library.nn.Linear(2, 2), library.nn.BatchNorm1d(2))
        again = copy.deepcopy(module)
        with library.no_grad():
            next(again.parameters()).zero_()

        assert abs(next(module.parameters()).detach().numpy()).max() > 0
        assert type(next(again.parameters())) is type(next(module.parameters()))
