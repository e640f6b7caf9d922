"""Optimisers and schedules walk PyTorch's path."""

import copy

import numpy as np
import pytest

import minigrad as mg
from tests.support.table import table

from .oracle import torch

pytestmark = pytest.mark.usefixtures("doubles")  # PyTorch keeps NAdam's product of momenta in its default dtype
rng = np.random.default_rng(3)
STEPS = 20
SHAPES = [(), (3,), (0, 2), (300, 301)]  # the last is moved in two pieces
STARTS = [rng.normal(size=shape) for shape in SHAPES]

OPTIMISERS = {
    "SGD": {"lr": 0.01}, "SGD momentum": {"lr": 0.01, "momentum": 0.9},
    "SGD dampening": {"lr": 0.01, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1},
    "SGD Nesterov": {"lr": 0.01, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
    "SGD maximize": {"lr": 0.001, "momentum": 0.9, "maximize": True, "weight_decay": 0.1}, "Adam": {"lr": 0.1},
    "Adam options": {"lr": 0.1, "betas": (0.8, 0.9), "eps": 1e-3, "weight_decay": 0.1},
    "Adam amsgrad": {"lr": 0.1, "betas": (0.5, 0.6), "amsgrad": True, "maximize": True},
    "Adam decoupled": {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}, "AdamW": {"lr": 0.1},
    "AdamW options": {"lr": 0.1, "weight_decay": 0.3, "amsgrad": True, "maximize": True},
    "Adamax": {"lr": 0.1, "weight_decay": 0.1}, "NAdam": {"lr": 0.1, "weight_decay": 0.1},
    "NAdam decoupled": {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True},
    "RAdam": {"lr": 0.1, "weight_decay": 0.1},
    "RAdam decoupled": {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}, "RMSprop": {"lr": 0.01},
    "RMSprop momentum": {"lr": 0.01, "momentum": 0.9, "weight_decay": 0.1, "maximize": True},
    "RMSprop centered": {"lr": 0.01, "centered": True, "alpha": 0.9},
    "RMSprop both": {"lr": 0.01, "centered": True, "momentum": 0.5, "eps": 1e-3}, "Adafactor": {"lr": 0.1},
    "Adafactor options": {"lr": 0.5, "d": 1.5, "weight_decay": 0.1, "eps": (1e-4, 1e-2), "maximize": True},
    "Rprop": {"lr": 0.01, "step_sizes": (1e-6, 0.1)},
    "Rprop options": {"etas": (0.4, 1.5), "step_sizes": (1e-3, 0.05), "maximize": True}, "ASGD": {"lr": 0.01},
    "ASGD options": {"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "t0": 5, "weight_decay": 0.1, "maximize": True},
    "Adagrad": {"lr": 0.1},
    "Adagrad options": {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5},
    "Adadelta": {}, "Adadelta options": {"lr": 0.5, "rho": 0.8, "eps": 1e-3, "weight_decay": 0.1, "maximize": True},
}  # fmt: skip


def pair(name, dtype=np.float64):
    """Our parameters and optimiser, and PyTorch's."""
    kind, options = name.split()[0], OPTIMISERS[name]
    starts = [a for a in STARTS if a.size or kind != "Adafactor"]  # PyTorch's divides by the size
    xs = [mg.tensor(a.astype(dtype), requires_grad=True) for a in starts]
    ts = [torch.tensor(a.astype(dtype), requires_grad=True) for a in starts]
    return xs, getattr(mg.optim, kind)(xs, **options), ts, getattr(torch.optim, kind)(ts, **options)


def train(xs, optimizer, steps=STEPS):
    """Down into a dent that leans to one side, or up out of it: the slope is bounded."""
    for _ in range(steps):
        optimizer.zero_grad()
        for x in xs:
            ((x * x).tanh() * 2 + x.tanh()).sum().backward()
        optimizer.step()


def assert_together(xs, ts, rtol):
    for x, t in zip(xs, ts, strict=True):
        np.testing.assert_allclose(x.numpy(), t.detach().numpy(), rtol=rtol, atol=rtol)


@table("name", OPTIMISERS, groups=8)
def test_every_optimiser_walks_pytorchs_path(name):
    xs, ours, ts, theirs = pair(name)

    train(xs, ours)
    train(ts, theirs)

    assert_together(xs, ts, 1e-8)  # as below, in 16 digits


@table("name", OPTIMISERS, groups=8)
def test_in_float32_too(name):
    xs, ours, ts, theirs = pair(name, np.float32)

    train(xs, ours, 5)
    train(ts, theirs, 5)

    assert_together(xs, ts, 1e-3)  # rounding of 2⁻²⁴, grown where a step divides by a spread near 0
    held = [a for kept in ours.state.values() for a in kept.values()]
    assert {a.dtype for a in held if hasattr(a, "dtype")} <= {np.dtype(np.float32)}


def test_each_group_has_its_own_options():
    options = [{"lr": 0.05}, {"weight_decay": 0.3, "betas": (0.5, 0.9)}]
    paths = []
    for tensor, Adam in ((mg.tensor, mg.optim.Adam), (torch.tensor, torch.optim.Adam)):
        xs = [tensor(a, requires_grad=True) for a in STARTS[:2]]
        optimizer = Adam([{"params": [x], **given} for x, given in zip(xs, options)], lr=0.01)
        late = tensor(STARTS[3], requires_grad=True)
        optimizer.add_param_group({"params": late, "lr": 0.2})
        train([*xs, late], optimizer)
        paths.append([*xs, late])

    assert_together(*paths, rtol=1e-9)


@pytest.mark.parametrize("options", [{}, {"nesterov": False, "adjust_lr_fn": "match_rms_adamw", "weight_decay": 0.0}])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_muon_walks_pytorchs_path(options, dtype):
    """In bfloat16, as PyTorch's: of small matrices with the same digits."""
    for shape in ((3, 4), (7, 3)):
        paths = []
        for library in (mg, torch):
            draw = np.random.default_rng(0)
            w = library.tensor(draw.normal(size=shape).astype(dtype), requires_grad=True)
            optimizer = library.optim.Muon([w], lr=0.1, **options)
            for _ in range(6):
                w.grad = library.tensor(draw.normal(size=shape).astype(dtype))
                optimizer.step()
            paths.append([w])

        assert_together(*paths, rtol=1e-6)


@table("name", OPTIMISERS, groups=8)
def test_a_state_of_pytorch_is_continued_here(name):
    xs, ours, ts, theirs = pair(name)
    train(ts, theirs)

    for x, t in zip(xs, ts):
        x.data = t.detach().numpy().copy()
    ours.load_state_dict(theirs.state_dict())
    train(xs, ours)
    train(ts, theirs)

    assert_together(xs, ts, 1e-5)  # √(v − m²) near 0 makes 1e-16 large


def test_a_state_of_ours_is_continued_by_pytorch():
    xs, ours, ts, theirs = pair("Adam options")
    train(xs, ours)
    state = ours.state_dict()
    tensors = {
        i: {name: torch.as_tensor(a, dtype=None if name != "step" else torch.float32) for name, a in kept.items()}
        for i, kept in state["state"].items()
    }

    with torch.no_grad():
        for x, t in zip(xs, ts):
            t.copy_(torch.tensor(x.numpy()))
    groups = [{**theirs.param_groups[0], **group} for group in state["param_groups"]]
    theirs.load_state_dict({"state": tensors, "param_groups": groups})
    train(xs, ours)
    train(ts, theirs)

    assert_together(xs, ts, 1e-9)


def test_a_parameter_without_a_gradient_stays_and_is_not_counted():
    paths = []
    for tensor, Adam in ((mg.tensor, mg.optim.Adam), (torch.tensor, torch.optim.Adam)):
        used, unused = (tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
        optimizer = Adam([used, unused], lr=0.1)
        train([used], optimizer, 3)
        train([used, unused], optimizer, 3)
        paths.append([used, unused])

    assert_together(*paths, rtol=1e-12)


WOLFE = {"line_search_fn": "strong_wolfe"}


@pytest.mark.parametrize(
    "options", [{}, {"lr": 0.1, "max_iter": 4, "history_size": 3}, {"tolerance_grad": 1e-2}, WOLFE, WOLFE | {"lr": 1e2}]
)
def test_lbfgs_asks_where_pytorchs_asks_and_arrives_where_it_arrives(options):
    """A bent valley, with a stop and a state that is continued half way."""
    paths = []
    for library in (mg, torch):
        w, b = (library.tensor(a, requires_grad=True) for a in (np.outer([1.0, -0.5], STARTS[1]), STARTS[1]))
        optimizer, losses = library.optim.LBFGS([w, b], **options), []

        def closure(library=library, w=w, b=b, losses=losses):
            for p in (w, b):
                p.grad = None
            loss = ((w * w - 1) ** 2).sum() + (b.sin() * 3 + b * b * 0.1).sum() + (w[0, 1:] * b[:1]).sum()
            loss.backward()
            losses.append(loss.item())
            return loss

        for _ in range(2):
            optimizer.step(closure)
        state, optimizer = optimizer.state_dict(), library.optim.LBFGS([w, b], **options)
        optimizer.load_state_dict(state)
        for _ in range(2):
            optimizer.step(closure)
        paths.append((losses, w, b))

    (losses, *ours), (wanted, *theirs) = paths
    np.testing.assert_allclose(losses, wanted, rtol=1e-6, atol=1e-9)
    assert_together(ours, theirs, 1e-6)


def test_lbfgs_is_refused_in_a_graph_and_without_a_closure():
    optimizer = mg.optim.LBFGS([mg.tensor([1.0], requires_grad=True)])

    with pytest.raises(TypeError, match="closure"):
        optimizer.step()
    with pytest.raises(mg.errors.GraphError, match="LBFGS"):
        mg.function(lambda: optimizer.step(lambda: None))()


# -- schedules ----------------------------------------------------------------------------------

SCHEDULES = {
    "StepLR": {"step_size": 7, "gamma": 0.5}, "MultiStepLR": {"milestones": [30, 5, 5, 12], "gamma": 0.5},
    "ExponentialLR": {"gamma": 0.9}, "CosineAnnealingLR": {"T_max": 20, "eta_min": 1e-3},
    "CosineAnnealingWarmRestarts": {"T_0": 7, "eta_min": 1e-3},
    "CosineAnnealingWarmRestarts twice as long": {"T_0": 5, "T_mult": 2},
    "LinearLR": {"start_factor": 0.1, "end_factor": 0.8, "total_iters": 9},
    "ConstantLR": {"factor": 0.25, "total_iters": 9}, "PolynomialLR": {"total_iters": 30, "power": 2.0},
    "LambdaLR": {"lr_lambda": lambda t: 1 / (t + 1)},
    "LambdaLR for each": {"lr_lambda": [lambda t: 1 / (t + 1), lambda t: 0.9**t]},
    "MultiplicativeLR": {"lr_lambda": [lambda t: 0.95, lambda t: 1 - 1 / (t + 3)]},
    "CyclicLR": {"base_lr": 0.01, "max_lr": 0.3, "step_size_up": 7},
    "CyclicLR half": {"base_lr": [0.01, 0.02], "max_lr": [0.3, 0.1], "step_size_up": 7, "step_size_down": 4}
    | {"mode": "triangular2", "base_momentum": 0.5},
    "CyclicLR by steps": {"base_lr": 0.01, "max_lr": 0.3, "step_size_up": 5, "mode": "exp_range", "gamma": 0.97},
    "CyclicLR of one's own": {"base_lr": 0.01, "max_lr": 0.3, "step_size_up": 5, "scale_fn": lambda n: 1 / n},
    "OneCycleLR": {"max_lr": 0.3, "total_steps": 51},
    "OneCycleLR linear": {"max_lr": [0.3, 0.1], "epochs": 3, "steps_per_epoch": 17, "anneal_strategy": "linear"},
    "OneCycleLR three": {"max_lr": 0.3, "total_steps": 51, "three_phase": True, "pct_start": 0.4, "div_factor": 10.0},
}  # fmt: skip


def sides(kind="SGD", **options):
    """(library, optimiser of two groups) of ours, and of PyTorch."""
    for library in (mg, torch):
        w, b = (library.tensor(1.0, requires_grad=True) for _ in "wb")
        groups = [{"params": [w]}, {"params": [b], "lr": 0.02}]
        yield library.optim.lr_scheduler, getattr(library.optim, kind)(groups, lr=0.1, **options)


def course(optimizer, schedule, steps=50):
    """What the groups are told at each step, and what the schedule says it told them."""
    told = []
    for _ in range(steps):
        momenta = [group["betas"][0] if "betas" in group else group["momentum"] for group in optimizer.param_groups]
        told.append([*(group["lr"] for group in optimizer.param_groups), *schedule.get_last_lr(), *momenta])
        optimizer.step()
        schedule.step()
    return told


@table("name", SCHEDULES)
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_every_schedule_is_pytorchs(name, kind):
    ours, theirs = (
        course(optimizer, getattr(library, name.split()[0])(optimizer, **SCHEDULES[name]))
        for library, optimizer in sides(kind)
    )

    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-15)


COMBINED = {
    "one after the other": lambda m, o: m.SequentialLR(
        o, [m.LinearLR(o, 0.1, total_iters=10), m.CosineAnnealingLR(o, 15), m.ExponentialLR(o, 0.9)], [10, 25]),
    "one upon the other": lambda m, o: m.ChainedScheduler(
        [m.ConstantLR(o, 0.1, total_iters=10), m.ExponentialLR(o, 0.9)]),
}  # fmt: skip


@pytest.mark.parametrize("name", COMBINED)
def test_combined_schedules_are_pytorchs(name):
    courses = [course(optimizer, COMBINED[name](library, optimizer)) for library, optimizer in sides()]

    np.testing.assert_allclose(*courses, rtol=1e-9, atol=1e-15 if name == "one after the other" else 0)


def rates(schedule, steps):
    """The learning rates after each step, which is given an epoch or a metric."""
    for step in steps:
        schedule.step(step)
        yield schedule.get_last_lr()


def test_a_schedule_between_epochs_is_pytorchs():
    courses = []
    for library, optimizer in sides():
        optimizer.step()
        schedule = library.CosineAnnealingWarmRestarts(optimizer, 5, 2)
        courses.append([*rates(schedule, np.arange(0, 20, 0.25).tolist())])

    np.testing.assert_allclose(*courses, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("threshold_mode", ["rel", "abs"])
def test_a_plateau_is_seen_where_pytorch_sees_it(mode, threshold_mode):
    metrics = np.random.default_rng(0).normal(size=60).round(2) + np.linspace(3, 2, 60)
    options = {"patience": 2, "threshold": 0.05, "cooldown": 3, "min_lr": [1e-4, 1e-3], "factor": 0.5}
    courses = []
    for library, optimizer in sides():
        schedule = library.ReduceLROnPlateau(optimizer, mode, threshold_mode=threshold_mode, **options)
        courses.append([*rates(schedule, metrics)])

    assert len({lr for lr, _ in courses[0]}) > 3
    np.testing.assert_allclose(*courses, rtol=1e-12)


@pytest.mark.parametrize("read", [True, False], ids=["read", "not read"])
@pytest.mark.parametrize("edit", ["a step", "zeroed gradients"])
def test_a_graph_that_reads_a_parameter_is_refused_after_a_step_as_in_pytorch(edit, read):
    """The old graph would be pulled back at the new weights: wrong, without a word."""
    for library, refused in ((mg, mg.errors.EditedError), (torch, RuntimeError)):
        w = library.tensor([1.0, 2.0], requires_grad=True)
        optimizer = library.optim.SGD([w], lr=0.1)
        loss = (w * (w if read else 3)).sum()
        loss.backward(retain_graph=True)
        version = w._version
        if edit == "a step":
            optimizer.step()
        else:
            optimizer.zero_grad(set_to_none=False)

        if read and edit == "a step":
            with pytest.raises(refused):
                loss.backward()
        else:
            loss.backward()
        assert (w._version > version) == (edit == "a step")


@pytest.mark.parametrize("wrap", [lambda f: f, mg.function], ids=["eager", "traced"])
@table("momenta", [(0, 0, 0.9, 0.9), (0.9, 0, 0, 0.5), (0, 0.5, 0, 0.9, 0.9)])
def test_a_momentum_switched_on_by_hand_begins_with_an_undamped_gradient_as_in_pytorch(momenta, wrap):
    """Its first step was dampened, since steps without momentum were counted too, also after load_state_dict()."""

    def end(library):
        p = library.tensor([1.0, 2.0], requires_grad=True)
        optimizer = library.optim.SGD([p], lr=0.1, dampening=0.5, momentum=momenta[0])

        def step(k):
            optimizer.zero_grad()
            ((p**2).sum() * k).backward()
            optimizer.step()

        step = wrap(step) if library is mg else step
        for t, momentum in enumerate(momenta):
            optimizer.param_groups[0]["momentum"] = momentum
            step(library.tensor(t + 1.0))
            optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        return p.detach().numpy()

    np.testing.assert_allclose(end(mg), end(torch), rtol=1e-12)
