"""What a traced function changes: captured tensors, arguments, what is printed and drawn, as op by op."""

import random
from typing import NamedTuple

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import EditedError

X = np.arange(6.0).reshape(2, 3)


def test_what_is_captured_is_read_when_the_graph_runs():
    w = mg.tensor([1.0, 2.0, 3.0])
    f = mg.function(lambda x: x * w)
    f(X)
    w.data = [4.0, 5.0, 6.0]
    assert f(X).tolist() == (X * [4, 5, 6]).tolist()
    w += 1
    assert f(X).tolist() == (X * [5, 6, 7]).tolist()
    assert f.trace_count == 1


def test_captured_tensors_arguments_and_views_of_what_is_captured_are_edited_as_op_by_op():
    count, whole = mg.tensor([0.0, 0.0, 0.0]), mg.tensor(np.zeros((2, 3)))

    def step(x):
        count.add_(x.sum(0))
        whole[1] = count * 2
        x.mul_(2)
        return x, count

    traced = mg.function(step)
    x = mg.tensor(X)
    y, c = traced(x)
    traced(x)

    assert y is x
    assert c is count
    assert x.tolist() == (4 * X).tolist()
    assert count.tolist() == (3 * X.sum(0)).tolist()
    assert whole[1].tolist() == (6 * X.sum(0)).tolist()
    assert traced.trace_count == 1


def test_an_edit_of_what_is_recorded_goes_on_in_the_graph():
    def f(h, w):
        h.mul_(w)
        return h.sum()

    grads = []
    for run in (f, mg.function(f)):
        w = mg.tensor(X, requires_grad=True)
        h = w * 3
        (run(h, w) + (h * h).sum()).backward()
        grads.append(w.grad.numpy())

    np.testing.assert_allclose(*grads)


def test_an_edit_by_a_run_is_seen_by_a_backward_that_would_read_the_old_value():
    w, state = mg.tensor(X, requires_grad=True), mg.tensor(X)
    y = (w * state).sum()
    mg.function(lambda: state.add_(1))()
    with pytest.raises(EditedError, match="edited in place"):
        y.backward()


def test_a_leaf_that_learns_is_edited_under_no_grad_alone():
    w = mg.tensor(X, requires_grad=True)
    for f, args in ((lambda: w.add_(1), ()), (lambda x: x.add_(1), (w,))):
        with pytest.raises(EditedError, match="leaf that requires a gradient"):
            mg.function(f)(*args)
    assert w.tolist() == X.tolist()


def test_memory_that_is_edited_may_come_in_but_once():
    x = mg.tensor(X)
    f = mg.function(lambda x, y: x.add_(y))
    f(x, mg.tensor(X))
    with pytest.raises(EditedError, match="pass it once"):
        f(x, x)
    with pytest.raises(EditedError, match="pass it once"):
        f(x, x[:])


def test_a_run_shares_no_memory_that_ops_would_not_share():
    w = mg.tensor(X)
    f = mg.function(lambda x: [x + 0, x * 1, w + 0, x * 2, x * 2, mg.tensor(1.0) + 0, x.reshape(3, 2)])
    x = mg.tensor(X)
    first = f(x)
    for y in first[:-1]:
        y.add_(100)

    assert x.tolist() == w.tolist() == X.tolist()
    assert first[3].tolist() == first[4].tolist() == (2 * X + 100).tolist()
    assert [y.tolist() for y in f(x)[2:6]] == [X.tolist(), (2 * X).tolist(), (2 * X).tolist(), 1.0]


def test_a_new_value_that_is_also_a_result_is_two_arrays():
    state = mg.tensor(X)

    @mg.function
    def f(x):
        y = x + state
        state.copy_(y)
        return y

    y = f(X)
    y.add_(100)
    assert state.tolist() == (2 * X).tolist()


def test_results_keep_their_structure_and_what_is_no_tensor():
    class Pair(NamedTuple):
        a: object
        b: object

    y = mg.function(lambda x: {"p": Pair(x + 1, "text"), "q": [3, None, (x,)]})(mg.tensor(X))

    assert isinstance(y["p"], Pair)
    assert y["p"].a.tolist() == (X + 1).tolist()
    assert (y["p"].b, y["q"][:2]) == ("text", [3, None])
    assert mg.function(lambda: None)() is None


def test_side_effects_are_the_traces_and_printing_in_the_graph_is_every_runs(capsys):
    seen = []

    @mg.function
    def f(x):
        seen.append("traced")
        mg.print("run", x.sum())

    for _ in range(3):
        f(X)

    assert seen == ["traced"]
    assert capsys.readouterr().out == "run 15.0\n" * 3


def test_random_numbers_are_fresh_at_every_run_and_those_of_the_seed():
    def draw():
        mg.manual_seed(3)
        return [f(mg.zeros(3)).tolist() for _ in range(3)]

    def body(x):
        return mg.rand(3) + mg.randn(3) * 2 + mg.nn.functional.dropout(x + 1, 0.5) + x.clone().uniform_()

    f = body
    expected = draw()
    f = mg.function(body)
    f(mg.zeros(3))

    assert draw() == expected
    assert len({tuple(y) for y in expected}) == 3


# -- edits between reads, in programs with loops over blocks ----------------------------------------------------


def reads_and_edits(seed, w):
    """A function that at random computes, edits w in place, and reads it again."""
    ways = {
        "read": lambda a, b: w + a, "edit": lambda a, b: w.add_(a.tanh()) * b,
        "multiply": lambda a, b: w.mul_(a.tanh()) + b, "add": lambda a, b: a + b, "product": lambda a, b: a * b.tanh(),
        "sum": lambda a, b: a.sum(0) + b, "matrices": lambda a, b: (a @ b).tanh(),
    }  # fmt: skip
    rng = random.Random(seed)
    steps = [(rng.choice([*ways]), rng.random(), rng.random()) for _ in range(rng.randint(4, 12))]

    def f(x):
        values = [x, w * 1]
        for way, i, j in steps:
            values.append(ways[way](*(values[int(at * len(values))] for at in (i, j))) * 1)
        return tuple(values[2:])

    return f


@pytest.mark.parametrize("options", [{}, {"jit_compile": True}, {"threads": 2}], ids=str)
@pytest.mark.parametrize("seed", range(24))
def test_an_edit_is_between_the_reads_that_it_was_written_between(seed, options):
    """Whole arrays and arrays that are computed in blocks, where an edit once went behind what reads beside it."""
    for n in (3, 300):
        x, start = (np.random.default_rng(k).normal(size=(n, n)) for k in (seed, seed + 100))
        w, traced_w = mg.tensor(start), mg.tensor(start)
        by_run, traced = reads_and_edits(seed, w), mg.function(reads_and_edits(seed, traced_w), **options)
        for _ in range(2):
            for y, found in zip((*by_run(mg.tensor(x)), w), (*traced(mg.tensor(x)), traced_w), strict=True):
                np.testing.assert_allclose(found.numpy(), y.numpy(), rtol=1e-7, atol=1e-9)
