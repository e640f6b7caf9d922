"""How many threads share a loop, and no bit of a result depends on their number."""

import time
import weakref
from operator import call
from threading import Event

import numpy as np
import pytest
from hypothesis import given, settings

import minigrad as mg
from benchmarks import engines, workloads
from minigrad.engine.base import threads
from minigrad.graph.backends.native import program as native_program
from minigrad.graph.compiler.passes.pipeline import NATIVE, optimised
from minigrad.graph.compiler.program import program
from tests.graph.compiler.test_random_graphs import assert_same_bits, programs

rng = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def reset_number(monkeypatch):
    monkeypatch.setattr(threads, "chosen", {})


@pytest.fixture
def helper_counts(monkeypatch):
    """The helper tasks do all the work of each loop. Returns their number for each loop."""
    counts = []

    def share(run, count, number, others):
        counts.append(number - 1)
        threads.share(run, count, number, call)

    monkeypatch.setattr(program, "share", share)
    return counts


def check_same_results(run):
    """Assert that a run has the same results with 1, 2, 3 and 8 threads."""
    found = []
    for number in (1, 2, 3, 8):
        mg.set_num_threads(number)
        found.append(run())
        assert_same_bits(found[0], found[-1])


def many(x):
    sums = x.sum(), x.mean(), x.amax(), x.sum(0), x.sum(-1), (x * x).sum(), (x * x + x).sum()
    rows = (x.softmax(-1) * x, x.logsumexp(-1), x.standardise(-1)) if x.spec.is_float else ()
    return *sums, *rows, x * 3 + x, (x * 2).abs()


@pytest.mark.parametrize("where", ["in threads", "at once"])
@pytest.mark.parametrize("how", [False, True, "native"])
@pytest.mark.parametrize("shape", [(1 << 18,), (300_001,), (601, 481), (70_000, 5), (5, 70_000), (2, 1 << 18)])
def test_no_bit_depends_on_the_number_of_threads(shape, how, where, request):
    if where == "at once":
        request.getfixturevalue("helper_counts")
    for dtype, scale in {"float16": 0.1, "float32": 1, "float64": 1, "int32": 9}.items():
        f, x = mg.function(many, jit_compile=how), mg.tensor((rng.normal(size=shape) * scale).astype(dtype))
        check_same_results(lambda f=f, x=x: [y.numpy() for y in f(x)])


@pytest.mark.parametrize("engine", ["minigrad-compiled", "minigrad-native"])
@pytest.mark.parametrize("name", ["fused", "softmax", "layernorm", "mlp", "cnn", "transformer", "hvp", "tiny"])
def test_no_bit_of_a_benchmark_depends_on_the_number_of_threads(engine, name, monkeypatch):
    monkeypatch.setattr(workloads, "NUMBERS", 400_000)
    monkeypatch.setattr(workloads, "ROWS", 600)
    answer = engines.run(engine, workloads.WORKLOADS[name]).answer
    check_same_results(lambda: [np.asarray(answer()[0]), *answer()[1].values()])


@settings(max_examples=15)
@given(programs())
def test_no_bit_of_a_random_program_depends_on_the_number_of_threads(graph_and_arrays):
    graph, arrays = graph_and_arrays
    with pytest.MonkeyPatch.context() as changed, np.errstate(all="ignore"):
        changed.setattr(native_program, "WORTH_SHARING", 4)
        changed.setattr(native_program, "IN_PIECE", 1)
        changed.setattr(threads, "chosen", {})
        check_same_results(lambda: native_program.native(optimised(graph, NATIVE))(*arrays))


def test_no_bit_depends_on_the_threads_of_blas():
    """OpenBLAS adds up a product of two vectors in as many parts as it has threads, so in a loop it has one thread."""
    x, f = mg.tensor(rng.normal(size=1 << 20)), mg.function(lambda x: (x * x.tanh()).sum(), jit_compile=True)
    get, set_to = program.controls()
    before, found = get(), set()
    for number in (1, 2, 3):
        set_to(number)
        found.add(f(x).item())
        assert get() in (number, before)
    set_to(before)
    assert len(found) == 1
    assert "with one_thread:\n        share(" in f.source


