"""Leaves: tensors that wait for their gradients."""

import minigrad as mg


def leaf(*numbers):
    return mg.tensor([float(n) for n in numbers], requires_grad=True)
