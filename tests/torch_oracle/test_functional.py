"""Losses, normalisation, attention and their kin against PyTorch: values, first and second gradients, corners."""

from functools import partial

import numpy as np
import pytest

import minigrad as mg
from tests.support.table import table

from .oracle import agree, agree_in_float32, agree_twice, torch

F, TF = mg.nn.functional, torch.nn.functional

rng = np.random.default_rng(5)
X, Y = rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
P, T = rng.uniform(0.1, 0.9, (4, 3)), rng.uniform(0.1, 0.9, (4, 3))
W = rng.uniform(0.5, 2, 3)
SCORES = rng.normal(size=(2, 3, 4, 2)) * 3
CLASSES, PLANES = np.array([2, 0, 0, 1]), rng.integers(0, 3, (2, 4, 2))
IGNORING = np.where(PLANES == 1, -100, PLANES)
SHARES = rng.dirichlet(np.ones(3), 4)
IMAGES = rng.normal(size=(3, 4, 5, 2))
SEQUENCES = rng.normal(size=(3, 4, 5))
C, D = rng.uniform(0.5, 2, 4), rng.normal(size=4)
Q, K, V = rng.normal(size=(2, 3, 4, 5)), rng.normal(size=(2, 3, 6, 5)), rng.normal(size=(2, 3, 6, 2))
MASK = rng.uniform(size=(4, 6)) > 0.4
MASK[:, 2] = True
BIAS = rng.normal(size=(2, 1, 4, 6))
REDUCTIONS = ("mean", "sum", "none")


