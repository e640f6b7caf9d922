"""Schedules by themselves: asked about any step, stopped and continued, refused."""

import pytest
from test_optimizer import leaf

import minigrad as mg
from minigrad.optim import lr_scheduler
from tests.support.table import mistakes, table


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
    "a cycle without momentum":
        (lambda: lr_scheduler.OneCycleLR(mg.optim.Adagrad([leaf(1.0)]), 1.0, 10), ValueError, "cycle_momentum=False"),
    "a resumed stranger": (lambda: lr_scheduler.StepLR(sgd(), 1, last_epoch=3), ValueError, "initial_lr"),
    "a step before the first": (lambda: lr_scheduler.StepLR(sgd(), 1).step(-1), ValueError, "epoch must be 0 or more"),
    "a milestone missing":
        (lambda: lr_scheduler.SequentialLR(o := sgd(), [lr_scheduler.StepLR(o, 1)] * 3, [4]), ValueError,
         r"2 for these 3, got \[4\]"),
    "schedules of strangers":
        (lambda: lr_scheduler.ChainedScheduler([lr_scheduler.StepLR(sgd(), 1), lr_scheduler.StepLR(sgd(), 1)]),
         ValueError, "number 1"),
    "a joined plateau":
        (lambda: lr_scheduler.ChainedScheduler([lr_scheduler.ReduceLROnPlateau(sgd())]), ValueError, "time alone"),
}  # fmt: skip
test_a_schedule_says_what_is_wrong_with_it = mistakes(MISTAKEN)


# -- groups that are added later -------------------------------------------------------------------

LATE = {
    "StepLR": lambda o: lr_scheduler.StepLR(o, 3, 0.5),
    "MultiStepLR": lambda o: lr_scheduler.MultiStepLR(o, [3, 5, 8], 0.5),
    "ExponentialLR": lambda o: lr_scheduler.ExponentialLR(o, 0.9),
    "ConstantLR": lambda o: lr_scheduler.ConstantLR(o, 0.25, 9),
    "LinearLR": lambda o: lr_scheduler.LinearLR(o, 0.1, 0.8, 9),
    "PolynomialLR": lambda o: lr_scheduler.PolynomialLR(o, 12, 2.0),
    "CosineAnnealingLR": lambda o: lr_scheduler.CosineAnnealingLR(o, 20, 1e-3),
    "CosineAnnealingWarmRestarts": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 7, 2, 1e-3),
    "LambdaLR": lambda o: lr_scheduler.LambdaLR(o, lambda t: 1 / (t + 1)),
    "MultiplicativeLR": lambda o: lr_scheduler.MultiplicativeLR(o, lambda t: 0.9),
    "SequentialLR": lambda o: lr_scheduler.SequentialLR(
        o, [lr_scheduler.LinearLR(o, 0.1, total_iters=3), lr_scheduler.ExponentialLR(o, 0.9)], [6]
    ),
    "ChainedScheduler": lambda o: lr_scheduler.ChainedScheduler(
        [lr_scheduler.ConstantLR(o, 0.1, 6), lr_scheduler.ExponentialLR(o, 0.9)]
    ),
}


@table("make", LATE.values(), ids=LATE)
def test_a_group_added_after_a_schedule_follows_the_same_curve_from_its_own_rate(make):
    """zip() raised an error. PyTorch gives the same rates in the schedules that accept late groups."""
    optimizer, whole = sgd(), mg.optim.SGD([{"params": leaf(1.0)}, {"params": leaf(2.0), "lr": 0.05}], lr=0.1)
    schedule, early = make(optimizer), make(whole)
    for _ in range(4):
        schedule.step()
        early.step()
    optimizer.add_param_group({"params": [leaf(2.0)], "lr": whole.param_groups[1]["lr"]})
    for _ in range(8):
        schedule.step()
        early.step()

        assert schedule.get_last_lr() == pytest.approx(early.get_last_lr(), rel=1e-12)


