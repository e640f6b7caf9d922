"""Branches and loops in a program's text: those of Python, and what they give is the caller's."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.core.interpret import interpret
from minigrad.graph import py_func, scan
from minigrad.graph.compiler.program.program import Program
from tests.support.written_graph import Written

X = np.array([0.5, -1.0, 1.5])


def code(program):
    """The lines of the function, without comments."""
    lines = [line.split("#")[0].rstrip() for line in program.source.splitlines()]
    start = next(i for i, line in enumerate(lines) if line.startswith("def program("))
    return [line for line in lines[start:] if line]


def compiled(f, *xs):
    return Program(Written(f, *xs).graph)


def test_a_branch_is_read_as_an_if():
    def f(x):
        return mg.cond(x.sum() > 0, lambda: x.exp() * 2, lambda: x.tanh() - x)

    assert code(compiled(f, X)) == [
        "def program(x0):",
        "    add.reduce(x0, None, None, b0)",
        "    greater(b0, c0, b1)",
        "    if b1:",
        "        t0 = empty((3,), float64)",
        "        exp(x0, t0)",
        "        multiply(t0, c1, t0)",
        "    else:",
        "        t0 = empty((3,), float64)",
        "        tanh(x0, t0)",
        "        subtract(t0, x0, t0)",
        "    return (t0,)",
    ]


def test_a_loop_is_read_as_a_while():
    def f(x):
        return mg.while_loop(lambda y: y.sum() < 100, lambda y: y * 2 + x, (x,))

    assert code(compiled(f, X)) == [
        "def program(x0):",
        "    t0 = x0.copy()",
        "    while True:",
        "        add.reduce(t0, None, None, b0)",
        "        y0 = empty((), boolean)",
        "        less(b0, c0, y0)",
        "        if not y0:",
        "            break",
        "        y1 = empty((3,), float64)",
        "        multiply(t0, c1, y1)",
        "        add(y1, x0, y1)",
        "        t0 = y1",
        "    return (t0,)",
    ]


def test_a_scan_is_read_as_a_for():
    program = compiled(lambda x: scan(lambda c, x: (c + x, c * x), x.sum() * 0, x, reverse=True), X)

    assert [line.strip() for line in code(program) if "for " in line or "k0" in line] == [
        "for k0 in reversed(range(3)):", "t2 = x0[k0, ...]", "t1[k0] = y1",
    ]  # fmt: skip


def test_lengths_that_a_run_tells_are_written_as_unknown():
    def f(x):
        y = mg.while_loop(lambda y: y.sum() < 100, lambda y: y * y + 1, (x,))
        return y[0].builder.gradients([y[0].sum()], [x])

    source = compiled(f, X).source

    assert "f64[?, 3]" in source
    assert "65536" not in source
    assert "O64" not in source


def test_workspaces_of_branches_lie_behind_what_is_around_them():
    def f(x):
        y = x * 3
        z = mg.cond(x.sum() > 0, lambda: x.exp().sum() + 1, lambda: (x - 1).abs().sum() * 2)
        return y.tanh().sum() + z * y

    for x in (X, -X):
        program = compiled(f, x)
        for _ in range(2):
            np.testing.assert_array_equal(program(x)[0], interpret(program.graph, x)[0])


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_what_a_loop_gives_is_its_own_even_if_it_never_ran(steps):
    def f(x, p):
        y = mg.while_loop(lambda y, i: i < steps, lambda y, i: (y * 1, i + 1), (x, 0))[0]
        return y, p * 0 + y

    program = Program(Written(f, X, X).graph, into={1: 1})
    x, p = X.copy(), X.copy()
    y = program(x, p)[0]

    assert not np.shares_memory(y, x)
    assert y.tolist() == X.tolist()


def test_what_a_branch_gives_is_its_own_though_a_pass_found_nothing_to_do():
    program = compiled(lambda x: mg.cond(x.sum() > 0, lambda: x * 1, lambda: x + 1), X)
    x = X.copy()

    assert not np.shares_memory(program(x)[0], x)


def test_a_kept_view_of_an_operand_that_lies_otherwise_is_of_what_the_run_makes():
    """A reshape of a transposed buffer is a copy: made once, it would be of what lay there before."""

    def f(x):
        turned = (x * 2).mT
        return mg.cond(x.sum() > 0, lambda: turned.reshape(-1) + 1, lambda: turned.reshape(-1) - 1)

    x = np.arange(6.0).reshape(2, 3)
    program = compiled(f, x)

    for a in (x, x + 1):
        np.testing.assert_array_equal(program(a)[0], (a * 2).T.reshape(-1) + 1)


def test_what_a_print_gives_on_is_not_written_over(capsys):
    """It is its operand, whose memory was thought to be free behind the print."""

    def f(x):
        said = py_func(lambda a: a, [x * 2], x.spec)
        mg.print("x", x.sum())
        return said + (x + 5).exp() * (x + 6) * (x + 7)

    np.testing.assert_array_equal(compiled(f, X)(X)[0], X * 2 + np.exp(X + 5) * (X + 6) * (X + 7))


def test_ops_of_one_kind_called_as_wholes_have_names_of_their_own():
    def f(x):
        return py_func(lambda a: a + 1, [x], x.spec) * py_func(lambda a: a + 2, [x], x.spec)

    program = compiled(f, X)

    assert program(X)[0].tolist() == ((X + 1) * (X + 2)).tolist()
    assert "pyfunc(xp, x0)" in program.source
    assert "pyfunc_2(xp, x0)" in program.source
