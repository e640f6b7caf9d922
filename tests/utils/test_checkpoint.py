"""checkpoint: the same gradients from fewer bytes, for a second forward pass."""

import weakref

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base import errors
from minigrad.engine.core import modes
from minigrad.engine.core.node import history
from minigrad.utils.checkpoint import (
    CheckpointPolicy,
    Promise,
    checkpoint,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
    keep_products,
)
from tests.across.test_lifetimes import uncollected
from tests.support.all_close import assert_all_close, assert_all_equal
from tests.support.leaves import leaf
from tests.support.peak_memory import peak_bytes
from tests.support.table import mistakes, table

N = 1000


def deep(x, times=20):
    """Twenty ops, each of which keeps its result."""
    for _ in range(times):
        x = x.tanh()
    return x


def kept(y):
    """Bytes of the arrays that y's graph keeps for backward."""
    arrays = [a for node in history(y.node) for a in node.saved or () if not isinstance(a, Promise)]
    return sum({id(a): a.nbytes for a in arrays}.values())


def switch(first, second):
    """What is first(x) when it is called for the first time, and second(x) from then on."""
    once = iter([first])

    def f(x):
        return next(once, second)(x)

    return f


class Runs:
    """A function, and how often it ran."""

    def __init__(self, f):
        self.f, self.count = f, 0

    def __call__(self, *xs, **options):
        self.count += 1
        return self.f(*xs, **options)


W = mg.tensor(np.linspace(-1, 1, 9).reshape(3, 3), requires_grad=True)
FUNCTIONS = {
    "a chain": lambda x: deep(x, 3), "weights it closes over": lambda x: (x @ W).tanh() @ W,
    "its argument itself": lambda x: x, "an inner gradient": lambda x: mg.func.grad(lambda x: (x**3).sum())(x) * x,
    "an edit in place": lambda x: (x * 1).mul_(x.sin()).exp_(),
    "two results": lambda x: sum(y * k for k, y in enumerate((x.sin(), x.cos() * x), 1)),
    "a part inside it": lambda x: checkpoint(lambda x: (x @ W).tanh(), x.sin()) * x,
    "a constant": lambda x: mg.tensor([1.0, 2.0, 3.0]) * x,
}  # fmt: skip


@table("case", FUNCTIONS)
def test_first_and_second_gradients_are_those_without(case):
    """An edit in place once changed what had been kept for the second run, and gave wrong gradients without a word."""
    said = []
    for run in (FUNCTIONS[case], lambda x: checkpoint(FUNCTIONS[case], x)):
        x = leaf(0.3, -0.7, 1.1)
        y = (run(x * 2) ** 2).sum()
        first = mg.grad(y, [x, W], create_graph=True, materialize_grads=True)
        second = mg.grad((first[0] ** 2).sum(), [x, W], materialize_grads=True)
        said.append([each.numpy() for each in (y, *first, *second)])

    assert_all_close(said[1], said[0], rtol=1e-12, atol=1e-14)


def test_it_keeps_its_argument_and_nothing_else():
    x = mg.tensor(np.ones(N), requires_grad=True)

    assert kept(deep(x)) == 20 * N * 8
    assert kept(checkpoint(deep, x)) == 0  # the argument lives anyway


def test_parts_in_a_row_hold_one_array_each():
    """20 ops in 4 parts: 2 arguments in between and 5 results in the last, where the plain chain keeps 20 arrays."""
    x = mg.tensor(np.ones(N), requires_grad=True)
    arrays = []

    def fifth(x):
        y = deep(x, 5)
        arrays.append(weakref.ref(y.value))
        return y

    y = checkpoint_sequential([fifth] * 4, 4, x)
    assert [a() is not None for a in arrays] == [True, True, False, True]  # the last part's tanh reads its own result
    y.sum().backward()
    assert [a() is not None for a in arrays[:3]] == [False] * 3


def test_what_the_second_run_keeps_is_let_go_as_it_is_read():
    x = mg.tensor(np.ones(N), requires_grad=True)
    made, alive = [], []

    def part(x):
        made.clear()
        for _ in range(5):
            x = x.tanh()
            made.append(weakref.ref(x.value))
        return x

    class Watcher:
        def on_forward(self, op, y, xs): ...
        def on_backward(self, node, gy, gxs):
            alive.append(sum(a() is not None for a in made))

    y = checkpoint(part, x).sum()
    with modes.watching(Watcher()):
        y.backward()

    assert alive == [0, 4, 3, 2, 1, 0]  # after the sum; then the second run, and tanh by tanh


