"""Operands of several dtypes: what comes of them is what comes of the same numbers in float64."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import functional as F
from tests.support.table import table

SMALL = ["bool", "int8", "uint8", "int16", "int64"]
BINARY = {
    "add": lambda n, x: n + x, "subtract": lambda n, x: n - x, "multiply": lambda n, x: n * x,
    "divide": lambda n, x: n / x, "power": lambda n, x: x**n, "maximum": mg.maximum,
    "atan2": lambda n, x: mg.atan2(n, x) + mg.atan2(x, n), "hypot": mg.hypot, "logaddexp": mg.logaddexp,
    "xlogy": lambda n, x: mg.xlogy(x, n),
}  # fmt: skip


@pytest.mark.parametrize("dtype", SMALL)
@table("f", BINARY.values(), ids=BINARY)
def test_a_small_integer_beside_floats_gives_their_gradient(f, dtype):
    integers = np.array([1, 100, 120]).astype(dtype)  # the squares of two fit in none of the small ones
    grads = []
    for n in (mg.tensor(integers), mg.tensor(integers.astype("float64"))):
        x = mg.tensor([0.7, 1.9, 2.3], requires_grad=True)
        if dtype == "bool" and f is BINARY["subtract"]:
            n = n.astype("int64")  # NumPy subtracts no booleans
        (g,) = mg.autograd.grad(f(n, x).sum(), x, create_graph=True)
        (h,) = mg.autograd.grad((g * g).sum(), x) if g.requires_grad else (mg.zeros(3),)
        grads.append((g.detach().numpy(), h.numpy()))

    for mine, of_floats in zip(*grads, strict=True):
        np.testing.assert_allclose(mine, of_floats, 1e-9)


@table("dtype", SMALL)
def test_attention_of_integer_queries_is_not_cut_to_integers(dtype):
    query, key = np.array([[1], [0], [1]]), mg.tensor([0.7, 1.9, 2.3])[:, None]

    of_integers = F.scaled_dot_product_attention(mg.tensor(query.astype(dtype)), key, key)
    of_floats = F.scaled_dot_product_attention(mg.tensor(query * 1.0), key, key)

    np.testing.assert_allclose(of_integers.numpy(), of_floats.numpy(), 1e-6)
    assert F.scaled_dot_product_attention(*[key.astype("float16")] * 3).dtype == "float16"


def test_a_weight_of_the_positive_class_may_be_a_small_integer():
    x, t, p = mg.tensor([0.7, 1.9, 2.3]), mg.tensor([1.0, 0.0, 1.0]), np.array([0, 1, 2])

    losses = [F.binary_cross_entropy_with_logits(x, t, pos_weight=mg.tensor(p.astype(d))) for d in ("uint8", "float64")]

    assert losses[0].item() == losses[1].item()


@pytest.mark.parametrize(("empty", "other"), [("float64", "float32"), ("float64", "int64"), ("bool", "float64")])
def test_an_empty_vector_that_is_joined_counts_for_the_dtype(empty, other):
    joined = mg.cat([mg.zeros(0, dtype=empty), mg.ones(2, dtype=other)])
    specs = [mg.TensorSpec([None], empty), mg.TensorSpec([2], other)]
    traced = mg.function(lambda x, y: mg.cat([x, y]), input_signature=specs)

    assert joined.dtype == np.result_type(empty, other)
    assert traced(mg.zeros(0, dtype=empty), mg.ones(2, dtype=other)).dtype == joined.dtype


@pytest.mark.parametrize("dtype", SMALL)
@pytest.mark.parametrize("power", [2.0, 3, 3.0, 0.5])
def test_a_power_of_integers_has_the_dtype_and_value_of_numpys(power, dtype):
    x = np.array([0, 1, 5, 7]).astype(dtype)
    y = (mg.tensor(x) ** power).numpy()

    assert y.dtype == (x**power).dtype
    np.testing.assert_array_equal(y, x**power)
