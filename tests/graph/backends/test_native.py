"""jit_compile="native": the loops of a program in C++. Oracles are eager mode, and NumPy, also in more digits."""

import gc
import math
import os
import re
import subprocess
import sys
import warnings
import weakref
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minigrad as mg
from minigrad.engine.base.spec import Spec
from minigrad.engine.core.graph import Graph
from minigrad.engine.tensor.symbol import placeholder
from minigrad.graph.backends import group
from minigrad.graph.backends.c import name_common_parts
from minigrad.graph.backends.native import toolchain
from minigrad.graph.backends.native.program import NativeProgram, native
from minigrad.graph.compiler.passes.pipeline import NATIVE, optimised
from minigrad.graph.compiler.program.program import Program
from minigrad.nn import functional as F
from tests.graph.compiler.test_random_graphs import ONE, programs
from tests.support.other_processes import output_of, run_in_threads

has_compiler = toolchain.compiler(quietly=True) is not None
rng = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def compiler(request):
    """Most tests here compile, and are skipped where there is no compiler."""
    if not has_compiler and not request.node.get_closest_marker("without_compiler"):
        pytest.skip("no C++ compiler: python -m pip install ziglang brings one")


def normal(*shape, dtype="float32", **options):
    return mg.tensor(rng.normal(size=shape).astype(dtype), **options)


def program_of(f):
    """What the latest trace of a function runs."""
    return f.latest.run.latest.program


# -- what becomes C ---------------------------------------------------------------------------------------


def test_a_training_step_of_a_small_net_is_one_part_and_walks_the_eager_path():
    shapes = (2, 16), (16,), (16, 1), (1,)
    starts = [rng.normal(size=s) for s in shapes]
    x, y = normal(100, 2, dtype="float64"), normal(100, 1, dtype="float64")

    def training():
        ps = [mg.tensor(s.copy(), requires_grad=True) for s in starts]
        adam = mg.optim.Adam(ps, lr=0.05)

        def step():
            adam.zero_grad()
            loss = F.mse_loss(mg.tanh(x @ ps[0] + ps[1]) @ ps[2] + ps[3], y)
            loss.backward()
            adam.step()
            return loss

        return ps, step

    (theirs, eager), (ours, traced) = training(), training()
    traced = mg.function(traced, jit_compile="native")
    for _ in range(20):
        np.testing.assert_allclose(traced().item(), eager().item(), rtol=1e-12)

    for p, q in zip(ours, theirs):
        np.testing.assert_allclose(p.numpy(), q.numpy(), rtol=1e-10, atol=1e-13)
    assert len(program_of(traced).parts) == 1
    assert "dot(" not in traced.source


def test_each_line_of_c_names_its_op_and_large_products_stay_numpys():
    f = mg.function(lambda x, w: mg.tanh(x @ w).sum(0), jit_compile="native")
    f(normal(100, 100), normal(100, 100))

    assert "= tanhf(" in f.c_source
    assert "// Tanh" in f.c_source
    assert "dot(x0, x1" in f.source
    assert "part0(" in f.source


def test_a_softmax_of_many_rows_is_one_loop_over_rows_that_stay_in_the_cache():
    x = normal(512, 1000)
    f = mg.function(lambda x: mg.softmax(x, -1), jit_compile="native")
    e = np.exp(x.numpy().astype("f8") - x.numpy().max(-1, keepdims=True))

    np.testing.assert_allclose(f(x).numpy(), e / e.sum(-1, keepdims=True), rtol=2e-6)
    assert program_of(f).text.size < 1 << 17  # bytes; the array has 2 million
    assert "rows_" in f.c_source


def test_a_body_of_a_loop_is_a_part_too():
    w = normal(8, 8, dtype="float64")

    def states(x0, xs):
        return mg.lax.scan(lambda h, x: (mg.tanh(h @ w + x), h.sum()), x0, xs)

    x0, xs = normal(1, 8, dtype="float64"), normal(30, 1, 8, dtype="float64")
    f = mg.function(states, jit_compile="native")
    for ours, theirs in zip(f(x0, xs), states(x0, xs)):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-12)
    assert "    part" in f.source.partition("for k")[2]