def test_the_function_runs_once_forwards_and_once_for_each_pass_backwards():
    f, x = Runs(deep), leaf(1.0, 2.0)
    y = checkpoint(f, x).sum()
    assert f.count == 1
    for _ in range(3):
        y.backward(retain_graph=True)
    y.backward()

    assert f.count == 5
    assert x.grad.tolist() == (4 * mg.grad(deep(x).sum(), x)[0]).tolist()
    with pytest.raises(errors.FreedError):
        y.backward()


def test_where_nothing_is_recorded_it_is_a_plain_call():
    f = Runs(deep)
    with mg.no_grad():
        y = checkpoint(f, leaf(1.0))
    z = checkpoint(f, mg.tensor([1.0]))

    assert not y.requires_grad
    assert not z.requires_grad
    assert f.count == 2


def test_arguments_may_be_numbers_words_and_nested():
    x, w = leaf(2.0), leaf(3.0)
    y = checkpoint(lambda pair, n, *, extra: pair["x"] * pair["w"][0] * n + extra, {"x": x, "w": [w]}, 5, extra=x)
    y.sum().backward()

    assert x.grad.tolist() == [16]
    assert w.grad.tolist() == [10]


# -- random numbers --------------------------------------------------------------------------------


def test_dropout_draws_the_same_mask_again():
    x = mg.tensor(np.ones(N), requires_grad=True)
    mg.manual_seed(3)
    y = checkpoint(lambda x: mg.nn.functional.dropout(x * 1, 0.5), x)
    mg.rand(5)
    y.sum().backward()

    np.testing.assert_array_equal(x.grad.numpy(), y.numpy())


def test_the_second_run_leaves_the_sequence_of_random_numbers_where_it_was():
    said = []
    for run in (lambda f, x: f(x), checkpoint):
        mg.manual_seed(3)
        y = run(lambda x: mg.nn.functional.dropout(x * 1, 0.5), mg.tensor(np.ones(N), requires_grad=True))
        mg.rand(5)
        y.sum().backward()
        said.append(mg.rand(3).tolist())

    assert said[0] == said[1]


def test_without_preserving_other_numbers_are_drawn():
    x = mg.tensor(np.ones(N), requires_grad=True)
    y = checkpoint(lambda x: mg.nn.functional.dropout(x * 1, 0.5), x, preserve_rng_state=False)
    y.sum().backward()

    assert (x.grad.numpy() != y.numpy()).any()


# -- in a row, and inside each other ---------------------------------------------------------------


@pytest.mark.parametrize("segments", [1, 2, 3, 5])
def test_functions_in_a_row_give_the_gradients_of_the_row(segments):
    fs = [Runs(f) for f in (mg.sin, mg.exp, mg.tanh, mg.cos, mg.exp)]
    x, z = leaf(0.3, 0.8), leaf(0.3, 0.8)
    checkpoint_sequential(fs, segments, x).sum().backward()
    z.sin().exp().tanh().cos().exp().sum().backward()

    np.testing.assert_allclose(x.grad.numpy(), z.grad.numpy(), rtol=1e-12)
    assert fs[-1].count == 1  # the last part is no checkpoint: it would run again at once
    assert fs[0].count == (1 if segments == 1 else 2)


@table("segments", range(1, 8))
def test_there_are_as_many_parts_as_were_asked(segments):
    """7 functions in 5 parts were in 4: 2, 2, 2 and 1."""
    order = []
    fs = [lambda x, i=i: order.append(i) or x.sin() for i in range(7)]
    checkpoint_sequential(fs, segments, leaf(1.0)).sum().backward()

    again = order[7:]  # part by part, the last first
    assert order[:7] == [*range(7)]
    assert sum(i < before for before, i in zip([7, *again], again)) == segments - 1


