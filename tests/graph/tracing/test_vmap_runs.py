"""vmap runs a function once: counted. Where a slice of its own is asked for, an answer or a clear sentence."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import func
from minigrad.engine.base import errors
from minigrad.engine.core import modes
from minigrad.nn import functional as F
from tests.support.table import table

X = mg.tensor(np.random.default_rng(0).normal(size=(4, 3)))


class Ops(list):
    """A watcher: the names of the ops that ran."""

    def on_forward(self, op, y, xs):
        self.append(op.kind)

    def on_backward(self, node, gy, gxs):
        pass


def near(found, expected, rtol=1e-9):
    np.testing.assert_allclose(found.numpy(), expected.numpy() if hasattr(expected, "numpy") else expected, rtol, 1e-11)


def number(x):
    return (x.sin() * x.exp()).sum() * x[0]


class Network(mg.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = mg.nn.Conv2d(1, 4, 3), mg.nn.Conv2d(4, 6, 3, stride=2)
        self.norm, self.last = mg.nn.LayerNorm(24), mg.nn.Linear(24, 5)

    def forward(self, x):
        x = F.max_pool2d(self.first(x).relu(), 2)
        return self.last(self.norm(self.second(x).relu().flatten(1)))


def test_the_gradients_of_each_sample_come_of_one_pass():
    """One call of the function, and as many ops for 32 samples as for 2."""
    net, rng, calls = Network().double(), np.random.default_rng(0), []
    images, labels = mg.tensor(rng.normal(size=(32, 1, 12, 12))), mg.tensor(rng.integers(0, 5, 32))
    parameters = {name: p.detach() for name, p in net.named_parameters()}

    def loss(parameters, image, label):
        calls.append(image)
        return F.cross_entropy(func.functional_call(net, parameters, (image[None],)), label[None])

    gradients, counts = func.vmap(func.grad(loss), (None, 0, 0)), []
    for n in (2, 32):
        with modes.watching(Ops()) as ran:
            found = gradients(parameters, images[:n], labels[:n])
        counts.append(len(ran))

    assert len(calls) == 2
    assert counts[0] == counts[1]
    for i in (0, 31):
        for name, g in func.grad(loss)(parameters, images[i], labels[i]).items():
            near(found[name][i], g)


def test_what_no_slice_goes_into_is_computed_once():
    w = mg.tensor([1.0, 2.0, 3.0])
    with modes.watching(Ops()) as ran:
        y = func.vmap(lambda x: x * w.exp().sum())(X)

    near(y, X * w.exp().sum())
    assert (ran.count("Exp"), ran.count("Mul")) == (1, 1)


def test_vmaps_of_vmaps_are_as_many_ops_as_one():
    with modes.watching(Ops()) as ran:
        table = func.vmap(lambda x: func.vmap(lambda y: (x * y).sum())(X))(X)

    near(table, X @ X.T)
    assert (ran.count("Mul"), ran.count("Sum")) == (1, 1)


def test_a_function_in_a_graph_becomes_ops_of_that_graph():
    runs = []

    @mg.function
    def gradients(x):
        return func.vmap(func.grad(lambda x: runs.append(x) or number(x)))(x)

    for _ in range(2):
        near(gradients(X), mg.stack([func.grad(number)(x) for x in X]))
    assert len(runs) == 1
    near(func.vmap(mg.function(number))(X), mg.stack([number(x) for x in X]))
    near(func.jacrev(mg.function(number))(X[0]), func.grad(number)(X[0]))


def test_a_traced_vmap_maps_what_vmap_maps():
    """A keyword or a default of the inner function was passed by position, and so mapped over."""
    W, inner = X[:, 0], lambda x, w=2.0: x.sum() * w

    for way in (mg.function, mg.jit):
        traced = way(func.vmap(inner))
        near(traced(X), X.sum(1) * 2)
        near(traced(X, w=W), mg.stack([x.sum() * W for x in X]))
        near(traced(X, W), X.sum(1) * W)


def test_an_axis_may_have_an_unknown_length():
    f = mg.function(func.vmap(func.grad(number)), input_signature=[mg.TensorSpec((None, 3), "float64")])

    for n in (4, 2):
        near(f(X[:n]), mg.stack([func.grad(number)(x) for x in X[:n]]))


def test_a_pullback_may_be_mapped_wherever_it_was_made():
    """A derivative of what was recorded outside, or in a graph around, was none under vmap: zeros."""
    f, eye = (lambda x: x.exp() * x.sum()), mg.tensor(np.eye(3))
    loop = mg.stack([func.jacrev(f)(x) for x in X])

    def jacobian(x):
        return func.vmap(func.vjp(f, x)[1])(eye)[0]

    near(jacobian(X[0]), loop[0])
    near(func.vmap(jacobian)(X), loop)
    near(mg.function(func.vmap(jacobian))(X), loop)
    gys = mg.tensor(np.eye(3), requires_grad=True)
    (g,) = mg.grad((func.vmap(func.vjp(f, X[0])[1])(gys)[0] * loop[0]).sum(), gys)
    near(g, loop[0] @ loop[0].T)


def test_parameters_outside_learn_through_vmap():
    w = mg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    func.vmap(lambda x: (x * w).sum() ** 2)(X).sum().backward()

    near(w.grad, 2 * (X @ w.detach()) @ X)


def test_chunks_are_run_one_after_the_other():
    calls = []
    y = func.vmap(lambda x: calls.append(x) or (x.sum(), 1.0), chunk_size=3)(X)

    near(y[0], X.sum(1))
    assert y[1].tolist() == [1.0] * 4
    assert len(calls) == 2


@pytest.mark.parametrize("draw", [lambda: mg.rand(2), lambda: mg.randperm(9), lambda: F.dropout(mg.ones(40))])
@pytest.mark.filterwarnings("ignore:vmap.* runs 4 times")
def test_random_numbers_are_the_same_or_others(draw):
    f = lambda x: draw() + 0 * x[0]  # noqa: E731
    same, others = (func.vmap(f, randomness=word)(X).numpy() for word in ("same", "different"))

    assert all((row == same[0]).all() for row in same)
    assert not any((row == others[0]).all() for row in others[1:])
    with pytest.raises(errors.GraphError, match=r"randomness='different'.*'same'"):
        func.vmap(f)(X)


@pytest.mark.filterwarnings("ignore:vmap.* runs 4 times")
def test_keys_draw_as_they_do_alone():
    keys = mg.random.split(mg.random.key(3), 4)

    near(func.vmap(lambda k: mg.random.normal(k, (2,)))(keys), mg.stack([mg.random.normal(k, (2,)) for k in keys]))


class Cube(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, gy):
        return 5 * ctx.saved_tensors[0] * gy  # which nobody else would say


@pytest.mark.filterwarnings("ignore:vmap.*Cube")
def test_a_rule_of_ones_own_is_kept():
    near(func.vmap(Cube.apply)(X), X**3)
    near(func.vmap(func.grad(lambda x: Cube.apply(x).sum()))(X), 5 * X)
    near(func.grad(lambda x: func.vmap(Cube.apply)(x).sum())(X), 5 * X)
    near(func.jacrev(Cube.apply)(X[0]), np.diag(5 * X[0].numpy()))


def test_a_jacobian_is_there_where_a_rule_looks_at_a_value():
    class Looks(Cube):
        @staticmethod
        def backward(ctx, gy):
            return gy * (2.0 if gy.sum().item() > 0 else 3.0)

    near(func.jacrev(Looks.apply)(X[0]), 2 * np.eye(3))
    near(func.jacrev(lambda x: -Looks.apply(x))(X[0]), -3 * np.eye(3))


def test_loops_of_a_known_number_of_turns_are_written_out():
    def powers(x):
        return mg.lax.scan(lambda c, v: (c * v, c), mg.ones((), dtype=mg.float64), x)[1]

    near(func.vmap(powers)(X), mg.stack([powers(x) for x in X]))
    near(func.vmap(lambda x: mg.lax.fori_loop(0, 3, lambda i, v: v * i + 1, x))(X), X * 0 + 5)


def edits(x):
    x.add_(1)
    return x


def edits_outside(x, w):
    w.add_(x)
    return x


def pulls(x):
    w = mg.ones(3, requires_grad=True)
    (w * x).sum().backward()
    return x


NORM = mg.nn.BatchNorm1d(3).double()

REFUSED = {
    "if":
        (lambda: func.vmap(lambda x: x if x[0] > 0 else -x)(X), errors.NoValueError, r"once for all slices.*where\(\)"),
    "while":
        (lambda: func.vmap(lambda x: mg.lax.while_loop(lambda v: v.sum() < 9, lambda v: v * v + 1, x))(X),
         errors.NoValueError, r"where\(\)"),
    "cond": (lambda: func.vmap(lambda x: mg.cond(x[0] > 0, lambda: x, lambda: -x))(X), errors.NoValueError, "where"),
    "item": (lambda: func.vmap(lambda x: x[0].item())(X), errors.NoValueError, "once for all slices"),
    "numpy": (lambda: func.vmap(lambda x: x.numpy())(X), errors.NoValueError, "loop over the slices"),
    "a mask": (lambda: func.vmap(lambda x: x[x > 0])(X), errors.NoValueError, "once for all slices"),
    "an edit of an argument": (lambda: func.vmap(edits)(X), errors.EditedError, r"f64\[3\] in place.*x\.clone"),
    "an edit of what is outside":
        (lambda: func.vmap(edits_outside, (0, None))(X, mg.zeros(3, dtype=mg.float64)), errors.EditedError, "outside"),
    "running statistics": (lambda: func.vmap(NORM)(mg.stack([X, X])), errors.EditedError, "in place"),
    "backward": (lambda: func.vmap(pulls)(X), errors.NoGradientError, r"mg\.func\.grad"),
    "a hook": (lambda: func.vmap(lambda x: (x * 2).register_hook(print))(X), errors.GraphError, "custom_gradient"),
    "a structure": (lambda: func.vmap(lambda x: x, ((0, 0),))([X]), errors.ShapeError, "structure"),
    "an axis for what differs": (lambda: func.vmap(lambda x: x, out_dims=None)(X), errors.ShapeError, "out_dims=None"),
    "no slice": (lambda: func.vmap(Cube.apply)(X[:0]), errors.ShapeError, "there are no slices"),
}  # fmt: skip


@table("mistake, error, sentence", REFUSED.values(), ids=REFUSED)
def test_a_clear_sentence_answers(mistake, error, sentence):
    before = X.numpy().copy(), NORM.running_mean.numpy().copy()
    with pytest.raises(error, match=sentence):
        mistake()
    assert (X.numpy() == before[0]).all()
    assert (NORM.running_mean.numpy() == before[1]).all()