@pytest.mark.parametrize(("m", "n", "k"), [(8, 300, 500), (8, 400, 400), (400, 8, 300)])
def test_blas_is_given_the_smaller_operand_to_read_across(m, n, k):
    x, w, v, u = (mg.tensor(rng.normal(size=shape) / k**0.5) for shape in ((m, k), (n, k), (k, n), (n, k)))

    @mg.function(jit_compile="native")
    def f(x, w, v, u):
        return F.linear(x, w).sum(0), (x @ v).sum(0), x @ w.mT, (x @ u.mT).exp().sum(0)

    found = f(x, w, v, u)
    dense = x.numpy() @ w.numpy().T
    expected = dense.sum(0), (x.numpy() @ v.numpy()).sum(0), dense, np.exp(x.numpy() @ u.numpy().T).sum(0)
    for y, wanted in zip(found, expected):
        np.testing.assert_allclose(y.numpy(), wanted, rtol=1e-9, atol=1e-9)
    assert found[2].is_contiguous()  # what is handed out lies in memory as in eager mode
    across = [step.operands[1].shell.shape for step in program_of(f).text.steps if step.does is np.dot]
    assert across.count((k, m)) == 2 * (m < n)


def test_threads_share_large_steps_and_give_the_same_bits():
    def f(x, w):
        return mg.softmax(x, -1) * w, (x * w).tanh().sum(), x.sum(1), (x.reshape(-1) * 2).exp().sum(), x[:3] + w[:3]

    x, w = normal(600, 480), normal(600, 480)
    runs = [mg.function(f, jit_compile="native", threads=threads) for threads in (1, 2, 3)]
    alone, *others = ([y.numpy() for y in run(x, w)] for run in runs)
    for found in others:
        assert all(map(np.array_equal, found, alone))
    assert [part.pieces for part in program_of(runs[0]).parts] == [5, 0, 5, 0]
    (source,) = {run.c_source for run in runs}  # the number of threads is in no text
    assert len(re.findall(r"rows_\d+\(.*, own\); }", source)) == 1
    called = {name for name in re.findall(r"^STEP (\w+)", source, re.M) if re.search(rf" {name}\(\(", source)}
    assert called == set(re.findall(r"^STEP (\w+)", source, re.M))  # nothing is written that nobody calls


def test_threads_find_arrays_wherever_they_lie():
    home = rng.normal(size=(500, 700))
    p = mg.from_numpy(home.T)
    expected = home + 2 * np.tanh(home)

    @mg.function(jit_compile="native", threads=2)
    def step():
        p.add_(mg.tanh(p) * 2)

    step()
    np.testing.assert_allclose(home, expected, rtol=1e-12)
    assert [part.pieces for part in program_of(step).parts] == [7]


def test_a_session_and_jit_have_it_too():
    x = normal(5, 3)
    expected = np.exp(x.numpy()).sum(0)
    with mg.Graph().as_default():
        p = mg.placeholder("float32", (None, 3))
        y = mg.exp(p).sum(0)
        with mg.Session(jit_compile="native") as session:
            np.testing.assert_allclose(session.run(y, {p: x.numpy()}), expected, rtol=1e-6)
            assert "expf(" in session.last_run.c_source
        with mg.Session() as session:
            session.run(y, {p: x.numpy()})
            assert not session.last_run.c_source
    f = mg.jit(lambda x: mg.exp(x).sum(0), backend="native")
    np.testing.assert_allclose(f(x).numpy(), expected, rtol=1e-6)
    assert "expf(" in f.c_source


def test_numpy_runs_a_python_function_without_operands():
    """The search for large steps took the largest operand, and there was none: ValueError."""
    f = mg.function(
        lambda: mg.py_func(lambda: np.ones(3), [], mg.TensorSpec((3,), "float64")) * 2, jit_compile="native"
    )
    assert f().tolist() == [2, 2, 2]


@pytest.mark.without_compiler
def test_a_power_of_integers_by_a_float_is_none_of_integers_after_one_by_an_int():
    x = mg.tensor(np.arange(10))
    for power in (4, 4.0):
        y = mg.function(lambda x, power=power: x**power, jit_compile="native")(x).numpy()
        np.testing.assert_array_equal(y, x.numpy() ** power)
        assert y.dtype == (x.numpy() ** power).dtype


@pytest.mark.without_compiler
def test_each_line_of_a_group_is_made_once(monkeypatch):
    """Each step was written four times: to see if C can do it, also in a loop over rows and in a part, and at last."""
    made = []
    monkeypatch.setattr(group, "name_common_parts", lambda y, name: made.append(name) or name_common_parts(y, name))
    x = y = placeholder("x", Spec((10,), "f4"))
    for _ in range(10):
        y = (y * x).tanh()
    program = NativeProgram(optimised(Graph((x.node,), (y.node,)), NATIVE))

    assert len(made) == 20
    assert program.c_source.count("tanhf(") == 10


