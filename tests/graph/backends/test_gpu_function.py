"""Traced functions on a GPU reach the generated kernels, as a session does: on the simulated device, and as text."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import AnomalyError, SingularError
from minigrad.graph.backends.cuda.replay import Replay
from minigrad.graph.compiler.blame import trap_nan
from tests.support import shim

DEVICE = mg.device("simulated")
X = np.linspace(-1, 1, 12).reshape(3, 4)
EXACT = {"rtol": 1e-12}  # cuBLAS and NumPy sum in different orders

both_ways = pytest.mark.parametrize("jit_compile", [False, True], ids=["exact", "jit_compile"])


def there(a, **options):
    return mg.tensor(np.asarray(a, "f8"), device=DEVICE, **options)


def programs(f):
    """What a traced function's latest trace runs as."""
    return [way.run.program for way in f.latest.run.variants.values()]


def gradient(f, *xs, of):
    """The gradient of f(*xs), summed, by the last of the leaves that it reads."""
    of.grad = None
    f(*xs).sum().backward()
    return of.grad.numpy()


# -- forward ------------------------------------------------------------------------------------------


@both_ways
def test_a_fused_group_is_one_launch(jit_compile):
    def f(x):
        return (x * 2 + 1).tanh() * x.sigmoid()

    traced, x = mg.function(f, jit_compile=jit_compile), there(X)
    launches = []
    for _ in range(4):
        with DEVICE.counts() as n:
            y = traced(x)
        launches.append(n.launches)
        np.testing.assert_allclose(y.numpy(), f(x).numpy(), rtol=1e-15)

    assert launches == [2, 2, 2, 2], "the group, then its recording; and the result handed out"
    assert "__global__" in traced.source
    assert [type(each) for each in programs(traced)] == [Replay]


def test_a_jitted_function_runs_as_kernels():
    f = mg.jit(lambda x: (x * 2).exp().sum())

    for k in range(4):
        np.testing.assert_allclose(f(there(X + k)).numpy(), np.exp(2 * (X + k)).sum(), **EXACT)

    assert [type(each) for each in programs(f)] == [Replay]


def test_one_program_for_each_length_that_comes():
    spec = mg.TensorSpec((None, 4), "f8", device=DEVICE)
    f = mg.function(lambda x: (x * 2 + x.sum()).sum(0), input_signature=[spec])

    for n in (3, 2, 3, 5, 0, 1, 3, 3, 2):
        a = np.random.default_rng(n).normal(size=(n, 4))
        np.testing.assert_allclose(f(there(a)).numpy(), (a * 2 + a.sum()).sum(0), rtol=1e-12, atol=1e-12)

    assert f.trace_count == 1
    assert len(programs(f)) == 5


# -- backward -----------------------------------------------------------------------------------------


@both_ways
def test_forward_and_backward_graphs_are_kernels(jit_compile):
    w = there(np.full((4, 2), 0.3), requires_grad=True)

    def f(x):
        return ((x @ w).tanh() ** 2).sum()

    traced = mg.function(f, jit_compile=jit_compile)
    for k in range(4):
        x = there(X + k)
        np.testing.assert_allclose(gradient(traced, x, of=w), gradient(f, x, of=w), **EXACT)

    (way,) = traced.latest.run.variants.values()
    (backward,) = way.pull((0,)).variants.values()
    assert type(way.run.program) is type(backward.run.program) is Replay


@both_ways
def test_what_the_kernels_say_is_what_the_function_gives(jit_compile):
    """The texts of forward and backward, executed on the CPU, in the place of the groups that they were made of."""
    w = there(np.full((4, 2), 0.3), requires_grad=True)
    f = mg.function(lambda x: ((x @ w + 0.5).tanh() ** 2 * x.sum()).mean(), jit_compile=jit_compile)
    expected = [gradient(f, there(X), of=w) for _ in range(2)][-1], f(there(X)).numpy()
    (way,) = f.latest.run.variants.values()
    (backward,) = way.pull((0,)).variants.values()

    for run in (way.run, backward.run):
        assert run.program.kernels
        run.program = Replay(run.program.graph, machine=shim.Emulated(run.program.kernels))

    for _ in range(3):
        np.testing.assert_allclose(gradient(f, there(X), of=w), expected[0], **EXACT)
        np.testing.assert_allclose(f(there(X)).numpy(), expected[1], **EXACT)


