"""What a branch or the body of a loop does to `.grad`, and to leaves, in a traced function: what it does by run."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.base.errors import EditedError, GraphError, NoGradientError

OPTIMISERS = {
    "momentum": lambda ps: mg.optim.SGD(ps, lr=0.1, momentum=0.9),
    "adam": lambda ps: mg.optim.Adam(ps, lr=0.1),
}
WAYS = {"traced": mg.function, "compiled": mg.function(jit_compile=True)}


class Story:
    """A parameter, an optimiser, and what is done with them."""

    def __init__(self, kind):
        self.w = mg.tensor([1.0, 2.0], requires_grad=True)
        self.o = OPTIMISERS[kind]([self.w])

    def seen(self):
        grad = None if self.w.grad is None else self.w.grad.numpy().copy()
        return self.w.detach().numpy().copy(), grad


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


def backward_in_both_branches(w, o, x):
    o.zero_grad()
    loss = loss_of(w, x)
    if loss > 0.5:
        loss.backward()
    else:
        (loss_of(w, x + 1) + 3 * loss).backward()
    o.step()
    return loss


def backward_in_a_branch_adds(w, o, x):
    w.grad = mg.zeros_like(w)
    loss = loss_of(w, x)
    if loss > 0.5:
        loss.backward()
    o.step()
    return loss


def forgotten_in_both_branches(w, o, x):
    o.zero_grad()
    loss = loss_of(w, x)
    loss.backward()
    if loss > 0.5:
        o.step()
        o.zero_grad()
    else:
        o.zero_grad()
    return loss


def gradient_in_a_branch(w, o, x):
    loss = loss_of(w, x)
    if loss > 0.5:
        (g,) = mg.autograd.grad(loss, [w])
    else:
        (g,) = mg.autograd.grad(loss * loss, [w])
    return g * 1


def training_step_in_a_branch(w, o, x):
    loss = x * 0
    if x > 0.5:
        o.zero_grad()
        loss = loss_of(w, x)
        loss.backward()
        o.step()
        o.zero_grad()
    return loss


BRANCHES = [
    step_in_a_branch,
    clip_in_a_branch,
    scale_in_place_in_a_branch,
    cond_that_steps,
    backward_in_both_branches,
    backward_in_a_branch_adds,
    forgotten_in_both_branches,
    gradient_in_a_branch,
    training_step_in_a_branch,
]


def told(f, kind, way, inputs):
    """What each call gives, and leaves."""
    story = Story(kind)
    run = way_of(way, f, story)
    found = []
    for q in inputs:
        y = run(q)
        found.append((y.detach().numpy().copy(), *story.seen()))
    return found


def way_of(way, f, story):
    w, o = story.w, story.o
    return (lambda x: f(w, o, x)) if way is None else way(lambda x: f(w, o, x))


def same(expected, actual):
    for one, other in zip(expected, actual, strict=True):
        for a, b in zip(one, other, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(b, a, rtol=1e-12)


def by_way(f, kind, way, inputs):
    same(told(f, kind, None, inputs), told(f, kind, WAYS[way], inputs))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", OPTIMISERS)
@pytest.mark.parametrize("f", BRANCHES, ids=lambda f: f.__name__)
def test_a_branch_does_to_gradients_what_it_does_by_run(f, kind, way):
    by_way(f, kind, way, [mg.tensor(q) for q in (0.1, 1.0, 1.0, 0.1, 1.0)])


def accumulate(w, o, xs):
    o.zero_grad()
    for x in xs:
        loss_of(w, x).backward()
    o.step()
    return w * 1


def accumulate_in_while(w, o, n):
    w.grad = mg.zeros_like(w)
    i = n * 0
    while i < n:
        loss_of(w, i + 1.5).backward()
        i = i + 1
    o.step()
    return i


def train_in_for(w, o, n):
    loss = mg.tensor(0.0)
    for i in range(n):
        o.zero_grad()
        loss = loss_of(w, i + 0.5)
        loss.backward()
        o.step()
    o.zero_grad()
    return loss


def train_in_while(w, o, n):
    loss = mg.tensor(0.0)
    i = 0
    while i < n:
        loss = loss_of(w, i + 0.5)
        loss.backward()
        o.step()
        o.zero_grad()
        i = i + 1
    return loss


def train_until_small(w, o, n):
    i = 0
    loss = loss_of(w, 1.0)
    while (loss > 0.5) & (i < n):
        o.zero_grad()
        loss = loss_of(w, 1.0)
        loss.backward()
        mg.nn.utils.clip_grad_norm_([w], 1.0)
        o.step()
        i = i + 1
    o.zero_grad()
    return loss


def train_in_while_loop(w, o, n):
    def body(i, loss):
        o.zero_grad()
        loss = loss_of(w, i + 0.5)
        loss.backward()
        o.step()
        o.zero_grad()
        return i + 1, loss

    return mg.while_loop(lambda i, loss: i < n, body, (0, mg.tensor(0.0)))[1]


def decay_in_while(w, o, n):
    i = 0
    while i < n:
        with mg.no_grad():
            w.mul_(0.9)
        i = i + 1
    return w * 1


def branch_in_a_loop(w, o, n):
    w.grad = mg.zeros_like(w)
    for i in range(n):
        loss = loss_of(w, i + 0.3)
        if loss > 1.5:
            loss.backward()
        else:
            w.grad.mul_(0.5)
        o.step()
    return w * 1


def loop_in_a_loop(w, o, n):
    for i in range(n):
        o.zero_grad()
        for j in range(n):
            loss_of(w, i + 2 * j + 0.5).backward()
        o.step()
    o.zero_grad()
    return w * 1


def scaled_in_place_in_a_loop(w, o, n):
    o.zero_grad()
    loss_of(w, 1.0).backward()
    for _ in range(n):
        w.grad.mul_(0.5)
    o.step()
    return w * 1


def read_in_the_test(w, o, n):
    w.grad = mg.zeros_like(w)
    i = 0
    while (w.grad.sum() < 20) & (i < n):
        loss_of(w, i + 0.5).backward()
        i = i + 1
    o.step()
    return w * 1


def loss_from_outside_in_a_loop(w, o, n):
    o.zero_grad()
    loss = loss_of(w, 1.0)
    w.grad = mg.zeros_like(w)
    for i in range(n):
        (loss * (i + 1)).backward(retain_graph=True)
    o.step()
    return loss


LOOPS = [
    accumulate_in_while,
    train_in_for,
    train_in_while,
    train_until_small,
    train_in_while_loop,
    decay_in_while,
    branch_in_a_loop,
    loop_in_a_loop,
    scaled_in_place_in_a_loop,
    read_in_the_test,
    loss_from_outside_in_a_loop,
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", OPTIMISERS)
@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_a_loop_does_to_gradients_what_it_does_by_run(f, kind, way):
    by_way(f, kind, way, [mg.tensor(n) for n in (3, 1, 3, 0, 3)])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", OPTIMISERS)
def test_gradients_of_rows_add_up_in_a_loop_over_them(kind, way):
    by_way(accumulate, kind, way, [mg.tensor(xs) for xs in ([1.0, 2.0, 0.3], [0.1, 0.2, 0.7], [0.1])])


# -- what is there before the call, and what is held --------------------------------------------------


def adds_to_what_was_there(w, o, x):
    if w.grad is None:
        w.grad = mg.zeros_like(w)
    loss = loss_of(w, x)
    if loss > 0.5:
        (2 * loss).backward()
    for i in range((x > 0.5).astype(int) * 2):
        loss_of(w, x + i).backward()
    o.step()
    return loss


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


def loop_of_data(w, o, x):
    for _ in range((x > 0.5).astype(int) * 2):
        o.zero_grad()
        x = x * 1.5
        loss_of(w, x).backward()
        o.step()
    o.zero_grad()
    return x * 1


def truncated(w, o, x):
    h = mg.tensor([0.0, 0.0])
    for _ in range((x > 0.5).astype(int) * 2):
        o.zero_grad()
        h = (h.detach() * x + w).tanh()
        (h * h).sum().backward()
        o.step()
    o.zero_grad()
    return h * 1


def leaf_by_another_name(w, o, x):
    p = w
    for _ in range((x > 0.5).astype(int) * 2):
        with mg.no_grad():
            p *= 0.5
    return w * 1


def scan_of_steps(w, o, x):
    def body(n, row):
        o.zero_grad()
        loss = loss_of(w, row * x)
        loss.backward()
        o.step()
        return n + 1, loss

    return mg.lax.scan(body, mg.tensor(0.0), mg.tensor([1.0, 0.5, 2.0]))[1]


def fori_loop_that_adds(w, o, x):
    o.zero_grad()

    def body(i, total):
        loss = loss_of(w, x + i)
        loss.backward()
        return total + loss.detach()

    total = mg.lax.fori_loop(0, 3, body, mg.tensor(0.0))
    o.step()
    return total


MORE = [
    adds_to_what_was_there,
    held_and_edited,
    edited_between,
    loop_of_data,
    truncated,
    leaf_by_another_name,
    scan_of_steps,
    fori_loop_that_adds,
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", OPTIMISERS)
@pytest.mark.parametrize("f", MORE, ids=lambda f: f.__name__)
def test_state_around_branches_and_loops_is_what_it_is_by_run(f, kind, way):
    by_way(f, kind, way, [mg.tensor(q) for q in (0.1, 1.0, 1.0, 0.1)])


@pytest.mark.parametrize("way", WAYS)
def test_a_net_is_trained_in_a_loop_as_by_run(way):
    x = mg.tensor(np.random.default_rng(0).normal(size=(4, 5, 2)))

    def made():
        net = mg.nn.Sequential(mg.nn.Linear(2, 3), mg.nn.Tanh(), mg.nn.Linear(3, 1)).double()
        with mg.no_grad():
            for p in net.parameters():
                p.copy_(mg.tensor(np.linspace(-1, 1, p.size).reshape(p.shape)))
        o = mg.optim.Adam(net.parameters(), lr=0.05)

        def train(n):
            total = mg.tensor(0.0)
            for i in range(n):
                o.zero_grad()
                loss = (net(x[i]) ** 2).mean()
                loss.backward()
                if loss > 0.1:
                    mg.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
                o.step()
                total = total + loss.detach()
            o.zero_grad()
            return total

        return net, train

    (net, by_run), (other, train) = made(), made()
    train = WAYS[way](train)
    for n in (4, 1, 0, 4):
        np.testing.assert_allclose(train(mg.tensor(n)).numpy(), by_run(mg.tensor(n)).numpy(), rtol=1e-10)
    for p, q in zip(net.parameters(), other.parameters(), strict=True):
        np.testing.assert_allclose(q.detach().numpy(), p.detach().numpy(), rtol=1e-10)


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


def gradient_in_one_branch(w, o, x):
    o.zero_grad()
    loss = loss_of(w, x)
    if loss > 0.5:
        loss.backward()
    o.step()
    return loss


def forgotten_in_a_loop(w, o, x):
    o.zero_grad()
    loss_of(w, x).backward()
    for _ in range(x.astype(int)):
        o.step()
        o.zero_grad()
    return x * 1


def step_before_backward(w, o, x):
    o.zero_grad()
    for _ in range(x.astype(int)):
        o.step()
        loss_of(w, x).backward()
    return x * 1


def read_first_in_the_test(w, o, x):
    o.zero_grad()
    i = 0
    while (i < x) & (w.grad is None):
        loss_of(w, x).backward()
        i = i + 1
    return x * 1


def set_in_the_test(w, o, x):
    def test(i):
        w.grad = w * 2
        return i < x

    return mg.while_loop(test, lambda i: (i + 1,), (0,))[0]


def vector_from_outside(w, o, x):
    o.zero_grad()
    y = w * x
    for _ in range(x.astype(int)):
        y.sum().backward()
    return x * 1


def through_the_turn_before(w, o, x):
    o.zero_grad()
    loss = loss_of(w, x)
    for _ in range(x.astype(int)):
        loss = loss * 2.0
        loss.backward()
    return loss


def begun_by_a_turn(w, o, x):
    o.zero_grad()
    total = x * 0
    for _ in range(x.astype(int)):
        total = total + loss_of(w, x)
        total.backward()
    return total


def two_names_of_one_gradient(w, o, x):
    o.zero_grad()
    loss_of(w, x).backward()
    held, found = w.grad, x * 0
    for _ in range(x.astype(int)):
        w.grad.mul_(0.5)
        found = found + held.sum()
    return found


REFUSED = {
    gradient_in_one_branch: (GraphError, "after one branch and None after the other.*zeros_like"),
    forgotten_in_a_loop: (GraphError, "None after it"),
    step_before_backward: (GraphError, "is read in a loop, and is None before the first turn"),
    read_first_in_the_test: (GraphError, "is read by the test of a loop"),
    set_in_the_test: (GraphError, "the test of a loop sets"),
    vector_from_outside: (NoGradientError, "computed outside: that can be one number"),
    through_the_turn_before: (NoGradientError, "comes from the turn before"),
    begun_by_a_turn: (NoGradientError, "comes from the turn before"),
    two_names_of_one_gradient: (GraphError, "under another name"),
}


@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_what_a_graph_cannot_carry_is_refused_and_not_forgotten(f):
    error, words = REFUSED[f]
    with pytest.raises(error, match=words):
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

    with pytest.raises(GraphError, match="writes down apart"):
        mg.function(lambda x: Sets.apply(x * w))(mg.tensor([1.0, 2.0]))
