"""Large arrays are computed in blocks by several threads, and neither results nor warnings show it."""

import platform
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies

import minigrad as mg
from minigrad.engine.base import threads
from minigrad.engine.core.op import Elementwise, Op
from minigrad.engine.tensor import blocks, rules
from tests.examples import DIFFERENTIABLE
from tests.graph.compiler.test_random_graphs import assert_same_bits
from tests.support.fuzz_programs import attempt, bounded, program, run
from tests.support.other_processes import output_of
from tests.support.peak_memory import peak_bytes
from tests.support.table import table

F = mg.nn.functional
EACH = lambda x, w: [x * w + w, x.tanh(), F.gelu(x), F.gelu(x, "tanh"), x.relu(), x.sigmoid().log(), (x > 0) & (x < w)]  # noqa: E731
ROWS = lambda x, w: [x.softmax(-1), x.log_softmax(-1), F.layer_norm(x, w.shape, w, w), x.logsumexp(-1), x.sum(0), x / w]  # noqa: E731
STRIPES, ONE_ROW = lambda a: np.repeat(a, 2, -1)[..., ::2], lambda a: np.broadcast_to(a[:1], a.shape)


@pytest.fixture(autouse=True)
def restore(monkeypatch):
    known = {}
    monkeypatch.setattr(Op, "plans", property(lambda op: known.setdefault((rules.LARGE, mg.get_num_threads(), op), {})))
    monkeypatch.setattr(threads, "chosen", {"threads": 3})
    monkeypatch.setattr(rules, "LARGE", 100)
    monkeypatch.setattr(blocks, "BLOCK", 10)


def check_same_bits(f, large, block):
    """The arrays of f() without blocks, and in blocks. Asserts equal bits for 1, 2, 3 and 8 threads."""
    rules.LARGE, blocks.BLOCK = 1 << 40, block
    whole, rules.LARGE = f(), large
    found = [mg.set_num_threads(number) or f() for number in (1, 2, 3, 8)]
    for each in found:
        assert_same_bits(found[0], each)
    assert [y.squeeze().strides for y in found[-1]] == [y.squeeze().strides for y in whole]
    return whole, found[0]


def values_and_gradients(f, *xs):
    ys = f(*(xs := [x.detach().requires_grad_(x.spec.is_float) for x in xs]))
    loss = sum((y.double() * y.detach().double().cos()).sum() for y in ys if y.spec.is_float)
    return [y.numpy() for y in (*ys, *mg.autograd.grad(loss, [x for x in xs if x.tracked], materialize_grads=True))]


@table("case", [case for case in DIFFERENTIABLE if case[0].independent_axes(*(x.spec for x in case[1:]))])
def test_an_op_in_blocks_is_the_op(case):
    f = lambda: values_and_gradients(lambda x, *o: [x.apply(case[0], *o)], *case[1:])  # noqa: E731
    for a, b in zip(*check_same_bits(f, 2, 2)):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("layout", [np.copy, np.asfortranarray, np.flip, STRIPES, ONE_ROW])
@pytest.mark.parametrize("shape", [(61, 61), (5, 20_000), (1, 3001), (4000, 1), (3, 1, 7, 199), (0, 1009)])
@pytest.mark.parametrize(("dtype", "error"), [("f2", 1), ("f4", 1e-3), ("f8", 1e-9), ("bfloat16", 9)])
@np.errstate(all="ignore")
def test_no_bit_depends_on_the_number_of_threads(dtype, error, shape, layout):
    x, w = (mg.tensor(np.random.default_rng(0).normal(size=n)).astype(dtype) for n in (shape, shape[-1:]))
    x = mg.Tensor(layout(x.numpy()))
    assert_same_bits(*check_same_bits(lambda: [y.numpy() for y in EACH(x, w)], 1000, 257))
    for f in EACH, ROWS:
        for a, b in zip(*check_same_bits(lambda f=f: values_and_gradients(f, x, w), 1000, 257)):
            np.testing.assert_allclose(a.astype("f8"), b.astype("f8"), rtol=error, atol=error)


