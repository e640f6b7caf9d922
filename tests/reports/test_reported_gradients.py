"""Reports of wrong gradients: at zeros, ties, infinities and repeated indices."""

import numpy as np

import minigrad as mg
from reports.report import MODES, report

F = mg.nn.functional
inf, nan = np.inf, np.nan
WITHOUT_ONNX = [mode for mode in MODES if mode != "onnx"]


@report("pytorch/pytorch#2421", [0, 0, 0], value=0, gradients=[[0, 0, 0]])
def test_the_norm_of_zeros(x):
    """0/0 in backward; the subgradient is 0."""
    return x.norm()


@report("pytorch/pytorch#4320", [[1, 2], [1, 4]], value=[0, 2**0.5], gradients=[[[0, -(0.5**0.5)], [0, 0.5**0.5]]])
def test_the_deviation_of_equal_numbers(x):
    """NaN, as for a norm of zeros."""
    return x.std(0)


@report("HIPS/autograd#586", [0, 0], value=0, gradients=[[0, 0]])
def test_the_square_of_a_norm_of_zeros(x):
    """The norm's NaN times 0."""
    return x.norm() ** 2


@report("pytorch/pytorch#3264", [0, 0, 0, 0, 0.2], value=[0, 0, 0, 0, 1], gradients=[[5, 5, 5, 5, 0]])
def test_to_normalise_by_a_sum_of_magnitudes(x):
    """NaN where elements are 0."""
    return F.normalize(x, p=1.0, dim=0)


@report("pytorch/pytorch#44452", [0, 4], value=4, gradients=[[0, 1]])
def test_a_norm_of_less_than_one_at_zero(x):
    """An infinite slope times 0; the element that is 0 is masked."""
    return x.norm(p=0.5)


@report("pytorch/pytorch#184575", [0, 0, 0], value=[0, 0, 0], gradients=[[1e12, 1e12, 1e12]])
def test_to_normalise_zeros(x):
    """max(norm, eps) is a constant there, so x / eps has the slope 1 / eps: large, and what the formula says."""
    return F.normalize(x, dim=0)


@report("jax-ml/jax#8128", [nan, 1, 3], value=2, gradients=[[0, 0.5, 0.5]])
def test_a_mean_without_nan(x):
    """A masked element's NaN came back in backward, as 0 · NaN."""
    return x.nanmean()


@report("jax-ml/jax#7440", [0, 2], value=[1, 1], gradients=[[0, 0]])
def test_to_the_power_of_zero(x):
    """p · x^(p-1) is 0 · infinity."""
    return x**0


@report("jax-ml/jax#7440", [0.0, 1.0], [2.0, 3.0], value=[0, 1], gradients=[[0, 3], [0, 0]])
def test_zero_to_a_power_that_is_learnt(x, p):
    """x^p · log x is 0 · -infinity."""
    return x**p


@report(
    "jax-ml/jax#654", [[0.0, 1.0], [3.0, 1.0]], value=1 / 3, gradients=[[[1 / 9, 0], [-1 / 9, 0]]], modes=WITHOUT_ONNX
)
def test_distances_between_pairs(x):
    """The distance of a point from itself is 0, is masked, and its slope was NaN."""
    difference = x.unsqueeze(0) - x.unsqueeze(1)
    other = ~mg.eye(2, dtype=bool)
    squares = mg.where(other, (difference**2).sum(-1), mg.ones(2, 2, dtype=x.dtype))
    return mg.where(other, 1 / squares.sqrt(), mg.zeros(2, 2, dtype=x.dtype)).sum() / 2


@report("tinygrad/tinygrad#9597", [3], [3], value=[6], gradients=[[1], [1]])
def test_the_sum_of_two_leaves_with_equal_values(x, y):
    """Equal constants became one node, with both gradients."""
    return x + y


@report(
    "tinygrad/tinygrad#12296",
    np.ones(70_000, "f2"),
    value=1,
    gradients=[np.full(70_000, np.float16(1 / 70_000))],
    modes=["eager", "function", "compiled", "native", "session"],
    rtol=1e-7,
)
def test_many_ties_in_half_precision(x):
    """70,000 ties counted in float16 are infinitely many, so each had 0."""
    return x.amax()


@report("tinygrad/tinygrad#17404", [0, 2, 3], value=0, gradients=[[6, 0, 0]])
def test_a_product_with_a_zero(x):
    """product / x is 0 / 0."""
    return x.prod()


@report("pytorch/pytorch#82644", [0], value=0, gradients=[[1]])
def test_the_product_of_one_zero(x):
    """The gradient had no axis."""
    return x.prod(0)


@report("mitsuba-renderer/drjit#528", [[2, 0, 4], [0, 0, 3]], value=[0, 0], gradients=[[[0, 8, 0], [0, 0, 0]]])
def test_products_of_rows_with_zeros(x):
    """0 for a row with one zero."""
    return x.prod(1)


@report("pytorch/pytorch#106789", [2, 3, 0, 0], value=6, gradients=[[3, 2, 0, 0]], modes=WITHOUT_ONNX)
def test_the_second_gradient_of_a_product_with_two_zeros(x):
    """∂²/∂x₂∂x₃ of the product is the product of the others, and was 0."""
    x = x * 1
    first = mg.autograd.grad(x.prod(), [x], create_graph=True)[0]
    return mg.autograd.grad(first[2], [x], create_graph=True)[0][3]


@report("tensorflow/tensorflow#3862", [0], value=[0], gradients=[[1]])
def test_a_cumulative_product_from_zero(x):
    """0 / 0."""
    return x.cumprod(0)