# Name → (the call, given the module of functions and a maker of constants; what is differentiated).
CALLS = {
    f"{name}, {reduction}": (
        lambda f, c, x, y, name=name, reduction=reduction: getattr(f, name)(x, y, reduction=reduction), (X, Y),
    )
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
    for reduction in REDUCTIONS
} | {
    "smooth_l1_loss, beta": (lambda f, c, x, y: f.smooth_l1_loss(x, y, beta=0.4), (X, Y)),
    "smooth_l1_loss, beta 0": (lambda f, c, x, y: f.smooth_l1_loss(x, y, beta=0.0), (X, Y)),
    "huber_loss, delta": (lambda f, c, x, y: f.huber_loss(x, y, delta=0.4), (X, Y)),
    "bce": (lambda f, c, x: f.binary_cross_entropy(x, c(T)), (P,)),
    "bce, to the target too": (lambda f, c, x, t: f.binary_cross_entropy(x, t), (P, T)),
    "bce, weighted": (lambda f, c, x: f.binary_cross_entropy(x, c(T), weight=c(W), reduction="none"), (P,)),
    "bce with logits": (lambda f, c, x, t: f.binary_cross_entropy_with_logits(x * 30, t), (X, T)),
    "bce with logits, weighted":
        (lambda f, c, x, t: f.binary_cross_entropy_with_logits(x, t, weight=c(W), pos_weight=c(W + 1), reduction="sum"),
         (X, T)),
    "kl_div": (lambda f, c, x, t: f.kl_div(x.log_softmax(1), t, reduction="batchmean"), (X, P)),
    "kl_div, log target": (lambda f, c, x, t: f.kl_div(x, t, reduction="sum", log_target=True), (X, Y)),
    "gaussian_nll": (lambda f, c, x, y, v: f.gaussian_nll_loss(x, y, v, full=True), (X, Y, P)),
    "cross entropy": (lambda f, c, x: f.cross_entropy(x * 5, c(CLASSES)), (X,)),
    "cross entropy of one": (lambda f, c, x: f.cross_entropy(x, c(np.array(2))), (W,)),
    "cross entropy of images": (lambda f, c, x: f.cross_entropy(x, c(PLANES)), (SCORES,)),
    "cross entropy of images, none": (lambda f, c, x: f.cross_entropy(x, c(PLANES), reduction="none"), (SCORES,)),
    "cross entropy, ignoring": (lambda f, c, x: f.cross_entropy(x, c(IGNORING)), (SCORES,)),
    "cross entropy, ignoring a class": (lambda f, c, x: f.cross_entropy(x, c(PLANES), ignore_index=1), (SCORES,)),
    "cross entropy, ignoring, none":
        (lambda f, c, x: f.cross_entropy(x, c(IGNORING), c(W), reduction="none"), (SCORES,)),
    "cross entropy, weighted": (lambda f, c, x: f.cross_entropy(x, c(CLASSES), c(W)), (X,)),
    "cross entropy, smoothed": (lambda f, c, x: f.cross_entropy(x, c(CLASSES), label_smoothing=0.2), (X,)),
    "cross entropy, everything":
        (lambda f, c, x: f.cross_entropy(x, c(IGNORING), c(W), label_smoothing=0.2), (SCORES,)),
    "cross entropy of shares": (lambda f, c, x, t: f.cross_entropy(x, t, c(W), label_smoothing=0.1), (X, SHARES)),
    "nll": (lambda f, c, x: f.nll_loss(x.log_softmax(1), c(IGNORING), c(W)), (SCORES,)),
    "nll, sum": (lambda f, c, x: f.nll_loss(x, c(CLASSES), reduction="sum"), (X,)),
    "softmax": (lambda f, c, x: f.softmax(x, dim=1), (SCORES,)),
    "log_softmax": (lambda f, c, x: f.log_softmax(x, dim=-2), (SCORES,)),
    "softmin": (lambda f, c, x: f.softmin(x, dim=1), (SCORES,)),
    "normalize": (lambda f, c, x: f.normalize(x), (X,)),
    "normalize, p 1": (lambda f, c, x: f.normalize(x, 1, dim=0), (X,)),
    "linear": (lambda f, c, x, w, b: f.linear(x, w, b), (SEQUENCES, rng.normal(size=(2, 5)), np.ones(2))),
    "bilinear": (lambda f, c, x, y, w, b: f.bilinear(x, y, w, b), (X, P, rng.normal(size=(2, 3, 3)), np.ones(2))),
    "embedding": (lambda f, c, w: f.embedding(c(PLANES), w), (X,)),
    "embedding, padded": (lambda f, c, w: f.embedding(c(PLANES), w, padding_idx=1), (X,)),
    "layer_norm": (lambda f, c, x, w, b: f.layer_norm(x, (5,), w, b), (SEQUENCES, np.arange(5.0), np.ones(5))),
    "layer_norm of two axes": (lambda f, c, x: f.layer_norm(x, (4, 5), eps=0.1), (SEQUENCES,)),
    "rms_norm": (lambda f, c, x, w: f.rms_norm(x, (4, 5), w), (SEQUENCES, rng.normal(size=(4, 5)))),
    "group_norm": (lambda f, c, x, w, b: f.group_norm(x, 2, w, b), (IMAGES, C, D)),
    "instance_norm": (lambda f, c, x, w, b: f.instance_norm(x, weight=w, bias=b), (IMAGES, C, D)),
    "batch_norm": (lambda f, c, x, w, b: f.batch_norm(x, None, None, w, b, training=True), (IMAGES, C, D)),
    "batch_norm of rows": (lambda f, c, x: f.batch_norm(x, None, None, training=True), (X,)),
    "batch_norm, learned": (lambda f, c, x, w, b: f.batch_norm(x, c(D), c(C), w, b), (SEQUENCES, C, D)),
    "attention": (lambda f, c, q, k, v: f.scaled_dot_product_attention(q, k, v), (Q, K, V)),
    "attention, scaled": (lambda f, c, q, k, v: f.scaled_dot_product_attention(q, k, v, scale=2.0), (Q, K, V)),
    "attention, allowed": (lambda f, c, q, k, v: f.scaled_dot_product_attention(q, k, v, c(MASK)), (Q, K, V)),
    "attention, biased": (lambda f, c, q, k, v, b: f.scaled_dot_product_attention(q, k, v, b), (Q, K, V, BIAS)),
    "attention, a head of keys for 3":
        (lambda f, c, q, k, v: f.scaled_dot_product_attention(q, k, v, enable_gqa=True), (Q, K[:, :1], V[:, :1])),
    "attention, heads of keys for 1 and for 2":
        (lambda f, c, q, k, v: f.scaled_dot_product_attention(q, k, v, c(MASK), scale=0.4, enable_gqa=True),
         (np.concatenate([Q, Q[:, :1]], 1), K[:, :2], V[:, :1])),
    "attention, causal": (lambda f, c, q, k, v: f.scaled_dot_product_attention(q, k, v, is_causal=True), (Q, K, V)),
}  # fmt: skip


