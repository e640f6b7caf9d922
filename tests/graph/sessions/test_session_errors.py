"""What a session refuses, what it says, and how it finds where a run went wrong."""

from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import (
    AnomalyError,
    DTypeError,
    GraphError,
    NoGradientError,
    NoValueError,
    ShapeError,
    SingularError,
)
from minigrad.graph.compiler.blame import trap_nan
from minigrad.graph.compiler.executable import Executable
from minigrad.graph.pruning import prune_graph

G = mg.graph


@pytest.fixture
def graph():
    return mg.Graph()


def line_of(text):
    """The number of the line of this file that holds the text."""
    lines = Path(__file__).read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if text in line and "line_of" not in line)


# -- fetches and feeds ------------------------------------------------------------------------------------


def test_an_unfed_placeholder_is_named_with_its_spec_and_line(graph):
    with graph.as_default():
        x = mg.placeholder("f4", (None, 3), name="images")  # the line
        y = x.sum()

    with pytest.raises(GraphError) as error:
        mg.Session(graph).run(y)

    assert "the placeholder images, f32[batch, 3]" in str(error.value)
    assert f"{__file__}:{line_of('# the line')}" in str(error.value)


def test_a_feed_of_another_shape_or_dtype_is_refused(graph):
    with graph.as_default():
        x, n = mg.placeholder("f8", (None, 3), name="x"), mg.placeholder("i4", (2,), name="n")
        one = mg.placeholder("u1")

    for place, data, error, words in [
        (x, [1, 2, 3], ShapeError, r"x is f64\[batch, 3\], and was fed an array of shape \(3,\)"),
        (x, np.ones((2, 4)), ShapeError, r"fed an array of shape \(2, 4\)"),
        (n, [1.5, 2], DTypeError, r"n is i32\[2\], and was fed float64, which would lose digits"),
        (one, 300, DTypeError, "was fed 300, which uint8 does not hold"),
        (one, [1], ShapeError, "made without a shape is one number"),
        (x, "text", DTypeError, "a tensor holds"),
        (x, [[1, 2, 3], [1]], ShapeError, "rows of equal length"),
    ]:
        with pytest.raises(error, match=words):
            mg.Session(graph).run(place, {place: data})


def test_a_variable_without_a_value_is_named_with_the_way_out(graph):
    with graph.as_default():
        w = mg.Variable(np.zeros(3), name="layer/w")
        y, add = w * 2, w.assign_add(1.0)

    for fetch in (y, w, add):
        with pytest.raises(GraphError, match=r"the variable layer/w, f64\[3\], has no value in this session yet: run"):
            mg.Session(graph).run(fetch)
    assert mg.Session(graph).run(w.assign(1.0)).tolist() == [1, 1, 1], "what is only written needs none"


def test_tensors_of_another_graph_and_other_things_are_no_fetches(graph):
    with graph.as_default():
        x = mg.placeholder("f8", (), name="x")
    with mg.Graph().as_default():
        foreign = mg.placeholder("f8", (), name="foreign")
    session = mg.Session(graph)

    with pytest.raises(GraphError, match=r"foreign.* is of another graph"):
        session.run([x, foreign], {x: 1})
    with pytest.raises(GraphError, match=r"foreign.* is of another graph"):
        session.run(x, {foreign: 1})
    with pytest.raises(GraphError, match="nothing called 'y'"):
        session.run("y")
    for nothing in (None, 3, [mg.tensor(1.0)]):
        with pytest.raises(GraphError, match="runs tensors and ops of its graph"):
            session.run(nothing)


def test_a_closed_session_runs_no_more(graph):
    with graph.as_default():
        c, w = mg.constant(1.0), mg.Variable(1.0)
    with mg.Session(graph) as session:
        pass

    with pytest.raises(GraphError, match="session is closed"):
        session.run(c)
    with pytest.raises(GraphError, match="session is closed"):
        w.load(2.0, session)
    assert "closed" in repr(session)


def test_a_variable_needs_a_session_to_be_loaded(graph):
    with graph.as_default():
        w = mg.Variable(1.0)

    with pytest.raises(GraphError, match="no session is open"):
        w.load(2.0)


