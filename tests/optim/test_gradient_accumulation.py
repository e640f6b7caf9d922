"""Gradients added up over micro-batches: where that is the large batch, where it is not, and what it saves."""

import gc
from itertools import pairwise

import numpy as np
import pytest

import minigrad as mg
from minigrad.profiler.books import Consumer
from tests.support.all_close import assert_all_equal

nn = mg.nn
F = nn.functional


def net(*more):
    mg.random.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), *more, nn.Tanh(), nn.Linear(8, 1)).double()


def batch(rows):
    numbers = np.random.default_rng(0).normal(size=(rows, 7))
    return mg.tensor(numbers[:, :6]), mg.tensor(numbers[:, 6:])


def gradients(model, x, y, sizes, share, loss=F.mse_loss):
    """What backward leaves of micro-batches of such sizes, each loss times share(size)."""
    for p in model.parameters():
        p.grad = None
    starts = np.cumsum([0, *sizes])
    for start, stop in pairwise(starts):
        (loss(model(x[start:stop]), y[start:stop]) * share(stop - start)).backward()
    return [p.grad.numpy().copy() for p in model.parameters()]


def difference(gs, whole):
    """The largest, as a share of the largest number there is."""
    return max(np.abs(g - w).max() for g, w in zip(gs, whole)) / max(np.abs(w).max() for w in whole)


# -- where it is the large batch -------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [[6, 6], [4, 4, 4], [1] * 12])
def test_equal_micro_batches_of_a_mean_loss_over_their_number_are_the_large_batch(sizes):
    x, y = batch(12)
    whole = gradients(net(), x, y, [12], lambda n: 1)

    assert difference(gradients(net(), x, y, sizes, lambda n: 1 / len(sizes)), whole) < 1e-14  # added in another order
    assert difference(gradients(net(), x, y, sizes, lambda n: 1), whole) == pytest.approx(len(sizes) - 1)  # forgotten