def test_half_precision_gradients_are_not_added_up_block_by_block():
    """Each block's sum would be rounded to 11 bits, and so would their total."""
    x, w = (mg.tensor(np.random.default_rng(0).normal(size=n)).half() for n in ((300, 40), (40,)))
    for f in (lambda x, w: [x * w], lambda x, w: [F.layer_norm(x, w.shape, w, w)]):
        assert_same_bits(*check_same_bits(lambda f=f: values_and_gradients(f, x, w), 1000, 257))


@settings(max_examples=40, suppress_health_check=list(HealthCheck), deadline=None)
@given(strategies.randoms(use_true_random=False).map(program))
def test_no_bit_of_a_random_program_depends_on_the_number_of_threads(made):
    def arrays():
        ys = attempt(lambda: run(made, mg))
        return [] if isinstance(ys, Exception) else [y for y in ys if y is not None]

    with bounded():
        check_same_bits(arrays, 50, 20)


@pytest.mark.parametrize(("state", "seen"), [("warn", ["divide by zero encountered in divide"]), ("ignore", [])])
def test_numpy_warns_or_stops_as_for_a_small_array(state, seen):
    with warnings.catch_warnings(record=True, action="always") as caught, np.errstate(divide=state):
        assert np.isinf((mg.ones(300) / mg.zeros(300)).numpy()).all()
    assert [str(each.message) for each in caught] == seen
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        mg.ones(300) / mg.zeros(300)


def test_where_threads_are_used(monkeypatch):
    class Twice(Elementwise):  # a forward that may not be ready for threads
        def forward(self, xp, x): return lengths.append(x.size) or x + x  # fmt: skip

    counts, lengths, x = [], [], mg.ones(10, 10)
    monkeypatch.setattr(blocks, "share", lambda run, count, number, _: counts.append(number) or run(0, count, 0))
    assert [mg.ones(9, 11) * 2, x.apply(Twice()), x * 2, x.softmax(-1), x.softmax(0), x.T * 2, lengths][-1] == [0, 100]
    assert counts == [3, 3]
    monkeypatch.setattr(blocks, "share", lambda *_: exec("raise KeyboardInterrupt"))
    with pytest.raises(KeyboardInterrupt):
        x * 2


@table("f", [F.gelu, mg.relu, lambda x: x.float()])
def test_the_gradients_of_blocks_are_stored_once(f):
    """Blocks kept the arrays that they had copied into the gradient, until the last block was done."""
    rules.LARGE, blocks.BLOCK, x = 1 << 20, 1 << 14, mg.ones(1 << 20, requires_grad=True)
    run, size = lambda: mg.autograd.grad(y, x, g, retain_graph=True), x.spec.nbytes
    g = mg.ones_like(y := f(x))
    run()
    assert peak_bytes(run) < 1.6 * size


@pytest.mark.skipif(sys.platform != "linux" or not platform.libc_ver()[0], reason="glibc")
def test_arrays_above_32_mb_reuse_their_memory_and_a_garbage_collection_returns_it():
    """glibc fetched such an array page by page at each call. A small array above it must not keep it in the process."""
    script = """import gc, resource; import numpy as np; import minigrad as mg
held = lambda: int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
x, counts = mg.tensor(np.ones(12_000_000, "f4")), []
for _ in range(4):
    start = faults()
    mg.exp(x)
    counts.append(faults() - start)
y, above = mg.exp(x), np.ones(3000)
before = held()
del y
gc.collect()
print(max(counts[1:]) < 20, before - held() > 40_000_000)"""
    assert output_of(script) == "True True\n"


def test_ctrl_c_is_not_lost_if_numpy_warns_in_another_thread():
    """The last error won: a FloatingPointError after Ctrl-C made the op run as a whole, as if nobody had pressed it."""
    began, stopped = threading.Event(), threading.Event()

    def block(i):
        if threading.current_thread() is threading.main_thread():
            began.wait(9)
            stopped.set()
            raise KeyboardInterrupt
        began.set()
        stopped.wait(9)
        time.sleep(0.1)
        raise FloatingPointError

    with pytest.raises(KeyboardInterrupt):
        blocks.share_quietly(block, 100)
