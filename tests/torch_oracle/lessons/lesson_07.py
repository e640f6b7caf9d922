"""07 Tapes and transforms."""

import warnings

import numpy as np
import torch
from torch.func import grad, hessian, jacfwd, jvp, vmap


def lines():
    x, y = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    gx, gy = torch.autograd.grad(x * y, (x, y))
    yield f"from the tape: {gx!s} {gy!s}"

    h = x.detach() ** 2
    h.requires_grad_()
    z = h * y
    yield f"∂z/∂h = {torch.autograd.grad(z, h)[0]!s}"

    def cube(x):
        return x**3

    five = torch.tensor(5.0)
    yield f"at 5: {cube(5.0)} {grad(cube)(five)!s} {grad(grad(cube))(five)!s} {grad(grad(grad(cube)))(five)!s}"

    p = {"w": torch.tensor([1.0, 2.0]), "b": torch.tensor(0.5)}
    slopes = grad(lambda p, x: (p["w"] @ x + p["b"] - 1) ** 2)(p, torch.tensor([3.0, -1.0]))
    yield f"by all parameters of a model: {slopes}"

    def waves(x):
        return torch.stack([x.sum(), x.sin().sum(), x.cos().sum(), x.prod()])

    x = torch.arange(6.0).reshape(2, 3)
    dx = torch.zeros(2, 3)
    dx[0, 0] = 1
    with warnings.catch_warnings():  # PyTorch, of its own torch.jit, when forward mode is first used
        warnings.simplefilter("ignore", DeprecationWarning)
        moved = jvp(waves, (x,), (dx,))[1]
    yield f"forward along x[0, 0]: {moved!s}"
    yield f"shape of J: it is {tuple(jacfwd(waves)(x).shape)}"

    def error(w, x, y):
        return (x @ w - y) ** 2

    w, Y = torch.tensor([1.0, 2.0]), torch.tensor([0.0, 2.0, 0.0])
    X = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    yield str(vmap(grad(error), in_dims=(None, 0, 0))(w, X, Y))
    yield f"the batch: {grad(lambda w: error(w, X, Y).sum())(w)!s}"

    x = torch.tensor(3.0, requires_grad=True)
    (g,) = torch.autograd.grad(x**3, x, create_graph=True)
    yield f"second derivative of x³ at 3: {torch.autograd.grad(g, x)[0]!s}"

    rng = np.random.default_rng(0)
    X, Y = torch.tensor(rng.normal(size=(100, 50)) + 1), torch.tensor(rng.normal(size=100))

    def loss(w):
        return ((X @ w - Y) ** 2).mean()

    start = torch.zeros(50, dtype=torch.float64)
    bend = torch.linalg.eigvalsh(hessian(loss)(start))[-1].item()
    yield f"λ = {bend:.3f} from 10 products, so the limit is {2 / bend:.5f}"
    for factor in (0.5, 0.98, 1.02, 1.1):
        w = start
        for _ in range(100):
            w = w - factor * 2 / bend * grad(loss)(w)
        yield f"{factor:4} × limit: from {loss(start):.2f} to {loss(w):.3g}"

    yield f"grad says {grad(lambda x: torch.tensor(x.item() ** 2))(torch.tensor(3.0))!s}"
