"""Variable outside of graphs, TensorFlow 2's: it has a value, tapes watch it, traced functions read and assign it."""

import copy
import pickle

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import DTypeError, GraphError, ShapeError


def variable(value=(1.0, 2.0), **options):
    return mg.Variable(list(value), name="w", **options)


def test_a_variable_outside_of_graphs_has_a_value_a_name_and_a_place_among_variables():
    w = variable()

    assert isinstance(w, mg.Variable)
    assert isinstance(w, mg.Tensor)
    assert (w.name, w.shape, w.dtype, w.trainable) == ("w", (2,), mg.float64, True)
    np.testing.assert_array_equal(w.numpy(), [1, 2])
    assert repr(w) == "<Variable w: f64[2] = [1.0, 2.0]>"
    assert not mg.Variable(3).trainable, "no gradient moves an integer"
    assert mg.Variable(lambda: 3.0, dtype="f4").dtype == mg.float32
    for copied in (copy.deepcopy(w), pickle.loads(pickle.dumps(w))):
        assert isinstance(copied, mg.Variable)
        np.testing.assert_array_equal(copied, w)


def test_what_it_is_made_of_stays_as_it_is():
    start = np.zeros(2)
    mg.Variable(start).assign_add([1.0, 1.0])

    assert start.tolist() == [0, 0]


def test_assignments_happen_at_once_and_give_the_variable():
    w = variable()
    before = w.read_value()

    assert w.assign_add([1.0, 1.0]).assign_sub(0.5).assign(w * 2) is w
    np.testing.assert_array_equal(w, [3, 5])
    np.testing.assert_array_equal(before, [1, 2])
    with pytest.raises(ShapeError, match=r"w is f64\[2\], and is assigned values of that shape, not f64\[3\]"):
        w.assign([1.0, 2.0, 3.0])
    with pytest.raises(DTypeError, match="does not fit"):
        mg.Variable(1).assign_add(0.5)


def test_a_tape_watches_it_where_it_is_trainable():
    """It was made in a graph that nobody had opened: 'Tracer' object has no attribute 'arriving'."""
    w, still = variable(), variable(trainable=False)
    with mg.GradientTape() as tape:
        y = (w * w * still).sum()

    gw, none = tape.gradient(y, [w, still])
    np.testing.assert_array_equal(gw, [2, 8])
    assert none is None


def test_a_traced_function_reads_and_assigns_it_at_each_run():
    count, w = mg.Variable(0), variable()

    @mg.function
    def step(x):
        count.assign_add(1)
        with mg.GradientTape() as tape:
            loss = ((w * x) ** 2).sum()
        w.assign_sub(0.25 * tape.gradient(loss, w))
        return loss

    losses = [step(mg.ones(2)).item() for _ in range(3)]
    w.assign([4.0, 0.0])
    losses.append(step(mg.ones(2)).item())

    assert losses == [5, 1.25, 0.3125, 16]
    np.testing.assert_array_equal(w, [2, 0])
    assert (count.item(), step.trace_count) == (4, 1)


@pytest.mark.parametrize("made", [lambda f: f, mg.function, lambda f: mg.function(f, jit_compile=True)])
def test_an_optimiser_moves_it_as_it_moves_a_tensor(made):
    w, p = variable(), mg.tensor([1.0, 2.0], requires_grad=True)
    moves_w, moves_p = mg.optim.Adam([w], lr=0.1), mg.optim.Adam([p], lr=0.1)

    @made
    def step():
        with mg.GradientTape() as tape:
            loss = (w**3).sum()
        moves_w.apply_gradients(zip([tape.gradient(loss, w)], [w]))

    for _ in range(3):
        step()
        moves_p.zero_grad()
        (p**3).sum().backward()
        moves_p.step()
    np.testing.assert_array_equal(w, p)


def test_a_variable_is_not_made_anew_at_each_call():
    with pytest.raises(GraphError, match="create it once, outside, and use it in the function"):
        mg.function(lambda: mg.Variable(1.0) * 2)()


def test_a_session_says_how_a_variable_comes_into_its_graph():
    with pytest.raises(GraphError, match=r"with graph.as_default\(\)"):
        mg.Session().run(variable())


def test_whether_ops_are_run():
    assert mg.executing_eagerly()
    assert not mg.function(mg.executing_eagerly)()
    with mg.Graph().as_default():
        assert not mg.executing_eagerly()


def test_a_tape_in_a_graph_watches_variables_too_and_may_be_asked_when_its_block_is_closed():
    with mg.Graph().as_default() as graph:
        w, still = mg.Variable(3.0), mg.Variable(2.0, trainable=False)
        with mg.GradientTape() as inside:
            y = w * w * still
        first = inside.gradient(y, [w, still])
    with mg.GradientTape(persistent=True) as outside:
        z = y * w

    assert outside.gradient(z, [still, mg.tensor(1.0, requires_grad=True)]) == [None, None]
    found = [first[0], outside.gradient(z, w), *mg.grad(z, w)]
    assert first[1] is None
    with mg.Session(graph) as session:
        session.run(graph.get_collection("variables")[0].initializer)
        session.run(still.initializer)
        assert session.run(found) == [12, 54, 54]
        assert graph.get_collection("trainable_variables") == [w]
