"""control_dependencies blocks work inside branches and loops, and every effect that a run needs happens, in order."""

from random import Random

import numpy as np
import pytest

import minigrad as mg
from minigrad import graph as G
from minigrad.graph import control_dependencies as after
from minigrad.graph.lax import fori_loop, scan
from tests.support.session_programs import text_of, trouble
from tests.support.table import table


def number(value):
    return G.placeholder_with_default(value, ())


def branch(body, v):
    return mg.cond(number(True), body, lambda: v * 0)


def nested(body, v):
    return branch(lambda: branch(body, v), v)


def turns(body, v):
    return mg.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 0 + body()), (number(0), number(0.0)))[1]


PLACES = {
    "a branch": branch, "the false branch": lambda body, v: mg.cond(number(False), lambda: v * 0, body),
    "a switch": lambda body, v: G.switch_case(number(1), [lambda: v * 0, body]), "a branch in a branch": nested,
    "lax.cond": lambda body, v: mg.lax.cond(number(True), body, lambda: v * 0),
    "a branch in a loop": lambda body, v: turns(lambda: branch(body, v), v), "while_loop": turns,
    "fori_loop": lambda body, v: fori_loop(0, 3, lambda i, a: a * 0 + body(), number(0.0)),
    "fori_loop to a symbol": lambda body, v: fori_loop(0, number(3), lambda i, a: a * 0 + body(), number(0.0)),
    "scan": lambda body, v: scan(lambda a, _: (a * 0 + body(), None), number(0.0), length=3)[0],
}  # fmt: skip
READS = {
    "a product": lambda v: v * 1, "read_value": lambda v: v.read_value(), "identity": G.identity, "print": mg.print,
    "py_func": lambda v: G.py_func(lambda x: x, [v]),
}  # fmt: skip
WAITS = {
    "the op": lambda inc: [inc], "a group made inside": lambda inc: [G.group(inc)],
    "a value made inside": lambda inc: [inc * 2],
}  # fmt: skip


def outcome(build, value=1.0):
    """The result of the program in a session, and the value of its variable afterwards."""
    with mg.Graph().as_default() as graph:
        v = mg.Variable(np.float64(value), name="v")
        fetched = build(v)
        start = G.global_variables_initializer()
    with mg.Session(graph) as session:
        session.run(start)
        return session.run(fetched), session.run(v)


@table("place, read, wait", [(p, r, w) for p in PLACES for r in READS for w in WAITS], groups=3)
def test_a_read_in_a_block_of_a_branch_or_a_loop_sees_what_the_block_waits_for(place, read, wait):
    """The block was ignored there: the assignment did not run, or it ran and the read gave the old value."""

    def build(v):
        inc = v.assign_add(1.0)

        def body():
            with after(WAITS[wait](inc)):
                return READS[read](v)

        return PLACES[place](body, v)

    assert outcome(build) == (2, 2)


@table("place", PLACES)
def test_an_op_without_a_value_runs_where_a_branch_or_a_loop_waits_for_it(place):
    def build(v):
        inc = G.group(v.assign_add(1.0))

        def body():
            with after([G.group(inc), G.no_op()]):
                return mg.tensor(5.0) * 1

        return PLACES[place](body, v)

    assert outcome(build) == (5, 2)


def test_an_op_outside_that_a_branch_returns_runs():
    def returned(v):
        inc = G.group(v.assign_add(1.0))
        return mg.cond(number(False), lambda: (inc, v * 3), lambda: (G.no_op(), v * 3))[1]

    def tied(v):
        inc = G.group(v.assign_add(1.0))
        return branch(lambda: G.tuple_([v * 3], control_inputs=[inc])[0], v)

    assert outcome(returned) == (3, 2)
    assert outcome(tied) == (3, 2)


