"""Devices: the whole op table on the simulated one, whose rules are a GPU's, and on a GPU where there is one."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn, ops, optim
from minigrad.engine.base.device import CPU, GPU, SIMULATED, device_of
from minigrad.engine.base.errors import DeviceError
from minigrad.graph.backends.simulated_gpu import xp
from tests.examples import CASES, title
from tests.support.table import table

PLACES = ["simulated", *(["gpu"] if mg.gpu_status()[0] else [])]
CASES = [case for case in CASES if not isinstance(case[0], ops.Move)]  # it has its own test


def ran(op, xs, place):
    """The value, and the gradient of each operand that has one, as NumPy arrays."""
    leaves = [mg.Tensor(x.numpy(), device=place, requires_grad=x.spec.is_float) for x in xs]
    y = leaves[0].apply(op, *leaves[1:])
    assert device_of(y.value) is y.spec.device is mg.device(place)
    if y.requires_grad:
        y.backward(np.cos(np.arange(y.size)).reshape(y.shape))
    return y.numpy(), [None if x.grad is None else x.grad.numpy() for x in leaves]


@pytest.mark.parametrize("place", PLACES)
@table("case", CASES, ids=title)
def test_every_op_and_its_derivative_is_on_a_device_what_it_is_on_the_cpu(case, place):
    op, *xs = case
    exactly = {} if place == "simulated" else {"rtol": 1e-5, "atol": 1e-7}  # another libm, other orders of summing

    y, gxs = ran(op, xs, place)
    expected, expected_gxs = ran(op, xs, "cpu")

    np.testing.assert_allclose(y, expected, **exactly or {"rtol": 0})
    for gx, expected_gx in zip(gxs, expected_gxs):
        assert (gx is None) == (expected_gx is None)
        if gx is not None:
            np.testing.assert_allclose(gx, expected_gx, **exactly or {"rtol": 0})


@table("case", CASES, ids=title)
def test_no_op_and_no_derivative_waits_for_a_value(case):
    op, *xs = case

    with SIMULATED.counts() as n:
        leaves = [mg.Tensor(x.numpy(), device="simulated", requires_grad=x.spec.is_float) for x in xs]
        y = leaves[0].apply(op, *leaves[1:])
        if y.requires_grad:
            y.backward(np.ones(y.shape))

    assert n.syncs == 0


@pytest.mark.parametrize("place", PLACES)
def test_a_tensor_goes_to_a_device_and_comes_back(place):
    there = mg.tensor([1.0, 2.0]).to(place)

    assert there.spec.device is mg.device(place)
    assert there.to("cpu").numpy().tolist() == [1, 2]
    assert there.to(place) is there
    assert str(there.spec) == f"f64[2]@{place}"


@pytest.mark.parametrize("place", PLACES)
def test_a_gradient_comes_back_the_way_its_tensor_went(place):
    x = mg.tensor([1.0, 2.0], requires_grad=True)

    loss = (x.to(place) ** 2).sum().cpu()
    loss.backward()

    assert loss.spec.device is x.grad.spec.device is CPU
    assert x.grad.numpy().tolist() == [2, 4]


def test_a_device_has_several_names_and_no_others():
    assert mg.device("cuda") is mg.device("gpu") is mg.device("cuda:0") is GPU
    assert mg.device(CPU) is CPU
    with pytest.raises(DeviceError, match=r"expected a device, one of .*'cpu'.* and got 'tpu'"):
        mg.device("tpu")


@pytest.mark.skipif(mg.gpu_status()[0], reason="there is a GPU here")
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda its: pickle.loads(pickle.dumps(its))])
def test_a_device_that_is_copied_or_read_back_is_the_one_that_there_is(copied):
    """What held one could be neither copied nor saved: 'cannot pickle module object'."""
    for place in (CPU, GPU, SIMULATED):
        assert copied(place) is place
    assert copied([mg.tensor(1.0).device])[0] is CPU


def test_without_a_gpu_the_error_says_what_is_missing():
    works, reason = mg.gpu_status()

    assert not works
    with pytest.raises(DeviceError, match="no gpu here") as raised:
        mg.tensor([1.0]).to("gpu")
    assert reason in str(raised.value)


@pytest.mark.parametrize("f", [lambda x, y: x + y, lambda x, y: x @ y], ids=["add", "matmul"])
def test_operands_on_two_devices_are_refused_by_the_name_of_the_op(f):
    x, y = mg.Tensor(np.ones((2, 2))), mg.Tensor(np.ones((2, 2)), device="simulated")

    with pytest.raises(DeviceError, match=r"(Add|MatMul)\b.*one device.*@simulated.*\.to\(device\)"):
        f(x, y)


# -- what a step costs there ------------------------------------------------------------------------


def mlp_step(w1, w2, x, target, step):
    loss = (((x @ w1).relu() @ w2 - target) ** 2).mean()
    loss.backward()
    step()
    return loss


def test_a_training_step_waits_for_nothing_but_the_loss_that_is_read():
    """What decides a GPU's speed: no number on the device may decide what the host does next."""
    rng = np.random.default_rng(0)
    x, target = (mg.Tensor(rng.normal(size=s), device="simulated") for s in ((8, 3), (8, 1)))
    w1, w2 = (mg.Tensor(rng.normal(size=s), device="simulated", requires_grad=True) for s in ((3, 5), (5, 1)))
    adam = optim.Adam([w1, w2], lr=0.01)
    mlp_step(w1, w2, x, target, adam.step)  # constants of the compiled rules are copied once

    with SIMULATED.counts() as training:
        for _ in range(3):
            adam.zero_grad()
            loss = mlp_step(w1, w2, x, target, adam.step)
    with SIMULATED.counts() as reading:
        loss.item()

    assert (training.syncs, training.copies) == (0, 0)
    assert training.launches % 3 == 0
    assert training.launches // 3 < 80
    assert (reading.syncs, reading.copies, reading.bytes) == (1, 1, 8)