@table("name", CALLS)
def test_values_and_two_gradients_are_pytorchs(name):
    call, arrays = CALLS[name]
    ours, theirs = partial(call, F, mg.tensor), partial(call, TF, torch.tensor)
    agree_twice(ours, theirs, arrays, (1e-12, 1e-14), (1e-10, 1e-12), (1e-9, 1e-11))


@table("name", CALLS)
def test_float32_stays_float32(name):
    call, arrays = CALLS[name]

    agree_in_float32(call, arrays, rtol=2e-4, atol=2e-5)


def test_running_statistics_move_as_pytorchs():
    for name in ("batch_norm", "instance_norm"):
        for momentum in (0.1, 0.7):
            ours, theirs = [mg.tensor(D), mg.tensor(C)], [torch.tensor(D), torch.tensor(C)]

            getattr(F, name)(mg.tensor(IMAGES), *ours, None, None, True, momentum)
            getattr(TF, name)(torch.tensor(IMAGES), *theirs, None, None, True, momentum)

            for mine, other in zip(ours, theirs):
                np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-12)


def test_a_sure_mistake_costs_binary_cross_entropy_a_hundred():
    x, t = [0.0, 1.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]
    for dtype in ("f8", "f4"):
        a = mg.tensor(np.array(x, dtype), requires_grad=True)
        b = torch.tensor(np.array(x, dtype), requires_grad=True)

        y = F.binary_cross_entropy(a, mg.tensor(np.array(t, dtype)), reduction="none")
        u = TF.binary_cross_entropy(b, torch.tensor(np.array(t, dtype)), reduction="none")
        y.sum().backward()
        u.sum().backward()

        assert y.numpy().tolist() == u.tolist() == [0, 0, 100, 100]
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-6)


def test_zero_probabilities_cost_a_divergence_nothing():
    x, target = np.log([[0.2, 0.3, 0.5]]), np.array([[0.0, 0.25, 0.75]])
    agree(lambda m, x: m.nn.functional.kl_div(x, m.tensor(target), reduction="sum"), x, rtol=1e-14)


def test_a_query_that_may_look_nowhere_finds_zeros_and_no_gradient_that_is_no_number():
    mask = MASK.copy()
    mask[1] = False

    def attention(m, *qkv):
        return m.nn.functional.scaled_dot_product_attention(*qkv, m.tensor(mask))

    agree(attention, Q, K, V, rtol=1e-12, atol=1e-14)
    assert not attention(mg, *map(mg.tensor, (Q, K, V))).numpy()[:, :, 1].any()


@pytest.mark.parametrize("form", ["boolean", "numbers"])
def test_a_gradient_passes_a_row_of_minus_infinity_and_reaches_the_mask(form):
    mask = np.where(MASK, BIAS[0, 0], -np.inf)
    mask[2] = -np.inf
    agree(
        lambda m, *given: m.nn.functional.scaled_dot_product_attention(*given).square(),
        *(Q, K, V, mask > -np.inf if form == "boolean" else mask), rtol=1e-10, atol=1e-14,
    )  # fmt: skip


