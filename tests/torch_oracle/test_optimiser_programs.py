"""Random programs of optimisers against PyTorch: odd settings, schedules, late groups, and states saved and loaded."""

import copy
import os

import numpy as np
import pytest

import minigrad as mg

from .oracle import torch

pytestmark = pytest.mark.usefixtures("doubles")
STEPS = 30
DAILY, NIGHTLY = 60, 2000

BETAS = [(0.9, 0.999), (0.0, 0.9), (0.5, 0.0), (0.0, 0.0), (0.99, 0.9999)]
DECAY = {"weight_decay": [0.0, 0.01, 0.5], "maximize": [False, True]}
DECOUPLED = {"decoupled_weight_decay": [False, True]}
MEANS = {"betas": BETAS, "eps": [1e-8, 1e-3], **DECAY}
OPTIONS = {
    "SGD": {"momentum": [0.0, 0.5, 0.9], "dampening": [0.0, 0.4, 1.0], **DECAY},
    "Adam": {**MEANS, "amsgrad": [False, True], **DECOUPLED},
    "AdamW": {**MEANS, "amsgrad": [False, True]},
    "Adamax": MEANS,
    "NAdam": {**MEANS, "momentum_decay": [4e-3, 0.0, 1.0], **DECOUPLED},
    "RAdam": {**MEANS, **DECOUPLED},
    "RMSprop": {"alpha": [0.99, 0.5, 0.0], "eps": [1e-8, 1e-2], "momentum": [0.0, 0.9], **DECAY}
    | {"centered": [False, True]},
    "Rprop": {"etas": [(0.5, 1.2), (0.9, 1.01)], "step_sizes": [(1e-6, 50), (1e-3, 0.05)], "maximize": [False, True]},
    "ASGD": {"lambd": [1e-4, 0.0, 0.1], "alpha": [0.75, 0.0, 2.0], "t0": [1e6, 0.0, 5.0], **DECAY},
    "Adagrad": {"lr_decay": [0.0, 0.1], "initial_accumulator_value": [0.0, 0.5], "eps": [1e-10, 1e-2], **DECAY},
    "Adadelta": {"rho": [0.9, 0.0, 1.0], "eps": [1e-6, 1e-2], **DECAY},
    "Adafactor": {"beta2_decay": [-0.8, -0.5], "d": [1.0, 2.0], "eps": [(None, 1e-3), (1e-4, 1e-2)], **DECAY},
}
SHARED = {"betas", "etas", "step_sizes", "eps", "weight_decay"}  # options that a group may override

# name → arguments; the first ones accept groups that are added later, in PyTorch too
SCHEDULES = {
    "none": {}, "StepLR": {"step_size": 4, "gamma": 0.5}, "MultiStepLR": {"milestones": [3, 9, 9], "gamma": 0.5},
    "ExponentialLR": {"gamma": 0.95}, "LinearLR": {"start_factor": 0.1, "end_factor": 0.8, "total_iters": 9},
    "ConstantLR": {"factor": 0.25, "total_iters": 9}, "PolynomialLR": {"total_iters": 40, "power": 2.0},
    "ReduceLROnPlateau": {"patience": 1, "factor": 0.5, "cooldown": 1},
    "CosineAnnealingLR": {"T_max": 12, "eta_min": 1e-3}, "CosineAnnealingWarmRestarts": {"T_0": 5, "T_mult": 2},
    "LambdaLR": {"lr_lambda": lambda t: 1 / (t + 1)}, "MultiplicativeLR": {"lr_lambda": lambda t: 0.95},
    "OneCycleLR": {"max_lr": 0.3, "total_steps": STEPS + 1, "cycle_momentum": False},
    "CyclicLR": {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 6, "cycle_momentum": False},
}  # fmt: skip
LATE = list(SCHEDULES)[:8]


