"""Attention with masks where batch and lengths are unknown: as a function, in a session, in files, in ONNX Runtime.

Masks were refused with "whether batch == 1 is known only when the graph runs". Eager mode is the oracle.
"""

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad.engine.base.errors import MinigradError, ShapeError
from tests.support.onnx_engines import session_of
from tests.support.table import table

SIZES = [(3, 5), (1, 1), (2, 4), (4, 1), (1, 6)]
ATTENTION = nn.MultiheadAttention(8, 2, batch_first=True)
LAYER = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)
ENCODER = nn.TransformerEncoder(LAYER, 2)
DECODER = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, 0.0, batch_first=True), 1)
MODEL = nn.Transformer(8, 2, 1, 1, 16, 0.0, batch_first=True)


def arguments(n, length, dtype="float64"):
    """x (N, L, 8), padding (N, L) that leaves the first key, a mask (L, L) and one for each head (2 N, L, L)."""
    rng = np.random.default_rng(n + length)
    x = rng.normal(size=(n, length, 8)).astype(dtype)
    padding = np.arange(length) >= length - np.arange(n)[:, None] % length
    later = ~np.tri(length, dtype=bool)
    return [mg.tensor(a) for a in (x, padding, later, np.tile(later, (2 * n, 1, 1)))]


CALLS = {
    "padding": lambda x, p, a, h: ATTENTION(x, x, x, p)[0],
    "padding, weights": lambda x, p, a, h: ATTENTION(x, x, x, p)[1],
    "mask": lambda x, p, a, h: ATTENTION(x, x, x, attn_mask=a)[0],
    "mask of each head": lambda x, p, a, h: ATTENTION(x, x, x, attn_mask=h, need_weights=False)[0],
    "both masks": lambda x, p, a, h: ATTENTION(x, x, x, p, attn_mask=h)[0],
    "causal": lambda x, p, a, h: ATTENTION(x, x, x, p, is_causal=True)[0],
    "encoder": lambda x, p, a, h: ENCODER(x, a, p),
    "encoder, mask of each head": lambda x, p, a, h: ENCODER(x, mask=h, src_key_padding_mask=p),
    "encoder, causal": lambda x, p, a, h: ENCODER(x, is_causal=True),
    "decoder": lambda x, p, a, h: DECODER(x, x * 2, a, a, p, p),
    "transformer": lambda x, p, a, h: MODEL(x, x * 2, a, a, h, p, p, p),
}  # fmt: skip
LENGTHS = [("N", "L", 8), ("N", "L"), ("L", "L"), ("N·H", "L", "L")]
NONE = [(None, None, 8), (None, None), ("queries", None), ("heads", None, None)]  # None is "batch" on a first axis


def specs(shapes, dtype="float64"):
    shapes = [tuple(n if n != "N·H" else "heads" for n in shape) for shape in shapes]
    return [mg.TensorSpec(shape, kind) for shape, kind in zip(shapes, (dtype, "bool", "bool", "bool"))]


SIGNATURES = [{"input_signature": specs(LENGTHS)}, {"input_signature": specs(NONE)}]


def agree_at_all_sizes(call, f):
    for size in SIZES:
        xs = arguments(*size)
        np.testing.assert_allclose(call(*xs).numpy(), f(*xs).numpy(), rtol=1e-11, atol=1e-13)


@table("f", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("options", [*SIGNATURES, {"reduce_retracing": True}], ids=["named", "None", "retracing"])
def test_a_function_of_unknown_lengths(f, options):
    agree_at_all_sizes(mg.function(f, autograph=False, **options), f)


@table("f", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("shapes", [LENGTHS, NONE], ids=["named", "None"])
def test_placeholders_of_a_session(f, shapes):
    with mg.Graph().as_default() as graph:
        fed = [mg.placeholder(s.dtype, s.shape) for s in specs(shapes)]
        y = f(*fed)
    with mg.Session(graph) as session:
        for size in SIZES:
            xs = arguments(*size)
            got = session.run(y, {p: x.numpy() for p, x in zip(fed, xs)})
            np.testing.assert_allclose(got, f(*xs).numpy(), rtol=1e-11, atol=1e-13)


@table("f", CALLS.values(), ids=CALLS)
def test_a_graph_saved_and_loaded(f, tmp_path):
    mg.save(tmp_path / "f.mg", f, tuple(specs(NONE)))
    agree_at_all_sizes(mg.load(tmp_path / "f.mg"), f)


@table("f", CALLS.values(), ids=CALLS)
def test_onnx_runtime_with_dynamic_axes(f, tmp_path):
    pytest.importorskip("onnxruntime")
    axes = {"x": {0: "N", 1: "L"}, "p": {0: "N", 1: "L"}, "a": {0: "L", 1: "L"}, "h": {0: "heads", 1: "L", 2: "L"}}
    path = tmp_path / "f.onnx"
    mg.onnx.export(f, tuple(arguments(2, 3, "float32")), path, dynamic_axes=axes)
    session = session_of(path)
    names = [i.name for i in session.get_inputs()]
    for size in SIZES:
        xs = arguments(*size, "float32")
        fed = {name: x.numpy() for name, x in zip("xpah", xs) if name in names}
        np.testing.assert_allclose(session.run(None, fed)[0], f(*xs).numpy(), rtol=2e-4, atol=2e-5)


@table("name", ["padding", "mask", "mask of each head"])
@pytest.mark.parametrize("wrong", [(2, 1), (2, 6), (3, 5)])
def test_a_mask_of_another_shape_is_refused_by_the_run(name, wrong):
    """A mask of length 1 would broadcast silently."""
    f = CALLS[name]
    traced = mg.function(f, input_signature=specs(NONE), autograph=False)
    x, *masks = arguments(2, 5)
    masks = [mask if mask.shape == other.shape else other for mask, other in zip(masks, arguments(*wrong)[1:])]
    if name == "mask" and wrong == (3, 5):
        return  # the right shape
    with pytest.raises(ShapeError):
        f(x, *masks)
    with pytest.raises(MinigradError, match=r"mask must be|length"):
        traced(x, *masks)


def test_gradients_reach_masks_that_are_numbers():
    def total(x, p, a):
        return (ATTENTION(x, x, x, p, attn_mask=a)[0] ** 2).sum()

    gradients = mg.func.grad(total, argnums=(0, 1, 2))
    signature = [mg.TensorSpec(s, "float64") for s in ((None, None, 8), (None, None), ("heads", None, None))]
    traced = mg.function(gradients, input_signature=signature, autograph=False)
    rng = np.random.default_rng(0)
    for n, length in SIZES:
        xs = [mg.tensor(rng.normal(size=s)) for s in ((n, length, 8), (n, length), (2 * n, length, length))]
        for got, wanted in zip(traced(*xs), gradients(*xs)):
            np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-11, atol=1e-13)