@report("tracel-ai/burn#5141", [2, 0, 3, 4], value=[2, 0, 0, 0], gradients=[[1, 32, 0, 0]])
def test_a_cumulative_product_through_zero(x):
    """NaN from dividing by x."""
    return x.cumprod(0)


@report("pytorch/pytorch#56734", [1, 2], [1, 3], value=[1, 3], gradients=[[0.5, 0], [0.5, 1]])
def test_the_larger_of_two_equal_tensors(x, y):
    """Each of two equal elements had the whole gradient."""
    return mg.maximum(x, y)


@report("apache/mxnet#18563", np.ones((4, 3)), value=np.ones(3), gradients=[np.full((4, 3), 0.25)])
def test_the_largest_of_equal_elements(x):
    """Each had the whole gradient, so the sum was 4."""
    return x.amax(0)


@report(
    "ml-explore/mlx#1428",
    [[1, 2, 6, 4, 5], [9, 5, 6, 7, 8]],
    value=[[6, 5], [9, 8]],
    gradients=[[[0, 0, 1, 0, 1], [1, 0, 0, 0, 1]]],
)
def test_the_two_largest(x):
    """The gradient went to other elements."""
    return x.topk(2)[0]


@report("pytorch/pytorch#1528", [1, 5], value=1, gradients=[[1, 0]])
def test_one_of_two_equal_indices(x):
    """Only the last of equal indices passed its gradient on."""
    return x[mg.tensor([0, 0])][0]


@report("pytorch/pytorch#828", np.zeros((3, 2)), value=np.zeros((2, 2)), gradients=[[[1, 1], [0, 0], [1, 1]]])
def test_rows_by_number(x):
    """Backward wrote into a copy, and the gradient was 0."""
    return x[mg.tensor([0, 2])]


@report(
    "pytorch/pytorch#473",
    np.zeros((2, 2)),
    np.arange(4.0).reshape(2, 2),
    value=[[2, 3], [0, 0]],
    gradients=[[[0, 0], [1, 1]], [[0, 0], [1, 1]]],
    modes=WITHOUT_ONNX,
)
def test_to_copy_rows_to_one_place(x, y):
    """The last row copied there stays, so the first has no gradient; it had ones."""
    return x.index_copy(0, mg.tensor([0, 0]), y)


@report(
    "pytorch/pytorch#146299",
    np.zeros(3),
    [5, 7, 9],
    value=[7, 9, 0],
    gradients=[[0, 0, 1], [0, 1, 1]],
    modes=WITHOUT_ONNX,
)
def test_to_put_two_values_in_one_place(x, y):
    """A value that is overwritten had a gradient."""
    x = x * 1
    x[mg.tensor([0, 0, 1])] = y
    return x


@report(
    "pytorch/pytorch#27614",
    np.zeros((2, 3)),
    np.ones((2, 2)),
    value=[[1, 0, 0], [0, 1, 0]],
    gradients=[np.ones((2, 3)), [[1, 0], [1, 0]]],
    modes=WITHOUT_ONNX,
)
def test_to_scatter_less_than_there_is(x, source):
    """An index smaller than the source: backward ended in an error, or broadcast in silence."""
    return x.scatter_add(1, mg.tensor([[0], [1]]), source)


@report("pytorch/pytorch#188843", [1, 4], [3, 2, 9], value=[3, 4], gradients=[[0, 1], [1, 0, 0]], modes=WITHOUT_ONNX)
def test_the_largest_of_what_is_scattered(x, source):
    """amax with a short index compared arrays of different lengths."""
    return x.scatter_reduce(0, mg.tensor([0, 1]), source, "amax")


@report(
    "denizyuret/AutoGrad.jl#75",
    [5],
    value=[1],
    gradients=[[0]],
    modes=["eager", "function", "compiled", "native", "saved"],
)
def test_a_derivative_inside_a_derivative(x):
    """d/dx of x · (d/dy of x + y) is 1: the two derivatives were confused, and it was 2."""
    return mg.func.grad(lambda x: (x * mg.func.grad(lambda y: (x + y).sum())(x)).sum())(x)


@report("jax-ml/jax#13710", [2], value=[16], gradients=[[8]], modes=WITHOUT_ONNX)
def test_a_loop_without_gradient_before_a_step_with_one(x):
    """x³ of a loop, detached, times x: the slope of the last step alone, which came out as 0."""
    power = x
    for _ in range(2):
        power = power * x
    return power.detach() * x


@report(
    "jax-ml/jax#5900",
    [3],
    value=[81],
    gradients=[[108]],
    modes=["eager", "function", "compiled", "native", "session", "saved"],
)
def test_a_branch_inside_a_scan(x):
    """x⁴ by multiplications that a branch may skip: 324 for its slope, 108."""

    def step(carry, _):
        return mg.lax.cond(carry.sum() < 1e9, lambda c: c * x, lambda c: c, carry), carry

    return mg.lax.scan(step, mg.ones(1, dtype=x.dtype), mg.arange(4))[0]


@report(
    "jax-ml/jax#1954",
    [1, 2],
    value=105,
    gradients=[[42, 84]],
    modes=["eager", "function", "compiled", "session", "saved"],
)
def test_a_loop_with_two_carried_values(x):
    """The gradient of a counted loop that carries a sum of squares and a state."""

    def turn(i, carry):
        total, state = carry
        return total + (state * state).sum(), state * 2

    return mg.lax.fori_loop(0, 3, turn, (mg.zeros((), dtype=x.dtype), x))[0]
