"""Functions, sessions and training on a GPU, beside the CPU; recordings, streams, threads, products."""

import threading

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.device import CPU
from minigrad.graph.backends.cuda.machine import machine_of, matmul
from minigrad.graph.backends.cuda.replay import Replay

F = mg.nn.functional
X = np.random.default_rng(0).normal(size=(64, 20)).astype("f4")
Y = np.arange(64) % 5


def network(device):
    """The same numbers on each device: they are drawn from keys."""
    mg.manual_seed(0)
    layers = mg.nn.Linear(20, 32), mg.nn.LayerNorm(32), mg.nn.Tanh(), mg.nn.Linear(32, 5)
    return mg.nn.Sequential(*layers).float().to(device)


def convolutional(device):
    mg.manual_seed(0)
    layers = mg.nn.Conv2d(1, 4, 3, bias=False), mg.nn.BatchNorm2d(4), mg.nn.ReLU(), mg.nn.MaxPool2d(2), mg.nn.Flatten()
    return mg.nn.Sequential(mg.nn.Unflatten(1, (1, 4, 5)), *layers, mg.nn.Linear(4, 5)).float().to(device)


def attentive(device):
    mg.manual_seed(0)
    attention = mg.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    layers = mg.nn.Unflatten(1, (5, 4)), attention, mg.nn.Flatten(), mg.nn.Linear(20, 5)
    return mg.nn.Sequential(*layers).float().to(device)


def losses(device, make, compiled, steps=8, optimiser=mg.optim.Adam):
    """The losses of a few steps of training, and the parameters after them."""
    net = make(device)
    moved = optimiser(net.parameters(), lr=0.01)
    x, y = mg.tensor(X, device=device), mg.tensor(Y, device=device)

    def step():
        moved.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        moved.step()
        return loss

    run = mg.function(step, jit_compile=compiled) if compiled is not None else step
    return [run().item() for _ in range(steps)], [p.numpy() for p in net.parameters()]


@pytest.mark.parametrize("compiled", [None, False, True], ids=["eager", "exact", "jit_compile"])
@pytest.mark.parametrize("make", [network, convolutional, attentive])
def test_training_is_what_it_is_on_the_cpu(make, compiled, device):
    found, parameters = losses(device, make, compiled)
    wanted, expected = losses(CPU, make, None)

    np.testing.assert_allclose(found, wanted, rtol=2e-3)  # singles, eight steps of Adam
    assert found[-1] < found[0]
    for p, q in zip(parameters, expected, strict=True):
        np.testing.assert_allclose(p, q, atol=5e-3)


@pytest.mark.parametrize("kind", ["SGD", "AdamW", "RMSprop", "Adagrad", "RAdam"])
def test_an_optimiser_moves_as_it_does_on_the_cpu(kind, device):
    optimiser = getattr(mg.optim, kind)

    found, _ = losses(device, network, True, 5, optimiser)
    wanted, _ = losses(CPU, network, None, 5, optimiser)

    np.testing.assert_allclose(found, wanted, rtol=2e-3)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("shape", [(), (1,), (257,), (1000, 1000), (3, 1, 70000)])
def test_a_kernel_is_what_the_ops_are_one_by_one(shape, dtype, device):
    """Elements, broadcasting, and reductions over one block and many."""
    a = np.random.default_rng(1).normal(size=shape).astype(dtype)
    b = np.random.default_rng(2).normal(size=shape[-1:]).astype(dtype)

    def f(x, y):
        z = (x * 1.5 + y).tanh() * x.sigmoid()
        return z, z.sum(), (z * z).mean(), z.max(), z.where(x > 0, float("-inf"))

    x, y = mg.tensor(a, device=device), mg.tensor(b, device=device)
    traced = mg.function(f, jit_compile=True)
    tolerance = {"float64": 1e-12, "float32": 2e-5, "float16": 2e-2}[dtype]
    for _ in range(3):
        for found, wanted in zip(traced(x, y), f(mg.tensor(a.astype("f8")), mg.tensor(b.astype("f8"))), strict=True):
            largest = np.abs(wanted.numpy()[np.isfinite(wanted.numpy())]).max(initial=0)
            if dtype == "float16" and largest > 60_000:
                continue
            np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=tolerance, atol=tolerance * largest)

    assert "__global__" in traced.source


