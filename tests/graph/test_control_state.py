"""What a branch or the body of a loop does to leaves and their `.grad` in a traced function: what it does eagerly.

There it reads a `.grad` and edits it in place, as it does any tensor from outside. To set one, or to let backward() add
to it, is refused.
"""

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import EditedError, GraphError, NoGradientError
from tests.support.all_close import assert_all_close
from tests.support.table import table

OPTIMISERS = {
    "momentum": lambda ps: mg.optim.SGD(ps, lr=0.1, momentum=0.9), "adam": lambda ps: mg.optim.Adam(ps, lr=0.1),
}  # fmt: skip
WAYS = {"traced": mg.function, "compiled": mg.function(jit_compile=True)}


class Story:
    """A parameter, an optimiser, and what is done with them."""

    def __init__(self, kind):
        self.w = mg.tensor([1.0, 2.0], requires_grad=True)
        self.o = OPTIMISERS[kind]([self.w])

    def seen(self):
        """The parameter and its gradient: no numbers, where there is none."""
        return self.w.detach().numpy().copy(), np.zeros(0) if self.w.grad is None else self.w.grad.numpy().copy()


def loss_of(w, x):
    return ((w * x) ** 2).sum()


def step_in_a_branch(w, o, x):
    o.zero_grad()
    loss = loss_of(w, x)
    loss.backward()
    if loss > 0.5:
        o.step()
    return loss


def clip_in_a_branch(w, o, x):
    o.zero_grad()
    loss = loss_of(w, x)
    loss.backward()
    if loss > 0.5:
        mg.nn.utils.clip_grad_norm_([w], 0.5)
    o.step()
    return loss


def scale_in_place_in_a_branch(w, o, x):
    o.zero_grad()
    loss = loss_of(w, x)
    loss.backward()
    if loss > 0.5:
        w.grad.mul_(0.1)
    else:
        w.grad.mul_(0.5)
    o.step()
    return loss


def cond_that_steps(w, o, x):
    o.zero_grad()
    loss = loss_of(w, x)
    loss.backward()

    def true():
        o.step()
        return loss * 1

    return mg.cond(loss > 0.5, true, lambda: loss * 1)


def gradient_in_a_branch(w, o, x):
    loss = loss_of(w, x)
    if loss > 0.5:
        (g,) = mg.autograd.grad(loss, [w])
    else:
        (g,) = mg.autograd.grad(loss * loss, [w])
    return g * 1


def held_and_edited(w, o, x):
    o.zero_grad()
    loss_of(w, 1.0).backward()
    held = w.grad
    for _ in range((x > 0.5).astype(int) * 2):
        w.grad.mul_(0.5)
    return held * 1


def edited_between(w, o, x):
    o.zero_grad()
    y = (w * x).sum()
    if x > 0.5:
        with mg.no_grad():
            w.mul_(0.5)
    y.backward()
    return y


def leaf_by_another_name(w, o, x):
    p = w
    for _ in range((x > 0.5).astype(int) * 2):
        with mg.no_grad():
            p *= 0.5
    return w * 1


BRANCHES = [step_in_a_branch, clip_in_a_branch, scale_in_place_in_a_branch, cond_that_steps, gradient_in_a_branch]
BRANCHES += [held_and_edited, edited_between, leaf_by_another_name]


def told(f, kind, way, inputs):
    """What each call gives, and leaves."""
    story = Story(kind)
    w, o = story.w, story.o
    run = way(lambda x: f(w, o, x))
    return [(run(q).detach().numpy().copy(), *story.seen()) for q in inputs]


def by_way(f, kind, way, inputs):
    for found, expected in zip(told(f, kind, WAYS[way], inputs), told(f, kind, lambda f: f, inputs), strict=True):
        assert_all_close(found, expected, rtol=1e-12)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", OPTIMISERS)
@pytest.mark.parametrize("f", BRANCHES, ids=lambda f: f.__name__)
def test_a_branch_does_to_gradients_what_it_does_eagerly(f, kind, way):
    by_way(f, kind, way, [mg.tensor(q) for q in (0.1, 1.0, 1.0, 0.1, 1.0)])


def decay_in_while(w, o, n):
    i = 0
    while i < n:
        with mg.no_grad():
            w.mul_(0.9)
        i = i + 1
    return w * 1


def scaled_in_place_in_a_loop(w, o, n):
    o.zero_grad()
    loss_of(w, 1.0).backward()
    for _ in range(n):
        w.grad.mul_(0.5)
    o.step()
    return w * 1


def train_in_for(w, o, n):
    w.grad = mg.zeros_like(w)
    loss = mg.tensor(0.0)
    for i in range(n):
        loss = loss_of(w, i + 0.5)
        (g,) = mg.autograd.grad(loss, [w])
        with mg.no_grad():
            w.grad.copy_(g)
        if loss > 0.7:
            mg.nn.utils.clip_grad_norm_([w], 1.0)
        o.step()
    return loss


def accumulate_in_while(w, o, n):
    total = mg.zeros_like(w)
    i = n * 0
    while i < n:
        (g,) = mg.autograd.grad(loss_of(w, i + 1.5), [w])
        total = total + g
        i = i + 1
    w.grad = total
    o.step()
    return i


