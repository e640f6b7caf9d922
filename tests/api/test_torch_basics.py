"""PyTorch as an oracle, where it is installed: what learners know must hold here."""

import numpy as np
import pytest

import minigrad as mg
from tests.support.table import table

torch = pytest.importorskip("torch", reason="PyTorch is not installed: python -m pip install torch adds this oracle")
rng = np.random.default_rng(3)
A, B, P = rng.normal(size=(4, 3)), rng.normal(size=(3, 5)), rng.uniform(0.5, 2, (4, 3))
CLASSES = np.array([0, 4, 4, 2])

FUNCTIONS = {
    "an MLP with cross entropy": (
        lambda a, b: mg.cross_entropy(a.tanh() @ b, CLASSES),
        lambda a, b: torch.nn.functional.cross_entropy(a.tanh() @ b, torch.tensor(CLASSES)), (A, B),
    ),
    "softmax": (lambda a: (mg.softmax(a, 1) * a).sum(), lambda a: (torch.softmax(a, 1) * a).sum(), (A,)),
    "means and maxima": (lambda a: (a.mean(0) * a.max(axis=0)).sum(), lambda a: (a.mean(0) * a.amax(0)).sum(), (A,)),
    "ties": (
        lambda a: (a * 0).max(axis=1).sum() + a.relu().sum(), lambda a: (a * 0).amax(1).sum() + a.relu().sum(), (A,),
    ),
    "maximum and minimum of equals": (
        lambda a: (a.maximum(a * 1) * 2 + a.minimum(a * 1)).sum(),
        lambda a: (torch.maximum(a, a * 1) * 2 + torch.minimum(a, a * 1)).sum(), (A,),
    ),
    "choices": (
        lambda a, p: mg.where(a > 0, a * p, -p).sum(), lambda a, p: torch.where(a > 0, a * p, -p).sum(), (A, P),
    ),
}  # fmt: skip
SAME_TEXT = {
    "broadcasting": (lambda a, p: (a / p[0] - p[:, :1] * a).sum(), (A, P)),
    "indexing twice": (lambda a: (a[[0, 2, 2], [1, 1, 1]] ** 2).sum(), (A,)),
    "powers": (lambda p, a: (p**a + 2**p + p**-1.5 + p.sqrt()).sum(), (P, A)),
    "sigmoid far out": (lambda a: (a * 40).sigmoid().sum(), (A,)),
    "batched matmul": (lambda a, b: (a.reshape(2, 2, 3) @ b).logsumexp(1).sum(), (A, B)),
    "vectors": (lambda a, b: a[0] @ b @ b[1], (A, B)),
}
FUNCTIONS |= {name: (f, f, arrays) for name, (f, arrays) in SAME_TEXT.items()}


@table("ours, theirs, arrays", FUNCTIONS.values(), ids=FUNCTIONS)
def test_value_and_gradients_are_pytorchs(ours, theirs, arrays):
    xs = [mg.tensor(a, requires_grad=True) for a in arrays]
    ts = [torch.tensor(a, requires_grad=True) for a in arrays]

    y, t = ours(*xs), theirs(*ts)
    y.backward()
    t.backward()

    np.testing.assert_allclose(y.numpy(), t.detach().numpy(), rtol=1e-12)
    for x, s in zip(xs, ts):
        np.testing.assert_allclose(x.grad.numpy(), s.grad.numpy(), rtol=1e-10, atol=1e-14)


def test_a_sum_can_be_passed_twice_because_it_keeps_nothing():
    for tensor in (mg.tensor, torch.tensor):
        x = tensor([1.0, 2.0], requires_grad=True)
        y = x.sum()
        y.backward()
        y.backward()

        assert x.grad.tolist() == [2, 2] if tensor is torch.tensor else x.grad.numpy().tolist() == [2, 2]
