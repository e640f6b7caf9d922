"""Gradients of traced functions, from outside and inside: those of the same functions, run op by op."""

import gc

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import EditedError, FreedError, NoGradientError
from minigrad.engine.base.pytree import leaves
from minigrad.graph.function import function
from tests.support.table import table

X = np.random.default_rng(0).normal(size=(3, 4))


def leaf(a=X):
    return mg.tensor(a, requires_grad=True)


def chain(x, w):
    h = (x * w + 1).tanh()
    return (h @ h.T).relu().sum() + (h * x).exp().mean()


def same(a, b, tolerance=1e-12):
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), tolerance, tolerance)


def check_slopes(f, g):
    """f and g, each of which gives a number, have one gradient at X."""
    x, y = leaf(), leaf()
    f(x).backward()
    g(y).backward()
    same(x.grad, y.grad)


def test_gradients_of_a_traced_function_are_those_of_its_ops():
    xs, ys = (leaf(), leaf(X[::-1].copy())), (leaf(), leaf(X[::-1].copy()))

    function(chain)(*xs).backward()
    chain(*ys).backward()

    for x, y in zip(xs, ys):
        same(x.grad, y.grad)


def test_a_traced_call_is_one_record_whose_arguments_may_be_results_themselves():
    f = function(lambda x: x.sin() * 2)

    check_slopes(lambda x: f(f(x * 3)).sum(), lambda x: (((x * 3).sin() * 2).sin() * 2).sum())
    assert f.trace_count == 1


def test_several_results_share_one_record_and_any_of_them_may_be_asked():
    def f(x):
        return {"a": x.exp(), "b": [x.sin(), x.detach(), x > 0]}

    traced = function(f)
    for pick in (lambda y: y["a"].sum(), lambda y: y["b"][0].sum(), lambda y: (y["a"] * y["b"][0]).sum()):
        check_slopes(lambda x, pick=pick: pick(traced(x)), lambda x, pick=pick: pick(f(x)))
    found = traced(leaf())
    assert not found["b"][1].requires_grad
    assert not found["b"][2].requires_grad


def test_derivatives_have_derivatives_to_the_fourth():
    def f(x):
        return (x * x).tanh() * x.exp()

    x, y = leaf(np.array(0.3)), leaf(np.array(0.3))
    dx, dy = function(f)(x), f(y)
    for _ in range(4):
        (dx,) = mg.autograd.grad(dx, x, create_graph=True)
        (dy,) = mg.autograd.grad(dy, y, create_graph=True)
        same(dx, dy)


def test_second_derivatives_through_a_matrix_product_and_a_mean():
    x, y = leaf(), leaf()
    w = X[::-1].copy()
    (gx,) = mg.autograd.grad(function(chain)(x, mg.tensor(w)), x, create_graph=True)
    (gy,) = mg.autograd.grad(chain(y, mg.tensor(w)), y, create_graph=True)
    (gx**2).sum().backward()
    (gy**2).sum().backward()

    same(x.grad, y.grad)


def test_forward_mode_goes_through_a_traced_function():
    _, expected = mg.func.jvp(lambda x: (x * x).tanh(), (mg.tensor(X),), (mg.tensor(X + 1),))
    _, found = mg.func.jvp(function(lambda x: (x * x).tanh()), (mg.tensor(X),), (mg.tensor(X + 1),))

    same(found, expected)


def test_transforms_take_a_traced_function_as_any_other():
    f, g = lambda x: (x.sin() * x).sum(), function(lambda x: (x.sin() * x).sum())
    x = mg.tensor(X[0])

    same(mg.func.grad(g)(x), mg.func.grad(f)(x))
    same(mg.func.hessian(g)(x), mg.func.hessian(f)(x))
    with mg.GradientTape() as tape:
        tape.watch(x)
        y = g(x)
    same(tape.gradient(y, x), mg.func.grad(f)(x))


def test_no_grad_keeps_nothing_and_records_nothing():
    x = leaf()
    f = function(lambda x: x.exp().sum())
    with mg.no_grad():
        y = f(x)

    assert not y.requires_grad
    with mg.inference_mode():
        assert f(x).is_inference()


