"""What is kept, for how long, and what is left when it is let go. With the garbage collector off: by counting."""

import gc
import sys
import tracemalloc
import weakref
from contextlib import contextmanager

import numpy as np
import pytest

import minigrad as mg
from minigrad.autograd import forward_ad
from minigrad.engine.core import modes
from minigrad.engine.core.node import Node, history
from minigrad.engine.tensor.tensor import Tensor
from minigrad.utils.checkpoint import checkpoint
from tests.support.table import table

F = mg.nn.functional
N = 10_000


def leaf(*shape):
    return mg.tensor(np.linspace(0.1, 0.9, int(np.prod(shape or (N,)))).reshape(shape or (N,)), requires_grad=True)


@contextmanager
def uncollected():
    """A block without the garbage collector."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


# -- what is left behind ---------------------------------------------------------------------------


class Halved(mg.Function):
    """x / 2 and x², with everything held that can be held"""

    @staticmethod
    def forward(ctx, x):
        y = x / 2
        ctx.save_for_backward(x, y)
        ctx.x, ctx.y = x, y
        return y, x * x

    @staticmethod
    def backward(ctx, g, h):
        x, _ = ctx.saved_tensors
        return g / 2 + 2 * h * x


def plain(x):
    ((x * 2).tanh() + x).sum().backward()


def views(x):
    y = x * 2
    v = y[1:]
    v[1:].mul_(3)
    y.mul_(2)
    (y.sum() + (v * v).sum()).backward()


def hooks(x):
    y, seen = x * 2, []
    y.register_hook(seen.append)
    y.register_hook(lambda g: g * 2)
    x.register_hook(lambda g: g * 3)
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad))
    y.sum().backward()


def retained(x):
    y = x * 2
    y.retain_grad()
    y.mul_(2)
    (y * y).sum().backward()
    assert y.grad is not None


def never_passed(x):
    ((x * 2).tanh() * Halved.apply(x)[0]).sum()


def function(x):
    y, z = Halved.apply(x)
    (y * z).sum().backward()


def custom(x):
    @mg.custom_gradient
    def exp(x):
        y = x.exp()
        return y, lambda gy: gy * y

    exp(x).sum().backward()


def checkpointed(x):
    checkpoint(lambda x: checkpoint(lambda x: x.sin().tanh(), x.exp()), x).sum().backward()


def forward(x):
    with forward_ad.dual_level():
        y = forward_ad.make_dual(x, x.detach())
        z = (y.sin() * y).mul_(2)
        z[1:].mul_(2)
        forward_ad.unpack_dual(z.sum())


def second(x):
    (g,) = mg.grad((x**3).sum(), x, create_graph=True)
    mg.grad((g * g).sum(), x)


def second_by_backward(x):
    (x**3).sum().backward(create_graph=True)


def taped(x):
    with mg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = (x * x).sum()
        g = tape.gradient(y, x)
    tape.gradient(g, x)


def watched_for_anomalies(x):
    with mg.autograd.detect_anomaly():
        (x * x).tanh().sum().backward()


def transformed(x):
    f = lambda x: (x.sin() * x).sum()  # noqa: E731
    mg.func.grad(f)(x)
    mg.func.jvp(mg.func.grad(f), (x,), (x,))
    mg.func.linearize(f, x)[1](x)
    mg.func.vjp(f, x)[1](1.0)
    mg.autograd.functional.hvp(f, x, x)


def packed(x):
    with mg.autograd.graph.saved_tensors_hooks(lambda t: [t], lambda box: box[0]):
        y = (x.exp() * x).sum()
    y.backward()


def refused(x):
    y = (x * x).sum()
    y.backward()
    with pytest.raises(mg.errors.FreedError):
        y.backward()


LIVES = (
    *(plain, views, hooks, retained, never_passed, function, custom, checkpointed, forward, second),
    *(taped, watched_for_anomalies, transformed, packed, refused),
)


@pytest.mark.share(8)
@pytest.mark.parametrize("life", LIVES, ids=lambda f: f.__name__.replace("_", " "))
def test_nothing_of_the_engine_is_left_and_no_array(life):
    def lived():
        life(leaf())

    def alive():
        return sum(issubclass(type(thing), Tensor | Node) for thing in gc.get_objects())

    lived()  # plans, constants and compiled rules are made once
    lived()
    with uncollected():
        before, left = alive(), []
        for _ in range(3):  # what is left is left each time; a table of plans that starts over, once
            tracemalloc.start()
            start = tracemalloc.get_traced_memory()[0]
            lived()
            left.append(tracemalloc.get_traced_memory()[0] - start)
            tracemalloc.stop()
        now = alive()

    assert now == before
    assert min(left) < N * 8 // 2  # bytes; half of one array


def test_a_graph_of_gradients_is_no_cycle_either_and_goes_with_the_gradient():
    """PyTorch warns of a cycle at backward(create_graph=True): leaf → .grad → its history → the leaf. Ours has none."""
    with uncollected():
        x = leaf()
        second_by_backward(x)
        gone = weakref.ref(x)
        del x
        assert gone() is None


# -- what is kept ----------------------------------------------------------------------------------


def names_of_what_is_kept(y, known):
    """What the graph behind y keeps: names where it is known, specs where it is not."""
    arrays = {id(a): a for node in history(y.node) for a in node.saved or ()}
    known = {id(t.value): name for name, t in {**known, "y": y}.items()}
    return {known.get(key, f"{a.dtype.kind}{a.dtype.itemsize}{[*a.shape]}") for key, a in arrays.items()}


KEPT = {
    "x + w, x − w, −x": (lambda x, w, d: x + w - (-x), set()), "x w": (lambda x, w, d: x * w, {"x", "w"}),
    "x d": (lambda x, w, d: x * d, {"d"}), "3 x": (lambda x, w, d: x * 3, {"f8[]"}),
    "x / d": (lambda x, w, d: x / d, {"d"}), "x²": (lambda x, w, d: x**2, {"x"}),
    "of the result: exp": (lambda x, w, d: x.exp(), {"y"}), "of the result: tanh": (lambda x, w, d: x.tanh(), {"y"}),
    "of the result: sigmoid": (lambda x, w, d: x.sigmoid(), {"y"}),
    "of the result: sqrt": (lambda x, w, d: x.sqrt(), {"y"}), "of the result: relu": (lambda x, w, d: x.relu(), {"y"}),
    "of the result: softmax": (lambda x, w, d: x.softmax(1), {"y"}),
    "of the result: log_softmax": (lambda x, w, d: x.log_softmax(1), {"y"}),
    "of the operand: log": (lambda x, w, d: x.log(), {"x"}), "of the operand: sin": (lambda x, w, d: x.sin(), {"x"}),
    "of the operand: gelu": (lambda x, w, d: F.gelu(x), {"x"}), "of the operand: var": (lambda x, w, d: x.var(), {"x"}),
    "of the operand: layer_norm": (lambda x, w, d: F.layer_norm(x, (4,)), {"x"}),
    "of both: logsumexp": (lambda x, w, d: x.logsumexp(1), {"x", "y"}),
    "of both: amax": (lambda x, w, d: x.amax(1), {"x", "y"}), "x W": (lambda x, w, d: x @ w.t(), {"x", "f8[4, 4]"}),
    "d W": (lambda x, w, d: d @ w.t(), {"d"}), "sums and means": (lambda x, w, d: x.sum(1) + w.mean(1), set()),
    "cumsum": (lambda x, w, d: x.cumsum(1), set()),
    "moves": (lambda x, w, d: x.reshape(2, 8).t().flip(0).unsqueeze(1).broadcast_to(8, 3, 2), set()),
    "pieces": (lambda x, w, d: mg.cat([x[1:], w[:2].tril(), mg.stack([x[0], w[0]])]), set()),
    "a choice": (lambda x, w, d: mg.where(d > 0.5, x, w), {"b1[4, 4]"}),
    "rows by index": (lambda x, w, d: x[np.array([0, 2])], {"i8[2]"}),
    "dropout": (lambda x, w, d: F.dropout(x, 0.5), {"f8[4, 4]"}),
    "cross-entropy": (lambda x, w, d: F.cross_entropy(x, mg.tensor([0, 1, 2, 3])), {"x", "i8[4]"}),
    "mean squared error": (lambda x, w, d: F.mse_loss(x, d), {"f8[4, 4]"}),
    "edits in place that need no old value": (lambda x, w, d: (x + 1).add_(w).sub_(d), set()),
}  # fmt: skip


@table("case", KEPT)
def test_what_no_rule_reads_is_not_kept(case):
    f, expected = KEPT[case]
    x, w, d = leaf(4, 4), leaf(4, 4), leaf(4, 4).detach()

    assert names_of_what_is_kept(f(x, w, d), {"x": x, "w": w, "d": d}) == expected


def test_a_network_keeps_one_array_a_layer_beside_its_weights():
    """Of 784-256-128-10 on 64 rows: the data, two layers of activations (relu reads its own result), the logits."""
    net = mg.nn.Sequential(
        *(mg.nn.Linear(784, 256), mg.nn.ReLU(), mg.nn.Linear(256, 128), mg.nn.ReLU(), mg.nn.Linear(128, 10))
    )
    data, classes = mg.tensor(np.ones((64, 784))), mg.tensor(np.zeros(64, np.int64))
    loss = F.cross_entropy(net(data), classes)
    weights = {id(p.value) for p in net.parameters()}
    arrays = {id(a): a for node in history(loss.node) for a in node.saved or ()}
    kept = sum(a.nbytes for key, a in arrays.items() if key not in weights and id(a.base) not in weights)

    assert kept == 8 * 64 * (784 + 256 + 128 + 10) + classes.value.nbytes


def test_a_frozen_network_keeps_nothing():
    net = mg.nn.Sequential(mg.nn.Linear(4, 4), mg.nn.ReLU(), mg.nn.Linear(4, 1)).requires_grad_(False)

    assert net(leaf(2, 4).detach()).node is None


# -- when it is let go -----------------------------------------------------------------------------


class Census:
    """A watcher that counts, at each step of a backward pass, which arrays are still there."""

    def __init__(self):
        self.arrays, self.alive = [], []

    def on_forward(self, op, y, xs):
        self.arrays.append(weakref.ref(y.value))

    def on_backward(self, node, gy, gxs):
        self.alive.append(sum(a() is not None for a in self.arrays))


def test_what_is_kept_is_freed_as_backward_passes_it():
    x, census = leaf(), Census()
    with modes.watching(census):
        x.tanh().tanh().tanh().tanh().sum().backward()

    assert census.alive == [5, 4, 3, 2, 1]  # the sum and four results; of tanh after tanh, its own goes


def test_a_hook_half_way_finds_the_later_half_gone():
    x, seen, arrays = leaf(), [], []
    y = x
    for i in range(10):
        y = y.tanh()
        arrays.append(weakref.ref(y.value))
        if i == 4:
            y.register_hook(lambda g: seen.extend(a() is not None for a in arrays))
    total = y.sum()
    del y
    total.backward()

    assert seen == [True] * 5 + [False] * 5


def test_a_retained_graph_is_kept_until_it_is_let_go():
    x = leaf()
    y = x.tanh()
    array, total = weakref.ref(y.value), y.sum()
    del y
    total.backward(retain_graph=True)
    assert array() is not None
    del total
    assert array() is None


def test_gradients_on_the_way_are_let_go_too():
    """However long the chain, there are no more of them at a time than in a short one."""
    x = mg.tensor(np.ones(100_000), requires_grad=True)

    def peak(times):
        y = x
        for _ in range(times):
            y = y + 1
        x.grad = None
        tracemalloc.start()
        y.backward(np.ones(100_000))
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    assert peak(50) < peak(2) + 100_000  # bytes; an array has 800,000


def test_branches_let_go_where_they_end():
    x, census = leaf(), Census()
    with modes.watching(census):
        a, b = x.exp(), x.tanh()
        y = (a + b).sum()
        del a, b
        y.backward()

    assert census.alive[-1] <= 1  # the sum's own


# -- growth ----------------------------------------------------------------------------------------


def steps(f):
    """How many derivatives are run, and how many nodes there are, in what f records."""
    pulls = []

    class Counter:
        def on_forward(self, op, y, xs): ...
        def on_backward(self, node, gy, gxs):
            pulls.append(node)

    y = f()
    with modes.watching(Counter()):
        y.backward()
    return len(pulls)


def lines(f):
    """How many lines of Python f runs."""
    ran = 0

    def trace(frame, event, argument):
        nonlocal ran
        ran += event == "line"
        return trace

    outside = sys.gettrace()
    with uncollected():
        sys.settrace(trace)
        try:
            f()
        finally:
            sys.settrace(outside)
    return ran


def chain(n):
    x = y = mg.tensor(1.0, requires_grad=True)
    for _ in range(n):
        y = y + 1
    y.backward()
    assert x.grad.item() == 1


def leaves_summed(n):
    xs = [mg.tensor(1.0, requires_grad=True) for _ in range(n)]
    total = xs[0]
    for x in xs[1:]:
        total = total + x
    total.backward()
    assert all(x.grad.item() == 1 for x in xs)


def leaves_used(n):
    xs = [mg.tensor(1.0, requires_grad=True) for _ in range(n)]
    mg.autograd.backward([x * 2 for x in xs])
    assert all(x.grad.item() == 2 for x in xs)


def one_leaf_used(n):
    x = y = mg.tensor(1.0, requires_grad=True)
    for _ in range(n):
        y = y + x
    y.backward()
    assert x.grad.item() == n + 1


def leaves_stacked(n):
    xs = [mg.tensor(1.0, requires_grad=True) for _ in range(n // 10)]
    mg.stack(xs).sum().backward()
    assert all(x.grad.item() == 1 for x in xs)


def asked_one_by_one(n):
    xs = [mg.tensor(1.0, requires_grad=True) for _ in range(n)]
    total = mg.tensor(0.0)
    for x in xs:
        total = total + x * 3
    assert all(g.item() == 3 for g in mg.grad(total, xs))


def views_alive(n):
    y = mg.tensor(np.ones(n), requires_grad=True) * 1
    rows = [y[1:] for _ in range(n)]
    assert len(rows) == n


GROWING = (chain, leaves_summed, leaves_used, one_leaf_used, leaves_stacked, asked_one_by_one, views_alive)


@pytest.mark.share(6)
@pytest.mark.parametrize("f", GROWING, ids=lambda f: f.__name__.replace("_", " "))
def test_eight_times_as_many_take_eight_times_as_many_lines(f):
    """Quadratic would be 64 times as many. A first call also compiles what an op of so many operands needs."""
    for n in (10, 300, 2400):
        f(n)

    assert lines(lambda: f(2400)) < 9 * lines(lambda: f(300))


@pytest.mark.night
def test_a_hundred_thousand_leaves_in_one_sum_and_each_used():
    leaves_summed(100_000)
    leaves_used(100_000)


def test_sixty_stacked_diamonds_are_120_steps_and_not_two_to_the_sixty():
    x = mg.tensor(1.0, requires_grad=True)

    def diamonds():
        y = x
        for _ in range(60):
            y = y + y * 2
        return y

    assert steps(diamonds) == 120
    assert x.grad.item() == 3.0**60


def test_second_derivatives_of_a_chain_grow_as_the_chain_does():
    def second(n):
        x = y = mg.tensor(0.5, requires_grad=True)
        for _ in range(n):
            y = y.sin()
        (g,) = mg.grad(y, x, create_graph=True)
        return len(history(g.node))

    assert second(800) < 8.5 * second(100)


@pytest.mark.night
def test_a_chain_of_a_million_ops():
    chain(1_000_000)