def test_modules_in_a_row_are_functions_in_a_row():
    mg.manual_seed(0)
    net = mg.nn.Sequential(mg.nn.Linear(3, 4), mg.nn.Tanh(), mg.nn.Linear(4, 2), mg.nn.Tanh())
    x = mg.tensor(np.ones((5, 3)))
    net(x).sum().backward()
    plain = [p.grad.numpy() for p in net.parameters()]
    net.zero_grad()
    checkpoint_sequential(net, 2, x).sum().backward()

    assert_all_close([p.grad for p in net.parameters()], plain, rtol=1e-12)


def test_a_part_inside_a_part_holds_no_argument_of_its_own():
    """The inner part held its argument between forward and backward, which the outer was there to let go."""
    x, inner = mg.tensor(np.ones(N), requires_grad=True), []

    def part(x):
        y = deep(x, 3)
        inner.append(weakref.ref(y.value))
        return checkpoint(deep, y)

    y = checkpoint(part, x).sum()
    assert inner[0]() is None
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), mg.grad(deep(x, 23).sum(), x)[0].numpy(), rtol=1e-12)


def test_an_inner_part_runs_once_more_for_each_part_around_it():
    f, x = Runs(lambda x: x.sin()), leaf(1.0)
    checkpoint(lambda x: checkpoint(lambda x: checkpoint(f, x.exp()), x.tanh()), x).sum().backward()

    assert f.count == 1 + 3
    np.testing.assert_allclose(x.grad.numpy(), mg.grad(x.tanh().exp().sin().sum(), x)[0].numpy())


# -- what is refused -------------------------------------------------------------------------------


def test_a_function_that_changes_its_mind_is_refused():
    rows, columns = (lambda x, shape=shape: x.reshape(shape).tanh().reshape(-1) for shape in ((1, -1), (2, -1)))
    for first, second in ((mg.tanh, lambda x: deep(x, 2)), (rows, columns), (mg.tanh, lambda x: x + 1)):
        y = checkpoint(switch(first, second), leaf(1.0, 2.0)).sum()
        with pytest.raises(errors.NoGradientError, match=r"kept \d arrays .* first time and \d arrays .* second"):
            y.backward()


def test_an_argument_edited_in_place_since_is_refused():
    """The second run took the edited value, and the gradient was that of another point, without a word."""
    y = leaf(1.0, 2.0) * 1
    z = checkpoint(deep, y)
    y.add_(1)

    with pytest.raises(errors.EditedError, match=r"which .* reads, was edited in place .*clone\(\)"):
        z.sum().backward()


@pytest.mark.parametrize("reads", ["kept", "added"])
def test_a_parameter_edited_in_place_since_is_refused(reads):
    """A step of an optimiser between forward and backward: the second run took the new weight, and the gradient was
    that of neither, without a word. (PyTorch's still is.)"""
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = checkpoint((lambda x: x * w) if reads == "kept" else lambda x: (x + w).exp(), x)
    with mg.no_grad():
        w.mul_(10)

    with pytest.raises(errors.EditedError, match=r"which .* reads, was edited in place .*clone\(\)"):
        y.sum().backward()


def test_what_only_counts_may_be_edited_since():
    """The running statistics of a layer that is in two parts: the second moves them once the first has run."""
    norm, x = mg.nn.BatchNorm1d(3), mg.tensor(np.random.default_rng(0).normal(size=(5, 3)), requires_grad=True)
    found = mg.grad(checkpoint(norm, checkpoint(norm, x).tanh()).exp().sum(), x)[0]
    expected = mg.grad(norm(norm(x).tanh()).exp().sum(), x)[0]

    np.testing.assert_array_equal(found.numpy(), expected.numpy())


def test_an_argument_that_the_part_around_made_again_is_not_edited_since():
    """It was made, and edited, after the first run of the part inside: by the second run of the part around."""

    def part(x):
        y = (x * 1).mul_(x.sin())
        return checkpoint(mg.tanh, y) * checkpoint(mg.cos, y)

    x = leaf(0.3, 0.8)

    assert mg.grad(checkpoint(part, x).sum(), x)[0].tolist() == mg.grad(part(x).sum(), x)[0].tolist()


def test_an_edit_inside_that_is_refused_without_is_refused_with():
    """The second run kept the array, then wrote over it, and the gradient was that of the value after."""

    def stale(x):
        y = x * 1
        z = y * y
        y.add_(1)
        return z

    for run in (stale, lambda x: checkpoint(stale, x)):
        with pytest.raises(errors.EditedError):
            run(leaf(1.0, 2.0)).sum().backward()