@pytest.mark.parametrize("shape", [(4, 6), (6, 4), (1, 3), (3, 1)])
def test_whatever_the_lengths_nobody_looks_ahead(shape):
    L, S = shape
    q, k, v = rng.normal(size=(2, L, 3)), rng.normal(size=(2, S, 3)), rng.normal(size=(2, S, 3))

    y = F.scaled_dot_product_attention(mg.tensor(q), k, v, is_causal=True)

    t = TF.scaled_dot_product_attention(*map(torch.tensor, (q, k, v)), is_causal=True)
    np.testing.assert_allclose(y.numpy(), t.numpy(), rtol=1e-12)


def test_attention_keeps_queries_keys_and_values_and_not_its_weights():
    q, k, v = (mg.tensor(rng.normal(size=(64, 3)), requires_grad=True) for _ in range(3))
    y = F.scaled_dot_product_attention(q, k, v)

    assert sum(kept.size for kept in y.node.saved) == 3 * 64 * 3  # the weights are 64 · 64


def test_attention_in_half_precision_is_worked_out_in_single():
    q, k, v = (mg.tensor(a.astype("f2") * 8, requires_grad=True) for a in (Q, K, V))
    y = F.scaled_dot_product_attention(q, k, v, BIAS)
    y.sum().backward()

    t = TF.scaled_dot_product_attention(*(torch.tensor(x.numpy().astype("f8")) for x in (q, k, v)), torch.tensor(BIAS))
    assert y.dtype == q.grad.dtype == np.float16
    np.testing.assert_allclose(y.numpy(), t.numpy(), rtol=2e-3, atol=1e-3)


@pytest.mark.parametrize("given", ["wb", "w", "b", ""])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_a_layer_norm_takes_a_scale_a_shift_both_or_neither(given, dtype):
    weight, bias = (W[:3] if "w" in given else None), (W[::-1][:3] if "b" in given else None)
    mine, theirs = [X.astype(dtype)], [X]
    for p in (weight, bias):
        mine.append(None if p is None else p.astype(dtype))
        theirs.append(None if p is None else p.copy())
    x, *ps = (a if a is None else mg.tensor(a, requires_grad=True) for a in mine)
    t, *qs = (a if a is None else torch.tensor(a, requires_grad=True) for a in theirs)

    y, u = F.layer_norm(x, 3, *ps), TF.layer_norm(t, (3,), *qs)
    (y * W).sum().backward()
    (u * torch.tensor(W)).sum().backward()

    tolerance = {"f2": 2e-2, "f4": 1e-4, "f8": 1e-10}[dtype]
    assert y.dtype == dtype
    for a, b in [(x, t), *((p, q) for p, q in zip(ps, qs) if p is not None)]:
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=tolerance, atol=tolerance)


def test_scores_of_minus_infinity_cost_what_pytorch_says():
    scores = np.array([[0.0, -np.inf, 1.0], [-np.inf, 0.0, 0.0]])
    for classes in ([0, 1], [2, 2]):
        y = F.cross_entropy(mg.tensor(scores), mg.tensor(classes), reduction="none")
        t = TF.cross_entropy(torch.tensor(scores), torch.tensor(classes), reduction="none")

        np.testing.assert_allclose(y.numpy(), t.numpy(), rtol=1e-14)


def test_a_batch_of_nothing_sums_to_nothing():
    for name in ("mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss", "binary_cross_entropy_with_logits"):
        assert getattr(F, name)(mg.tensor(np.ones((0, 3))), np.ones((0, 3)), reduction="sum").item() == 0
    empty = mg.tensor(np.ones((0, 3)), requires_grad=True)
    F.cross_entropy(empty, np.ones(0, int), reduction="sum").backward()

    assert empty.grad.shape == (0, 3)
    assert F.layer_norm(empty, (3,)).shape == (0, 3)
    assert F.embedding(np.ones((0, 2), int), mg.tensor(X)).shape == (0, 2, 3)