@pytest.mark.without_compiler
def test_another_word_is_refused():
    for make in (mg.Session, lambda **options: mg.function(abs, **options)):
        with pytest.raises(ValueError, match='False, True, "native" or "auto"; got \'atuo\''):
            make(jit_compile="atuo")


# -- the numbers --------------------------------------------------------------------------------------------

MANY = {
    "bias": lambda x, row, col: mg.tanh(x + row), "column": lambda x, row, col: x * col - row,
    "transposed": lambda x, row, col: mg.exp(-x.mT) + col.mT, "sum": lambda x, row, col: (x * x).sum(),
    "mean of rows": lambda x, row, col: x.mean(-1), "sum of columns": lambda x, row, col: (x * col).sum(0),
    "largest": lambda x, row, col: x.amax(), "largest of rows": lambda x, row, col: x.amax(-1),
    "least of columns": lambda x, row, col: x.amin(0), "softmax": lambda x, row, col: mg.softmax(x, -1),
    "softmax of columns": lambda x, row, col: mg.softmax(x, 0),
    "layer norm": lambda x, row, col: F.layer_norm(x, x.shape[-1:]),
    "log": lambda x, row, col: mg.log(1 + x * x) + mg.sqrt(abs(x)), "logsumexp": lambda x, row, col: x.logsumexp(-1),
    "where": lambda x, row, col: mg.where(x > 0, x, row) + (x >= col), "product": lambda x, row, col: row @ x.mT,
    "cut": lambda x, row, col: x[1:] * x[:-1] + x[::2].sum(), "integers": lambda x, row, col: (x * 10).long() % 7 + 1,
    "powers": lambda x, row, col: abs(x) ** 1.5 + mg.sin(x),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(4, 3), (2, 70_001), (300, 301), (8_200, 33), (1, 1), (5_000, 3)])
def test_values_and_gradients_are_those_of_eager_mode(shape, dtype, monkeypatch):
    """On both sides of every threshold: of a block, of a row that is long, of a sum in pieces, of lanes."""
    monkeypatch.setattr(toolchain, "FLAGS", tuple("-O1" if f == "-O3" else f for f in toolchain.FLAGS))  # a long text
    x, row, col = (normal(*s, dtype=dtype, requires_grad=True) for s in (shape, (1, shape[1]), (shape[0], 1)))

    def everything(x, row, col):
        ys = [f(x, row, col) for f in MANY.values()]
        total = sum((y / (1 + y * y)).mean() for y in ys if y.spec.is_float)
        return [*ys, *mg.autograd.grad(total, (x, row, col))]

    f = mg.function(everything, jit_compile="native")
    tolerance = 3e-4 if dtype == "float32" else 1e-9
    for name, ours, theirs in zip([*MANY, "dx", "drow", "dcol"], f(x, row, col), everything(x, row, col)):
        assert ours.spec == theirs.spec, name
        largest = np.abs(theirs.numpy()).max(initial=1)
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=0, atol=tolerance * largest, err_msg=name)


def test_a_table_that_every_row_reads_is_given_to_the_loop_over_rows():
    """The mask of causal attention was looked for among the loop's own arrays: no GPT could be compiled."""
    x = normal(16, 4, 64, 4)

    def attention(x):
        return F.scaled_dot_product_attention(x, x, x, is_causal=True)

    y = mg.function(attention, jit_compile="native")(x)

    np.testing.assert_allclose(y.numpy(), attention(x).numpy(), rtol=0, atol=1e-5)


FUNCTIONS = {
    "gelu": lambda x: x.gelu(), "erfc": lambda x: x.erfc(), "wave": lambda x: (3 * x.tanh()).sin() + x.sigmoid().cos(),
    "softplus": lambda x: x.softplus(), "expm1": lambda x: x.expm1(), "log1p": lambda x: (x * x).log1p(),
    "power": lambda x: abs(x) ** 1.5, "half": lambda x: x.half(),
}  # fmt: skip


