"""Reports of wrong traces, compiled code and batches of slices: aliases, edits, control flow, modules that change."""

import numpy as np

import minigrad as mg
from tests.reports.report import COMPILED, MODES, report

F = mg.nn.functional
nn = mg.nn
WITHOUT_ONNX = [mode for mode in MODES if mode != "onnx"]
TRACED = ["eager", *COMPILED, "session"]


# ruff: noqa: PLW0108  (the program of a report is a function of its own)
# fmt: off
@report("pytorch/pytorch#94773", [1, 2], value=[11, 12], gradients=[[1, 1]], modes=TRACED)
def test_a_whole_slice_is_the_same_memory(x):
    """An edit through x[:] was lost."""
    y = x * 1
    y[:].add_(10)
    return y


@report("pytorch/pytorch#195422", [1, 2], value=[2, 4], gradients=[[2, 2]], modes=TRACED)
def test_dropout_that_is_off_returns_its_input(x):
    """An edit through what it returned did not reach the input."""
    y = x * 1
    z = F.dropout(y, 0.5, training=False)
    z += y
    return y


@report("pytorch/pytorch#152425", [1], value=None, modes=TRACED, raises=r"expand|broadcast|shares|memory|read-only")
def test_an_edit_of_a_tensor_that_is_expanded(x):
    """All elements are one; eager code and the compiler gave different answers. Refused."""
    y = x * 1
    z = y.expand(3)
    z[-1] = 3
    return z


@report(
    "pytorch/pytorch#198102", np.arange(6.0), value=[0, 1, 2, 3, 4, 10], gradients=[[2, 1, 1, 1, 1, 2]], modes=TRACED,
)
def test_an_edit_through_windows_with_gaps(x):
    """What no window covers became 0."""
    y = x * 1
    windows = y.unfold(0, 1, 5)
    windows.add_(windows * 1)
    return y


@report("pytorch/pytorch#198101", [[1, 2, 3]], value=[[6, 8, 10]], gradients=[[[2, 2, 2]]], modes=TRACED)
def test_what_was_computed_before_an_edit(x):
    """It was computed after the edit of its input, from the new numbers."""
    base = x * 1
    y = base * 2
    y.add_(4)
    base[:, 1:] = 2
    return y


@report("tensorflow/tensorflow#26293", [1, 2, 3], value=[7, 8, 9], gradients=[[1, 1, 1]], modes=WITHOUT_ONNX)
def test_a_loop_variable_after_its_loop(x):
    """It was undefined."""
    for i in range(3):
        last = i * 3
    return x + last + i - 2


@report("tensorflow/tensorflow#36794", [1], value=[1.75], gradients=[[1.75]])
def test_a_loop_that_halves_what_it_adds(x):
    """It could not be converted."""
    total, increment = x * 0, x
    for _ in range(3):
        total = total + increment
        increment = increment / 2
    return total


@report(
    "tensorflow/tensorflow#43111", [1, 4, 2, 3, 0], value=4, gradients=[[-1, 1, -1, 1, 0]], modes=["eager", *COMPILED],
)
def test_a_flag_that_a_loop_over_prices_keeps(x):
    """Buy below 2.5, sell above: the flag was decided once for all turns."""
    holding, entry, profit = False, x.sum() * 0, x.sum() * 0
    for i in range(4):
        price = x[i]
        if price < 2.5:
            if not holding:
                holding, entry = True, price
        else:
            if holding:
                holding, profit = False, profit + price - entry
    return profit


@report("tensorflow/tensorflow#42223", [4, 1], value=[2, 0.5], modes=["eager", *COMPILED], rtol=1e-3)
def test_descent_until_a_residual_is_small(x):
    """2 y = x by steps along the residual: traced, the residual never changed."""
    y = x * 0
    residual = x - 2 * y
    while residual.abs().max() > 1e-4:
        y = y + 0.25 * residual
        residual = x - 2 * y
    return y


test_softmax_of_large_equal_numbers = report(
    "pytorch/pytorch#100775: A fused multiply and subtract left a difference, and exp of it was infinite.",
    np.full((2, 3), 0.1, "f4"), value=np.full((2, 3), 1 / 3), rtol=1e-6,
)(lambda x: (x * 1e7).softmax(-1))


@report("openvinotoolkit/openvino#33456", np.array([np.inf, 1, 2], "f4"), value=[np.nan] * 3, modes=TRACED)
def test_softmax_of_infinity(x):
    """x - max(x) is NaN there, as in PyTorch: the same in all modes, and never NaN in some and 0 in others."""
    return x.softmax(-1)