def test_dropout_keeps_the_mean_and_drops_its_share():
    mg.manual_seed(0)
    x = mg.tensor(np.ones((200, 50, 2)), requires_grad=True)
    y = F.dropout(x, 0.25)
    y.sum().backward()

    assert set(np.unique(y.numpy())) == {0, 1 / 0.75}
    assert abs((y.numpy() == 0).mean() - 0.25) < 0.01  # 20 000 draws: a standard deviation of 0.003
    np.testing.assert_array_equal(x.grad.numpy(), y.numpy())
    np.testing.assert_array_equal(F.dropout(x, 0.25, training=False).numpy(), x.numpy())
    assert not F.dropout(x, 1.0).numpy().any()
    whole = F.dropout1d(x, 0.5).numpy()
    assert (whole == whole[:, :, :1]).all()
    assert 0.4 < (whole == 0).mean() < 0.6


def test_the_same_key_drops_the_same_elements():
    key, x = mg.random.key(3), mg.tensor(np.ones(1000))

    np.testing.assert_array_equal(F.dropout(x, key=key).numpy(), F.dropout(x, key=key).numpy())
    assert (F.dropout(x).numpy() != F.dropout(x).numpy()).any()


MISTAKES = {
    "a loss of two shapes": (lambda: F.l1_loss(mg.tensor(X), X[0]), mg.errors.ShapeError, "one shape"),
    "an unknown reduction": (lambda: F.mse_loss(X, X, reduction="average"), ValueError, "'mean', 'sum' or 'none'"),
    "scores for probabilities": (lambda: F.binary_cross_entropy(X * 3, P), ValueError, r"sigmoid\(\)"),
    "float classes": (lambda: F.cross_entropy(X, [0.0, 1.0, 2.0, 0.0]), mg.errors.DTypeError, "integer classes"),
    "too much smoothing": (lambda: F.cross_entropy(X, CLASSES, label_smoothing=2), ValueError, "0 to 1"),
    "a negative class": (lambda: F.nll_loss(X, [0, 1, -1, 2]), IndexError, "0 to 2"),
    "a plane too few": (lambda: F.cross_entropy(SCORES, PLANES[0]), mg.errors.ShapeError, "and got"),
    "a row outside the table": (lambda: F.embedding([0, 4], X), IndexError, "0 to 3"),
    "a float row": (lambda: F.embedding([0.5], X), mg.errors.DTypeError, r"astype\(int\)"),
    "a padding outside the table": (lambda: F.embedding([0], X, padding_idx=9), IndexError, "4 rows"),
    "a layer of another width": (lambda: F.layer_norm(X, (4,)), mg.errors.ShapeError, r"\(…, 4\)"),
    "groups that do not divide": (lambda: F.group_norm(IMAGES, 3), mg.errors.ShapeError, "multiple of 3"),
    "a batch of one value":
        (lambda: F.batch_norm(np.ones((1, 3)), None, None, training=True), mg.errors.ShapeError, "more than one value"),
    "no running statistics": (lambda: F.batch_norm(X, None, None), ValueError, "running_mean"),
    "keys of another width":
        (lambda: F.scaled_dot_product_attention(Q, K[..., :4], V), mg.errors.ShapeError, r"\(…, S, E\)"),
    "heads that do not share":
        (lambda: F.scaled_dot_product_attention(Q, K[:, :2], V, enable_gqa=True), mg.errors.ShapeError, "shares heads"),
    "two masks": (lambda: F.scaled_dot_product_attention(Q, K, V, MASK, is_causal=True), ValueError, "one mask"),
    "more dropped than there is": (lambda: F.dropout(X, 1.5), ValueError, "0 to 1"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_clear_sentence_answers(mistake):
    call, error, sentence = MISTAKES[mistake]
    with pytest.raises(error, match=sentence):
        call()
