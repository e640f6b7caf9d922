"""Smaller models, end to end: a network on digits, in integers and with zeros; and convolution in two steps."""

import copy
from fractions import Fraction

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad import quantization as mq
from minigrad.engine.base.errors import ShapeError
from minigrad.nn.utils import prune

WEIGHTS = (0, 3, 7)


def images(x):
    return mg.tensor(x.reshape(-1, 1, 8, 8).astype("f4"))


@pytest.fixture(scope="module")
def digits():
    return mg.data.digits()


def trained(model, digits, epochs, lr):
    """The model after some epochs of Adam, the same at each call."""
    optimizer, rng = mg.optim.Adam(model.parameters(), lr=lr), np.random.default_rng(0)

    @mg.function
    def step(x, y):
        optimizer.zero_grad()
        mg.cross_entropy(model(x), y).backward()
        optimizer.step()

    for _ in range(epochs):
        order = rng.permutation(1408)  # whole batches
        for i in range(0, 1408, 64):
            step(images(digits.train_x[order[i : i + 64]]), mg.tensor(digits.train_y[order[i : i + 64]]))
    return model


@pytest.fixture(scope="module")
def whole(digits):
    mg.manual_seed(0)
    block = [lambda n, m: nn.Conv2d(n, m, 3, padding=1), lambda *_: nn.ReLU(), lambda *_: nn.MaxPool2d(2)]
    layers = [make(n, m) for n, m in ((1, 8), (8, 16)) for make in block]
    return trained(nn.Sequential(*layers, nn.Flatten(), nn.Linear(64, 10)).float(), digits, 15, 3e-3)


@pytest.fixture(scope="module")
def table(whole, digits):
    """Accuracy and bytes of the network, made smaller in every way."""
    bits = mq.PerChannelMinMaxObserver.with_args(qscheme="per_channel_symmetric", quant_min=-2, quant_max=1)
    two = mq.QConfig(mq.MovingAverageMinMaxObserver, bits)
    models = {"float32": whole, "dynamic": mq.quantize_dynamic(whole, {nn.Linear, nn.Conv2d})}
    for name, config in (("static", mq.default_qconfig), ("static, 2 bits", two)):
        prepared = mq.prepare(whole, config)
        prepared(images(digits.train_x[:256]))
        models[name] = mq.convert(prepared)
    models["trained"] = mq.convert(trained(mq.prepare_qat(whole), digits, 1, 3e-4))
    models["trained, 2 bits"] = mq.convert(trained(mq.prepare_qat(whole, two), digits, 2, 1e-3))
    for amount in (0.5, 0.8):
        model = copy.deepcopy(whole)
        prune.global_unstructured([(model[i], "weight") for i in WEIGHTS], prune.L1Unstructured, amount=amount)
        models[f"pruned {amount}"] = copy.deepcopy(model)
        models[f"pruned {amount}, trained"] = trained(model, digits, 4, 2e-3)
        models[f"pruned {amount}, removed"] = removed = copy.deepcopy(model)
        for i in WEIGHTS:
            prune.remove(removed[i], "weight")
    return mq.compare(models, (images(digits.test_x), digits.test_y), rounds=1), models


def test_accuracy_survives_eight_bits_and_with_training_two(table):
    right = {row[0]: row[1] for row in table[0].rows}

    assert right["float32"] > 0.92
    for name in ("dynamic", "static", "trained"):
        assert right[name] > right["float32"] - 0.03
    assert right["static, 2 bits"] < right["float32"] - 0.1
    assert right["trained, 2 bits"] > right["static, 2 bits"] + 0.1


def test_accuracy_survives_pruning_where_what_is_left_is_trained(table):
    right = {row[0]: row[1] for row in table[0].rows}

    assert right["pruned 0.5, trained"] > right["float32"] - 0.03
    assert right["pruned 0.8, trained"] > right["pruned 0.8"] + 0.1
    assert right["pruned 0.8, trained"] == right["pruned 0.8, removed"]


def test_bytes_are_counted(table):
    """Weights in one byte each, scales and biases in four; pruned, as many as before, and masks."""
    sizes = {row[0]: row[2] for row in table[0].rows}
    weights, biases = 8 * 9 + 16 * 8 * 9 + 10 * 64, 8 + 16 + 10

    assert sizes["float32"] == 4 * (weights + biases)
    assert sizes["static"] == sizes["trained"] == weights + 4 * (3 * biases + 2 * 3)
    assert sizes["pruned 0.8"] == sizes["float32"] + 4 * weights
    assert sizes["pruned 0.8, removed"] == sizes["float32"]
    assert prune.sparsity(table[1]["pruned 0.8, removed"]).rows[-1][3] == round(0.8 * weights)


