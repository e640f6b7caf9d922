"""Moving, joining and cutting against PyTorch: the same text, run with both, for values, first and second gradients."""

from functools import partial

import numpy as np
import pytest

import minigrad as mg
from minigrad.api.functions.movement import pad
from tests.support.table import table

from .oracle import agree_exactly, agree_twice, torch

rng = np.random.default_rng(5)
A, B, C = rng.normal(size=(4, 3)), rng.normal(size=(4, 3)), rng.normal(size=(2, 3, 4))
V, W, ONE, NONE = rng.normal(size=3), rng.normal(size=4), rng.normal(size=()), rng.normal(size=(0, 3))

SAME_TEXT = {
    "reshape": (lambda m, x: x.reshape(2, -1), C), "reshape to a number": (lambda m, x: x[:1, :1].reshape(()), A),
    "view": (lambda m, x: x.view(6, -1), C), "view of a slice": (lambda m, x: x[:, 1:2].view(2, 4), C),
    "view of what is made contiguous": (lambda m, x: x.transpose(1, 2).contiguous().view(2, 12), C),
    "reshape_as": (lambda m, x, y: x.reshape_as(y.T), A, B), "flatten": (lambda m, x: m.flatten(x), C),
    "flatten from 1": (lambda m, x: x.flatten(start_dim=1), C), "flatten the first": (lambda m, x: x.flatten(0, -2), C),
    "flatten a number": (lambda m, x: x.flatten(), ONE), "unflatten": (lambda m, x: x.unflatten(-1, (2, -1)), C),
    "ravel": (lambda m, x: m.ravel(x), C), "squeeze": (lambda m, x: x[:1, :, None].squeeze(), C),
    "squeeze one": (lambda m, x: m.squeeze(x[:1, None], 1), C),
    "squeeze what is longer": (lambda m, x: x.squeeze(dim=1), C),
    "squeeze two": (lambda m, x: x[:1, :, :1].squeeze((0, -1)), C),
    "unsqueeze": (lambda m, x: x.unsqueeze(0) * x.unsqueeze(dim=-1)[0, 0], V),
    "unsqueeze a number": (lambda m, x: x.unsqueeze(-1), ONE),
    "transpose swaps two of three": (lambda m, x: x.transpose(0, 1), C),
    "transpose swaps two of two": (lambda m, x: x.transpose(0, 1), A),
    "transpose by name": (lambda m, x: x.transpose(dim0=-1, dim1=0), C),
    "transpose of one axis with itself": (lambda m, x: x.transpose(1, 1), A),
    "permute": (lambda m, x: x.permute(2, 0, 1), C), "permute by name": (lambda m, x: m.permute(x, dims=(-1, 0, 1)), C),
    "T": (lambda m, x: x.T, A), "mT": (lambda m, x: x.mT, C), "t": (lambda m, x: x.t() * m.t(x[0])[:, None], A),
    "movedim": (lambda m, x: x.movedim(0, -1), C), "movedim of two": (lambda m, x: m.movedim(x, (0, 1), (2, 0)), C),
    "swapaxes": (lambda m, x: x.swapaxes(0, -1) * x.swapdims(2, 0), C), "flip": (lambda m, x: x.flip(0, -1), C),
    "flip by name": (lambda m, x: m.flip(x, dims=(1,)), C), "flips": (lambda m, x: x.fliplr() * m.flipud(x), A),
    "roll": (lambda m, x: x.roll(1, 0) * m.roll(x, shifts=(-2, 5), dims=(1, 0)), A),
    "roll of all": (lambda m, x: x.roll(2), A),
    "rot90": (lambda m, x: m.rot90(x) @ x.rot90(3, (0, 1)).T * x.rot90(2).sum() + x.rot90(0).sum(), A),
    "rot90 the other way": (lambda m, x: x.rot90(-1, dims=(2, 1)), C),
    "expand": (lambda m, x: x[:, None].expand(2, -1, 5), V), "expand_as": (lambda m, x, y: x.expand_as(y), V, A),
    "broadcast_to": (lambda m, x: m.broadcast_to(x, (2, 1, 3)), V),
    "broadcast_tensors": (lambda m, x, y: m.broadcast_tensors(x, y[:, None])[1], V, W),
    "cat": (lambda m, x, y: m.cat([x, y, x[:1]]), A, B),
    "cat along the last": (lambda m, x, y: m.cat((x, y[:, :1]), dim=-1), A, B),
    "cat with an empty vector": (lambda m, x: m.cat([m.zeros(0, dtype=m.float64), x]), A),
    "cat of nothing": (lambda m, x: m.cat([x, x]), NONE),
    "concat": (lambda m, x, y: m.concat([x, y]) * m.concatenate([y, x], 0), A, B),
    "stack": (lambda m, x, y: m.stack([x, y, x]), A, B), "stack last": (lambda m, x, y: m.stack([x, y], dim=-1), A, B),
    "stack of numbers": (lambda m, x: m.stack([x, x * x]), ONE), "hstack": (lambda m, x, y: m.hstack([x, y]), A, B),
    "hstack of vectors": (lambda m, x, y: m.hstack([x, y]), V, W), "vstack": (lambda m, x, y: m.vstack([x, y]), V, A),
    "dstack": (lambda m, x, y: m.dstack([x, y]), A, B), "dstack of vectors": (lambda m, x: m.dstack([x, x * x]), V),
    "split": (lambda m, x: x.split(3)[1] * m.split(x, [1, 2, 1])[2], A),
    "split by name": (lambda m, x: m.split(x, 2, dim=1)[1], A),
    "chunk": (lambda m, x: x.chunk(3)[1] * x.chunk(2, dim=1)[0].T[:, 1:], A),
    "tensor_split": (lambda m, x: x.tensor_split(3)[0] * x.tensor_split((1, 2), dim=1)[1].T[:, :3], A),
    "unbind": (lambda m, x: x.unbind(1)[2] * x.unbind(dim=-2)[0], C), "tile": (lambda m, x: m.tile(x, (2, 1, 3)), A),
    "tile fewer": (lambda m, x: x.tile(2), C), "repeat": (lambda m, x: x.repeat(2, 3), V),
    "repeat_interleave": (lambda m, x: x.repeat_interleave(2, dim=1), C),
    "repeat_interleave of all": (lambda m, x: m.repeat_interleave(x, 3), A),
    "repeat_interleave by counts": (lambda m, x: x.repeat_interleave(m.tensor([2, 0, 1, 3]), 0), A),
    "meshgrid": (lambda m, x, y: m.meshgrid(x, y, indexing="ij")[0] * m.meshgrid([x, y], indexing="ij")[1], V, W),
    "meshgrid as plots want it": (lambda m, x, y: m.meshgrid(x, y, indexing="xy")[1], V, W),
    "cartesian_prod": (lambda m, x, y: m.cartesian_prod(x, y), V, W), "kron": (lambda m, x, y: m.kron(x, y), A, C),
    "atleast": (lambda m, x: m.atleast_3d(x) * m.atleast_2d(x)[..., None] * m.atleast_1d(x), V),
    "tril": (lambda m, x: x.tril() * m.tril(x, diagonal=1), C), "triu": (lambda m, x: x.triu() * m.triu(x, -1), C),
    "trace": (lambda m, x: x.trace() * m.trace(x), A), "diag of a vector": (lambda m, x: m.diag(x, 1), V),
    "diag of a matrix": (lambda m, x: x.diag(-1), A),
    "diagonal": (lambda m, x: x.diagonal(1, 2, 0) + m.diagonal(x, offset=-1, dim1=-1, dim2=-2).sum(), C),
    "diagonal outside": (lambda m, x: x.diagonal(3), A),
    "diag_embed": (lambda m, x: m.diag_embed(x, offset=-1, dim1=0, dim2=2), A),
}  # fmt: skip


