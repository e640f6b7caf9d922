"""Random operands, away from 0 where logs and kinks live."""

import numpy as np

from minigrad.engine.tensor.tensor import Tensor

rng = np.random.default_rng(7)


def positive(*shape):
    return Tensor(rng.uniform(0.5, 2.0, shape))


def signed(*shape):
    x = rng.uniform(0.2, 1.5, shape)
    return Tensor(x * rng.choice([-1, 1], shape))


MASK = Tensor(rng.uniform(size=(2, 3)) > 0.5)