def test_the_form_may_be_left_open():
    assert checkpoint(deep, leaf(1.0), use_reentrant=None).requires_grad


def test_an_exception_in_the_second_run_comes_through_and_leaves_the_modes_alone():
    def broken(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        checkpoint(switch(deep, broken), leaf(1.0)).sum().backward()
    assert mg.is_grad_enabled()
    assert modes.current.mode.watchers == ()


# -- beside the rest of the engine -----------------------------------------------------------------


def test_a_part_is_let_go_with_its_last_promise_while_the_result_lives():
    y = mg.tensor(np.ones(N), requires_grad=True) * 2
    argument = weakref.ref(y.value)
    z = checkpoint(deep, y).sum()
    del y

    assert argument() is not None
    z.backward()
    assert argument() is None
    assert z.requires_grad


def test_no_reference_cycle_is_left():
    with uncollected():
        y = checkpoint(lambda x: checkpoint(deep, x.sin()), leaf(1.0, 2.0)).sum()
        alive = weakref.ref(y.node)
        y.backward()
        del y
        assert alive() is None


def test_a_function_of_ones_own_is_checkpointed_too():
    """What a Function saved was not packed: it was held as if there were no checkpoint."""

    class Cube(mg.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3, x * 2

        @staticmethod
        def backward(ctx, g, h):
            (x,) = ctx.saved_tensors
            return 3 * x * x * g + 2 * h

    x = mg.tensor(np.ones(N), requires_grad=True)
    y = checkpoint(lambda x: sum(Cube.apply(x.sin())), x)
    assert kept(y) == 0
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), (3 * np.sin(1) ** 2 + 2) * np.cos(1) * np.ones(N), rtol=1e-12)


def test_forward_mode_over_a_checkpointed_gradient_is_the_hessian_vector_product():
    x, dx = mg.tensor([0.3, 0.8]), mg.tensor([1.0, -2.0])
    plain = mg.func.jvp(mg.func.grad(lambda x: deep(x, 3).sum()), (x,), (dx,))[1]
    again = mg.func.jvp(mg.func.grad(lambda x: checkpoint(lambda x: deep(x, 3), x).sum()), (x,), (dx,))[1]

    np.testing.assert_allclose(again.numpy(), plain.numpy(), rtol=1e-12)


# -- the square root ---------------------------------------------------------------------------------


def measured(segments, layers=64, size=20_000):
    """(peak bytes in activations, runs, gradient) of a step through 64 layers."""
    fs = [Runs(mg.sin) for _ in range(layers)]
    x = mg.tensor(np.linspace(-1, 1, size), requires_grad=True)
    peak = peak_bytes(lambda: checkpoint_sequential(fs, segments, x).sum().backward())
    return peak / (8 * size), sum(f.count for f in fs), x.grad.numpy()


def test_64_layers_in_k_parts_take_about_64_by_k_and_k_arrays():
    """Chen et al. 2016: L / k + k at once, least at k = √L. So few more are backward's own, and one is the gradient."""
    measured(8)
    found = {k: measured(k) for k in (1, 2, 4, 8, 16, 64)}
    for k, (peak, runs, gradient) in found.items():
        assert peak == pytest.approx(64 / k + k, abs=4.5), k
        assert runs == 128 - 64 // k if k > 1 else 64  # all but the last part run twice
        np.testing.assert_array_equal(gradient, found[1][2])

    assert found[8][0] <= 20
    assert min(found, key=lambda k: found[k][0]) == 8


# -- modes, edits, checks ----------------------------------------------------------------------------


def test_the_second_run_has_the_modes_of_the_first():
    """It recorded, whatever the first did, and kept more: NoGradientError. no_grad around it, and grad inside."""
    seen = []

    def part(x):
        seen.append(mg.is_grad_enabled())
        y = x.sin()
        with mg.enable_grad():
            return (x * 1).exp() * y

    x = leaf(0.3, 0.8)
    with mg.no_grad():
        y = checkpoint(part, x)
    y.sum().backward()

    assert seen == [False, False]
    np.testing.assert_array_equal(x.grad.numpy(), (x.exp() * x.sin()).numpy())