CLASSIFIERS = {
    "a classifier": lambda: nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 4)),
    "of words": lambda: nn.Sequential(nn.Embedding(4, 3, padding_idx=0), nn.Flatten(), nn.Linear(9, 4)),
    "with adaptive pooling": lambda: nn.Sequential(nn.Linear(3, 7), nn.AdaptiveAvgPool1d(3), nn.Linear(3, 4)),
    "with a memory": lambda: Outputs(nn.LSTM(3, 4)),
}
LOSSES = {
    "cross-entropy": nn.functional.cross_entropy,
    "smoothed": partial(nn.functional.cross_entropy, label_smoothing=0.1),
    "weighted": lambda x, t: nn.functional.cross_entropy(x, t, mg.arange(1.0, 5.0, device=x.spec.device)),
    "negative log-likelihood": lambda x, t: nn.functional.nll_loss(x.log_softmax(-1), t),
    "binary": lambda x, t: nn.functional.binary_cross_entropy(x.sigmoid()[:, 0], t / 4.0),
}


class Outputs(nn.Module):
    """The outputs of a recurrent layer, without its states: of a batch without a time, as one sequence."""

    def __init__(self, layer):
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("model", CLASSIFIERS)
def test_training_a_classifier_waits_for_nothing_but_the_loss_that_is_read(model, loss):
    """Classes, indices and probabilities are checked there, and a mistake in them is told when the loss is read."""
    losses = {}
    for place in ("cpu", "simulated"):
        rng = np.random.default_rng(0)
        net = CLASSIFIERS[model]()
        for p in net.parameters():
            p.data = rng.normal(size=p.shape)
        net.to(place)
        sgd = optim.SGD(net.parameters(), lr=0.1)
        x = rng.integers(0, 4, (6, 3)) if model == "of words" else rng.normal(size=(6, 3))
        x, classes = mg.Tensor(x, device=place), mg.Tensor([0, 3, 1, 2, 2, 0], device=place)
        with SIMULATED.counts() as n:
            for _ in range(2):
                sgd.zero_grad()
                y = LOSSES[loss](net(x), classes)
                y.backward()
                sgd.step()
        losses[place] = y.item()

    assert n.syncs == 0
    assert losses["simulated"] == pytest.approx(losses["cpu"], rel=1e-12)


