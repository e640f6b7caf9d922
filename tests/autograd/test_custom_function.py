"""Function and custom_gradient: a derivative written by hand is checked, kept, freed and differentiated as ours are."""

import weakref

import numpy as np
import pytest

import minigrad as mg
from minigrad.autograd import forward_ad
from minigrad.engine.base import errors
from tests.across.test_lifetimes import uncollected
from tests.support.leaves import leaf
from tests.support.table import table


class Cube(mg.Function):
    """y = x³"""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, gy):
        (x,) = ctx.saved_tensors
        return 3 * x * x * gy


class Exp(mg.Function):
    """y = eˣ, of which the result is saved"""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, gy):
        (y,) = ctx.saved_tensors
        return y * gy


class Polar(mg.Function):
    """r, φ of x, y: two results, both saved, and so are the arguments"""

    @staticmethod
    def forward(ctx, x, y):
        r, angle = mg.hypot(x, y), mg.atan2(y, x)
        ctx.save_for_backward(x, y, r)
        return r, angle

    @staticmethod
    def backward(ctx, gr, gangle):
        x, y, r = ctx.saved_tensors
        return gr * x / r - gangle * y / r**2, gr * y / r + gangle * x / r**2


class InTheOtherStyle(mg.Function):
    """y = n x³, of a tensor and a number, with forward and context apart"""

    @staticmethod
    def forward(x, n):
        return n * x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.n = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, gy):
        (x,) = ctx.saved_tensors
        return 3 * ctx.n * x**2 * gy, None


def written(forward, backward):
    """A Function of two lambdas."""
    return type("Written", (mg.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)}).apply


CASES = {
    "cube": (Cube.apply, lambda x: x**3), "exp": (Exp.apply, lambda x: x.exp()),
    "the other style": (lambda x: InTheOtherStyle.apply(x, 3.0), lambda x: 3 * x**3),
    "one of two results": (lambda x: Polar.apply(x, x * x)[1], lambda x: mg.atan2(x * x, x)),
    "both": (lambda x: mg.stack(Polar.apply(x, x.sin())).prod(0), lambda x: x.hypot(x.sin()) * x.sin().atan2(x)),
    "one inside another": (lambda x: Cube.apply(Exp.apply(x)), lambda x: (3 * x).exp()),
}  # fmt: skip


@table("case", CASES)
def test_first_second_and_third_derivatives_are_those_of_the_composition(case):
    by_hand, composed = CASES[case]
    said = []
    for f in (by_hand, composed):
        x, derivatives = leaf(0.3, 0.8), []
        y = f(x).sum()
        for _ in range(3):
            (y,) = mg.grad(y.sum(), x, create_graph=True)
            derivatives.append(y.numpy())
        said.append(derivatives)

    np.testing.assert_allclose(*said, rtol=1e-10)


@table("case", CASES)
def test_finite_differences_agree(case):
    x = mg.tensor([0.3, 0.8])

    assert mg.gradcheck(CASES[case][0], x)
    assert mg.gradgradcheck(CASES[case][0], x)


# -- what backward is given ------------------------------------------------------------------------


def test_backward_learns_which_gradients_are_wanted():
    seen = []
    f = written(lambda ctx, x, n, w: x * w, lambda ctx, g: seen.append(ctx.needs_input_grad) or (g, None, g))
    f(leaf(1.0), 3, mg.tensor([2.0])).sum().backward()

    assert seen == [(True, False, False)]


def test_a_result_that_no_gradient_reached_counts_as_zeros_or_as_none():
    for materialize, expected in ((True, [[1], [0]]), (False, [[1], None])):
        seen = []

        def forward(ctx, x, materialize=materialize):
            ctx.set_materialize_grads(materialize)
            return x * 1, x * 2

        f = written(forward, lambda ctx, *gs, seen=seen: seen.extend(gs) or gs[0])
        f(leaf(1.0))[0].sum().backward()
        assert [None if g is None else g.tolist() for g in seen] == expected


def test_none_is_no_gradient_also_for_one_that_was_wanted():
    x, w = leaf(1.0), leaf(2.0)
    y = written(lambda ctx, x, w: x * w, lambda ctx, g: (None, g))(x, w)
    y.sum().backward()

    assert x.grad is None
    assert w.grad.tolist() == [1]


