"""Lengths that are known only when the graph runs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as mg
from minigrad.engine.base.dimension import (
    Dimension,
    bounds,
    clamped,
    fresh_length,
    is_unknown,
    lengths_of,
    named_length,
    quotient,
    substitute_lengths,
)
from minigrad.engine.base.errors import GraphError, NoValueError, ShapeError
from minigrad.engine.base.spec import Spec
from minigrad.engine.core.interpret import interpret
from minigrad.graph.compiler.passes.specialise import specialise_graph
from minigrad.tracing.builder import GraphBuilder
from tests.support.table import table

b, t = named_length("batch"), named_length("time")  # as the engine has them
B, T = Dimension(b), Dimension(t)  # as Python code has them


def test_a_length_reads_as_its_name_and_calculates_with_it():
    assert [str(n) for n in (B, B * 784, 3 * B, B - 1, B + 2, B * T * 4)] == [
        "batch", "batch·784", "batch·3", "batch − 1", "batch + 2", "batch·time·4",
    ]  # fmt: skip
    assert Spec((b, 3), "f4") is Spec((named_length("batch"), 3), "f4")
    assert not Spec((b, 3), "f4").is_known
    assert Spec((4, 3), "f4").is_known


@given(st.integers(0, 5000), st.integers(1, 5000), st.integers(1, 1000), st.integers(-1000, 1000))
def test_sums_and_products_are_read_back_whatever_python_made_of_them(batch, time, factor, offset):
    lengths = {"batch": batch, "time": time}

    assert substitute_lengths(b * factor + offset, lengths) == batch * factor + offset
    assert substitute_lengths(b * t * factor, lengths) == batch * time * factor
    assert substitute_lengths(offset, lengths) == offset


WHOLES = st.recursive(
    st.sampled_from(["n", "m", "1", "2", "3"]),
    lambda e: st.builds("({} {} {})".format, e, st.sampled_from(["+", "-", "*", "//", "%"]), e),
    max_leaves=6,
)


@given(WHOLES, WHOLES, st.integers(0, 9), st.integers(0, 9))
def test_what_lengths_make_is_what_python_makes_of_the_numbers_and_bounds_hold(a, b, n, m):
    found = []
    for text in (a, b):
        try:
            wanted = eval(text, {"n": n, "m": m})
        except ZeroDivisionError:
            return
        found.append((eval(text, {"n": named_length("n"), "m": named_length("m")}), wanted))
        low, high = bounds(found[-1][0])
        assert substitute_lengths(found[-1][0], {"n": n, "m": m}) == wanted
        assert substitute_lengths(substitute_lengths(found[-1][0], {"n": n}), {"m": m}) == wanted
        assert low <= wanted <= high
    (x, i), (y, j) = found
    assert x != y or i == j
    if (q := quotient(x, y) if y != 0 else None) is not None:
        assert substitute_lengths(q * y, {"n": n, "m": m}) == i


def test_clamps_of_clamps_are_one():
    n = named_length("n")
    assert clamped(clamped(n - 1) - 1) == clamped(n - 2)
    assert clamped(clamped(n, 0, 9), 0, 4) == clamped(n, 0, 4)
    assert [substitute_lengths(clamped(clamped(n - 2) + 1, 2, 3), {"n": k}) for k in range(6)] == [2, 2, 2, 2, 3, 3]


def test_a_length_that_stays_unknown_stays():
    assert str(substitute_lengths(b * t, {"batch": 3})) == "time·3"
    assert fresh_length() != fresh_length()


def test_what_has_no_value_before_a_run_is_refused():
    assert str((B * 12) // 4) == "batch·3"
    assert (B * 12) % 4 == 0
    with pytest.raises(GraphError, match="the length batch is known only when the graph runs"):
        math.sqrt(B)


@table("halved", [
    lambda n: (n + 1) // 2, lambda n: (n - 1) // 2 + 1, lambda n: -(-(n + 1) // 2), lambda n: (n + 1) >> 1,
    lambda n: (n + 1) % 2, lambda n: n * (n + 1) // 2, lambda n: n // (n + 2), lambda n: 7 % (n + 1) + n**2 - 2**n,
])  # fmt: skip
def test_a_quotient_is_halved_in_the_run(halved):
    """(n + 1) // 2 · 2 is not n + 1: a quotient is a length of its own, and its rule is Python's own."""
    for n in range(7):
        assert substitute_lengths(halved(B).number, {"batch": n}) == halved(n)
        assert substitute_lengths((halved(B) * 2).number, {"batch": n}) == halved(n) * 2


