"""Schedules by themselves: asked about any step, stopped and continued, refused."""

import pytest
from test_optim import leaf

import minigrad as mg
from minigrad.optim import lr_scheduler


def test_a_schedule_can_be_asked_about_any_step():
    schedule = lr_scheduler.CosineAnnealingLR(mg.optim.SGD([leaf(1.0)], lr=0.2), T_max=10)

    assert schedule.lr_at(0, 1.0) == 1
    assert schedule.lr_at(5, 1.0) == pytest.approx(0.5)
    assert schedule.get_last_lr() == [0.2]


def test_a_schedule_that_is_stopped_and_continued_is_the_same_schedule():
    through = mg.optim.SGD([leaf(1.0)], lr=0.2)
    schedule = lr_scheduler.StepLR(through, 3)
    for _ in range(4):
        schedule.step()
    kept, state = schedule.state_dict(), through.state_dict()

    again = mg.optim.SGD([leaf(1.0)], lr=5.0)
    again.load_state_dict(state)
    resumed = lr_scheduler.StepLR(again, 3)
    resumed.load_state_dict(kept)
    named = lr_scheduler.StepLR(again, 3, last_epoch=4)  # which stands at step 5
    for _ in range(2):
        schedule.step()
        resumed.step()
    named.step()

    assert schedule.get_last_lr() == resumed.get_last_lr() == named.get_last_lr() == [0.2 * 0.1**2]


def test_a_plateau_is_continued():
    optimizer = mg.optim.SGD([leaf(1.0)], lr=1.0)
    first = lr_scheduler.ReduceLROnPlateau(optimizer, patience=2)
    for loss in (1.0, 1.0, 1.0):
        first.step(mg.tensor(loss))
    second = lr_scheduler.ReduceLROnPlateau(optimizer, patience=2)
    second.load_state_dict(first.state_dict())
    assert optimizer.lr == 1

    second.step(1.0)

    assert optimizer.lr == pytest.approx(0.1)


def test_one_cycle_ends_at_its_lowest_rate_and_then_refuses():
    optimizer = mg.optim.SGD([leaf(1.0)], lr=1.0)
    schedule = lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=10, anneal_strategy="linear")
    for _ in range(10):
        schedule.step()

    assert optimizer.lr == pytest.approx(1 / 25 / 1e4)
    with pytest.raises(ValueError, match=r"10 steps.*11"):
        schedule.step()


def sgd():
    return mg.optim.SGD([leaf(1.0)], lr=0.1)


MISTAKEN = {
    "no optimiser": (lambda: lr_scheduler.StepLR([leaf(1.0)], 1), TypeError, "optimiser"),
    "steps of nothing": (lambda: lr_scheduler.StepLR(sgd(), 0), ValueError, "step_size.*0"),
    "two functions for one group": (lambda: lr_scheduler.LambdaLR(sgd(), [abs, abs]), ValueError, "1 groups.*got 2"),
    "a factor above 1": (lambda: lr_scheduler.ConstantLR(sgd(), 1.5), ValueError, "1.5"),
    "a warm-up from 0": (lambda: lr_scheduler.LinearLR(sgd(), 0.0), ValueError, "start_factor"),
    "a plateau that rises": (lambda: lr_scheduler.ReduceLROnPlateau(sgd(), factor=1.0), ValueError, "below 1"),
    "a mode": (lambda: lr_scheduler.ReduceLROnPlateau(sgd(), "low"), ValueError, "'low'"),
    "a cycle of unknown length": (lambda: lr_scheduler.OneCycleLR(sgd(), 1.0), ValueError, "epochs"),
    "a cycle without momentum": (
        lambda: lr_scheduler.OneCycleLR(mg.optim.Adagrad([leaf(1.0)]), 1.0, 10),
        ValueError,
        "cycle_momentum=False",
    ),
    "a resumed stranger": (lambda: lr_scheduler.StepLR(sgd(), 1, last_epoch=3), ValueError, "initial_lr"),
    "a step before the first": (lambda: lr_scheduler.StepLR(sgd(), 1).step(-1), ValueError, "step 0"),
    "a milestone missing": (
        lambda: lr_scheduler.SequentialLR(o := sgd(), [lr_scheduler.StepLR(o, 1)] * 3, [4]),
        ValueError,
        r"2 for these 3, and got \[4\]",
    ),
    "schedules of strangers": (
        lambda: lr_scheduler.ChainedScheduler([lr_scheduler.StepLR(sgd(), 1), lr_scheduler.StepLR(sgd(), 1)]),
        ValueError,
        "number 1",
    ),
    "a joined plateau": (
        lambda: lr_scheduler.ChainedScheduler([lr_scheduler.ReduceLROnPlateau(sgd())]),
        ValueError,
        "time alone",
    ),
}


@pytest.mark.parametrize(("make", "error", "words"), MISTAKEN.values(), ids=MISTAKEN)
def test_a_schedule_says_what_is_wrong_with_it(make, error, words):
    with pytest.raises(error, match=words):
        make()
