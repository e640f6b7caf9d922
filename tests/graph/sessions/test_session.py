"""What a session runs, and what it remembers."""

import time
from collections import namedtuple

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import GraphError
from minigrad.engine.base.spec import Spec
from minigrad.graph.backends.cuda.replay import Replay
from tests.support.other_processes import run_in_threads
from tests.support.python_calls import count_calls

G = mg.graph


@pytest.fixture
def graph():
    return mg.Graph()


def open_session(graph):
    """A session in which the variables of its graph have their initial values."""
    with graph.as_default():
        begin = G.global_variables_initializer()
    session = mg.Session(graph)
    session.run(begin)
    return session


class Calls(list):
    """A function that counts its calls."""

    def __call__(self, x):
        self.append(x.copy())
        return x


# -- fetches and feeds ------------------------------------------------------------------------------------


def test_fetches_come_back_in_their_structure(graph):
    Pair = namedtuple("Pair", "left right")
    with graph.as_default():
        x = mg.placeholder("f8", (2,), name="x")
        w = mg.Variable(3.0, name="w")
        y = G.identity(x * w, name="y")
    with open_session(graph) as session:
        got = session.run({"a": [y, (w, "y:0")], "b": Pair("w", [x.sum()]), "c": w.assign(4.0), "d": []}, {x: [1, 2]})

    assert got["a"][0].tolist() == [3, 6]
    assert (got["a"][1][0], got["a"][1][1].tolist()) == (3, [3, 6])
    assert got["b"] == Pair(3, [3])
    assert (got["c"], got["d"]) == (4, [])


def test_results_are_numpy_arrays_and_numbers(graph):
    with graph.as_default():
        x = mg.placeholder("f4", (2,))
        total, kind, count = x.sum(), x > 1, mg.constant(3)
    with mg.Session(graph) as session:
        results = session.run([x, total, kind, count], {x: [1, 2]})

    assert [type(y) for y in results] == [np.ndarray, np.float32, np.ndarray, np.int64]
    assert [y.dtype for y in results] == [np.float32, np.float32, bool, np.int64]


def test_no_two_results_of_a_run_share_memory(graph):
    with graph.as_default():
        x = mg.placeholder("f8", (2, 2))
        y = x * 2
    with mg.Session(graph) as session:
        results = session.run([y, y, y.reshape(4), y.mT], {x: np.ones((2, 2))})
        for i, a in enumerate(results):
            assert not any(np.shares_memory(a, b) for b in results[:i])


def test_a_result_that_is_edited_leaves_the_variables_that_hold_it(graph):
    """Both variables are assigned one view, which is fetched too: once all three were the same memory."""
    with graph.as_default():
        x = mg.placeholder("f8", (2, 2))
        v, w = mg.Variable([0.0] * 4), mg.Variable([0.0] * 4)
        y = x.exp().reshape(4)
        moves = [v.assign(y), w.assign(y)]
    with mg.Session(graph) as session:
        *_, result = session.run([*moves, y], {x: [[0, 0], [0, 0]]})
        result[:] = 7

        assert [session.run(each).tolist() for each in (v, w)] == [[1.0] * 4] * 2


def test_feeds_may_be_numbers_lists_arrays_and_tensors(graph):
    with graph.as_default():
        x, n = mg.placeholder("f4", (2,)), mg.placeholder("i8")
        y = x * n
    with mg.Session(graph) as session:
        for data in ([1, 2], (1.0, 2.0), np.array([1, 2]), np.array([1.0, 2.0]), mg.tensor([1.0, 2.0])):
            assert session.run(y, {x: data, n: True}).tolist() == [1, 2]
            assert session.run(y, {x.name: data, f"{n.name}:0": np.int32(3)}).tolist() == [3, 6]


def test_only_what_is_needed_runs_each_node_once(graph):
    called, idle = Calls(), Calls()
    with graph.as_default():
        x = mg.placeholder("f8", (), name="x")
        a = G.py_func(called, [x], name="a")
        b = G.identity(a + a * a, name="b")
        G.py_func(idle, [x])
    with mg.Session(graph) as session:
        assert session.run([b, b, a], {x: 3.0}) == [12, 12, 3]

        assert len(called) == 1
        assert not idle
        assert session.last_run.executed == ("PyFunc", "a", "Mul", "Add", "b")


