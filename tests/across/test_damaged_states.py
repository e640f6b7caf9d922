"""A damaged state is refused by a MinigradError in every load_state_dict, and nothing of it is loaded."""

import random

import numpy as np
import pytest

import minigrad as mg
from minigrad.data import DataLoader, TensorDataset
from minigrad.engine.base.errors import MinigradError

JUNK = [
    None, True, -1, 3, 10**400, float("nan"), "x", b"x", [], [1], [[1], [1, 2]], (), {}, {1: 2}, object(), 1j, type,
    np.array("x"), np.array([None]), np.zeros(3), np.zeros((2, 2)), np.array(1j), np.zeros(0), range(3), [object()],
    {"state": {}, "param_groups": []}, mg.zeros(2), np.datetime64("2020-01-01"),
]  # fmt: skip


def net():
    return mg.nn.Sequential(mg.nn.Linear(3, 4), mg.nn.BatchNorm1d(4))


def optimizer(kind, **options):
    model = net()
    made = getattr(mg.optim, kind)(model.parameters(), **options)

    def loss():
        made.zero_grad()
        loss = (model(mg.ones(5, 3)) ** 2).sum()
        loss.backward()
        return loss

    made.step(loss)
    return made


def schedule(kind, *given):
    made = getattr(mg.optim.lr_scheduler, kind)(mg.optim.SGD(net().parameters(), lr=0.1, momentum=0.9), *given)
    made.optimizer.step()
    made.step(*([1.0] if kind == "ReduceLROnPlateau" else []))
    return made


def sequence():
    sgd = mg.optim.SGD(net().parameters(), lr=0.1)
    kinds = mg.optim.lr_scheduler
    return kinds.SequentialLR(sgd, [kinds.ConstantLR(sgd), kinds.StepLR(sgd, 2)], [2])


MAKERS = {
    "module": net, "SGD": lambda: optimizer("SGD", lr=0.1, momentum=0.9), "Adam": lambda: optimizer("Adam"),
    "Adafactor": lambda: optimizer("Adafactor"), "LBFGS": lambda: optimizer("LBFGS"),
    "StepLR": lambda: schedule("StepLR", 2), "LambdaLR": lambda: schedule("LambdaLR", lambda t: 1.0),
    "OneCycleLR": lambda: schedule("OneCycleLR", 1.0, 10), "ReduceLROnPlateau": lambda: schedule("ReduceLROnPlateau"),
    "SequentialLR": sequence, "GradScaler": mg.amp.GradScaler,
    "DistributedSampler": lambda: mg.distributed.DistributedSampler(range(10), 2, 1),
    "DataLoader": lambda: DataLoader(TensorDataset(mg.zeros(10, 2)), batch_size=2, shuffle=True, generator=1),
}  # fmt: skip


def ways(x, way=()):
    """The way to each value in a state, and to the state itself."""
    yield way
    pairs = x.items() if isinstance(x, dict) else enumerate(x) if isinstance(x, list | tuple) else ()
    for key, value in pairs:
        yield from ways(value, (*way, key))


def changed(x, way, value):
    """A copy of a state with another value at the end of a way; without it, where the value is `...`."""
    if not way:
        return value
    copy = dict(x) if isinstance(x, dict) else list(x)
    if len(way) == 1 and value is ...:
        del copy[way[0]]
    else:
        copy[way[0]] = changed(x[way[0]], way[1:], value)
    return tuple(copy) if isinstance(x, tuple) else copy


def plain(x):
    if isinstance(x, dict):
        return {key: plain(value) for key, value in x.items()}
    if isinstance(x, list | tuple):
        return [*map(plain, x)]
    return np.asarray(x).tolist() if isinstance(x, mg.Tensor | np.ndarray | np.generic) else x


@pytest.mark.parametrize("name", MAKERS)
def test_a_damaged_state_is_refused_by_name_or_taken_and_never_half(name):
    """A mutant of a state ended in NumPy's ValueError, in an AttributeError, or in seven other ways."""
    rng, owner, refused = random.Random(name), MAKERS[name](), 0
    good = owner.state_dict()
    for _ in range(120):
        way, before = rng.choice([*ways(good)]), plain(owner.state_dict())
        try:
            owner.load_state_dict(changed(good, way, rng.choice([..., *JUNK]) if way else rng.choice(JUNK)))
            owner = MAKERS[name]()
        except MinigradError:
            refused += 1
            assert plain(owner.state_dict()) == before
    assert refused > 30


def test_a_schedule_without_a_base_rate_would_do_nothing_and_is_refused():
    made = schedule("StepLR", 2)

    with pytest.raises(ValueError, match="base_lrs=\\[\\]"):
        made.load_state_dict(made.state_dict() | {"base_lrs": []})