@pytest.mark.parametrize("threads", [1, 3])
@settings(max_examples=15, suppress_health_check=[*HealthCheck])
@given(st.one_of(programs(), programs(ONE | FUNCTIONS, ["f8", "f4"]), programs(ONE | FUNCTIONS, ["f2", "f4"])))
def test_random_graphs_give_what_numpy_gives_infinities_and_all(monkeypatch, threads, program):
    """Within 8 eps of the coarsest dtype in the graph, of the largest number in the array.

    Where there are threads, all is large: they share two rows, blocks have 32 elements, and pieces 16.
    """
    graph, arrays = program
    graph = optimised(graph, NATIVE)
    with monkeypatch.context() as m:
        if threads > 1:
            m.setattr("minigrad.graph.backends.native.program.WORTH_SHARING", 1)
            for place in ("backends.native.lower.BLOCK", "compiler.program.tiling.BLOCK"):
                m.setattr(f"minigrad.graph.{place}", 32)
            for place in ("lower", "reduce"):
                m.setattr(f"minigrad.graph.backends.native.{place}.PIECE", 16)
        program = native(graph, threads)
    assert isinstance(program, NativeProgram)
    eps = max((np.finfo(n.spec.dtype).eps for n in graph.nodes if getattr(n.spec, "is_float", False)), default=0)
    with np.errstate(all="ignore"):
        expected = Program(graph)(*[a.copy() for a in arrays])
        found = [program(*[np.array(a, order=order) for a in arrays]) for order in "CF"]
    for ys in found:
        for a, b in zip(expected, ys, strict=True):
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            numbers = np.isfinite(a)
            np.testing.assert_array_equal(b[~numbers], a[~numbers])
            np.testing.assert_allclose(b[numbers], a[numbers], rtol=0, atol=8 * eps * np.abs(a[numbers]).max(initial=1))


@pytest.mark.parametrize("n", [1023, 1025, 65_537, 1_000_003])
def test_a_long_sum_is_as_exact_as_numpys_whatever_its_length(n):
    """Of 1,000,003 times 0.1 it was wrong by 6 in 10,000: only where pieces came out even was it added up in pieces."""
    f = mg.function(lambda x: (x.sum(), (x * x).sum(), (x + 1).mean(), x.sum(-1), (x * x).sum(0)), jit_compile="native")
    tenth = float(np.float32(0.1))
    for shape in ((n,), (3, n)):
        once, count = np.prod(shape[:-1], dtype=int), np.prod(shape, dtype=int)
        expected = [count * tenth, count * tenth**2, 1 + tenth, n * tenth, (once if len(shape) > 1 else n) * tenth**2]
        for y, exact in zip(f(mg.full(shape, 0.1, dtype="float32")), expected):
            np.testing.assert_allclose(y.numpy(), exact, rtol=2e-6)


