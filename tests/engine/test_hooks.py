"""Hooks: who is shown a gradient, when, in which order, and what may be done with it."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base import errors
from minigrad.engine.tensor.early import at_end
from tests.support.leaves import leaf

# -- on the way ------------------------------------------------------------------------------------


def test_a_hook_is_shown_the_whole_gradient_once_however_many_uses_there_are():
    x, seen = leaf(1.0, 2.0), []
    y = x * 3
    y.register_hook(lambda g: seen.append(g.tolist()))
    (y * 2 + y * 5 + y).sum().backward()

    assert seen == [[8, 8]]


def test_what_a_hook_returns_goes_on_in_its_place():
    x = leaf(1.0, 2.0)
    y = x * 3
    y.register_hook(lambda g: g * 10)
    y.sum().backward()

    assert x.grad.tolist() == [30, 30]


def test_hooks_run_in_the_order_they_came_each_on_what_the_last_returned():
    x = leaf(1.0)
    x.register_hook(lambda g: g + 1)
    x.register_hook(lambda g: g * 2)
    x.register_hook(lambda g: None)
    (x * 3).sum().backward()

    assert x.grad.tolist() == [8]


def test_a_removed_hook_is_not_run_and_removing_twice_does_nothing():
    x, seen = leaf(1.0), []
    handle = x.register_hook(lambda g: seen.append(1))
    handle.remove()
    handle.remove()
    with x.register_hook(lambda g: seen.append(2)):
        (x * 3).sum().backward()
    (x * 3).sum().backward()

    assert seen == [2]


def test_hooks_removed_or_registered_while_they_run_count_from_the_next_pass_on():
    x, ran = leaf(1.0), []

    def first(g):
        ran.append("first")
        second.remove()
        x.register_hook(lambda g: ran.append("third"))

    x.register_hook(first)
    second = x.register_hook(lambda g: ran.append("second"))
    (x * 2).sum().backward()
    assert ran == ["first", "second"]

    ran.clear()
    (x * 2).sum().backward()
    assert ran == ["first", "third"]


def test_grad_runs_hooks_too_and_gives_what_they_return():
    """A hook on an inner result was passed over when the gradient asked for was that very one."""
    x = leaf(1.0, 2.0)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: g + 1)

    assert mg.grad((y * 3).sum(), y, retain_graph=True)[0].tolist() == [30, 30]
    assert [g.tolist() for g in mg.grad((y * 3).sum(), [y, x])] == [[30, 30], [61, 61]]
    assert x.grad is None


def test_backward_to_chosen_inputs_runs_their_hooks_once():
    for inputs in ("y", "yx"):
        x = leaf(1.0, 2.0)
        y, ran = x * 2, []
        y.register_hook(lambda g, ran=ran: ran.append(1) or g * 10)
        (y * 3).sum().backward(inputs=[{"x": x, "y": y}[name] for name in inputs])
        assert ran == [1]
        assert y.grad.tolist() == [30, 30]


def test_a_hook_may_keep_the_gradient_it_is_shown():
    """The leaf's gradient and the hook's were one array: zeroing the one wiped the other."""
    for where in (lambda x: x, lambda x: x + 1):
        x, kept = leaf(1.0, 2.0), []
        y = where(x)
        y.register_hook(kept.append)
        (y * 2).sum().backward()
        x.grad.zero_()
        assert kept[0].tolist() == [2, 2]


def test_a_hook_that_changes_shape_or_dtype_is_refused():
    for hook in (lambda g: g.sum(), lambda g: g.astype("f4"), lambda g: 3.0):
        y = leaf(1.0, 2.0) * 1
        y.register_hook(hook)
        with pytest.raises(errors.ShapeError, match="must return a gradient of that spec"):
            y.sum().backward()


def test_a_hook_on_what_no_gradient_passes_is_refused():
    for ask in ("register_hook", "register_post_accumulate_grad_hook"):
        with pytest.raises(errors.NoGradientError, match="requires_grad is False"):
            getattr(mg.tensor([1.0]), ask)(print)
    with pytest.raises(errors.NoGradientError, match="only leaves"):
        (leaf(1.0) * 2).register_post_accumulate_grad_hook(print)


def test_a_hook_sees_a_gradient_that_can_be_differentiated_exactly_under_create_graph():
    x, seen = leaf(2.0), []
    y = x * x
    y.register_hook(lambda g: seen.append((g.requires_grad, mg.is_grad_enabled())))
    z = (y * y).sum()
    z.backward(retain_graph=True)
    z.backward(create_graph=True)

    assert seen == [(False, False), (True, True)]


def test_what_a_hook_returns_under_create_graph_is_differentiated():
    x = leaf(2.0)
    y = x * x
    y.register_hook(lambda g: g * g)
    (g,) = mg.grad((y * 3).sum(), x, create_graph=True)  # 9 · 2x

    assert mg.grad(g.sum(), x)[0].tolist() == [18]


def test_a_hook_outlives_the_leaf_that_it_was_registered_on():
    """Backward looked for the tensor first, and where that had died the hook was not run."""
    seen = []

    def loss():
        w = leaf(3.0)
        w.register_hook(lambda g: seen.append(g.tolist()))
        return (w * 2).sum()

    loss().backward()
    assert seen == [[2]]


# -- the gradient that is retained -----------------------------------------------------------------


def test_retain_grad_comes_after_every_hook_whenever_it_was_asked():
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    (y * 3).sum().backward()

    assert y.grad.tolist() == [30]
    assert x.grad.tolist() == [60]


def test_retain_grad_adds_up_over_passes_and_is_nothing_on_a_leaf():
    x = leaf(1.0)
    x.retain_grad()
    y = x * 2
    y.retain_grad()
    for _ in range(2):
        (y * 3).sum().backward(retain_graph=True)

    assert y.grad.tolist() == [6]
    assert x.grad.tolist() == [12]
    assert y.retains_grad
    assert not x.retains_grad


def test_a_retained_gradient_that_is_also_asked_for_comes_once():
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    (y * 3).sum().backward(inputs=[x, y])

    assert y.grad.tolist() == [3]


def test_a_retained_gradient_has_an_array_of_its_own():
    x, gradient = leaf(1.0, 2.0), np.ones(2)
    y = x * 1
    y.retain_grad()
    y.backward(gradient)
    y.grad.zero_()

    assert x.grad.tolist() == gradient.tolist() == [1, 1]


# -- after accumulation ----------------------------------------------------------------------------


def test_a_hook_after_accumulation_sees_the_sum_and_may_use_it_up():
    x, seen = leaf(1.0), []

    def step(p):
        seen.append(p.grad.tolist())
        with mg.no_grad():
            p -= 0.1 * p.grad
        p.grad = None

    (x * 1).sum().backward()
    x.register_post_accumulate_grad_hook(step)
    (x * 3).sum().backward()
    (x * 5).sum().backward()

    assert seen == [[4], [5]]
    assert x.item() == pytest.approx(1 - 0.1 * 9)
    assert x.grad is None


def test_grad_accumulates_nothing_and_so_runs_no_hook_after_it():
    x, seen = leaf(1.0), []
    x.register_post_accumulate_grad_hook(seen.append)
    mg.grad((x * 3).sum(), x)

    assert seen == []


def test_a_leaf_that_a_hook_waits_for_has_its_gradient_while_backward_goes_on():
    x, w, v, story = leaf(2.0), leaf(3.0), leaf(5.0), []
    first = x * w
    first.register_hook(lambda g: story.append("first"))
    second = first * v + v  # used twice: not before both
    v.register_post_accumulate_grad_hook(lambda v: (story.append(v.grad.item()), at_end(end)))

    def end():
        story.append("end")

    second.backward()
    assert story == [7, "first", "end"]
    assert [leaf.grad.item() for leaf in (x, w, v)] == [15, 10, 7]


def test_what_a_hook_does_to_a_gradient_changes_no_other():
    """The gradient of a + b is one array for both; the second is on its way while the hook edits the first's."""
    a, b = leaf(1.0), leaf(2.0)
    a.register_post_accumulate_grad_hook(lambda a: a.grad.zero_())
    (a + b.exp().log()).backward()

    assert (a.grad.item(), b.grad.item()) == (0, pytest.approx(1))


