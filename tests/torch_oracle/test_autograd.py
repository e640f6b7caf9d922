"""The same programs, word for word, in minigrad and in PyTorch: what they mean must not differ."""

from importlib import import_module

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base import pytree

from .oracle import agree_throughout, torch
from .programs import find_programs

pytestmark = pytest.mark.usefixtures("doubles")


def leaf(m, data=(1.0, 2.0, 3.0)):
    return m.tensor(list(data), requires_grad=True)


def one(m, data):
    return m.tensor(data, requires_grad=True)


def setting_an_element(m):
    x = leaf(m)
    y = x * 2
    y[1] = m.tensor(5.0)
    (y * y).sum().backward()
    return x.grad


def editing_a_view(m):
    x = leaf(m)
    y = x * 2
    v = y[1:]
    v *= 3
    (y * y).sum().backward()
    return x.grad, y._version


def editing_what_a_view_looks_at(m):
    x = leaf(m)
    y = x * 2
    v = y[1:]
    y.mul_(3)
    (v * v).sum().backward()
    return x.grad, v


def a_view_of_a_view(m):
    x = leaf(m)
    y = x * 1
    v = y[1:]
    w = v[0:1]
    w *= 5
    (y * y * v.sum()).sum().backward()
    return x.grad


def a_buffer_filled_row_by_row(m):
    buffer, x = m.tensor([0.0, 0.0, 0.0]), one(m, 2.0)
    buffer[1] = x * x
    last = buffer[2]
    buffer[2] = x
    (buffer * buffer).sum().backward()
    return x.grad, buffer.requires_grad, last.requires_grad, buffer.is_leaf


def a_transposed_row_set(m):
    x = m.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 1
    y.t()[0] = m.tensor([7.0, 8.0])
    (y * y).sum().backward()
    return x.grad


def zeroed_under_a_reshape(m):
    a = leaf(m)
    b = a * 2
    c = b.reshape(3, 1)
    b.zero_()
    return c.requires_grad, c


def an_edit_that_reads_its_old_value(m):
    x, w = leaf(m), leaf(m, (3.0, 4.0, 5.0))
    y = x * 1
    y.mul_(w)
    y.sum().backward()
    return x.grad, w.grad


def a_step_of_descent(m):
    x = leaf(m)
    for _ in range(3):
        (x * x).sum().backward()
        with m.no_grad():
            x -= 0.1 * x.grad
        x.grad = None
    return x, x.is_leaf, x._version


def a_hook_that_scales(m):
    x = one(m, 2.0)
    y = x * x
    y.retain_grad()
    handle = y.register_hook(lambda g: g * 10)
    (y * 3).backward()
    handle.remove()
    (x * 3).backward()
    return y.grad, x.grad


def a_hook_on_a_leaf(m):
    x = one(m, 2.0)
    x.register_hook(lambda g: g + 1)
    (x * x + x).backward()
    (g,) = m.autograd.grad(x * 5, x)
    return x.grad, g


def a_hook_after_accumulation(m):
    x, seen = one(m, 2.0), []
    x.register_post_accumulate_grad_hook(lambda p: seen.append(float(p.grad)))
    (x * 3).backward()
    (x * 4).backward()
    return m.tensor(seen)


def the_gradient_of_an_inner_result(m):
    x = leaf(m)
    y = x * 2
    z = (y * y).sum()
    return m.autograd.grad(z, [y, x])


def two_outputs_in_one_pass(m):
    x = leaf(m)
    m.autograd.backward([(x * 2).sum(), x * 3], [None, m.tensor([1.0, 10.0, 100.0])])
    return x.grad


def gradients_of_two_outputs(m):
    x, w = leaf(m), leaf(m, (2.0, 3.0, 4.0))
    return m.autograd.grad([x * w, (x * x).sum()], [w, x], grad_outputs=[m.tensor([1.0, 2.0, 3.0]), None])


def backward_to_chosen_inputs(m):
    x = leaf(m)
    y = x * 2
    (y * 3).sum().backward(inputs=[y])
    return y.grad, x.grad is None


def third_derivative_by_create_graph(m):
    x = one(m, 2.0)
    g = x**4
    for _ in range(3):
        (g,) = m.autograd.grad(g, x, create_graph=True)
    return g, g.requires_grad