def test_the_table_says_what_integers_do_not_save(table):
    text, html = str(table[0]), table[0]._repr_html_()

    assert "not faster here" in text
    assert text.splitlines()[0].split() == ["model", "right", "bytes", "share", "of", "bytes", "time"]
    assert html.count('<th scope="row"') == len(table[0].rows) == 12
    assert table[0].rows[0][3:] == (1, 1)


def test_a_table_of_nothing_is_refused(whole):
    for models, data in (({}, (np.ones((1, 2)), [1])), ({"m": whole}, (np.ones((2, 2)), [1]))):
        with pytest.raises(ShapeError, match="a class for each row"):
            mq.compare(models, data)

    with pytest.raises(ValueError, match="rounds=0"):
        mq.compare({"m": whole}, (np.ones((1, 1, 8, 8)), [1]), rounds=0)


def test_what_is_compared_is_a_copy_in_evaluation(whole, digits):
    model = nn.Sequential(nn.Dropout(1.0), whole)
    prepared = mq.prepare_qat(model)
    data = images(digits.test_x[:32]), digits.test_y[:32]

    first, second = mq.compare({"whole": whole, "with dropout": model}, data, rounds=1).rows

    assert first[1] == second[1] > 0.5
    assert model.training
    assert prepared.training


# -- convolution in two steps -------------------------------------------------------------------------


def flops(layer, x):
    y = layer(x)
    return y, y.node.op.flops(y.spec, x.spec, layer.weight.spec)


@pytest.mark.parametrize(("n", "m", "k"), [(4, 8, 3), (6, 10, 5), (3, 16, 1)])
def test_a_depthwise_separable_convolution_costs_the_share_that_the_formula_says(n, m, k):
    """1/C_out + 1/K². Howard et al. 2017, “MobileNets”, section 3.1. https://arxiv.org/abs/1704.04861"""
    x = mg.tensor(np.ones((2, n, 7, 7)))
    usual = nn.Conv2d(n, m, k, padding=k // 2, bias=False)
    depthwise, pointwise = nn.Conv2d(n, n, k, padding=k // 2, groups=n, bias=False), nn.Conv2d(n, m, 1, bias=False)

    _, whole = flops(usual, x)
    between, first = flops(depthwise, x)
    y, second = flops(pointwise, between)

    share = Fraction(1, m) + Fraction(1, k * k)
    assert y.shape == (2, m, 7, 7)
    assert Fraction(depthwise.weight.size + pointwise.weight.size, usual.weight.size) == share
    assert Fraction(first + second, whole) == share
    assert whole == 2 * 2 * 7 * 7 * n * m * k * k


@pytest.mark.parametrize(("width", "resolution"), [(1.0, 16), (0.5, 16), (1.0, 8), (0.5, 8)])
def test_the_multipliers_of_width_and_resolution_are_squared(width, resolution):
    """Of a pointwise convolution, in which a MobileNet spends its time, α² ρ² of the operations are left."""
    channels = int(32 * width)
    _, cost = flops(nn.Conv2d(channels, channels, 1, bias=False), mg.tensor(np.ones((1, channels, *[resolution] * 2))))

    assert cost == width**2 * (resolution / 16) ** 2 * 2 * 32 * 32 * 16 * 16


def test_its_gradients_are_pytorchs():
    torch = pytest.importorskip(
        "torch", reason="PyTorch is not installed: python -m pip install torch adds this oracle"
    )
    theirs = torch.nn.Sequential(torch.nn.Conv2d(4, 4, 3, padding=1, stride=2, groups=4), torch.nn.Conv2d(4, 6, 1))
    ours = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1, stride=2, groups=4), nn.Conv2d(4, 6, 1))
    theirs = theirs.double()
    ours.load_state_dict({name: p.detach().numpy() for name, p in theirs.named_parameters()})
    x = np.random.default_rng(0).normal(size=(3, 4, 8, 8))
    mine, other = mg.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)

    (ours(mine) ** 2).sum().backward()
    (theirs(other) ** 2).sum().backward()

    np.testing.assert_allclose(mine.grad.numpy(), other.grad.numpy(), rtol=1e-9)
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-9)