def test_a_hook_inside_a_backward_ends_with_its_own():
    a, b, story = leaf(1.0), leaf(2.0), []
    b.register_post_accumulate_grad_hook(lambda b: at_end(lambda: story.append("inner")))

    def hook(a):
        at_end(lambda: story.append("outer"))
        with mg.enable_grad():
            (b * 2).backward()

    a.register_post_accumulate_grad_hook(hook)
    (a * 3).backward()
    assert story == ["inner", "outer"]


def test_inputs_name_who_has_a_gradient_and_hooks_are_told():
    a, b, seen = leaf(1.0), leaf(2.0), []
    for each in (a, b):
        each.register_post_accumulate_grad_hook(seen.append)
    (a * b).backward(inputs=[a])

    assert a.grad.item() == 2
    assert b.grad is None
    assert len(seen) == 1
    a.register_post_accumulate_grad_hook(lambda a: at_end(print))
    with pytest.raises(errors.NoGradientError, match="without inputs"):
        (a * b).backward(inputs=[a])


# -- backward inside a hook, and exceptions --------------------------------------------------------


def test_a_hook_may_run_a_forward_and_a_backward_of_its_own():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = x * x

    @mg.enable_grad()
    def hook(g):
        (w * w).sum().backward()

    y.register_hook(hook)
    y.sum().backward()

    assert x.grad.tolist() == [2, 4]
    assert w.grad.tolist() == [6, 8]