def read_in_the_test(w, o, n):
    w.grad = mg.zeros_like(w)
    i = 0
    while (w.grad.sum() < 20) & (i < n):
        with mg.no_grad():
            w.grad.add_(w * (i + 0.5))
        i = i + 1
    o.step()
    return w * 1


def loop_in_a_loop(w, o, n):
    w.grad = mg.zeros_like(w)
    for i in range(n):
        for j in range(n):
            (g,) = mg.autograd.grad(loss_of(w, i + 2 * j + 0.5), [w])
            with mg.no_grad():
                w.grad.add_(g)
        o.step()
    return w * 1


def loss_from_outside_in_a_loop(w, o, n):
    loss = loss_of(w, 1.0)
    total = mg.zeros_like(w)
    for i in range(n):
        total = total + mg.autograd.grad(loss * (i + 1), [w], retain_graph=True)[0]
    return total


def leaf_of_its_own(w, o, n):
    total = mg.zeros_like(w)
    for i in range(n):
        p = mg.tensor([1.0, 2.0], requires_grad=True)
        loss_of(p, i + 1).backward()
        total = total + p.grad
    return total


def detached_from_the_turn_before(w, o, n):
    h, total = mg.tensor([0.0, 0.0]), mg.zeros_like(w)
    for _ in range(n):
        h = (h.detach() + w).tanh()
        total = total + mg.autograd.grad((h * h).sum(), [w])[0]
    return total


def newton(w, o, n):
    x = mg.tensor([3.0, 5.0])
    for _ in range(n):
        x = x.detach().requires_grad_()
        (slope,) = mg.autograd.grad((x**3 / 3 - 2 * x).sum(), [x])
        x = x - (x * x - 2) / slope * x
    return x * 1


def descent_on_a_leaf_of_its_own(w, o, n):
    x = mg.tensor([3.0, 5.0], requires_grad=True)
    for _ in range(n):
        (slope,) = mg.autograd.grad((x**3).sum(), [x])
        x = (x - 0.01 * slope).detach().requires_grad_()
    return x * 1


LOOPS = [
    *(decay_in_while, scaled_in_place_in_a_loop, train_in_for, accumulate_in_while, read_in_the_test, loop_in_a_loop),
    *(loss_from_outside_in_a_loop, leaf_of_its_own, detached_from_the_turn_before),
    *(newton, descent_on_a_leaf_of_its_own),
]


@pytest.mark.parametrize("way", WAYS)
@table("kind", OPTIMISERS)
@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_a_loop_does_to_gradients_what_it_does_eagerly(f, kind, way):
    by_way(f, kind, way, [mg.tensor(n) for n in (3, 1, 3, 0, 3)])


@pytest.mark.parametrize("way", WAYS)
def test_a_net_is_trained_in_a_loop_as_eagerly(way):
    x = mg.tensor(np.random.default_rng(0).normal(size=(4, 5, 2)))

    def made():
        net = mg.nn.Sequential(mg.nn.Linear(2, 3), mg.nn.Tanh(), mg.nn.Linear(3, 1)).double()
        with mg.no_grad():
            for p in net.parameters():
                p.copy_(mg.tensor(np.linspace(-1, 1, p.size).reshape(p.shape)))
        o = mg.optim.Adam(net.parameters(), lr=0.05)

        def train(n):
            total, ps = mg.tensor(0.0), [*net.parameters()]
            for p in ps:
                p.grad = mg.zeros_like(p)
            for i in range(n):
                loss = (net(x[i]) ** 2).mean()
                with mg.no_grad():
                    for p, g in zip(ps, mg.autograd.grad(loss, ps)):
                        p.grad.copy_(g)
                if loss > 0.1:
                    mg.nn.utils.clip_grad_norm_(ps, 0.5)
                o.step()
                total = total + loss.detach()
            o.zero_grad()
            return total

        return net, train

    (net, eagerly), (other, train) = made(), made()
    train = WAYS[way](train)
    for n in (4, 1, 0, 4):
        np.testing.assert_allclose(train(mg.tensor(n)).numpy(), eagerly(mg.tensor(n)).numpy(), rtol=1e-10)
    assert_all_close(other.parameters(), net.parameters(), rtol=1e-10)


def test_a_gradient_made_in_a_trace_is_made_anew_in_each_run():
    """`w.grad = zeros_like(w)` left one tensor for all runs: what was added to it outside was there in the next."""
    w = mg.tensor([1.0, 2.0], requires_grad=True)

    @mg.function
    def begin(x):
        w.grad = mg.zeros_like(w)
        return x * 1

    for _ in range(2):
        begin(mg.tensor(1.0))
        np.testing.assert_array_equal(w.grad.numpy(), [0.0, 0.0])
        (w * 3).sum().backward()


# -- what is refused ----------------------------------------------------------------------------------


def in_a_branch(deed, x):
    if x > 0.5:
        deed(x)


def in_both_branches(deed, x):
    if x > 0.5:
        deed(x)
    else:
        deed(x + 1)


