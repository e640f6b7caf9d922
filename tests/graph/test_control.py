"""Branches and loops in a graph: written down once, run as often as the values say."""

import gc
import weakref

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import DTypeError, GraphError, ShapeError
from minigrad.engine.base.pytree import leaves
from minigrad.graph import case, fori_loop, scan, switch_case
from minigrad.graph.compiler.control import Cond, Control, Scan, While
from minigrad.graph.compiler.passes.dce import dce
from minigrad.graph.compiler.passes.pipeline import optimised
from minigrad.graph.compiler.program.source import GrowingStack
from tests.support.all_close import assert_all_equal
from tests.support.table import table
from tests.support.written_graph import Written

X = np.array([1.0, -2.0, 3.0])


def agree(f, *arrays):
    """Written down, interpreted and compiled, f gives what it gives on tensors that have values."""
    written = Written(f, *arrays)
    expected = [mg.tensor(y) for y in leaves(f(*map(mg.tensor, arrays)))]
    for found in (written(*arrays), written.compiled(*arrays)):
        assert_all_equal(found, expected)
    return written


class Calls:
    """A function whose calls, in a run, are counted."""

    def __init__(self):
        self.said = []

    def __call__(self, word, x):
        """x, told to us when it is computed."""

        def told(value):
            self.said.append(word)
            return value

        return mg.graph.py_func(told, [x], x.spec)


# -- cond ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [X, -X])
def test_a_branch_is_chosen_by_the_value_when_the_graph_runs(x):
    agree(lambda x: mg.cond(x.sum() > 0, lambda: x * 2, lambda: x - 1), x)


@pytest.mark.parametrize("x", [X, -X])
def test_only_the_chosen_branch_runs(x):
    calls = Calls()
    written = Written(lambda x: mg.cond(x.sum() > 0, lambda: calls("yes", x), lambda: calls("no", x)), x)

    for run in (written, written.compiled):
        run(x)

    assert calls.said == ["yes" if x.sum() > 0 else "no"] * 2


def test_on_values_cond_is_an_if():
    said = []

    assert mg.cond(mg.tensor(2.0) > 1, lambda: said.append("yes"), lambda: said.append("no")) is None
    assert said == ["yes"]


def test_both_branches_are_written_down_once():
    said = []
    Written(lambda x: mg.cond(x.sum() > 0, lambda: said.append("yes") or x, lambda: said.append("no") or x), X)

    assert said == ["yes", "no"]


def test_a_python_condition_chooses_while_the_graph_is_written():
    assert not Written(lambda x: mg.cond(True, lambda: x, lambda: x.no_such_thing), X).ops(Cond)


@pytest.mark.parametrize("p", [0.0, 2.0])
@pytest.mark.parametrize("q", [0, 1])
def test_one_number_is_a_condition_whatever_its_axes(p, q):
    agree(lambda p, q: mg.cond(p.reshape(1, 1), lambda: q, lambda: q + 1), np.array(p), np.array(q))


@pytest.mark.parametrize("p", [0.0, 2.0])
@pytest.mark.parametrize("q", [0, 1])
def test_branches_nest(p, q):
    def f(p, q, x):
        return mg.cond(p, lambda: mg.cond(q > 0, lambda: x + p, lambda: x * 3), lambda: mg.cond(q, lambda: -x, x.exp))

    agree(f, np.array(p), np.array(q), X)


def test_results_have_any_structure_and_numbers_become_constants_of_it():
    def f(x):
        yes = {"a": (x, 1), "b": [x.sum(), True], "c": None, "d": "word"}
        return mg.cond(x[0] > 0, lambda: yes, lambda: {"a": (x * 2, 2), "b": [0, False], "c": None, "d": "word"})

    stage_results = []
    written = Written(lambda x: [stage_results.append(f(x)), *leaves(f(x))[:4]][1:], X)

    assert stage_results[0]["c"] is None
    assert stage_results[0]["d"] == "word"
    assert [y.tolist() for y in written(X)] == [X.tolist(), 1, 2.0, True]
    assert [y.tolist() for y in written(-X)] == [(-2 * X).tolist(), 2, 0.0, False]