def test_a_derivative_of_a_derivative():
    def f(x):
        return (x.sin() * x**2).sum()

    def second(f, x):
        (g,) = mg.autograd.grad(f(x), [x], create_graph=True)
        return mg.autograd.grad((g**2).sum(), [x])[0].numpy()

    traced, x = mg.function(f), there(X, requires_grad=True)

    for _ in range(3):
        np.testing.assert_allclose(second(traced, x), second(f, x), **EXACT)


def test_a_tangent_travels_op_by_op():
    _, dy = mg.func.jvp(mg.function(lambda x: (x * 2).sin()), (there(X),), (there(np.ones_like(X)),))

    np.testing.assert_allclose(dy.numpy(), 2 * np.cos(2 * X), **EXACT)


# -- control flow ---------------------------------------------------------------------------------------


def test_a_branch_and_its_gradient():
    f = mg.function(lambda x: mg.cond(x.sum() > 0, lambda: x * 2, lambda: x * 3 + 1))

    for shift in (1, -1, 1, -1, 2, -3):
        x, a = there(X + shift, requires_grad=True), X + shift
        np.testing.assert_allclose(f(x).numpy(), a * 2 if shift > 0 else a * 3 + 1, **EXACT)
        np.testing.assert_array_equal(gradient(f, x, of=x), np.full_like(a, 2 if shift > 0 else 3))


def test_a_loop_of_any_number_of_steps_and_its_gradient():
    """What a loop keeps for backward is as long as the run says: no buffer of an earlier run is written over."""

    def f(x, n):
        return mg.while_loop(lambda i, c: i < n, lambda i, c: (i + 1, (c * 1.1).sin()), (mg.zeros_like(n), x))[1]

    def steps(x, n):
        for _ in range(n):
            x = (x * 1.1).sin()
        return x

    traced = mg.function(f)
    for n in (3, 5, 2, 0, 7, 1, 5):
        x = there(X, requires_grad=True)
        found = gradient(traced, x, mg.tensor(n, device=DEVICE), of=x)
        np.testing.assert_allclose(found, gradient(steps, x, n, of=x), **EXACT)


def test_a_scan_and_its_gradient():
    def f(xs):
        return mg.lax.scan(lambda c, x: ((c * 0.5 + x).tanh(), c * 2), there(np.zeros(4)), xs)[1]

    x = there(X, requires_grad=True)
    expected = gradient(f, x, of=x)

    traced = mg.function(f)
    for _ in range(4):
        np.testing.assert_allclose(gradient(traced, x, of=x), expected, **EXACT)


def test_pythons_own_if_and_while():
    def f(x):
        s = x.sum()
        while s < 10:
            s = s * 2
            if s > 5:
                x = x + 1
        return x * s

    traced = mg.function(f)
    for k in (1, 2, 1, 20):
        x = there(np.full(3, float(k)))
        np.testing.assert_array_equal(traced(x).numpy(), f(x).numpy())


def test_a_step_of_a_loop_is_a_replay_and_not_a_launch_for_each_op():
    def body(i, c):
        return i + 1, (((c * 1.1).sin() + c.cos() * 0.5 - c).tanh() * 2 + c.sigmoid()).sin() * (c - 1).tanh()

    def run(x):
        return mg.while_loop(lambda i, c: i < 100, body, (mg.tensor(0, device=DEVICE), x))[1]

    traced, x = mg.function(run), there(X)
    traced(x)
    with DEVICE.counts() as n:
        traced(x)

    assert n.launches < 100 * 9, "i in, the test, its result out; i and c in, the body, i and c out: of 15 ops"
    np.testing.assert_allclose(traced(x).numpy(), run(x).numpy(), **EXACT)


# -- state ------------------------------------------------------------------------------------------------


def test_what_is_written_is_written_in_place():
    w, count, here = there(np.ones(5)), mg.tensor(0, device=DEVICE), mg.zeros(5)

    @mg.function
    def f(x):
        w.add_(x * 2)
        count.add_(1)
        here.add_(w.to("cpu"))
        return (w * w).sum()

    array = w.value
    for k in range(5):
        assert f(there(np.full(5, 0.5))).item() == 5 * (k + 2) ** 2

    assert w.value is array
    assert (count.item(), here.numpy().tolist()) == (5, [2.0 + 3 + 4 + 5 + 6] * 5)


