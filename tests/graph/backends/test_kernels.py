"""Kernels: the text of each is executed on the CPU, and gives what the op itself gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minigrad import ops
from minigrad.engine.base.spec import Spec
from minigrad.engine.core.graph import Graph
from minigrad.engine.core.op import Elementwise
from minigrad.engine.tensor.symbol import Symbol, placeholder
from minigrad.graph.backends.c import C, Expr, NotWritten, literal, name_common_parts
from minigrad.graph.backends.cuda.kernel import BLOCK, contiguous, kernel, place
from minigrad.graph.compiler.passes.fuse import Fused
from tests.examples import EXAMPLES
from tests.support import shim
from tests.support.table import table


def group(f, *specs):
    """The fused group that f makes of placeholders of these specs."""
    xs = [placeholder(f"a{k}", s) for k, s in enumerate(specs)]
    ys = f(*xs)
    return Fused(Graph(tuple(x.node for x in xs), tuple(y.node for y in (ys if isinstance(ys, tuple) else (ys,)))))


def compared(cases, **tolerance):
    """Each (group, operands): its kernel, run on the CPU, against the group's own forward."""
    kernels = [kernel(fused, [Spec(x.shape, x.dtype) for x in xs], [strides(x) for x in xs]) for fused, xs in cases]
    library = shim.Library(kernels)
    for made, (fused, xs) in zip(kernels, cases):
        with np.errstate(all="ignore"):
            expected = fused.forward(np, *xs)
        expected = expected if isinstance(expected, tuple) else (expected,)
        for y, wanted in zip(library(made, *xs), expected, strict=True):
            assert y.dtype == wanted.dtype
            assert y.shape == wanted.shape
            np.testing.assert_allclose(y, wanted, **tolerance, err_msg=made.text)


