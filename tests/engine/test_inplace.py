"""Edits in place mean what the same computation means that makes new tensors, or are refused."""

import sys

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base import errors
from tests.support.other_processes import run_in_threads
from tests.support.table import table


def leaf(*numbers):
    return mg.tensor(list(numbers) or [0.5, 1.5, 2.5], requires_grad=True)


PAIRS = {}  # what happens → (with edits, without), both of two vectors x and w of three


def pair(plain):
    def beside(edited):
        PAIRS[edited.__name__.replace("_", " ")] = (edited, plain)
        return edited

    return beside


@pair(lambda x, w: ((x * 1 + w) * w).sum())
def one_edit(x, w):
    y = x * 1
    y.add_(w)
    return (y * w).sum()


@pair(lambda x, w: ((x * w) ** 2).sin().sum())
def edits_one_after_the_other(x, w):
    y = x * 1
    y.mul_(w).pow_(2).sin_()
    return y.sum()


@pair(lambda x, w: (x**2 * w).sum())
def an_edit_by_itself(x, w):
    y = x * 1
    y.mul_(y)
    return (y * w).sum()


@pair(lambda x, w: (mg.stack([x[0], x[1] * w[1] * 3, x[2] * w[1] * 3]) * w).sum())
def an_edit_of_a_view(x, w):
    y = x * 1
    y[1:].mul_(w[1] * 3)
    return (y * w).sum()


@pair(lambda x, w: (x * w)[1:].prod())
def an_edit_seen_through_a_view_made_before(x, w):
    y = x * 1
    v = y[1:]
    y.mul_(w)
    return v.prod()


@pair(lambda x, w: mg.stack([x[0], x[1] * 5 * w[0], x[2] * w[0]]).prod() * (x[1] * 5 * w[0]))
def edits_through_two_views_that_overlap(x, w):
    y = x * 1
    middle, tail = y[1:2], y[1:]
    middle.mul_(5)
    tail.mul_(w[0])
    return y.prod() * middle.sum()


@pair(lambda x, w: (mg.stack([x[2], x[1], w.sum()]) * w).sum())
def an_edit_of_a_view_of_a_view(x, w):
    y = x.flip(0) * 1
    y.reshape(3, 1).t()[0, 2:].copy_(w.sum())
    return (y * w).sum()


@pair(lambda x, w: (mg.stack([x * 1, w, x * 1]) ** 2 * w).sum())
def a_row_that_is_replaced(x, w):
    y = mg.stack([x, x * 2, x])
    y[1] = w
    return (y**2 * w).sum()


@pair(lambda x, w: (mg.stack([w[0], x[1], w[1]]) * w).sum())
def elements_set_by_an_array_of_indices(x, w):
    y = x * 1
    y[np.array([0, 2])] = w[:2]
    return (y * w).sum()


@pair(lambda x, w: (mg.where(x > 1, w, x) ** 2).sum())
def elements_set_by_a_mask(x, w):
    y = x * 1
    y[x > 1] = w[x > 1]
    return (y**2).sum()


@pair(lambda x, w: (x**2 * w).cumsum(0).sum())
def a_buffer_filled_as_a_loop_goes_on(x, w):
    buffer, total = mg.tensor(np.zeros(3)), mg.tensor(0.0)
    for i in range(3):
        total = total + x[i] ** 2 * w[i]
        buffer[i] = total
    return buffer.sum()


@pair(lambda x, w: (w * w).sum() + 0 * x.sum())
def what_is_overwritten_has_no_gradient(x, w):
    y = x * 1
    y.zero_()
    y.add_(w)
    return (y * w).sum()


@pair(lambda x, w: (x * w * w).sum() + (x * w).sum())
def a_value_used_before_and_after(x, w):
    y = x * w
    before = y.sum()
    y *= w
    return y.sum() + before


@pair(lambda x, w: ((x + w) * 2).sum())
def what_no_rule_had_kept_may_be_edited(x, w):
    y = x + w
    z = y * 2  # keeps 2, not y
    y.zero_()
    return z.sum()


