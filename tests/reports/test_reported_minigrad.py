"""Bugs that outside reviewers found in minigrad itself: effects, aliases, checks and loaded states."""

import numpy as np
import pytest

import minigrad as mg
from tests.reports.report import COMPILED, MODES, report

F, nn, optim = mg.nn.functional, mg.nn, mg.optim
WAYS = {"eager": lambda f: f, **{name: mg.function(**options) for name, options in COMPILED.items()}}
TRACED = ["eager", *COMPILED, "session"]


# -- effects that are waited for --------------------------------------------------------------------------


def waits(x, choose):
    """A read of a variable after its assignment, inside the branch or loop that `choose` makes."""
    v = mg.Variable(1.0)
    assign = v.assign_add(10.0)

    def read():
        with mg.control_dependencies([assign]):
            return v.read_value() * 1

    return choose(read)


CHOICES = {
    "cond": lambda read: mg.cond(mg.constant(True), read, lambda: mg.constant(0.0)),
    "lax.cond": lambda read: mg.lax.cond(mg.constant(True), read, lambda: mg.constant(0.0)),
    "switch_case": lambda read: mg.graph.switch_case(mg.constant(0), [read, lambda: mg.constant(0.0)]),
    "while_loop": lambda read: mg.while_loop(
        lambda i, y: i < 1, lambda i, y: (i + 1, read()), (mg.constant(0), mg.constant(0.0))
    )[1],
    "nested": lambda read: mg.cond(
        mg.constant(True), lambda: mg.cond(mg.constant(True), read, lambda: mg.constant(0.0)), lambda: mg.constant(0.0)
    ),
}


@pytest.mark.parametrize("choice", CHOICES)
def test_a_branch_waits_for_an_effect_from_outside(choice):
    with mg.Graph().as_default() as graph:
        y = waits(None, CHOICES[choice])
    with mg.Session(graph) as session:
        session.run(mg.global_variables_initializer())
        assert session.run(y) == 11


# -- aliases ----------------------------------------------------------------------------------------------


@report("minigrad", [3, 1], value=[13.5], modes=["eager", *COMPILED])
def test_a_slice_from_before_a_loop_shows_what_the_loop_edits(x):
    y = x * 1
    first = y[:1]
    for _ in x:
        y.mul_(1.5)
    return first * 2


@report("minigrad", [3, 1], value=[13], modes=["eager", *COMPILED], refused="memory|view")
def test_pythons_max_returns_one_of_the_two(x):
    a, b = x[:1] * 1, x[1:] * 1
    c = max(a, b)
    a.add_(10)
    return c * 1


@report("minigrad", [2], [2], value=[2], gradients=[[1], [0]], modes=["eager", *COMPILED])
def test_pythons_max_of_equal_numbers(x, y):
    return max(x, y)


@report("minigrad", [0, 1, 2], [2], value=[2, 3, 4], modes=["eager", *COMPILED])
def test_a_loop_in_a_branch_edits_what_comes_from_outside(x, n):
    """The edit was lost where the loop stood in a branch."""
    y = x * 1
    if n.sum() > 0:
        i = n * 0
        while i < n:
            y += 1
            i = i + 1
    return y


# -- numbers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("power", [lambda x, n: x**n, mg.pow, lambda x, n: 2**n + 0 * x, lambda x, n: (x + 1) ** n + 1])
def test_a_negative_power_of_an_integer_is_refused(power, way):
    with pytest.raises(Exception, match="negative"):
        WAYS[way](power)(mg.tensor([2, 3]), mg.tensor([1, -1]))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "f", [F.relu, mg.sign, mg.erf, mg.sin, mg.tanh, mg.atan, mg.sqrt, mg.floor, mg.round, mg.expm1, mg.asinh]
)
def test_the_sign_of_zero(f, way):
    for dtype in ("f4", "f8"):
        zeros = mg.tensor(np.array([-0.0, 0.0], dtype))
        np.testing.assert_array_equal(np.signbit(WAYS[way](f)(zeros).numpy()), np.signbit(f(zeros).numpy()))