LIMITS = {  # units in the last place, of float32 and of float64
    "exp": (1.1, 1.1), "expm1": (1.6, 2.0), "log": (1.0, 1.0), "log1p": (1.6, 1.6), "tanh": (5.5, 1.5),
    "erf": (1.6, 1.6), "erfc": (5.5, 6.0), "sin": (0.6, 1.0),  # of float64 the C library's
    "cos": (0.6, 1.0), "pow": (0.6, 1.3),
}  # fmt: skip
ORACLES = {"erf": np.vectorize(math.erf), "erfc": np.vectorize(math.erfc), "pow": np.power}
STRANGE = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -3.0, 4.0, 1e-45, 5e-324, 1e30, -1e38, 1e308, 1e-300]
STRANGE += [800.0, -800.0, -103.5, -744.0, 2.0**24 + 1, 2.0**53 - 1, -(2.0**53) + 1, -(2.0**54), 16367173 * 2.0**72]


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="a long double is no more than a double here")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", LIMITS)
def test_functions_of_our_own_are_right_to_the_last_digits(name, dtype):
    """At every size of number, of huge ones too: whatever is left of 1e30 beyond whole turns."""
    sizes = np.exp(rng.uniform(-80, 80, (2, 25_000))) * [[1], [-1]]
    x = np.concatenate([sizes.ravel(), rng.uniform(-100, 88, 50_000), rng.normal(size=50_000), STRANGE])
    xs = [np.concatenate([x, 1 + rng.normal(size=50_000) * 1e-3])]
    if name == "pow":
        y = np.concatenate([rng.uniform(-9, 9, 100_000), rng.integers(-20, 20, 50_000), STRANGE])
        pairs = zip(np.meshgrid(STRANGE, STRANGE), (xs[0], np.append(y, rng.normal(size=50_000) * 3e5)))
        xs = [np.append(strange, x) for strange, x in pairs]
    f = mg.function(lambda *xs: getattr(xs[0], name)(*xs[1:]), jit_compile="native")
    with np.errstate(all="ignore"):
        xs = [x.astype(dtype) for x in xs]
        found = f(*map(mg.tensor, xs)).numpy()
        expected = ORACLES.get(name, getattr(np, name, None))(*(x.astype(np.longdouble) for x in xs))
        rounded = expected.astype(dtype)
        normal = np.isfinite(rounded)
        np.testing.assert_array_equal(found[~normal], rounded[~normal])
        np.testing.assert_array_equal(np.signbit(found[rounded == 0]), np.signbit(rounded[rounded == 0]))
        off = abs(found[normal] - expected[normal]) / np.spacing(abs(rounded[normal]))
    assert off.max() <= LIMITS[name][dtype == "f8"], [x[normal][off.argmax()] for x in xs]
    assert name != "tanh" or abs(found[normal]).max() == 1
    assert ("(double);" in f.c_source) == (name in ("sin", "cos") and dtype == "f8")  # the C library's


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers_wrap_round_as_numpys_do(dtype):
    """x + 1 > x was true of the largest too: C leaves to the compiler what is beyond, and it left out the question."""
    ends = np.iinfo(dtype)
    x = mg.tensor(np.array([ends.max, 1, ends.min] * 9, dtype))

    def asked(x):
        return x + 1 > x, x - 1 < x, x * 2 // 2, abs(x) >= 0, -x

    for y, expected in zip(mg.function(asked, jit_compile="native")(x), asked(x)):
        np.testing.assert_array_equal(y.numpy(), expected.numpy())


def test_every_number_of_half_precision_is_read_and_written_as_it_is():
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    f = mg.function(lambda x: (x + 0, x.float() * 1.0003), jit_compile="native")
    with np.errstate(invalid="ignore"):
        expected = x, x.astype("f4") * np.float32(1.0003)
    for y, wanted in zip(f(mg.from_numpy(x)), expected):
        np.testing.assert_array_equal(y.numpy(), wanted)
        np.testing.assert_array_equal(np.signbit(y.numpy()), np.signbit(wanted))
    assert calls(f) == ["part0"]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_every_number_near_half_precision_rounds_to_it_as_numpy_rounds(dtype):
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype("f8")
    ties = (halves[1:] + halves[:-1]) / 2
    x = np.concatenate([ties, np.nextafter(ties, 0), np.nextafter(ties, 1e9), 2.0 ** np.linspace(-27, 17, 50_000)])
    with np.errstate(over="ignore"):
        x = np.concatenate([x, -x, [0.0, -0.0, np.inf, -np.inf, np.nan, 1e300, 1e-300]]).astype(dtype)
        expected = x.astype(np.float16)
    found = mg.function(lambda x: x.half(), jit_compile="native")(mg.tensor(x)).numpy()
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def test_groups_and_reductions_of_half_precision_are_c_too():
    """What is summed is summed in single, and rounded once: row sums of 100,000 are beyond half precision."""
    x = mg.tensor(np.full((1000, 1000), 100, np.float16))
    f = mg.function(
        lambda x: ((x * 2).mean(), (x * 2).mean(-1), (x * 2).mean(0), mg.softmax(x, -1).amax(), x.amin(0), x[1:] * 1),
        jit_compile="native",
    )
    for y, expected in zip(f(x), (200, 200, 200, np.float16(0.001), 100, 100)):
        assert y.spec.dtype == np.float16
        np.testing.assert_array_equal(y.numpy(), expected)
    assert set(calls(f)) == {part.name for part in program_of(f).parts}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(16,), (3, 40), (1000, 2)])
def test_a_product_overflows_only_where_it_does_in_order(shape, dtype):
    """Products in lanes multiplied the large factors: of 0, 1e200, 0, 1e200, … the product was 0 · ∞, which is NaN."""
    large = 1e200 if dtype == "float64" else 1e30
    for factors in ([0, large], [1 / large, large], [large, 1 / large, 1 / large, large], [-large, 0.5 / large]):
        x = mg.tensor(np.resize(factors, shape).astype(dtype))
        for axis in range(len(shape)):
            with np.errstate(over="ignore"):
                found = mg.function(lambda x, axis=axis: x.prod(axis), jit_compile="native")(x)
                np.testing.assert_array_equal(found.numpy(), x.prod(axis).numpy())