@pytest.mark.parametrize(("count", "number"), [(1, 2), (7, 2), (100, 3), (1000, 8)])
def test_each_block_is_done_once_and_each_slot_belongs_to_one_thread(count, number):
    done, inside = [], [0] * number

    def run(first, stop, slot):
        inside[slot] += 1
        assert inside[slot] == 1
        done.extend(range(first, stop))
        inside[slot] -= 1

    threads.share(run, count, number, threads.helpers(number))
    assert sorted(done) == [*range(count)]


def test_a_late_thread_holds_no_arrays():
    """A thread that the system stopped after its last range kept the arrays of the loop alive."""
    late, x = [], np.zeros(3)
    threads.share(lambda first, stop, slot, x=x: x.sum(), 9, 2, late.append)
    array, x = weakref.ref(x), None
    assert array() is None
    late.pop()()


def test_an_error_ends_the_loop_and_is_raised():
    done, late = [], []  # late: a helper thread that begins when the calling thread has finished

    def run(first, stop, slot):
        done.append(first)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        threads.share(run, 1000, 2, late.append)
    late.pop()()
    assert done == [0]
    with pytest.raises(ZeroDivisionError):
        threads.share(lambda first, stop, slot: 1 // (slot - 1), 1000, 2, call)


@pytest.mark.parametrize(("number", "error"), [(2, KeyboardInterrupt), (3, ZeroDivisionError)])
def test_no_thread_is_in_a_range_when_a_loop_has_failed(number, error):
    """After Ctrl-C, or an error in one of two helper threads, a range wrote into arrays that were freed or reused."""
    inside, begun, others = [], Event(), threads.helpers(2)

    def run(first, stop, slot):
        if slot == number - 1:
            inside.append(begun.set())
            time.sleep(0.05)
            inside.pop()
        elif slot == 1:
            raise error
        begun.wait(9)

    def submit(*task):
        others(*task)
        if number == 2 and begun.wait(9):
            raise error

    with pytest.raises(error):
        threads.share(run, 12, number, submit)
    assert not inside


@pytest.mark.parametrize(("how", "most"), [(True, 2), ("native", 3)])
def test_how_many_threads_share_a_loop(how, most, helper_counts):
    f, x = mg.function(lambda x: x.tanh() + 1, jit_compile=how), mg.ones(700, 500)
    for number in (1, 2, 9):
        mg.set_num_threads(number)
        f(x)
        f(x[:300])  # too little work for two
    mg.function(lambda x: x.tanh() + 1, jit_compile=how, threads=2)(x)
    assert helper_counts == [1, most - 1, 1]


@pytest.mark.parametrize("number", [0, -1, 1.5, "2"])
def test_a_number_of_threads_is_an_integer(number):
    with pytest.raises(ValueError, match=r"set_num_threads\(\) takes an integer of at least 1, and got"):
        mg.set_num_threads(number)


@pytest.mark.parametrize(
    ("mine", "worker", "openmp", "expected"),
    [("", "", "5", 5), ("", "", "3,2", 3), ("", "gw0", "5", 1), ("6", "gw0", "5", 6), ("", "gw0", "", 1)],
)
def test_the_environment_sets_the_default(mine, worker, openmp, expected, monkeypatch):
    names = {"MINIGRAD_NUM_THREADS": mine, "PYTEST_XDIST_WORKER": worker, "OMP_NUM_THREADS": openmp}
    for name, value in names.items():
        monkeypatch.setenv(name, value) if value else monkeypatch.delenv(name, raising=False)
    assert threads.default_threads.__wrapped__() == expected


@pytest.mark.parametrize(
    ("files", "groups", "expected"),
    [
        ({}, "0::/", np.inf), ({"cpu.max": "max 100000"}, "0::/", np.inf), ({"cpu.max": "150000 100000"}, "0::/", 1.5),
        ({"a/cpu.max": "200000 100000", "a/b/cpu.max": "400000 100000"}, "0::/a/b", 2),
        ({"cpu/cpu.cfs_quota_us": "300000", "cpu/cpu.cfs_period_us": "100000"}, "4:cpu,cpuacct:/docker/1", 3),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, "4:cpu:/", np.inf),
    ],
)  # fmt: skip
def test_control_groups_limit_the_number_of_threads(files, groups, expected, tmp_path):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert threads.quota(tmp_path, groups) == expected
