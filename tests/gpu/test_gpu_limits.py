"""What goes wrong on a GPU is told, memory comes back, and random numbers are those of the CPU."""

import gc

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.device import CPU, GPU
from minigrad.engine.base.errors import AnomalyError, DeviceError, SingularError
from minigrad.graph.backends.simulated_gpu import Array
from minigrad.graph.compiler.blame import trap_nan

F = mg.nn.functional


def there(a, device):
    return mg.tensor(np.asarray(a), device=device)


# -- errors --------------------------------------------------------------------------------------------


def rows(x, i):
    return x[i] * 2


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
def test_an_index_out_of_range_is_told_when_a_value_is_read(traced, device):
    f, x = mg.function(rows) if traced else rows, there(np.arange(6.0), device)
    for _ in range(3):
        assert f(x, there([0, 5], device)).numpy().tolist() == [0, 10]

    with pytest.raises(IndexError, match=r"-6 to 5"):
        f(x, there([0, 6], device)).numpy()
    device.doubts.clear()  # the simulated device told it at once, and would again
    assert f(x, there([1, -1], device)).numpy().tolist() == [2, 10]


def test_a_label_out_of_range_is_told(device):
    with pytest.raises(IndexError):
        F.cross_entropy(there(np.zeros((2, 3), "f4"), device), there([0, 3], device)).item()


def test_a_nan_is_trapped_and_named(device):
    f = mg.function(lambda x: (x - 1).log() * 2)
    assert np.isnan(f(there([0.5], device)).numpy()).all()

    with trap_nan(), pytest.raises(AnomalyError, match=r"Log, built at .* made 1 NaN of finite numbers"):
        f(there([0.5], device))


@pytest.mark.parametrize(("op", "matrix"), [
    (mg.linalg.cholesky, -np.eye(3)), (mg.linalg.cholesky, np.stack([np.eye(3), -np.eye(3)])),
    (mg.linalg.inv, np.zeros((3, 3))), (lambda x: mg.linalg.solve(x, x), np.zeros((2, 3, 3))),
], ids=["cholesky", "of several", "inv", "solve"])  # fmt: skip
def test_a_matrix_without_an_answer_is_refused(op, matrix, device):
    with pytest.raises(SingularError):
        op(there(matrix, device))
    np.testing.assert_array_equal(op(there(matrix * 0 + np.eye(3), device)).numpy(), matrix * 0 + np.eye(3))


def test_host_arrays_do_not_mix_with_the_device_s(device):
    with pytest.raises(DeviceError, match="one device"):
        there([1.0], device) + mg.tensor([1.0])


# -- memory --------------------------------------------------------------------------------------------


def in_use(device):
    """Bytes of the arrays that are alive there."""
    gc.collect()
    if device is GPU:
        return GPU.xp.get_default_memory_pool().used_bytes()
    return sum(x.host.nbytes for x in gc.get_objects() if type(x) is Array and x.base is None)


def trained(device, traced):
    net = mg.nn.Sequential(mg.nn.Linear(50, 100), mg.nn.ReLU(), mg.nn.Linear(100, 10)).float().to(device)
    optimiser = mg.optim.Adam(net.parameters(), lr=0.01)
    x = there(np.ones((32, 50), "f4"), device)

    def step():
        optimiser.zero_grad()
        loss = (net(x) ** 2).mean()
        loss.backward()
        optimiser.step()
        return loss

    run = mg.function(step, jit_compile=True) if traced else step
    for _ in range(5):
        run().item()


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
def test_memory_comes_back(traced, device):
    for _ in range(2):
        trained(device, traced)  # constants and cuBLAS's workspace stay
    before = in_use(device)

    for _ in range(3):
        trained(device, traced)

    assert in_use(device) <= before


def test_a_thousand_replays_take_no_more_than_one(device):
    w = there(np.ones((64, 64), "f4"), device)
    f = mg.function(lambda x: ((x @ w) * 0.01).tanh().sum(0), jit_compile=True)
    x = there(np.ones((64, 64), "f4"), device)
    for _ in range(3):
        f(x)
    before = in_use(device)

    for _ in range(1000):
        f(x)

    assert in_use(device) <= before


def test_where_memory_is_short_that_is_told_and_then_it_goes_on(cupy):
    pool = cupy.get_default_memory_pool()
    gc.collect()
    pool.free_all_blocks()
    f = mg.function(lambda x: (x * 2).cumsum(0) + 1)
    pool.set_limit(size=pool.total_bytes() + (64 << 20))
    try:
        with pytest.raises(Exception, match=r"[Oo]ut of memory"):
            mg.zeros(1 << 26, device="gpu") + 1
        with pytest.raises(Exception, match=r"[Oo]ut of memory"):
            f(mg.zeros(6 << 20, device="gpu"))
    finally:
        pool.set_limit(size=0)
    assert f(mg.zeros(6 << 20, device="gpu")).numpy()[-1] == 1


# -- random numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (7,), (1000, 33)])
def test_a_key_draws_the_same_numbers_everywhere(shape, device):
    key = mg.random.key(5)
    draws = {
        "bits": lambda k: mg.random.bits(k, shape), "uniform": lambda k: mg.random.uniform(k, shape, "float32"),
        "integers": lambda k: mg.random.randint(k, shape, -3, 100),
    }  # fmt: skip
    for draw in draws.values():
        np.testing.assert_array_equal(draw(key.to(device)).numpy(), draw(key).numpy())
    found, wanted = (mg.random.normal(k, shape, "float64").numpy() for k in (key.to(device), key))
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


def test_dropout_drops_the_same(device):
    kept = []
    for place in (device, CPU):
        mg.manual_seed(3)
        drop = mg.function(lambda x: F.dropout(x, 0.5))
        kept.append([drop(mg.ones(1000, device=place)).numpy() for _ in range(4)])

    np.testing.assert_array_equal(*kept)
    assert len({each.tobytes() for each in kept[0]}) == 4, "a replay draws anew"
