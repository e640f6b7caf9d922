"""The whole of the engine, small: if this fails, look here first."""

import numpy as np

import minigrad as mg


def test_a_product_has_the_other_factor_for_gradient():
    x = mg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = mg.tensor([4.0, 5.0, 6.0], requires_grad=True)

    loss = (x * y).sum()
    loss.backward()

    assert loss.item() == 32
    assert x.grad.numpy().tolist() == [4, 5, 6]
    assert y.grad.numpy().tolist() == [1, 2, 3]


def test_scalar_engine_and_tensor_engine_agree():
    values = [mg.Value(v) for v in (0.7, -1.3, 2.1)]
    tensors = [mg.tensor(v, requires_grad=True) for v in (0.7, -1.3, 2.1)]

    def f(x, y, z):
        return ((x * y + z) / z - (x - y) ** 3).tanh() * z.log() + x.exp() * 2 - 1 / z + (-x).relu()

    by_value, by_tensor = f(*values), f(*tensors)
    by_value.backward()
    by_tensor.backward()

    assert by_value.data == by_tensor.item()
    np.testing.assert_allclose([v.grad for v in values], [t.grad.item() for t in tensors], rtol=1e-14)


def test_a_gradient_can_be_differentiated_again():
    x = mg.tensor([0.5, 2.0], requires_grad=True)

    (slope,) = mg.grad((x**4).sum(), x, create_graph=True)
    (curvature,) = mg.grad(slope.sum(), x)

    np.testing.assert_allclose(curvature.numpy(), 12 * x.numpy() ** 2)


def test_a_small_net_learns_xor():
    x = mg.tensor([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    y = mg.tensor([[0.0], [1], [1], [0]])
    rng = np.random.default_rng(0)
    net = mg.nn.Sequential(mg.nn.Linear(2, 8, rng=rng), mg.nn.Tanh(), mg.nn.Linear(8, 1, rng=rng))
    optimizer = mg.optim.Adam(net.parameters(), lr=0.05)

    for _ in range(300):
        loss = mg.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    np.testing.assert_allclose(net(x).numpy(), y.numpy(), atol=0.05)
