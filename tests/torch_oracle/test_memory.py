"""Which results share memory with their operand, and which can be looked at in another shape: as in PyTorch."""

import numpy as np
import pytest

import minigrad as mg
from tests.support.table import table

from .oracle import torch

X = np.arange(24.0).reshape(2, 3, 4)

# What both libraries spell alike: of x (2, 3, 4), F being their nn.functional.
RESULTS = {
    "flip": lambda x, F: x.flip(0), "fliplr": lambda x, F: x.fliplr(), "flipud": lambda x, F: x.flipud(),
    "rot90": lambda x, F: x.rot90(1, (0, 1)), "rot90 not at all": lambda x, F: x.rot90(4, (0, 1)),
    "rot90 by half": lambda x, F: x.rot90(2, (0, 1)), "repeat once": lambda x, F: x.repeat(1, 1, 1),
    "repeat of rows": lambda x, F: x[:, :1, :1].repeat(1, 2, 1), "tile once": lambda x, F: x.tile(1),
    "repeat_interleave once": lambda x, F: x.repeat_interleave(1, 0),
    "repeat_interleave": lambda x, F: x[:1].repeat_interleave(2, 0), "diag of a matrix": lambda x, F: x[0].diag(),
    "diagonal": lambda x, F: x.diagonal(), "pad by 0": lambda x, F: F.pad(x, (0, 0)),
    "pad by less": lambda x, F: F.pad(x, (-1, -1)), "reflect by 0": lambda x, F: F.pad(x, (0, 0), mode="reflect"),
    "matrix_power 1": lambda x, F: x[:, :, :3].matrix_power(1), "diff 0": lambda x, F: x.diff(n=0),
    "unfold windows of one": lambda x, F: F.unfold(x[:1][None], 1),
    "fold windows of one": lambda x, F: F.fold(x.reshape(1, 2, 12), (3, 4), 1), "roll by 0": lambda x, F: x.roll(0, 0),
    "index": lambda x, F: x[:, [0, 2]], "index twice": lambda x, F: x[:, [[0], [2]], [0, 1]],
    "index_select": lambda x, F: x.index_select(2, (mg if F is mg.nn.functional else torch).tensor([0, 2])),
    "adaptive_avg_pool2d": lambda x, F: F.adaptive_avg_pool2d(x, (2, 3)),
    "adaptive_max_pool2d": lambda x, F: F.adaptive_max_pool2d(x, (2, 3)), "transpose": lambda x, F: x.transpose(0, 2),
    "slice": lambda x, F: x[:, 1:], "narrow": lambda x, F: x.narrow(1, 0, 2),
    "expand once": lambda x, F: x.expand(2, 3, 4), "squeeze": lambda x, F: x.squeeze(),
    "movedim": lambda x, F: x.movedim(0, 0), "clone": lambda x, F: x.clone(),
    "dropout at rest": lambda x, F: F.dropout(x, 0.5, training=False),
}  # fmt: skip


@table("name", RESULTS)
def test_a_result_that_is_edited_changes_its_operand_where_pytorchs_does(name):
    """flip was a view, as in NumPy; repeat(1), pad(0) and others gave x itself; unfold shared memory unknown to all."""
    x, t = mg.tensor(X.copy()), torch.tensor(X)
    y, s = RESULTS[name](x, mg.nn.functional), RESULTS[name](t, torch.nn.functional)
    np.testing.assert_array_equal(y.numpy(), s.numpy())

    y.add_(100)
    s.add_(100)

    np.testing.assert_array_equal(y.numpy(), s.numpy())
    np.testing.assert_array_equal(x.numpy(), t.numpy())


@table("name", RESULTS)
def test_what_pytorch_views_in_another_shape_is_viewed(name):
    """x[:, [0, 2]].view(-1) was refused, for NumPy leaves the axes of such a result in another order of memory."""
    s = RESULTS[name](torch.tensor(X), torch.nn.functional)
    y = RESULTS[name](mg.tensor(X.copy()), mg.nn.functional)
    try:
        expected = s.view(-1).numpy()
    except RuntimeError:
        with pytest.raises(mg.errors.ShapeError, match="reshape"):
            y.view(-1)
    else:
        np.testing.assert_array_equal(y.view(-1).numpy(), expected)


