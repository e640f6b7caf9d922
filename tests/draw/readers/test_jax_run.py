"""ChainRule's forward and backward pass on JAX, against JAX's own: equal to the bit."""

import numpy as np
import pytest

from minigrad.engine.base.errors import NoGradientError

jax = pytest.importorskip("jax", reason="JAX is not installed: python -m pip install jax==0.10.2 adds these tests")
jnp, lax = jax.numpy, jax.lax
reader = pytest.importorskip("minigrad.draw.readers.jax")

W, X = jax.random.normal(jax.random.key(0), (3, 3)), jax.random.normal(jax.random.key(1), (4, 3))
x = X[0]


@jax.custom_vjp
def sine(x):
    return jnp.sin(x)


sine.defvjp(lambda x: (sine(x), x), lambda x, g: (3 * g * jnp.cos(x),))


def mlp(params, x):
    return ((jax.nn.relu(x @ params["w"] + params["b"]) @ W) ** 2).sum()


FUNCTIONS = {
    "three uses of x": (lambda x: (x * x * x + x * jnp.sin(x) + x).sum(), x),
    "mlp": (mlp, {"w": W, "b": x}, X),
    "custom_vjp": (lambda x: sine(x).sum(), x),
    "softmax": (lambda x: jax.nn.log_softmax(x @ W)[0, 1], X),
    "pointwise": (lambda x, w: jnp.tanh(jnp.exp(-x) @ w / (1 + x**2) + jnp.sqrt(x * x)).sum(), X, W),
    "jit": (jax.jit(lambda x: jnp.sqrt(x * x + 1).prod()), x),
    "jit of a number": (jax.jit(lambda x, n: (x * n).sum()), x, 3),
    "scan": (lambda x: lax.scan(lambda c, row: (c * jnp.sin(row), c.sum()), x, X)[0].sum(), x),
    "cond": (lambda x: lax.cond(x.sum() > 0, lambda x: x * 2, jnp.sin, x).sum(), x),
    "an exponent that is static": (lambda x, n: (x**n).sum(), x, 3),
    "several results": (lambda x: sum(part.sum() ** 2 for part in jnp.split(X * x, 3, axis=1)), x),
    "gelu": (lambda x: (jax.nn.gelu(x @ W) @ x.T).max(), X),
    "numbers": (lambda a, b: (a * b + a) * jax.nn.sigmoid(b), 2.0, jnp.float32(3)),
    "an integer result": (lambda x: lax.top_k(x, 2)[0].sum() + jnp.abs(x * jnp.arange(3.0)).max(), x),
    "a random key": (lambda x, key: (jax.random.normal(key, (3,)) * x).sum(), x, jax.random.key(2)),
    "bfloat16": (lambda x: (x * x + x).sum(), x.astype(jnp.bfloat16)),
}


def floats(args):
    dtypes = [jnp.float32 if isinstance(x, dict) else jnp.result_type(x) for x in args]
    return [i for i, dtype in enumerate(dtypes) if jnp.issubdtype(dtype, jnp.floating)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_and_value_are_jaxs_own_to_the_bit(name):
    f, *args = FUNCTIONS[name]
    run = reader.replay_of(f, args, {})
    own, expected = jax.value_and_grad(getattr(f, "__wrapped__", f), argnums=floats(args))(*args)
    found = [run.arrays[box.id][1] for box in run.picture.boxes if box.kind == "leaf" and box.grad]

    assert [y.tobytes() for y in found] == [np.asarray(y).tobytes() for y in jax.tree.leaves(expected)]
    assert run.arrays[run.picture.output.id][0].tobytes() == np.asarray(own).tobytes()


def test_boxes_have_the_names_signs_and_values_and_shares_the_rules():
    w, b = jnp.array([0.5, -1.0]), jnp.array([2.0, 3.0])
    run = reader.replay_of(lambda w, x, b: (jnp.tanh(w * x) + b).sum(), [w, jnp.array([1.0, 2.0]), b], {})
    signs = {box.op: box for box in run.picture.boxes}
    rules = {share.rule for share in run.shares}

    assert [box.name for box in run.picture.boxes] == ["w", "x", "b", "", "", "", "result"]
    assert (signs["×"].value, signs["×"].spec, signs["×"].grad) == ("[0.5, −2]", "f32[2]", "[0.7864, 0.07065]")
    assert {"1 − #5 × #5", "x", "w", "1"} <= rules
    assert run.reads[signs["×"].id] == ("b1", "b2"), "what its derivative keeps: w and x"
    assert run.picture.output.name == "result"


def test_a_slope_times_what_arrives_is_what_is_passed_on():
    run = reader.replay_of(lambda x, y: jnp.exp(x * y), [jnp.float32(0.5), jnp.float32(2)], {})

    assert [(share.incoming, share.slope, share.outgoing) for share in run.shares] == [
        ("1", "2.718", "2.718"), ("2.718", "0.5", "1.359"), ("2.718", "2", "5.437"),
    ]  # fmt: skip


def test_each_result_of_an_equation_has_its_gradient_and_an_operand_beside_a_number_its_slope():
    """The gradient of the last result was shown, and no slope."""
    run = reader.replay_of(lambda x: sum(n * y[0] for n, y in enumerate(jnp.split(x * 2, 3), 1)), [x], {})

    assert [box.grad for box in run.picture.boxes if box.op == "split"] == ["1, 2 and 3"]
    assert [share.slope for share in run.shares if share.arrow == "a1"] == ["[2, 2, 2]"]


def test_a_function_that_is_called_is_one_box_by_its_name():
    run = reader.replay_of(lambda x: (jax.nn.relu(x) + sine(x)).sum(), [x], {})

    assert [box.op for box in run.picture.boxes] == ["", "relu", "sine", "+", "sum"]
    assert [share.rule for share in run.shares if share.arrow in ("a1", "a2")] == ["vjp(g)", "vjp(g)"]


def test_no_backward_without_one_float_that_depends_on_an_argument():
    message = "backward starts at one float that depends on an argument, but f returns"
    for f, arg in (
        (jnp.sin, x), (lambda x: (x.sum(), x.sum()), x), (lambda x: x * 2, jnp.array(3)), (lambda x: 1.0, x),
    ):  # fmt: skip
        with pytest.raises(NoGradientError, match=message):
            reader.replay_of(f, [arg], {})


def test_more_equations_than_can_be_stepped_through_are_refused():
    with pytest.raises(ValueError, match="3 equations are too many to step through: take a part of up to 2"):
        reader.replay_of(lambda x: (x * x + 1).sum(), [x], {}, most=2)
