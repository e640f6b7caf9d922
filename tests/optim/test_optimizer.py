"""Optimisers by themselves: what is stated, and what is kept."""

import copy
import pickle
import tracemalloc

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import ShapeError
from minigrad.optim.optimizer import PIECE
from tests.support.table import table

EVERY = [mg.optim.SGD, mg.optim.Adam, mg.optim.AdamW, mg.optim.Adamax, mg.optim.NAdam, mg.optim.RAdam]
EVERY += [mg.optim.RMSprop, mg.optim.Adagrad, mg.optim.Adadelta, mg.optim.Rprop, mg.optim.ASGD]
DECAY = {"weight_decay": 0.1}
rng = np.random.default_rng(5)


def leaf(data, dtype=None):
    return mg.tensor(data, dtype, requires_grad=True)


def down(optimizer, steps=1):
    """Steps towards 0."""
    for _ in range(steps):
        optimizer.zero_grad()
        for p in optimizer.parameters():
            (p * p).sum().backward()
        optimizer.step()


@table("kind", EVERY)
def test_a_step_goes_down(kind):
    w = leaf([1.0, -2.0])

    down(kind([w]), 3)

    assert 0 < w.numpy()[0] < 1
    assert -2 < w.numpy()[1] < 0


def test_the_first_step_of_adam_is_the_learning_rate_whatever_the_unit():
    w = leaf([1.0, 1000.0, -1e-3])
    before = w.numpy().copy()

    down(mg.optim.Adam([w], lr=1e-4))

    np.testing.assert_allclose(w.numpy() - before, [-1e-4, -1e-4, 1e-4], rtol=1e-5)  # ε = 1e-8 beside 2e-3


def rectified(t):
    """The t-th step of RAdam in units of lr, as in algorithm 2 of its paper, for a gradient of 3 and β₂ = 0.999."""
    most = 2 / (1 - 0.999) - 1
    rho = most - 2 * t * 0.999**t / (1 - 0.999**t)
    return ((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho)) ** 0.5 if rho > 5 else 3


CONSTANT = {  # optimiser → its t-th step in units of lr under a constant gradient of 3: the sum of the series
    **dict.fromkeys(("Adam", "Adamax"), lambda t: 1),
    **dict.fromkeys(("SGD", "ASGD"), lambda t: 3),
    "RMSprop": lambda t: (1 - 0.99**t) ** -0.5,
    "Adagrad": lambda t: t**-0.5,
    "Rprop": lambda t: 1.2 ** (t - 1),
    "RAdam": rectified,
}


@table("name", CONSTANT)
def test_steps_under_a_constant_gradient_are_those_of_the_closed_form(name):
    w, places = leaf(0.0), [0.0]
    optimizer = getattr(mg.optim, name)([w], lr=1e-3)

    for _ in range(9):
        optimizer.zero_grad()
        (3 * w).backward()
        optimizer.step()
        places.append(w.item())

    np.testing.assert_allclose(-np.diff(places) / 1e-3, [CONSTANT[name](t) for t in range(1, 10)], rtol=1e-5)


def test_momentum_sums_a_geometric_series():
    w = leaf(0.0)
    optimizer = mg.optim.SGD([w], lr=1.0, momentum=0.5)

    for _ in range(3):
        optimizer.zero_grad()
        (w * 1.0).backward()
        optimizer.step()

    assert w.item() == -(1 + 1.5 + 1.75)


def test_decoupled_decay_shrinks_a_weight_whatever_its_gradient():
    w = leaf([4.0, 4.0])
    optimizer = mg.optim.AdamW([w], lr=0.1, weight_decay=0.5)
    (w * mg.tensor([0.0, 1e-30])).sum().backward()

    optimizer.step()

    np.testing.assert_allclose(w.numpy(), 4 * (1 - 0.1 * 0.5))


@pytest.mark.parametrize("kind", EVERY)
def test_an_update_makes_no_arrays_but_a_piece_of_scratch(kind):
    w = leaf(rng.normal(size=(1000, 2000)), np.float32)
    optimizer = kind([w], **DECAY if "weight_decay" in kind.options else {})
    down(optimizer)

    tracemalloc.start()
    optimizer.step()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 3 * 4 * PIECE + 20_000  # bytes, of three arrays of float32; the parameter has 8 000 000
    assert not optimizer.scratch


@table("kind", EVERY)
def test_a_parameter_is_moved_where_it_lies_and_in_its_own_precision(kind):
    for dtype in (np.float16, np.float32, np.float64):
        w = leaf(rng.normal(size=(3, 2)), dtype)
        place = w.numpy()

        down(kind([w]), 2)

        assert w.numpy() is place or np.shares_memory(w.numpy(), place)
        assert w.dtype == dtype