def test_a_batch_of_convolutions_is_viewed_as_rows_and_shares_their_memory():
    """The idiom of every first network, `x.view(len(x), -1)`, was refused for batches of more than one image."""
    F = mg.nn.functional
    x, w = mg.tensor(np.random.default_rng(0).normal(size=(4, 3, 6, 6))), mg.ones(5, 3, 3, 3, requires_grad=True)
    y = F.max_pool2d(F.conv2d(x, w).relu(), 2)
    rows = y.view(len(y), -1)

    rows.mul_(2)
    (rows * rows).sum().backward()

    np.testing.assert_array_equal(rows.numpy(), y.numpy().reshape(4, -1))
    v = w.detach().requires_grad_()
    (F.max_pool2d(F.conv2d(x, v).relu(), 2).reshape(4, -1).mul(2) ** 2).sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), v.grad.numpy())
    traced = mg.function(lambda x: F.conv2d(x, w).view(4, -1))
    np.testing.assert_array_equal(traced(x).numpy(), F.conv2d(x, w).numpy().reshape(4, -1))
    with pytest.raises(mg.errors.ShapeError, match="reshape"):
        x.transpose(0, 1).view(-1)


def test_a_boolean_or_zero_is_an_integer():
    """0 beside a boolean is int64, and `where` of 0, which keeps a dtype, is for numbers."""
    c, x = np.array([True, False]), np.array([True, True])

    y = mg.tensor(x).where(mg.tensor(c), 0)

    assert str(y.dtype) == str(torch.tensor(x).where(torch.tensor(c), 0).dtype).removeprefix("torch.")
    assert y.tolist() == [1, 0]
    z = mg.tensor(2.5, requires_grad=True)
    z.where(mg.tensor(c), 0).sum().backward()
    assert z.grad.item() == 1


WAYS = [lambda f: f, mg.function, mg.jit]


@pytest.mark.parametrize("way", WAYS)
def test_a_view_made_under_no_grad_has_no_history_where_pytorchs_has_none(way):
    """squeeze, reshape and expand that changed nothing returned y itself, so the gradient was twice as large."""

    def gradients(library, x):
        y = x * 1
        with library.no_grad():
            views = [y.squeeze(), y.reshape(3), y.expand(3), y.view(3), y.flatten(), y[:], library.atleast_1d(y)]
            views += library.broadcast_tensors(y, y)
        return [library.autograd.grad((y * v).sum(), [x], retain_graph=True)[0] for v in views]

    theirs = gradients(torch, torch.tensor([1.0, 2.0, 3.0], requires_grad=True))
    ours = way(lambda x: gradients(mg, x))(mg.tensor([1.0, 2.0, 3.0], requires_grad=True))
    assert [g.tolist() for g in ours] == [g.tolist() for g in theirs]


@pytest.mark.parametrize("way", WAYS)
def test_an_edit_in_place_reads_all_operands_before_it_writes(way):
    """PyTorch may read elements that it has already written: see docs/differences.md."""
    a = np.arange(8.0)
    a[2::2] += a[:6:2] ** 2
    assert way(lambda x: x[2::2].addcmul_(x[:6:2], x[:6:2]))(mg.arange(8.0)).tolist() == a[2::2].tolist()


def test_a_view_keeps_its_gradient_after_its_base_was_edited():
    """In PyTorch, its `grad_fn` must be read before: see docs/differences.md."""
    for library in (torch, mg):
        x = library.tensor([1.0, 2.0, 3.0], requires_grad=True)
        base = x.detach() * 2
        view = base[:2]
        base.add_(x)
        assert library is mg or view.grad_fn is not None
        view.retain_grad()
        (view * 0.5).sum().backward()
        assert view.grad.tolist() == [0.5, 0.5]