def test_what_is_fed_is_not_computed(graph):
    called = Calls()
    with graph.as_default():
        h = G.py_func(called, [mg.placeholder("f8", ())]) * 2
        y = h + 1
    with mg.Session(graph) as session:
        assert session.run(y, {h: 10.0}) == 11

    assert not called


def test_a_variable_may_be_fed_and_keeps_its_value(graph):
    with graph.as_default():
        w = mg.Variable(1.0)
        y = w * 10
    with mg.Session(graph) as session:
        assert session.run(y, {w: 7.0}) == 70, "it needs no value of its own"
        session.run(w.initializer)
        assert session.run(y, {w: 7.0}) == 70
        assert session.run(y) == 10


def test_what_nothing_needs_may_be_fed(graph):
    with graph.as_default():
        x, y = mg.placeholder("f8", ()), mg.placeholder("f8", ())
        z = x * 2
    with mg.Session(graph) as session:
        assert session.run(z, {x: 1, y: 2}) == 2


# -- state ------------------------------------------------------------------------------------------------


def test_two_sessions_have_values_of_their_own(graph):
    with graph.as_default():
        w = mg.Variable(0.0)
        add = w.assign_add(1.0)
    with open_session(graph) as a, open_session(graph) as b:
        a.run(add)
        a.run(add)
        b.run(add)

        assert (a.run(w), b.run(w)) == (2, 1)


def test_a_run_that_fails_changes_no_variable(graph):
    def refuse(x):
        raise RuntimeError("no")

    with graph.as_default():
        v, w = mg.Variable(np.zeros(3)), mg.Variable(np.zeros(3))
        first = v.assign_add(1.0)
        with G.control_dependencies([first]):
            second = w.assign(G.py_func(refuse, [w]))
    with open_session(graph) as session:
        with pytest.raises(RuntimeError):
            session.run([first, second])

        assert session.run([v, w])[0].tolist() == [0, 0, 0]


def test_results_belong_to_the_caller_and_values_to_the_session(graph):
    with graph.as_default():
        x = mg.placeholder("f8", (3,))
        v, w = mg.Variable(np.zeros(3)), mg.Variable(np.zeros(3))
        take, swap, half = v.assign(x), w.assign(v), v[1:]
    fed = np.ones(3)
    with open_session(graph) as session:
        for fetch in (take, v, half, swap, w):
            session.run(fetch, {x: fed})[...] = 100
        fed[...] = 200

        assert [y.tolist() for y in session.run([v, w])] == [[1, 1, 1], [1, 1, 1]]


def test_what_was_fetched_is_not_written_over_by_a_later_run(graph):
    with graph.as_default():
        w = mg.Variable(np.zeros(4000))
        add = w.assign_add(1.0)
    with open_session(graph) as session:
        results = [session.run(add) for _ in range(5)]
        assert [y[0] for y in results] == [1, 2, 3, 4, 5]

        results[-1][...] = 100
        assert session.run(w)[0] == 5


def test_threads_that_add_all_count(graph):
    with graph.as_default():
        w = mg.Variable(np.zeros(10))
        add = w.assign_add(G.py_func(lambda: time.sleep(0.001) or 1.0, []))
    with open_session(graph) as session:
        run_in_threads(lambda _: [session.run(add) for _ in range(10)], range(4))

        assert session.run(w).tolist() == [40.0] * 10


def test_random_initial_values_are_drawn_when_the_initializer_runs(graph):
    with graph.as_default():
        key = mg.placeholder("u4", (2,), name="key")
        w = mg.Variable(lambda: mg.random.normal(key, (3,)), name="w")
    with mg.Session(graph) as session:
        one, two, again = [session.run(w.initializer, {key: [0, i]}) for i in (1, 2, 1)]

    assert one.tolist() == again.tolist() != two.tolist()


def test_a_value_is_loaded_without_an_op(graph):
    with graph.as_default():
        w = mg.Variable(np.zeros(2))
    with mg.Session(graph) as session:
        w.load([1, 2], session)
        w.load([3, 4])

        assert session.run(w).tolist() == [3, 4]


def test_inside_its_block_a_session_is_the_default_and_its_graph_takes_placeholders(graph):
    with mg.Session(graph) as session:
        x = mg.placeholder("f8", ())

        assert G.get_default_session() is session
        assert x.graph is graph
        assert isinstance(mg.tensor(1.0) + 1, mg.Tensor), "tensors with values stay what they are"
    assert G.get_default_session() is None