def test_none_may_be_saved():
    seen = []

    def forward(ctx, x):
        ctx.save_for_backward(None, x)
        return x * 1

    written(forward, lambda ctx, g: seen.append(ctx.saved_tensors[0]) or g)(leaf(1.0)).sum().backward()
    assert seen == [None]


def test_a_function_of_no_tensor_that_wants_a_gradient_is_not_recorded():
    y = Cube.apply(mg.tensor([2.0]))
    with mg.no_grad():
        z = Cube.apply(leaf(2.0))

    assert not y.requires_grad
    assert z.grad_fn is None
    assert y.tolist() == z.tolist() == [8]


def test_a_function_has_its_name_in_the_graph():
    y, (r, angle) = Cube.apply(leaf(2.0)), Polar.apply(leaf(1.0), leaf(2.0))

    assert y.grad_fn.name() == "CubeBackward"
    assert r.grad_fn.next_functions[0][0] == angle.grad_fn.next_functions[0][0]
    assert r.grad_fn.next_functions[0][0].name() == "PolarBackward"


def test_a_gradient_takes_the_dtype_of_its_argument():
    x = mg.tensor([1.0], dtype="f4", requires_grad=True)
    written(lambda ctx, x: x * 1, lambda ctx, g: g.astype("f8"))(x).sum().backward()

    assert x.grad.numpy().dtype == np.float32


# -- mistakes --------------------------------------------------------------------------------------


MISTAKES = {
    "too few gradients": (lambda ctx, x, w: x * w, lambda ctx, g: g, errors.NoGradientError, r"2 arg.*returned 1"),
    "too many gradients": (lambda ctx, x, w: x * w, lambda ctx, g: (g, g, g), errors.NoGradientError, "returned 3"),
    "a gradient of another shape": (
        lambda ctx, x, w: x * w, lambda ctx, g: (g.sum(), g), errors.ShapeError, r"tensor\(2\.\) as.*f64\[2\]"),
    "a gradient that is no tensor": (lambda ctx, x, w: x * w, lambda ctx, g: (1.0, g), errors.ShapeError, "gave 1.0"),
    "a result that is no tensor": (lambda ctx, x, w: 3.0, lambda ctx, g: (g, g), TypeError, "must return a tensor"),
    "what was edited, not returned": (
        lambda ctx, x, w: ctx.mark_dirty(x) or x * 1, lambda ctx, g: (g, g), errors.EditedError, "return it too"),
}  # fmt: skip


@table("case", MISTAKES)
def test_a_clear_sentence_answers(case):
    forward, backward, error, sentence = MISTAKES[case]
    with pytest.raises(error, match=sentence):
        written(forward, backward)(leaf(1.0, 2.0) * 1, leaf(3.0, 4.0)).sum().backward()


def test_nones_behind_the_gradients_are_let_pass():
    x = leaf(1.0)
    written(lambda ctx, x: x * 1, lambda ctx, g: (g, None, None))(x).sum().backward()

    assert x.grad.tolist() == [1]


def test_what_is_not_written_says_so():
    class Half(mg.Function):
        @staticmethod
        def forward(ctx, x):
            return x / 2

    with pytest.raises(errors.NoGradientError, match=r"backward\(ctx, \*gradients\)"):
        Half.apply(leaf(1.0)).sum().backward()
    with pytest.raises(errors.NoGradientError, match=r"jvp\(ctx, \*tangents\)"):
        mg.func.jvp(Half.apply, (leaf(1.0),), (leaf(1.0),))
    with pytest.raises(NotImplementedError, match="forward"):
        mg.Function.apply(leaf(1.0))


def test_an_edit_of_what_a_function_saved_is_refused():
    y = leaf(1.0, 2.0) * 1
    z = Cube.apply(y)
    y.add_(1)

    with pytest.raises(errors.EditedError, match="reads what it saved"):
        z.sum().backward()


def test_a_second_backward_is_refused_where_something_was_saved():
    y = Cube.apply(leaf(2.0)).sum()
    y.backward()

    with pytest.raises(errors.FreedError, match="retain_graph"):
        y.backward()


# -- results ---------------------------------------------------------------------------------------


