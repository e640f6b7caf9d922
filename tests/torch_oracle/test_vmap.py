"""torch.func.vmap of the same function of the same numbers, alone and with the other transforms."""

import numpy as np
import pytest

import minigrad as mg

from .oracle import agree_throughout, torch

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch", "ignore:Attempted to insert:UserWarning"),
    pytest.mark.usefixtures("doubles"),
]

X = np.random.default_rng(0).normal(size=(4, 3))
IMAGES = np.random.default_rng(1).normal(size=(5, 2, 8, 8))
WHICH = np.array([[0, 2], [1, 1], [2, 0], [0, 0]])


def number(x):
    return (x.sin() * x.exp()).sum() * x[0]


def weights(m, *shapes):
    return [m.tensor(np.random.default_rng(i).normal(size=shape)) for i, shape in enumerate(shapes)]


def network(m):
    """The loss of one image, of parameters in a list: convolutions, grouped and not, pooling, a layer."""
    F = m.nn.functional

    def loss(params, image, label):
        w, b, v, u, c = params
        x = F.max_pool2d(F.relu(F.conv2d(image[None], w, b, padding=1)), 2)
        x = F.conv2d(x, v, stride=2, groups=2).tanh().flatten(1)
        return F.cross_entropy(F.linear(F.layer_norm(x, (8,)), u, c), label[None])

    params = weights(m, (4, 2, 3, 3), (4,), (8, 2, 3, 3), (6, 8), (6,))
    return loss, params, m.tensor(IMAGES), m.tensor([0, 5, 2, 2, 1])


def per_sample_gradients(m):
    loss, *given = network(m)
    return m.func.vmap(m.func.grad(loss), (None, 0, 0))(*given)


def an_ensemble_of_networks(m):
    loss, params, images, labels = network(m)
    several = [m.stack([p, p * 2, p * 0.5]) for p in params]
    each = m.func.vmap(m.func.vmap(loss, (None, 0, 0)), (0, None, None))
    return each(several, images, labels), m.func.grad(lambda ps: each(ps, images, labels).sum())(several)


PROGRAMS = {
    "in_dims": lambda m, f: f.vmap(lambda x, w: x @ w, (0, None))(m.tensor(X), m.tensor(X[0])),
    "the last axis": lambda m, f: f.vmap(lambda x: x.cumsum(0), -1, 1)(m.tensor(X)),
    "a tree": lambda m, f: f.vmap(
        lambda t, s: {"y": t["x"] * s, "z": (t["x"].sum(),)}, ({"x": 1}, None), {"y": 1, "z": (0,)})(
        {"x": m.tensor(X)}, 2.0),
    "what all slices share": lambda m, f: f.vmap(lambda x: (x, m.ones(2)), out_dims=0)(m.tensor(X)),
    "keywords": lambda m, f: f.vmap(lambda x, *, s: x * s)(m.tensor(X), s=m.tensor(X[0])),
    "chunks": lambda m, f: f.vmap(lambda x: (x.softmax(0), 1.0 * x.sum()), out_dims=(1, 0), chunk_size=3)(m.tensor(X)),
    "vmap of vmap": lambda m, f: f.vmap(f.vmap(lambda x, y: x * y, (None, 0)), (0, None))(
        m.tensor(X), m.tensor(X[:, 0])),
    "vmap of grad": lambda m, f: f.vmap(f.grad(number))(m.tensor(X)),
    "grad of vmap": lambda m, f: f.grad(lambda x: (f.vmap(number)(x) ** 2).sum())(m.tensor(X)),
    "grad of vmap of grad": lambda m, f: f.grad(lambda x: (f.vmap(f.grad(number))(x) ** 2).sum())(m.tensor(X)),
    "vmap of jacrev": lambda m, f: f.vmap(f.jacrev(lambda x: x.exp() * x.sum()))(m.tensor(X)),
    "vmap of jacfwd": lambda m, f: f.vmap(f.jacfwd(lambda x: x.exp() * x.sum()))(m.tensor(X)),
    "vmap of hessian": lambda m, f: f.vmap(f.hessian(number))(m.tensor(X)),
    "jacrev of vmap": lambda m, f: f.jacrev(f.vmap(number))(m.tensor(X)),
    "jacfwd of vmap": lambda m, f: f.jacfwd(f.vmap(number))(m.tensor(X)),
    "hessian of vmap": lambda m, f: f.hessian(lambda x: f.vmap(number)(x).sum())(m.tensor(X)),
    "vmap of jvp": lambda m, f: f.vmap(lambda x, dx: f.jvp(number, (x,), (dx,))[1])(m.tensor(X), m.tensor(X) * 2),
    "jvp of vmap": lambda m, f: f.jvp(f.vmap(number), (m.tensor(X),), (m.tensor(X) * 2,))[1],
    "vmap of a pullback": lambda m, f: f.vmap(f.vjp(lambda x: x.exp() * x.sum(), m.tensor(X[0]))[1])(m.tensor(X)),
    "vmap of a linear map": lambda m, f: f.vmap(f.linearize(number, m.tensor(X[0]))[1])(m.tensor(X)),
    "Newton's step": lambda m, f: f.vmap(
        lambda x: m.linalg.solve(f.hessian(lambda x: (x**4).sum() + x.sum() ** 2)(x), x))(m.tensor(X)),
    "an index of each": lambda m, f: f.vmap(lambda x, i: x[i])(m.tensor(X), m.tensor(WHICH)),
    "an index of each in a table": lambda m, f: f.vmap(lambda t, i: t[:, i], (None, 0))(
        m.tensor(X[:3]), m.tensor(WHICH)),
    "an embedding's gradients": lambda m, f: f.vmap(f.grad(lambda t, i: (t[i] ** 2).sum()), (None, 0))(
        m.tensor(X), m.tensor(WHICH)),
    "gather": lambda m, f: f.vmap(lambda x, i: x.gather(0, i))(m.tensor(X), m.tensor(WHICH)),
    "attention": lambda m, f: f.vmap(m.nn.functional.scaled_dot_product_attention)(
        *(m.tensor(IMAGES[:, :, :3, i : i + 2]) for i in range(3))),
    "einsum": lambda m, f: f.vmap(lambda x, y: m.einsum("i,jk->ijk", x, y), (0, None))(m.tensor(X), m.tensor(X)),
    "where": lambda m, f: f.vmap(lambda x: m.where(x.sum() > 0, x, -x))(m.tensor(X)),
    "edits of its own": lambda m, f: f.vmap(lambda x: (x * 1).add_(x).mul_(3))(m.tensor(X)),
    "rows of a Jacobian": lambda m, f: rows(m),
    "per-sample gradients": lambda m, f: per_sample_gradients(m),
    "an ensemble": lambda m, f: an_ensemble_of_networks(m),
}  # fmt: skip