def test_a_graph_grows_between_runs(graph):
    with mg.Session(graph) as session:
        x = mg.placeholder("f8", ())
        y = x * 2
        assert session.run(y, {x: 1}) == 2
        assert session.run(y + 1, {x: 1}) == 3


def test_a_session_runs_inside_the_block_that_builds(graph):
    seen = []
    with graph.as_default():
        x = mg.placeholder("f8", ())
        y = G.py_func(lambda a: seen.append(mg.tensor(a) * 2) or a, [x])
        assert mg.Session(graph).run(y, {x: 2}) == 2

    assert isinstance(seen[0], mg.Tensor), "while it runs, nothing is being built"


def test_a_long_chain_and_a_deep_diamond_run(graph):
    with graph.as_default():
        x = mg.placeholder("f8", ())
        y = x
        for _ in range(60):
            y = y * 0.5 + y * 0.5
        for _ in range(1000):
            y = y + 1
        (g,) = mg.gradients(y, [x])

    assert mg.Session(graph).run([y, g], {x: 1.0}) == [1001, 1]


def test_a_trivial_run_calls_few_functions(graph):
    """What a run costs beside its arithmetic, in a unit that no busy machine changes: ten calls are a microsecond."""
    with graph.as_default():
        w, x = mg.Variable(1.0), mg.placeholder("f8", ())
        y = w + x
    with open_session(graph) as session:
        session.run(y, {x: 2.0})

        assert count_calls(session.run, y, {x: 2.0}, of=("call", "c_call")) < 70  # 47 with Python 3.11


# -- effects ------------------------------------------------------------------------------------------------


def test_print_prints_when_the_graph_runs_and_gives_its_tensor_on(graph, capsys):
    with graph.as_default():
        x = mg.placeholder("f8", (2,))
        y = mg.print(x * 2, "is twice", x, sep=" | ")
        alone = mg.print("hello", end="!\n")
        (g,) = mg.gradients(y.sum(), [x])
    assert capsys.readouterr().out == ""

    with mg.Session(graph) as session:
        assert session.run(y + 1, {x: [1, 2]}).tolist() == [3, 5]
        assert session.run([alone, x], {x: [1, 2]})[0] is None
        assert session.run(g, {x: [1, 2]}).tolist() == [2, 2]

    assert capsys.readouterr().out == "[2. 4.] | is twice | [1. 2.]\nhello!\n"


def test_effects_happen_in_the_order_in_which_they_were_written(graph, capsys):
    with graph.as_default():
        x = mg.placeholder("f8", ())
        prints = [mg.print("a", x), mg.print("b", x), mg.print("c")]
        both = G.group(prints[2], prints[0])
    with mg.Session(graph) as session:
        session.run([prints[1], both], {x: 1})
        session.run(both, {x: 1})

    assert capsys.readouterr().out == "a 1.0\nb 1.0\nc\na 1.0\nc\n"


def test_print_prints_at_once_where_no_graph_is(capsys):
    x = mg.tensor([1.0, 2.0])

    assert mg.print("x is", x) is x
    assert mg.print("nothing") is None
    assert capsys.readouterr().out == "x is [1. 2.]\nnothing\n"


def test_a_probe_keeps_the_value_at_every_run_that_computes_it(graph):
    with graph.as_default():
        x = mg.placeholder("f8", (), name="x")
        h = G.identity(x * 10, name="h")
        y, other = h + 1, x - 1
    with mg.Session(graph) as session:
        session.run(y, {x: 0.0})
        probe = G.probe(h)
        named = G.probe(other, name="other")
        for value in (1.0, 2.0):
            session.run(y, {x: value})

        assert (probe.name, probe.values, probe.value) == ("h", [10, 20], 20)
        assert repr(probe) == "<Probe of h: 2 values, the last of shape ()>"
        assert (named.value, repr(named)) == (None, "<Probe of other: not computed yet>")
        probe.clear()
        assert not probe.values