@table("yes, no, error, words", [
    (lambda x: (x, x), lambda x: [x], ShapeError, "structure of (·, ·), and got that of [·]"),
    (lambda x: {"h": x}, lambda x: {"h": x.sum()}, ShapeError, "result['h'] is f64[3] in the true branch"),
    (lambda x: (x, x), lambda x: (x, x > 0), DTypeError, "result[1] is f64[3] in the true branch"),
    (lambda x: x, lambda x: None, GraphError, "f64[3] in the true branch"),
    (lambda x: 1, lambda x: 2.5, DTypeError, "result is i64[] in the true branch"),
])  # fmt: skip
def test_branches_that_differ_are_refused_naming_the_leaf_both_specs_and_both_places(yes, no, error, words):
    with pytest.raises(error) as raised:
        Written(lambda x: mg.cond(x.sum() > 0, yes, no, (x,)), X)

    assert words in str(raised.value)
    assert str(raised.value).count("test_control.py:") == 2


@pytest.mark.parametrize("in_a_graph", [True, False])
def test_a_way_that_is_no_function_is_refused_with_the_way_to_write_it(in_a_graph):
    def f(x):
        return mg.cond(x.sum() > 0, x * 2, lambda: x)

    with pytest.raises(GraphError, match=r"needs a function for each branch, lambda: y, not y; true_fn is "):
        Written(f, X) if in_a_graph else f(mg.tensor(X))


@pytest.mark.parametrize("x", [X, -X])
def test_what_a_branch_edits_is_edited_outside_only_if_it_runs(x):
    state = mg.tensor([10.0, 20.0, 30.0])

    def f(x):
        mg.cond(x.sum() > 0, lambda: state.add_(x), lambda: x)
        return state * 2

    found, edited = Written(f, x).compiled(x)

    after = np.array([10, 20, 30]) + x if x.sum() > 0 else np.array([10.0, 20, 30])
    assert found.tolist() == (2 * after).tolist()
    assert edited.tolist() == after.tolist()


def test_branches_may_edit_different_tensors():
    one, other = mg.tensor([1.0]), mg.tensor([2.0])
    written = Written(lambda x: mg.cond(x.sum() > 0, lambda: one.add_(1), lambda: other.mul_(5)), X)

    assert [y.tolist() for y in written(X)[1:]] == [[2.0], [2.0]]
    assert [y.tolist() for y in written(-X)[1:]] == [[1.0], [10.0]]


def test_a_result_may_be_edited():
    agree(lambda x: mg.cond(x.sum() > 0, lambda: x * 2, lambda: x * 1).add_(1), X)
    agree(lambda x: mg.while_loop(lambda x: x.sum() < 9, lambda x: x * 2, (x * 1,))[0].add_(1), X)


def test_a_tensor_with_a_value_takes_part_by_reference():
    weight = mg.tensor([1.0, 1.0, 1.0])
    written = Written(lambda x: mg.cond(x.sum() > 0, lambda: x * weight, lambda: x), X)
    weight.mul_(5)

    assert written(X)[0].tolist() == (5 * X).tolist()


def test_a_result_that_is_an_operand_has_memory_of_its_own():
    written = Written(lambda x: mg.cond(x.sum() > 0, lambda: x.reshape(3, 1)[:, 0], lambda: x), X)

    for x in (X, -X):
        assert not np.shares_memory(written(x)[0], x)
        assert not np.shares_memory(written.compiled(x)[0], x)


def test_what_a_branch_prints_is_printed_in_order_when_it_runs(capsys):
    def f(x):
        mg.print("before")

        def yes():
            mg.print("yes", x.sum())
            return x

        y = mg.cond(x.sum() > 0, yes, lambda: x)
        mg.print("after")
        return y

    written = Written(f, X)
    for run in (written, written.compiled):
        run(X)
        run(-X)

    assert capsys.readouterr().out.split("\n") == ["before", "yes 2.0", "after", "before", "after"] * 2 + [""]