WRONG = {
    "a class too large": lambda at: nn.functional.cross_entropy(at(np.zeros((2, 3))), at(np.array([0, 3]))),
    "a class below 0": lambda at: nn.functional.nll_loss(at(np.zeros((2, 3))), at(np.array([0, -1]))),
    "no row of the table": lambda at: nn.functional.embedding(at(np.array([0, 3])), at(np.zeros((3, 2)))),
    "a row from the end": lambda at: nn.functional.embedding(at(np.array([0, -1])), at(np.zeros((3, 2)))),
    "no probability": lambda at: nn.functional.binary_cross_entropy(at(np.array([1.5])), at(np.array([1.0]))),
    "no number": lambda at: nn.functional.binary_cross_entropy(at(np.array([np.nan])), at(np.array([1.0]))),
}


@table("wrong", WRONG)
def test_a_value_out_of_bounds_is_told_at_once_on_the_cpu_and_on_a_device_when_a_value_is_read(wrong):
    error = ValueError if wrong in ("no probability", "no number") else IndexError

    with pytest.raises(error, match=r"0 to \d.*, and got"):
        WRONG[wrong](mg.Tensor)

    with pytest.raises(error):
        WRONG[wrong](partial(mg.Tensor, device="simulated")).numpy()
    SIMULATED.doubts.clear()  # NumPy, which computes there, refuses an index that CuPy wraps round, and the doubt stays


def test_an_op_is_one_launch_and_a_view_is_none():
    x = mg.Tensor(np.ones((2, 3)), device="simulated")

    with SIMULATED.counts() as computed:
        _ = x * x
    with SIMULATED.counts() as moved:
        _ = x.T.reshape(3, 2)[1:]

    assert (computed.launches, moved.launches) == (1, 0)


def test_copies_are_counted_in_bytes_and_blocks_nest():
    with SIMULATED.counts() as outer:
        x = mg.Tensor(np.zeros(10), device="simulated")
        with SIMULATED.counts() as inner:
            x.numpy()

    assert (inner.copies, inner.bytes, inner.syncs) == (1, 80, 1)
    assert (outer.copies, outer.bytes, outer.syncs) == (2, 160, 1)


def test_only_the_simulated_device_counts():
    with pytest.raises(DeviceError, match="needs the simulated device, and this is cpu"):
        CPU.counts()


# -- the rules of the simulated device ----------------------------------------------------------------

ONES = xp.ones(3)
BREACHES = {
    "converting": (lambda: np.asarray(ONES), TypeError), "device + host": (lambda: ONES + np.ones(3), TypeError),
    "host + device": (lambda: np.ones(3) + ONES, TypeError),
    "a host operand of a function": (lambda: xp.maximum(ONES, np.ones(3)), TypeError),
    "assigning from the host": (lambda: ONES.__setitem__(slice(2), np.ones(2)), TypeError),
    "indexing by a host array": (lambda: ONES[np.array([0])], TypeError),
    "a list": (lambda: xp.add(ONES, [1, 2, 3]), TypeError), "a name CuPy has not": (lambda: xp.block, AttributeError),
    "a method CuPy has not": (lambda: ONES.setflags, AttributeError),
    "a parameter CuPy has not": (lambda: xp.sum(ONES, where=ONES > 0), TypeError),
    "a parameter a ufunc has not": (lambda: xp.add(ONES, ONES, where=ONES > 0), TypeError),
    "a parameter a method has not": (lambda: ONES.sum(initial=1), TypeError),
    "atomics on bytes": (lambda: xp.add.at(xp.zeros(2, "i1"), xp.asarray([0]), xp.ones(1, "i1")), TypeError),
    "atomics of a product": (lambda: xp.multiply.at(ONES, xp.asarray([0]), 2.0), NotImplementedError),
}  # fmt: skip