def test_a_result_marked_non_differentiable_stops_the_gradient():
    def forward(ctx, x):
        order, sign = x.argsort(), x.sign()
        ctx.mark_non_differentiable(order, sign)
        return x * 2, order, sign

    x = leaf(3.0, 1.0)
    y, order, sign = written(forward, lambda ctx, g, *flat: g * 2)(x)

    assert (y.requires_grad, order.requires_grad, sign.requires_grad) == (True, False, False)
    (y * sign).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_a_single_result_marked_non_differentiable_stops_the_gradient_in_a_graph_too():
    """In a traced function the mark was ignored, and the gradient was 6."""

    def forward(ctx, x):
        y = x * 2
        ctx.mark_non_differentiable(y)
        return y

    f = written(forward, lambda ctx, g: g * 5)
    for call in (lambda x: (f(x) + x).sum(), mg.function(lambda x: (f(x) + x).sum())):
        x = leaf(3.0, 1.0)
        call(x).backward()
        assert x.grad.tolist() == [1, 1]


def test_an_argument_passed_through_becomes_a_result_with_memory_of_its_own():
    """It shared the argument's: an edit of the result changed the argument's value, and not its gradient."""
    for through in (lambda ctx, x: x, lambda ctx, x: x.reshape(2, 1), lambda ctx, x: x[...]):
        x = leaf(1.0, 2.0)
        y = x * 1
        z = written(through, lambda ctx, g: g.reshape(2) * 10)(y)
        assert z is not y
        z.mul_(3)
        (y.sum() + z.sum()).backward()
        assert y.tolist() == [1, 2]
        assert x.grad.tolist() == [31, 31]


def test_two_results_do_not_share_memory():
    y, z = written(lambda ctx, x: ((t := x * 2), t), lambda ctx, g, h: g + h)(leaf(1.0))
    y.zero_()

    assert z.tolist() == [2]


# -- edits -----------------------------------------------------------------------------------------


class ExpInPlace(mg.Function):
    """eˣ, written where x was; the result is saved"""

    @staticmethod
    def forward(ctx, x):
        x.exp_()
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, gy):
        (y,) = ctx.saved_tensors
        return gy * y


def test_a_result_may_be_the_argument_edited_and_be_saved():
    """The mark itself came after the saving, and so was the edit that backward then refused."""
    x = leaf(0.5, 1.0)
    y = x * 2
    z = ExpInPlace.apply(y)
    (z * z).sum().backward()

    assert z is y
    assert y._version >= 1
    np.testing.assert_allclose(x.grad.numpy(), 4 * np.exp(4 * x.numpy()))


def test_an_edit_by_numpy_counts_if_it_is_marked():
    def forward(ctx, x):
        x.numpy()[...] *= 2
        ctx.mark_dirty(x)
        return x

    y = leaf(1.0, 2.0) * 1
    z = (y * y).sum()
    written(forward, lambda ctx, g: g * 2)(y)

    assert y._version == 1
    with pytest.raises(errors.EditedError):
        z.backward()


def test_an_edited_view_tells_what_it_looks_at():
    x = leaf(0.5, 1.0)
    y = x * 1
    ExpInPlace.apply(y[1:])
    y.sum().backward()

    np.testing.assert_allclose(x.grad.numpy(), [1, np.exp(1)])


def test_an_edited_tensor_tells_its_views():
    x = leaf(0.5, 1.0)
    y = x * 1
    v = y[1:]
    ExpInPlace.apply(y)
    v.sum().backward()

    np.testing.assert_allclose(x.grad.numpy(), [0, np.exp(1)])


def test_a_leaf_that_is_recorded_is_not_edited_by_a_function():
    for tensor in (leaf(1.0), leaf(1.0)[0:]):
        with pytest.raises(errors.EditedError, match="leaf that requires a gradient"):
            ExpInPlace.apply(tensor)
    with mg.no_grad():
        assert ExpInPlace.apply(x := leaf(0.0)) is x
    assert x.tolist() == [1]


# -- memory ----------------------------------------------------------------------------------------


def test_what_is_saved_is_freed_by_backward_and_only_then():
    y = Exp.apply(leaf(1.0, 2.0))
    kept = weakref.ref(y.value)
    total = y.sum()
    del y

    assert kept() is not None
    total.backward()
    assert kept() is None


class Held(mg.Function):
    """Keeps result and argument in every way there is."""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(y)
        ctx.x, ctx.y = x, y
        return y, y * 2

    @staticmethod
    def backward(ctx, g, h):
        return (g + 2 * h) * ctx.y