@table("case", SAME_TEXT)
def test_values_and_two_gradients_are_pytorchs(case):
    f, *arrays = SAME_TEXT[case]
    agree_twice(partial(f, mg), partial(f, torch), arrays, (1e-13, 0), (1e-12, 1e-14), (1e-12, 1e-14))


MARGINS = [
    ((1, 2), "constant", 7.0), ((0, 0, 1, 0), "constant", None), ((-1, 2, 1, -1), "constant", 0.5),
    ((1, 2), "reflect", None), ((2, 3, 1, 0), "reflect", None), ((1, 2), "replicate", None),
    ((0, 7, 5, 0), "replicate", None), ((4, 2), "circular", None), ((1, 0, 2, 3), "circular", None),
]  # fmt: skip


@pytest.mark.parametrize(("widths", "mode", "value"), MARGINS)
def test_pad_is_pytorchs(widths, mode, value):
    data = rng.normal(size=(2, 2, 3, 4)[0 if len(widths) > 2 else 1 :])
    ours, theirs = (lambda x, pad=pad: pad(x, widths, mode, value) for pad in (pad, torch.nn.functional.pad))
    agree_twice(ours, theirs, [data], (0, 0), (1e-12, 0), (1e-12, 1e-14))


COUNTS = {
    "split": [(5, 2), (4, 4), (0, 3), (7, 10)], "chunk": [(5, 2), (6, 4), (0, 3), (3, 7), (13, 5)],
    "tensor_split": [(5, 2), (6, 4), (0, 3), (3, 7), (5, [1, 4]), (5, (3, 2)), (5, [-2, 9]), (5, [])],
}  # fmt: skip


@pytest.mark.parametrize(("name", "n", "how"), [(name, *c) for name, cs in COUNTS.items() for c in cs])
def test_pieces_are_as_many_and_as_long_as_pytorchs(name, n, how):
    agree_exactly(lambda m: getattr(m.arange(n), name)(how))


