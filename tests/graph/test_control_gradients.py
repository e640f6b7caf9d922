"""Gradients through branches and loops, of every order: those of the same program run step by step on values."""

import numpy as np
import pytest
from test_control import Calls

import minigrad as mg
from minigrad.engine.base.errors import NoGradientError
from minigrad.graph import fori_loop, scan
from minigrad.graph.compiler.control import Scan, While
from minigrad.graph.compiler.passes.dce import dce
from tests.support.all_close import assert_all_close
from tests.support.peak_memory import peak_bytes
from tests.support.written_graph import Written

X = np.array([0.5, -1.0, 1.5])
H = np.array([0.1, 0.2, -0.3])
W = np.random.default_rng(0).normal(size=(3, 3))
SEQUENCE = np.random.default_rng(1).normal(size=(4, 3))


def collatz(x):
    """Each step a branch: how many there are, and which, the values say."""

    def step(i, y):
        return i + 1, mg.cond(y.sum() > 2, lambda: y * y.sin(), lambda: y.exp() * x)

    return mg.while_loop(lambda i, y: i < 4, step, (0, x))[1]


def recurrent(h, x, W):
    last, ys = scan(lambda h, x: ((h @ W + x).tanh(), (h * x).sum()), h, x)
    return (last * last).sum() + (ys * ys).sum()


def nested(x, y):
    def outer(i, z):
        return fori_loop(0, 2, lambda j, z: (z * y).tanh() + x, z)

    return mg.while_loop(lambda z: (z * z).sum() < 4, lambda z: outer(0, z) * 1.5, (x,), maximum_iterations=3)[0]


def loop_in_branch(x, y):
    return mg.cond(x.sum() > 0, lambda: fori_loop(0, 3, lambda i, z: z * y.cos() + i, x), lambda: x * y)


def edited(x):
    total = x * 0

    def step(i):
        total.add_(x * x * (i + 1))
        return i + 1

    mg.while_loop(lambda i: i < 3, step, (0,))
    return total * total


PROGRAMS = {
    "a branch": (lambda x: mg.cond(x.sum() > 0, lambda: 2 * x.exp(), x.sin), X),
    "the other branch": (lambda x: mg.cond(x.sum() > 0, lambda: 2 * x.exp(), x.sin), -X),
    "a branch that does not read it": (lambda x, h: mg.cond(x.sum() > 0, lambda: h * h, lambda: x * h), X, H),
    "branches in branches": (lambda x: mg.cond(x[0] > 0, lambda: mg.cond(x[1] > 0, lambda: x, lambda: x**3), x.exp), X),
    "a loop": (lambda x: mg.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * x.sin()), (0, x))[1], X),
    "a loop of as many steps as it takes": (
        lambda x: mg.while_loop(lambda y: y.sum() < 20, lambda y: y * x.exp() + x * x, (x,))[0], X,
    ),
    "a loop of many steps": (lambda x: mg.while_loop(lambda i, x: i < 11, lambda i, x: (i + 1, x.sin()), (0, x))[1], X),
    "a loop of no steps": (lambda x: mg.while_loop(lambda x: x.sum() > 99, lambda x: x * x, (x,))[0] ** 3, X),
    "a carry that is its own square": (lambda x: fori_loop(0, 3, lambda i, c: (c[0] * c[1], c[0]), (x, x))[0], X),
    "a carry that stays": (lambda x, h: fori_loop(0, 3, lambda i, c: (c[0] * c[1], c[1]), (x, h))[0], X, H),
    "a carry that is replaced": (lambda x, h: fori_loop(0, 3, lambda i, c: h.exp() * i, x), X, H),
    "an edit in a loop": (edited, X),
    "branches in a loop": (collatz, X),
    "a loop in a branch": (loop_in_branch, X, H),
    "loops in loops": (nested, X, H),
    "a recurrent network": (recurrent, H, SEQUENCE, W),
    "backwards along a sequence": (
        lambda h, x: scan(lambda h, x: (h * x + 1, h.sin()), h, x, reverse=True)[1], H, SEQUENCE,
    ),
    "a scan that reads no row": (lambda h, x: scan(lambda h, x: (h * h, h.sum()), h, x)[1], H, SEQUENCE),
    "a scan without a carry": (lambda x: scan(lambda c, x: (c, x.exp().sum()), None, x)[1] ** 2, SEQUENCE),
    "something that is not differentiable": (lambda x: fori_loop(0, 3, lambda i, y: y * y.detach() + x.round(), x), X),
}  # fmt: skip