def strides(x):
    return tuple(s // x.itemsize for s in x.strides)


# -- every op ---------------------------------------------------------------------------------------

CASES = [case for op, examples in EXAMPLES.items() if issubclass(op, Elementwise) for case in examples]
CLOSE = {"f4": {"rtol": 5e-6, "atol": 1e-7}, "f8": {"rtol": 1e-13, "atol": 1e-15}}


def examples_in(dtype):
    """Every elementwise op as a group of its own, its floating operands in that dtype."""
    for op, *examples in CASES:
        xs = [x.numpy() for x in examples]
        xs = [x.astype(dtype) if x.dtype.kind == "f" else x for x in xs]
        yield group(lambda x, *o, op=op: x.apply(op, *o), *(Spec(x.shape, x.dtype) for x in xs)), xs


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_every_elementwise_op_is_in_c_what_it_is_in_numpy(dtype):
    """To the last digits: C's library and NumPy's loops round differently."""
    compared(list(examples_in(dtype)), **CLOSE[dtype])


def test_half_precision_is_computed_in_single_and_rounded_once():
    cases = list(examples_in("f2"))
    library = shim.Library(kernels := [kernel(fused, [Spec(x.shape, x.dtype) for x in xs]) for fused, xs in cases])

    for made, (fused, xs) in zip(kernels, cases):
        (y,) = library(made, *xs)
        with np.errstate(over="ignore"):
            exact = fused.forward(np, *(x.astype("f4") if x.dtype == np.float16 else x for x in xs)).astype("f4")
        assert y.dtype == fused.infer(*(Spec(x.shape, x.dtype) for x in xs)).dtype
        exact = np.where(np.abs(exact) < 65520, exact, np.copysign(np.inf, exact))  # what a half rounds to infinity
        np.testing.assert_allclose(y, exact, rtol=2**-10, atol=2**-24, err_msg=made.text)  # half a unit, and ties


BEYOND = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, 200.0, -200.0, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_at_the_edges_c_has_the_same_infinities_zeros_and_no_numbers(dtype):
    cases = []
    for op in {type(op): op for op, *_ in CASES}.values():
        arity = len(next(xs for o, *xs in CASES if o is op))
        grid = np.meshgrid(*[np.array(BEYOND, dtype)] * arity)
        xs = [np.ascontiguousarray(x) for x in grid]
        if isinstance(op, ops.Kept | ops.Where | ops.And | ops.Or | ops.Xor | ops.Not):
            continue  # of booleans, and of bits
        cases.append((group(lambda x, *o, op=op: x.apply(op, *o), *(Spec(x.shape, x.dtype) for x in xs)), xs))

    compared(cases, rtol=3e-5 if dtype == "f4" else 1e-13, atol=1e-15)  # 1 + tanhf(-2) leaves 1 digit in 50


@pytest.mark.parametrize("dtype", ["i8", "i4", "u1", "?"])
def test_integers_and_booleans_are_computed_as_numpy_computes_them(dtype):
    low = 0 if dtype in ("u1", "?") else -4
    x, y = (np.array(g, dtype) for g in np.meshgrid(np.arange(low, 5), np.arange(low, 5)))
    two = [ops.Add(), ops.Mul(), ops.Div(), ops.Maximum(), ops.Minimum(), ops.Greater(), ops.Equal(), ops.LessEqual()]
    two += [ops.And(), ops.Or(), ops.Xor(), ops.FloorDivide(), ops.Remainder(), ops.Fmod()]
    one = [ops.Not(), ops.Abs(), ops.IsNaN(), ops.IsFinite(), ops.Cast(np.dtype("f4")), ops.Cast(np.dtype("?"))]
    one += [ops.Cast(np.dtype("f2")), ops.Sqrt()]
    if dtype != "?":
        two += [ops.Sub()]
        one += [ops.Neg(), ops.Sign(), ops.Pow(3), ops.Pow(2), ops.Floor(), ops.Erf(), ops.Round(), ops.Clamp(1, 2)]
    cases = [(group(lambda a, b, op=op: a.apply(op, b), *[Spec(x.shape, x.dtype)] * 2), [x, y]) for op in two]
    cases += [(group(lambda a, op=op: a.apply(op), Spec(x.shape, x.dtype)), [x]) for op in one]

    compared(cases, rtol=1e-3)  # the square root of a byte is of half precision


@pytest.mark.parametrize("dtype", ["i8", "i4", "i2", "u2", "u4"])
def test_integers_wrap_round_as_numpys_do(dtype):
    """x + 1 > x was true of the largest too: C leaves open what is beyond it, and compilers left out the question."""
    ends = np.iinfo(dtype)
    x = np.array([ends.max, 1, ends.min, ends.max - 1, 2, 3], dtype)

    def asked(x):
        return x + 1 > x, x - 1 < x, x * 2 // 2, x * x, x**5, -x, abs(x) >= 0, (x * x).apply(ops.Sum((0,)))

    compared([(group(asked, Spec(x.shape, dtype)), [x])], rtol=0)


def test_an_integer_power_is_exact():
    x, n = (g.astype("u8") for g in np.meshgrid(np.arange(0, 5), np.arange(0, 20)))
    powers = group(lambda x: tuple(x**n for n in range(4, 20)), Spec((7,), "i8"))

    compared([(group(lambda x, n: x.apply(ops.Power(), n), *[Spec(x.shape, x.dtype)] * 2), [x, n])], rtol=0)
    compared([(powers, [np.arange(-3, 4)])], rtol=0)


def test_an_integer_power_whose_exponent_may_be_negative_is_not_compiled():
    """NumPy raises an error for a negative exponent; the kernel returned 0."""
    with pytest.raises(NotWritten, match="may be negative"):
        kernel(group(lambda x, n: x.apply(ops.Power(), n), *[Spec((3,), "i8")] * 2), [Spec((3,), "i8")] * 2)


def test_half_precision_is_rounded_where_an_op_ends_as_if_it_had_been_stored():
    """40,000 · 2 is no number of half precision: its reader sees the infinity that memory would have held."""
    x = np.array([40_000.0, 1.0, -3e-8, 2049 / 2048], "f2")

    compared([(group(lambda x: (x * 2 / 2, (x * 2).isinf()), Spec((4,), "f2")), [x])], rtol=0)


def test_every_number_of_half_precision_is_read_and_written_as_it_is():
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)

    compared([(group(lambda x: (x + 0.0, x.float() * 1.0003), Spec(x.shape, "f2")), [x])], rtol=0)