@table("case", PAIRS)
def test_edited_and_plain_agree_in_value_and_in_first_and_second_gradients(case):
    said = []
    for f in PAIRS[case]:
        x, w = leaf(), leaf(1.2, 0.7, -0.4)
        y = f(x, w)
        first = mg.grad(y, [x, w], create_graph=True, materialize_grads=True)
        directed = sum((g * mg.tensor([1.0, -2.0, 3.0])).sum() for g in first)
        second = mg.grad(directed, [x, w], materialize_grads=True) if directed.requires_grad else ()
        said.append([each.numpy() for each in (y, *first, *second)])

    for edited, plain in zip(*said):
        np.testing.assert_allclose(edited, plain, rtol=1e-12, atol=1e-12)  # the same arithmetic, otherwise arranged


TWINS = {"add_": 1, "sub_": 1, "mul_": 1, "div_": 1, "pow_": 1, "neg_": 0, "abs_": 0, "exp_": 0, "log_": 0, "sqrt_": 0}
TWINS |= {"sin_": 0, "cos_": 0, "tanh_": 0, "sigmoid_": 0, "relu_": 0}


@table("name", TWINS)
def test_every_method_with_an_underscore_has_the_gradients_of_its_twin(name):
    gradients = []
    for method in (name, name.removesuffix("_")):
        x, others = leaf(), [leaf(1.2, 0.7, 1.4)][: TWINS[name]]
        y = x * 1
        z = getattr(y, method)(*others)
        assert (z is y) == (method == name)
        gradients.append([g.numpy() for g in mg.grad((z * z).sum(), [x, *others])])

    for edited, plain in zip(*gradients):
        np.testing.assert_allclose(edited, plain, rtol=1e-12)


# -- versions --------------------------------------------------------------------------------------


def test_the_version_counts_edits_of_the_memory_through_whatever_looks_at_it():
    x = mg.tensor([1.0, 2.0, 3.0])
    v, other = x[1:], x.clone()
    x.add_(1)
    v.mul_(2)
    x[0] = 5.0
    x.detach().zero_()

    assert x._version == v._version == x.detach()._version == 4
    assert other._version == (x + 1)._version == 0


def test_data_is_written_behind_the_back_of_the_version():
    x = mg.tensor([1.0, 2.0])
    x.data = [3.0, 4.0]

    assert x._version == 0
    assert x.tolist() == [3, 4]


@pytest.fixture
def threads_that_switch_often():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("threads_that_switch_often")
def test_two_threads_that_edit_one_memory_are_both_counted():
    """Reading, adding 1 and writing back were three steps, and one thread's edit could get lost between another's."""
    x = mg.tensor(np.zeros(4))

    def edit(_):
        for _ in range(500):
            x.add_(1)

    run_in_threads(edit, range(4))

    assert x._version == 2000


# -- what is refused, and what is not --------------------------------------------------------------


def kept_then(edit):
    """backward of y², which reads y, after an edit."""
    y = leaf() * 1
    z = (y * y).sum()
    edit(y)
    z.backward()


REFUSED = {
    "the tensor itself": lambda y: y.add_(1), "a view": lambda y: y[0:1].add_(1),
    "a view of a view": lambda y: y.reshape(3, 1)[1:].zero_(),
    "what was detached from it": lambda y: y.detach().add_(1),
    "without recording": lambda y: unrecorded(lambda: y.add_(1)), "an element": lambda y: y.__setitem__(0, 1.0),
}  # fmt: skip


def unrecorded(f):
    with mg.no_grad():
        return f()


@table("how", REFUSED)
def test_an_edit_of_what_backward_reads_is_refused_when_it_reads(how):
    with pytest.raises(errors.EditedError, match=r"reads its operand 0, which was edited.*clone\(\)"):
        kept_then(REFUSED[how])