def test_what_is_recorded_gives_the_same_bits_as_what_ran_before(device):
    net = network(device)
    f = mg.function(lambda x: (net(x).softmax(-1) ** 2).sum(0), jit_compile=True)
    x = mg.tensor(X, device=device)

    plain, recorded, *replayed = [f(x).numpy() for _ in range(5)]

    np.testing.assert_array_equal(recorded, plain)
    for each in replayed:
        np.testing.assert_array_equal(each, plain)
    (way,) = f.latest.run.variants.values()
    assert type(way.run.program) is Replay
    assert [recorded for recorded, _ in way.run.program.parts] == [True]


def test_a_session_keeps_its_variables_there(device):
    with mg.Graph().as_default() as graph:
        x, w = mg.placeholder("f4", (None, 3)), mg.Variable(mg.tensor(np.ones((3, 2), "f4"), device=device))
        y = (x.to(device) @ w).tanh()
        (slope,) = mg.gradients((y**2).sum(), [w])
        moved = w.assign_sub(slope * 0.1)
    here = np.ones((3, 2), "f4")
    with mg.Session(graph) as session:
        session.run(w.initializer)
        for k in range(5):
            a = X[k : k + 4 + k % 2, :3]
            z = np.tanh(a @ here)
            np.testing.assert_allclose(session.run([y, moved], {x: a})[0], z, rtol=1e-4, atol=1e-5)
            here = here - 0.1 * a.T @ (2 * z * (1 - z**2))


def test_control_flow_is_what_it_is_on_the_cpu(device):
    def f(x):
        s = x.sum()
        while s < 10:
            s = s * 2 + 1
            if s > 5:
                x = x + 1
        return x * s

    traced = mg.function(f)
    for k in (1.0, 2.0, -0.3, 20.0):
        found, wanted = (traced(mg.tensor([k, 1.0], device=place)).numpy() for place in (device, CPU))
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("way", ["as it is", "turned", "every other", "rows of more", "backwards"])
def test_a_product_is_one_of_cublas_s_however_its_operands_lie(way, dtype, device):
    tolerance = {"float64": 1e-12, "float32": 1e-5, "float16": 1e-2}[dtype]
    rng = np.random.default_rng(3)
    for left, right in [((33, 17), (17, 5)), ((4, 33, 17), (17, 5)), ((2, 3, 8, 7), (2, 3, 7, 9)), ((1, 7), (7, 1))]:
        for turned in (False, True):
            a, b = rng.normal(size=left).astype(dtype), rng.normal(size=right).astype(dtype)
            x, y = device.array(a), device.array(b)
            x, y = (laid(device, way, z) if at == turned else z for at, z in ((False, x), (True, y)))
            found = device.read(matmul(machine_of(device), x, y))
            np.testing.assert_allclose(found, a.astype("f8") @ b.astype("f8"), rtol=tolerance, atol=tolerance * 10)


def laid(device, way, x):
    """The same numbers on the device, lying in memory in that way."""
    xp = device.xp
    match way:
        case "turned":
            return xp.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)
        case "every other":
            return xp.repeat(x, 2, -1)[..., ::2]
        case "rows of more":
            return xp.concatenate([x, x], -1)[..., : x.shape[-1]]
        case "backwards":
            return xp.ascontiguousarray(x[..., ::-1])[..., ::-1]
    return x


def test_a_function_runs_on_the_stream_that_is_current(cupy):
    net = network("gpu")
    f = mg.function(lambda x: net(x).exp(), jit_compile=True)
    wanted = network("cpu")(mg.tensor(X)).exp().numpy()
    x = mg.tensor(X, device="gpu")
    cupy.cuda.Device().synchronize()

    stream = cupy.cuda.Stream(non_blocking=True)
    for _ in range(4):
        with stream:
            found = f(x).numpy()
        np.testing.assert_allclose(found, wanted, rtol=1e-4)
    np.testing.assert_allclose(f(x).numpy(), wanted, rtol=1e-4)


def test_threads_record_and_run_beside_each_other(device):
    w = np.random.default_rng(4).normal(size=(20, 20)).astype("f4")
    wrong = []

    def work(k):
        try:
            b = mg.tensor(w, device=device)
            f = mg.function(lambda x: ((x @ b).tanh() @ b).sum(0) * (k + 1), jit_compile=True)
            wanted = (np.tanh((X + k) @ w) @ w).sum(0) * (k + 1)
            for _ in range(10):
                found = f(mg.tensor(X + k, device=device)).numpy()
                if not np.allclose(found, wanted, rtol=1e-3, atol=1e-2):
                    wrong.append(k)
        except Exception as error:
            wrong.append(error)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert wrong == []