def test_every_float_near_half_precision_rounds_to_it_as_numpy_rounds():
    x = np.concatenate([np.random.default_rng(0).uniform(-8, 8, 50_000), 2.0 ** np.linspace(-27, 17, 50_000)])
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype("f8")
    x = np.concatenate([x, (halves[1:] + halves[:-1]) / 2])  # ties

    compared([(group(lambda x: x.half() + 0, Spec(x.shape, "f8")), [x])], rtol=0)


# -- where elements lie -----------------------------------------------------------------------------

SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


@given(SHAPES, st.data())
def test_the_index_of_an_operand_is_where_its_element_lies(loop, data):
    """Any operand that broadcasts to the loop, permuted and turned round: the formula, evaluated, against NumPy."""
    shape = tuple(n if data.draw(st.booleans()) else 1 for n in loop[data.draw(st.integers(0, len(loop) - 1)) :])
    memory = np.arange(np.prod(shape, dtype=int))
    order = data.draw(st.permutations(range(len(shape))))
    x = memory.reshape([shape[a] for a in order]).transpose(np.argsort(order))
    x = x[tuple(slice(None, None, -1) if data.draw(st.booleans()) else slice(None) for _ in shape)]
    start = int(x.reshape(-1)[0])

    formula = place(loop, shape, strides(x), "").replace("/", "//")

    found = [memory[start + eval(formula, {"i": i})] for i in range(np.prod(loop, dtype=int))]
    assert found == np.broadcast_to(x, loop).reshape(-1).tolist()


@table("loop, shape, order, index", [
    ((4, 8), (4, 8), None, "i"), ((4, 8), (8,), None, "i % 8u"), ((4, 8), (4, 1), None, "i / 8u"),
    ((4, 8), (1, 1), None, "0"), ((2, 3, 4, 5), (3, 4, 5), None, "i % 60u"),
    ((2, 3, 4, 5), (2, 1, 4, 5), None, "(i / 60u) * 20u + i % 20u"), ((4, 8), (4, 8), (1, 4), "i / 8u + (i % 8u) * 4u"),
    ((2, 2), (2, 2), (2, 4), "(i / 2u) * 2u + (i % 2u) * 4u"),
])  # fmt: skip
def test_an_index_is_as_short_as_it_can_be(loop, shape, order, index):
    assert place(loop, shape, order or contiguous(shape), "u") == index


def test_operands_broadcast_and_lie_in_any_order():
    rng = np.random.default_rng(1)
    x, b, c = rng.normal(size=(3, 5, 7)), rng.normal(size=(5, 1)), rng.normal(size=())
    turned = rng.normal(size=(7, 5, 3)).transpose(2, 1, 0)[:, ::-1]

    compared([
        (group(lambda x, b, c: (x * b + c).tanh(), *(Spec(a.shape, "f8") for a in (x, b, c))), [x, b, c]),
        (group(lambda x, t, b: x * t - b, *(Spec(a.shape, "f8") for a in (x, turned, b))), [x, turned, b]),
        (group(lambda b: (b + 1).broadcast_to((3, 5, 7)) * 2, Spec((5, 1), "f8")), [b]),
    ], rtol=1e-14)  # fmt: skip