def tower(f, gradients, orders):
    """f, ∂f, and the gradients of the squares of these, as often as said."""

    def towered(*xs):
        y = f(*xs)
        level = [(y * y).sum() if y.shape else y]
        found = [*level]
        for _ in range(orders):
            level = [g for g in gradients(sum((g * g).sum() for g in level), xs) if g is not None]
            found += level
        return found

    return towered


def eager_gradients(y, xs):
    return mg.autograd.grad(y, xs, create_graph=True, allow_unused=True) if y.requires_grad else []


def graph_gradients(y, xs):
    return y.builder.gradients([y], xs)


@pytest.mark.parametrize("case", PROGRAMS)
def test_gradients_of_three_orders_are_those_of_the_steps_run_one_by_one(case):
    f, *arrays = PROGRAMS[case]
    expected = tower(f, eager_gradients, 3)(*(mg.tensor(a, requires_grad=True) for a in arrays))
    written = Written(tower(f, graph_gradients, 3), *arrays)

    for found in (written(*arrays), written.compiled(*arrays)):
        given = [y for y in found if y.any()]
        wanted = [y.numpy() for y in expected if y.numpy().any()]
        for y, want in zip(given, wanted, strict=True):
            np.testing.assert_allclose(y, want, rtol=1e-9, atol=1e-9 * abs(want).max())  # sums in another order


@pytest.mark.parametrize("case", ["a loop", "branches in a loop", "a recurrent network", "loops in loops"])
def test_gradients_are_slopes(case):
    f, *arrays = PROGRAMS[case]
    written = Written(tower(f, graph_gradients, 1), *arrays)
    value, *gradients = written.compiled(*arrays)  # of its square, as tower() says

    for i, g in enumerate(gradients):
        for at in np.ndindex(*arrays[i].shape):
            y = []
            for h in (1e-5, -1e-5):
                moved = [a.copy() for a in arrays]
                moved[i][at] += h
                y.append(written.compiled(*moved)[0])
            slope = (y[0] - y[1]) / 2e-5
            assert 2 * value * slope == pytest.approx(g[at], abs=1e-6 * abs(gradients[i]).max())  # h² ≈ 1e-10


def test_an_operand_that_a_loop_does_not_use_has_no_gradient():
    def f(x, h):
        y = fori_loop(0, 3, lambda i, x: x * 2 + h.round(), x)
        return [g is None for g in y.builder.gradients([y], [x, h])]

    found = []
    Written(lambda x, h: found.append(f(x, h)) or x, X, H)

    assert found == [[False, False]]  # round() has a gradient, of zeros


def test_whole_numbers_are_carried_and_have_no_gradient():
    def f(x):
        _, y = mg.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * i), (1, x))
        return y.builder.gradients([y], [x])

    assert Written(f, X).compiled(X)[0].tolist() == [2.0, 2.0, 2.0]


def test_a_gradient_passes_only_the_carries_that_it_reaches():
    def f(x, h):
        a, _ = fori_loop(0, 3, lambda i, c: (c[0] * c[0], c[1] * c[0]), (x, h))
        return a.builder.gradients([a], [x])

    loops = [node.op for node in dce(Written(f, X, H).graph).nodes if isinstance(node.op, Scan)]

    assert [op.carried for op in loops] == [1, 1]