def calls(f):
    """What the lines of a compiled program call."""
    return re.findall(r"^    (?:\w+ = )?(?!empty|new|return)(\w+)\(", f.source, re.MULTILINE)


# -- arrays -------------------------------------------------------------------------------------------------


def test_arrays_may_lie_in_memory_in_any_way():
    f = mg.function(lambda x, y: mg.exp(x) * y + x.sum(0), jit_compile="native")
    dense, y = rng.normal(size=(6, 4)), rng.normal(size=(6, 4))
    expected = np.exp(dense) * y + dense.sum(0)
    unaligned = np.empty(6 * 4 * 8 + 1, np.uint8)[1:].view("f8").reshape(6, 4)
    unaligned[...] = dense
    for x in (dense, np.asfortranarray(dense), np.repeat(dense, 2, 1)[:, ::2], dense[::-1].copy()[::-1], unaligned):
        np.testing.assert_allclose(f(mg.from_numpy(x), mg.tensor(y)).numpy(), expected, rtol=1e-12)
    wide = np.broadcast_to(dense[:1], (6, 4))
    np.testing.assert_allclose(f(mg.from_numpy(wide), mg.tensor(y)).numpy(), np.exp(wide) * y + wide.sum(0), rtol=1e-12)


@pytest.mark.parametrize("dtype", [">f2", ">f4", ">f8", ">i4", ">u2"])
def test_arrays_of_another_byte_order_are_numpys(dtype):
    """They were read as if they were of this one: 1, 1, 1 came of 0 + 1, 1 + 1, 2 + 1."""
    x = mg.from_numpy(np.arange(6, dtype=dtype))
    f = mg.function(lambda x: (x * 2 + 1, mg.maximum(x, 3).sum(), x[::2] * 3), jit_compile="native")
    with warnings.catch_warnings(action="error"):
        assert [y.numpy().tolist() for y in f(x)] == [[1, 3, 5, 7, 9, 11], 3 * 4 + 4 + 5, [0, 6, 12]]


@pytest.mark.parametrize("name", ["unfold", "print", "py_func", "longdouble"])
def test_what_c_cannot_read_numpy_does(name, capsys):
    """An array of which only the run can tell where it lies: the group after it was a line that nobody knew."""
    made = {
        "unfold": lambda x: x.unfold(0, 2, 1), "print": mg.print,
        "py_func": lambda x: mg.py_func(lambda a: a, [x], mg.float32), "longdouble": lambda x: x,
    }[name]  # fmt: skip
    x = np.arange(6, dtype=np.longdouble if name == "longdouble" else np.float32)
    y = np.lib.stride_tricks.sliding_window_view(x, 2) if name == "unfold" else x
    f = mg.function(lambda x: made(x) * 2 + (made(x) > 1), jit_compile="native", autograph=False)
    found = f(mg.from_numpy(x)).numpy()
    assert (found.dtype, found.tolist()) == (x.dtype, (y * 2 + (y > 1)).tolist())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_sigmoid_that_is_nearly_0_keeps_its_digits(dtype):
    """As ½ tanh(½ x) + ½, in single, it was 0 from -17 on, and its logarithm -inf."""
    x = mg.tensor([-10.0, -17.0, -20.0, -80.0], dtype=dtype)
    y, z = mg.function(lambda x: (mg.sigmoid(x), mg.log(mg.sigmoid(x))), jit_compile="native")(x)
    np.testing.assert_allclose(y.numpy(), np.exp(x.numpy().astype(float)), rtol=1e-4)
    np.testing.assert_allclose(z.numpy(), x.numpy(), rtol=1e-5)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork there")
@pytest.mark.parametrize("threads", [2, None])
def test_a_child_has_threads_of_its_own(threads):
    """A forked child waited for ever for its parent's threads. By default the child starts no threads."""
    script = (
        "import os\nimport queue\nimport minigrad as mg\nx = mg.ones(700, 500)\n"
        "mg.set_num_threads(2)\nfor how in (True, 'native'):\n"
        f"    f = mg.function(lambda x: mg.tanh(x) + 1, jit_compile=how, threads={threads})\n"
        "    y = f(x).numpy()\n    if os.fork() == 0:\n        same = (f(x).numpy() == y).all()\n"
        "        seen = queue.SimpleQueue()\n"
        "        mg.engine.base.threads.helpers(1)(lambda: seen.put(mg.get_num_threads()))\n"
        "        os._exit(seen.get(timeout=20) + same)\n"
        "    print(os.waitstatus_to_exitcode(os.wait()[1]))\n"
    )
    assert output_of(script, timeout=100) == "2\n2\n"


