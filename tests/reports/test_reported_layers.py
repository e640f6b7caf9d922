"""Reports on losses, layers, optimisers and their schedules."""

import numpy as np
import pytest

import minigrad as mg
from tests.reports.report import MODES, report

F = mg.nn.functional
nn, optim = mg.nn, mg.optim
WITHOUT_ONNX = [mode for mode in MODES if mode != "onnx"]
LOGITS = [[1.0, 2.0], [3.0, 0.4], [0.5, 0.25]]


# fmt: off
def log_softmax(logits):
    logits = np.asarray(logits)
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def smooth(rows, classes, weights, smoothing):
    """(Σ loss, Σ weight of the class) of rows, by the definition of label smoothing."""
    logs, weights = log_softmax(LOGITS)[rows], np.asarray(weights)
    hard = sum(-weights[c] * row[c] for row, c in zip(logs, classes))
    spread = sum(-(weights * row).sum() for row in logs) / len(weights)
    return (1 - smoothing) * hard + smoothing * spread, weights[classes].sum()


def mean_of(rows, classes, weights=(1.0, 1.0), smoothing=0.1):
    total, weight = smooth(rows, classes, weights, smoothing)
    return total / weight


@report("pytorch/pytorch#69339", LOGITS, value=mean_of([1, 2], [1, 0], (0.2, 0.3)))
def test_smooth_labels_with_weights_and_an_ignored_one(x):
    """The weight of the ignored class, -100, was looked up."""
    weights = mg.tensor([0.2, 0.3], dtype=x.dtype)
    return F.cross_entropy(x, mg.tensor([-100, 1, 0]), weights, label_smoothing=0.1)


@report("pytorch/pytorch#72056", LOGITS, value=mean_of([0, 2], [0, 1], (1.0, 16.0)))
def test_a_label_of_minus_one_is_ignored(x):
    """-1 was looked up, and out of bounds."""
    weights = mg.tensor([1.0, 16.0], dtype=x.dtype)
    return F.cross_entropy(x, mg.tensor([0, -1, 1]), weights, ignore_index=-1, label_smoothing=0.1)


@report("pytorch/pytorch#91383", LOGITS, value=smooth([0, 1], [0, 1], (2.0, 1.0), 0.1)[0])
def test_the_sum_of_smooth_losses_without_the_ignored(x):
    """Only with a mean was it an error."""
    weights = mg.tensor([2.0, 1.0], dtype=x.dtype)
    return F.cross_entropy(x, mg.tensor([0, 1, -100]), weights, label_smoothing=0.1, reduction="sum")


test_smooth_labels_of_an_ignored_sample = report(
    "pytorch/pytorch#73205: The uniform part of the loss counted ignored samples.", LOGITS,
    value=mean_of([0, 2], [1, 0], smoothing=0.2),
)(lambda x: F.cross_entropy(x, mg.tensor([1, -100, 0]), label_smoothing=0.2))
test_the_mean_of_no_losses = report(
    "pytorch/pytorch#116349: All are ignored: 0 / 0, as documented.", LOGITS, value=np.nan,
)(lambda x: F.cross_entropy(x, mg.tensor([-100, -100, -100])))
test_losses_that_are_all_ignored = report(
    "pytorch/pytorch#116349: Each is 0, and so is its gradient.", LOGITS, value=[0, 0, 0], gradients=[np.zeros((3, 2))],
)(lambda x: F.cross_entropy(x, mg.tensor([-100, -100, -100]), reduction="none"))
test_a_negative_label_that_is_not_the_ignored_one = report(
    "pytorch/pytorch#12670: It was taken without a word, and the loss was garbage.", LOGITS, value=None,
    modes=["eager", "function", "compiled", "session"], raises="-4",
)(lambda x: F.cross_entropy(x, mg.tensor([0, 1, -4]), ignore_index=-1))
test_a_mean_over_what_is_not_ignored = report(
    "tinygrad/tinygrad#3570: The mean was taken over all samples.", LOGITS,
    value=mean_of([0, 1], [0, 1], smoothing=0.3),
)(lambda x: F.cross_entropy(x, mg.tensor([0, 1, 7]), ignore_index=7, label_smoothing=0.3))
test_to_add_a_vector_at_rows = report(
    "pytorch/pytorch#71155: It was broadcast, and its gradient had another shape.", np.zeros((2, 2)), [6, 7],
    value=None, modes=["eager", "function", "session"], raises="index_add",
)(lambda x, v: x.index_add(0, mg.tensor([0, 1]), v))


def test_running_statistics_are_of_the_batch():
    """paiml/aprender#2166: training never changed them. Mean 2 and unbiased variance 2 after one batch of 1 and 3."""
    norm = nn.BatchNorm1d(1, momentum=1.0, affine=False)
    norm(mg.tensor([[1.0], [3.0]]))
    np.testing.assert_allclose([*norm.running_mean.numpy(), *norm.running_var.numpy()], [2, 2])
    np.testing.assert_allclose(
        norm.eval()(mg.tensor([[2.0], [4.0]])).numpy(), [[0], [2 / (2 + 1e-5) ** 0.5]], rtol=1e-6
    )