def test_a_branch_that_only_prints_is_not_pruned(capsys):
    def f(x):
        mg.cond(x.sum() > 0, lambda: mg.print("yes"), lambda: None)
        return x

    Written(f, X).compiled(X)

    assert capsys.readouterr().out == "yes\n"


@pytest.mark.parametrize("index", [-1, 0, 1, 2, 7])
def test_switch_case_takes_the_branch_of_that_number_else_the_last(index):
    def f(i, x):
        return switch_case(i, [lambda: x, lambda: x * 2, lambda: x * 3])

    assert f(mg.tensor(index), mg.tensor(X)).tolist() == (X * {0: 1, 1: 2}.get(index, 3)).tolist()
    agree(f, np.array(index), X)


def test_case_takes_the_first_condition_that_holds():
    def f(x):
        return case([(x.sum() > 10, lambda: x), (x.sum() > 0, lambda: x * 2)], lambda: x * 3)

    for scale in (10, 1, -1):
        agree(f, X * scale)


# -- while_loop ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [0, 3, 100])
def test_a_loop_runs_as_often_as_its_test_says(start):
    agree(lambda i, x: mg.while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 2 + i), (i, x)), np.array(start), X)


def test_the_body_is_written_down_once_and_runs_once_a_step():
    calls, written_down = Calls(), []

    def body(i, x):
        written_down.append(i)
        return i + 1, calls("step", x)

    Written(lambda x: mg.while_loop(lambda i, x: i < 4, body, (0, x)), X).compiled(X)

    assert len(written_down) == 1
    assert calls.said == ["step"] * 4


def test_on_values_while_loop_is_a_while():
    i, x = mg.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (0, mg.tensor(X)))

    assert i == 3
    assert x.tolist() == (8 * X).tolist()


def test_loop_variables_keep_their_structure():
    def f(x):
        return mg.while_loop(lambda s, n: n[0] < 3, lambda s, n: ({"a": s["a"] * 2}, [n[0] + 1]), ({"a": x}, [0]))

    kept = []
    Written(lambda x: kept.append(f(x)) or x, X)

    assert list(kept[0][0]) == ["a"]
    assert isinstance(kept[0], tuple)
    agree(f, X)


@pytest.mark.parametrize("in_a_graph", [True, False])
@pytest.mark.parametrize("most", [None, 3])
def test_a_variable_that_is_in_no_tuple_is_refused_with_the_way_to_write_it(in_a_graph, most):
    def f(x):
        return mg.while_loop(lambda x: x.sum() < 100, lambda x: x * 2, x, maximum_iterations=most)

    with pytest.raises(GraphError, match=r"takes its variables in a tuple, \(x,\) for one; it got .*f64\[3\]"):
        Written(f, X) if in_a_graph else f(mg.tensor(X))
    for other in (None, {"x": 1.0}, "x"):
        with pytest.raises(GraphError, match="takes its variables in a tuple"):
            mg.while_loop(lambda x: x < 3, lambda x: x + 1, other, maximum_iterations=most)


def test_of_one_variable_a_body_may_return_that_one():
    agree(lambda x: mg.while_loop(lambda x: x.sum() < 100, lambda x: x * 2, [x]), X)


def test_loops_nest_with_branches_inside():
    def f(x):
        def body(i, x):
            x = mg.cond(i % 2 == 0, lambda: x * 2, lambda: fori_loop(0, 3, lambda j, x: x + j * i, x))
            return i + 1, x

        return mg.while_loop(lambda i, x: i < 5, body, (0, x))

    agree(f, X)


def test_maximum_iterations_ends_a_loop():
    agree(lambda x: mg.while_loop(lambda x: x.sum() > 0, lambda x: x * 2, (x,), maximum_iterations=4), X)
    agree(lambda x: mg.while_loop(lambda x: x.sum() > 100, lambda x: x * 2, (x,), maximum_iterations=4), X)


def test_a_length_left_open_by_shape_invariants_may_change():
    def f(x):
        ys = mg.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, mg.cat([x, x[:1] * i])), (0, x), ((), (None,)))
        return ys[1] * 2

    agree(f, X)


