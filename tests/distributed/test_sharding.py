"""ZeRO, on one process without MPI, and on two and on three with it."""

import numpy as np
import pytest
from models import assert_close, state
from ranks import on_ranks

import minigrad as mg
import minigrad.distributed as dist

test_on_ranks = on_ranks("sharding.py", 2, 3)


def pruned():
    layer = mg.nn.Linear(3, 4)
    mg.nn.utils.prune.l1_unstructured(layer, "weight", 0.5)
    return layer


LAYERS = {
    "LSTM": (lambda: mg.nn.LSTM(3, 4, 2), (5, 2, 3)), "GRU": (lambda: mg.nn.GRU(3, 4, bidirectional=True), (5, 2, 3)),
    "attention": (lambda: mg.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), (5, 2, 8)),
    "batch norm": (lambda: mg.nn.Sequential(mg.nn.Conv2d(2, 3, 3), mg.nn.BatchNorm2d(3)), (4, 2, 5, 5)),
    "PReLU": (mg.nn.PReLU, (4, 5)), "pruned": (pruned, (2, 3)),
}  # fmt: skip


@pytest.mark.parametrize("strategy", dist.ShardingStrategy)
@pytest.mark.parametrize("name", LAYERS)
def test_layers_find_their_parameters(alone, name, strategy):
    make, shape = LAYERS[name]
    x, states = mg.tensor(np.random.default_rng(0).normal(size=shape)), []
    for wrap in (lambda layer: layer, lambda layer: dist.FullyShardedDataParallel(layer, None, strategy)):
        mg.manual_seed(0)
        layer = wrap(make())
        y = layer(x)
        (y[0] if isinstance(y, tuple) else y).square().sum().backward()
        mg.optim.SGD(layer.parameters(), 0.01).step()
        states.append(state(layer))

    assert_close(states[1], states[0])
