"""Tensors that share memory in eager mode share it in a graph, with edits and gradients; or the edit is refused."""

import gc
from collections import Counter

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import EditedError, NoValueError
from minigrad.engine.base.pytree import leaves
from tests.support.all_close import assert_all_close, assert_all_equal
from tests.support.fuzz_programs import Program, report, trouble
from tests.support.leaves import leaf
from tests.support.table import table

WAYS = {"by run": lambda f: f, "traced": mg.function, "compiled": mg.function(jit_compile=True)}
way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def several_views(x):
    y = x * 2
    return y[1:], y, y.reshape(3, 1).T, y


def two_views_of_what_is_not_returned(x):
    y = x * 2
    return y[1:], y[:2]


def views_of_an_argument(x):
    return x[1:], x[:2], x


def a_view_of_what_was_edited(x):
    x.mul_(2)
    return x[1:], x


def a_view_that_is_not_recorded(x):
    y = x * 2
    with mg.no_grad():
        return y[1:], y


def one_copy_twice(x):
    y = x.reshape(3, 1).broadcast_to(3, 2).T.reshape(6)
    return y, y, y[1:]


def of_a_traced_function(x):
    a, b = mg.function(several_views)(x)[:2]
    return mg.function(lambda a: a[:1])(a), b


PROGRAMS = (
    *(several_views, two_views_of_what_is_not_returned, views_of_an_argument, a_view_of_what_was_edited),
    *(a_view_that_is_not_recorded, one_copy_twice, of_a_traced_function),
)


@pytest.mark.parametrize("f", PROGRAMS)
@pytest.mark.parametrize("compiled", [False, True])
def test_results_that_share_memory_share_its_edits_and_their_gradient(f, compiled):
    """Traced, `y, y[1:]` came back as two tensors in one memory that knew nothing of each other: tripling the one left
    the gradient of the other at [0, 2, 2] for [0, 6, 6], and so for a view of an argument, at the second call as well.
    """
    found = []
    for program in (f, mg.function(f, jit_compile=compiled)):
        for _ in range(2):
            x = leaf(1, 2, 3)
            base = x * 1
            first, second, *others = program(base)
            first.mul_(3)
            second.add_(first.detach().sum())
            loss = first.sum() + (second.sin() * second).sum() + sum((o * o).sum() for o in others)
            loss.backward()
            found.append([t.detach().numpy() for t in (first, second, *others, base, x.grad)])

    for its in found[1:]:
        assert_all_close(its, found[0], rtol=1e-14)


def test_results_share_memory_at_any_length():
    f = mg.function(several_views, input_signature=[mg.TensorSpec((3,))])
    g = mg.function(lambda x: (x * 2, (x * 2)[1:], x[: x.shape[0] - 1]), input_signature=[mg.TensorSpec((None,))])
    x = leaf(1, 2, 3, 4)
    y, _, head = g(x)
    with mg.no_grad():
        x.mul_(5)

    np.testing.assert_array_equal(head, [5, 10, 15])
    np.testing.assert_array_equal(y, [2, 4, 6, 8])
    assert f(leaf(1, 2, 3))[1].shape == (3,)


@way
def test_a_view_of_a_global_tensor_is_one_of_that_tensor(way):
    table = mg.tensor([1.0, 2.0, 3.0])

    way(lambda x: (table[1:], x))(leaf(1))[0].mul_(5)

    np.testing.assert_array_equal(table, [1, 10, 15])