def unused_inputs(m):
    x, w = leaf(m), leaf(m)
    gx, gw = m.autograd.grad(x.sum(), [x, w], allow_unused=True)
    _, zeros = m.autograd.grad(x.sum(), [x, w], materialize_grads=True)
    return gx, gw is None, zeros


def modes_nested(m):
    x = one(m, 2.0)
    said = []
    with m.no_grad():
        said.append((x * 2).requires_grad)
        with m.enable_grad():
            said.append((x * 2).requires_grad)
        with m.set_grad_enabled(False):
            said.append((x * 2).requires_grad)
    said.append((x * 2).requires_grad)
    return m.tensor([float(s) for s in said])


def modes_as_decorators(m):
    x = one(m, 2.0)

    @m.no_grad()
    def silent():
        return x * 2

    @m.enable_grad()
    def loud():
        return x * 2

    with m.no_grad():
        heard = loud().requires_grad
    return silent().requires_grad, heard, m.is_grad_enabled()


def detached(m):
    x = one(m, 3.0)
    y = x * x
    z = (y * y.detach()).sum()
    z.backward()
    w = (x * 2).detach_()
    return x.grad, w.requires_grad, w.is_leaf, y.detach().grad_fn is None


def a_checkpoint(m):
    checkpoint = import_module(f"{m.__name__}.utils.checkpoint").checkpoint
    x, w = leaf(m), leaf(m, (2.0, 3.0, 4.0))
    y = checkpoint(lambda x: (x * w).sin() * x, x, use_reentrant=False)
    (y * y).sum().backward()
    return x.grad, w.grad


