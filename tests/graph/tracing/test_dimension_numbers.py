"""Python code that decides or calculates by a length that is known only when the graph runs."""

import math

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import GraphError, ShapeError
from tests.support.table import table

OPEN = [mg.TensorSpec((None, None), "float64")]
SHAPES = [(3, 2), (5, 4), (1, 1)]


def row(name, f):
    return pytest.param(f, id=name)


@table("f", [
    row("n > 3", lambda x: x * 2 if x.shape[0] > 3 else x), row("n == 1", lambda x: x * 2 if x.shape[0] == 1 else x),
    row("n == m", lambda x: x * 2 if x.shape[0] == x.shape[1] else x),
    row("n in", lambda x: x * 2 if x.shape[0] in (2, 3) else x), row("n > 0", lambda x: x * 2 if x.shape[0] > 0 else x),
    row("max", lambda x: x * max(x.shape[0], 4)), row("min", lambda x: x * min(x.shape[0], 4)),
    row("bool", lambda x: x * 2 if x.shape[0] and x.shape[1] else x),
    row("shape", lambda x: x * 2 if x.shape == (3, 2) else x), row("np.sqrt", lambda x: x / np.sqrt(x.shape[0])),
    row("np.prod", lambda x: x * np.prod(x.shape)), row("np.array", lambda x: x * np.array([x.shape[0]])[0]),
    row("int", lambda x: x * int(x.shape[0])), row("abs", lambda x: x * abs(x.shape[0] - 3)),
    row("linspace", lambda x: mg.linspace(0, 1, x.shape[0])), row("mask", lambda x: x[x > 0]),
    row("split", lambda x: x.split(1, 1)[0]), row("unbind", lambda x: x.unbind(0)[0]),
    row("one_hot", lambda x: mg.nn.functional.one_hot(x.argmax(1))),
])  # fmt: skip
def test_what_depends_on_the_run_is_refused(f):
    traced = mg.function(f, input_signature=OPEN)

    with pytest.raises(GraphError, match=r"(when|before) the graph"):
        traced(mg.ones(3, 2))


@table("f", [
    row("n == n", lambda x: x * 2 if x.shape[0] == x.shape[0] else x),
    row("n >= 0", lambda x: x * 2 if x.shape[0] >= 0 else x),
    row("n < 0", lambda x: x * 2 if x.shape[0] < 0 else x),
    row("n + 1 > 0", lambda x: x * 2 if x.shape[0] + 1 > 0 else x),
    row("n ≤ 2 n", lambda x: x * 2 if x.shape[0] <= 2 * x.shape[0] else x),
    row("x.sum() / n", lambda x: x.sum() / x.shape[0]),
    row("products", lambda x: x * x.shape[0] ** 2 * x.shape[1] * -(x.shape[0] - 1)),
    row("n m + n", lambda x: x * (x.shape[0] * x.shape[1] + x.shape[0])),
    row("n << 1", lambda x: x * (x.shape[0] << 1)),
    row("n ** .5", lambda x: x / x.shape[0] ** 0.5),
    row("2 ** n", lambda x: x * 2 ** x.shape[0]),
    row("n + .5", lambda x: x * (x.shape[0] + 0.5)),
    row(".5 + n", lambda x: x * (0.5 + x.shape[0])),
    row(".1 n", lambda x: x * (0.1 * x.shape[0])),
    row("n .1", lambda x: x * (x.shape[0] * 0.1)),
    row("n / 2.5", lambda x: x * (x.shape[0] / 2.5)),
    row("n + m", lambda x: x * (x.shape[0] + x.shape[1])),
    row("n − m", lambda x: x * (x.shape[0] - x.shape[1])),
    row("divmod", lambda x: x * divmod(x.shape[0], 2)[1]),
    row("n & 1", lambda x: x * (x.shape[0] & 1)),
    row("1 − 1 / n", lambda x: x * (1 - 1 / x.shape[0])),
    row("2.0 / n", lambda x: x * (2.0 / x.shape[0]) * (0.3 / x.shape[1])),
    row("tensor", lambda x: x / mg.tensor(x.shape[0], dtype="float64").sqrt()),
    row("cond", lambda x: mg.cond(mg.tensor(x.shape[0]) > 3, lambda: x * 2, lambda: x * 3)),
    row("x[-1]", lambda x: x[-1] + x[0]),
    row("x[1:]", lambda x: x[1:] - x[:-1]),
    row("x[:, 1:]", lambda x: x[:, 1:].sum(1) + x[:, 0]),
    row("x[::2]", lambda x: x[::2].reshape(-1, 1) * x[::2].shape[0]),
    row("x[::-2]", lambda x: mg.arange(x[::-2].shape[0]) * x[0, 0] + x[::-2].sum() + x[:3:2].sum()),
    row("ones like x[1::3]", lambda x: mg.ones_like(x[1::3]).sum() * x),
    row("gradient of x[::2]", mg.func.grad(lambda v: (v[::2] ** 2).mean())),
    row("loop over x[::2]", lambda x: mg.lax.fori_loop(0, 2, lambda i, c: c * 2, x[::2] * 1.0)),
    row("x[None]", lambda x: x[None, :1].expand(3, -1, -1)),
    row("arrays", lambda x: x[mg.tensor([0, 0]), :, None] + x[:, mg.tensor([0])].sum()),
    row("array and integer", lambda x: x[None, 0, mg.tensor([[0, 0]])]),
    row("diag", lambda x: x.diag() + (x @ x.T).diagonal().sum()),
    row("eye", lambda x: mg.eye(*x.shape) + x),
    row("median", lambda x: x.median(1).values),
    row("quantile", lambda x: x.quantile(0.5)),
    row("median of all", lambda x: x.median()),
    row("quantile along an axis", lambda x: x.quantile(0.3, 0)),
    row("quantiles", lambda x: x.quantile([0.1, 0.5, 1.0], 1, interpolation="nearest")),
    row("gradient of a quantile", mg.func.grad(lambda v: (v.quantile(0.3, 0, interpolation="midpoint") ** 2).sum())),
    row("arange", lambda x: mg.arange(1, x.shape[0] + 1).unsqueeze(1) * x),
    row("first rows", lambda x: mg.ones(16, 1)[: x.shape[0]] * x),
    row("one_hot", lambda x: mg.nn.functional.one_hot(x.argmax(1), 9)),
    row("meshgrid", lambda x: mg.meshgrid(x[0], x[:, 0], indexing="ij")[1]),
])  # fmt: skip
def test_what_can_be_followed_is_what_python_gives(f):
    traced = mg.function(f, input_signature=OPEN)

    for shape in SHAPES:
        x = mg.tensor(np.random.default_rng(0).normal(size=shape))
        got, expected = traced(x).numpy(), f(x).numpy()
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-14)  # 0.3 / n is divided once more


