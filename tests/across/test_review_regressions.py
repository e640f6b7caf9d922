"""What a reviewer broke once: each test is a story that ended badly before."""

import copy

import numpy as np
import pytest

import minigrad as mg
from minigrad import laws, ops
from minigrad.engine.base import errors, spec
from minigrad.engine.core.op import Elementwise
from tests.support.table import mistakes


def leaf(*numbers):
    return mg.tensor(np.array(numbers, float).reshape(-1) if len(numbers) > 1 else numbers[0], requires_grad=True)


def test_second_derivatives_of_a_network_on_data_match_finite_differences():
    """A rule keeps only what the wanted gradients read; run on tensors, it must not ask for more."""
    rng = np.random.default_rng(0)
    x, W, v = (mg.tensor(rng.normal(size=shape)) for shape in ((4, 3), (3, 2), (3, 2)))

    def slope(W):
        W = mg.tensor(W.numpy(), requires_grad=True) if not W.requires_grad else W
        loss = ((x @ W).tanh() * 3 + 2.0 ** W.sum()).mean()
        return mg.grad(loss, W, create_graph=True)[0]

    W = mg.tensor(W.numpy(), requires_grad=True)
    (curved,) = mg.grad((slope(W) * v).sum(), W)

    h = 1e-5
    up, down = (slope(mg.tensor(W.numpy() + s * v.numpy())).numpy() for s in (h, -h))
    np.testing.assert_allclose(curved.numpy(), (up - down) / (2 * h), rtol=1e-7)


def test_a_gradient_that_is_a_tensor_keeps_its_origin():
    x, v = leaf(3.0), leaf(2.0)
    (g,) = mg.grad(x * x, x, grad_outputs=v, create_graph=True)
    (by_v,) = mg.grad(g, v)

    assert by_v.item() == 6


def test_a_gradient_towards_a_middle_leaves_the_way_there_alone():
    x = leaf(2.0)
    h = x * x
    mg.grad(h * h, h)
    h.backward()

    assert x.grad.item() == 4


def test_an_unused_input_has_no_gradient_unless_that_is_allowed():
    x, y = leaf(2.0), leaf(3.0)

    with pytest.raises(errors.NoGradientError, match="allow_unused"):
        mg.grad(x * x, [x, y])
    assert mg.grad(x * x, [x, y], allow_unused=True)[1] is None
    assert mg.gradcheck(lambda a, b: a * a, [mg.tensor([1.0]), mg.tensor([2.0])])


def test_adam_moves_a_number_as_it_moves_an_array_of_one():
    paths = []
    for w in (leaf(3.0), mg.tensor([3.0], requires_grad=True)):
        optimizer = mg.optim.Adam([w], lr=0.1)
        for _ in range(20):
            optimizer.zero_grad()
            ((w - 1) ** 2).sum().backward()
            optimizer.step()
        paths.append(w.item())

    assert paths[0] == paths[1]


def test_a_condition_of_ones_and_zeros_chooses_as_true_and_false_do():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    mg.where(np.array([1, 0]), x, y).sum().backward()

    assert (x.grad.numpy().tolist(), y.grad.numpy().tolist()) == ([1, 0], [0, 1])
    assert mg.where(np.array([True, False]), 1.0, 2.0).numpy().tolist() == [1, 2]


def test_a_leaf_told_twice_to_require_gradients_stays_in_its_graph():
    x = leaf(3.0)
    y = x * x
    x.requires_grad_()
    y.backward()

    assert x.grad.item() == 6


def test_a_shared_layer_moves_once_a_step():
    class Shared(mg.nn.Module):
        def __init__(self):
            self.first = mg.nn.Linear(1, 1, bias=False)
            self.second = self.first

        def forward(self, x):
            return self.first(x)

    net = Shared()
    before = net.first.weight.item()
    net(mg.tensor([1.0])).sum().backward()
    mg.optim.SGD(net.parameters(), lr=1.0).step()

    assert net.first.weight.item() == pytest.approx(before - 1)


def test_a_model_can_be_copied_to_keep_the_best():
    model = mg.nn.Linear(2, 1)
    model(mg.tensor([1.0, 2.0])).sum().backward()
    best = copy.deepcopy(model)
    model.weight.value += 1

    assert best.weight.requires_grad
    assert best.weight.grad.numpy().tolist() == [[1, 2]]
    np.testing.assert_allclose(best.weight.numpy() + 1, model.weight.numpy())
    with pytest.raises(errors.NoGradientError, match="detach"):
        copy.deepcopy(model.weight * 2)


def test_a_numpy_exponent_is_an_exponent():
    x = leaf(4.0)
    (x ** np.float64(1.5)).backward()

    assert x.grad.item() == 3