def test_every_length_of_a_run_runs_by_one_graph():
    def f(x):
        return mg.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x - x.mean(0)), (0, x))[1]

    written = Written(f, np.ones((2, 3)), lengths=mg.graph.TensorSpec((None,)).spec().shape[0])

    for rows in (2, 5):
        x = np.random.default_rng(rows).normal(size=(rows, 3))
        np.testing.assert_allclose(written.compiled(x)[0], f(mg.tensor(x)).numpy(), rtol=0, atol=1e-15)


@table("body, error, words", [
    (lambda i, x: (i + 1, x.sum()), ShapeError, "result[1] is f64[3] before the step, and f64[] after it"),
    (lambda i, x: (i + 1, mg.cat([x, x])), ShapeError, "None in shape_invariants="),
    (lambda i, x: (i + 0.5, x), DTypeError, "result[0] is i64[] before the step, and f64[] after it"),
    (lambda i, x: (i, x, x), ShapeError, "structure of (·, ·), and got that of (·, ·, ·)"),
    (lambda i, x: (i, None), GraphError, "result[1] is f64[3] before the step, and None after it"),
])  # fmt: skip
def test_a_body_that_changes_a_variable_is_refused_naming_it_and_its_place(body, error, words):
    with pytest.raises(error) as raised:
        Written(lambda x: mg.while_loop(lambda i, x: i < 3, body, (0, x)), X)

    assert words in str(raised.value)
    assert "test_control.py:" in str(raised.value)


def test_a_test_that_edits_is_refused():
    state = mg.tensor(0.0)

    def test(x):
        state.add_(1)
        return state < 3

    with pytest.raises(GraphError, match="must return one truth value and edit nothing"):
        Written(lambda x: mg.while_loop(test, lambda x: x, (x,)), X)


def test_what_a_body_edits_goes_on_from_step_to_step():
    state = mg.tensor([1.0, 1.0, 1.0])

    def f(x):
        def body(i, x):
            state.mul_(2)
            return i + 1, x + state

        return mg.while_loop(lambda i, x: i < 3, body, (0, x))[1], state * 1

    x, doubled, edited = Written(f, X).compiled(X)

    assert x.tolist() == (X + 14).tolist()
    assert doubled.tolist() == edited.tolist() == [8.0, 8.0, 8.0]


def test_what_a_body_prints_is_printed_at_every_step(capsys):
    def body(i, x):
        mg.print("step", i)
        return i + 1, x

    Written(lambda x: mg.while_loop(lambda i, x: i < 3, body, (0, x))[1], X).compiled(X)

    assert capsys.readouterr().out == "step 0\nstep 1\nstep 2\n"


def test_what_no_step_changes_is_a_copy_all_the_same():
    written = Written(lambda x: mg.while_loop(lambda i, x: i < 0, lambda i, x: (i + 1, x), (0, x))[1], X)

    assert not np.shares_memory(written(X)[0], X)
    assert not np.shares_memory(written.compiled(X)[0], X)


def test_loops_over_large_arrays_whose_steps_nobody_knows_are_compiled():
    """From a megabyte on the compiler asks what a graph costs."""
    large = np.full((400, 400), 0.01)

    def loop(x):
        return mg.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, x * 2), (0, x))[1]

    def nested(x):
        return mg.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, loop(x)), (0, x))[1]

    agree(lambda x: loop(loop(x) @ x), large)
    agree(lambda x: nested(x) @ x, large)


# -- scan and fori_loop ------------------------------------------------------------------------------------


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_carries_along_and_stacks_what_each_step_gives(reverse):
    def f(h, x):
        return scan(lambda h, x: ((h + x).tanh(), {"sum": h.sum(), "x": (x * 2, 1)}), h, x, reverse=reverse)

    agree(f, X, np.arange(12.0).reshape(4, 3))


def test_scan_goes_along_several_or_none():
    agree(lambda x, y: scan(lambda c, xs: (c + xs[0] * xs[1], None), 0.0, (x, y))[0], X, X + 1)
    agree(lambda x: scan(lambda c, _: (c * 2, c), x, length=3), X)