@way
def test_what_a_function_gives_is_its_own(way):
    """forward may return a view of its argument: by run it is a copy then, and a graph edited the argument with it."""

    class Tail(mg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[1:]

        @staticmethod
        def backward(ctx, gy):
            return mg.cat([mg.zeros(1), gy])

    x = leaf(1, 2, 3)
    base = x * 1

    def f(base):
        tail = Tail.apply(base)
        tail.mul_(2)
        return tail

    y = way(f)(base)
    y.mul_(2)
    y.sum().backward()

    np.testing.assert_array_equal(base.detach(), [1, 2, 3])
    np.testing.assert_array_equal(x.grad, [0, 4, 4])


def windows(x):
    y = x * 1
    w, c = y.unfold(0, 2, 1), y.contiguous()
    y.mul_(3)
    return w, c


def test_windows_and_what_is_contiguous_already_are_views():
    """`w = x.unfold(0, 2, 1)`, `c = x.contiguous()`, then x.mul_(3): both were copies from before the edit."""
    x = leaf(1, 2, 3)
    w, c = windows(x)
    (w.sum() + (c * c).sum()).backward()

    np.testing.assert_array_equal(w.detach(), [[3, 6], [6, 9]])
    np.testing.assert_array_equal(c.detach(), [3, 6, 9])
    np.testing.assert_array_equal(x.grad, [21, 42, 57])
    assert_all_equal(mg.function(windows)(leaf(1, 2, 3)), (w, c))
    with pytest.raises(EditedError, match="several of its elements share memory"):
        mg.tensor([1.0, 2.0, 3.0]).unfold(0, 2, 1).add_(1)


def test_windows_side_by_side_are_written_through():
    x = mg.tensor([1.0, 2.0, 3.0, 4.0, 5.0])
    x.unfold(0, 2, 2).mul_(10)

    np.testing.assert_array_equal(x, [10, 20, 30, 40, 5])


def test_a_copy_is_made_where_the_order_of_the_axes_is_another():
    x = mg.tensor([[1.0, 2.0], [3.0, 4.0]])
    x.T.contiguous().mul_(10)

    np.testing.assert_array_equal(x, [[1, 2], [3, 4]])


# -- edits that are not recorded ------------------------------------------------------------------------


def halved(x, on):
    v = x * 2
    with mg.no_grad():
        v.mul_(0.5)
    return v.sin()


def halved_in_a_branch(x, on):
    v = x * 2
    if on > 0:
        with mg.no_grad():
            v.mul_(0.5)
    return v.sin()


def halved_in_a_loop(x, on):
    v = x * 2
    i = mg.tensor(0)
    while i < 3:
        with mg.no_grad():
            v.mul_(0.5)
        i = i + 1
    return v.sin()


def passed_on(x, on):
    with mg.no_grad():
        v = x if on > 0 else x * 2
    return v.sin()


def halved_leaf(x, on):
    with mg.no_grad():
        x.mul_(0.5)
    return x.sin()


@pytest.mark.parametrize("f", [halved, halved_in_a_branch, halved_in_a_loop, passed_on, halved_leaf])
@way
def test_an_edit_that_nobody_recorded_leaves_the_history_as_it_was(f, way):
    """In a trace under no_grad() v.mul_(0.5) cut v off from what it came of: its gradient was None, without a word; and
    a value that a branch under no_grad() only passed on was cut off too.
    """
    x, y = leaf(1, 2), leaf(1, 2)
    f(y, mg.tensor(1.0)).sum().backward()

    z = way(f)(x, mg.tensor(1.0))
    (slope,) = mg.autograd.grad(z.sum(), x, create_graph=True)

    np.testing.assert_array_equal(slope.detach(), y.grad)
    assert x.is_leaf
    np.testing.assert_array_equal(x.detach(), y.detach())
    assert slope.requires_grad


@way
def test_a_gradient_inside_is_that_of_the_value_before(way):
    def slopes(x):
        v = x * 2
        before = v * 5
        with mg.no_grad():
            v.mul_(0.5)
        return mg.autograd.grad((before + v * 3).sum(), [v, x])

    assert_all_equal(way(slopes)(leaf(1, 2)), [[8.0] * 2, [16.0] * 2])


@pytest.mark.parametrize("compiled", [False, True])
def test_a_recorded_edit_of_a_leaf_is_refused_at_a_later_call_too(compiled):
    f = mg.function(lambda x: x.mul_(2), jit_compile=compiled)
    f(leaf(1, 2) * 1)

    with pytest.raises(EditedError, match="leaf that requires a gradient"):
        f(leaf(1, 2))


# -- what a branch or a loop passes on ------------------------------------------------------------------


def chosen(x, a):
    b = x
    if x.sum() > 0:
        b = a
    a += 10
    return b


def chosen_by_an_expression(x, a):
    b = a if x.sum() > 0 else x
    a += 10
    return b


def left_by_a_loop(x, a):
    b = x
    i = mg.tensor(0)
    while i < 3:
        b = a
        i = i + 1
    a += 10
    return b


def chosen_view(x, a):
    b = a[1:] if x.sum() > 0 else x[1:]
    a += 10
    return b


def the_result_is_edited(x, a):
    b = a if x.sum() > 0 else x
    b += 10
    return a * 1


def its_start_is_edited(x, a):
    b = a * 1
    c = mg.while_loop(lambda b: b.sum() < 5, lambda b: (b * 2,), (b,))[0]
    c += 1
    return b * 1


def a_view_from_outside_after_an_edit_inside(x, a):
    b = a * 1
    v = b[1:]

    def yes():
        b.mul_(2)
        return v * 1

    return mg.cond(x.sum() > 0, yes, lambda: v * 3)


def a_loop_edits_what_a_view_shows(x, a):
    b = a * 1
    v = b[1:]

    def turn(b):
        b.mul_(2)
        return (b + v.sum(),)

    return mg.while_loop(lambda b: b.sum() < 5, turn, (b,))[0]


def edited_after_two_loops(x, a):
    i = mg.tensor(0)
    while i < 0:
        a = a.detach()
        i = i + 1
    while i < 0:
        a = a + x
        i = i + 1
    a *= 2
    return x


def passed_on_by_a_branch_in_a_branch(x, a):
    if x.sum() > 0:
        b = a if a.sum() > 0 else x
        c = b.reshape(2, 1).reshape(2)
    else:
        c = x * 2
    c *= 2
    return x


def a_view_carried_beside_what_it_shows(x, a):
    b = a * 1
    v = b[:1]
    for row in x:
        b.mul_(1.5)
        v = v * row
    return v


def the_same_of_an_argument_without_recording(x, a):
    with mg.no_grad():
        v = a[:1]
        for row in x:
            a.mul_(1.5)
            v = v * row
    return v


def a_view_carried_into_the_next_turn(x, a):
    b = a * 1
    v = x[:1] * 2
    i = mg.tensor(0)
    while i < 3:
        b.mul_(1.5)
        b.add_(v.sum())
        v = b[:1]
        i = i + 1
    return v


def two_names_after_a_turn(x, a):
    b, c = a * 1, x * 1
    i = mg.tensor(0)
    while i < 3:
        b.mul_(1.5)
        x = c * 1
        c = b
        i = i + 1
    return c, x


def a_choice_and_an_edit_in_a_branch(x, a):
    b, z = a * 1, x * 1
    c = b if x.sum() > 0 else z
    i = mg.tensor(0)
    while i < 3:
        if a.sum() > 0:
            b.mul_(1.5)
        c = c + 1
        i = i + 1
    return c


def two_results_of_one_branch(x, a):
    if x.sum() > 0:
        b = a * 2
        v = b[:1]
    else:
        b = a * 3
        v = a[:1] * 1
    b.mul_(2)
    return v


def two_results_of_a_loop(x, a):
    def turn(i, state):
        y = state[0] * 2
        return y, y[:1]

    b, v = mg.lax.fori_loop(0, 3, turn, (a * 1, a[:1] * 1))
    b.mul_(2)
    return v


def two_carries_of_one_memory(x, a):
    def turn(i, state):
        b, v = state
        b.mul_(1.5)
        return b, v * 2

    b = a * 1
    return mg.lax.fori_loop(0, 3, turn, (b, b.detach()))[1]


def what_a_scan_collects(x, a):
    b = a * 1
    v = b[:1]

    def turn(b, row):
        b.mul_(1.5)
        return b, v * row

    return mg.lax.scan(turn, b, x)[1]


def what_a_scan_goes_along_is_edited(x, a):
    b = a * 1

    def turn(i, row):
        b.mul_(1.5)
        return i + 1, row * 1

    return mg.lax.scan(turn, mg.tensor(0), b)[1]


def what_the_test_of_a_loop_reads(x, a):
    b = a * 1
    v = b.detach()

    def turn(b):
        b.mul_(2)
        return (b,)

    return mg.while_loop(lambda b: v.sum() < 20, turn, (b,))[0]


def a_branch_in_a_loop(x, a):
    b = a * 1
    v = b[:1]

    def turn(i, total):
        return total + mg.lax.switch(i, [lambda: v * 1, lambda: b.mul_(2)[:1] * 1, lambda: v * 3])

    return mg.lax.fori_loop(0, 3, turn, v * 0)


REFUSED = (
    *(a_view_carried_beside_what_it_shows, the_same_of_an_argument_without_recording, a_branch_in_a_loop),
    *(a_view_carried_into_the_next_turn, two_names_after_a_turn, a_choice_and_an_edit_in_a_branch),
    *(two_results_of_one_branch, two_results_of_a_loop, two_carries_of_one_memory, what_a_scan_collects),
    *(what_a_scan_goes_along_is_edited, what_the_test_of_a_loop_reads),
    *(edited_after_two_loops, passed_on_by_a_branch_in_a_branch, chosen, chosen_by_an_expression, left_by_a_loop),
    *(chosen_view, the_result_is_edited, its_start_is_edited),
    *(a_view_from_outside_after_an_edit_inside, a_loop_edits_what_a_view_shows),
)


@table("f", REFUSED)
def test_an_edit_of_what_a_branch_or_a_loop_may_have_passed_on_is_refused(f):
    """`if x.sum() > 0: b = a`, then `a += 10`: by run b is [11, 12], and in a graph it was [1, 2], a copy from before.
    Which of the two it is only the run knows; so the use after the edit is refused, or the edit that others would see.
    """
    f(mg.tensor([1.0, 1.0]), mg.tensor([1.0, 2.0]))  # by run it is well

    for way in (mg.function, mg.function(jit_compile=True)):
        with pytest.raises(EditedError, match=r"clone\(\)"):
            way(f)(mg.tensor([1.0, 1.0]), mg.tensor([1.0, 2.0]))


@pytest.mark.parametrize(
    "f", [two_results_of_a_loop, two_carries_of_one_memory, what_a_scan_collects, what_a_scan_goes_along_is_edited]
)
def test_a_session_refuses_these_programs_too(f):
    with mg.Graph().as_default() as graph:
        x, a = mg.placeholder("float64", (2,)), mg.placeholder("float64", (2,))

        def run():
            y = f(x, a)
            return mg.Session(graph).run(y, {x: [1.0, 1.0], a: [1.0, 2.0]})

        with pytest.raises(EditedError, match=r"clone\(\)"):
            run()


def test_two_variables_of_a_loop_that_change_places_share_nothing():
    def f(x):
        b, c = x * 1, x * 2
        for _ in range(mg.tensor(3)):
            with mg.no_grad():
                b = b * 2
                b.add_(1)
                b, c = c, b
        return b + 10 * c

    x = mg.tensor([1.0, 2.0])
    assert_all_equal(mg.function(f)(x), f(x))


def test_what_a_branch_or_a_loop_makes_is_edited_as_ever():
    def f(x):
        y = x * 2
        if y.sum() > 0:
            y = y * 3
        y += 1
        total = mg.zeros(2)
        for row in x:
            total = total + row
        total /= len(x)
        return y, total

    x = mg.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert_all_equal(mg.function(f)(x), f(x))


def test_a_body_that_edits_its_variable_edits_what_the_loop_began_with():
    """By run the first turn does, as there are no copies; in a graph b kept its old value."""

    def f(x):
        b = x * 1
        c = mg.while_loop(lambda b: b.sum() < 20, lambda b: (b.mul_(2),), (b,))[0]
        return b * 1, c * 1

    x = mg.tensor([1.0, 2.0])
    assert_all_equal(mg.function(f)(x), f(x))


# -- sessions ---------------------------------------------------------------------------------------------


def test_a_placeholder_is_not_edited():
    """`p.mul_(10); y = p + 1`, fed p = 1: the feed took the place of the edited value, and y was 2 for 11."""
    with mg.Graph().as_default():
        p = mg.placeholder("float64", ())
        with pytest.raises(EditedError, match="is a placeholder"):
            p.mul_(10)
        with pytest.raises(EditedError, match="is a placeholder"):
            mg.cond(p > 0, lambda: p.mul_(10), lambda: p)


def test_a_view_made_before_an_edit_is_fetched_as_it_is_after_it():
    """`v = x[1]; x.mul_(10)`: as an operand v was refused, and fetched it was the number from before the edit."""
    with mg.Graph().as_default() as graph:
        x = mg.placeholder("float64", (2,))
        y = x * 1
        v = y[1]
        y.mul_(10)

    assert mg.Session(graph).run(v, {x: [1.0, 2.0]}) == 20


# -- edits of views in graphs -----------------------------------------------------------------------------

EDITS = """
y[0] += x1[0] | y[0:2] *= 2 | y.T.mul_(x1[:,:1].sum()) | v = y[1]; v.add_(x1[0]) | y[:,0].zero_() | y[0].copy_(x1[1])
v = y[1]; u = y[:,1]; v.mul_(x1[0]); u.mul_(x1[1,0]); z = y+v+u.sum() | v = y[0]; v += 1; w = v*2; w.add_(3); z = y*w
y.view(-1)[3] = x1[0,0] | y.view(1,-1)[0,2] += x1[0,0] | y[0:1].view(-1)[1:].mul_(2) | y.diagonal().mul_(x1[0,:2])
y.unsqueeze(0)[0,1].sub_(x1[1]) | y[None,1:,::2] += 1 | y.squeeze()[0] = 1 | y.movedim(0,1)[0].add_(1) | y.mT.mul_(2)
v = y.detach(); v.mul_(2) | v = y.detach()[1]; v.mul_(2); z = y*x0 | v = y.detach(); v[0].add_(x1[0]); z = y*x0 + v*x1
v = y.detach(); v[0].add_(x1[0]); y.mul_(2); z = y*x0 + v | v = y[1:]; y.mul_(x1); z = v*v | y[0].sin_().mul_(x1[0])
v = y[1:][0]; y[1].mul_(x1[0]); z = v*y | v = y.t()[1:]; y[0].mul_(x1[0]); v.add_(1); z = v.sum()*y | y[...][0] = 2
y[0], y[1] = y[1], y[0] | y[0], y[1] = y[1].clone(), y[0].clone() | y[0].clamp_(-.5,.5) | y[0].addcmul_(x1[0],x1[1])
v = y.expand(2,2,3); y.mul_(2); z = v.sum(0)*x1 | v = y.unfold(1,2,1); y[0].mul_(x1[0]); z = y*v.sum()
y.unfold(1,1,1).mul_(2) | y.narrow(0,0,1).add_(x1[:1]) | y.unbind()[1].mul_(2) | y.split(1)[0].mul_(x1[:1])
z = L.zeros_like(x0); z[0] += x1[0]; z[1,1:] = x0[0,1:] | v = y[0]; z = y*2; v.add_(1); z = z+v | y[0,0] += y.sum()
y[0].index_add_(0,L.tensor([0]),x1[0,:1]) | y.chunk(2)[1].neg_() | v = y[0]; y[1] *= 2; v.relu_()
y.unflatten(1,(1,3))[0] = 2
"""
TRACED = """
y.reshape(-1)[1:5].mul_(3) | y.flatten()[2] += 1 | v = y.contiguous(); v[0] = 2
z = L.zeros(2,3).double(); z[1] += x0[1]
"""
LINES = {line.strip(): text is EDITS for text in (EDITS, TRACED) for line in text.replace("\n", "|").split("|")}


@pytest.mark.parametrize("lines", [line for line in LINES if line])
@pytest.mark.parametrize("tail", ["", "grad"])
@pytest.mark.share(4)
def test_an_edit_of_a_view_is_one_of_its_base_and_of_every_other_view(lines, tail):
    """Values, gradients and second gradients agree: eager, traced, compiled, in a session, and in PyTorch."""
    text = ("y = x0*1", *lines.split("; "))
    made = Program((((2, 3), "f8", True),) * 2, text, ("z" if "z =" in lines else "y",), tail)
    counts = Counter()

    assert trouble(made, counts, ("function", "compiled", "session")) is None, report(made)
    assert counts["function"] == counts["compiled"] == 1, counts
    assert counts["session"] == LINES[lines], counts


@way
def test_an_argument_a_buffer_and_a_parameter_are_edited_by_their_views(way):
    found = []
    for wrap in (lambda f: f, way):
        table, weight = mg.tensor([[1.0, 2.0], [3.0, 4.0]]), mg.nn.Parameter(mg.tensor([1.0, 2.0, 3.0]))

        def f(x, table=table, weight=weight):
            x[0] += 1
            table.T[1].mul_(2)
            with mg.no_grad():
                table[1].add_(weight[:2])
                weight[1:].sub_(x)
            return weight[1:] * x

        g = wrap(f)
        x = mg.tensor([1.0, 2.0])
        ys = [g(x), g(x)]
        found.append([x, table, weight.detach(), *(y.detach() for y in ys), *mg.autograd.grad(ys[1].sum(), [weight])])
    assert_all_equal(*found)


def test_an_edit_of_a_narrow_of_unknown_length_is_refused():
    """narrow() of an unknown length makes a copy to check its bounds: `y.narrow(0, 0, 1).mul_(2)` did not change y."""

    def f(x):
        y = x * 1
        y.narrow(0, 0, 1).mul_(2)
        return y

    with pytest.raises(EditedError, match="view"):
        mg.function(f, input_signature=[mg.TensorSpec((None,))])(mg.ones(3))


@way
def test_an_edit_of_what_was_printed_is_not_lost(way):
    """In eager mode it is the tensor itself; in a graph it is what comes out of the print, and the edit is refused."""

    def f(x):
        y = x * 1
        mg.print(y).mul_(2)
        return y

    if way(len) is len:
        assert f(mg.tensor([1.0, 2.0])).tolist() == [2, 4]
        return
    with pytest.raises(EditedError, match="view"):
        way(f)(mg.tensor([1.0, 2.0]))


@way
def test_a_view_of_a_leaf_is_not_edited_where_that_is_recorded(way):
    for edit in (lambda x: x[1:].mul_(2), lambda x: x.view(1, 3)[0].add_(1)):
        with pytest.raises(EditedError, match="leaf"):
            way(edit)(leaf(1, 2, 3))


@table("edit, reason", [
    (lambda y: y.T.reshape(-1).mul_(2), "a view or a copy"),
    (lambda y: y.T.contiguous()[0].mul_(2), "a view or a copy"),
    (lambda y: y[:, 1:].reshape(-1)[0].mul_(2), "a view or a copy"),
    (lambda y: y.expand(2, 2, 3)[0].mul_(2), "several of its elements share memory"),
    (lambda y: y.unfold(1, 2, 1)[0].mul_(2), "several of its elements share memory"),
])  # fmt: skip
def test_an_edit_of_a_possible_copy_or_of_repeated_elements_is_refused(edit, reason):
    with pytest.raises(EditedError, match=reason):
        mg.function(lambda x: edit(x * 1))(mg.ones(2, 3))


def test_an_edit_of_a_reshape_is_refused_for_an_argument_of_another_layout():
    f = mg.function(lambda x: (x.reshape(-1)[:1].mul_(2), x)[1])
    x = mg.tensor(np.ones((2, 3)))

    assert f(x).numpy().sum() == 7
    with pytest.raises(EditedError, match="contiguous"):
        f(mg.tensor(np.ones((3, 2))).T)


@way
def test_views_are_edited_in_branches_and_loops(way):
    def f(x, w):
        y = x * 1
        row = y[0]
        for i in range(mg.tensor(2)):
            y[i, :2] += w[:2] * i
            y[1].mul_(w)
            if y.sum() > 0:
                y.T[0] *= 0.5
        return y * row.sum()

    found = []
    for g in (f, way(f)):
        x, w = mg.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True), leaf(0.5, -1.5, 2.0)
        y = g(x, w)
        found.append([y.detach(), *mg.autograd.grad((y * y).sum(), [x, w])])
    assert_all_close(*found, rtol=1e-14)