@report(
    "minigrad", np.array([-18, -20, -50, -80], "f4"), value=[-18, -20, -50, -80], gradients=[np.ones(4)],
    modes=["eager", *COMPILED], rtol=1e-6,
)  # fmt: skip
def test_the_logarithm_of_a_small_sigmoid(x):
    return x.sigmoid().log()


@report("minigrad", np.array([-1e4, -40, 40, 1e4], "f4"), value=[0, 0, 40, 1e4], modes=["eager", *COMPILED], rtol=1e-7)
def test_gelu_far_from_zero(x):
    return F.gelu(x, approximate="tanh")


def test_the_mean_of_large_integers():
    """3 · 2**62 is more than an int64 holds."""
    x = mg.tensor([2**62] * 3)
    for way in WAYS.values():
        try:
            found = way(lambda x: x.mean())(x)
        except mg.base.errors.MinigradError:
            continue
        assert float(found) == 2.0**62


@report("minigrad", [1, 2, 3], value=[1, 2, 3], gradients=[[1, 1, 1]], modes=MODES)
def test_extremes_of_slices_that_are_single_numbers(x):
    return mg.func.vmap(lambda x: x.amax())(x) if x.ndim == 1 else x.amax()


@report("minigrad", np.ones((5, 3, 4)), value=None, modes=["eager", "function"], raises="mask|axis|shape|index")
def test_a_mask_behind_a_mask_of_two_axes_meets_its_own_axis(x):
    return x[mg.ones(5, 3, dtype=bool), mg.ones(3, dtype=bool)]


@report("minigrad", np.arange(12.0).reshape(2, 2, 3), value=[[0, 5], [6, 11]], modes=["eager", "function"])
def test_a_mask_of_two_axes_at_the_end(x):
    return x[..., mg.tensor([[True, False, False], [False, False, True]])]


# -- optimisers and schedules -----------------------------------------------------------------------------


def parameters():
    return [nn.Parameter(mg.ones(2))]


KINDS = [optim.SGD, optim.Adam, optim.AdamW, optim.RMSprop, optim.Adagrad]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_the_state_of_another_optimiser_is_refused(kind, other):
    def stepped(kind):
        optimiser = kind(parameters(), lr=0.1)
        for p in optimiser.param_groups[0]["params"]:
            p.grad = mg.ones(2)
        optimiser.step()
        return optimiser

    target, state = stepped(kind), stepped(other).state_dict()
    if kind is other or (kind, other) == (optim.Adam, optim.AdamW):  # which stays decoupled, as PyTorch's does
        target.load_state_dict(state)
        return
    with pytest.raises((ValueError, KeyError, TypeError, mg.base.errors.MinigradError)):
        target.load_state_dict(state)


@pytest.mark.parametrize("lr", [-5, "0.1", None, float("nan")])
def test_a_rate_that_the_constructor_refuses_is_not_loaded(lr):
    optimiser = optim.SGD(parameters(), lr=0.1)
    state = optimiser.state_dict()
    state["param_groups"][0]["lr"] = lr
    with pytest.raises((ValueError, TypeError)):
        optimiser.load_state_dict(state)
    assert optimiser.param_groups[0]["lr"] == 0.1


SCHEDULES = {
    "StepLR": lambda o: optim.lr_scheduler.StepLR(o, 1, gamma=0.5),
    "ExponentialLR": lambda o: optim.lr_scheduler.ExponentialLR(o, 0.5),
    "LambdaLR": lambda o: optim.lr_scheduler.LambdaLR(o, lambda t: 0.5**t),
    "ReduceLROnPlateau": lambda o: optim.lr_scheduler.ReduceLROnPlateau(o, factor=0.5, patience=0),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_group_that_is_added_after_its_schedule(name):
    """The group follows the schedule from its own rate, or is refused by an error that names it."""
    optimiser = optim.SGD(parameters(), lr=1.0)
    schedule = SCHEDULES[name](optimiser)
    optimiser.add_param_group({"params": parameters(), "lr": 0.1})
    step = (lambda: schedule.step(1.0)) if name == "ReduceLROnPlateau" else schedule.step
    for _ in range(2):
        optimiser.step()
        step()
    first, second = (group["lr"] for group in optimiser.param_groups)
    assert first < 1.0
    assert second < 0.1