def rows(m):
    x = m.tensor(X[0], requires_grad=True) if m is mg else m.tensor(X[0]).requires_grad_()
    y = x.exp() * x.sum()
    eye = m.tensor(np.eye(3))
    return (
        m.autograd.grad(y, x, eye, retain_graph=True, is_grads_batched=True),
        m.autograd.functional.jacobian(lambda x: x.exp() * x.sum(), x),
        m.autograd.functional.hessian(number, x),
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_numbers(name):
    agree_throughout(*(PROGRAMS[name](m, m.func) for m in (mg, torch)), name)


REFUSED = {
    "a branch by a value": lambda m, f: f.vmap(lambda x: x if x.sum() > 0 else -x)(m.tensor(X)),
    "item": lambda m, f: f.vmap(lambda x: x * x.sum().item())(m.tensor(X)),
    "as many as there are": lambda m, f: f.vmap(lambda x: x.nonzero())(m.tensor(X)),
    "axes of two lengths": lambda m, f: f.vmap(lambda x, y: x)(m.tensor(X), m.tensor(X.T)),
    "no axis": lambda m, f: f.vmap(lambda x: x, in_dims=None)(m.tensor(X)),
    "an axis too many": lambda m, f: f.vmap(lambda x: x, in_dims=(0, 0))(m.tensor(X)),
    "an axis that is not there": lambda m, f: f.vmap(lambda x: x, in_dims=2)(m.tensor(X)),
    "a tree of another structure": lambda m, f: f.vmap(lambda x: x, in_dims=((0, 0),))([m.tensor(X)]),
    "no axis for what differs": lambda m, f: f.vmap(lambda x: x, out_dims=None)(m.tensor(X)),
    "random numbers": lambda m, f: f.vmap(lambda x: x + m.rand(3))(m.tensor(X)),
    "another word": lambda m, f: f.vmap(lambda x: x, randomness="sometimes")(m.tensor(X)),
    "a result that is none": lambda m, f: f.vmap(lambda x: None)(m.tensor(X)),
    "an edit of what is shared": lambda m, f: f.vmap(lambda x, w: w.add_(x), (0, None))(m.tensor(X), m.zeros(3)),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_both_refuse(name):
    for m in (mg, torch):
        with pytest.raises((RuntimeError, ValueError, IndexError, TypeError)):
            REFUSED[name](m, m.func)
