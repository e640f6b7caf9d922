"""A graph that is written down before it runs: what it is made of, and what it refuses."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import ops
from minigrad.engine.base.errors import DTypeError, GraphError, NoGradientError, ShapeError
from tests.support.all_close import assert_all_equal

G = mg.graph


@pytest.fixture
def graph():
    with mg.Graph().as_default() as g:
        yield g


def run(fetches, feed_dict=None, graph=None):
    builder = G.get_default_graph() if graph is None else graph
    with mg.Session(builder) as session:
        session.run([v.initializer for v in builder.get_collection(G.GLOBAL_VARIABLES)])
        return session.run(fetches, feed_dict)


# -- what it is made of ---------------------------------------------------------------------------------


def test_nodes_have_unique_names_in_nested_scopes(graph):
    x = mg.placeholder("f8", (None, 3), name="x")
    with G.name_scope("layer"):
        w = mg.Variable(np.ones((3, 2)), name="w")
        y = x @ w
        with G.name_scope("act"):
            z = y.tanh()
    with G.name_scope("layer"):
        again = x @ w
    with G.name_scope("layer/"):
        inside = y + 1
    with G.name_scope("other"), G.name_scope(None):
        outside = y.exp()

    assert (w.name, y.name, z.name) == ("layer/w", "layer/MatMul", "layer/act/Tanh")
    assert (again.name, inside.name, outside.name) == ("layer_1/MatMul", "layer/Add", "Exp")
    assert len({op.name for op in graph.get_operations()}) == len(graph.get_operations())


def test_a_name_that_is_taken_gets_a_number_that_is_free(graph):
    names = [G.identity(1.0, name=name).name for name in ("a", "a_1", "a", "a", "A")]

    assert names == ["a", "a_1", "a_2", "a_3", "A"]


def test_a_tensor_is_found_by_its_name(graph):
    y = G.identity(mg.placeholder("f8", (), name="x") * 2, name="twice")

    assert graph.get_tensor_by_name("twice:0") is graph.get_tensor_by_name("twice")
    assert graph.get_tensor_by_name("twice").node is y.node
    with pytest.raises(GraphError, match=r"nothing called 'twise'; it has x, "):
        graph.get_tensor_by_name("twise")
    with pytest.raises(GraphError, match="did you mean twice"):
        graph.get_tensor_by_name("Twice:0")


def test_a_name_is_of_letters(graph):
    with pytest.raises(GraphError, match="'a b' is no valid name"):
        mg.placeholder("f8", (), name="a b")


def test_shapes_are_known_before_anything_runs_but_for_the_batch(graph):
    x = mg.placeholder("f4", (None, 3))
    h = (x @ np.ones((3, 5), "f4")).relu()
    y = h.mean(axis=1)

    assert str(h.spec) == "f32[batch, 5]"
    assert str(y.spec) == "f32[batch]"
    assert [run(y, {x: np.ones((n, 3))}).shape for n in (1, 4)] == [(1,), (4,)]


def test_two_lengths_of_one_name_are_equal_in_a_run(graph):
    x, y = mg.placeholder("f8", (None,)), mg.placeholder("f8", (None,))
    a, b = mg.placeholder("f8", ("rows",)), mg.placeholder("f8", ("columns",))

    assert run(a.reshape(-1, 1) * b, {a: [1, 2], b: [1, 2, 3]}).shape == (2, 3)
    with pytest.raises(ShapeError, match="the length batch is 2 in another input"):
        run(x.sum() + y.sum(), {x: [1, 2], y: [1, 2, 3]})


def test_wrong_shapes_are_refused_while_building(graph):
    x = mg.placeholder("f8", (None, 3))

    with pytest.raises(ShapeError, match="matmul needs"):
        x @ np.ones((4, 2))
    with pytest.raises(ShapeError, match=r"write \(3,\)"):
        mg.placeholder("f8", 3)


def test_default_graphs_nest_and_outside_there_is_one_for_the_thread():
    outside = G.get_default_graph()
    a, b = mg.Graph(), mg.Graph()
    with a.as_default():
        assert G.get_default_graph() is a
        with b.as_default():
            assert G.get_default_graph() is b
        assert G.get_default_graph() is a
    assert G.get_default_graph() is outside

    x = mg.placeholder("f8", (2,))
    assert x.graph is outside
    assert mg.Session().run(x * 2 + 1, {x: [1, 2]}).tolist() == [3, 5]
    G.reset_default_graph()
    assert G.get_default_graph() is not outside


def test_what_is_done_with_a_tensor_of_a_graph_outside_the_block_is_part_of_its_graph():
    g = mg.Graph()
    with g.as_default():
        x = mg.placeholder("f8", (3,))
    y = 2 - (x * mg.tensor([1.0, 2.0, 3.0])).exp()

    assert y.graph is g
    assert mg.Session(g).run(y, {x: [0, 0, 0]}).tolist() == [1, 1, 1]


def test_tensors_of_two_graphs_do_not_meet(graph):
    x = mg.placeholder("f8", ())
    with mg.Graph().as_default():
        y = mg.placeholder("f8", ())

        with pytest.raises(GraphError, match="belongs to another graph"):
            x + y


def test_a_finalized_graph_takes_no_new_nodes_and_runs(graph):
    x = mg.placeholder("f8", ())
    y = x * 2
    graph.finalize()

    with pytest.raises(GraphError, match="finalized, and Exp would be a new node"):
        y.exp()
    assert run(y, {x: 3}) == 6


def test_a_constant_is_a_copy(graph):
    a = np.array([1.0, 2.0])
    c, d = mg.constant(a), mg.placeholder("f8", (2,)) * a
    a[:] = 0

    assert run(c).tolist() == [1, 2]
    assert run(d, {d.node.inputs[0].name: [1, 1]}).tolist() == [1, 2]
    assert run(mg.constant(3, shape=(2, 2))).tolist() == [[3, 3], [3, 3]]
    assert run(mg.constant(True, name="t")) is np.True_
    assert run(mg.constant(2.5, dtype="f4")).dtype == np.float32


def test_a_placeholder_with_a_default_need_not_be_fed(graph):
    rate = G.placeholder_with_default(0.5, name="rate")
    y = rate * 4

    assert run(y) == 2
    assert run(y, {rate: 1}) == 4


def test_the_text_of_a_graph_has_a_line_for_each_node(graph):
    x = mg.placeholder("f8", (None,), name="x")
    (x * x).sum()

    assert graph.as_text().splitlines() == [
        "x = Input(name='x')()  # f64[batch]",
        "Mul = Mul(x, x)  # f64[batch]",
        "Sum = Sum(axes=(0,), keepdims=False)(Mul)  # f64[]",
    ]


def test_collections_keep_what_was_put_there(graph):
    w = mg.Variable(1.0)
    frozen = mg.Variable(2.0, trainable=False)
    G.add_to_collection("losses", w * 2)

    assert [v is u for v, u in zip(G.global_variables(), [w, frozen])] == [True, True]
    assert [v.name for v in G.trainable_variables()] == [w.name]
    assert [x.name for x in G.get_collection("losses")] == ["Mul"]


# -- gradients --------------------------------------------------------------------------------------------


def test_gradients_of_several_ys_add_up_weighted_by_grad_ys(graph):
    x = mg.placeholder("f8", (3,))
    a, b = x**2, x.sin()
    at = np.array([0.1, 0.2, 0.3])
    weights = np.array([1.0, 2.0, 3.0])

    (plain,) = mg.gradients([a, b], [x])
    (weighted,) = mg.gradients([a, b], x, grad_ys=[weights, None])

    np.testing.assert_allclose(run(plain, {x: at}), 2 * at + np.cos(at))
    np.testing.assert_allclose(run(weighted, {x: at}), 2 * at * weights + np.cos(at))


def test_gradients_by_intermediates_and_none_where_unconnected(graph):
    x, other = mg.placeholder("f8", ()), mg.placeholder("f8", ())
    h = x * 3

    gh, gx, nothing = mg.gradients(h * h + x, [h, x, other])

    assert nothing is None
    assert run([gh, gx], {x: 2.0}) == [12, 37]


def test_gradients_are_differentiated_again(graph):
    x = mg.placeholder("f8", ())
    derivatives = [x**4]
    for _ in range(4):
        (d,) = mg.gradients(derivatives[-1], [x])
        derivatives.append(d)

    assert run(derivatives, {x: 2.0}) == [16, 32, 48, 48, 24]


def test_stop_gradients_makes_partial_derivatives(graph):
    a = mg.placeholder("f8", ())
    b = 2 * a

    total = mg.gradients(a + b, [a, b])
    partial = mg.gradients(a + b, [a, b], stop_gradients=[a, b])

    assert run(total, {a: 1.0}) == [3, 1]
    assert run(partial, {a: 1.0}) == [1, 1]
    assert run(mg.gradients(a + b, a, stop_gradients=b), {a: 1.0}) == [1]


def test_stop_gradient_passes_the_value_alone(graph):
    x = mg.placeholder("f8", ())
    y = x * G.stop_gradient(x, name="still")

    assert run([y, *mg.gradients(y, [x])], {x: 3.0}) == [9, 3]


def test_the_gradient_of_a_variable_counts_every_read_of_it(graph):
    w = mg.Variable(2.0)
    with G.control_dependencies([w.assign(3.0)]):
        later = w * 5

    (g,) = mg.gradients(w * later, [w])

    assert run(g) == 3 * 5 + 2 * 5


def test_no_gradient_passes_an_assignment_or_starts_from_integers(graph):
    w, x = mg.Variable(2.0), mg.placeholder("f8", ())

    assert mg.gradients(w.assign(x * 2), [x]) == [None]
    with pytest.raises(NoGradientError, match="start from floating numbers"):
        mg.gradients(mg.constant(1), [x])
    with pytest.raises(ShapeError, match="grad_ys needs the shape"):
        mg.gradients(x, [x], grad_ys=[np.ones(3)])


def test_gradient_names_are_in_a_scope_of_their_own(graph):
    x = mg.placeholder("f8", (), name="x")
    first, second = mg.gradients(x * x, [x]) + mg.gradients(x * x * x, [x])

    assert first.name.startswith("gradients/")
    assert second.name.startswith("gradients_1/")


# -- order ------------------------------------------------------------------------------------------------


def test_a_variable_is_read_once_at_the_start_unless_a_block_waits(graph):
    w = mg.Variable(1.0, name="w")
    add = w.assign_add(10.0)
    before = w * 1
    with G.control_dependencies([add]):
        after, also, same = w * 1, w.read_value(), G.identity(before)

    assert run([add, before, after, also, same]) == [11, 1, 11, 11, 1]
    assert run(before) == 1
    assert run(same) == 1


def test_what_is_made_in_a_block_runs_what_the_block_waits_for(graph):
    w = mg.Variable(0.0)
    x = mg.placeholder("f8", ())
    with G.control_dependencies([w.assign_add(1.0)]):
        y, z, none, c = x * 2, G.identity(x), G.no_op(), mg.constant(7.0)
        with G.control_dependencies(None):
            free = x + 1
        with G.control_dependencies([w.assign_add(100.0)]):
            both = x + 2
    outside = y + 1

    with mg.Session(graph) as session:
        session.run(w.initializer)
        seen = []
        for fetch in (y, z, none, c, free, both, outside):
            session.run(fetch, {x: 1.0})
            seen.append(session.run(w))
        assert np.diff([0, *seen]).tolist() == [1, 1, 1, 1, 0, 101, 1]


def test_a_block_waits_for_what_the_blocks_around_it_wait_for(graph):
    w = mg.Variable(0.0)
    x = mg.placeholder("f8", ())
    outer, inner = w.assign_add(1.0), w.assign_add(100.0)
    with G.control_dependencies([outer]), G.control_dependencies([inner]):
        y = (x * 2 + 1).exp()

    afters = [op.name for op in graph.get_operations() if isinstance(op.op, ops.ControlDep)]
    assert len(afters) == 1, "the first op waits, and the others for it"
    with mg.Session(graph) as session:
        session.run(w.initializer)
        session.run(y, {x: 1.0})
        assert session.run(w) == 101


def test_a_captured_tensor_is_read_after_its_update_in_a_block_that_waits_for_it():
    total = mg.tensor(0.0)
    with mg.Graph().as_default() as graph:
        double = total * 2
        with G.control_dependencies([graph.add_assignment(total, double + 1)]):
            after = total * 10
    assert mg.Session(graph).run([double, after]) == [0, 10]
    assert total.value == 1


def test_two_additions_in_one_run_both_count(graph):
    w = mg.Variable(1.0)
    a, b, c = w.assign_add(1.0), w.assign_add(10.0), w.assign_sub(0.5)

    assert run([c, b, a]) == [11.5, 12, 2], "in the order in which they were built"


def test_group_gives_nothing_and_runs_all(graph):
    v, w = mg.Variable(0.0), mg.Variable(0.0)
    both = G.group(v.assign(1.0), w.assign(2.0), name="both")
    with mg.Session(graph) as session:
        session.run(G.global_variables_initializer())

        assert both.name == "both"
        assert session.run(both) is None
        assert session.run([v, w]) == [1, 2]


def test_tuple_gives_each_once_all_are_computed(graph):
    w = mg.Variable(0.0)
    x = mg.placeholder("f8", ())
    first, nothing = G.tuple_([x * 2, None], control_inputs=[w.assign(5.0)])
    with mg.Session(graph) as session:
        session.run(w.initializer)

        assert nothing is None
        assert session.run(first, {x: 1}) == 2
        assert session.run(w) == 5


def test_add_n_is_the_sum(graph):
    x = mg.placeholder("f8", (2,))
    assert run([G.add_n([x, x, [1.0, 2.0]]), G.add_n([x], name="one")], {x: [1, 1]})[0].tolist() == [3, 4]


# -- variables ----------------------------------------------------------------------------------------------


def test_a_variable_begins_as_a_copy_of_its_initial_value_in_its_dtype(graph):
    a = np.array([1.0, 2.0])
    v, w, f = mg.Variable(a), mg.Variable([1, 2], dtype="f4"), mg.Variable(lambda: np.full(3, 7.0), name="f")
    a[:] = 0

    first, second, third = run([v, w, f])

    assert first.tolist() == [1, 2]
    assert second.dtype == np.float32
    assert third.tolist() == [7, 7, 7]
    assert f.initializer.name == "f/Assign"


def test_an_assignment_must_fit(graph):
    w = mg.Variable(np.zeros(3), name="w")
    n = mg.Variable(0, name="n")

    with pytest.raises(ShapeError, match=r"w is f64\[3\], and is assigned values of that shape, not f64\[2\]"):
        w.assign([1.0, 2.0])
    with pytest.raises(DTypeError, match=r"n is i64\[\], and f64\[\] does not fit"):
        n.assign(1.5)
    assert run(w.assign(2.0)).tolist() == [2, 2, 2]


def test_every_method_of_a_tensor_works_on_a_variable_and_on_a_placeholder():
    def results(w, x):
        return [
            *(w[0, 1:], w.T, mg.exp(w), mg.cat([w, x]), 2**w),
            *(w.softmax(axis=1), mg.where(w > 2, w, x), a * w, w @ x.T),
        ]

    a, at = np.ones((2, 3)), np.arange(6.0).reshape(2, 3)
    with mg.Graph().as_default() as graph:
        x = mg.placeholder("f8", (2, 3))
        ys = results(mg.Variable(at), x)

    assert_all_equal(run(ys, {x: a}, graph), results(mg.tensor(at), mg.tensor(a)))


def test_a_tensor_with_a_value_takes_part_by_reference():
    p = mg.tensor([1.0, 2.0])
    with mg.Graph().as_default() as graph:
        x = mg.placeholder("f8", (2,))
        y = x * p
    with mg.Session(graph) as session:
        before = session.run(y, {x: [1, 1]})
        p.fill_(5.0)
        after = session.run(y, {x: [1, 1]})

    assert (before.tolist(), after.tolist()) == ([1, 2], [5, 5])


def test_an_edit_in_place_is_an_update_to_be_run(graph):
    total = mg.tensor([0.0, 0.0])
    x = mg.placeholder("f8", (2,))
    total.add_(x)
    seen = total * 1
    (update,) = G.get_collection(G.UPDATE_OPS)
    with mg.Session(graph) as session:
        assert session.run(seen, {x: [1, 2]}).tolist() == [1, 2]
        assert session.run(update, {x: [1, 2]}).tolist() == [1, 2]

    assert total.value.tolist() == [1, 2], "once: only the update was run"


def test_ops_know_their_line(graph):
    x = mg.placeholder("f8", ())

    assert x.node.place.file == __file__
    assert isinstance(x.op, ops.Input)


def test_the_text_of_a_graph_names_lengths_that_are_not_known_yet(graph):
    x = mg.placeholder("f8", (None, 3), name="x")
    x.sum(1).unsqueeze(1).broadcast_to(x.shape)
    x.reshape(-1)

    text = graph.as_text()

    assert "BroadcastTo(shape=(batch, 3))" in text
    assert "Reshape(shape=(batch·3,))" in text


def test_stop_gradient_and_select_are_also_of_lax():
    x = mg.tensor([1.0, -2.0], requires_grad=True)
    y = mg.lax.stop_gradient({"a": (x * x,)})["a"][0] * x + mg.lax.select(x > 0, 3 * x, x)
    y.sum().backward()

    assert x.grad.tolist() == [1.0 + 3.0, 4.0 + 1.0]
    assert mg.function(lambda x: mg.lax.stop_gradient(x) * x)(mg.tensor(3.0)).item() == 9.0


def test_python_rounds_tensors():
    assert round(mg.tensor([1.6, 2.5])).tolist() == [2.0, 2.0]
    assert round(mg.tensor(1.256), 2).item() == 1.26
    with mg.Graph().as_default():
        assert run(round(G.constant(1.6))) == 2.0
