"""Products with a matrix, and convolutions of images and sequences: x is (N, C, *size), or (C, *size) for one example.

A stride, padding or dilation is a number for all axes, or one per axis. Kernels are not mirrored (cross-correlation).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from inspect import signature
from typing import Any

from ...api.functions.movement import pad
from ...engine import ops
from ...engine.base.errors import ShapeError
from ...engine.tensor.lift import operand


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """y = x Wᵀ + b

    input     x (…, in)
    weight    W (out, in); or (in,), which gives y (…)
    bias      b (out,)
    """
    return operand(input).linear(weight, bias)


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """y[…, k] = x₁ Wₖ x₂ᵀ + b[k]

    input1    x₁ (…, in1)
    input2    x₂ (…, in2)
    weight    W (out, in1, in2)
    bias      b (out,)
    """
    x1 = operand(input1)
    x2, W = x1.lift(input2), x1.lift(weight)
    out, in1, in2 = W.shape
    rows = x1 @ W.permute(1, 0, 2).reshape(in1, out * in2)
    y = (rows.reshape(*x1.shape[:-1], out, in2) @ x2.reshape(*x2.shape, 1)).reshape(*x1.shape[:-1], out)
    return y if bias is None else y + bias


Lengths = int | tuple[int, ...] | list[int]


def over_axes(f: Callable[..., Any], name: str = "") -> tuple[Callable[..., Any], ...]:
    """Make f1d, f2d and f3d from f(n, input, …), which works over the last n axes. `name` replaces f's name."""

    def over(n: int) -> Callable[..., Any]:
        def g(*xs: Any, **options: Any) -> Any:
            return f(n, *xs, **options)

        wanted = signature(f)
        g.__name__ = g.__qualname__ = f"{name or f.__name__}{n}d"
        g.__module__, g.__doc__ = f.__module__, f.__doc__
        g.__signature__ = wanted.replace(parameters=list(wanted.parameters.values())[1:])  # type: ignore[attr-defined]
        return g

    return over(1), over(2), over(3)


def conv(
    n: int, input: Any, weight: Any, bias: Any = None, stride: Lengths = 1,
    padding: Lengths | str = 0, dilation: Lengths = 1, groups: int = 1,
) -> Any:  # fmt: skip
    """x (N, C, *size) ⋆ weight (O, C / groups, *kernel) + bias (O,) → (N, O, *size'). padding: also 'same', 'valid'."""
    x = operand(input)
    w = x.lift(weight)
    check_conv_shapes(n, x, w)
    op = convolution(n, w.shape[2:], hashable(stride), hashable(padding), hashable(dilation), groups)
    operands = (w,) if bias is None else (w, bias)
    return with_batch_axis(n, x, lambda x: x.apply(op, *operands))


def conv_transpose(
    n: int, input: Any, weight: Any, bias: Any = None, stride: Lengths = 1,
    padding: Lengths = 0, output_padding: Lengths = 0, groups: int = 1, dilation: Lengths = 1,
) -> Any:  # fmt: skip
    """The gradient of conv w.r.t. its input: x (N, C, *size), weight (C, O / groups, *kernel) → (N, O, *size')."""
    x = operand(input)
    w = x.lift(weight)
    check_conv_shapes(n, x, w)
    seen = window(n, w.shape[2:], hashable(stride), hashable(padding), hashable(dilation))
    extra = ints_per_axis("output_padding", output_padding, n)
    if any(e >= max(s, d) for e, s, d in zip(extra, seen.stride, seen.dilation)):
        raise ShapeError(f"output_padding must be smaller than the stride or the dilation, got {extra} with {seen}")
    margins = []
    if any(e >= s for e, s in zip(extra, seen.stride)):  # another window would fit: cut and pad the result instead
        margins = [(-before, e - after) for e, (before, after) in zip(extra, seen.padding)]
        seen, extra = replace(seen, padding=((0, 0),) * n), (0,) * n
    entries = zip(x.spec.shape[-n:], seen.kernel, seen.stride, seen.padding, seen.dilation, extra, strict=True)
    size = tuple((p - 1) * s - sum(ends) + d * (k - 1) + e + 1 for p, k, s, ends, d, e in entries)
    y = with_batch_axis(n, x, lambda x: x.apply(ops.ConvolutionTranspose(seen, groups, size), w))
    y = pad(y, [width for pair in reversed(margins) for width in pair]) if margins else y
    return y if bias is None else y + y.lift(bias).reshape(-1, *[1] * n)