test_sigmoid_in_half_precision = report(
    "microsoft/onnxruntime#14727: 0 for -7.8, for exp was rounded to half precision on the way.",
    np.array([-7.8477, 7.332, -7.8008, 6.6016], "f2"), value=[3.9053e-4, 0.99935, 4.0913e-4, 0.99864],
    modes=["eager", *COMPILED], rtol=6e-4,
)(lambda x: x.sigmoid())
test_softplus_far_below_zero = report(
    "tenstorrent/tt-metal#55798: Infinite, where the result has long become 0.",
    np.array([-1e7, -8.8e6, -100, 100], "f4"), value=[0, 0, 3.8e-44, 100], rtol=1e-6,
)(lambda x: F.softplus(x))
test_the_logarithm_of_a_sigmoid = report(
    "tenstorrent/tt-metal#53787: x itself from -4 on, 1 % off.", np.array([-4, -5, -30, 5], "f4"),
    value=[-4.0181499, -5.0067153, -30, -0.0067153], rtol=1e-6,
)(lambda x: F.logsigmoid(x))
test_a_function_that_returns_its_input = report(
    "tinygrad/tinygrad#14278: The compiled program gave its caller a buffer that it wrote again.", [1, 2], value=[1, 2],
    gradients=[[1, 1]],
)(lambda x: x)
test_a_product_with_a_vector_that_all_slices_share = report(
    "jax-ml/jax#845: vmap over axis 1 of one, and none of the other.", np.arange(6.0).reshape(3, 2), np.ones(3),
    value=[6, 9], gradients=[np.ones((3, 2)), [1, 5, 9]], modes=["eager"],
)(lambda x, y: mg.func.vmap(mg.dot, in_dims=(1, None))(x, y))


@report("jax-ml/jax#2264", [1, -2], value=None, modes=["eager", "function", "session"], raises=r"where\(\)")
def test_slices_of_a_gradient_of_a_branch(x):
    """vmap of grad of cond ended inside the library. Each slice takes its own branch: refused, with a way out."""

    def power(x):
        return mg.lax.cond(x > 0, lambda x: x**2, lambda x: -(x**3), x)

    return mg.func.vmap(mg.func.grad(power))(x)


@report("jax-ml/jax#716", [[1, 2], [3, 4]], value=[3, 7], gradients=[np.ones((2, 2))], modes=["eager", "function"])
def test_slices_of_a_scan(x):
    """There was no rule."""

    def total(row):
        return mg.lax.scan(lambda carry, x: (carry + x, x), mg.zeros((), dtype=row.dtype), row)[0]

    return mg.func.vmap(total)(x)


@report("pytorch/pytorch#116420", np.ones((1, 1, 9, 9), "f4"), value=np.ones((1, 1, 3, 3)))
def test_the_last_window_would_start_in_the_padding(x):
    """A formula with ceil gives 4 windows; the fourth would see nothing but padding, so there are 3."""
    return F.avg_pool2d(x, 4, 4, 2, ceil_mode=True, count_include_pad=False)


@report(
    "pytorch/pytorch#183528", np.arange(1, 17, dtype="f4").reshape(1, 1, 4, 4),
    value=np.array([14, 30, 12, 57, 99, 36, 27, 45, 16]).reshape(1, 1, 3, 3)
    / np.array([9, 9, 6, 9, 9, 6, 6, 6, 4]).reshape(1, 1, 3, 3),
    modes=MODES, rtol=1e-6,
)  # fmt: skip
def test_the_mean_of_a_window_beyond_the_padding(x):
    """Elements beyond the padding count for nothing; the exported file counted them."""
    return F.avg_pool2d(x, 3, 2, 1, ceil_mode=True)


test_a_window_that_would_start_behind_the_image = report(
    "pytorch/pytorch#71549: The exported file had another shape.", np.arange(1, 5, dtype="f4").reshape(1, 1, 2, 2),
    value=[[[[10 / 9]]]], rtol=1e-6,
)(lambda x: F.avg_pool2d(x, 3, 3, 1, ceil_mode=True))


@report(
    "microsoft/onnxruntime#15446", np.arange(90, dtype="f4").reshape(1, 1, 3, 6, 5),
    value=[[[[[36, 39], [51, 54], [56, 59]], [[66, 69], [81, 84], [86, 89]]]]],
)
def test_the_largest_in_volumes_with_padding(x):
    """ONNX Runtime adds a window that starts in the padding, so a file must not leave it the choice."""
    return F.max_pool3d(x, 3, None, 1, ceil_mode=True)