def test_where_no_sum_rounds_they_are_the_same_bits():
    rng = np.random.default_rng(0)
    model = nn.Linear(6, 4).double()
    with mg.no_grad():
        for p in model.parameters():
            p.copy_(mg.tensor(rng.integers(-4, 5, p.shape).astype(float)))
    x, y = mg.tensor(rng.integers(-8, 9, (16, 6)).astype(float)), mg.tensor(rng.integers(-8, 9, (16, 4)).astype(float))
    whole = gradients(model, x, y, [16], lambda n: 1)

    for n in (2, 4, 8):
        assert_all_equal(gradients(model, x, y, [16 // n] * n, lambda _, n=n: 1 / n), whole)


def test_the_large_batch_of_pytorch_is_the_same():
    torch = pytest.importorskip("torch")
    x, y = batch(12)
    ours = net()
    theirs = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).double()
    theirs.load_state_dict({name: torch.tensor(p.numpy().copy()) for name, p in ours.state_dict().items()})
    torch.nn.functional.mse_loss(theirs(torch.tensor(x.numpy())), torch.tensor(y.numpy())).backward()

    gs = gradients(ours, x, y, [3] * 4, lambda n: 1 / 4)
    assert difference(gs, [p.grad.numpy() for p in theirs.parameters()]) < 1e-13


def test_a_summed_loss_needs_no_share():
    x, y = batch(10)
    summed = lambda output, target: F.mse_loss(output, target, reduction="sum")  # noqa: E731
    whole = gradients(net(), x, y, [10], lambda n: 1, summed)

    assert difference(gradients(net(), x, y, [4, 4, 2], lambda n: 1, summed), whole) < 1e-14


# -- where it is not -------------------------------------------------------------------------------------


def test_a_short_last_batch_counts_too_much_in_a_mean_of_means():
    """Of five targets 0, 0, 0, 0, 5 the mean is 1; of the means 0, 0 and 5 it is 5 / 3. d(w − t)²/dw is −2 t at 0."""
    w = nn.Linear(1, 1, bias=False).double()
    w.weight.data = [[0.0]]
    x, y = mg.ones(5, 1), mg.tensor([[0.0], [0.0], [0.0], [0.0], [5.0]])

    assert gradients(w, x, y, [5], lambda n: 1)[0].item() == -2
    assert gradients(w, x, y, [2, 2, 1], lambda n: 1 / 3)[0].item() == pytest.approx(-2 * 5 / 3)
    assert gradients(w, x, y, [2, 2, 1], lambda n: n / 5)[0].item() == pytest.approx(-2)  # each by its rows


def test_so_does_a_short_sequence_where_targets_are_ignored():
    """The mean is over the targets that count: 1 of the first sequence, 3 of the second."""
    logits = [mg.tensor(np.zeros((3, 2)), requires_grad=True) for _ in range(3)]
    targets = mg.tensor([[1, -100, -100], [0, 0, 0]])
    F.cross_entropy(mg.cat([logits[0], logits[0]]), targets.reshape(-1)).backward()
    for row in targets:
        (F.cross_entropy(logits[1], row) / 2).backward()
        (F.cross_entropy(logits[2], row, reduction="sum") / 4).backward()  # over those of the whole batch

    whole, means, sums = (x.grad.numpy()[0, 0] for x in logits)  # softmax is ½: ½ for the first row, −½ for the second
    assert whole == (0.5 - 0.5) / 4
    assert means == (0.5 / 1 - 0.5 / 3) / 2
    assert sums == whole


def test_batch_norm_sees_the_micro_batch():
    """Of 0, 2, 4, 6 the mean is 3, and of its halves 1 and 5; a running mean takes in a tenth of each."""
    x = mg.tensor([[0.0], [2.0], [4.0], [6.0]])
    whole, parts = nn.BatchNorm1d(1).double(), nn.BatchNorm1d(1).double()
    y, halves = whole(x), [parts(x[:2]), parts(x[2:])]

    assert whole.running_mean.item() == pytest.approx(0.1 * 3)
    assert parts.running_mean.item() == pytest.approx(0.9 * (0.1 * 1) + 0.1 * 5)
    np.testing.assert_allclose(y.numpy().ravel(), np.array([-3, -1, 1, 3]) / 5**0.5, rtol=1e-5)  # ε
    for half in halves:
        np.testing.assert_allclose(half.numpy().ravel(), [-1, 1], rtol=1e-4)

    x, y = batch(12)
    normed, layered = (
        difference(gradients(m(), x, y, [6, 6], lambda n: 1 / 2), gradients(m(), x, y, [12], lambda n: 1))
        for m in (lambda: net(nn.BatchNorm1d(8)), lambda: net(nn.LayerNorm(8)))
    )
    assert normed > 0.1
    assert layered < 1e-14  # which looks at one row at a time


def test_dropout_draws_another_mask_for_each():
    x, y = batch(12)
    found = {}
    for p in (0.0, 0.5):
        whole, parts = (gradients(net(nn.Dropout(p)), x, y, sizes, lambda n: n / 12) for sizes in ([12], [6, 6]))
        found[p] = difference(parts, whole)

    assert found[0.0] < 1e-14
    assert found[0.5] > 0.1


# -- what it saves ---------------------------------------------------------------------------------------


def test_what_is_kept_for_backward_falls_with_the_number_of_micro_batches():
    rows, width = 256, 64
    model = nn.Sequential(*[part for _ in range(6) for part in (nn.Linear(width, width), nn.Tanh())]).float()
    x = mg.tensor(np.random.default_rng(0).normal(size=(rows, width)).astype(np.float32))
    peaks, saved = {}, {}
    for n in (1, 2, 4):
        for p in model.parameters():
            p.grad = None
        gc.collect()
        with mg.profiler.memory(model, inputs=[x], exact=False) as ledger:
            for start in range(0, rows, rows // n):
                (model(x[start : start + rows // n]).sum() / n).backward()
        peaks[n], saved[n] = ledger.peak.total, max(moment.live[Consumer.SAVED] for moment in ledger.moments)

    activation, parameters = rows * width * 4, sum(p.value.nbytes for p in model.parameters())
    assert [saved[n] for n in (1, 2, 4)] == [6 * activation // n + 4 for n in (1, 2, 4)]  # and n itself
    assert peaks[1] > peaks[2] > peaks[4] > 2 * parameters + activation  # parameters, gradients, x: as with one
