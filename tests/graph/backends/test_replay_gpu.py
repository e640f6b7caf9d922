"""Programs on a GPU: run, recorded and replayed on the simulated one; with kernels that are their text, too."""

import threading
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad as mg
from minigrad import ops
from minigrad.engine.base.device import CPU, GPU, SIMULATED
from minigrad.engine.base.errors import BoundsError, DeviceError, ShapeError
from minigrad.engine.base.spec import Spec
from minigrad.engine.core.graph import Graph
from minigrad.engine.core.interpret import interpret
from minigrad.engine.core.op import Op
from minigrad.engine.ops.convolution import Window
from minigrad.engine.tensor.symbol import placeholder
from minigrad.graph.backends.cuda.machine import OPTIONS, CuPy, SimulatedMachine, emulate_gemm, gemm, matmul
from minigrad.graph.backends.cuda.replay import RECORDED, Replay
from minigrad.graph.backends.simulated_gpu import xp
from minigrad.graph.compiler.passes.pipeline import FAST, STANDARD, optimised
from minigrad.tracing.gradients import gradients
from tests.examples import CASES, EXAMPLES, title
from tests.support import shim
from tests.support.other_processes import run_in_threads
from tests.support.table import table


def graph(f, *arrays, device=SIMULATED):
    """The graph of f on placeholders for these arrays."""
    xs = [placeholder(f"x{i}", Spec(a.shape, a.dtype, device)) for i, a in enumerate(arrays)]
    ys = f(*xs)
    return Graph(tuple(x.node for x in xs), tuple(y.node for y in (ys if isinstance(ys, tuple) else (ys,))))


def there(*arrays):
    return [SIMULATED.array(a) for a in arrays]


def close(ys, expected, **tolerance):
    for y, wanted in zip(ys, expected, strict=True):
        assert y.dtype == wanted.dtype
        np.testing.assert_allclose(y.get(), wanted, **tolerance)


# -- a training step --------------------------------------------------------------------------------


def training_step(x, t, w1, b1, w2, b2):
    """Two layers, a loss, and the next parameters by gradient descent."""
    parameters = (w1, b1, w2, b2)
    loss = (((x @ w1 + b1).tanh() @ w2 + b2 - t) ** 2).mean()
    grads = gradients({loss.node: loss * 0 + 1}, [p.node for p in parameters])
    return (loss, *(p - 0.1 * grads[p.node] for p in parameters))


SHAPES = [(32, 8), (32, 4), (8, 16), (16,), (16, 4), (4,)]
INTO = {1: 2, 2: 3, 3: 4, 4: 5}
ARRAYS = [np.random.default_rng(i).normal(size=shape).astype("f4") for i, shape in enumerate(SHAPES)]


@pytest.mark.parametrize("passes", [(), STANDARD, FAST], ids=["no passes", "standard", "fast"])
@pytest.mark.parametrize("executed", [False, True], ids=["groups", "texts"])
def test_a_training_step_replayed_is_the_step_that_is_interpreted(executed, passes):
    plain, made = graph(training_step, *ARRAYS, device=CPU), optimised(graph(training_step, *ARRAYS), passes)
    program = Replay(made, into=INTO)
    if executed:
        program(*there(*ARRAYS))
        program = Replay(made, into=INTO, machine=shim.Emulated(program.kernels))
    here, device = list(ARRAYS), there(*ARRAYS)

    for _ in range(5):
        loss, *_ = program(*device)
        expected, *here[2:] = interpret(plain, *here)
        close([loss], [expected], rtol=1e-5)

    close(device, here, rtol=1e-4, atol=1e-6)


def test_a_replayed_training_step_starts_one_recording_copies_one_result_and_waits_for_nothing():
    program, device = Replay(optimised(graph(training_step, *ARRAYS)), into=INTO), there(*ARRAYS)
    with SIMULATED.counts() as first:
        program(*device)
    program(*device)

    with SIMULATED.counts() as n:
        program(*device)

    assert first.launches <= 20  # 5 matrix products, 4 reductions, 10 groups, and the loss handed out
    assert (n.launches, n.syncs, n.copies) == (2, 0, 0)
    assert len(program.parts) == 1
    written_in_place = [home for home in program.plan.memory.values() if home.argument is not None]
    assert len(written_in_place) == 4  # every parameter


CONVOLUTION = ops.Convolution(Window((3, 3), (1, 1), ((0, 0), (0, 0)), (1, 1)), 1)