def test_a_python_function_is_called_with_arrays_and_gives_what_it_promised(graph):
    with graph.as_default():
        x = mg.placeholder("f8", (None, 2))
        same = G.py_func(np.cumsum, [x.reshape(-1)])
        longest, where = G.py_func(lambda a: (a.max(0), a.argmax(0)), [x], [Spec((2,), "f8"), Spec((2,), "i8")])
        counted = G.py_func(lambda a: a.astype(int), [x], np.int64)
    with mg.Session(graph) as session:
        a, b, c, d = session.run([same, longest, where, counted], {x: [[1, 5], [3, 2]]})

    assert (a.tolist(), b.tolist(), c.tolist(), d.tolist()) == ([1, 6, 9, 11], [3, 5], [1, 0], [[1, 5], [3, 2]])


def test_a_python_function_stops_gradients(graph):
    with graph.as_default():
        x = mg.placeholder("f8", ())
        y = x * G.py_func(lambda a: a * a, [x])

        assert mg.gradients(G.py_func(np.sin, [x]), [x]) == [None]
        (g,) = mg.gradients(y, [x])
    assert mg.Session(graph).run(g, {x: 3.0}) == 9


# -- branches and loops ---------------------------------------------------------------------------------------


def test_a_branch_assigns_when_it_is_taken(graph):
    with graph.as_default():
        p, x = mg.placeholder("bool", name="p"), mg.placeholder("f8", name="x")
        v = mg.Variable(1.0)
        y = G.cond(p, lambda: v.assign(x), lambda: v.assign_add(100.0) * 2)
    with open_session(graph) as session:
        assert (session.run(y, {p: True, x: 5.0}), session.run(v)) == (5, 5)
        assert (session.run(y, {p: False, x: 5.0}), session.run(v)) == (210, 105)
        session.run(p, {p: True})
        assert session.run(v) == 105, "nothing asked for the branches"


CONTROL = {
    "cond": (lambda v: mg.cond(mg.constant(True), lambda: v.assign_add(1.0), lambda: v * 1), 1),
    "the other branch": (lambda v: mg.cond(mg.constant(False), lambda: v * 1, lambda: v.assign_add(1.0)), 1),
    "a branch that leaves it": (lambda v: mg.cond(mg.constant(False), lambda: v.assign_add(1.0), lambda: v * 1), 0),
    "cond in cond": (lambda v: mg.cond(mg.constant(True), lambda: CONTROL["cond"][0](v), lambda: v * 1), 1),
    "switch_case":
        (lambda v: G.switch_case(mg.constant(1), [lambda: v * 1, lambda: v.assign_add(2.0), lambda: v * 1]), 2),
    "while_loop":
        (lambda v: mg.while_loop(lambda i: i < 3, lambda i: (v.assign_add(1.0), i + 1)[1], [mg.constant(0)]), 3),
    "scan": (lambda v: mg.lax.scan(lambda c, x: (c + v.assign_add(1.0), None), mg.constant(0.0), length=3)[0], 3),
    "a traced function": (lambda v: mg.function(lambda: v.assign_add(1.0))(), 1),
}  # fmt: skip


@pytest.mark.parametrize(("f", "more"), CONTROL.values(), ids=CONTROL)
def test_an_assignment_in_control_flow_follows_those_built_before_it_in_the_run(f, more, graph):
    """They began with the variable at the start of the run, and so overwrote what the others had added."""
    with graph.as_default():
        v = mg.Variable(2.0)
        before, inside, after = v.assign_add(10.0), f(v), v.assign_add(100.0)
    with mg.Session(graph) as session:

        def left(*fetches):
            session.run(v.initializer)
            session.run(list(fetches))
            return session.run(v)

        assert left(inside) == 2 + more
        assert left(before, inside) == 12 + more
        assert left(inside, after) == 102 + more
        assert left(before, inside, after) == 112 + more


def test_a_branch_may_assign_in_the_run_that_gives_the_variable_its_first_value(graph):
    with graph.as_default():
        v = mg.Variable(2.0)
        y = mg.cond(mg.constant(True), lambda: v.assign_add(1.0), lambda: v * 1)
        with mg.control_dependencies([v.initializer]):
            read = v.read_value()
    with mg.Session(graph) as session:
        assert session.run([v.initializer, y]) == [2, 3]
    with mg.Session(graph) as session:
        assert session.run(read) == 2