def test_an_edit_of_a_result_that_backward_reads_is_refused():
    y = leaf().exp()
    y.add_(1)

    with pytest.raises(errors.EditedError, match="its result"):
        y.sum().backward()


def test_a_refused_backward_has_changed_nothing():
    x = leaf()
    y = x * 1
    z = (y * y).sum() + x.sum()
    y.add_(1)
    with pytest.raises(errors.EditedError):
        z.backward()

    assert x.grad is None
    x.sum().backward()
    assert x.grad.tolist() == [1, 1, 1]


def test_a_leaf_that_is_recorded_cannot_be_edited_nor_its_views():
    for edit in (lambda x: x.add_(1), lambda x: x[1:].mul_(2), lambda x: x.__setitem__(0, 1.0), lambda x: x.t().exp_()):
        x = leaf()
        with pytest.raises(errors.EditedError, match="no_grad"):
            edit(x)
        assert x._version == 0
        assert x.tolist() == [0.5, 1.5, 2.5]


def test_without_recording_a_leaf_is_edited_and_stays_a_leaf():
    x = leaf(1.0, 2.0)
    with mg.no_grad():
        x -= 1
        x[0] = 5.0
    (x * x).sum().backward()

    assert x.is_leaf
    assert x.requires_grad
    assert x.grad.tolist() == [10, 2]


def test_data_that_takes_in_something_recorded_is_no_longer_a_leaf():
    buffer, x = mg.tensor([1.0, 2.0, 3.0]), leaf(4.0)
    view = buffer[1:]
    buffer[1:2] = x

    assert not buffer.is_leaf
    assert buffer.requires_grad
    assert view.requires_grad
    assert mg.grad((view * view).sum(), x)[0].tolist() == [8]


def test_broadcast_memory_is_not_written_to():
    with pytest.raises(errors.EditedError, match="several of its elements share memory"):
        (leaf() * 1).broadcast_to(2, 3).add_(1)


def test_the_shape_of_what_is_edited_stays():
    with pytest.raises(errors.ShapeError, match="its shape stays"):
        (leaf() * 1).add_(mg.tensor(np.ones((2, 3))))


def test_the_dtype_of_what_is_edited_stays_and_holds_no_more_than_its_kind():
    """Integers took in floats and cut them off, without a word."""
    counts, halves = mg.tensor([1, 2]), mg.tensor([0.5, 0.5])
    with pytest.raises(errors.DTypeError, match="does not fit into i64"):
        counts.add_(halves)

    small = mg.tensor([1.0, 2.0], dtype="f4")
    w = leaf(3.0, 4.0)
    small.mul_(w)
    small.sum().backward()
    assert small.dtype == np.float32
    assert small.tolist() == [3, 8]
    assert w.grad.tolist() == [1, 2]
    assert w.grad.dtype == np.float64


def test_copy_takes_values_of_any_shape_that_broadcasts_and_of_any_dtype():
    x = mg.tensor(np.zeros((2, 3), np.int64))
    x.copy_(mg.tensor([1.9, 2.0, 3.0]))

    assert x.tolist() == [[1, 2, 3], [1, 2, 3]]
    assert x.fill_(7).tolist() == [[7] * 3] * 2


def test_a_tensor_of_inference_mode_is_edited_there_or_not_at_all():
    with mg.inference_mode():
        x = mg.tensor([1.0, 2.0])
        x.add_(1)

    with pytest.raises(errors.EditedError, match="clone"):
        x.add_(1)
    assert x.clone().add_(1).tolist() == [3, 4]


# -- places in the graph ---------------------------------------------------------------------------


def test_a_promise_to_retain_the_gradient_goes_with_the_tensor():
    """It stayed with the op that the edit replaced, and so left the gradient of the value before the edit."""
    y = leaf(1.0, 2.0) * 2
    y.retain_grad()
    y.mul_(3)
    (y * y).sum().backward()

    assert y.retains_grad
    assert y.grad.tolist() == [12, 24]