@both_ways
@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Adagrad", "ASGD"])
def test_a_training_step_is_one_recording(kind, jit_compile):
    """Counted and scaled on the CPU, where the learning rate is, and moved on the device."""

    def training(w):
        optimizer = getattr(mg.optim, kind)([w], lr=0.1)

        def step(x):
            optimizer.zero_grad()
            loss = ((x @ w).tanh() ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss

        return step

    found, launches = [], []
    for traced in (False, True):
        w = there(np.full((4, 2), 0.3), requires_grad=True)
        run = mg.function(training(w), jit_compile=jit_compile) if traced else training(w)
        for _ in range(5):
            with DEVICE.counts() as n:
                run(there(X))
        launches.append(n.launches)
        found.append(w.numpy())

    np.testing.assert_allclose(*found, rtol=1e-9)  # five steps, each rounded
    assert [recorded for recorded, _ in programs(run)[0].parts].count(True) == 1
    assert launches[1] < launches[0] / 2


def test_a_module_with_running_means_learns():
    net = mg.nn.Sequential(mg.nn.Linear(4, 8), mg.nn.BatchNorm1d(8), mg.nn.ReLU(), mg.nn.Linear(8, 2)).to(DEVICE)
    optimizer = mg.optim.Adam(net.parameters(), lr=0.05)
    x, y = there(np.random.default_rng(0).normal(size=(6, 4))), mg.tensor(np.arange(6) % 2, device=DEVICE)

    @mg.function
    def step():
        optimizer.zero_grad()
        loss = mg.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    losses = [step().item() for _ in range(20)]

    assert losses[-1] < losses[0] / 4
    assert net[1].num_batches_tracked.item() == 20


# -- beside the CPU ---------------------------------------------------------------------------------------


def test_copies_to_the_device_come_first_and_those_from_it_last():
    @mg.function
    def f(x, w):
        y = ((x.to(DEVICE) @ w) + 1).tanh()
        loss = (y**2).sum()
        return loss.to("cpu"), y * 2

    w = there(np.ones((4, 2)))
    for k in range(4):
        with DEVICE.counts() as n:
            loss, y = f(mg.tensor(X + k), w)
        np.testing.assert_allclose(loss.numpy(), (np.tanh((X + k) @ np.ones((4, 2)) + 1) ** 2).sum(), **EXACT)

    assert (str(loss.device), str(y.device)) == ("cpu", "simulated")
    assert (n.copies, n.syncs) == (2, 1)
    assert [recorded for recorded, _ in programs(f)[0].parts] == [False, True, False]


def test_a_function_that_goes_back_and_forth_is_what_it_is_eagerly():
    c = mg.tensor(np.ones(4), requires_grad=True)

    def f(x, w):
        y = (x * 2 + c).sin().to(DEVICE) @ w
        return ((y.to("cpu").exp() + 1).to(DEVICE) * y).sum()

    traced = mg.function(f)
    for k in range(4):
        x, w = mg.tensor(X + k, requires_grad=True), there(np.ones((4, 2)), requires_grad=True)
        for leaf in (x, w, c):
            np.testing.assert_allclose(gradient(traced, x, w, of=leaf), gradient(f, x, w, of=leaf), **EXACT)


def test_what_is_printed_between_recordings(capsys):
    @mg.function
    def f(x):
        y = x * 2
        mg.print(y)
        return (y + 1).exp() * y

    for k in (0.0, 1.0, 2.0):
        np.testing.assert_allclose(f(there([1.0, k])).numpy(), np.exp([3, 2 * k + 1]) * [2, 2 * k], **EXACT)

    assert capsys.readouterr().out.count("array") == 3


# -- where it goes wrong ------------------------------------------------------------------------------------


def test_a_run_that_fails_names_the_op_and_the_next_one_is_whole():
    """It failed while it was recorded, and what there was of the recording was replayed: the sum was left out."""
    f = mg.function(lambda x: mg.linalg.cholesky(x * 1.0) + 1)

    for good in (True, False, False, True, True, True):
        if good:
            np.testing.assert_array_equal(f(there(np.eye(2))).numpy(), np.eye(2) + 1)
        else:
            with pytest.raises(SingularError, match=r"^Cholesky, built at .*, of .* from -1 to -?0 failed"):
                f(there(-np.eye(2)))


def test_a_nan_is_trapped():
    f = mg.function(lambda x: (x - 1).log() * 2)
    f(there([2.0]))

    with trap_nan(), pytest.raises(AnomalyError, match=r"Log, built at .* made 1 NaN of finite numbers"):
        f(there([0.5]))