def test_what_control_flow_only_reads_is_the_variable_at_the_start_of_the_run(graph):
    with graph.as_default():
        v, w, on = mg.Variable(2.0), mg.Variable(3.0), mg.Variable(True)
        before = [v.assign_add(10.0), w.assign_add(10.0), on.assign(False)]
        read = mg.cond(mg.constant(True), lambda: w.assign_add(v), lambda: v * 1)
        chosen = mg.cond(on, lambda: (on.assign(False), v * 1)[1], lambda: v * 0)
    with open_session(graph) as session:
        assert session.run([read, chosen, *before])[:2] == [15, 2]


def test_gradients_pass_through_a_branch_that_assigns_to_the_variable_it_reads(graph):
    with graph.as_default():
        v = mg.Variable(2.0)
        before = v.assign_add(1.0)
        y = mg.cond(mg.constant(True), lambda: v.assign(v * v), lambda: v * 1)
        (gv,) = G.gradients(y, [v])
    with open_session(graph) as session:
        assert session.run([before, y, gv]) == [3, 9, 6]


def test_a_loop_assigns_at_every_step_and_is_waited_for(graph):
    with graph.as_default():
        n, w = mg.placeholder("i8"), mg.Variable(10.0)

        def body(i):
            w.assign_add(2.0)
            return (i + 1,)

        (last,) = G.while_loop(lambda i: i < n, body, [0])
        with G.control_dependencies([last]):
            after = w.read_value()
    with open_session(graph) as session:
        assert session.run([last, after, w], {n: 3}) == [3, 16, 10]
        assert session.run(w) == 16


def test_a_run_cut_short_by_a_branch_changes_nothing(graph):
    def refuse(a):
        raise RuntimeError("no")

    with graph.as_default():
        x, w = mg.placeholder("f8"), mg.Variable(0.0)
        add = w.assign_add(1.0)
        y = G.cond(x > 0, lambda: G.py_func(refuse, [x]), lambda: x * 1)
    with open_session(graph) as session:
        session.run([add, y], {x: -1.0})
        with pytest.raises(RuntimeError):
            session.run([add, y], {x: 1.0})

        assert session.run(w) == 1


def test_inside_the_block_of_a_session_tensors_evaluate_and_ops_run(graph):
    with graph.as_default():
        x, w = mg.placeholder("f8", ()), mg.Variable(3.0)
        y, twice = x * w, w.assign(w * 2)
    with mg.Session(graph) as session:
        w.initializer.run()
        values = [w.eval(), y.eval({x: 2.0}), y.eval(feed_dict={w: 5.0, x: 2.0})]
        twice.run()
        values += [w.eval(), w.eval(session=session)]

    assert values == [3.0, 6.0, 10.0, 6.0, 6.0]
    with pytest.raises(GraphError, match="no session is open"):
        y.eval({x: 2.0})


# -- elsewhere --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("home", ["cpu", "simulated"])
def test_a_graph_runs_on_the_device_of_its_tensors(graph, home):
    data = np.arange(12.0).reshape(4, 3)
    with graph.as_default():
        x, w = mg.placeholder("f8", (None, 3)), mg.Variable(mg.ones(3, 2, device=home))
        y = ((x.to(home) @ w).tanh() * 0.1).sum()
        down = w.assign_sub(mg.gradients(y, [w])[0])
    session = open_session(graph)
    expected = np.ones((3, 2))
    for _ in range(4):  # plainly, recorded, replayed twice
        value, _ = session.run([y, down], {x: data})
        z = np.tanh(data @ expected)
        np.testing.assert_allclose(value, 0.1 * z.sum(), rtol=1e-12)  # sums of some ten terms
        expected = expected - 0.1 * data.T @ (1 - z**2)

    np.testing.assert_allclose(session.run(w), expected, rtol=1e-12)


def test_on_a_device_that_is_not_the_cpu_a_run_is_kernels(graph):
    with graph.as_default():
        w = mg.Variable(mg.ones(1000, device="simulated"))
        y = ((w * 2 + 1).tanh() * w).exp()
    session = open_session(graph)
    with mg.device("simulated").counts() as n:
        values = [session.run(y) for _ in range(3)]

    np.testing.assert_allclose(values, np.full((3, 1000), np.exp(np.tanh(3.0))), rtol=1e-14)  # a rounding for each op
    assert isinstance(session.last_run.run.program, Replay)
    assert n.launches <= 3 * 2, "a kernel, and a copy of the result: not five ops"
