"""How a traced function is compiled, and what a call of it does beside computing: clocks, gradients, options."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import EditedError

RNG = np.random.default_rng(3)
X = RNG.normal(size=(64, 1000)).astype("f4")


def pooled(x):
    return (x.sigmoid() * x).sum() + x.exp().mean()


def test_without_jit_compile_every_bit_is_that_of_the_ops():
    x = mg.tensor(X)
    assert mg.function(pooled)(x).item() == pooled(x).item()
    assert mg.function(pooled, threads=2)(x).item() == pooled(x).item()


@pytest.mark.parametrize("fast", [mg.jit, lambda f: mg.function(f, jit_compile=True)])
def test_with_jit_compile_sums_are_taken_in_fused_loops_and_agree_but_for_rounding(fast):
    x = mg.tensor(X)
    plain, traced = mg.function(pooled), fast(pooled)

    assert traced(x).item() == pytest.approx(pooled(x).item(), rel=1e-5)  # float32 has 7 digits
    plain(x)
    assert "dot(" in traced.source
    assert "dot(" not in plain.source


def test_a_derivative_is_compiled_as_its_function_is():
    x, y = mg.tensor(X, requires_grad=True), mg.tensor(X, requires_grad=True)

    mg.function(pooled, jit_compile=True)(x).backward()
    pooled(y).backward()

    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-4, atol=1e-5)


def test_a_method_keeps_the_options_of_its_decorator():
    class Model:
        @mg.function(jit_compile=True)
        def pooled(self, x):
            return pooled(x)

    model = Model()
    model.pooled(mg.tensor(X))
    assert "dot(" in model.pooled.source


def trained(steps, traced, between=lambda optimizer, i: None):
    """Parameters and state after some steps."""
    net = mg.nn.Linear(4, 3)
    net.weight.data, net.bias.data = np.linspace(-1, 1, 12).reshape(3, 4), np.zeros(3)
    adam = mg.optim.Adam(net.parameters(), lr=0.01)
    x = mg.tensor(np.linspace(0, 1, 20).reshape(5, 4))

    def step():
        adam.zero_grad()
        loss = (net(x) ** 2).mean()
        loss.backward()
        adam.step()
        return loss

    run = mg.function(step) if traced else step
    for i in range(steps):
        between(adam, i)
        run()
    state = [a for p in net.parameters() for a in (p.numpy(), p.grad.numpy(), *map(np.asarray, adam.state[p].values()))]
    return state, run


@pytest.mark.parametrize("option", [("lr", 0.1), ("betas", (0.5, 0.6)), ("weight_decay", 0.3), ("maximize", True)])
def test_an_option_that_changes_between_steps_is_heard(option):
    name, value = option

    def between(optimizer, i):
        if i == 3:
            optimizer.param_groups[0][name] = value

    plain, _ = trained(6, False, between)
    traced, step = trained(6, True, between)

    for a, b in zip(traced, plain):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    assert step.trace_count == (1 if name == "lr" else 2)
    if name != "lr":
        assert f"{name} of an optimiser was" in step.explain()


def test_a_step_counts_as_an_edit_of_what_it_moves_and_of_nothing_else():
    w, still = mg.tensor([1.0, 2.0], requires_grad=True), mg.tensor([1.0, 2.0], requires_grad=True)
    sgd = mg.optim.SGD([w], lr=0.1)

    @mg.function
    def step():
        sgd.zero_grad()
        (w * still).sum().backward()
        sgd.step()

    step()
    before, other = w._version, still._version
    y = (w * w).sum()
    step()

    assert (w._version, still._version) == (before + 1, other)
    with pytest.raises(EditedError):
        y.backward()


def test_a_gradient_that_a_step_left_is_the_users_and_no_later_step_writes_over_it():
    w = mg.tensor(np.ones(5), requires_grad=True)

    @mg.function
    def step(x):
        w.grad = None
        (w * x).sum().backward()

    grads = []
    for n in range(4):
        step(mg.tensor(np.full(5, float(n))))
        grads.append(w.grad)
    assert [g.tolist() for g in grads] == [[float(n)] * 5 for n in range(4)]


def test_a_step_over_a_leaf_that_became_a_result_gives_it_the_history_of_an_edit():
    w = mg.tensor([1.0, 2.0])
    double = mg.function(lambda: w.mul_(2))
    double()
    a = mg.tensor([1.0, 1.0], requires_grad=True)
    w.add_(a)
    double()
    (w * mg.tensor([1.0, 10.0])).sum().backward()

    assert a.grad.tolist() == [2, 20]
    assert w.tolist() == [6, 10]