def test_a_step_with_convolution_and_attention_is_one_recording():
    """Their products are ours, by one call of cuBLAS each: CuPy's own could not be recorded."""

    def step(x, t, w, b, v):
        h = x.apply(CONVOLUTION, w, b).relu().reshape(4, 6, 3, 2, 3, 2).amax((3, 5)).reshape(4, 6, 9).mT
        y = ((h @ h.mT * 0.4).softmax(-1) @ h).reshape(4, 54) @ v
        loss = -(y.log_softmax(-1) * t).sum() / 4
        grads = gradients({loss.node: loss * 0 + 1}, [p.node for p in (w, b, v)])
        return (loss, *(p - 0.1 * grads[p.node] for p in (w, b, v)))

    shapes = [(4, 1, 8, 8), (4, 5), (6, 1, 3, 3), (6,), (54, 5)]
    here = [np.random.default_rng(i).normal(size=shape).astype("f4") / 3 for i, shape in enumerate(shapes)]
    plain, device = graph(step, *here, device=CPU), there(*here)
    program = SIMULATED.program(optimised(graph(step, *here)), into={1: 2, 2: 3, 3: 4})

    for _ in range(4):
        with SIMULATED.counts() as n:
            loss, *_ = program(*device)
        expected, *here[2:] = interpret(plain, *here)
        close([loss], [expected], rtol=1e-5)

    assert [recorded for recorded, _ in program.parts] == [True]
    assert (n.launches, n.syncs) == (2, 0)
    close(device, here, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("count", [8, 9, 64, 100])
@pytest.mark.parametrize("op", [ops.Stack(1), ops.Concatenate(0)], ids=["stack", "concatenate"])
def test_many_arrays_are_joined_in_a_recording(op, count):
    """Of more than eight arrays CuPy copies the addresses from the host, and a replay would read what is there then."""
    xs = [np.full((2, 3), float(k)) for k in range(count)]
    program = Replay(graph(lambda *xs: xs[0].apply(op, *xs[1:]), *xs))

    for k in range(3):
        close(program(*there(*(x + k for x in xs))), [op.forward(np, *(x + k for x in xs))])
    assert [recorded for recorded, _ in program.parts] == [True]


def test_a_graph_without_inputs_runs_once_before_it_is_recorded():
    """Libraries start, and kernels are compiled, where nothing is recorded: that was left out where nothing came in."""
    ones = placeholder("x", Spec((), "f8", SIMULATED)).lift(1.0).broadcast_to((2, 2))
    y = (ones * 2) @ (ones + 1)
    program = Replay(Graph((), (y.node,)))
    launches = []
    for _ in range(3):
        with SIMULATED.counts() as n:
            close(program(), [np.full((2, 2), 8.0)])
        launches.append(n.launches)

    assert launches == [4, 2, 2], "two groups, their product and the copy handed out; then the recording and the copy"


def test_a_fused_group_is_one_launch_where_its_ops_are_many():
    x = np.linspace(-1, 1, 100)
    made = graph(lambda x: (x * 2 + 1).tanh() * x.sigmoid(), x)

    with SIMULATED.counts() as fused:
        Replay(optimised(made))(*there(x))
    with SIMULATED.counts() as plain:
        interpret(made, *there(x))

    assert fused.launches == 2  # the group, and the result handed out
    assert plain.launches >= 7


# -- every op ---------------------------------------------------------------------------------------

CASES = [case for case in CASES if not isinstance(case[0], ops.Move)]


@table("case", CASES, ids=title)
def test_every_op_is_replayed_on_other_data_as_it_is_computed(case):
    """Run, recorded, replayed: each time on arrays elsewhere, so that what was recorded has to compute."""
    op, *examples = case
    first = [x.numpy() for x in examples]
    second = [x[::-1].copy() if x.ndim and x.dtype.kind in "fiu" and not fixed(op) else x.copy() for x in first]
    program = Replay(graph(lambda x, *others: x.apply(op, *others), *first))

    for xs in (first, second, first, second):
        with SIMULATED.counts() as n:
            ys = program(*there(*xs))
        close(ys, [np.asarray(op.forward(np, *xs))], rtol=1e-5, atol=1e-12)

    assert n.syncs == 0


def fixed(op):
    """Whether the op needs its operands as the example has them: matrices of a kind, sorted edges."""
    return type(op).__module__.rpartition(".")[2] in ("linalg", "index", "sort", "pattern")


def test_what_is_recorded_is_most_of_the_table():
    """The rest runs between the parts: what cuSOLVER or thrust compute inside CuPy."""
    assert {op.__module__.rpartition(".")[2] for op in EXAMPLES} - RECORDED == {"sort", "linalg"}


# -- random programs --------------------------------------------------------------------------------

UNARY = [ops.Tanh(), ops.Sigmoid(), ops.Neg(), ops.Softmax(1), ops.Transpose((1, 0)), ops.Clone(), ops.CumSum(0)]
BINARY = [ops.Add(), ops.Mul(), ops.Maximum(), ops.MatMul(), ops.Sub()]


@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_random_programs_replay_to_what_they_are_interpreted_to(seed):
    """Square matrices through views, products, loops and what cannot be recorded; some results become inputs."""
    rng = np.random.default_rng(seed)
    arrays = [rng.normal(size=(3, 3)) for _ in range(3)]

    def body(*xs):
        made = [*xs]
        for _ in range(12):
            a, b = (made[i] for i in rng.integers(len(made), size=2))
            unary, binary = UNARY[rng.integers(len(UNARY))], BINARY[rng.integers(len(BINARY))]
            made.append(a.apply(unary) if rng.random() < 0.5 else a.apply(binary, b))
        return tuple(made[i] for i in rng.integers(len(made), size=4))

    made = graph(body, *arrays)
    into = {i: x for x, i in enumerate(rng.permutation(4)[: rng.integers(4)].tolist())}
    program = Replay(optimised(made) if rng.random() < 0.7 else made, into=into)
    here, device = list(arrays), there(*arrays)

    for k in range(4):
        if k == 2:  # one that was bound comes from elsewhere
            device[2] = SIMULATED.array(device[2].get() + 1)
            here[2] = here[2] + 1
        ys = program(*device)
        with np.errstate(all="ignore"):
            expected = interpret(made, *there(*here))
        close(ys, [y.get() for y in expected], rtol=1e-9, atol=1e-9)
        for i, x in into.items():
            here[x] = expected[i].get()
        close(device, here, rtol=1e-9, atol=1e-9)

    assert not overlapping(program)


def overlapping(program):
    """Pairs of buffers that are in use at one moment and share bytes."""
    buffers = [home for home in dict.fromkeys(program.plan.memory.values()) if home.argument is None]
    return [
        (a, b)
        for i, a in enumerate(buffers)
        for b in buffers[:i]
        if max(a.first, b.first) <= min(a.last, b.last)
        and max(a.offset, b.offset) < min(a.offset + a.nbytes, b.offset + b.nbytes)
    ]


# -- what is handed out, and what is handed in ------------------------------------------------------


def test_a_result_is_the_callers_own():
    x = np.arange(3.0)
    program = Replay(graph(lambda x: (x * 2, x), x))

    results = [program(*there(x + k)) for k in range(4)]

    for k, (y, same) in enumerate(results):
        assert y.get().tolist() == (2 * (x + k)).tolist()
        assert same.get().tolist() == (x + k).tolist()


def test_two_inputs_change_places():
    x, y = np.arange(3.0), np.ones(3)
    program, device = Replay(graph(lambda x, y: (y, x), x, y), into={0: 0, 1: 1}), there(x, y)

    for _ in range(3):
        program(*device)

    close(device, [y, x])


def test_the_old_value_of_a_parameter_can_be_a_result():
    w = np.arange(3.0)
    program, device = Replay(graph(lambda w: (w + 1, w), w), into={0: 0}), there(w)

    olds = [program(*device)[1].get().tolist() for _ in range(4)]

    assert olds == [[k, k + 1, k + 2] for k in range(4)]


def test_an_operand_that_lies_otherwise_in_memory_is_read_all_the_same():
    w = np.arange(6.0).reshape(2, 3)
    program = Replay(graph(lambda w: ((w + 1).mT @ w @ w.mT) * 2, w))
    turned = SIMULATED.array(w.T.copy()).T

    for _ in range(3):
        close(program(turned), [(w + 1).T @ w @ w.T * 2])


def test_a_parameter_that_lies_otherwise_in_memory_is_written_all_the_same():
    """A kernel writes results one after the other, whatever lies there: so it is given a copy."""
    w = np.arange(6.0).reshape(2, 3)
    made = graph(lambda w: w + 1, w)
    dry = Replay(made, into={0: 0})
    dry(*there(w))
    program = Replay(made, into={0: 0}, machine=shim.Emulated(dry.kernels))
    turned = SIMULATED.array(w.T.copy()).T

    for _ in range(3):
        program(turned)

    close([turned], [w + 3])


def test_a_kernel_is_not_written_over_an_operand_that_it_also_reads_elsewhere():
    """t + tᵀ: another thread may still have to read what one has written."""
    x = np.eye(3)
    alone, crossed = (Replay(graph(f, x)) for f in (lambda x: (x * 2) + 1, lambda x: (x * 2) + (x * 2).mT))
    shared = Replay(graph(lambda x: (t := x * 2) + t.mT, x))

    assert [sum(map(len, program.plan.over.values())) for program in (alone, crossed, shared)] == [1, 1, 0]


@dataclass(frozen=True)
class Same(Op):
    """y = x, in a way of its own"""

    def infer(self, x):
        return x


@dataclass(frozen=True)
class CallsAgain(Same):
    """y = x, after a call of the program it stands in"""

    effect = True

    def forward(self, xp, x):
        if not INNER:
            INNER.append(None)
            INNER[0] = PROGRAM[0](SIMULATED.array(np.full(3, 100.0)))[0].get().tolist()
        return x.copy()


INNER, PROGRAM = [], []


def test_a_program_may_be_called_by_itself():
    """The inner call has buffers of its own: what the outer one has computed before is still there after."""
    x = np.arange(3.0)

    def f(x):
        y = x * 2
        return y.apply(CallsAgain()) + y

    PROGRAM[:] = [Replay(graph(f, x))]
    for k in range(4):
        INNER.clear()
        close(PROGRAM[0](*there(x + k)), [4 * (x + k)])
        assert INNER == [[400, 400, 400]]


def test_a_program_may_be_called_by_several_threads():
    x = np.arange(1000.0)
    program = Replay(optimised(graph(lambda x: (x.sin() + 1).cumsum(0) * 2, x)))
    wrong = []

    def calls(k):
        for _ in range(20):
            (y,) = program(*there(x + k))
            if not np.allclose(y.get(), (np.sin(x + k) + 1).cumsum() * 2):
                wrong.append(k)

    run_in_threads(calls, range(4))

    assert not wrong


def test_arrays_that_do_not_fit_are_refused():
    program = Replay(graph(lambda x: x * 2, np.zeros(3)))

    with pytest.raises(ShapeError, match=r"takes \[f64\[3\]@simulated\]"):
        program(*there(np.zeros(4)))


def test_the_cpu_has_programs_of_another_kind():
    with pytest.raises(DeviceError, match="this graph is on cpu"):
        Replay(graph(lambda x: x * 2, np.zeros(3), device=CPU))
    assert type(mg.device("simulated").program(graph(lambda x: x * 2, np.zeros(3)))) is Replay


# -- what splits a recording ------------------------------------------------------------------------

SEEN = []


@dataclass(frozen=True)
class Watched(Same):
    """y = x, which is told to the host"""

    effect = True

    def forward(self, xp, x):
        SEEN.append(x.get().tolist())
        return x.copy()


def test_an_effect_happens_at_each_call_between_two_parts():
    x = np.arange(3.0)
    program = Replay(graph(lambda x: (x + 1).apply(Watched()) * 2, x))
    SEEN.clear()

    ys = [program(*there(x + k))[0].get().tolist() for k in range(4)]

    assert [recorded for recorded, _ in program.parts] == [True, False, True]
    assert [[k + 1, k + 2, k + 3] for k in range(4)] == SEEN
    assert ys == [[2 * n for n in seen] for seen in SEEN]


def test_what_is_not_of_the_table_is_not_recorded():
    """A family is known by its whole name: a control op of the compiler is none of `ops.control`."""

    @dataclass(frozen=True)
    class Reads(Same):
        """y = x, if x says so"""

        def forward(self, xp, x):
            return x.copy() if x.sum() > 0 else x * 0

    Reads.__module__ = "minigrad.graph.compiler.control"
    program = Replay(graph(lambda x: x.apply(Reads()) * 2, np.ones(3)))

    for k in (1.0, -1.0, 2.0, -2.0):
        close(program(*there(np.full(3, k))), [np.full(3, max(2 * k, 0.0))])


def test_what_a_recording_doubts_is_asked_again_at_each_replay():
    """A replayed check overwrites what it found before: so it is put to the device after each replay."""

    @dataclass(frozen=True)
    class Positive(Same):
        """y = x, where no x is below 0"""

        def forward(self, xp, x):
            SIMULATED.refuse(x < 0, BoundsError("an element is below 0"))
            return x * 1

    Positive.__module__ = ops.Add.__module__  # of a family that is recorded
    x = np.arange(3.0)
    program = Replay(graph(lambda x: x.apply(Positive()), x))

    for k in (0, 1, 2):
        assert program(*there(x + k))[0].get().tolist() == (x + k).tolist()
    program(*there(x - 1))
    y = program(*there(x))[0]  # a good call does not make the bad one good
    with pytest.raises(BoundsError, match="below 0"):
        SIMULATED.read(y)


# -- the simulated recording ------------------------------------------------------------------------


@table("refused, what", [
    (lambda x: x.get(), "reading a value"), (lambda x: float(x.sum()), "reading a value"),
    (lambda x: xp.asarray(np.ones(3)), "a copy between host and device"), (lambda x: x @ x, "__matmul__"),
    (xp.linalg.inv, "linalg"), (xp.sort, "sort"), (lambda x: xp.stack([x] * 9), "stack"),
    (lambda x: x.__setitem__(xp.arange(2), 1.0), "a copy between host and device"),
    (lambda x: xp.add.at(x, xp.arange(2), 1.0), "a copy between host and device"),
    (lambda x: x.__setitem__(x > 0, x[0]), "reading a value"), (xp.nan_to_num, "nan_to_num"),
    (lambda x: xp.lib.stride_tricks.sliding_window_view(x, 2, 0), "reading a value"),
    (lambda x: x[x > 0], "reading a value"),
])  # fmt: skip
def test_what_cuda_or_cupy_cannot_record_the_simulated_device_refuses(refused, what):
    (x,) = there(np.eye(3))

    with pytest.raises(DeviceError, match=what):
        SimulatedMachine().record(lambda: refused(x), None)


def test_recording_counts_nothing_and_a_replay_is_one_launch():
    (x,) = there(np.arange(3.0))
    y = []

    with SIMULATED.counts() as recording:
        replay = SimulatedMachine().record(lambda: y.append((x + 1) * 2), None)
    x[...] = 5.0
    with SIMULATED.counts() as replaying:
        replay()

    assert recording.launches == 0
    assert replaying.launches == 1
    assert y[0].get().tolist() == [12, 12, 12]


# -- CuPy's machine, with a stand-in for CuPy ---------------------------------------------------------


class Streams(threading.local):
    """`cupy.cuda`, of which each thread has a stream of its own."""

    Stream = MagicMock()

    def get_current_stream(self):
        return SimpleNamespace(ptr=threading.get_ident())

    def using_allocator(self, malloc):
        return nullcontext()


@pytest.fixture
def machine(monkeypatch):
    monkeypatch.setitem(GPU.__dict__, "xp", SimpleNamespace(cuda=Streams()))
    return CuPy()


def test_what_breaks_a_recording_is_what_is_told(machine):
    """CUDA refuses to end a recording that broke off, and only that was heard."""
    machine.stream.end_capture.side_effect = RuntimeError("cudaErrorStreamCaptureInvalidated")

    with pytest.raises(ZeroDivisionError):
        machine.record(lambda: 1 / 0, MagicMock())


def test_of_two_threads_each_multiplies_on_its_own_stream(machine):
    """cuBLAS has one stream: between choosing it and multiplying nobody else may choose."""
    meeting, wrong = threading.Barrier(2), []

    class Blas:
        def use(self, stream):
            self.stream = stream
            with suppress(threading.BrokenBarrierError):
                meeting.wait(0.1)  # time enough for the other, if it is let in

        def multiply(self, *given):
            wrong.append(self.stream != threading.get_ident())

    machine.blas = Blas()
    run_in_threads(lambda _: machine.multiply(None, None, None, None), range(2))

    assert wrong == [False, False]


# -- matrix products --------------------------------------------------------------------------------


def matrices(rng, batch, rows, columns):
    """A batch of matrices that lies in memory in one of many ways."""
    way = rng.integers(7)
    if way == 0:
        return rng.normal(size=(*batch, columns, rows)).swapaxes(-1, -2)
    if way == 1:
        return rng.normal(size=(*batch, rows + 2, columns + 3))[..., 1:-1, :columns]
    if way == 2:
        return np.broadcast_to(rng.normal(size=(rows, columns)), (*batch, rows, columns))
    if way == 3:
        return rng.normal(size=(*batch, rows, 2 * columns))[..., ::2]
    if way == 4:
        return rng.normal(size=(rows, *batch, columns)).transpose(*range(1, len(batch) + 1), 0, -1)
    if way == 5:
        turned = [*range(len(batch))][::-1]
        return rng.normal(size=(*batch[::-1], rows, columns)).transpose(*turned, len(batch), len(batch) + 1)
    return rng.normal(size=(*batch, rows, columns))


@given(st.integers(0, 2**32))
def test_one_call_of_cublas_is_the_product_however_the_matrices_lie(seed):
    """The arguments, followed to the letter of the manual by NumPy, against `@`."""
    rng = np.random.default_rng(seed)
    batch = tuple(rng.integers(1, 4, rng.integers(0, 3)).tolist())
    m, n, k = rng.integers(1, 5, 3).tolist()
    x, y = matrices(rng, batch, m, k), matrices(rng, batch if rng.random() < 0.7 else (), k, n)
    z = np.zeros((*np.broadcast_shapes(x.shape[:-2], y.shape[:-2]), m, n))

    call = gemm(x, y)
    made = matmul(SimulatedMachine(), *there(x, y))

    np.testing.assert_allclose(made.get(), x @ y, rtol=1e-12)
    if call is not None:
        emulate_gemm(call, y, x, z)
        np.testing.assert_allclose(z, x @ y, rtol=1e-12)


def test_a_transposed_operand_is_not_copied():
    x, y = np.ones((4, 3)), np.ones((5, 3)).T

    call = gemm(x, y)

    assert (call.turned_a, call.turned_b, call.lda, call.ldb, call.ldc) == (True, False, 3, 3, 5)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_a_product_goes_where_it_is_told(dtype):
    x, y = np.arange(6).reshape(2, 3).astype(dtype), np.arange(12).reshape(3, 4).astype(dtype)
    (out,) = there(np.zeros((2, 8)))

    matmul(SimulatedMachine(), *there(x, y), out[:, ::2])

    assert out.get()[:, ::2].tolist() == (x @ y).tolist()
    assert not out.get()[:, 1::2].any()


def test_a_batch_of_rows_by_one_matrix_is_one_product():
    x, w = there(np.ones((4, 5, 3)), np.ones((3, 2)))
    calls = []

    class Watching(SimulatedMachine):
        def multiply(self, call, a, b, c):
            calls.append(call)
            super().multiply(call, a, b, c)

    matmul(Watching(), x, w)

    assert [(c.batch, c.m, c.n, c.k) for c in calls] == [(1, 2, 20, 3)]


# -- CuPy, as far as it can be asked without a GPU --------------------------------------------------

NAMES = """
RawKernel empty add asnumpy result_type ascontiguousarray broadcast_to matmul cuda.alloc cuda.MemoryPool.malloc
cuda.get_current_stream cuda.using_allocator cuda.Stream.begin_capture cuda.Stream.end_capture cuda.Graph.launch
cuda.Graph.upload ndarray.strides ndarray.copy ndarray.fill ndarray.view ndarray.flags ndarray.itemsize
""".split()  # noqa: SIM905


@pytest.fixture
def cupy():
    return pytest.importorskip("cupy", reason="CuPy is not installed: python -m pip install cupy-cuda13x")


@pytest.mark.parametrize("name", NAMES)
def test_cupy_has_what_the_machine_uses(cupy, name):
    found = cupy
    for part in name.split("."):
        found = getattr(found, part)


def test_cupy_takes_a_kernel_as_it_is_given(cupy):
    from minigrad.graph.backends.cuda.kernel import kernel
    from minigrad.graph.compiler.passes.fuse import Fused, single_op_graph

    spec = Spec((3,), "f4")
    made = kernel(Fused(single_op_graph(ops.Exp(), (spec,))), [spec])

    raw = cupy.RawKernel(made.text, made.launches[0].name, options=OPTIONS)

    assert (raw.name, raw.options) == (made.name, OPTIONS)


def test_cublas_is_found_and_has_what_is_called(cupy):
    """Where the CUDA libraries are installed: they need no GPU to be opened."""
    import ctypes

    pathfinder = pytest.importorskip("cuda.pathfinder", reason="comes with CuPy 14")
    try:
        library = ctypes.CDLL(pathfinder.load_nvidia_dynamic_lib("cublas").abs_path)
    except Exception as reason:
        pytest.skip(f"no cuBLAS: python -m pip install 'cupy-cuda13x[ctk]'. {str(reason)[:80]}")
    for name in ("cublasCreate_v2", "cublasSetStream_v2", "cublasSetWorkspace_v2", "cublasGemmStridedBatchedEx"):
        assert hasattr(library, name)