def test_scan_of_no_steps_gives_stacks_of_no_rows():
    written = agree(lambda h, x: scan(lambda h, x: (h + x, h.sum() > 0), h, x), X, np.ones((0, 3)))

    assert written(X, np.ones((0, 3)))[1].shape == (0,)
    assert not np.shares_memory(written.compiled(X, np.ones((0, 3)))[0], X)


def test_scan_refuses_axes_of_two_lengths():
    for f in (lambda x, y: scan(lambda c, xs: (c, None), 0, (x, y)), lambda x, y: scan(lambda c, x: (c, x), 0, x, 5)):
        with pytest.raises(ShapeError, match=r"along the first axis of all xs"):
            Written(f, X, np.ones(4))
        with pytest.raises(ShapeError, match=r"along the first axis of all xs"):
            f(mg.tensor(X), mg.tensor(np.ones(4)))


@pytest.mark.parametrize(("lower", "upper"), [(0, 4), (2, 5), (3, 3), (5, 2)])
def test_fori_loop_counts(lower, upper):
    agree(lambda x: fori_loop(lower, upper, lambda i, x: x * i + 1, x), X)
    agree(lambda n, x: fori_loop(lower, n, lambda i, x: x * i + 1, x), np.array(upper), X)
    agree(lambda n, x: fori_loop(n, upper, lambda i, x: x * i + 1, x), np.array(lower), X)


def test_a_loop_over_numbers_knows_how_many_steps_it_takes():
    written = Written(lambda x: fori_loop(2, 5, lambda i, x: x * i, x), X)

    assert [op.length for op in written.ops(Scan)] == [3]
    assert not written.ops(While)


@pytest.mark.parametrize("f", [
    lambda x: mg.cond(x.sum() > 0, lambda: x * 2, lambda: x),
    lambda x: mg.while_loop(lambda c: c.sum() < 9, lambda c: c + x.sum(), (x[0],))[0],
    lambda x: scan(lambda c, row: (c + row, c), 0.0, x)[0],
], ids=["cond", "while_loop", "scan"])  # fmt: skip
def test_an_op_made_of_graphs_refuses_operands_that_they_were_not_made_for(f):
    written = Written(f, X)
    (node,) = (node for node in written.graph.nodes if isinstance(node.op, Control))
    *operands, last = (x.spec for x in node.inputs)

    assert node.op.infer(*operands, last) == node.spec
    with pytest.raises(ShapeError, match=r"(branches|body) built for operands \[.*\], got \["):
        node.op.infer(*operands, last.with_shape((7, 7)))


PLACE = r"after it \(.*test_control\.py:\d+\)"
REFUSED = {
    "a condition of several numbers":
        (lambda x: mg.cond(x > 0, lambda: x, lambda: x), *(GraphError, r"one number; got bool\[3\]")),
    "a body of fori_loop that changes a dtype":
        (lambda x: fori_loop(0, 3, lambda i, y: y.astype("float32"), x[0]),
         *(DTypeError, r"a variable of fori_loop\(\) keeps .*: result\[1\] is f64\[\] before")),
    "it is named by its place": (lambda x: fori_loop(0, 3, lambda i, y: y * x[0], 1), DTypeError, PLACE),
    "with an open end too": (lambda x: fori_loop(0, x[2].astype(int), lambda i, y: y * x[0], 1), DTypeError, PLACE),
    "where steps are counted too": (
        lambda x: mg.while_loop(lambda y: y < 9, lambda y: y * x[0], (1,), maximum_iterations=3), *(DTypeError, PLACE),
    ),
    "a step of scan that gives no pair":
        (lambda x: scan(lambda c, x: c + x, 0.0, x), *(ShapeError, r"returns \(carry, y\)")),
}  # fmt: skip


@table("f, error, sentence", REFUSED.values(), ids=REFUSED)
def test_a_clear_sentence_answers(f, error, sentence):
    with pytest.raises(error, match=sentence):
        Written(f, X)


# -- what is left behind -------------------------------------------------------------------------------------


