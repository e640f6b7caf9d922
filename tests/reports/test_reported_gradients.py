"""Reports of wrong gradients: at zeros, ties, infinities and repeated indices."""

import numpy as np

import minigrad as mg
from tests.reports.report import MODES, report

F = mg.nn.functional
inf, nan = np.inf, np.nan
WITHOUT_ONNX = [mode for mode in MODES if mode != "onnx"]

# ruff: noqa: PLW0108  (the program of a report is a function of its own)
# fmt: off
test_the_norm_of_zeros = report(
    "pytorch/pytorch#2421: 0/0 in backward; the subgradient is 0.", [0, 0, 0], value=0, gradients=[[0, 0, 0]],
)(lambda x: x.norm())
test_the_deviation_of_equal_numbers = report(
    "pytorch/pytorch#4320: NaN, as for a norm of zeros.", [[1, 2], [1, 4]], value=[0, 2**0.5],
    gradients=[[[0, -(0.5**0.5)], [0, 0.5**0.5]]],
)(lambda x: x.std(0))
test_the_square_of_a_norm_of_zeros = report(
    "HIPS/autograd#586: The norm's NaN times 0.", [0, 0], value=0, gradients=[[0, 0]],
)(lambda x: x.norm() ** 2)
test_to_normalise_by_a_sum_of_magnitudes = report(
    "pytorch/pytorch#3264: NaN where elements are 0.", [0, 0, 0, 0, 0.2], value=[0, 0, 0, 0, 1],
    gradients=[[5, 5, 5, 5, 0]],
)(lambda x: F.normalize(x, p=1.0, dim=0))
test_a_norm_of_less_than_one_at_zero = report(
    "pytorch/pytorch#44452: An infinite slope times 0; the element that is 0 is masked.", [0, 4], value=4,
    gradients=[[0, 1]],
)(lambda x: x.norm(p=0.5))


@report("pytorch/pytorch#184575", [0, 0, 0], value=[0, 0, 0], gradients=[[1e12, 1e12, 1e12]])
def test_to_normalise_zeros(x):
    """max(norm, eps) is a constant there, so x / eps has the slope 1 / eps: large, and what the formula says."""
    return F.normalize(x, dim=0)


test_a_mean_without_nan = report(
    "jax-ml/jax#8128: A masked element's NaN came back in backward, as 0 · NaN.", [nan, 1, 3], value=2,
    gradients=[[0, 0.5, 0.5]],
)(lambda x: x.nanmean())
test_to_the_power_of_zero = report(
    "jax-ml/jax#7440: p · x^(p-1) is 0 · infinity.", [0, 2], value=[1, 1], gradients=[[0, 0]],
)(lambda x: x**0)
test_zero_to_a_power_that_is_learnt = report(
    "jax-ml/jax#7440: x^p · log x is 0 · -infinity.", [0.0, 1.0], [2.0, 3.0], value=[0, 1], gradients=[[0, 3], [0, 0]],
)(lambda x, p: x**p)


@report(
    "jax-ml/jax#654", [[0.0, 1.0], [3.0, 1.0]], value=1 / 3, gradients=[[[1 / 9, 0], [-1 / 9, 0]]], modes=WITHOUT_ONNX,
)
def test_distances_between_pairs(x):
    """The distance of a point from itself is 0, is masked, and its slope was NaN."""
    difference = x.unsqueeze(0) - x.unsqueeze(1)
    other = ~mg.eye(2, dtype=bool)
    squares = mg.where(other, (difference**2).sum(-1), mg.ones(2, 2, dtype=x.dtype))
    return mg.where(other, 1 / squares.sqrt(), mg.zeros(2, 2, dtype=x.dtype)).sum() / 2


test_the_sum_of_two_leaves_with_equal_values = report(
    "tinygrad/tinygrad#9597: Equal constants became one node, with both gradients.", [3], [3], value=[6],
    gradients=[[1], [1]],
)(lambda x, y: x + y)
test_many_ties_in_half_precision = report(
    "tinygrad/tinygrad#12296: 70,000 ties counted in float16 are infinitely many, so each had 0.",
    np.ones(70_000, "f2"), value=1, gradients=[np.full(70_000, np.float16(1 / 70_000))],
    modes=["eager", "function", "compiled", "native", "session"], rtol=1e-7,
)(lambda x: x.amax())
test_a_product_with_a_zero = report(
    "tinygrad/tinygrad#17404: product / x is 0 / 0.", [0, 2, 3], value=0, gradients=[[6, 0, 0]],
)(lambda x: x.prod())
test_the_product_of_one_zero = report(
    "pytorch/pytorch#82644: The gradient had no axis.", [0], value=0, gradients=[[1]],
)(lambda x: x.prod(0))
test_products_of_rows_with_zeros = report(
    "mitsuba-renderer/drjit#528: 0 for a row with one zero.", [[2, 0, 4], [0, 0, 3]], value=[0, 0],
    gradients=[[[0, 8, 0], [0, 0, 0]]],
)(lambda x: x.prod(1))


@report("pytorch/pytorch#106789", [2, 3, 0, 0], value=6, gradients=[[3, 2, 0, 0]], modes=WITHOUT_ONNX)
def test_the_second_gradient_of_a_product_with_two_zeros(x):
    """∂²/∂x₂∂x₃ of the product is the product of the others, and was 0."""
    x = x * 1
    first = mg.autograd.grad(x.prod(), [x], create_graph=True)[0]
    return mg.autograd.grad(first[2], [x], create_graph=True)[0][3]


