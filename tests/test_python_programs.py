"""Random Python programs: what a traced function gives, and its gradients, are what the function gives by run.

PyTorch runs the same text. What a graph cannot have is refused with an error of minigrad's own.
"""

import linecache
import os
import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, note, settings
from hypothesis import strategies as st
from python_programs import programs

import minigrad as mg
from minigrad.errors import MinigradError

MANY = max(40, int(os.environ.get("EXPLORE", 0)))  # EXPLORE=5000: so many, and new ones
settled = settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck))
arguments = st.tuples(st.integers(0, 99), st.integers(0, 2), st.sampled_from(["tensors", "x", "nothing"]))


def function(text, engine):
    """f of the program, with its source as a notebook's cell keeps it."""
    name = f"<program {hash(text)}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    names = {"no_grad": engine.no_grad}
    exec(compile(text, name, "exec"), names)
    return names["f"]


def given_by(seed, n):
    rng = np.random.default_rng(seed)
    return rng.normal(size=3), rng.normal(size=3), n


def run(call, x, y, n, engine, wanted):
    """Values of call(x, y, n), gradients of their sum, and second gradients; as NumPy arrays."""
    x, y = (engine.tensor(v, requires_grad=name in wanted) for v, name in ((x, "x"), (y, "y")))
    results = [r if isinstance(r, engine.Tensor) else engine.tensor(float(r)) for r in call(x, y, n)]
    values = [r.detach().numpy() for r in results]
    leaves = [v for v in (x, y) if v.requires_grad]
    loss = sum(r.sum() * w for r, w in zip(results, (1.0, 0.7)))
    return values + [g.detach().numpy() for g in derivatives(loss, leaves, engine)]


def derivatives(loss, leaves, engine):
    """First and second gradients; zeros where there are none."""
    found = []
    for _ in range(2 if leaves else 0):
        zeros = [engine.zeros_like(v) for v in leaves]
        grad = partial(engine.autograd.grad, allow_unused=True, materialize_grads=True, create_graph=True)
        found += grad(loss, leaves) if loss.requires_grad else zeros
        loss = sum((g * g).sum() for g in found)
    return found