@table("kind", EVERY)
def test_pieces_and_layouts_do_not_matter(kind):
    numbers = rng.normal(size=(290, 300))
    whole, turned, lone = leaf(numbers), leaf(0 * numbers.T), [leaf(x) for x in numbers[:2, 0]]
    turned.data = np.asfortranarray(numbers.T).T.T

    assert not turned.numpy().flags.c_contiguous
    down(kind([whole]), 3)
    down(kind([turned, *lone]), 3)

    np.testing.assert_array_equal(turned.numpy().T, whole.numpy())
    assert [x.item() for x in lone] == whole.numpy()[:2, 0].tolist()


def test_a_small_gradient_in_float16_moves_its_parameter():
    """In float16 the square of 1e-4, and ε, are 0: the step was 0 / 0."""
    w = leaf([1.0], np.float16)
    optimizer = mg.optim.Adam([w], lr=0.25)
    w.grad = mg.tensor([1e-4], np.float16)

    optimizer.step()

    assert w.numpy().tolist() == [0.75]
    assert optimizer.state[w]["exp_avg_sq"].dtype == np.float32


def test_numbers_of_numpy_as_options_do_not_change_the_precision():
    w = leaf([1.0], np.float32)
    optimizer = mg.optim.Adam([w], lr=np.float64(0.1))

    down(optimizer)

    assert type(optimizer.lr) is float
    assert optimizer.state[w]["exp_avg"].dtype == np.float32


def test_a_network_on_the_simulated_device_trains_as_on_the_cpu():
    paths = []
    for device in ("cpu", "simulated"):
        w = mg.tensor(np.linspace(-1, 1, 7), requires_grad=True, device=device)
        for kind in EVERY:
            down(kind([w], **DECAY if "weight_decay" in kind.options else {}), 3)
        paths.append(w.to("cpu").numpy())

    np.testing.assert_array_equal(*paths)


# -- groups -------------------------------------------------------------------------------------


def test_lr_is_the_first_groups_and_is_given_to_all():
    a, b = leaf(1.0), leaf(1.0)
    optimizer = mg.optim.SGD([{"params": a}, {"params": b, "lr": 0.5}], lr=0.1)

    assert optimizer.lr == 0.1
    optimizer.lr = 0.25
    down(optimizer)

    assert (a.item(), b.item()) == (0.5, 0.5)
    with pytest.raises(ValueError, match=r"lr.*not negative.*-1"):
        optimizer.lr = -1


def test_a_frozen_parameter_may_stand_beside_others_and_stays():
    w, frozen = leaf(1.0), mg.tensor(1.0)
    optimizer = mg.optim.Adam([w, frozen])

    (w * frozen).backward()
    optimizer.step()

    assert w.item() < 1
    assert frozen.item() == 1
    assert frozen not in optimizer.state


def test_a_gradient_is_forgotten_or_becomes_zero_where_it_is():
    w = leaf([1.0, 2.0])
    optimizer = mg.optim.SGD([w, leaf(1.0)])
    (w * w).sum().backward()
    grad = w.grad.numpy()

    optimizer.zero_grad(set_to_none=False)
    assert grad.tolist() == [0, 0]
    assert np.shares_memory(w.grad.numpy(), grad)

    optimizer.zero_grad()
    assert w.grad is None


def test_a_closure_computes_the_loss_anew_and_is_recorded_even_under_no_grad():
    w = leaf(2.0)
    optimizer = mg.optim.SGD([w], lr=0.25)

    def closure():
        optimizer.zero_grad()
        loss = w * w
        loss.backward()
        return loss

    with mg.no_grad():
        losses = [optimizer.step(closure).item() for _ in range(3)]

    assert losses == [4, 1, 0.25]
    assert optimizer.step() is None