def test_a_hook_stays_with_the_value_it_was_registered_on():
    x, seen = leaf(1.0, 2.0), []
    y = x * 2
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.mul_(3)
    (y * y).sum().backward()

    assert seen == [[36, 72]]


def test_a_view_of_no_more_interest_is_not_kept_alive_by_what_it_looks_at():
    y = leaf() * 1
    for _ in range(1000):
        y[1:].add_(1)

    assert len(getattr(y, "views", ())) < 20


def test_requires_grad_is_switched_off_and_on_again_with_the_hooks_left_in_place():
    """A frozen and thawed parameter had lost its hooks."""
    x, seen = leaf(1.0, 2.0), []
    x.register_hook(lambda g: seen.append("arrived"))
    x.register_post_accumulate_grad_hook(lambda p: seen.append("accumulated"))
    x.requires_grad_(False)
    assert not (x * 2).requires_grad
    x.requires_grad_(True)
    (x * 2).sum().backward()

    assert seen == ["arrived", "accumulated"]


def test_a_leaf_that_no_longer_wants_a_gradient_gets_none_from_an_old_graph():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = (x * w).sum()
    x.requires_grad_(False)
    y.backward()

    assert x.grad is None
    assert w.grad.tolist() == [1, 2]


def test_detach_in_place_makes_a_leaf_and_is_no_way_out_for_a_view():
    y = leaf() * 2
    with pytest.raises(errors.EditedError, match="view"):
        y[1:].detach_()
    y.detach_()

    assert y.is_leaf
    assert not y.requires_grad


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,)])
def test_arrays_of_no_axis_or_no_element_are_edited_too(shape):
    x = mg.tensor(np.ones(shape), requires_grad=True)
    y = x * 1
    y.mul_(3).add_(y)
    y[...] = y * 2
    y.sum().backward()

    assert x.grad.shape == shape
    assert (x.grad.numpy() == 12).all()


def test_a_view_that_was_itself_asked_for_a_gradient_still_gets_it_after_an_edit_of_the_data_behind_it():
    """It was told its place anew, in a graph that was not recorded, and required no gradient from then on."""
    x = mg.tensor([1.0, 2.0])
    v = x[1:].requires_grad_()
    x.mul_(3)
    (v * v).sum().backward()

    assert v.grad.tolist() == [12]


def test_it_does_so_in_forward_mode_too_where_every_view_is_told_its_place():
    with mg.autograd.forward_ad.dual_level():
        x = mg.tensor([1.0, 2.0])
        v = x[1:].requires_grad_()
        x.mul_(3)
        (v * v).sum().backward()

    assert v.grad.tolist() == [12]


@pytest.mark.parametrize("edit", ["fill_", "zero_", "copy_"])
@pytest.mark.parametrize("spread", [lambda x: x.expand(3, -1).clone(), lambda x: x.broadcast_to((3, 2)) * 1.0])
def test_the_whole_of_what_was_spread_is_edited_in_a_graph_as_by_run(spread, edit):
    def f(x):
        y = spread(x)
        getattr(y, edit)(*{"fill_": [7.0], "zero_": [], "copy_": [mg.arange(6).reshape(3, 2) * 1.0]}[edit])
        return y

    x = mg.tensor([1.0, 2.0])
    for traced in (mg.function(f), mg.function(f, jit_compile=True), mg.jit(f)):
        assert traced(x).tolist() == f(x).tolist() != spread(x).tolist()


@pytest.mark.parametrize("view", [lambda v: v.reshape(1), lambda v: v.unsqueeze(0), lambda v: v.view(1, 1)])
def test_gradients_reach_through_an_edited_view_of_a_single_number(view):
    z = mg.tensor(2.0, requires_grad=True)
    v = z * 1.0
    view(v).mul_(3.0)

    (g,) = mg.autograd.grad(v * v, z, create_graph=True)
    (h,) = mg.autograd.grad(g, z)

    assert (g.item(), h.item()) == (36.0, 18.0)  # of 9 z²