def test_each_part_of_a_sum_is_divided():
    assert str((B * T * 6 + B * 4 + 2) // 2) == str(B * T * 3 + B * 2 + 1)
    assert (B * 6 + 2) % 2 == 0
    assert substitute_lengths((B * T * 4 // T).number, {"batch": 2, "time": 3}) == 8
    with pytest.raises(ZeroDivisionError):
        substitute_lengths((B * T * 4 // T).number, {"batch": 2, "time": 0})


def test_lengths_that_come_together_and_apart():
    """cat of x and y, of two unknown lengths, was as long as nothing."""
    assert str(B + T) == str(T + B) == "batch + time"
    assert (B + T) - B == T
    assert (B + T) * 2 - T - T == B * 2
    assert substitute_lengths((B - T).number, {"batch": 2, "time": 5}) == -3
    with pytest.raises(GraphError, match="whether batch − time > 0 is known only"):
        bool(B - T > 0)


def test_a_convolution_whose_length_is_a_floor_has_one_of_its_own():
    f = mg.function(
        lambda x: mg.functional.conv2d(x, mg.ones((1, 1, 3, 3)), stride=2).sum((1, 3)),
        input_signature=[mg.TensorSpec((1, 1, None, 8), "float64")],
    )
    for n in (3, 4, 5, 8):
        x = mg.tensor(np.random.default_rng(n).normal(size=(1, 1, n, 8)))
        np.testing.assert_allclose(f(x).numpy(), f.python_function(x).numpy(), rtol=1e-13)  # sums in another order


def test_none_is_the_batch_on_the_first_axis_and_a_length_of_its_own_on_others():
    shape = lengths_of((None, 3, None, "time"), lambda axis: None if axis else "batch")

    assert shape[0] == b
    assert shape[1] == 3
    assert is_unknown(shape[2])
    assert shape[3] == t


def graph_of(f, *specs):
    builder = GraphBuilder()
    with builder.building():
        xs = [builder.argument(f"x{i}", spec) for i, spec in enumerate(specs)]
        y = f(*xs)
        gradients = builder.gradients([y], [x for x in xs if x.spec.is_float])
    return builder.finish_graph([y, *gradients]), [c.what.value for c in builder.captured.values()]


PROGRAMS = {
    "mean": lambda x: x.mean() * x.var() + x.std(), "divided by a length": lambda x: x.sum() / x.shape[0],
    "reshaped": lambda x: x.reshape(-1, 2).tanh().sum(0).prod(),
    "flattened by arithmetic": lambda x: x.reshape(x.shape[0] * x.shape[1]).exp().sum(),
    "sliced": lambda x: (x[1:] * x[:-1]).sum(),
    "every second": lambda x: (x[::2] ** 2).mean() + x[::-2].reshape(-1, 2).exp().sum(),
    "rows": lambda x: x.softmax(1).log().mean(), "columns": lambda x: x.softmax(0).max(0).values.sum(),
    "broadcast": lambda x: (x - x.mean(0, keepdims=True)).square().sum(),
    "product": lambda x: (x.T @ x).trace() + (x @ x.T).mean(), "joined": lambda x: mg.cat([x, x * 2]).cumsum(0).mean(),
    "normalised": lambda x: mg.nn.functional.layer_norm(x, (4,)).square().mean(),
}  # fmt: skip


@table("program", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_one_graph_serves_every_length(program, rows):
    x = mg.tensor(np.random.default_rng(rows).normal(size=(rows, 4)), requires_grad=True)
    graph, captured = graph_of(program, Spec((b, 4), "f8"))

    y = program(x)
    y.backward()
    specs = [x.spec, *(Spec(a.shape, a.dtype) for a in captured)]
    got = interpret(specialise_graph(graph, specs), x.numpy(), *captured)

    assert np.array_equal(got[0], y.numpy())
    assert np.array_equal(got[1], x.grad.numpy())


def test_two_inputs_that_share_a_length_must_agree():
    graph, _ = graph_of(lambda x, y: (x * y).sum(), Spec((b, 4), "f8"), Spec((b, 1), "f8"))

    with pytest.raises(ShapeError, match="the length batch is 3 in another input"):
        specialise_graph(graph, [Spec((3, 4), "f8"), Spec((2, 1), "f8")])
    with pytest.raises(ShapeError, match=r"x0 expects f64\[batch, 4\], got f64\[3, 5\]"):
        specialise_graph(graph, [Spec((3, 5), "f8"), Spec((3, 1), "f8")])


def test_a_length_that_fits_no_other_is_found_when_it_is_known():
    graph, _ = graph_of(lambda x, y: (x * y).sum(), Spec((b, 4), "f8"), Spec((4,), "f8"))
    assert specialise_graph(graph, [Spec((7, 4), "f8"), Spec((4,), "f8")]).inputs[0].spec.shape == (7, 4)

    with pytest.raises(ShapeError):
        graph_of(lambda x, y: (x * y).sum(), Spec((b,), "f8"), Spec((t,), "f8"))


def test_nobody_counts_to_an_unknown_length():
    x = GraphBuilder().argument("x", Spec((b, 2), "f8"))
    with pytest.raises(NoValueError, match="known only when the graph runs"):
        len(x)
    with pytest.raises(NoValueError, match="known only when the graph runs"):
        list(x)


def test_a_number_that_only_a_loop_decides_is_refused_and_not_guessed():
    with mg.Graph().as_default() as graph:
        x = mg.placeholder("float64", (2,))
        _, doubled = mg.while_loop(
            lambda i, y: i < 3,
            lambda i, y: (i + 1, mg.cat([y, y])),
            (mg.constant(0), x),
            shape_invariants=((), (None,)),
        )
        mean, counted = doubled.mean(), doubled.sum() * doubled.shape[0]
    with mg.Session(graph) as session:
        assert session.run(mean, {x: [1.0, 2.0]}) == 1.5
        with pytest.raises(GraphError, match=r"no loop knows before it ends"):
            session.run(counted, {x: [1.0, 2.0]})


def test_a_length_that_no_input_of_a_run_has_is_asked_for():
    with mg.Graph().as_default() as graph:
        x = mg.placeholder("float64", (None, 3))
        ones, beside = mg.ones_like(x), mg.ones(x.shape[0], 3) + mg.zeros_like(x) * x
    with mg.Session(graph) as session:
        assert session.run(beside, {x: np.ones((2, 3))}).shape == (2, 3)
        with pytest.raises(GraphError, match="needs the length batch, which no input of this run has"):
            session.run(ones)