def test_an_optimiser_of_ones_own_says_only_how_it_moves():
    class SignSGD(mg.optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        def move(self, p, g, pad, options, state):
            pad.add_(p, np.sign(g), -options["lr"])

    w = leaf([3.0, -4.0])
    down(SignSGD([w], lr=0.5), 2)

    assert w.numpy().tolist() == [2, -3]


# -- checkpoints --------------------------------------------------------------------------------


@table("kind", EVERY)
def test_a_run_that_is_stopped_and_continued_is_the_same_run(kind):
    through, stopped = leaf([1.0, 2.0]), leaf([1.0, 2.0])
    down(kind([through], lr=0.1), 5)

    first = kind([stopped], lr=0.1)
    down(first, 2)
    kept = pickle.loads(pickle.dumps(first.state_dict()))
    down(first, 1)  # what was kept does not see this
    resumed = leaf([1.0, 2.0])
    down(kind([resumed], lr=0.1), 2)
    again = kind([resumed], lr=9.0)
    again.load_state_dict(kept)
    down(again, 3)

    assert again.lr == 0.1
    assert resumed.numpy().tolist() == through.numpy().tolist()


def test_a_state_that_does_not_fit_is_refused_and_changes_nothing():
    one = mg.optim.Adam([leaf([1.0, 2.0])])
    two = mg.optim.Adam([leaf(1.0), leaf(2.0)])
    other = mg.optim.Adam([leaf([1.0, 2.0, 3.0])])
    for optimizer in (one, two, other):
        down(optimizer)

    with pytest.raises(ValueError, match=r"groups of \[2\] parameters.*groups of \[1\]"):
        two.load_state_dict(one.state_dict())
    with pytest.raises(ShapeError, match=r"exp_avg .* f64\[3\].*got \(2,\)"):
        other.load_state_dict(one.state_dict())
    assert [kept["step"] for kept in other.state.values()] == [1]


def test_a_copy_of_model_and_optimiser_trains_by_itself():
    w = leaf([1.0])
    optimizer = mg.optim.Adam([w], lr=0.1)
    down(optimizer)

    v, copied = copy.deepcopy((w, optimizer))
    down(copied)

    assert w.item() == pytest.approx(0.9)
    assert v.item() < 0.85


def test_an_optimiser_shows_its_groups():
    optimizer = mg.optim.SGD([{"params": [leaf(1.0), leaf(2.0)]}, {"params": leaf(1.0), "lr": 0.5}], lr=0.1)

    assert repr(optimizer).splitlines()[1].startswith("  group 0: 2 parameters, lr=0.1, momentum=0.0")
    assert "lr=0.5" in repr(optimizer).splitlines()[2]


# -- states of others ---------------------------------------------------------------------------


def take_steps(kind):
    """A parameter, its optimiser of this kind, and its state after two steps."""
    w = leaf([[1.0, 2.0], [3.0, 4.0]])
    optimizer = kind([w], lr=0.1)
    down(optimizer, 2)
    return optimizer, optimizer.state_dict()


@table("kind", [*EVERY, mg.optim.Muon], ids=lambda kind: kind.__name__)
def test_an_optimiser_refuses_the_state_of_every_other_kind(kind):
    """Adam loaded RAdam's state, and AdamW became Adam with L2. Only AdamW's state fits Adam, as in PyTorch."""
    optimizer, own = take_steps(kind)
    for other in {*EVERY, mg.optim.Muon} - {kind}:
        if (kind, other) != (mg.optim.Adam, mg.optim.AdamW):
            with pytest.raises(ValueError):
                optimizer.load_state_dict(take_steps(other)[1])
            assert repr(optimizer.state_dict()) == repr(own)
        else:
            kind([leaf([[1.0, 2.0], [3.0, 4.0]])]).load_state_dict(take_steps(other)[1])


SPOILT_OPTIONS = {
    "a negative rate": ({"lr": -5}, "lr.*-5"), "a rate in letters": ({"lr": "0.1"}, "lr.*'0.1'"),
    "no rate": ({"lr": float("nan")}, "lr.*nan"), "None for a rate": ({"lr": None}, "lr.*None"),
    "betas": ({"betas": (0.9, 1.0)}, "betas"),
    "a flag in letters": ({"maximize": "no"}, "maximize.*True or False"),
    "an unknown option": ({"learning_rate": 1}, "another kind.*learning_rate"),
    "a flag without its array": ({"amsgrad": True}, "keeps.*max_exp_avg_sq"),
}  # fmt: skip
SPOILT_STATES = {
    "steps below 0": {"step": -1}, "half a step": {"step": 2.5}, "steps in letters": {"step": "two"},
    "no steps": {"step": None}, "a mean less": {"exp_avg": None}, "a mean in letters": {"exp_avg": "x"},
    "a complex mean": {"exp_avg": np.ones((2, 2), complex)}, "an array too many": {"exp_inf": np.ones((2, 2))},
}  # fmt: skip


@table("change, words", SPOILT_OPTIONS.values(), ids=SPOILT_OPTIONS)
def test_options_that_the_constructor_refuses_are_refused_on_loading(change, words):
    optimizer, own = take_steps(mg.optim.Adam)
    spoilt = {**own, "param_groups": [own["param_groups"][0] | change]}

    with pytest.raises(ValueError, match=words):
        optimizer.load_state_dict(spoilt)
    assert repr(optimizer.state_dict()) == repr(own)


@table("change", SPOILT_STATES.values(), ids=SPOILT_STATES)
def test_a_spoilt_state_is_refused_and_nothing_of_it_is_loaded(change):
    optimizer, own = take_steps(mg.optim.Adam)

    with pytest.raises(ValueError):
        optimizer.load_state_dict({**own, "state": {0: own["state"][0] | change}})
    assert repr(optimizer.state_dict()) == repr(own)


@pytest.mark.parametrize("kind", [mg.optim.SGD, mg.optim.AdamW])
def test_options_that_do_not_go_together_are_refused_on_loading(kind):
    optimizer, own = take_steps(kind)
    change = {"nesterov": True} if kind is mg.optim.SGD else {"decoupled_weight_decay": False}

    with pytest.raises(ValueError):
        optimizer.load_state_dict({**own, "param_groups": [own["param_groups"][0] | change]})


def test_a_state_that_names_other_parameters_than_its_groups_is_refused():
    """JSON turns integer keys into strings, and then nothing was loaded, silently."""
    optimizer, own = take_steps(mg.optim.Adam)

    with pytest.raises(ValueError, match=r"\[0\].*\['0'\]"):
        optimizer.load_state_dict({**own, "state": {"0": own["state"][0]}})
    with pytest.raises(ValueError, match="got"):
        optimizer.load_state_dict({"weight": 1})


# -- rules in NumPy's words, for those that PyTorch checks only in turn ----------------------------


def nadam(p, g, t, past, lr=0.1, b1=0.9, b2=0.999):
    mu, ahead = (b1 * (1 - 0.5 * 0.96 ** (k * 0.004)) for k in (t, t + 1))
    past["product"] = past.get("product", 1) * mu
    past["m"] = b1 * past.get("m", 0) + (1 - b1) * g
    past["v"] = b2 * past.get("v", 0) + (1 - b2) * g * g
    m_hat = ahead * past["m"] / (1 - past["product"] * ahead) + (1 - mu) * g / (1 - past["product"])
    return p - lr * m_hat / (np.sqrt(past["v"] / (1 - b2**t)) + 1e-8)


def adadelta(p, g, t, past, lr=0.1, rho=0.9, eps=1e-6):
    past["v"] = rho * past.get("v", 0) + (1 - rho) * g * g
    delta = np.sqrt(past.get("u", 0) + eps) / np.sqrt(past["v"] + eps) * g
    past["u"] = rho * past.get("u", 0) + (1 - rho) * delta * delta
    return p - lr * delta


def adafactor(p, g, t, past, lr=0.1):
    rate = min(lr, 1 / np.sqrt(t)) * max(1e-3, np.sqrt((p * p).mean()))
    beta = 1 - t**-0.8
    past["r"] = beta * past.get("r", 0) + (1 - beta) * (g * g).mean(1, keepdims=True)
    past["c"] = beta * past.get("c", 0) + (1 - beta) * (g * g).mean(0, keepdims=True)
    u = g / np.sqrt(past["r"] * past["c"] / past["r"].mean())
    return p - rate * u / max(1, np.sqrt((u * u).mean()))


@pytest.mark.parametrize(
    ("kind", "rule"), [(mg.optim.NAdam, nadam), (mg.optim.Adadelta, adadelta), (mg.optim.Adafactor, adafactor)]
)
def test_an_update_is_that_of_the_paper(kind, rule):
    w, past = leaf(rng.normal(size=(3, 2))), {}
    optimizer, p = kind([w], lr=0.1), w.numpy().copy()
    for t in range(1, 6):
        g = rng.normal(size=p.shape)
        w.grad, p = mg.tensor(g), rule(p, g, t, past)
        optimizer.step()

        np.testing.assert_allclose(w.numpy(), p, rtol=1e-9)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3)])
def test_a_step_of_muon_is_nearly_orthogonal(shape):
    """All its singular values are about 1, in the directions of the gradient; longer in tall matrices."""
    w, g = leaf(np.zeros(shape)), rng.normal(size=shape)
    optimizer = mg.optim.Muon([w], lr=0.1, weight_decay=0.0)
    w.grad = mg.tensor(g)
    optimizer.step()
    step = -w.numpy() / 0.1 / np.sqrt(max(1, shape[0] / shape[1]))
    left, _, right = np.linalg.svd(g, full_matrices=False)

    assert all(0.6 < s < 1.25 for s in np.linalg.svd(step)[1])
    inner = left.T @ step @ right.T
    np.testing.assert_allclose(inner, np.diag(np.diag(inner)), atol=0.03)