def test_a_loop_that_nobody_differentiates_keeps_no_stack():
    written = Written(lambda x: mg.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (0, x))[1], X)
    (loop,) = (node for node in dce(written.graph).nodes if isinstance(node.op, While))

    assert [spec.shape for spec in loop.spec] == [(), (3,)]


def test_only_the_stacks_that_backward_reads_are_kept():
    def f(x):
        y = mg.while_loop(lambda i, x, s: i < 3, lambda i, x, s: (i + 1, x * x, s + x.sin()), (0, x, x))[2]
        return x.builder.gradients([y], [x])

    loops = [node for node in dce(Written(f, X).graph).nodes if isinstance(node.op, While)]

    assert [len(node.spec) for node in loops] == [3]  # i, which the test reads, x, and the stack of x; not s


def test_a_carry_that_nobody_needs_is_not_carried():
    written = Written(
        lambda x: mg.while_loop(lambda i, x, y: i < 3, lambda i, x, y: (i + 1, x * 2, x), (0, x, x))[1], X
    )
    (loop,) = (node.op for node in dce(written.graph).nodes if isinstance(node.op, While))

    assert loop.carried == 2


def test_trimming_twice_is_trimming_once():
    def f(x):
        y = mg.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, mg.cond(i > 0, lambda: x * x, lambda: x)), (0, x))[1]
        return y.builder.gradients([y], [x])

    once = dce(Written(f, X).graph)

    assert dce(once) == once


def test_a_stack_dies_when_the_loop_back_has_consumed_it():
    """The arrays handed from loop to loop are looked at while user code runs after the gradient."""
    alive, stacks = [], []

    def f(x):
        y = mg.while_loop(lambda i, x: i < 64, lambda i, x: (i + 1, x.sin()), (0, x))[1]
        (g,) = y.builder.gradients([y.sum()], [x])
        return mg.graph.py_func(lambda g: (gc.collect(), alive.append([s() is None for s in stacks]), g)[-1], [g])

    def noted(stack):
        stacks.append(weakref.ref(stack.rows))
        return stack.rows[: stack.length]

    x = np.linspace(0, 1, 50_000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GrowingStack, "filled", property(noted))
        Written(f, x).compiled(x)

    assert alive == [[True]]


def test_a_loop_is_optimised_inside_too():
    written = Written(lambda x: mg.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 1 + 0), (0, x))[1], X)

    assert optimised(written.graph).nodes
    assert written.compiled(X)[0].tolist() == X.tolist()


# -- in a session ------------------------------------------------------------------------------------------


def test_in_a_session_what_a_branch_assigns_is_assigned_when_its_result_is_fetched():
    with mg.Graph().as_default() as graph:
        w, p = mg.Variable([1.0, 2.0], name="w"), mg.placeholder("bool", ())
        y = mg.cond(p, lambda: w.assign_add([1.0, 1.0]).sum(), w.sum)

    with mg.Session(graph) as session:
        session.run(w.initializer)

        assert session.run(y, {p: False}) == 3
        assert session.run(w).tolist() == [1, 2]
        assert session.run(y, {p: True}) == 5
        assert session.run(w).tolist() == [2, 3]


def test_a_session_runs_loops_over_any_number_of_rows():
    with mg.Graph().as_default() as graph:
        x = mg.placeholder("float64", (None, 2))
        y = mg.while_loop(lambda y: y.sum() < 100, lambda y: (y * 2,), (x,))[0]
        (gx,) = mg.gradients(y, [x])

    with mg.Session(graph) as session:
        for rows in (1, 4):
            found, g = session.run([y, gx], {x: np.ones((rows, 2))})
            steps = int(np.ceil(np.log2(50 / rows)))

            assert found.tolist() == g.tolist() == np.full((rows, 2), 2.0**steps).tolist()


def test_a_body_with_names_of_its_own_for_something_else_is_no_harm():
    class Body:
        names = ("one",)

        def __call__(self, x, y):
            return x + y, y

    with mg.Graph().as_default() as graph:
        x, _ = mg.while_loop(lambda x, y: x < 10.0, Body(), (mg.constant(1.0), mg.constant(2.0)))
    with mg.Session(graph) as session:
        assert session.run(x) == 11.0