def test_a_result_may_be_written_over_the_operand_it_is_made_of():
    fused = group(lambda w, g: w - 0.1 * g, Spec((1000,), "f4"), Spec((1000,), "f4"))
    w, g = (np.random.default_rng(k).normal(size=1000).astype("f4") for k in (0, 1))
    expected = fused.forward(np, w, g)

    made = kernel(fused, [Spec((1000,), "f4")] * 2, over=frozenset({(0, 0)}))
    shim.Library([made]).launch(made, [w, g], [w])

    np.testing.assert_array_equal(w, expected)
    assert "float* a0" in made.text
    assert "float* y0" in made.text
    assert "float* __restrict__ a1" in made.text


# -- reductions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i4", "?"])
def test_a_full_reduction_is_done_beside_the_elements(dtype):
    """The orders of summing differ; of positive numbers the sums are near all the same. Half is summed in single."""
    cases = []
    for size in (1, BLOCK, BLOCK + 1, 3000):
        x = np.random.default_rng(size).integers(1, 5, size).astype(dtype)
        spec = Spec((size,), dtype)
        largest = group(lambda x: (x.apply(ops.Sum((0,))), x.apply(ops.Max((0,))), x * x), spec)
        smallest = group(lambda x: ((x * x).apply(ops.Min((0,))), x.apply(ops.Mean((0,)))), spec)
        cases += [(largest, [x]), (smallest, [x])]

    compared(cases, rtol=2e-3 if dtype == "f2" else 1e-6)


def test_an_extreme_of_what_is_no_number_is_no_number():
    x = np.arange(1000.0)
    x[700] = np.nan

    compared([(group(lambda x: (x * 2).apply(ops.Max((0,))), Spec((1000,), "f8")), [x])], rtol=0)


def test_a_sum_is_the_same_each_time():
    x = np.random.default_rng(0).normal(size=5000).astype("f4")
    made = kernel(group(lambda x: (x * x).apply(ops.Sum((0,))), Spec((5000,), "f4")), [Spec((5000,), "f4")])
    library = shim.Library([made])

    assert len({library(made, x)[0].tobytes() for _ in range(5)}) == 1


def test_threads_meet_before_one_takes_in_what_another_has_gathered():
    spec = Spec((5000,), "f4")
    made = kernel(group(lambda x: ((x * x).apply(ops.Sum((0,))), x.apply(ops.Max((0,)))), spec), [spec])
    lines = [line.strip() for line in made.text.splitlines()]

    assert [lines[k - 1] for k, line in enumerate(lines) if "+ half]" in line] == ["__syncthreads();"] * 4


def test_a_reduction_over_several_blocks_takes_two_launches_and_all_else_one():
    elementwise = kernel(group(lambda x: x * 2, Spec((10**6,), "f4")), [Spec((10**6,), "f4")])
    small = kernel(group(lambda x: (x * 2).apply(ops.Sum((0,))), Spec((100,), "f4")), [Spec((100,), "f4")])
    large = kernel(group(lambda x: (x * 2).apply(ops.Sum((0,))), Spec((10**6,), "f4")), [Spec((10**6,), "f4")])

    assert [len(k.launches) for k in (elementwise, small, large)] == [1, 1, 2]
    assert large.partials == (Spec((1024,), "f4"),)


def test_a_loop_over_nothing_launches_nothing():
    assert kernel(group(lambda x: x * 2, Spec((0, 3), "f4")), [Spec((0, 3), "f4")]).launches == ()


# -- random groups ----------------------------------------------------------------------------------

BINARY = [ops.Add(), ops.Sub(), ops.Mul(), ops.Maximum(), ops.Minimum(), ops.Hypot(), ops.Atan2()]
UNARY = [ops.Tanh(), ops.Sigmoid(), ops.Abs(), ops.Neg(), ops.Sin(), ops.Relu(), ops.Erf(), ops.Atan()]