def test_a_batch_is_divided_by_its_biased_variance():
    """pytorch/pytorch#3122: in training by that of the batch, 1, and later by the unbiased one, 2, as in the paper."""
    norm = nn.BatchNorm1d(1, affine=False, eps=0.0)
    np.testing.assert_allclose(norm(mg.tensor([[1.0], [3.0]])).numpy(), [[-1], [1]], rtol=1e-6)
    np.testing.assert_allclose(norm.running_var.numpy(), [0.9 * 1 + 0.1 * 2], rtol=1e-6)


def test_a_chain_of_norms_in_evaluation():
    """pytorch/pytorch#100048: after many batches of the same data the running statistics are those of the data."""
    x = mg.tensor(np.random.default_rng(0).normal(size=(8, 2)))
    norm = nn.BatchNorm1d(2, affine=False, eps=0.0).double()
    for _ in range(300):
        norm(x)
    unbiased = np.asarray(x).std(0, ddof=1)
    np.testing.assert_allclose(norm.eval()(x).numpy(), (np.asarray(x) - np.asarray(x).mean(0)) / unbiased, rtol=1e-10)


test_group_norm_of_nearly_equal_numbers = report(
    "pytorch/pytorch#187092: Their variance came out as 0.", np.float32([[[0.99999, 0.99999, 1.00001, 1.00001]]]),
    value=[[[-0.7096] * 2 + [0.7096] * 2]], rtol=2e-3, modes=["eager", "function"],
)(lambda x: F.group_norm(x, 1, eps=1e-10))


@pytest.mark.parametrize("steps", [1, 3, 5])
def test_a_schedule_goes_on_after_loading(steps):
    """pytorch/pytorch#29697: MultiStepLR began with the rate of the new optimiser, and stayed with it."""

    def make():
        optimiser = optim.SGD([mg.nn.Parameter(mg.zeros(1))], lr=1.0)
        return optimiser, optim.lr_scheduler.MultiStepLR(optimiser, [2, 4], gamma=0.1)

    first, second = make(), make()
    for _ in range(steps):
        first[0].step()
        first[1].step()
    for new, old in zip(second, first):
        new.load_state_dict(old.state_dict())
    for optimiser, schedule in (first, second):
        optimiser.step()
        schedule.step()
    assert (
        second[0].param_groups[0]["lr"]
        == first[0].param_groups[0]["lr"]
        == pytest.approx(0.1 ** sum(steps + 1 >= m for m in (2, 4)))
    )
    assert second[1].get_last_lr() == first[1].get_last_lr()


def test_a_cyclic_schedule_refuses_the_state_of_another_factor():
    """pytorch/pytorch#52911: the state had the new gamma, and the rates those of the old one."""

    def make(gamma):
        optimiser = optim.SGD([mg.nn.Parameter(mg.zeros(1))], lr=0.01, momentum=0.9)
        return optim.lr_scheduler.CyclicLR(optimiser, 0.01, 0.1, step_size_up=2, mode="exp_range", gamma=gamma)

    with pytest.raises(ValueError, match="gamma"):
        make(1.0).load_state_dict(make(0.5).state_dict())


def test_schedules_in_sequence_go_on_after_loading():
    """pytorch/pytorch#119168: to make the schedules for loading changed the rate that had been loaded."""

    def make():
        optimiser = optim.SGD([mg.nn.Parameter(mg.zeros(1))], lr=1.0)
        parts = [
            optim.lr_scheduler.LinearLR(optimiser, 0.1, total_iters=3),
            optim.lr_scheduler.CosineAnnealingLR(optimiser, 4),
        ]
        return optimiser, optim.lr_scheduler.SequentialLR(optimiser, parts, [3])

    (one, first), (two, second) = make(), make()
    rates = []
    for _ in range(5):
        one.step()
        first.step()
    second.load_state_dict(first.state_dict())
    two.load_state_dict(one.state_dict())
    for optimiser, schedule in ((one, first), (two, second)):
        rates.append([])
        for _ in range(3):
            optimiser.step()
            schedule.step()
            rates[-1].append(optimiser.param_groups[0]["lr"])
    assert rates[0] == rates[1]


def test_the_rate_of_a_loaded_group_can_be_changed():
    """pytorch/pytorch#156846: a rate set after loading was overwritten by the schedule's first."""
    parameter = mg.nn.Parameter(mg.zeros(1))
    optimiser = optim.SGD([parameter], lr=1.0)
    state = optimiser.state_dict()
    optimiser.load_state_dict(state)
    optimiser.param_groups[0]["lr"] = 0.5
    parameter.grad = mg.ones(1)
    optimiser.step()
    np.testing.assert_allclose(parameter.detach().numpy(), [-0.5])