def test_what_a_python_function_promised_is_checked(graph):
    with graph.as_default():
        x = mg.placeholder("f8", (3,))
        short = G.py_func(lambda a: a[1:], [x])
        real = G.py_func(lambda a: a / 2, [x], "i8")
        few = G.py_func(lambda a: (a,), [x], ["f8", "f8"])
    session = mg.Session(graph)

    with pytest.raises(ShapeError, match=r"promised f64\[3\], and gave an array of shape \(2,\)"):
        session.run(short, {x: [1, 2, 3]})
    with pytest.raises(DTypeError, match=r"promised i64\[3\], and gave float64"):
        session.run(real, {x: [1, 2, 3]})
    with pytest.raises(ShapeError, match="promised 2 results"):
        session.run(few, {x: [1, 2, 3]})


# -- where it went wrong ------------------------------------------------------------------------------------


def test_an_error_in_a_run_names_the_line_that_built_the_node_and_what_it_met(graph):
    with graph.as_default():
        x = mg.placeholder("f8", (2, 2), name="x")
        with G.name_scope("solver"):
            y = mg.linalg.inv(x - 1)  # built here
        z = y.sum()

    with pytest.raises(SingularError) as error:
        mg.Session(graph).run(z, {x: [[1, 1], [1, 3]]})

    text = str(error.value)
    assert "solver/Inverse" in text
    assert f"{__file__}:{line_of('# built here')}" in text
    assert "solver/Sub: f64[2, 2] from 0 to 2 failed" in text


def test_an_error_in_a_python_function_is_a_graph_error_with_its_cause(graph):
    def divide(a):
        return 1 // int(a)

    with graph.as_default():
        x = mg.placeholder("i8", (), name="x")
        y = G.py_func(divide, [x], name="half")

    with pytest.raises(GraphError, match=r"py_func\(divide\)\), built at .*, of x: i64\[\] = 0 failed") as error:
        mg.Session(graph).run(y, {x: 0})
    assert isinstance(error.value.__cause__, ZeroDivisionError)


def test_finding_the_error_prints_nothing_again(graph, capsys):
    with graph.as_default():
        x = mg.placeholder("f8", (1, 1))
        y = mg.linalg.inv(mg.print(x, "once"))
    with pytest.raises(SingularError):
        mg.Session(graph).run(y, {x: [[0]]})

    assert capsys.readouterr().out == "[[0.]] once\n"


def test_the_trap_names_the_first_op_that_makes_no_number_of_numbers(graph):
    with graph.as_default():
        x = mg.placeholder("f8", (3,), name="x")
        y = (x - 1).log() * 0 + x
        safe = mg.where(x > 1, y, 0.0)
    bad, good, nan = {x: [3.0, 2.0, 0.5]}, {x: [3.0, 2.0, 1.5]}, {x: [3.0, 2.0, np.nan]}
    trapping = mg.Session(graph, trap_nan=True)

    words = r"^Log, built at .*, of Sub: f64\[3\] from -0.5 to 2 made .* 1 NaN of finite"
    with pytest.raises(AnomalyError, match=words):
        trapping.run(safe, bad)
    assert trapping.run(safe, good).tolist() == [3, 2, 1.5]
    assert np.isnan(trapping.run(y, nan)[2]), "a NaN that was fed is the user's own"


def test_the_trap_is_a_block_too_and_ends_with_it(graph):
    with graph.as_default():
        x = mg.placeholder("f8", ())
        y = 1 / x
    session = mg.Session(graph)

    with G.trap_nan(), pytest.raises(AnomalyError, match=r"Div.* made 1 infinite of finite"):
        session.run(y, {x: 0.0})
    with np.errstate(divide="ignore"):
        assert session.run(y, {x: 0.0}) == np.inf