test_a_cumulative_product_from_zero = report(
    "tensorflow/tensorflow#3862: 0 / 0.", [0], value=[0], gradients=[[1]],
)(lambda x: x.cumprod(0))
test_a_cumulative_product_through_zero = report(
    "tracel-ai/burn#5141: NaN from dividing by x.", [2, 0, 3, 4], value=[2, 0, 0, 0], gradients=[[1, 32, 0, 0]],
)(lambda x: x.cumprod(0))
test_the_larger_of_two_equal_tensors = report(
    "pytorch/pytorch#56734: Each of two equal elements had the whole gradient.", [1, 2], [1, 3], value=[1, 3],
    gradients=[[0.5, 0], [0.5, 1]],
)(lambda x, y: mg.maximum(x, y))
test_the_largest_of_equal_elements = report(
    "apache/mxnet#18563: Each had the whole gradient, so the sum was 4.", np.ones((4, 3)), value=np.ones(3),
    gradients=[np.full((4, 3), 0.25)],
)(lambda x: x.amax(0))
test_the_two_largest = report(
    "ml-explore/mlx#1428: The gradient went to other elements.", [[1, 2, 6, 4, 5], [9, 5, 6, 7, 8]],
    value=[[6, 5], [9, 8]], gradients=[[[0, 0, 1, 0, 1], [1, 0, 0, 0, 1]]],
)(lambda x: x.topk(2)[0])
test_one_of_two_equal_indices = report(
    "pytorch/pytorch#1528: Only the last of equal indices passed its gradient on.", [1, 5], value=1, gradients=[[1, 0]],
)(lambda x: x[mg.tensor([0, 0])][0])
test_rows_by_number = report(
    "pytorch/pytorch#828: Backward wrote into a copy, and the gradient was 0.", np.zeros((3, 2)),
    value=np.zeros((2, 2)), gradients=[[[1, 1], [0, 0], [1, 1]]],
)(lambda x: x[mg.tensor([0, 2])])
test_to_copy_rows_to_one_place = report(
    "pytorch/pytorch#473: The last row copied there stays, so the first has no gradient; it had ones.",
    np.zeros((2, 2)), np.arange(4.0).reshape(2, 2), value=[[2, 3], [0, 0]],
    gradients=[[[0, 0], [1, 1]], [[0, 0], [1, 1]]], modes=WITHOUT_ONNX,
)(lambda x, y: x.index_copy(0, mg.tensor([0, 0]), y))


@report(
    "pytorch/pytorch#146299", np.zeros(3), [5, 7, 9], value=[7, 9, 0], gradients=[[0, 0, 1], [0, 1, 1]],
    modes=WITHOUT_ONNX,
)
def test_to_put_two_values_in_one_place(x, y):
    """A value that is overwritten had a gradient."""
    x = x * 1
    x[mg.tensor([0, 0, 1])] = y
    return x


test_to_scatter_less_than_there_is = report(
    "pytorch/pytorch#27614: An index smaller than the source: backward ended in an error, or broadcast in silence.",
    np.zeros((2, 3)), np.ones((2, 2)), value=[[1, 0, 0], [0, 1, 0]], gradients=[np.ones((2, 3)), [[1, 0], [1, 0]]],
    modes=WITHOUT_ONNX,
)(lambda x, source: x.scatter_add(1, mg.tensor([[0], [1]]), source))
test_the_largest_of_what_is_scattered = report(
    "pytorch/pytorch#188843: amax with a short index compared arrays of different lengths.", [1, 4], [3, 2, 9],
    value=[3, 4], gradients=[[0, 1], [1, 0, 0]], modes=WITHOUT_ONNX,
)(lambda x, source: x.scatter_reduce(0, mg.tensor([0, 1]), source, "amax"))
test_a_derivative_inside_a_derivative = report(
    "denizyuret/AutoGrad.jl#75: d/dx of x · (d/dy of x + y) is 1: the two derivatives were confused, and it was 2.",
    [5], value=[1], gradients=[[0]], modes=["eager", "function", "compiled", "native", "saved"],
)(lambda x: mg.func.grad(lambda x: (x * mg.func.grad(lambda y: (x + y).sum())(x)).sum())(x))


@report("jax-ml/jax#13710", [2], value=[16], gradients=[[8]], modes=WITHOUT_ONNX)
def test_a_loop_without_gradient_before_a_step_with_one(x):
    """x³ of a loop, detached, times x: the slope of the last step alone, which came out as 0."""
    power = x
    for _ in range(2):
        power = power * x
    return power.detach() * x


@report(
    "jax-ml/jax#5900", [3], value=[81], gradients=[[108]],
    modes=["eager", "function", "compiled", "native", "session", "saved"],
)
def test_a_branch_inside_a_scan(x):
    """x⁴ by multiplications that a branch may skip: 324 for its slope, 108."""

    def step(carry, _):
        return mg.lax.cond(carry.sum() < 1e9, lambda c: c * x, lambda c: c, carry), carry

    return mg.lax.scan(step, mg.ones(1, dtype=x.dtype), mg.arange(4))[0]


@report(
    "jax-ml/jax#1954", [1, 2], value=105, gradients=[[42, 84]],
    modes=["eager", "function", "compiled", "session", "saved"],
)
def test_a_loop_with_two_carried_values(x):
    """The gradient of a counted loop that carries a sum of squares and a state."""

    def turn(i, carry):
        total, state = carry
        return total + (state * state).sum(), state * 2

    return mg.lax.fori_loop(0, 3, turn, (mg.zeros((), dtype=x.dtype), x))[0]