def in_while(deed, x):
    i = x * 0
    while i < x:
        deed(i + 0.5)
        i = i + 1


def in_for(deed, x):
    for i in range(x.astype(int)):
        deed(i + 0.5)


def in_a_branch_in_a_loop(deed, x):
    for i in range(x.astype(int)):
        if i < x:
            deed(i + 0.3)


PLACES = (
    *(in_a_branch, in_both_branches, in_while, in_for, in_a_branch_in_a_loop),
    lambda deed, x: mg.cond(x > 0.5, lambda: deed(x), lambda: x * 1),
    lambda deed, x: mg.while_loop(lambda i: i < x, lambda i: (deed(i + 0.5) * 0 + i + 1,), (x * 0,)),
    lambda deed, x: mg.while_loop(lambda i: deed(x) * 0 + i < x, lambda i: (i + 1,), (x * 0,)),
    lambda deed, x: mg.lax.scan(lambda n, row: (n + 1, deed(row * x)), x, mg.tensor([1.0, 0.5, 2.0])),
    lambda deed, x: mg.lax.fori_loop(0, 3, lambda i, total: total + deed(x + i), x),
)


def adds(w, o, x):
    loss_of(w, x).backward()


def sets(w, o, x):
    w.grad = w * 2


def forgets(w, o, x):
    o.zero_grad()


def learns(w, o, x):
    o.zero_grad()
    loss_of(w, x).backward()
    o.step()
    o.zero_grad()


def learns_of_what_is_detached(w, o, x):
    o.zero_grad()
    h = (w.detach() * x + w).tanh()
    (h * h).sum().backward()
    o.step()


@table("place", PLACES)
@table("deed", [adds, sets, forgets, learns, learns_of_what_is_detached])
@table("has_gradient", [True, False])
def test_setting_the_grad_of_a_tensor_from_outside_is_refused_where_it_is_done(place, deed, has_gradient):
    if deed is forgets and not has_gradient:
        pytest.skip("there is nothing to forget")

    def f(w, o, x):
        if has_gradient:
            loss_of(w, 1.0).backward()
        place(lambda x: (deed(w, o, x), x * 1)[1], x)
        return x * 1

    sentence = r"a tensor from outside, is set.*in a branch or a loop.*autograd\.grad\(loss, xs\)"
    with pytest.raises(GraphError, match=sentence):
        told(f, "adam", mg.function, [mg.tensor(2.0)])


def vector_from_outside(w, o, x):
    y, total = w * x, w * 0
    for _ in range(x.astype(int)):
        total = total + mg.autograd.grad(y.sum(), [w])[0]
    return total


def through_the_turn_before(w, o, x):
    loss, total = loss_of(w, x), w * 0
    for _ in range(x.astype(int)):
        loss = loss * 2.0
        total = total + mg.autograd.grad(loss, [w])[0]
    return total


def begun_by_a_turn(w, o, x):
    loss, total = x * 0, w * 0
    for _ in range(x.astype(int)):
        loss = loss + loss_of(w, x)
        total = total + mg.autograd.grad(loss, [w])[0]
    return total


def of_an_argument(w, o, x):
    loss, total, n = x * 0, x * 0, x.astype(int)
    for _ in range(n):
        loss = loss + x**2
        total = total + mg.autograd.grad(loss, [x])[0]
    return total


NOT_ALL = {
    vector_from_outside: "computed outside: that is only supported for one number",
    through_the_turn_before: "comes from the previous turn", begun_by_a_turn: "comes from the previous turn",
    of_an_argument: "comes from the previous turn",
}  # fmt: skip


@pytest.mark.parametrize("f", NOT_ALL, ids=lambda f: f.__name__)
def test_a_gradient_that_would_be_a_part_of_what_it_is_eagerly_is_refused(f):
    with pytest.raises(NoGradientError, match=NOT_ALL[f]):
        told(f, "adam", mg.function, [mg.tensor(2.0)])


def edited_in_a_loop(w, x):
    for _ in range(x.astype(int)):
        w.mul_(0.9)
    return x * 1


def edited_in_a_branch(w, x):
    if x > 0.5:
        w.mul_(0.9)
    return x * 1


def edited_by_another_name(w, x):
    p = w
    for _ in range(x.astype(int)):
        p *= 0.9
    return x * 1


@pytest.mark.parametrize("f", [edited_in_a_loop, edited_in_a_branch, edited_by_another_name], ids=lambda f: f.__name__)
def test_a_leaf_is_edited_inside_no_grad_in_branches_and_loops_too(f):
    w = mg.tensor([1.0, 2.0], requires_grad=True)

    with pytest.raises(EditedError, match="no_grad"):
        mg.function(lambda x: f(w, x))(mg.tensor(2.0))


def test_a_gradient_set_in_a_custom_derivative_is_refused():
    w = mg.tensor([1.0, 2.0], requires_grad=True)

    class Sets(mg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gy):
            w.grad = gy * 2
            return gy * 2

    with pytest.raises(GraphError, match="a function that is traced separately"):
        mg.function(lambda x: Sets.apply(x * w))(mg.tensor([1.0, 2.0]))