def test_backward_frees_what_was_kept_unless_it_is_retained():
    f = function(lambda x: x.exp().sum())
    x = leaf()
    y = f(x)
    y.backward(retain_graph=True)
    y.backward()
    same(x.grad, 2 * x.exp())
    with pytest.raises(FreedError, match="a second time"):
        y.backward()


def test_an_argument_edited_before_backward_is_noticed():
    x = mg.tensor(X) * 1
    w = leaf()
    y = function(lambda x, w: (x * w).sum())(x, w)
    x.add_(1)
    with pytest.raises(EditedError, match="edited in place"):
        y.backward()


def test_hooks_see_the_gradients_at_both_ends():
    seen = []
    x = leaf()
    x.register_hook(lambda g: seen.append("x"))
    y = function(lambda x: x.exp())(x)
    y.register_hook(lambda g: seen.append("y") or g * 2)
    y.sum().backward()

    assert seen == ["y", "x"]
    same(x.grad, 2 * x.exp())


def test_what_is_kept_is_no_more_than_op_by_op():
    def deep(x, w, b):
        for _ in range(4):
            x = ((x @ w + b) * 1.5).relu()
        return x.sum()

    def weigh(f):
        """What f gives, and the bytes that are kept for its gradients."""
        kept = {}
        with mg.autograd.graph.saved_tensors_hooks(lambda x: kept.update({id(x.value): x.nbytes}) or x, lambda x: x):
            y = f(leaf(np.ones((64, 64))), leaf(np.eye(64)), leaf(np.ones(64)))
        return y.item(), sum(kept.values())

    (traced, ours), (eager, theirs) = weigh(function(deep)), weigh(deep)

    assert ours <= theirs
    assert traced == eager


def test_what_is_cheap_is_computed_again_and_not_kept():
    kept = []
    x, h = leaf(), mg.tensor(X)
    own = {id(x.value), id(h.value)}
    with mg.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        y = mg.function(lambda x, h: (x * (h * 2 + 1)).sum())(x, h)
    y.backward()

    assert {id(t.value) for t in kept} <= own
    same(x.grad, h * 2 + 1)


def test_a_weights_gradient_comes_as_soon_as_it_can_so_that_nothing_waits_for_it():
    """The order that the compiler found was once lost on the way to the program."""

    def workspace(layers):
        weights = [mg.tensor(np.eye(16), requires_grad=True) for _ in range(layers)]

        @mg.function
        def traced(x):
            for w in weights:
                x = (x @ w).tanh()
            return x.sum()

        traced(mg.ones(100, 16)).backward()
        (variant,) = traced.history[-1].run.variants.values()
        return variant.pull((0,)).variant((), ()).run.program.peak_bytes - sum(w.nbytes for w in weights)

    assert workspace(12) == workspace(6)


def test_derivatives_of_any_order_pass_through_branches_and_loops():
    def f(x):
        y = x * 2 if x.sum() > 0 else -x
        while (y * y).sum() < 100:
            y = y * y.exp()
        total = x * 0
        for row in y:
            total = total + row.sin() * x
        return total.sum()

    traced = mg.function(f)
    for start in ([1.0, 0.5], [-1.0, -0.7]):
        x, y = leaf(np.array(start)), leaf(np.array(start))
        dx, dy = traced(x), f(y)
        for _ in range(3):
            (dx,) = mg.autograd.grad(dx.sum(), x, create_graph=True)
            (dy,) = mg.autograd.grad(dy.sum(), y, create_graph=True)
            same(dx, dy, 1e-9)
    assert traced.trace_count == 1


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_a_whole_step_with_an_optimizer_and_clipping_is_one_program(optimizer):
    def curve(trace):
        mg.manual_seed(0)
        net = mg.nn.Sequential(
            mg.nn.Linear(4, 16), mg.nn.BatchNorm1d(16), mg.nn.GELU(), mg.nn.Dropout(0.2), mg.nn.Linear(16, 1)
        )
        opt = getattr(mg.optim, optimizer)(net.parameters(), lr=0.01)

        def step(x, t):
            opt.zero_grad()
            loss = ((net(x) - t) ** 2).mean()
            loss.backward()
            mg.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            opt.step()
            return loss

        run = mg.function(step) if trace else step
        xs = np.random.default_rng(0).normal(size=(10, 8, 4))
        losses = [run(mg.tensor(x), mg.tensor(x.sum(1, keepdims=True))).item() for x in xs]
        return losses, [p.numpy().copy() for p in (*net.parameters(), *net.buffers())], run

    (found, state, run), (expected, wanted, _) = curve(True), curve(False)

    np.testing.assert_allclose(found, expected, 1e-10)
    for a, b in zip(state, wanted, strict=True):
        np.testing.assert_allclose(a, b, 1e-10, 1e-12)
    assert run.trace_count == 1


