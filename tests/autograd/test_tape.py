"""GradientTape: what TensorFlow's documentation promises, sentence by sentence."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base import errors


def constant(*numbers):
    return mg.tensor(list(numbers) if len(numbers) > 1 else numbers[0])


def variable(*numbers):
    return mg.tensor(list(numbers) if len(numbers) > 1 else numbers[0], requires_grad=True)


# -- watching --------------------------------------------------------------------------------------


def test_a_watched_tensor_has_a_gradient_and_is_itself_again_afterwards():
    x = constant(3.0)
    with mg.GradientTape() as tape:
        tape.watch(x)
        y = x * x

    assert tape.gradient(y, x).item() == 6
    assert not x.requires_grad
    assert not (x * 2).requires_grad


def test_variables_are_watched_without_asking_and_constants_are_not():
    v, c = variable(3.0), constant(2.0)
    with mg.GradientTape() as tape:
        y = v * c
    gv, gc = tape.gradient(y, [v, c])

    assert gv.item() == 2
    assert gc is None


def test_without_automatic_watching_variables_are_watched_by_asking():
    v, w = variable(3.0), variable(4.0)
    with mg.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(v)
        y = v * w
    gv, gw = tape.gradient(y, [v, w])

    assert gv.item() == 4
    assert gw is None


def test_watched_variables_are_those_asked_for_and_those_used():
    """They were only those asked for, and `tape.gradient(loss, tape.watched_variables())` trained nothing."""
    a, b, unused, c = variable(1.0), variable(2.0), variable(3.0), constant(4.0)
    with mg.GradientTape() as tape:
        tape.watch(c)
        y = b * a * b * c
    assert [x is z for x, z in zip(tape.watched_variables(), (c, b, a), strict=True)] == [True] * 3

    assert [g.item() for g in tape.gradient(y, tape.watched_variables())] == [4, 16, 16]
    assert unused.grad is None


def test_watching_begins_when_it_is_asked_for():
    x = constant(3.0)
    with mg.GradientTape(persistent=True) as tape:
        before = x * x
        tape.watch(x)
        after = x * x

    assert tape.gradient(before, x) is None
    assert tape.gradient(after, x).item() == 6


def test_watch_takes_structures_and_refuses_what_has_no_slope():
    x, w = constant(2.0), constant(3.0)
    with mg.GradientTape() as tape:
        tape.watch({"x": x, "rest": [w]})
        y = x * w
        for wrong in (constant(1), 3.0):
            with pytest.raises(errors.DTypeError, match="floating"):
                tape.watch(wrong)

    g = tape.gradient(y, {"x": x, "rest": [w]})
    assert (g["x"].item(), g["rest"][0].item()) == (3, 2)


def test_an_intermediate_result_is_a_source_too():
    x = variable(3.0)
    with mg.GradientTape() as tape:
        y = x * x
        z = y * y

    gy, gx = tape.gradient(z, [y, x])
    assert (gy.item(), gx.item()) == (18, 108)


def test_only_what_ran_inside_the_block_is_recorded():
    """What had been recorded before the tape was opened was on it too: the one graph knows of no tapes."""
    x = variable(3.0)
    y = x * x
    with mg.GradientTape(persistent=True) as tape:
        z = y * 2
    w = z * 5

    assert tape.gradient(z, y).item() == 2
    assert tape.gradient(z, x) is None
    assert tape.gradient(w, y) is None


def test_nothing_changes_inside_no_grad_but_for_the_tape():
    x = variable(3.0)
    with mg.no_grad():
        with mg.GradientTape() as tape:
            y = x * x
        z = x * x

    assert tape.gradient(y, x).item() == 6
    assert not z.requires_grad


# -- asking ----------------------------------------------------------------------------------------


def test_a_tape_gives_one_gradient_unless_it_is_persistent():
    x = variable(3.0)
    with mg.GradientTape() as tape:
        y = x * x
    tape.gradient(y, x)
    with pytest.raises(errors.FreedError, match="persistent=True"):
        tape.gradient(y, x)

    with mg.GradientTape(persistent=True) as tape:
        y = x * x
        z = y * y
    assert [tape.gradient(z, x).item(), tape.gradient(y, x).item(), tape.gradient(z, y).item()] == [108, 6, 18]


def test_several_targets_add_up_and_many_elements_count_once_each():
    x = variable(1.0, 2.0)
    with mg.GradientTape(persistent=True) as tape:
        y, z = x * x, x * 3

    assert tape.gradient([y, z], x).tolist() == [5, 7]
    assert tape.gradient({"y": y}, {"x": x})["x"].tolist() == [2, 4]


def test_what_arrives_at_the_targets_may_be_given():
    x = variable(1.0, 2.0)
    with mg.GradientTape(persistent=True) as tape:
        y, z = x * x, x * 3

    assert tape.gradient(y, x, output_gradients=constant(10.0, 100.0)).tolist() == [20, 400]
    assert tape.gradient([y, z], x, output_gradients=[constant(10.0, 100.0), None]).tolist() == [23, 403]
    with pytest.raises(errors.ShapeError, match="structure"):
        tape.gradient([y, z], x, output_gradients=[constant(1.0, 1.0)])


def test_what_is_not_connected_is_none_or_zeros():
    x, w = variable(1.0, 2.0), variable(3.0, 4.0)
    with mg.GradientTape(persistent=True) as tape:
        y, still = x * x, constant(1.0, 2.0) * 2

    assert tape.gradient(y, w) is None
    assert tape.gradient(still, x) is None
    assert tape.gradient(y, [x, w], unconnected_gradients="zero")[1].tolist() == [0, 0]
    assert tape.gradient(still, w, unconnected_gradients="zero").tolist() == [0, 0]
    with pytest.raises(ValueError, match='"none" or "zero"'):
        tape.gradient(y, x, unconnected_gradients="nothing")


def test_grad_is_left_alone():
    x = variable(3.0)
    with mg.GradientTape() as tape:
        y = x * x
    tape.gradient(y, x)

    assert x.grad is None


# -- nested ----------------------------------------------------------------------------------------


def test_a_tape_inside_a_tape_gives_second_derivatives():
    x = constant(3.0)
    with mg.GradientTape() as outer:
        outer.watch(x)
        with mg.GradientTape() as inner:
            inner.watch(x)
            y = x**4
        slope = inner.gradient(y, x)
    assert slope.item() == 108
    assert outer.gradient(slope, x).item() == 108


def test_a_gradient_asked_after_all_tapes_are_closed_is_not_recorded():
    x = variable(3.0)
    with mg.GradientTape() as tape:
        y = x**4

    assert not tape.gradient(y, x).requires_grad


def test_a_slope_that_an_inner_tape_has_not_heard_has_no_gradient():
    x = constant(2.0)
    with mg.GradientTape() as outer:
        outer.watch(x)
        with mg.GradientTape() as inner:
            pass
        slope = inner.gradient(constant(2.0) ** 3, x)

    for asked in (outer.gradient, outer.jacobian, outer.batch_jacobian):
        with pytest.raises(errors.NoGradientError, match="the target is None"):
            asked(slope, x)
    outer.gradient(x * 1, x)  # it is not spent by what was refused


def test_third_derivatives():
    x = variable(2.0)
    with mg.GradientTape() as a:
        with mg.GradientTape() as b:
            with mg.GradientTape() as c:
                y = x**5
            first = c.gradient(y, x)
        second = b.gradient(first, x)
    assert a.gradient(second, x).item() == 60 * 4


def test_each_tape_gives_its_gradient_from_what_they_recorded_together():
    """The first one's gradient freed the graph that was the second one's as well."""
    x = variable(3.0)
    with mg.GradientTape() as a, mg.GradientTape() as b:
        y = x * x
        z = y * y

    assert a.gradient(z, x).item() == 108
    assert b.gradient(y, x).item() == 6


def test_a_tensor_watched_by_two_tapes_is_watched_until_the_last_is_closed():
    """The inner tape had switched it on, and switched it off while the outer one was still listening."""
    x = constant(3.0)
    with mg.GradientTape() as outer:
        with mg.GradientTape() as inner:
            inner.watch(x)
            outer.watch(x)
            y = x * x
        z = y * x
    assert outer.gradient(z, x).item() == 27
    assert inner.gradient(y, x).item() == 6
    assert not x.requires_grad


# -- stopping and beginning anew -------------------------------------------------------------------


def test_what_runs_while_it_is_stopped_is_not_recorded():
    x = variable(3.0)
    with mg.GradientTape(persistent=True) as tape:
        y = x * x
        with tape.stop_recording():
            z = y * y
            assert not z.requires_grad
            assert tape.gradient(y, x).item() == 6
        w = y * 2

    assert tape.gradient(z, x) is None
    assert tape.gradient(w, x).item() == 12


def test_a_tape_around_one_that_is_stopped_goes_on_recording():
    """Stopping one tape stopped all."""
    x = variable(3.0)
    with mg.GradientTape() as outer, mg.GradientTape() as inner, inner.stop_recording():
        y = x * x

    assert inner.gradient(y, x) is None
    assert outer.gradient(y, x).item() == 6


def test_an_exception_while_it_is_stopped_lets_it_go_on():
    x = variable(3.0)
    with mg.GradientTape() as tape:
        with pytest.raises(KeyError), tape.stop_recording():
            raise KeyError("mine")
        y = x * x

    assert tape.gradient(y, x).item() == 6


def test_after_an_exception_the_tape_is_closed():
    x = constant(3.0)

    def broken():
        with mg.GradientTape() as tape:
            tape.watch(x)
            raise KeyError("mine")

    with pytest.raises(KeyError):
        broken()

    assert not x.requires_grad
    with mg.GradientTape() as other:
        other.watch(x)
        y = x * x
    assert not other.gradient(y, x).requires_grad  # no tape is open that would want it


def test_reset_forgets_what_was_recorded_and_watched():
    x, v = constant(3.0), variable(2.0)
    with mg.GradientTape() as tape:
        tape.watch(x)
        y = x * v
        tape.gradient(y, v)
        tape.reset()
        z = x * v + v
        assert not x.requires_grad

    gx, gv = tape.gradient([y, z], [x, v])
    assert gx is None
    assert gv.item() == 4  # z alone: y was forgotten


def test_a_tape_opened_again_goes_on_recording():
    x = variable(3.0)
    tape = mg.GradientTape(persistent=True)
    with tape:
        y = x * x
    between = y * 1
    with tape:
        z = y * y

    assert tape.gradient(z, x).item() == 108
    assert tape.gradient(between, x) is None


# -- Jacobians -------------------------------------------------------------------------------------


def test_a_jacobian_is_one_row_for_each_element_of_the_target():
    x, w = variable(1.0, 2.0), variable(3.0, 4.0)
    with mg.GradientTape(persistent=True) as tape:
        y = mg.stack([x.prod(), (x * x).sum(), w.sum()])

    Jx, Jw = tape.jacobian(y, [x, w])
    assert Jx.tolist() == [[2, 1], [2, 4], [0, 0]]
    assert Jw.tolist() == [[0, 0], [0, 0], [1, 1]]
    assert tape.jacobian(y.sum(), constant(1.0)) is None
    assert tape.jacobian(y, constant(1.0), unconnected_gradients="zero").tolist() == [0, 0, 0]


def test_jacobians_of_jacobians():
    x = variable(1.0, 2.0)
    with mg.GradientTape() as outer:
        with mg.GradientTape() as inner:
            y = (x**3).sum()
        slope = inner.jacobian(y, x)

    assert outer.jacobian(slope, x).tolist() == [[6, 0], [0, 12]]


def test_a_batch_jacobian_is_the_diagonal_of_the_whole():
    x = mg.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    with mg.GradientTape(persistent=True) as tape:
        y = x[:, :2] * x.sum(axis=1, keepdims=True)
    full, batch = tape.jacobian(y, x), tape.batch_jacobian(y, x)

    assert batch.shape == (2, 2, 3)
    for n in range(2):
        assert batch[n].tolist() == full[n, :, n].tolist()
    with pytest.raises(errors.ShapeError, match="one length"):
        tape.batch_jacobian(y, x[0])


# -- beside the rest -------------------------------------------------------------------------------


def test_a_custom_gradient_is_what_the_tape_finds():
    @mg.custom_gradient
    def clipped(x):
        return x * 1, lambda gy: gy.clamp(-1, 1)

    x = variable(1.0)
    with mg.GradientTape() as tape:
        y = clipped(x) * 100

    assert tape.gradient(y, x).item() == 1


def test_a_tape_inside_forward_mode_moves_with_its_tensor():
    """watch() gave the tensor a new place in the graph, and left behind how it moved."""

    def slope(x):
        with mg.GradientTape() as tape:
            tape.watch(x)
            y = (x**3).sum()
        return tape.gradient(y, x) * x

    x = mg.tensor([1.0, 2.0])
    assert mg.func.jvp(slope, (x,), (mg.tensor([1.0, 1.0]),))[1].tolist() == [9, 36]


def test_a_training_loop():
    w, x = variable(0.0), constant(1.0, 2.0)
    for _ in range(100):
        with mg.GradientTape() as tape:
            loss = ((w * x - 3 * x) ** 2).mean()
        (g,) = tape.gradient(loss, [w])
        with mg.no_grad():
            w -= 0.1 * g

    assert w.item() == pytest.approx(3)
