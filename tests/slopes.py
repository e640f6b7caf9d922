"""First and second gradients, asked of minigrad and of PyTorch by one text."""

import numpy as np


def slopes(m, y, xs):
    """The gradients of Σ w y³, which knows every element from every other, and those of Σ v · gradient."""
    gradients = m.autograd.grad(
        (m.tensor(weights(y.shape)) * y**3).sum(), xs, create_graph=True, materialize_grads=True
    )
    directed = sum((m.tensor(weights(x.shape)) * g).sum() for x, g in zip(xs, gradients))
    return gradients, m.autograd.grad(directed, xs, allow_unused=True, materialize_grads=True)


def weights(shape):
    return np.random.default_rng(1).normal(size=shape)
