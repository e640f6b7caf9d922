"""Small models and their batches, for programs of several processes: the same in each, cut into parts by rank."""

import os

import numpy as np

import minigrad as mg
import minigrad.distributed as dist
from minigrad import nn
from minigrad.nn.zoo.transformers import GPT, Size

SGD, MOMENTUM, ADAM = RULES = [
    lambda ps: mg.optim.SGD(ps, 0.1),
    lambda ps: mg.optim.SGD(ps, 0.1, momentum=0.9),
    lambda ps: mg.optim.Adam(ps, 0.01),
]


def mlp():
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 6), nn.ReLU(), nn.Linear(6, 3)), of(5), labels(3)


def cnn():
    layers = nn.Conv2d(2, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 3, 2), nn.GroupNorm(1, 3), nn.Flatten()
    return nn.Sequential(*layers, nn.Linear(12, 3)), of(2, 8, 8), labels(3)


def gpt():
    return GPT(Size(2, 2, 8), vocabulary=11, context=6, dropout=0.0), labels(11, 5), labels(11, 5)


def kinds(p):
    """All of them on two ranks; on more, which have to share two processors, one, and in a night all."""
    return (mlp, cnn, gpt) if p <= 2 or os.environ.get("NIGHTLY") else (mlp,)


def of(*shape):
    return lambda rng, n: rng.normal(size=(n, *shape))


def labels(classes, *shape):
    return lambda rng, n: rng.integers(0, classes, (n, *shape))


def made(make, seed=0):
    """A model with weights of a seed, and what gives the batch of n examples of a step."""
    mg.manual_seed(seed)
    model, xs, ys = make()

    def batch(step, n):
        rng = np.random.default_rng(100 * seed + step)
        return xs(rng, n), ys(rng, n)

    return model, batch


def loss(model, x, y):
    """The mean over the examples."""
    scores = model(mg.tensor(x))
    return mg.functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), mg.tensor(y.reshape(-1)))


def trained(model, batch, optimizer, steps, n, rank=0, size=1):
    """Train on part `rank` of `size` of batches of n; each step's loss."""
    losses = []
    for step in range(steps):
        x, y = (part[rank * n // size : (rank + 1) * n // size] for part in batch(step, n))
        optimizer.zero_grad()
        value = loss(model, x, y)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses


def train_both(alone, many, batch, rule, steps, n, rank, size):
    """Train a model in one process, and its like in many, each with an optimiser by this rule."""
    trained(alone, batch, rule(alone.parameters()), steps, n)
    trained(many, batch, rule(many.parameters()), steps, n, rank, size)


def gather(x):
    """An array of each rank's x."""
    rows = [mg.zeros(*np.shape(x)) for _ in range(dist.get_world_size())]
    dist.all_gather(rows, mg.tensor(np.array(x, float)))
    return np.array([row.numpy() for row in rows])


def state(model):
    return {name: x.numpy() for name, x in model.state_dict().items()}


def assert_close(states, wanted, rtol=1e-9):
    """Equal but for the order in which sums over examples are taken."""
    assert states.keys() == wanted.keys()
    for name, x in wanted.items():
        np.testing.assert_allclose(states[name], x, rtol, 1e-11, err_msg=name)
