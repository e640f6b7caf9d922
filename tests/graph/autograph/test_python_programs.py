"""Random Python programs: what a traced function gives, and its gradients, are what the function gives by run.

PyTorch runs the same text, where it is installed. What a graph cannot have is refused with an error of minigrad's own,
and so is rarely met.
"""

import importlib.util
import linecache
import os
import warnings
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

import minigrad as mg
from minigrad.engine.base.errors import EditedError, MinigradError, NoGradientError
from tests.support.python_programs import programs

torch = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
EXPLORE = int(os.environ.get("EXPLORE", "0"))  # 5000: so many programs, others each time; what fails is shortened
settled = settings(
    max_examples=max(10, EXPLORE),
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate, *[Phase.shrink] * (EXPLORE > 0)],
)
arguments = st.tuples(st.integers(0, 99), st.integers(0, 2), st.sampled_from(["xy", "x", ""]))


def function(text, engine):
    """f of the program, with its source as a notebook's cell keeps it."""
    name = f"<program {hash(text)}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    grad = partial(engine.autograd.grad, create_graph=True, allow_unused=True, materialize_grads=True)
    slope = lambda y, x: grad(y, [x])[0].tanh()  # noqa: E731
    names = {"no_grad": engine.no_grad, "Namespace": SimpleNamespace, "slope": slope}
    exec(compile(text, name, "exec"), names)
    return names["f"]


def run(call, seed, n, wanted, engine):
    """Values of call(x, y, n), and first and second gradients of their sum, by the arguments that want one."""
    rng = np.random.default_rng(seed)
    x, y = (engine.tensor(rng.normal(size=3), requires_grad=name in wanted) for name in "xy")
    results = [r if isinstance(r, engine.Tensor) else engine.tensor(float(r)) for r in call(x, y, n)]
    leaves = [v for v in (x, y) if v.requires_grad]
    loss = results[0].sum() + 0.7 * results[1]
    found = list(results)
    for _ in range(2 if leaves else 0):
        grad = partial(engine.autograd.grad, allow_unused=True, materialize_grads=True, create_graph=True)
        gradients = grad(loss, leaves) if loss.requires_grad else [engine.zeros_like(v) for v in leaves]
        loss = sum((g * g).sum() for g in gradients)
        found += gradients
    return [v.detach().numpy() for v in found]


def outcome(call, *how):
    """What it gives, or the error that says why there is nothing: minigrad's own, or whatever PyTorch raises."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of attributes that hold a symbol
            return run(call, *how)
    except (MinigradError, RuntimeError) as error:
        return error


@pytest.mark.parametrize("edits", [False, True], ids=["values", "edits"])
def test_a_program_gives_traced_and_compiled_what_it_gives_by_run(edits):
    refused, ran = [], []

    @settled
    @given(programs(edits), arguments)
    def holds(text, how):
        note(text)
        f = function(text, mg)
        by_run = outcome(f, *how, mg)
        assert isinstance(by_run, list | EditedError | NoGradientError), by_run
        ways = {"traced": mg.function(f), "compiled": mg.function(f, jit_compile=True)}
        others = {name: outcome(way, *how, mg) for name, way in ways.items()}
        if torch is not None:
            others["torch"] = outcome(function(text, torch), *how, torch)
        for name, found in others.items():
            if isinstance(by_run, list) and isinstance(found, list):
                for actual, expected in zip(found, by_run, strict=True):
                    np.testing.assert_allclose(actual, expected, rtol=1e-7, atol=1e-7, err_msg=name)
        (refused if isinstance(others["traced"], MinigradError) else ran).append(text)

    holds()
    assert len(refused) < len(ran)