def test_trapped_runs_give_what_compiled_runs_give(graph):
    rng = np.random.default_rng(0)
    with graph.as_default():
        x = mg.placeholder("f8", (None, 4))
        w = mg.Variable(rng.normal(size=(4, 3)))
        loss = (x @ w).softmax(axis=1)[:, 0].log().mean()
        fetches = [loss, *mg.gradients(loss, [w]), w.assign_sub(0.1)]
    data = {x: rng.normal(size=(5, 4))}
    results = []
    for trap in (False, True):
        session = mg.Session(graph, trap_nan=trap)
        session.run(w.initializer)
        results.append(session.run(fetches, data))

    for plain, trapped in zip(*results):
        np.testing.assert_allclose(plain, trapped, rtol=1e-14)  # a product may be summed in another order


def test_an_error_that_does_not_come_again_is_left_as_it_is(graph):
    with graph.as_default():
        x = mg.placeholder("f8", ())
        y = x + 1
    part = prune_graph(graph, [y.node], [x.node])

    def broken(*arrays):
        raise ValueError("of its own")

    with pytest.raises(ValueError, match=r"^of its own$"):
        Executable(part.graph, broken)(np.array(1.0))
    with trap_nan():
        assert Executable(part.graph, broken)(np.array(1.0))[0] == 2


# -- the way out ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [float, bool, np.asarray, lambda y: y.numpy()])
def test_a_symbol_says_that_a_session_gives_its_value(graph, asked):
    with graph.as_default():
        y = mg.placeholder("f8", ()) * 2

    with pytest.raises(NoValueError, match=r"has no value.*session\.run\(y, \{x: value\}\).*take mg\.cond"):
        asked(y)


def test_a_branch_inside_a_loop_says_the_same(graph):
    with graph.as_default(), pytest.raises(NoValueError, match=r"session\.run.*take mg\.cond"):
        mg.while_loop(lambda x: x < 3, lambda x: (x + 1 if x > 0 else x,), (mg.placeholder("f8", ()),))


def test_backward_in_a_graph_without_leaves_names_gradients(graph):
    with graph.as_default():
        x, w = mg.placeholder("float64", name="x"), mg.Variable(0.0, name="w")
        loss = w * x

    with pytest.raises(NoGradientError, match=r"mg\.gradients"):
        loss.backward()
    assert not any("gradients" in op.name for op in graph.get_operations())


def test_a_fetch_of_another_graph_is_told_where_to_be_built(graph):
    init = G.global_variables_initializer()  # the stray line

    with pytest.raises(GraphError, match=r"build it inside `with graph\.as_default\(\):`") as error:
        mg.Session(graph).run(init)

    assert f"{__file__}:{line_of('# the stray line')}" in str(error.value)


def test_feeds_that_are_no_mapping_are_told_how_to_be_one(graph):
    with graph.as_default():
        x = mg.placeholder("f8", (), name="x")
    session = mg.Session(graph)

    for call in (lambda: session.run(x, x=1.0), lambda: session.run(x, [x, 1.0])):
        with pytest.raises(GraphError, match=r"feed as \{x: value\}"):
            call()


def test_a_python_function_that_breaks_its_promise_is_named_by_the_users_line(graph):
    with graph.as_default():
        x = mg.placeholder("f8", (None,))
        y = G.py_func(lambda a: a[None], [x])  # the promise
        total = (y + 1).sum()

    with pytest.raises(ShapeError, match="promised") as error:
        mg.Session(graph).run(total, {x: [1.0, 2.0]})

    assert f"{__file__}:{line_of('# the promise')}" in str(error.value)


def test_where_a_program_stops_at_another_op_the_error_is_that_of_the_op_it_names():
    """A program has lines in an order of its own: it divided by 1 − p, for the gradient, before it took the logarithm.

    The logarithm was named, and a division was said to have failed in it.
    """
    with mg.Graph().as_default():
        p = mg.placeholder("float64", (2,), name="p")
        graph = prune_graph(p.builder, (mg.log(1 - p).node,), (p.node,)).graph

    def backwards(p):
        raise FloatingPointError("divide by zero encountered in divide")

    message = r"^Log, built .* failed: divide by zero encountered in log$"
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match=message):
        Executable(graph, backwards)(np.array([0.5, 1.0]))