def test_a_function_that_decides_by_a_length_is_traced_for_each():
    """With reduce_retracing it took one side for all lengths from the second on."""
    f = mg.function(lambda x: x * 2 if x.shape[0] > 3 else x * 3, reduce_retracing=True)

    assert [f(mg.ones(n)).numpy()[0] for n in (2, 5, 6, 1)] == [3, 2, 2, 3]


def test_classes_outside_a_one_hot_row_are_found_in_the_run():
    f = mg.function(lambda x: mg.nn.functional.one_hot(x, 3), input_signature=[mg.TensorSpec((None,), "int64")])

    assert f(mg.tensor([2, 0])).numpy().tolist() == [[0, 0, 1], [1, 0, 0]]
    for wrong in (3, -1):
        with pytest.raises(IndexError):
            f(mg.tensor([wrong]))


def test_a_language_model_is_traced_once_for_all_shapes():
    rng = np.random.default_rng(0)
    F = mg.nn.functional
    table, places = mg.tensor(rng.normal(size=(11, 8))), mg.tensor(rng.normal(size=(16, 8)))
    W = [mg.tensor(rng.normal(size=(8, 8))) for _ in range(3)]

    def loss(x, y):
        B, T = x.shape
        h = F.embedding(x, table) + places[:T]
        q, k, v = [(F.layer_norm(h, (8,)) @ w).reshape(B, T, 2, 4).transpose(1, 2) for w in W]
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        z = (h + a.transpose(1, 2).reshape(B, T, 8)) @ table.T
        return F.cross_entropy(z.reshape(-1, 11), y.reshape(-1))

    traced = mg.function(loss, input_signature=[mg.TensorSpec(("rows", "time"), "int64")] * 2)
    for shape in [(2, 5), (1, 1), (3, 16)]:
        x, y = mg.tensor(rng.integers(0, 11, shape)), mg.tensor(rng.integers(0, 11, shape))
        np.testing.assert_allclose(traced(x, y).numpy(), loss(x, y).numpy(), rtol=1e-12)  # sums in another order
    assert traced.trace_count == 1


@pytest.mark.parametrize("x", [1 << 45, 3.0 / (1 << 46), 1.2345678901234567e40])
def test_numbers_are_no_lengths_because_they_are_large_or_small(x):
    f = mg.function(lambda y: y.shape[0] * y * x, input_signature=[mg.TensorSpec((None,), np.float64)])
    assert f(mg.ones(3)).numpy()[0] == 3 * x