def test_a_backward_inside_a_hook_adds_to_the_same_leaf():
    x = leaf(1.0, 2.0)
    y, z = x * x, (x * 5).sum()
    y.register_hook(lambda g: z.backward())
    y.sum().backward()

    assert x.grad.tolist() == [7, 9]


def test_an_exception_in_a_hook_leaves_modes_and_gradients_as_they_were():
    x = leaf(1.0, 2.0)
    y = x * x

    def broken(g):
        raise KeyError("mine")

    y.register_hook(broken)
    with pytest.raises(KeyError, match="mine"):
        y.sum().backward()

    assert mg.is_grad_enabled()
    assert x.grad is None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]


# -- what accumulates ------------------------------------------------------------------------------


def test_gradients_accumulate_in_the_tensor_that_is_there():
    """A new one took its place at every pass, and whoever held the old one saw it stand still."""
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    first = x.grad
    (x * x).sum().backward()

    assert x.grad is first
    assert first.tolist() == [4, 8]


def test_under_create_graph_gradients_accumulate_in_a_new_tensor_with_a_history():
    x = leaf(1.0, 2.0)
    (x**3).sum().backward(create_graph=True)
    first = x.grad
    (x**3).sum().backward(create_graph=True)

    assert first.tolist() == [3, 12]
    assert x.grad.tolist() == [6, 24]
    (second,) = mg.grad(x.grad.sum(), x)
    assert second.tolist() == [12, 24]


def test_backward_to_no_input_or_to_one_that_wants_none_is_refused():
    y = (leaf(1.0) * 2).sum()
    with pytest.raises(errors.NoGradientError, match="got no tensors"):
        y.backward(inputs=[])
    with pytest.raises(errors.NoGradientError, match="input 0"):
        y.backward(inputs=[mg.tensor([1.0])])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_a_seed_takes_the_dtype_of_what_it_arrives_at(dtype):
    x, seen = mg.tensor([1.0, 2.0], dtype=dtype, requires_grad=True), []
    y = x * 1
    y.register_hook(lambda g: seen.append(g.dtype))
    y.backward(mg.tensor([1.0, 2.0]))
    y = (x * x).sum()
    y.backward()

    assert seen == [np.dtype(dtype)]
    assert x.grad.dtype == np.dtype(dtype)
    assert x.grad.tolist() == [3, 6]


def test_four_threads_add_to_one_leaf_and_nothing_is_lost():
    """Each read .grad, added, and wrote it back; what came between was lost."""
    from threading import Thread

    x = mg.tensor(np.zeros(50_000), requires_grad=True)
    threads = [Thread(target=lambda: [(x * 1.0).sum().backward() for _ in range(40)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (x.grad.numpy() == 160).all()


def test_create_graph_without_retain_graph_frees_the_first_graph_and_keeps_the_second():
    x = leaf(1.0, 2.0)
    y = (x**3).sum()
    (g,) = mg.grad(y, x, create_graph=True, retain_graph=False)

    assert mg.grad(g.sum(), x)[0].tolist() == [6, 12]
    with pytest.raises(errors.FreedError, match="retain_graph"):
        y.backward()