def test_a_parameter_that_lies_across_memory_is_edited_in_place():
    home = np.zeros((4, 3))
    p = mg.from_numpy(home.T)

    @mg.function(jit_compile="native")
    def step():
        p.add_(mg.exp(p) * 2)

    step()
    step()
    assert home.tolist() == [[2 + 2 * np.exp(2)] * 3] * 4


def test_a_piece_is_one_stretch_of_memory():
    """Of images whose batch is innermost in memory, a piece was 64 bytes of every row: 1.5 times the CNN's time."""
    f = mg.function(lambda x, K: F.max_pool2d(F.conv2d(x, K), 2), jit_compile="native")
    f(mg.ones(512, 1, 30, 30), mg.ones(8, 1, 3, 3))
    assert min(int(size) for size in re.findall(r"k \* (\d+)\)", f.c_source)) > 1 << 18


def test_nothing_is_held_that_was_given_or_handed_out():
    f = mg.function(lambda x: mg.exp(x) + x.sum(), jit_compile="native")
    f(mg.zeros(300_000))  # the first arguments of all belong to the trace
    x = np.zeros(300_000)  # large enough to be handed out again
    y = f(mg.from_numpy(x)).numpy()
    gone = [weakref.ref(x), weakref.ref(y)]
    del x, y
    f(mg.zeros(300_000))
    assert [g() is None for g in gone] == [True, True]


def test_two_threads_may_run_it_at_once():
    f = mg.function(lambda x: mg.tanh(x).sum() + mg.exp(x).sum(), jit_compile="native")
    xs = [normal(10_000, dtype="float64") for _ in range(4)]
    expected = [f(x).item() for x in xs]
    found = [[] for _ in xs]
    run_in_threads(lambda i: found[i].extend(f(xs[i]).item() for _ in range(200)), range(4))
    assert found == [[y] * 200 for y in expected]


# -- what may go wrong --------------------------------------------------------------------------------------


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """A cache that is empty, and a process that has looked for no compiler yet."""
    monkeypatch.setenv("MINIGRAD_CACHE", str(tmp_path / "cache"))
    for each in (toolchain.compiler, toolchain.folder):
        each.cache_clear()
    yield tmp_path
    for each in (toolchain.compiler, toolchain.folder):
        each.cache_clear()


def numpys(why):
    """A call that NumPy runs, with a warning; its result is right."""
    f = mg.function(lambda x: mg.exp(x).sum(), jit_compile="native")
    with pytest.warns(toolchain.NoCompilerWarning, match=why):
        assert f(mg.zeros(5)).item() == 5
    assert not f.c_source
    return f


@pytest.mark.without_compiler
def test_where_there_is_no_compiler_numpy_runs_and_one_line_says_so(fresh, monkeypatch):
    monkeypatch.setattr(toolchain, "candidates", list)
    f = numpys(r"there is no working C\+\+ compiler: python3 start\.py add native")
    with warnings.catch_warnings(action="error"):  # said once
        f(mg.zeros(6))


@pytest.mark.without_compiler
def test_where_there_is_no_compiler_a_replay_is_python_and_one_line_says_so(fresh, monkeypatch):
    monkeypatch.setattr(toolchain, "candidates", list)
    x = mg.Value(2.0)
    with pytest.warns(toolchain.NoCompilerWarning, match=r"Python runs instead of native code: there is no"):
        step = mg.replay(x * x, [x], backend="native")

    assert step.source == mg.replay(x * x, [x]).source
    with warnings.catch_warnings(action="error"):  # said once
        assert mg.replay(x * x, [x], backend="native")(3.0) == (9.0, [6.0])


@pytest.mark.parametrize("how", ["exits", "is killed", "makes no library"])
def test_a_compiler_that_fails_is_no_compiler(fresh, monkeypatch, how):
    ends = {"exits": "sys.exit('no such flag')", "is killed": "os.kill(os.getpid(), 9)", "makes no library": ""}
    fake = fresh / "cc.py"
    fake.write_text(f"import os, sys\n{ends[how]}\n")
    monkeypatch.setattr(toolchain, "candidates", lambda: [(sys.executable, str(fake))])
    numpys("no working C")