def test_the_softmax_of_integers_is_that_of_the_same_floats():
    np.testing.assert_array_equal(mg.softmax([1, 2, 3], 0).numpy(), mg.softmax([1.0, 2.0, 3.0], 0).numpy())


def test_a_drawing_shows_the_data_a_leaf_has_now():
    x = leaf(1.0)
    x.data = 5.0
    y = x * 2

    assert "x = 5" in mg.draw(y, names={"x": x, "y": y}).text


def test_an_op_may_write_its_power_with_stars():
    class Cube(Elementwise):
        def forward(self, xp, x):
            return x**3

        def partials(self, y, x):
            return (3 * x**2,)

    laws.check(Cube(), (2, 3))
    assert Cube().flops(leaf(1.0, 2.0).spec, leaf(1.0, 2.0).spec) == 2


def test_a_forgotten_comma_is_named():
    class Forgotten(Elementwise):
        def forward(self, xp, x, y):
            return x * y

        def partials(self, z, x, y):
            return y

    with pytest.raises(TypeError, match=r"Forgotten.partials must return a tuple.*\(slope0, slope1\)"):
        leaf(1.0, 2.0).apply(Forgotten(), leaf(3.0, 5.0))


def test_a_tuple_too_many_and_a_shape_for_a_spec_are_named():
    class Tupled(ops.Reshape):
        def adjoint(self, gy, x):
            return (gy.reshape(x.shape),)

    class Shapely(ops.Reshape):
        def infer(self, x):
            return self.shape

    with pytest.raises(TypeError, match="adjoint must return Aᵀ gy itself"):
        leaf(1.0, 2.0).apply(Tupled((2, 1)))
    with pytest.raises(TypeError, match="infer must return a Spec"):
        leaf(1.0, 2.0).apply(Shapely((2, 1)))


MISTAKES = {
    "a function in a Sequential": (lambda: mg.nn.Sequential(mg.softmax), TypeError, "needs modules"),
    "a result for a parameter": (lambda: mg.optim.SGD([leaf(1.0) * 2]), TypeError, "updates leaves"),
    "data for a parameter": (lambda: mg.optim.SGD([mg.tensor(1.0)]), TypeError, "require a gradient"),
    "a mask of another length": (lambda: mg.tensor([1.0, 2.0])[np.array([True])], IndexError, "boolean index"),
    "one boolean for an index": (lambda: mg.tensor([1.0, 2.0])[True], errors.DTypeError, "masks"),
    "text with a dtype": (lambda: mg.tensor("abc", dtype=float), errors.DTypeError, "holds numbers"),
    "a cast to text": (lambda: mg.tensor([1.0]).astype(str), errors.DTypeError, "real numbers"),
    "an axis of a number": (lambda: mg.tensor(1.0).sum(1), errors.ShapeError, "no axes"),
    "two lengths to be worked out": (lambda: mg.tensor([1.0]).reshape(-1, -1), errors.ShapeError, "at most one"),
    "a negative length": (lambda: mg.tensor([1.0]).reshape(-2, -3), errors.ShapeError, "0 or more"),
    "NumPy data of another width": (lambda: mg.nn.Linear(3, 2)(np.ones((5, 4))), errors.ShapeError, r"\(…, 3\)"),
    "a root of a negative Value": (lambda: mg.Value(-8.0) ** (1 / 3), ValueError, "no real number"),
    "text in a Value": (lambda: mg.Value("a"), TypeError, "plain numbers"),
    "an array in a Value": (lambda: mg.Value(np.ones(2)), TypeError, "plain numbers"),
    "text for an exponent": (lambda: mg.Value(2.0) ** "a", TypeError, "plain numbers"),
}


test_a_clear_sentence_answers = mistakes(MISTAKES)


@pytest.mark.parametrize("run", [lambda f: f, mg.function], ids=["eager", "traced"])
def test_in_a_browser_places_are_counted_in_32_bits_and_none_is_cut_off(monkeypatch, run):
    """NumPy's `take` refused int64 there, so that no embedding ran, and its general index read place 0 for 2³²."""
    monkeypatch.setattr(spec, "PLACE", np.dtype(np.int32))
    x, far = mg.arange(6.0).reshape(3, 2), mg.tensor([2**32])
    row, each = run(lambda x, i: x[i]), run(lambda x, i: x[i, i])

    assert spec.as_places(np.array([2, -(2**32), 2**32])).tolist() == [2, -(2**31), 2**31 - 1]
    assert spec.as_places(np.array([2])).dtype == np.int32
    assert row(x, mg.tensor([2, -1])).tolist() == [[4, 5], [4, 5]]
    assert each(x, mg.tensor([1, -1])).tolist() == [3, 5]
    for one in (row, each):
        with pytest.raises(errors.BoundsError, match="4294967296 is out of bounds"):
            one(x, far)