@table("refused", [
    lambda m: m.zeros(2, 3).transpose(0, 1).view(6), lambda m: m.zeros(3)[:, None].expand(3, 2).view(6),
    lambda m: m.zeros(2, 3).flatten(1, 0), lambda m: m.zeros(4).unflatten(0, (3, -1)), lambda m: m.zeros(3).repeat(()),
    lambda m: m.stack([m.zeros(2), m.zeros(3)]), lambda m: m.cat([m.zeros(2, 3), m.zeros(2, 2)]), lambda m: m.cat([]),
    lambda m: m.zeros(4).split([1, 2]), lambda m: m.zeros(4).split(0), lambda m: m.zeros(4).chunk(0),
    lambda m: m.zeros(2).diag_embed(0, 0, 0), lambda m: m.zeros(2).tril(), lambda m: m.zeros(2, 2, 2).trace(),
    lambda m: m.zeros(2, 2, 2).t(), lambda m: m.zeros(2, 2).flip(0, 0), lambda m: m.zeros(2, 2).movedim((0, 0), (0, 1)),
    lambda m: m.zeros(2, 2).roll((1, 2), (0,)), lambda m: m.zeros(2, 2).rot90(1, (0, 0)), lambda m: m.zeros(3).mT,
    lambda m: m.zeros(3).expand(-1, 3), lambda m: m.zeros(3).expand(4), lambda m: m.arange(3, 1),
    lambda m: m.zeros(3).repeat_interleave(m.tensor([1, 2]), 0), lambda m: m.zeros(3).repeat_interleave(-1, 0),
    lambda m: m.zeros(2, 2).permute(0, 0), lambda m: m.zeros(2, -1), lambda m: m.zeros(3).unsqueeze(3),
])  # fmt: skip
def test_what_pytorch_refuses_is_refused_with_our_own_error(refused):
    with pytest.raises((RuntimeError, IndexError, ValueError)):
        refused(torch)
    with pytest.raises(mg.errors.MinigradError):
        refused(mg)


def test_dtypes_of_what_is_joined_are_those_that_hold_all():
    for m in (mg, torch):
        joined = m.cat([m.zeros(1, dtype=m.float16), m.ones(1, dtype=m.float32), m.ones(1, dtype=m.int64)])

        assert joined.dtype == m.float32 if m is torch else joined.dtype == mg.float64  # NEP 50: int64 needs float64
        assert m.stack([m.tensor(True), m.tensor(2)]).dtype == m.int64
        assert m.eye(2, dtype=m.float16).tril().dtype == m.float16


CREATED = {
    "zeros": lambda m: m.zeros(2, 3, dtype=m.float64), "zeros of a tuple": lambda m: m.zeros((2, 0), dtype=m.float64),
    "a zero": lambda m: m.zeros((), dtype=m.float64), "ones": lambda m: m.ones(2, dtype=m.int32),
    "full": lambda m: m.full((2, 2), 7), "full of booleans": lambda m: m.full((2,), True),
    "arange": lambda m: m.arange(5), "arange from to": lambda m: m.arange(2, 11, 3),
    "arange back": lambda m: m.arange(5, 0, -2), "arange of nothing": lambda m: m.arange(3, 3),
    "arange of fractions": lambda m: m.arange(0, 1, 0.3, dtype=m.float64),
    "linspace": lambda m: m.linspace(0, 1, 5, dtype=m.float64),
    "linspace of one": lambda m: m.linspace(2, 3, 1, dtype=m.float64),
    "linspace of none": lambda m: m.linspace(2, 3, 0, dtype=m.float64),
    "logspace": lambda m: m.logspace(-1, 2, 4, dtype=m.float64),
    "logspace of base 2": lambda m: m.logspace(0, 3, 4, 2, dtype=m.float64), "eye": lambda m: m.eye(3, dtype=m.float64),
    "eye of two lengths": lambda m: m.eye(2, 3, dtype=m.float32), "zeros_like": lambda m: m.zeros_like(m.arange(3)),
    "ones_like": lambda m: m.ones_like(m.arange(3), dtype=m.float64),
    "full_like": lambda m: m.full_like(m.eye(2, dtype=m.float32), 3), "tril_indices": lambda m: m.tril_indices(3, 4, 1),
    "triu_indices": lambda m: m.triu_indices(3, 2, -1), "from_numpy": lambda m: m.from_numpy(A),
    "as_tensor": lambda m: m.as_tensor(A, dtype=m.float32),
}  # fmt: skip


@table("case", CREATED)
def test_what_is_made_is_pytorchs(case):
    ours, theirs = CREATED[case](mg).numpy(), CREATED[case](torch).numpy()

    np.testing.assert_allclose(ours, theirs, rtol=1e-14, strict=True)