def test_parameters_of_a_body_get_their_gradients():
    net = mg.nn.Linear(3, 3).double()

    def loss(x):
        return fori_loop(0, 4, lambda i, x: net(x).tanh(), x).sum()

    def gradients(x):
        y = loss(x)
        return y.builder.gradients([y], [*net.parameters()])

    found = Written(gradients, X).compiled(X)
    loss(mg.tensor(X)).backward()

    assert_all_close(found, [p.grad for p in net.parameters()], rtol=1e-12)


def test_the_gradient_of_a_recurrent_network_is_pytorch_s():
    torch = pytest.importorskip("torch")

    found = Written(tower(recurrent, graph_gradients, 2), H, SEQUENCE, W).compiled(H, SEQUENCE, W)
    xs = [torch.tensor(a, requires_grad=True) for a in (H, SEQUENCE, W)]
    h, terms = xs[0], []
    for row in xs[1]:
        terms.append((h * row).sum())
        h = (h @ xs[2] + row).tanh()
    y = (h * h).sum() + (torch.stack(terms) ** 2).sum()
    first = torch.autograd.grad(y * y, xs, create_graph=True)
    second = torch.autograd.grad(sum((g * g).sum() for g in first), xs)

    assert_all_close(found, (y, *first, *second), rtol=1e-10)


# -- what backward does not do -------------------------------------------------------------------------------


def test_backward_prints_nothing_a_second_time(capsys):
    def f(x):
        def step(i, y):
            mg.print("step", i)
            return i + 1, mg.cond(i > 0, lambda: mg.print(y * y, "squared"), y.exp)

        y = mg.while_loop(lambda i, y: i < 2, step, (0, x))[1]
        return [y, *y.builder.gradients([y.sum()], [x])]

    _, g = Written(f, X).compiled(X)

    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines()] == ["0", "1", "squared"]
    np.testing.assert_allclose(g, 2 * np.exp(2 * X))


def test_backward_goes_through_what_is_printed_on_its_way(capsys):
    def f(x):
        def inner(y):
            return mg.while_loop(lambda j, y: j < 2, lambda j, y: (j + 1, mg.print(y.sin()) ** 2), (0, y))[1]

        def step(i, y):
            y = mg.print(mg.print(y.exp(), "once"), "twice")
            return i + 1, inner(y * y) ** 2

        y = mg.while_loop(lambda i, y: i < 2, step, (0, x))[1]
        return [y, *y.builder.gradients([y.sum()], [x])]

    written = Written(f, X)
    x = mg.tensor(X, requires_grad=True)
    y = x
    for _ in range(2):
        y = y.exp() ** 2
        y = ((y.sin() ** 2).sin() ** 2) ** 2
    y.sum().backward()

    np.testing.assert_allclose(written.compiled(X)[1], x.grad.numpy())
    assert len(capsys.readouterr().out.splitlines()) == 2 * (2 + 2)


def test_backward_asks_user_code_nothing_a_second_time():
    calls = Calls()

    def f(x):
        def step(i, y):
            weight = calls("asked", x + i)
            return i + 1, y * weight * weight

        y = mg.while_loop(lambda i, y: i < 3, step, (0, x))[1]
        return y.builder.gradients([y.sum()], [x])

    (g,) = Written(f, X).compiled(X)

    assert calls.said == ["asked"] * 3
    np.testing.assert_allclose(g, (X * (X + 1) * (X + 2)) ** 2)


def test_what_user_code_gave_in_a_branch_is_kept_for_backward():
    calls = Calls()

    def f(x):
        y = mg.cond(x.sum() > 0, lambda: x * calls("yes", x * 3), lambda: x * calls("no", x * 5).sum())
        return y.builder.gradients([y.sum()], [x])

    written = Written(f, X)

    np.testing.assert_allclose(written.compiled(X)[0], 3 * X)
    np.testing.assert_allclose(written.compiled(-X)[0], np.full(3, -5 * X.sum()))
    assert calls.said == ["yes", "no"]