@table("breach", BREACHES)
def test_the_simulated_device_refuses_what_cupy_refuses(breach):
    f, error = BREACHES[breach]

    with pytest.raises(error):
        f()


def test_a_reduction_and_an_element_are_arrays_there():
    for y in (ONES.sum(), xp.max(ONES), ONES[0], np.sum(ONES)):
        assert type(y).__name__ == "Array"
        assert y.shape == ()


def test_reading_a_value_is_a_wait():
    for read in (float, int, bool, lambda y: y.item(), lambda y: y.get(), lambda y: y.tolist()):
        with SIMULATED.counts() as n:
            read(xp.ones(()))

        assert n.syncs == 1


def test_a_length_that_depends_on_values_is_a_wait():
    for f in (xp.nonzero, xp.unique, lambda x: x[x > 0]):
        with SIMULATED.counts() as n:
            f(ONES)

        assert n.syncs == 1


def test_a_view_knows_whose_memory_it_looks_at():
    y = xp.zeros((2, 3))

    assert y.T[1].base is y
    assert (y + 1).base is None


def test_in_place_work_stays_in_the_array():
    y = xp.zeros(3)
    same = y

    same += 2
    xp.multiply(y, 3, out=y)
    xp.add.at(y, xp.asarray([0, 0]), 1.0)

    assert same is y
    assert y.get().tolist() == [8, 6, 6]


# -- the one home of differences -----------------------------------------------------------------------


@pytest.mark.parametrize("place", ["cpu", *PLACES])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i8", "i1", "u1"])
def test_scatter_add_adds_twice_where_a_place_is_named_twice(place, dtype):
    where = mg.device(place)
    y = where.array(np.zeros(3), dtype)

    where.scatter_add(y, where.array([0, 2, 2]), where.array([1, 2, 3], dtype))

    assert where.read(y).tolist() == [1, 0, 5]
    assert y.dtype == dtype


@pytest.mark.parametrize("place", ["cpu", *PLACES])
def test_half_precision_is_scattered_in_single(place):
    """Ones added one by one stop at 2048 in float16, whose next number is 2050."""
    where = mg.device(place)
    y = where.array(np.zeros(1), "f2")

    where.scatter_add(y, where.array(np.zeros(3000, int)), where.array(np.ones(3000), "f2"))

    assert where.read(y).tolist() == [3000]


EMBEDDING = "embedding needs indices from -3 to 2"


def test_an_index_out_of_range_is_told_at_once_on_the_cpu():
    with pytest.raises(IndexError, match=rf"{EMBEDDING}, and got 0 to 3"):
        CPU.check_range(np.array([0, 3]), -3, 2, IndexError, EMBEDDING)
    CPU.check_range(np.array([-3, 2]), -3, 2, IndexError, EMBEDDING)
    CPU.check_range(np.array([], int), 0, -1, IndexError, EMBEDDING)


@pytest.mark.parametrize("place", PLACES)
def test_an_index_out_of_range_is_told_on_a_device_when_a_value_is_read(place):
    where = mg.device(place)
    with SIMULATED.counts() as n:
        where.check_range(where.array([0, 2]), -3, 2, IndexError, "gather")
        where.check_range(where.array([0, 3]), -3, 2, IndexError, EMBEDDING)
    assert n.syncs == 0

    with pytest.raises(IndexError, match=rf"^{EMBEDDING}$"):
        where.read(where.array([1.0]))
    where.read(where.array([1.0]))  # told once


@pytest.mark.parametrize("place", ["cpu", *PLACES])
def test_what_is_refused_raises_its_own_error(place):
    where = mg.device(place)
    x = where.array([0.5, 1.5])

    def used():
        where.refuse(x > 1, ValueError("no probability above 1"))
        where.read(x)

    where.refuse(x < 0, ValueError("no probability below 0"))
    with pytest.raises(ValueError, match="no probability above 1"):
        used()