@pytest.mark.without_compiler
def test_what_is_built_for_windows_has_what_a_dll_begins_with(fresh, monkeypatch):
    """Without it the linker refuses, the probe too: no compiler was found there."""
    texts = []

    def noted(command, **options):
        texts.append(Path(command[-1]).read_text("utf-8"))
        Path(command[-2]).write_bytes(b"a library")

    monkeypatch.setattr(toolchain.subprocess, "run", noted)
    for platform in ("linux", "win32"):
        monkeypatch.setattr(toolchain.sys, "platform", platform)
        toolchain.build(("cc",), toolchain.PROBE, toolchain.folder() / "probe")
    assert ["DllMainCRTStartup" in text for text in texts] == [False, True]


def test_a_compiler_that_fails_at_one_text_costs_that_text_alone(fresh, monkeypatch):
    assert toolchain.compiler() is not None
    run = subprocess.run

    def full(command, **options):
        Path(command[-1]).write_text("#error No space left on device\n")
        return run(command, **options)

    monkeypatch.setattr(toolchain.subprocess, "run", full)
    numpys("failed: .*No space left on device")


def test_a_folder_that_cannot_be_written_to_is_done_without(fresh, monkeypatch):
    (fresh / "cache").write_text("a file, where a folder is wanted")
    f = mg.function(lambda x: mg.exp(x).sum(), jit_compile="native")
    assert f(mg.zeros(5)).item() == 5
    assert f.c_source
    assert (fresh / "cache").read_text() == "a file, where a folder is wanted"


@pytest.mark.skipif(sys.platform == "win32", reason="a library that is loaded cannot be damaged there")
def test_what_was_built_once_is_loaded_and_what_is_damaged_is_built_again(fresh, monkeypatch):
    text = 'extern "C" int seven() { return 7; }\n'
    assert toolchain.library(text).seven() == 7

    def none(*_, **__):
        raise AssertionError("a compiler was called")

    with monkeypatch.context() as m:
        m.setattr(toolchain.subprocess, "run", none)
        assert toolchain.library(text).seven() == 7

    name = toolchain.key(toolchain.compiler(), text)
    (path,) = toolchain.folder().glob(f"{name}-*")
    script = f"from minigrad.graph.backends.native import toolchain\nprint(toolchain.library({text!r}).seven())"
    for damaged in (path.read_bytes()[: path.stat().st_size // 2], bytes(path.stat().st_size)):
        path.unlink()  # it is loaded here: not to be written into
        path.write_bytes(damaged)
        assert output_of(script) == "7\n"
    assert not [*toolchain.folder().glob("build*")]


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of files there")
def test_where_the_disk_is_full_numpy_runs_and_nothing_is_left_behind(fresh):
    script = (
        "import resource, warnings\nimport minigrad as mg\nfrom minigrad.graph.backends.native import toolchain\n"
        "toolchain.compiler()\nresource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        "f = mg.function(lambda x: mg.exp(x).sum(), jit_compile='native')\n"
        "with warnings.catch_warnings(record=True) as said:\n    print(f(mg.zeros(5)).item(), 'part0' in f.source)\n"
        "print([w.category.__name__ for w in said][1:])"
    )
    assert output_of(script) == "5.0 False\n['NoCompilerWarning']\n"
    assert not [*(fresh / "cache" / "native").glob("build*")]


def test_ten_thousand_calls_leave_nothing_behind():
    x = normal(4, 3, requires_grad=True)
    f = mg.function(lambda x: (mg.tanh(x) @ x.mT).sum(), jit_compile="native")

    def calls(n):
        for _ in range(n):
            f(x).backward()
            x.grad = None
        gc.collect()
        return sys.getallocatedblocks()

    warmed = calls(1_000)
    assert calls(9_000) - warmed < 50


def test_processes_that_build_the_same_at_once_are_both_right(fresh):
    script = (
        "import minigrad as mg\nf = mg.function(lambda x: mg.exp(x).sum(), jit_compile='native')\n"
        "print(f(mg.zeros(5)).item(), 'part0' in f.source)"
    )
    command = [sys.executable, "-c", script]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) for _ in range(3)]
    assert [each.communicate()[0] for each in running] == ["5.0 True\n"] * 3