def a_function_of_ones_own(m):
    class Cube(m.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            ctx.save_for_backward(x)
            ctx.scale = scale
            return scale * x**3, x + 1

        @staticmethod
        def backward(ctx, gy, gz):
            (x,) = ctx.saved_tensors
            return ctx.scale * 3 * x * x * gy + gz, None

    x = leaf(m)
    y, z = Cube.apply(x, 2.0)
    (g,) = m.autograd.grad((y * z).sum(), x, create_graph=True)
    (h,) = m.autograd.grad(g.sum(), x)
    only, _ = Cube.apply(x, 1.0)
    (k,) = m.autograd.grad(only.sum(), x)
    return g, h, k, y.requires_grad


def functional_derivatives(m):
    functional, x = m.autograd.functional, m.tensor([1.0, 2.0, 3.0])

    def f(x):
        return (x**3).sum() * x[0]

    return (
        functional.jacobian(lambda x: x * x.sum(), x), functional.hessian(f, x), functional.hvp(f, x, x)[1],
        functional.vhp(f, x, x)[1], functional.vjp(lambda x: x * x, x, x)[1], functional.jvp(lambda x: x * x, x, x)[1],
    )  # fmt: skip


def transforms(m):
    func, x = m.func, m.tensor([1.0, 2.0, 3.0])

    def f(x):
        return (x**3).sum() * x[0]

    return (
        func.grad(f)(x), func.grad(lambda x: func.grad(f)(x).sum())(x), func.hessian(f)(x),
        func.jacrev(lambda x: x * x.sum())(x), func.jacfwd(lambda x: x * x.sum())(x), func.jvp(f, (x,), (x,))[1],
        func.vjp(f, x)[1](m.tensor(2.0))[0], func.vmap(lambda x: x * x)(x),
    )  # fmt: skip


PROGRAMS = find_programs(globals(), "m")


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_means_the_same(name):
    agree_throughout(PROGRAMS[name](mg), PROGRAMS[name](torch), name, rtol=1e-12, atol=1e-12)


REFUSED = {
    "editing a leaf": lambda m: leaf(m).add_(1), "editing a view of a leaf": lambda m: leaf(m)[1:].add_(1),
    "setting an element of a leaf": lambda m: leaf(m).__setitem__(0, 1.0),
    "editing what backward reads": lambda m: saved_then_edited(m, lambda y: y.add_(1)),
    "editing it through detach": lambda m: saved_then_edited(m, lambda y: y.detach().add_(1)),
    "editing it through a view": lambda m: saved_then_edited(m, lambda y: y[0:1].add_(1)),
    "editing what was broadcast": lambda m: m.broadcast_to(leaf(m) * 1, (2, 3)).add_(1),
    "backward twice": lambda m: [(y := (leaf(m) ** 2).sum()).backward(), y.backward()],
    "backward from many": lambda m: leaf(m).backward(), "backward from data": lambda m: m.tensor([1.0]).backward(),
    "retain_grad without a gradient": lambda m: m.tensor([1.0]).retain_grad(),
    "a hook without a gradient": lambda m: m.tensor([1.0]).register_hook(print),
    "an inference tensor in a graph": lambda m: leaf(m) * inferred(m),
    "an input not used": lambda m: m.autograd.grad(leaf(m).sum(), leaf(m)),
    "requires_grad_ on a result": lambda m: (leaf(m) * 2).requires_grad_(False),
    "a hook that gives another shape": lambda m: hooked(m, lambda g: g.sum()),
    "detaching a view in place": lambda m: (leaf(m) * 1)[1:].detach_(),
}  # fmt: skip


def saved_then_edited(m, edit):
    x = leaf(m)
    y = x * 1
    z = y * y
    edit(y)
    z.sum().backward()


def inferred(m):
    with m.inference_mode():
        return m.tensor([1.0, 2.0, 3.0])


def hooked(m, hook):
    x = leaf(m)
    y = x * 2
    y.register_hook(hook)
    y.sum().backward()


@pytest.mark.parametrize("name", REFUSED)
def test_what_pytorch_refuses_is_refused(name):
    with pytest.raises(RuntimeError):
        REFUSED[name](torch)
    with pytest.raises(mg.errors.MinigradError) as refused:
        REFUSED[name](mg)
    assert len(str(refused.value)) > 40


def hooks_of_nodes(m, create_graph):
    """What hooks of nodes are shown, and the gradients that come of what they return."""
    log, x, w = [], m.tensor([2.0, 3.0], requires_grad=True), m.tensor([0.5, 0.25], requires_grad=True)
    constant = m.tensor([1.0, 2.0])
    y = x * w
    z = (y * constant).exp()
    numbers = lambda gs: [None if g is None else g.tolist() for g in gs]  # noqa: E731
    z.grad_fn.register_prehook(lambda gs: log.append(("before", numbers(gs))))
    z.grad_fn.register_prehook(lambda gs: (gs[0] * 2,))
    z.grad_fn.next_functions[0][0].register_hook(lambda sent, came: log.append(("after", numbers(sent), numbers(came))))
    y.grad_fn.register_hook(lambda sent, came: (sent[0] * 10, sent[1] + came[0]))
    gone = y.grad_fn.register_hook(lambda sent, came: log.append("removed"))
    gone.remove()
    x.register_hook(lambda g: log.append(("x", g.tolist())))
    first = m.autograd.grad(z.sum(), [x, w], create_graph=create_graph, retain_graph=True)
    z.sum().backward(retain_graph=True)
    yield log
    yield numbers([*first, x.grad, w.grad])
    if create_graph:
        yield numbers(m.autograd.grad(first[0].sum() + (first[1] ** 2).sum(), [x, w]))


@pytest.mark.parametrize("create_graph", [False, True])
def test_hooks_of_nodes_are_shown_and_change_what_pytorchs_do(create_graph):
    """grad_fn.register_hook and register_prehook were refused."""
    for ours, theirs in zip(hooks_of_nodes(mg, create_graph), hooks_of_nodes(torch, create_graph), strict=True):
        if isinstance(theirs[0], list):  # gradients
            np.testing.assert_allclose(ours, theirs, rtol=1e-5)
        else:
            assert [entry[0] for entry in ours] == [entry[0] for entry in theirs]
            for (_, *a), (_, *b) in zip(ours, theirs):
                numbers = [np.array([x for x in pytree.leaves(entry) if x is not None]) for entry in (a, b)]
                np.testing.assert_allclose(*numbers, rtol=1e-5)


def test_a_hook_of_a_node_that_returns_something_else_is_refused():
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    for wrong in ((mg.ones(3),), (mg.ones(2), mg.ones(2)), 3.0):
        y = (x * 2).exp()
        y.grad_fn.register_hook(lambda sent, came, wrong=wrong: wrong)
        with pytest.raises(mg.errors.ShapeError, match="ExpBackward must return gradients like those it got"):
            y.sum().backward()