def test_edits_of_what_is_not_its_own_happen_once():
    """PyTorch edits a second time when backward comes by: docs/differences.md."""
    count, last = mg.tensor(0), []
    norm = mg.nn.BatchNorm1d(3)
    other = mg.nn.BatchNorm1d(3)

    def part(x):
        count.add_(1)
        last.append(count.item())
        return norm(x).exp_()

    x = mg.tensor(np.random.default_rng(0).normal(size=(5, 3)), requires_grad=True)
    y = checkpoint(part, x)
    edits = count._version
    y.sum().backward()
    other(x)

    assert last == [1, 2]
    assert count.item() == 1
    assert count._version == edits
    assert_all_equal([norm.running_mean, norm.running_var], [other.running_mean, other.running_var])
    assert norm.num_batches_tracked.item() == 1


def test_the_check_of_determinism_may_be_waived_and_nothing_else():
    calls = []

    def narrower(x):
        """Reads 0.25 and 0.5, which both dtypes hold, so that the derivative is the same."""
        calls.append(1)
        return x * (x.detach().astype(np.float32) if len(calls) % 2 == 0 else x.detach())

    x = leaf(0.25, 0.5)
    checkpoint(narrower, x, determinism_check="none").sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), x.numpy())
    with pytest.raises(errors.NoGradientError, match="kept"):
        checkpoint(narrower, x).sum().backward()
    with pytest.raises(errors.NoGradientError, match="kept"):
        checkpoint(lambda x: deep(x, len(calls.append(1) or calls)), x, determinism_check="none").sum().backward()


def test_contexts_are_entered_around_the_first_run_and_the_second():
    told = []

    class Noted:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            told.append(f"into {self.name}")

        def __exit__(self, *raised):
            told.append(f"out of {self.name}")

    both = Noted("first"), Noted("second")
    y = checkpoint(lambda x: told.append("run") or x.sin(), leaf(1.0), context_fn=lambda: both).sum()
    assert told == ["into first", "run", "out of first"]
    y.backward()
    assert told[3:] == ["into second", "run", "out of second"]


# -- selective ---------------------------------------------------------------------------------------


def selecting(policy):
    return lambda: create_selective_checkpoint_contexts(policy)


class Computed:
    """A watcher of products: whose arrays are new, each time."""

    def __init__(self):
        self.values = []

    def on_forward(self, op, y, xs):
        if isinstance(op, mg.ops.MatMul):
            self.values.append(y.value)

    def on_backward(self, node, gy, gxs): ...


def products(x):
    watch = Computed()
    with modes.watching(watch):
        for _ in range(3):
            x = (x @ W).tanh()
    SEEN.append(watch.values)
    return x


SEEN = []


@pytest.mark.parametrize("policy", [keep_products, [mg.ops.MatMul]])
def test_products_are_computed_once_and_the_rest_twice(policy):
    data = np.random.default_rng(0).normal(size=(50, 3))
    said = []
    for run in (products, lambda x: checkpoint(products, x, context_fn=selecting(policy))):
        SEEN.clear()
        W.grad, x = None, mg.tensor(data, requires_grad=True)
        y = run(x)
        y.sum().backward(retain_graph=True)
        said.append([y.numpy(), x.grad.numpy().copy(), W.grad.numpy().copy()])
        if run is not products:
            y.sum().backward()
            assert len(SEEN) == 3
            assert all(a is b is c for a, b, c in zip(*SEEN))
    assert_all_equal(said[1], said[0])
    W.grad = None
    assert (mg.tensor(data) @ W).numpy() is not SEEN[0][0]  # outside they are computed, as ever


def test_a_kept_result_that_was_edited_is_computed_again():
    x = mg.tensor(np.random.default_rng(0).normal(size=(4, 3)), requires_grad=True)
    run = lambda x: ((x @ W).add_(1).tanh() @ W).exp()  # noqa: E731
    expected = mg.grad(run(x).sum(), [x, W])
    found = mg.grad(checkpoint(run, x, context_fn=selecting(keep_products)).sum(), [x, W])
    y = checkpoint(lambda x: x.sin() @ W, x, context_fn=selecting(keep_products))
    again = mg.grad((y.mul_(2) * 1).sum(), x)[0]

    assert_all_equal(found, expected)
    np.testing.assert_array_equal(again.numpy(), mg.grad(((x.sin() @ W) * 2).sum(), x)[0].numpy())