def test_a_function_makes_no_reference_cycle_not_even_through_ctx():
    with uncollected():
        y, z = Held.apply(leaf(1.0, 2.0))
        alive = weakref.ref(y.node)
        y.sum().backward()
        del y, z
        assert alive() is None


# -- forward mode ----------------------------------------------------------------------------------


class Product(mg.Function):
    """x w, and n: tensors with a number between them"""

    @staticmethod
    def forward(ctx, x, n, w):
        y = x * w
        ctx.save_for_forward(x, w, y)
        return y, y * n

    @staticmethod
    def jvp(ctx, dx, dn, dw):
        x, w, _ = ctx.saved_tensors
        assert dn is None
        dy = dx * w + x * dw
        return dy, dy * 3.0


def test_forward_mode_calls_jvp_with_what_was_saved_for_it():
    (y, z), (dy, dz) = mg.func.jvp(
        lambda x, w: Product.apply(x, 3.0, w), (leaf(2.0), mg.tensor([5.0])), (mg.tensor([1.0]), mg.tensor([10.0]))
    )

    assert (y.tolist(), z.tolist()) == ([10], [30])
    assert (dy.tolist(), dz.tolist()) == ([25], [75])


def test_a_tangent_of_another_shape_is_refused():
    class Wrong(Product):
        @staticmethod
        def jvp(ctx, dx, dn, dw):
            return dx.sum(), dw

    with forward_ad.dual_level(), pytest.raises(errors.ShapeError, match=r"Wrong\.jvp"):
        Wrong.apply(forward_ad.make_dual(mg.tensor([1.0, 2.0]), mg.tensor([1.0, 1.0])), 3.0, mg.tensor([1.0, 1.0]))


def test_backward_through_a_function_moves_as_its_arguments_do():
    """Forward over reverse: no jvp of Exp itself is asked for, its forward having run before."""
    x, dx = mg.tensor([0.5, 1.0]), mg.tensor([1.0, -1.0])

    class WithBoth(Exp):
        @staticmethod
        def jvp(ctx, dx):
            (y,) = ctx.saved_tensors
            return dx * y

        @staticmethod
        def forward(ctx, x):
            y = Exp.forward(ctx, x)
            ctx.save_for_forward(y)
            return y

    _, moved = mg.func.jvp(mg.func.grad(lambda x: (WithBoth.apply(x) ** 2).sum()), (x,), (dx,))
    np.testing.assert_allclose(moved.numpy(), 4 * np.exp(2 * x.numpy()) * dx.numpy())


# -- custom_gradient -------------------------------------------------------------------------------


@mg.custom_gradient
def log1pexp(x):
    e = x.exp()
    return (1 + e).log(), lambda gy: gy * (1 - 1 / (1 + e))


def test_a_custom_gradient_is_finite_where_the_composed_one_is_not():
    x = leaf(100.0)
    log1pexp(x).sum().backward()

    assert x.grad.tolist() == [1]


def test_a_custom_gradient_is_differentiated_through_what_it_closes_over():
    """What f computed was not recorded, so that e stood still, and the second derivative was that of a constant."""
    x = mg.tensor([-0.5, 0.7])

    assert mg.gradcheck(log1pexp, x)
    assert mg.gradgradcheck(log1pexp, x)


def test_a_custom_gradient_of_several_arguments_and_results():
    @mg.custom_gradient
    def both(x, w, *, scale):
        return (x * w * scale, x + w), lambda g, h: ((g * w * scale + h) * 100, g * x * scale + h)

    x, w = leaf(2.0), leaf(3.0)
    y, z = both(x, w, scale=10.0)
    (y + z).sum().backward()

    assert (y.tolist(), z.tolist()) == ([60], [5])
    assert (x.grad.tolist(), w.grad.tolist()) == ([3100], [21])


def test_a_custom_gradient_that_closes_over_its_result_makes_no_cycle():
    """The result's record led to the closure, and the closure to the result."""

    @mg.custom_gradient
    def exp(x):
        y = x.exp()
        return y, lambda gy: gy * y

    with uncollected():
        y = exp(leaf(1.0))
        alive = weakref.ref(y.node)
        del y
        assert alive() is None