def test_user_code_in_an_inner_loop_is_refused_a_gradient_that_would_ask_it_again():
    calls = Calls()

    def f(x):
        def inner(y):
            return mg.while_loop(lambda y: y.sum() < 9, lambda y: y * calls("asked", y), (y,))[0]

        y = mg.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, inner(y)), (0, x))[1]
        return y.builder.gradients([y.sum()], [x])

    with pytest.raises(NoGradientError, match="in a loop inside it, and these are not kept"):
        Written(f, X)


def test_a_carry_whose_length_changes_has_no_gradient():
    def f(x):
        y = mg.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, mg.cat([y, x])), (0, x), ((), (None,)))[1]
        return y.builder.gradients([y.sum()], [x])

    with pytest.raises(NoGradientError, match="whose shape changes"):
        Written(f, X)


# -- memory --------------------------------------------------------------------------------------------------


def sines(x):
    return fori_loop(0, 100, lambda i, x: x.sin() * 1.5, x)


@pytest.mark.parametrize(("f", "least", "most"), [(sines, 0, 5), (tower(sines, graph_gradients, 1), 100, 106)])
def test_a_loop_needs_no_memory_for_its_steps_and_its_gradient_one_array_for_each(f, least, most):
    x = np.linspace(0, 1, 20_000)
    run = Written(f, x).compiled
    run(x)

    assert least * x.nbytes < peak_bytes(run, x) < most * x.nbytes


def test_the_gradient_of_a_loop_makes_no_loop_of_loops():
    """The nodes of a gradient grow with its order, not with the number of steps."""

    def nodes(steps):
        written = Written(tower(lambda x: fori_loop(0, steps, lambda i, x: x.sin() * x, x), graph_gradients, 2), X)
        return sum(len(graph.nodes) for op in written.ops(Scan | While) for graph in op.graphs)

    assert nodes(3) == nodes(1000)


# -- from eager code -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["a loop of as many steps as it takes", "branches in a loop", "a recurrent network"])
def test_a_traced_function_with_loops_has_derivatives_of_three_orders_from_eager_code(case):
    f, *arrays = PROGRAMS[case]
    traced = mg.function(f)

    for scale in (1.0, 0.7):  # another number of steps, by the same trace
        by_steps, by_trace = (
            tower(g, eager_gradients, 3)(*(mg.tensor(scale * a, requires_grad=True) for a in arrays))
            for g in (f, traced)
        )
        for y, want in zip(by_trace, by_steps, strict=True):
            np.testing.assert_allclose(y.numpy(), want.numpy(), rtol=1e-9, atol=1e-9 * abs(want.numpy()).max())


def test_a_result_whose_length_a_run_tells_comes_out_as_long_as_it_is():
    @mg.function
    def repeated(n, x):
        return mg.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, mg.cat([y, x])), (0, x), ((), (None,)))[1]

    assert repeated(mg.tensor(2), mg.tensor(X)).tolist() == [*X] * 3
    assert repeated(mg.tensor(0), mg.tensor(X)).tolist() == [*X]


def passed_on(y, n):
    v = y
    while n > 0:
        v, n = (y * 1 if n > 5 else y), n - 1
    return v


def doubled(y, n):
    v = y
    while n > 0:
        v, n = v * 2, n - 1
    return v


def scanned(y, n):
    return mg.lax.scan(lambda c, row: (c, row), y, mg.ones(2, 2) * n)[0]


@pytest.mark.parametrize(("f", "slope"), [(passed_on, 1), (doubled, 0), (scanned, 1)])
@pytest.mark.parametrize("n", [1.0, 0.0])
def test_what_a_loop_under_no_grad_passes_on_keeps_its_gradient(f, slope, n):
    """What no_grad() computes has none; what was there before kept its own by run, and lost it in a traced loop."""
    y = mg.tensor([1.0, 2.0], requires_grad=True)

    def loss(y, n):
        with mg.no_grad():
            v = f(y, n)
        return (v * 3 + y * 0).sum()

    for way in (loss, mg.function(loss), mg.function(loss, jit_compile=True)):
        (gy,) = mg.grad(way(y, mg.tensor(n)), y)
        assert gy.tolist() == [3 * (slope if n else 1)] * 2