# -- inside the trace ------------------------------------------------------------------------------


INSIDE = {
    "autograd.grad": lambda x: mg.autograd.grad((x.sin() * x).sum(), x)[0],
    "autograd.grad twice":
        lambda x: mg.autograd.grad((mg.autograd.grad((x.sin() * x).sum(), x, create_graph=True)[0] ** 2).sum(), x)[0],
    "func.grad": mg.func.grad(lambda y: (y.sin() * y).sum()),
    "func.value_and_grad": mg.func.value_and_grad(lambda y: (y.sin() * y).sum()),
    "func.vjp": lambda x: mg.func.vjp(lambda y: y.sin() * y, x)[1](x + 1)[0],
    "func.jvp": lambda x: mg.func.jvp(lambda y: y.sin() * y, (x,), (x + 1,)),
    "func.jacrev": lambda x: mg.func.jacrev(lambda y: y.sin() * y)(x[0]),
    "func.hessian": lambda x: mg.func.hessian(lambda y: (y.sin() * y).sum())(x[0]),
    "functional.jvp": lambda x: mg.autograd.functional.jvp(lambda y: y.sin() * y, x, x + 1),
    "functional.vjp": lambda x: mg.autograd.functional.vjp(lambda y: y.sin() * y, x, x + 1),
    "functional.hessian": lambda x: mg.autograd.functional.hessian(lambda y: (y.sin() * y).sum(), x[0]),
    "functional.hvp": lambda x: mg.autograd.functional.hvp(lambda y: (y.sin() * y).sum(), x, x + 1),
    "checkpoint": lambda x: mg.utils.checkpoint.checkpoint(lambda y: y.sin() * y, x).sum(),
}  # fmt: skip


def with_tape(x):
    with mg.GradientTape() as tape:
        tape.watch(x)
        y = (x.sin() * x).sum()
    return tape.gradient(y, x)


INSIDE["GradientTape"] = with_tape


@table("f", INSIDE.values(), ids=INSIDE)
def test_a_derivative_taken_inside_a_trace_is_what_it_is_outside(f):
    found, expected = function(f)(leaf()), f(leaf())

    for a, b in zip(leaves(found), leaves(expected), strict=True):
        same(a, b)


def test_a_gradient_inside_has_a_history_if_it_is_asked_for():
    for create_graph in (False, True):
        f = mg.function(lambda x, c=create_graph: mg.autograd.grad((x**3).sum(), x, create_graph=c)[0])
        assert f(leaf()).requires_grad is create_graph