def test_two_policies_and_parts_inside_do_not_meet():
    x = mg.tensor(np.random.default_rng(0).normal(size=(4, 3)), requires_grad=True)

    def inner(x):
        return checkpoint(lambda x: (x.exp() @ W).tanh(), x, context_fn=selecting([mg.ops.Exp]))

    def run(x, call):
        return call(lambda x: inner(x @ W).sin() @ W, x)

    expected = mg.grad(run(x, lambda f, x: f(x)).sum(), [x, W])
    found = mg.grad(run(x, lambda f, x: checkpoint(f, x, context_fn=selecting(keep_products))).sum(), [x, W])
    assert_all_equal(found, expected)


def test_a_function_that_changes_its_products_is_refused():
    x = mg.tensor(np.ones((2, 3)), requires_grad=True)
    for second in (lambda x: (x @ W).tanh() @ W, lambda x: (x.tanh() @ W).exp().tanh(), lambda x: x.tanh().exp()):
        f = switch(lambda x: (x @ W).tanh().exp(), second)
        y = checkpoint(f, x, context_fn=selecting(keep_products))
        with pytest.raises(errors.NoGradientError):
            y.sum().backward()


def test_a_product_that_is_left_out_the_second_time_is_noticed():
    """The next product of that kind would be given its result."""

    def one(x):
        return (x.sin() @ W).exp()

    def two(x):
        x.detach() @ W.detach()
        return one(x)

    x = mg.tensor(np.ones((2, 3)), requires_grad=True)
    y = checkpoint(switch(two, one), x, context_fn=selecting(keep_products))
    with pytest.raises(errors.NoGradientError, match="fewer MatMul"):
        y.sum().backward()


MISTAKES = {
    "no part": (lambda: checkpoint_sequential([mg.sin] * 3, 0, leaf(1.0)), ValueError, "1 to 3 segments"),
    "a part too many": (lambda: checkpoint_sequential([mg.sin] * 3, 4, leaf(1.0)), ValueError, "1 to 3 segments"),
    "the older form": (lambda: checkpoint(deep, leaf(1.0), use_reentrant=True), ValueError, "use_reentrant=False"),
    "another check": (lambda: checkpoint(deep, leaf(1.0), determinism_check="strict"), ValueError, "default"),
    "a policy that says no policy":
        (lambda: checkpoint(deep, leaf(1.0), context_fn=selecting(lambda ctx, op, *specs: "yes")),
         *(TypeError, "CheckpointPolicy")),
    "an op by its name": (lambda: create_selective_checkpoint_contexts(["matmul"]), TypeError, "classes of ops"),
}  # fmt: skip

test_a_clear_sentence_answers = mistakes(MISTAKES)


def test_policies_are_asked_as_pytorchs_are():
    """Of each product once, as it runs: what they said holds when backward computes the part again."""
    torch = pytest.importorskip("torch")
    from torch.utils.checkpoint import CheckpointPolicy as Theirs
    from torch.utils.checkpoint import checkpoint as their_checkpoint
    from torch.utils.checkpoint import create_selective_checkpoint_contexts as their_contexts

    data, asked = np.random.default_rng(0).normal(size=(3, 3)), {"ours": [], "theirs": []}

    def ours(ctx, op, *specs):
        if op.kind == "MatMul":
            asked["ours"].append(ctx.is_recompute)
            return CheckpointPolicy.MUST_SAVE
        return CheckpointPolicy.PREFER_RECOMPUTE

    def theirs(ctx, op, *args, **options):
        if op == torch.ops.aten.mm.default:
            asked["theirs"].append(ctx.is_recompute)
            return Theirs.MUST_SAVE
        return Theirs.PREFER_RECOMPUTE

    x, z = mg.tensor(data, requires_grad=True), torch.tensor(data, requires_grad=True)
    checkpoint(lambda x: (x @ x).tanh() @ x, x, context_fn=selecting(ours)).exp().sum().backward()
    their_checkpoint(
        lambda z: (z @ z).tanh() @ z, z, use_reentrant=False, context_fn=lambda: their_contexts(theirs)
    ).exp().sum().backward()

    np.testing.assert_allclose(x.grad.numpy(), z.grad.numpy(), rtol=1e-12)
    assert asked["ours"] == asked["theirs"]