@table("large", [1 << 45, (1 << 45) + (1 << 21), (1 << 45) - 1, 3 << 45])
@pytest.mark.parametrize(
    "door",
    [
        row("slice", lambda v, n: v[:n] + v[-n:]),
        row("slice with steps", lambda v, n: v[::n] * v[n:].sum()),
        row("broadcast", lambda v, n: mg.ones(()).expand(n)[:3].sum() * v),
        row("shape", lambda v, n: v * mg.zeros(n, 0).shape[0]),
        row("pad", lambda v, n: v * mg.full((1,), n)),
        row("float64", lambda v, n: v * np.float64(n)),
        row("int64", lambda v, n: v * np.int64(n)),
        row("tensor", lambda v, n: v * mg.tensor(n)),
        row("arange", lambda v, n: mg.arange(n, n + 3).sum() * v),
        row("clamp", lambda v, n: (v * n).clamp(-n, n)),
        row("roll", lambda v, n: v.roll(n)),
        row("index", lambda v, n: v[mg.tensor([n - n])] + n),
        row("power", lambda v, n: v ** (1 / n) * v.shape[0]),
        row("with a length", lambda v, n: v * (v.shape[0] + n) * (v.shape[0] * n // 3 % 7)),
        row("where", lambda v, n: v.where(v > n, n)),
    ],
)  # fmt: skip
def test_a_number_of_any_size_is_a_number_at_every_door(door, large):
    """A length was a number from 2⁴⁵ on, once."""
    traced = mg.function(lambda v: door(v, large), input_signature=[mg.TensorSpec((None,), "float64")])
    for n in (3, 4):
        x = mg.arange(n, dtype="float64") + 1
        assert np.array_equal(traced(x).numpy(), door(x, large).numpy())


def test_a_large_number_that_is_fed_is_a_number():
    with mg.Graph().as_default() as graph:
        x = mg.placeholder("int64", (None,))
        y = x[0] - x.shape[0]
    with mg.Session(graph) as session:
        assert session.run(y, {x: [1 << 45, 1]}) == (1 << 45) - 2


@table("shape", [("",), ("?1",), ("rows + 1",), (-1, 3), (2.5,)])
def test_a_length_is_a_number_or_a_word(shape):
    with pytest.raises(ShapeError, match="a length is an integer, None if only a run knows it, or a name"):
        mg.placeholder("float64", shape)


def test_a_result_that_is_fed_beside_what_it_is_made_of_has_the_length_that_follows():
    with mg.Graph().as_default() as graph:
        x = mg.placeholder("float64", (None,))
        y = mg.cat([x, x])
        z = x.sum() + y.sum() * (y.shape[0] // 2)
    with mg.Session(graph) as session:
        assert session.run(z, {x: np.ones(3), y: np.ones(6)}) == 21
        with pytest.raises(ShapeError, match=r"a length that is batch·2 came as 8, but other inputs make it 6"):
            session.run(z, {x: np.ones(3), y: np.ones(8)})


def test_zeros_of_either_sign_are_two_numbers():
    """Const(0.0 · n) was Const(−0.0 · n), as equal ops are one."""
    vector = [mg.TensorSpec((None,), "float64")]
    f = mg.function(lambda x: (x / (0.0 * x.shape[0]), x / (-0.0 * x.shape[0])), input_signature=vector)
    with np.errstate(divide="ignore"):
        assert [y.numpy()[0] for y in f(mg.ones(2))] == [np.inf, -np.inf]


@table("read", [math.log, math.log2, math.isqrt, lambda n: math.gcd(n, 6), math.sqrt])
def test_math_does_not_take_an_unknown_length_for_a_number(read):
    f = mg.function(lambda x: x.sum() * (1 + read(x.shape[0])), input_signature=[mg.TensorSpec((None,), np.float64)])
    with pytest.raises(GraphError, match="the length batch is known only when the graph runs"):
        f(mg.ones(3))


def test_the_number_of_elements_of_a_tensor_of_unknown_length_is_no_number_either():
    x = mg.placeholder(np.float64, (None, 4))
    with pytest.raises(GraphError, match=r"whether batch·4 > 3 is known only when the graph runs"):
        bool(x.size > 3)
    assert (str(x.size), x.size(1)) == ("batch·4", 4)


def test_a_strided_slice_may_end_at_another_unknown_length():
    def f(x, y):
        return mg.ones_like(x[: y.shape[0] : 2]).sum() + x[: y.shape[0] : 2].reshape(-1, 1).sum()

    traced = mg.function(f, input_signature=[mg.TensorSpec(["n"], "float64"), mg.TensorSpec(["m"], "float64")])

    for n, m in ((9, 4), (9, 5), (4, 9)):
        assert traced(mg.ones(n), mg.ones(m)).item() == f(mg.ones(n), mg.ones(m)).item()