class Cube(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x * x * x * scale, x + 1

    @staticmethod
    def backward(ctx, gy, gz):
        (x,) = ctx.saved_tensors
        return 30 * ctx.scale * x * x * gy + gz, None  # ten times what it is, to be told apart


def test_a_function_with_a_backward_of_its_own_brings_it_into_the_graph():
    def f(x):
        y, z = Cube.apply(x, 2.0)
        return (y.sin() + z).sum()

    x, y = leaf(), leaf()
    function(f)(x).backward()
    f(y).backward()

    same(x.grad, y.grad)
    same(function(lambda x: mg.autograd.grad(f(x), x)[0])(leaf()), y.grad)


def test_a_custom_gradient_may_close_over_what_forward_computed():
    @mg.custom_gradient
    def log1pexp(x):
        e = x.exp()
        return (1 + e).log(), lambda gy: gy * (1 - 1 / (1 + e)) * 10

    check_slopes(function(lambda x: log1pexp(x).sum()), lambda x: log1pexp(x).sum())


def test_no_gradient_passes_what_no_grad_computed_inside():
    def f(x):
        with mg.no_grad():
            factor = x.exp()
        return (x * factor).sum()

    check_slopes(function(f), f)


def test_backward_inside_leaves_gradients_on_parameters_and_adds_to_those_that_are_there():
    w, v = leaf(), leaf()

    @function
    def step(x):
        loss = (x * w).exp().sum()
        loss.backward()
        return loss

    for x in (X, X + 1, X - 1):
        loss = step(mg.tensor(x))
        (mg.tensor(x) * v).exp().sum().backward()
        same(w.grad, v.grad)
        assert not loss.requires_grad
    w.grad = v.grad = None
    step(mg.tensor(X))
    (mg.tensor(X) * v).exp().sum().backward()
    same(w.grad, v.grad)
    assert step.trace_count == 2  # one where there is no .grad, one where it is added to


@pytest.mark.parametrize(
    "loss",
    [lambda x, w: x * 3, lambda x, w: x * w.detach(), lambda x, w: x * mg.tensor(2.0), lambda x, w: x + 0 * (w > 0)],
)
def test_backward_that_reaches_no_captured_tensor_is_refused(loss):
    w = leaf(2.0)

    @function
    def step(x):
        used = w * x
        loss(x, w).sum().backward()
        return used

    with pytest.raises(NoGradientError, match="depends on none: make them with requires_grad=True"):
        step(mg.tensor(1.0))
    assert w.grad is None


def test_backward_inside_refuses_to_end_at_an_argument_that_wants_a_gradient():
    @function
    def f(x):
        (x * 2).sum().backward()

    with pytest.raises(NoGradientError, match="not of the arguments, of which x requires a gradient"):
        f(leaf())


def test_gradients_inside_stop_where_they_are_told():
    @function
    def partial(a):
        b = 2 * a
        return mg.gradients(a + b, a, stop_gradients=b)

    (g,) = partial(mg.tensor(1.0))

    assert g.item() == 1


def test_nothing_is_kept_alive_when_results_are_gone():
    f = function(lambda x: x.exp().sum())
    x = leaf()
    f(x).backward()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(50):
        f(x).backward()
    gc.collect()
    assert len(gc.get_objects()) - before < 20


def test_a_captured_number_that_is_0_has_a_gradient_inside():
    """A symbol was asked whether it is true, where it was meant whether it is there."""
    w = leaf(0.0)
    assert function(lambda: mg.autograd.grad((w + 2) ** 2, w)[0])().item() == 4


FACTOR, SUMMAND = leaf(2.0), leaf(3.0)


def watching(x, wanted, watch=False, **options):
    with mg.GradientTape(**options) as tape:
        if watch:
            tape.watch(x)
        h = x * FACTOR
        y = h * h + SUMMAND
    return tape.gradient(y, wanted(x, h))


@pytest.mark.parametrize("x", [mg.tensor(5.0), leaf(5.0)], ids=["a tensor", "a leaf that learns"])
@pytest.mark.parametrize("options", [{}, {"watch": True}, {"watch": True, "watch_accessed_variables": False}])
@pytest.mark.parametrize("wanted", [lambda x, h: [x, h, FACTOR, SUMMAND], lambda x, h: x])
def test_a_tape_in_a_trace_gives_none_towards_what_it_did_not_watch(x, options, wanted):
    traced = function(lambda x: watching(x, wanted, **options))(x)
    plain = watching(x, wanted, **options)

    found, wanted = ([g if g is None else g.item() for g in leaves(grads)] for grads in (traced, plain))
    assert found == wanted


def test_a_tape_inside_a_branch_asks_what_the_function_around_it_was_given():
    @function
    def f(x):
        y = x
        if x > 0:
            with mg.GradientTape() as tape:
                z = x * FACTOR
            y = tape.gradient(z, x, unconnected_gradients="zero")
        return y

    assert f(mg.tensor(5.0)).item() == 0
    assert f(leaf(5.0)).item() == 2


def test_gradients_pass_an_order_of_effects_to_the_value_and_not_to_what_it_waits_for(capsys):
    def f(x, w):
        mg.print("first", w)
        y = mg.print(x * w, "second") * x
        mg.print("third", (w * 100).sum())
        return y.sum()

    xs, ys = (leaf(), leaf()), (leaf(), leaf())

    function(f)(*xs).backward()
    inside = function(lambda x, w: mg.autograd.grad(f(x, w), [x, w]))(*xs)
    f(*ys).backward()

    for x, y, g in zip(xs, ys, inside):
        same(x.grad, y.grad)
        same(g, y.grad)
    words = [line.split()[-1] for line in capsys.readouterr().out.splitlines() if line.endswith("second")]
    assert len(words) == 3


def test_gradients_add_up_in_the_order_of_eager_mode():
    """Three gradients or more in another order are other bits: a trace added them up as its graph was sorted."""
    rng = np.random.default_rng(0)
    x = mg.tensor(rng.normal(size=1000), requires_grad=True)
    weights = [mg.tensor(rng.normal(size=1000)) for _ in range(4)]

    def f(x):
        state = mg.zeros(1000)
        for w in weights:
            state = x * w + state.tanh()
        return (state * state).sum()

    def slope(x):
        return mg.grad(f(x), [x])[0]

    with mg.Graph().as_default() as graph:
        fed = mg.placeholder("float64", (1000,))
        (by_session,) = mg.gradients(f(fed), [fed])
    ways = {
        "eager": slope(x), "traced": mg.function(slope)(x), "through a traced call": mg.grad(mg.function(f)(x), [x])[0],
        "traced by func": mg.function(mg.func.grad(f))(x),
        "in a session": mg.Session(graph).run(by_session, {fed: x.numpy()}),
    }  # fmt: skip

    eager = np.asarray(ways["eager"])
    assert {name: int((np.asarray(way) != eager).sum()) for name, way in ways.items()} == dict.fromkeys(ways, 0)


@pytest.mark.parametrize("whose", ["module", "optimizer"])
def test_gradients_are_set_to_zero_in_a_graph_as_in_python(whose):
    """`zero_grad(set_to_none=False)` asked a symbol for its value."""

    def run(traced):
        mg.manual_seed(0)
        net = mg.nn.Linear(3, 2)
        optimizer = mg.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

        def step(x):
            (net if whose == "module" else optimizer).zero_grad(set_to_none=False)
            loss = (net(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss

        f = mg.function(step) if traced else step
        return [f(x).item() for x in mg.randn(4, 5, 3)], net.weight.grad.tolist()

    assert run(True) == run(False)


@pytest.mark.parametrize("view", [lambda x: x.view(3, 4), lambda x: x.view_as(x)])
@pytest.mark.parametrize("x", [leaf(), leaf(X.T).detach().T.requires_grad_(True)], ids=["in order", "strided"])
def test_a_view_in_the_same_shape_is_another_tensor_in_a_trace_too(x, view):
    """In a trace the view was x itself, and had the gradient of x."""

    def slope():
        v = view(x)
        return mg.grad((v * x).sum(), [v])[0]

    for way in (lambda f: f, mg.function, mg.jit):
        same(way(slope)(), x)


def halve(p):
    p.grad.mul_(0.5)


def fill(p):
    p.grad.fill_(1.0)


@pytest.mark.parametrize("way", [mg.function, mg.jit])
@pytest.mark.parametrize(
    "edit", [lambda p: None, lambda p: p.grad.zero_(), halve, fill], ids=["add", "zero", "halve", "fill"]
)
def test_backward_adds_to_the_tensor_that_grad_is(edit, way):
    """.grad was another tensor after each call, and the one that the caller held was stale."""

    def begun(trace):
        p = mg.tensor([1.0, 2.0], requires_grad=True)

        def step(x):
            if p.grad is not None:
                edit(p)
            (p * x).square().sum().backward()

        return p, trace(step)

    found = []
    for trace in (way, lambda f: f):
        p, f = begun(trace)
        f(mg.tensor([1.0, 2.0]))
        g = p.grad
        for x in ([3.0, 1.0], [0.5, 2.0]):
            f(mg.tensor(x))
            assert p.grad is g
        found.append(g.tolist())
    assert found[0] == found[1]
