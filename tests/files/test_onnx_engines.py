"""Exported files at edge cases, lengths 0 and 1 and one-sided options, give our results in ONNX Runtime, with its
optimiser off and on, and in onnx's reference."""

import itertools
import re
import tempfile
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from minigrad import ops
from minigrad.engine.base.pytree import leaves
from minigrad.engine.tensor.tensor import Tensor
from minigrad.nn import functional as F
from tests.examples import CASES, title
from tests.support.onnx_engines import ENDED, ENGINES, answers

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from test_onnx import REFUSED, f4, single

REFERENCE_HAS_NO = {ops.ConvolutionTranspose, ops.AvgUnpool}  # its ConvTranspose has no groups


def exported_bytes(f, args, folder, axes=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mg.onnx.export(f, args, folder / "model.onnx", dynamic_axes=axes or {})
    return (folder / "model.onnx").read_bytes()


def differences(rows, folder):
    """The rows (title, function, arguments of the export, axes, arguments of the run, engines) that differ."""
    models, asked = [], []
    for name, f, args, axes, given, engines in rows:
        try:
            with np.errstate(all="ignore"):
                wanted = [y.numpy() for y in leaves(f(*given))]
        except Exception:
            continue  # operands that do not fit together: refused eagerly
        models.append((exported_bytes(f, args, folder, axes), [x.numpy() for x in given]))
        asked.append((name, wanted, engines))
    return [
        f"{name}: {engine} gives {found[engine]} for {wanted}"
        for (name, wanted, engines), found in zip(asked, answers(models), strict=True)
        for engine in engines
        if not alike(found[engine], wanted)
    ]


def alike(found, wanted):
    if isinstance(found, str):
        return False
    pairs = zip(found, wanted, strict=True)
    return all((y.shape, y.dtype) == (z.shape, z.dtype) and np.allclose(y, z, 1e-4, 1e-5, True) for y, z in pairs)


# -- every op at lengths 0 and 1 ------------------------------------------------------------------------


def cut(x, n, m):
    """x, all its axes of length n cut to m."""
    return Tensor(np.ascontiguousarray(x.numpy()[tuple(slice(m if k == n else None) for k in x.shape)]))


def at_edges():
    for op, *xs in CASES:
        if any(type(op) in kinds for kinds in REFUSED.values()):
            continue
        xs = [single(x) for x in xs]
        for n, m in itertools.product({n for x in xs for n in x.shape}, (0, 1)):
            args = tuple(cut(x, n, m) for x in xs)
            engines = ENGINES[: 2 if type(op) in REFERENCE_HAS_NO else 3]
            yield title((op, *args)), lambda *xs, op=op: xs[0].apply(op, *xs[1:]), args, {}, args, engines


EDGES = list({name: (name, *row) for name, *row in at_edges()}.values())
# Parts of derivatives: no function combines operands of these lengths.
ODD = ("ConvolutionFilter(", "AvgUnpool(", "TakeTaps(", "CrossEntropy f32[3, 0]")


@pytest.mark.parametrize("part", [pytest.param(i, marks=pytest.mark.share(6)) for i in range(12)])
def test_every_op_at_lengths_0_and_1(part, tmp_path):
    """any() of no elements was True, and a contraction over no elements crashed the process."""
    rows = [row for row in EDGES[part::12] if not row[0].startswith(ODD)]
    assert not (found := differences(rows, tmp_path)), "\n".join(found)


# -- one-sided options, and unknown lengths --------------------------------------------------

WIDTHS = ((0, 1), (1, 0), (2, 0), (0, 0), (1, 2), (0, -1), (-1, 0), (1, -1), (-1, 2))
TEXTS = """
x.roll(0, 0) ; x.roll(3, 0) ; x.roll(-1, 1) ; x[:0] ; x[3:] ; x[2:][:, :0] ; x[::-1] ; x[1::-1] ; x[::2]
mg.cat([x[:0], x]) ; mg.cat([x, x[:, :0]], 1) ; mg.cat([x[:0], x[:0]]) ; mg.stack([x[:0], x[:0]])
x.diff(dim=0) ; x[:1].diff(dim=0) ; x.narrow(1, 0, 0) ; x.chunk(2, 1)[1] ; x.tril(-3) ; x.triu(4) ; x.tril(9)
x.diagonal(3) ; x.diagonal(4) ; x.diagonal(-2) ; x[:1].diagonal() ; mg.diag_embed(x[0], 1) ; x.repeat(1, 0)
x.repeat_interleave(2, 0) ; x[:0].sum() ; x[:0].mean(0) ; x[:0].var(0) ; x[:1].var(0) ; x[:0].prod(0)
(x[:0] > 0).any(0) ; (x[:0] > 0).all(0) ; x[:0].logsumexp(0) ; x[:0].norm() ; x[:0].T @ x[:0] ; x[:0].cumsum(0)
mg.tensordot(x[:, :0], x.T[:0], 1) ; mg.einsum('ij,kj->ki', x[:, :0], x[:, :0])
F.linear(x[:, :0], x[:, :0], x[0, :3]) ; F.pad(x, (0, 0, 1, 0)) ; x.unfold(0, 3, 1) ; x[:0].softmax(1)
x.topk(1, 1)[0] ; x.sort(1)[0] ; x[:0].sort(0)[0] ; F.layer_norm(x[:, :1], (1,)) ; F.max_pool1d(x, 2, padding=1)
F.avg_pool1d(x, 3, 2, ceil_mode=True) ; F.interpolate(x[None], scale_factor=2)
F.conv1d(x[None, :, :1], x[None], padding=3) ; F.one_hot(x[:0].long(), 3) ; x.index_select(0, mg.tensor([2]))
x.gather(0, mg.tensor([[2]])) ; x.scatter(0, mg.zeros(0, 4).long(), 1.0)
x.index_add(0, mg.zeros(0).long(), x[:0]) ; x[:, x[0].argmax()] ; x.flip(0)[:1] ; x.unsqueeze(0)[:, :0]
x.expand(0, 3, 4)
"""
ONE_SIDED = {
    f"{mode} {plane}{widths}": (lambda x, m=mode, w=(*widths, *more): F.pad(x, w, m), f4(1, 2, 3, 4))
    for mode in ("replicate", "reflect", "circular", "constant")
    for widths in WIDTHS
    for plane, more in (("", ()), ("plane ", (0, 1)), ("turned ", (1, 0)))
} | {
    text: (eval(f"lambda x: {text}", {"F": F, "mg": mg}), f4(3, 4))
    for text in re.split(r"\s*;\s*|\n", TEXTS.strip())
}  # fmt: skip


def rows_of(named):
    return [(name, f, (x,), {}, (x,), ENGINES) for name, (f, x) in named.items()]


@pytest.mark.parametrize("part", [pytest.param(i, marks=pytest.mark.share(3)) for i in range(6)])
def test_options_on_one_side(part, tmp_path):
    """With a margin on one side, ONNX Runtime's optimiser added a column."""
    assert not (found := differences(rows_of(ONE_SIDED)[part::6], tmp_path)), "\n".join(found)


def square(x):
    return x.diagonal(), x.trace(), x.diagonal(1)


OPEN = {  # name → (function, arguments of the export, axes, lengths of the runs)
    "any, all": (lambda x: ((x > 0).any(0), (x > 0).all(0), (x > 0).any(), x.any(0)), ["n3"], (0, 1, 5)),
    "sums": (lambda x: (x.sum(0), x.prod(0), x.logsumexp(0), x.norm()), ["n3"], (0, 1, 5)),
    "means": (lambda x: (x.mean(0), x.mean(), x.half().mean(0).float(), x.long().mean(0)), ["n3"], (0, 1, 5)),
    "spreads": (lambda x: (x.var(0), x.std(), x.var(0, correction=0)), ["n3"], (0, 1, 2, 5)),
    "losses": (lambda x, y: (F.mse_loss(x, y), F.l1_loss(x, y, reduction="sum")), ["n3", "n3"], (0, 1, 5)),
    "diagonals": (lambda x: (x.diagonal(), x.diagonal(1), x.diagonal(-1)), ["n3"], (0, 1, 2, 5)),
    "diagonals across": (lambda x: (x.diagonal(), x.diagonal(1), x.diagonal(-1)), ["3n"], (0, 1, 2, 5)),
    "square": (square, ["nn"], (1, 2, 5)),
    "products": (lambda x, y: (mg.tensordot(x, y, 1), x @ y, mg.einsum("ik,kj->ji", x, y)), ["2n", "n4"], (0, 1, 5)),
    "batches": (lambda x, y: mg.einsum("bij,kj->bki", x, y), ["m2n", "4n"], (0, 1, 5)),
    "rows": (lambda x, y: mg.einsum("bi,bj->bij", x, y), ["n2", "n3"], (0, 1, 5)),
    "rolls": (lambda x: (x.roll(1, 0), x.roll(5, 0), x.roll(-2, 0)), ["n3"], (0, 1, 2, 7)),
    "slices": (lambda x: (x[1:], x[-2:], x[:-1], x[::2], x[::-1], x[1::-1]), ["n3"], (0, 1, 2, 5)),
    "movement": (lambda x: (x.flip(0), x.tril(), x.triu(1), mg.cat([x, x]), x.repeat(2, 1)), ["n3"], (0, 1, 5)),
    "scans": (lambda x: (x.cumsum(0), x.softmax(0), x.sort(0)[0], x.diff(dim=0)), ["n3"], (0, 1, 5)),
    "reshapes": (lambda x: (x.reshape(x.shape[1], x.shape[0]), x.reshape(-1, 3), x.unsqueeze(0)), ["nm"], (3, 6)),
}  # fmt: skip


def open_rows():
    for name, (f, shapes, lengths) in OPEN.items():
        axes = {x: {a: c for a, c in enumerate(shape) if c.isalpha()} for x, shape in zip("xy", shapes)}
        args = [tuple(f4(*(n if c.isalpha() else int(c) for c in shape)) for shape in shapes) for n in (3, *lengths)]
        for given in args[1:]:
            yield f"{name} {[x.shape for x in given]}", f, args[0], axes, given, ENGINES


@pytest.mark.share(2)
def test_unknown_lengths(tmp_path):
    """The length of a diagonal was that of the other axis; of no elements the variance was −0 and the mean 0."""
    assert not (found := differences(open_rows(), tmp_path)), "\n".join(found)


def classes(dtype):
    return mg.tensor(np.array([2, 1], dtype))


def narrow(i, x, start, n):
    return x.narrow(0, start, n), i


def checked_in_the_run():
    """Rows of functions that refuse places outside of an axis in a run."""
    for dtype in ("i1", "u1", "i2", "u2", "i4"):
        yield f"embedding {dtype}", F.embedding, (classes(dtype), f4(4, 3)), {"weight": [0]}, (400, 3)
        yield f"loss {dtype}", lambda t, x: F.cross_entropy(x, t), (classes(dtype), f4(2, 300)), {}, (2, 300)
    for start, n in ((-1, 1), (-2, 2), (-3, 2), (1, 2)):
        yield f"narrow {start} {n}", partial(narrow, start=start, n=n), (classes("i8"), f4(4, 3)), {"x": [0]}, (5, 3)


@pytest.mark.share(2)
def test_what_a_run_checks(tmp_path):
    """embedding with int8 indices or a table of unknown length was not exported, nor was narrow from the end."""
    rows = [(*row, (row[2][0], f4(*shape)), ENGINES) for *row, shape in checked_in_the_run()]
    assert not (found := differences(rows, tmp_path)), "\n".join(found)


def test_places_outside_are_refused_in_the_run():
    rows = [(F.embedding, (classes("i1"), f4(300, 3)), {}, (mg.tensor(np.array([-1, 0], "i1")), f4(300, 3))),
            (F.embedding, (classes("i1"), f4(4, 3)), {"weight": [0]}, (classes("i1"), f4(2, 3))),
            (lambda x: x.narrow(0, -2, 2), (f4(4, 3),), {"x": [0]}, (f4(1, 3),))]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        models = [(exported_bytes(f, args, Path(folder), axes), [x.numpy() for x in xs]) for f, args, axes, xs in rows]
    for found in answers(models):
        assert all(isinstance(found[engine], str) and ENDED not in found[engine] for engine in ENGINES), found
