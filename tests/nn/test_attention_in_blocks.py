"""Attention of many queries is computed in blocks: the same numbers, in memory that grows linearly with the length."""

import numpy as np

import minigrad as mg
from minigrad.nn.functional import scaled_dot_product_attention as attention
from minigrad.nn.functional.activation import attention_bias, attention_weights
from tests.support.peak_memory import peak_bytes
from tests.support.table import table

RNG = np.random.default_rng(0)
SELF, CROSS = [(2, 300, 4)] * 3, [(2, 300, 4), (2, 140, 4), (2, 140, 3)]
CASES = {  # shapes of q, k and v; the mask, "causal" or None
    "causal": (SELF, "causal"),
    "causal, few keys": (CROSS, "causal"),
    "causal, many keys": ([(140, 4), (300, 4), (300, 4)], "causal"),
    "shared keys": ([(3, 2, 260, 4), (2, 130, 4), (130, 2)], None),
    "values of more samples": ([(260, 4), (130, 4), (2, 130, 4)], None),
    "a mask": (CROSS, RNG.random((300, 140)) < 0.7),
    "a bias": (CROSS, RNG.normal(size=(300, 140))),
    "a bias for all queries": (CROSS, RNG.normal(size=140)),
}


def whole(q, k, v, mask):
    return attention_weights(q, k, None if mask is None else attention_bias(q, mask), 0.5) @ v


@table("shapes, mask", CASES.values(), ids=CASES)
def test_blocks_give_the_numbers_and_the_derivatives_of_one_softmax(shapes, mask):
    causal = isinstance(mask, str)
    arrays = [RNG.normal(size=shape) for shape in shapes]
    if not causal and mask is not None and mask.dtype == float:
        arrays, mask = [*arrays, mask], None
    xs = [mg.tensor(a, requires_grad=True) for a in arrays]
    steps = tuple(mg.tensor(RNG.normal(size=x.shape)) for x in xs)
    last = np.tri(shapes[0][-2], shapes[1][-2], dtype=bool) if causal else mask

    def derivatives(f):
        def run(*xs):
            slopes = mg.autograd.grad((f(*xs) ** 2).sum(), xs, create_graph=True)
            along = sum((g * step).sum() for g, step in zip(slopes, steps))
            return [f(*xs), *slopes, *mg.autograd.grad(along, xs), mg.func.jvp(f, xs, steps)[1]]

        return run

    run = derivatives(lambda q, k, v, bias=mask: attention(q, k, v, None if causal else bias, 0.0, causal, 0.5))
    wanted = derivatives(lambda q, k, v, bias=last: whole(q, k, v, bias))(*xs)
    for f in (run, mg.function(run, jit_compile=True, autograph=False)):
        for got, expected in zip(f(*xs), wanted, strict=True):
            np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-9, atol=1e-9)


@table("causal", [True, False])
@table("jit_compile", [None, True, "native"])
def test_four_times_the_length_is_four_times_the_memory(jit_compile, causal):
    """The weights were one array of L × L, and the backward rule kept overwritten blocks alive.

    The plan of a program may leave gaps: it needed 5.7 times as much for causal attention.
    """

    def peak(length):
        xs = [mg.tensor(RNG.normal(size=(2, length, 16)), "f4", requires_grad=True) for _ in range(3)]

        def gradients(*xs):
            return mg.autograd.grad(attention(*xs, is_causal=causal).sum(), xs)

        if jit_compile is None:
            gradients(*xs)
            return peak_bytes(gradients, *xs)
        f = mg.function(gradients, jit_compile=jit_compile, autograph=False)
        f(*xs)
        return f.latest.run.latest.program.plan.peak_bytes

    assert peak(2048) <= 5.5 * peak(512)


def test_the_number_of_keys_may_be_known_only_when_a_program_runs():
    """Causal blocks compared the number of keys with a row, which raised LengthError while the program was built."""
    q, k = (mg.tensor(RNG.normal(size=(n, 4))) for n in (300, 260))
    gradients = lambda q, k: mg.autograd.grad(attention(q, k, k, is_causal=True).sum(), (q, k))  # noqa: E731
    shapes = [mg.TensorSpec((300, 4), "f8"), mg.TensorSpec((None, 4), "f8")]
    f = mg.function(gradients, jit_compile=True, autograph=False, input_signature=shapes)
    for got, expected in zip(f(q, k), gradients(q.requires_grad_(), k.requires_grad_()), strict=True):
        np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-9, atol=1e-9)