def test_a_read_before_the_block_gives_the_value_at_the_start_of_the_run():
    def build(v):
        inc = v.assign_add(1.0)

        def body():
            before, kept = v * 1, v.read_value()
            with after([inc]):
                return before, kept * 1, v * 1

        return mg.cond(number(True), body, lambda: (v * 0, v * 0, v * 0))

    assert outcome(build) == ((1, 1, 2), 2)


def test_read_value_stays_what_it_was_when_a_block_uses_it_later():
    def build(v):
        kept, inc = v.read_value(), v.assign_add(1.0)
        with after([inc]):
            return kept * 1

    assert outcome(build) == (1, 2)


def test_blocks_in_a_loop_read_what_the_previous_turn_assigned():
    def in_the_body(v):
        inc = v.assign_add(1.0)

        def body(i, a):
            with after([inc]):
                total = a + v
                v.assign_add(1.0)
            return i + 1, total

        return mg.while_loop(lambda i, a: i < 3, body, (number(0), number(0.0)))[1]

    def in_the_test(v):
        inc = v.assign_add(1.0)

        def test(i):
            with after([inc]):
                return v < 5

        def body(i):
            v.assign_add(1.0)
            return (i + 1,)

        return mg.while_loop(test, body, (number(0),))[0]

    def in_a_branch_of_it(v):
        inc = v.assign_add(1.0)

        def body(i, a):
            def read():
                with after([inc]):
                    return v * 1

            total = a + branch(read, v)
            v.assign_add(1.0)
            return i + 1, total

        return mg.while_loop(lambda i, a: i < 3, body, (number(0), number(0.0)))[1]

    assert outcome(in_the_body) == (2 + 3 + 4, 5)
    assert outcome(in_the_test) == (3, 5)
    assert outcome(in_a_branch_of_it) == (2 + 3 + 4, 5)


def test_gradients_reach_a_variable_that_is_read_in_a_block():
    """Gradients were None inside the block."""

    def inside(v):
        with after([v.assign_add(1.0)]):
            return G.gradients(v * v, [v])[0]

    def in_a_branch(v):
        inc = v.assign_add(1.0)

        def body():
            with after([inc]):
                return G.gradients(v * v, [v])[0]

        return branch(body, v)

    def of_a_branch(v):
        inc = v.assign_add(1.0)

        def body():
            with after([inc]):
                return v * v

        return G.gradients(turns(lambda: branch(body, v), v), [v])[0]

    for build in (inside, in_a_branch, of_a_branch):
        assert outcome(build) == (4, 2), build


def test_an_effect_without_operands_waits_and_is_given_none():
    """The block was ignored, and a second py_func without operands was called with the result of the first."""

    def waiting(v):
        with after([v.assign_add(1.0)]):
            return mg.print("done")

    def called(v):
        with after([v.assign_add(1.0)]):
            return [G.py_func(lambda: np.float64(7), [], float), G.py_func(lambda: np.float64(8), [], float)]

    assert outcome(waiting) == (None, 2)
    assert outcome(called) == ([7, 8], 2)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_what_is_printed_before_a_loop_that_prints_is_printed(jit_compile, capsys):
    """The print depended on the counter of the loop, which nothing read, and was removed with it."""

    def body(i, a):
        mg.print("turn")
        return a * 2

    def row(carry, x):
        mg.print("row")
        return carry, None

    def f(x):
        mg.print("first")
        y = fori_loop(0, 2, body, x)
        mg.print("second")
        scan(row, (), mg.stack([y, y]))
        return y

    mg.function(f, jit_compile=jit_compile)(mg.tensor(1.0))
    assert capsys.readouterr().out.split() == ["first", "turn", "turn", "second", "row", "row"]


@pytest.mark.share(16)
@pytest.mark.parametrize("part", range(48))
def test_a_random_program_of_effects_is_what_runs_line_by_line(part):
    rng = Random(part)
    for _ in range(40):
        text = text_of(rng.getrandbits(48))
        difference = trouble(text)
        assert difference is None, f"{difference}\n{text}"