def random_group(rng):
    """Ten ops on operands of several shapes and dtypes, chosen at random; up to three results."""
    loop = tuple(rng.integers(1, 5, rng.integers(1, 4)).tolist())
    shapes = [loop, *(tuple(n if rng.random() < 0.6 else 1 for n in loop[rng.integers(len(loop)) :]) for _ in range(2))]
    dtypes = [rng.choice(["f4", "f8", "i4"]) for _ in shapes]
    xs = [(rng.normal(size=s) * 3).astype(d) for s, d in zip(shapes, dtypes)]

    def body(*symbols: Symbol):
        made = [*symbols, symbols[0] * 0.5]
        for _ in range(10):
            a, b = (made[i] for i in rng.integers(len(made), size=2))
            unary, binary = UNARY[rng.integers(len(UNARY))], BINARY[rng.integers(len(BINARY))]
            made.append(a.apply(unary) if rng.random() < 0.5 else a.apply(binary, b))
            if rng.random() < 0.2:
                made[-1] = (made[-1] > 0).where(made[-2], 1.5)
        ys = [y for y in made[3:] if y.spec.shape == loop][-3:]
        return tuple(y if y.node.inputs else y * 1 for y in ys)

    return group(body, *(Spec(x.shape, x.dtype) for x in xs)), xs


@settings(max_examples=4)
@given(st.integers(0, 2**32))
def test_random_groups_are_in_c_what_they_are_in_numpy(seed):
    """Twenty at a time, since a compilation takes a second."""
    rng = np.random.default_rng(seed)

    compared([random_group(rng) for _ in range(20)], rtol=1e-4, atol=1e-5)


# -- the text ---------------------------------------------------------------------------------------


def test_the_text_is_one_line_for_each_op_and_the_same_each_time():
    def made():
        x, b = Spec((64, 128), "f4"), Spec((128,), "f4")
        return kernel(group(lambda x, b: (x + b).tanh(), x, b), [x, b])

    assert made() == made()
    assert made().text == made().name.join(['extern "C" __global__ void ', """(
    const float* __restrict__ a0,                   // f32[64, 128]
    const float* __restrict__ a1,                   // f32[128]
    float* __restrict__ y0)                         // f32[64, 128]
{
    for (unsigned int i = blockIdx.x * 256u + threadIdx.x; i < 8192u; i += gridDim.x * 256u) {
        const float x0 = a0[i];
        const float x1 = a1[i % 128u];
        const float t0 = x0 + x1;                   // Add
        const float t1 = tanhf(t0);                 // Tanh
        y0[i] = t1;
    }
}
"""])  # fmt: skip


def test_what_an_op_uses_twice_is_computed_once():
    """Written out as a tree, the derivative of GELU computes its exp thrice."""
    y = ops.GeluTanhDifferential().forward(C, Expr("t", "f4"), Expr("x", "f4"))

    lines, result = name_common_parts(y, "u")

    assert sum(str(part).count("expf") for _, part in lines) + str(result).count("expf") == 1


@table("number, dtype, text", [
    (0.1, "f4", "0.1f"), (0.1, "f8", "0.1"), (0.1, "f2", "0.1f"), (-2, "f4", "(-2.0f)"), (3, "i8", "3ll"),
    (3, "u4", "3u"), (-(2**31), "i4", "(-2147483647 - 1)"), (True, "?", "true"), (np.inf, "f4", "INFINITY"),
    (-np.inf, "f8", "(-INFINITY)"),
])  # fmt: skip
def test_a_number_is_written_in_its_own_type(number, dtype, text):
    assert str(literal(number, np.dtype(dtype))) == text


def test_what_no_c_expression_says_is_refused_by_name():
    x = Expr("x", "f4")

    with pytest.raises(NotWritten, match=r"xp\.sort cannot be written"):
        C.sort(x)
    with pytest.raises(NotWritten, match="known only when the kernel runs"):
        bool(x > 0)
    with pytest.raises(NotWritten, match=r"\.take of an array"):
        x.take(3)