# -- detach() and data of tensors from outside ------------------------------------------------------------


def follow(net, target, x):
    for p, t in zip(net.parameters(), target.parameters()):
        t.mul_(0.99).add_(p.detach(), alpha=0.01)


def edit_both_ways(net, target, x):
    a, b = net.weight.detach(), net.weight.data
    a.mul_(0.5)
    b[0].add_(x[0])
    return a, b.sum(), net.weight


def read_the_old_value(net, target, x):
    old = net.weight.detach()
    copy = old.clone()
    with mg.no_grad():
        net.weight.add_(1)
    return old - copy, old.requires_grad


def edit_in_a_branch_and_a_loop(net, target, x):
    old = target.weight.detach()
    if x.sum() > 8:
        target.weight.data.mul_(0.5)
    for v in x:
        target.bias.detach().add_(v[:2])
    return old * 1, target.bias


@way
@pytest.mark.parametrize("edit", [
    follow, edit_both_ways, read_the_old_value, edit_in_a_branch_and_a_loop,
])  # fmt: skip
def test_detach_of_a_parameter_shares_its_memory_while_tracing(edit, way):
    """A moving average of parameters, traced with their training step: the second call was an EditedError."""
    found = []
    for wrap in (lambda f: f, way):
        mg.manual_seed(0)
        net, target = mg.nn.Linear(3, 2), mg.nn.Linear(3, 2).requires_grad_(False)
        optimizer = mg.optim.SGD(net.parameters(), lr=0.1)

        def step(x, net=net, target=target, optimizer=optimizer):
            optimizer.zero_grad()
            (net(x) - target(x)).square().mean().backward()
            optimizer.step()
            return edit(net, target, x)

        run = wrap(step)
        for k in range(3):
            found.append([*leaves(run(mg.ones(4, 3) * k)), *(p.detach().clone() for p in net.parameters())])
            found[-1] += [t.clone() for t in target.parameters()]
    for eager, traced in zip(found[:3], found[3:], strict=True):
        assert_all_close([y for y in traced if y is not None], [y for y in eager if y is not None])