class Program:
    """The program of a seed, the same for both libraries."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)

        def pick(choices):
            return choices[int(rng.integers(len(choices)))]

        self.kind = pick(list(OPTIONS))
        self.options = {name: pick(values) for name, values in OPTIONS[self.kind].items() if rng.random() < 0.6}
        if self.options.get("centered"):
            self.options["alpha"] = 0.9  # of a single gradient the variance is 0, and the sign of its rounding decides
        self.options["lr"] = pick([0.1, 0.01, 1e-3, 0.0])
        if self.kind == "SGD" and self.options.get("momentum") and not self.options.get("dampening"):
            self.options["nesterov"] = pick([False, True])
        self.groups = [self.group(pick, rng) for _ in range(int(rng.integers(1, 3)))]
        self.schedule = pick(list(SCHEDULES))
        grows = self.schedule in LATE and rng.random() < 0.6
        self.late = {pick(range(1, STEPS)): self.group(pick, rng)} if grows else {}
        self.reloads = {pick(range(1, STEPS)) for _ in range(int(rng.integers(3)))}
        self.idle = {(pick(range(STEPS)), pick(range(3))) for _ in range(5)}  # (step, parameter) without a gradient
        self.slopes = rng.normal(size=(STEPS, 4))

    def group(self, pick, rng):
        shape = pick([(3,), (2, 3), (), (2, 2, 2)])
        names = SHARED & OPTIONS[self.kind].keys()
        own = {name: pick(OPTIONS[self.kind][name]) for name in sorted(names) if rng.random() < 0.2}
        return rng.normal(size=shape), own | ({"lr": pick([0.05, 1e-3])} if rng.random() < 0.5 else {})

    def __str__(self):
        return f"{self.kind} {self.options} {self.groups} {self.schedule} late={self.late} reloads={self.reloads}"

    def run(self, library):
        """Each parameter and each rate after each step."""
        schedules, trail = library.optim.lr_scheduler, []
        groups = [self.made(library, *group) for group in self.groups]

        def build(groups):
            optimizer = getattr(library.optim, self.kind)([dict(group) for group in groups], **self.options)
            make = None if self.schedule == "none" else getattr(schedules, self.schedule)
            return optimizer, make and make(optimizer, **SCHEDULES[self.schedule])

        optimizer, schedule = build(groups)
        for t in range(STEPS):
            if t in self.late:
                groups.append(self.made(library, *self.late[t]))
                optimizer.add_param_group(dict(groups[-1]))
            if t in self.reloads:
                states = copy.deepcopy([part.state_dict() for part in (optimizer, schedule) if part])
                optimizer, schedule = build(groups)
                for part, state in zip((optimizer, schedule), states):
                    part.load_state_dict(state)
            ps = [group["params"][0] for group in groups]
            for i, p in enumerate(ps):
                p.grad = None
                if (t, i) not in self.idle:
                    ((p * p).tanh() * 2 + p.tanh() * self.slopes[t, i % 4]).sum().backward()
            optimizer.step()
            if schedule:
                schedule.step(*([1.0] if self.schedule == "ReduceLROnPlateau" else []))
            rates = [np.array(float(group["lr"])) for group in optimizer.param_groups]
            trail.append([*rates, *(np.array(p.detach().numpy()) for p in ps)])
        return trail

    def made(self, library, start, own):
        return {"params": [library.tensor(start, requires_grad=True)], **own}


def compare(seed):
    program = Program(seed)
    theirs = program.run(torch)
    for t, (ours, wanted) in enumerate(zip(program.run(mg), theirs, strict=True)):
        for a, b in zip(ours, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9, err_msg=f"step {t} of seed {seed}: {program}")


@pytest.mark.share(6)
@pytest.mark.parametrize("part", range(6))
def test_a_random_program_of_an_optimiser_is_pytorchs(part):
    n = NIGHTLY if os.environ.get("NIGHTLY") else DAILY
    for seed in range(part, n, 6):
        compare(seed)