conv1d, conv2d, conv3d = over_axes(conv)
conv_transpose1d, conv_transpose2d, conv_transpose3d = over_axes(conv_transpose)


def unfold(input: Any, kernel_size: Lengths, dilation: Lengths = 1, padding: Lengths = 0, stride: Lengths = 1) -> Any:
    """The windows of x (N, C, H, W) as columns: (N, C · kh · kw, places). Known as im2col."""
    op = ops.Unfold(window(2, kernel_size, stride, padding, dilation))
    return with_batch_axis(2, operand(input), lambda x: x.apply(op))


def fold(
    input: Any, output_size: Lengths, kernel_size: Lengths,
    dilation: Lengths = 1, padding: Lengths = 0, stride: Lengths = 1,
) -> Any:  # fmt: skip
    """The adjoint of unfold: (N, C · kh · kw, places) → (N, C, *output_size). Adds each column to its window."""
    op = ops.Fold(window(2, kernel_size, stride, padding, dilation), ints_per_axis("output_size", output_size, 2))
    return with_batch_axis(1, operand(input), lambda x: x.apply(op))


# -- shared by the functions above ----------------------------------------------------------------


def check_conv_shapes(n: int, x: Any, w: Any) -> None:
    """Raises ShapeError unless x and w have the axes of an n-dimensional convolution."""
    if w.ndim != n + 2 or x.ndim not in (n + 1, n + 2):
        raise ShapeError(
            f"{n}-dimensional convolution needs x (N, C, *size) or (C, *size), and w (O, C, *kernel), "
            f"size and kernel of {n} axes: got {x.spec} and {w.spec}"
        )


def with_batch_axis(n: int, x: Any, result: Any) -> Any:
    """result(x) for x (N, C, *size). An x (C, *size) gets a batch axis, which the result loses again."""
    if x.ndim != n + 1:
        return result(x)
    y = result(x.reshape(1, *x.shape))
    return y.reshape(y.shape[1:])


@lru_cache(maxsize=1024)
def convolution(
    n: int, kernel: tuple[int, ...], stride: Any, padding: Any, dilation: Any, groups: int
) -> ops.Convolution:
    """The convolution op for the arguments that a user passes to conv."""
    if groups < 1:
        raise ShapeError(f"groups must be 1 or more, got {groups}")
    return ops.Convolution(window(n, kernel, stride, padding, dilation), groups)


def window(n: int, kernel: Any, stride: Any, padding: Any, dilation: Any) -> ops.Window:
    """The window over n axes for the arguments that a user passes."""
    lengths = ints_per_axis("kernel_size", kernel, n)
    steps, spread = ints_per_axis("stride", stride, n), ints_per_axis("dilation", dilation, n)
    if min(*lengths, *steps, *spread) < 1:
        raise ShapeError(f"kernel, stride and dilation must be 1 or more, got {lengths}, {steps} and {spread}")
    return ops.Window(lengths, steps, ends(padding, lengths, steps, spread), spread)


def ends(padding: Any, kernel: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]) -> Any:
    """Padding as (before, after) for each axis."""
    if padding == "valid":
        return ((0, 0),) * len(kernel)
    if padding == "same":
        if max(stride) > 1:
            raise ShapeError(f"padding='same' needs stride 1, and got stride {stride}: pass padding as numbers")
        missing = tuple(d * (k - 1) for k, d in zip(kernel, dilation))
        return tuple((m // 2, m - m // 2) for m in missing)
    return tuple((p, p) for p in ints_per_axis("padding", padding, len(kernel)))


def ints_per_axis(name: str, given: Any, n: int) -> tuple[int, ...]:
    """One number for each of n axes. Raises ShapeError on a wrong count or a negative number."""
    if isinstance(given, int):
        numbers = (given,) * n
    elif isinstance(given, str):
        raise ShapeError(f"{name} must be a number, one for each axis, 'same' or 'valid', got {given!r}")
    else:
        numbers = tuple(given) * n if len(given) == 1 else tuple(given)
    if len(numbers) != n or min(numbers) < 0:
        raise ShapeError(f"{name} must be a number, or one for each of {n} axes, none negative; got {given}")
    return numbers


def hashable(given: Any) -> Any:
    """A list as a tuple, which can be a key of the cache; anything else unchanged."""
    return tuple(given) if isinstance(given, list) else given