@pytest.mark.parametrize("when", ["before the next step", "after it"])
def test_a_run_with_a_late_group_is_saved_and_continued(when):
    def run(optimizer, schedule, steps):
        for _ in range(steps):
            schedule.step()
        return [group["lr"] for group in optimizer.param_groups]

    through = sgd()
    schedule = LATE["SequentialLR"](through)
    run(through, schedule, 4)
    through.add_param_group({"params": [leaf(2.0)], "lr": 0.03})
    run(through, schedule, 2 * (when == "after it"))
    states = through.state_dict(), schedule.state_dict()
    resumed = mg.optim.SGD([{"params": leaf(1.0)}, {"params": leaf(2.0)}], lr=7.0)
    again = LATE["SequentialLR"](resumed)
    for part, state in zip((resumed, again), states):
        part.load_state_dict(state)

    assert run(resumed, again, 5) == pytest.approx(run(through, schedule, 5), rel=1e-12)


def test_a_plateau_reduces_a_group_that_was_added_later():
    optimizer = sgd()
    plateau = lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
    optimizer.add_param_group({"params": [leaf(2.0)], "lr": 0.5})
    for loss in (1.0, 1.0):
        plateau.step(loss)

    assert plateau.get_last_lr() == pytest.approx([0.01, 0.05])


@pytest.mark.parametrize(("make", "words"), [
    (lambda o: lr_scheduler.OneCycleLR(o, 1.0, 10), "bounds for 1 groups.*has 2"),
    (lambda o: lr_scheduler.CyclicLR(o, 0.1, 1.0, 10), "bounds for 1 groups.*has 2"),
    (lambda o: lr_scheduler.LambdaLR(o, [lambda t: 1.0]), "lr_lambda needs one value.*2 groups"),
    (lambda o: lr_scheduler.LambdaLR(o, lambda t: 0.0), "with rate 0.1, but no base rate gives"),
])  # fmt: skip
def test_a_late_group_is_refused_by_a_schedule_without_a_curve_for_it(make, words):
    optimizer = sgd()
    schedule = make(optimizer)
    optimizer.add_param_group({"params": [leaf(2.0)]})

    with pytest.raises(ValueError, match=words):
        schedule.step()


# -- states of others ------------------------------------------------------------------------------

SPOILT = {
    "a negative step": {"last_epoch": -5}, "a step that is a text": {"last_epoch": "3"},
    "half a step": {"last_epoch": 2.5}, "a negative base": {"base_lrs": [-0.1]},
    "bases for more groups": {"base_lrs": [0.1, 0.1]}, "no bases": {"base_lrs": None}, "another option": {"gamma": 0.7},
    "an option of another kind": {"T_max": 3}, "another kind": {"schedule": "CosineAnnealingLR"},
}  # fmt: skip


@table("change", SPOILT.values(), ids=SPOILT)
def test_a_schedule_refuses_an_invalid_state_and_keeps_its_own(change):
    schedule = lr_scheduler.StepLR(sgd(), 3)
    state = schedule.state_dict()

    with pytest.raises(ValueError):
        schedule.load_state_dict({**state, "last_epoch": 8, **change})

    assert schedule.state_dict() == state


@table("name", LATE)
def test_a_schedule_refuses_the_state_of_every_other_kind(name):
    for other, make in LATE.items():
        if other != name:
            with pytest.raises(ValueError):
                LATE[name](sgd()).load_state_dict(make(sgd()).state_dict())


@pytest.mark.parametrize("change", [{"patience": 3}, {"best": float("nan")}, {"num_bad_epochs": -1}, {"mode": "max"}])
def test_a_plateau_refuses_the_state_of_another(change):
    plateau = lr_scheduler.ReduceLROnPlateau(sgd())

    with pytest.raises(ValueError):
        plateau.load_state_dict(plateau.state_dict() | change)
