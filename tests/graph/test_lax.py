"""JAX's spellings: what they give on values, and in a graph."""

import numpy as np
import pytest
from test_control import agree

import minigrad as mg
from minigrad import lax
from tests.support.table import table

X = np.array([1.0, -2.0, 3.0])
ROWS = np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize("x", [X, -X])
def test_cond_takes_its_operands_one_by_one(x):
    agree(lambda x: lax.cond(x.sum() > 0, lambda x, y: x + y, lambda x, y: x - y, x, x * 2), x)


@table("index, factor", [(-3, 1), (0, 1), (1, 2), (2, 3), (9, 3)])
def test_switch_keeps_its_index_among_the_branches(index, factor):
    def f(i, x):
        return lax.switch(i, [lambda x: x, lambda x: x * 2, lambda x: x * 3], x)

    assert f(mg.tensor(index), mg.tensor(X)).tolist() == (factor * X).tolist()
    agree(f, np.array(index), X)


def test_while_loop_carries_one_value_of_any_structure():
    agree(
        lambda x: lax.while_loop(lambda c: c["n"] < 3, lambda c: {"n": c["n"] + 1, "x": c["x"] * 2}, {"n": 0, "x": x}),
        X,
    )
    agree(lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, x)), X)
    agree(lambda x: lax.while_loop(lambda x: x.sum() < 50, lambda x: x * 2, x), X)


def test_fori_loop_gives_the_number_first():
    agree(lambda x: lax.fori_loop(1, 4, lambda i, x: x * i, x), X)


def test_scan_gives_the_last_carry_and_all_results():
    agree(lambda x: lax.scan(lambda c, x: (c + x, c * 2), x[0] * 0, x), ROWS)
    agree(lambda x: lax.scan(lambda c, x: (c + x, c * 2), x[0] * 0, x, reverse=True), ROWS)


def test_map_stacks_what_each_row_gives():
    agree(lambda x: lax.map(lambda row: (row.sum(), row * 2), x), ROWS)


def test_a_prefix_sum_is_a_scan():
    _, sums = lax.scan(lambda c, x: (c + x, c + x), mg.tensor(np.zeros(3)), mg.tensor(ROWS))

    assert sums.tolist() == np.cumsum(ROWS, axis=0).tolist()


def test_the_gradient_of_a_scan_on_values_is_the_ordinary_one():
    x = mg.tensor(ROWS, requires_grad=True)
    last, _ = lax.scan(lambda c, row: (c * row, None), mg.tensor(np.ones(3)), x[1:])
    last.sum().backward()

    assert x.grad[0].tolist() == [0.0, 0.0, 0.0]
    assert x.grad[1].tolist() == (ROWS[2] * ROWS[3]).tolist()