@pytest.mark.parametrize("lines", [
    ("v = x0.detach()", "v.mul_(x1)", "u = v[:1]"),
    ("v = x0.data", "v.mul_(x1)", "for row in x1*1:\n        v.mul_(row)", "u = v*x0"),
    ("v = x0.detach()", "u = v.data", "v.data.copy_(x1)", "u.mul_(x1)"),
    ("with L.no_grad():\n        v = x0.detach()", "v.mul_(x1)", "with L.no_grad():\n        x0.add_(1)", "u = v*1"),
])  # fmt: skip
def test_detach_is_edited_with_a_gradient_and_returned(lines):
    """The run refused to return it; in a branch it had no gradient of an edit before."""
    made, counts = Program((((3, 3), "f8", True), ((3, 3), "f8", True)), lines, ("v", "u")), Counter()
    assert trouble(made, counts, ("function", "compiled", "outside")) is None, report(made)
    assert counts["function"] == counts["outside"] == 1, counts


@table("read", [lambda w: w.numpy()[0], lambda w: w.detach().numpy()[0], lambda w: w.tolist()[0]])
def test_elements_that_a_run_has_edited_are_not_read_while_tracing(read):
    """Python read the value from before the edit, and the graph kept it: 1 where eager mode reads 0.5."""
    w = mg.ones(2)
    for make in (lambda: w, lambda: mg.ones(2)):
        with pytest.raises(NoValueError):
            mg.function(lambda: float(read(make().mul_(0.5))))()  # noqa: B023


def test_elements_of_detach_that_python_reads_are_watched():
    """The result of detach() was watched, and was deleted before the next call."""
    w = mg.ones(2)
    f = mg.function(lambda x: x * float(w.detach().numpy()[0]))
    assert f(mg.ones(1)).item() == 1
    gc.collect()
    w.mul_(3)
    assert f(mg.ones(1)).item() == 3


def test_requires_grad_of_an_edited_tensor():
    """A tensor that the trace made said False after `y.add_(x)`, of an x that requires a gradient."""
    w = mg.nn.Parameter(mg.ones(2))

    def f(x):
        y, z, quiet = mg.zeros(2), mg.zeros(2), mg.zeros(2)
        found = [y.requires_grad, y.add_(x) is y, y.requires_grad]
        z[:1].mul_(w[:1])
        apart = quiet.detach()
        apart.mul_(w)
        with mg.no_grad():
            w.mul_(1)
            quiet.add_(x)
        return [*found, z.requires_grad, w.requires_grad, quiet.requires_grad, apart.requires_grad]

    for wanted in (False, True):
        x = mg.ones(2, requires_grad=wanted)
        assert mg.function(f)(x) == f(x)
