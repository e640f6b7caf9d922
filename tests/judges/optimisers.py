"""PyTorch's database of optimisers: each configuration, some steps on a small problem, the parameters afterwards."""

import copy

import numpy as np
import torch
from torch.testing._internal.common_optimizers import optim_db

import minigrad as mg

from .compare import Entry, judged, same
from .convert import converted

STEPS = 6
STEPS_OF = {"LBFGS": 1}  # of up to 20 each; it divides by differences of gradients, and 1e-16 is 1e-7 after 50
ELSEWHERE = ("capturable", "foreach", "fused", "differentiable")  # how PyTorch computes, not what


def entries(samples=8, only=None):
    for info in optim_db:
        name = info.optim_cls.__name__
        if only is None or only == name:
            yield judge(info, name)


def judge(info, name):
    if name == "SparseAdam":
        return Entry(name, [("apart", "sparse")])
    if not hasattr(mg.optim, name):
        return Entry(name, [("absent", "")])
    entry = Entry(name)
    for given in info.optim_inputs_func("cpu", torch.float64):
        verdict, why = judged(lambda g=given: compare(info, name, g))
        entry.found.append((verdict, why and f"{why} [{given.desc}]"))
    return entry


def compare(info, name, given):
    options = {k: v for k, v in given.kwargs.items() if k not in ELSEWHERE}
    wanted = trained(torch, info.optim_cls, copy.deepcopy(options))
    found = trained(mg, getattr(mg.optim, name), converted(options, []))
    same([torch.tensor(w) for w in wanted], found, "parameter")


def trained(library, optimiser, options):
    """The parameters after some steps towards a small network's targets."""
    rng = np.random.default_rng(4)
    draws = [rng.normal(size=shape) for shape in [(3, 4), (4, 2), (7, 3), (7, 2)]]
    W, V = (library.tensor(d, requires_grad=True) for d in draws[:2])
    x, y = (library.tensor(d) for d in draws[2:])
    stepper = optimiser([W, V], **options)

    def closure():
        stepper.zero_grad()
        loss = (((x @ W).tanh() @ V - y) ** 2).mean()
        loss.backward()
        return loss

    for _ in range(STEPS_OF.get(optimiser.__name__, STEPS)):
        stepper.step(closure)
    return [p.detach().numpy() for p in (W, V)]
