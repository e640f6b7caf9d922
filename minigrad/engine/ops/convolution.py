"""Convolution, and the geometry of sliding windows that it shares with pooling and unfolding.

Along one axis a window of k taps stands at places o = 0, 1, …, and its tap t reads the element

    o · stride + t · dilation − before

of x. Reads outside of x are padding, which is never stored: for each tap, only the places whose reads lie inside x
are listed. So a sum or a maximum over windows is a loop over the few taps, each reading a whole slab of x,
without a loop over places or over the batch.

Slabs are copied with the batch as the innermost axis in memory, (C, *spatial, N), so that a tap reads
contiguous runs of N · width elements. Results are views with their axes in the usual order, and elementwise
ops keep the memory order of their operands, so a network of convolutions transposes its batch only once.

All windows together read an element of x up to once per tap. So the contents of the windows are laid out in blocks
that fit into the cache, and each block is used before the next is made. A block from place a on is a window like any
other: it reads the same elements as a window that starts at place 0 with a · stride less padding before x.

The three ops are the derivatives of one trilinear form:

    T(x, w, gy) = Σ gy · (x ⋆ w)        x (N, C, *size)   w (O, C / groups, *kernel)   y (N, O, *places)

T is linear in x, in w and in gy. Its gradient in gy is the convolution y = x ⋆ w; in x, ConvolutionTranspose; in w,
ConvolutionFilter. So the derivatives of each of these ops, of every order, are the other two ops.

Each op is one matrix product (one per group) with the windows of x as columns: Chellapilla, Puri and Simard 2006,
“High Performance Convolutional Neural Networks for Document Processing”. As usual in deep learning, the kernel is
not mirrored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ..base.device import CPU, device_of
from ..base.dimension import is_unknown
from ..base.dtypes import result_type
from ..base.errors import ShapeError
from ..base.spec import Spec, common_device
from ..core.op import Linear, Op

PER_BLOCK = 8  # device blocks per block of columns: in smaller blocks, calls cost more than the cache saves


@dataclass(frozen=True)
class Window:
    """A window over the last axes of x: one entry per axis.

    padding    for each axis, the amount of padding before and after
    """

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    dilation: tuple[int, ...]

    taps = property(lambda self: prod(self.kernel), doc="The number of elements that one window reads.")

    @property
    def overlaps(self) -> bool:
        """Whether two windows may read the same element."""
        return any((k - 1) * d >= s for k, d, s in zip(self.kernel, self.dilation, self.stride))

    @property
    def plain(self) -> bool:
        """Whether each element is its own window."""
        return self.taps == 1 == prod(self.stride) and not any(map(any, self.padding))

    @property
    def has_padding(self) -> bool:
        """Whether some taps may read padding."""
        return any(max(amount) > 0 for amount in self.padding)

    def places(self, op: object, size: tuple[int, ...]) -> tuple[int, ...]:
        """The number of places along each axis. Raises ShapeError if the window does not fit at all."""
        entries = zip(size, self.kernel, self.stride, self.padding, self.dilation, strict=True)
        places = tuple((n + sum(p) - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in entries)
        if min(places, default=1) < 1:
            extent = tuple(d * (k - 1) + 1 for k, d in zip(self.kernel, self.dilation))
            padded = tuple(n + sum(p) for n, p in zip(size, self.padding))
            raise ShapeError(
                f"{type(op).__name__} needs its window to fit, and a window of {extent} does not fit in {size}, "
                f"with padding {padded}: use a smaller kernel, or more padding"
            )
        return places

    def axis(self, i: int, size: int, places: int) -> tuple[tuple[slice, slice], ...]:
        """For each tap along axis i: the slice of x that it reads, and the slice of places that read it."""
        return reach(size, places, self.kernel[i], self.stride[i], self.padding[i][0], self.dilation[i])

    def slabs(self, size: tuple[int, ...], places: tuple[int, ...]) -> list[Any]:
        """For each tap, the last axis fastest: its position, the slices of x it reads, the places that read them."""
        return slabs(self, size, places)


@lru_cache(maxsize=4096)
def reach(n: int, places: int, k: int, stride: int, before: int, dilation: int) -> tuple[tuple[slice, slice], ...]:
    """For each of k taps over an axis of n elements: the slice of elements it reads, and the slice of places."""
    taps = []
    for t in range(k):
        shift = t * dilation - before
        first = min(max(0, -(shift // stride)), places)  # the first place that reads no padding before x
        last = max(first, min(places, (n - 1 - shift) // stride + 1))  # the first place that reads padding after x
        start = first * stride + shift
        read = slice(start, start + (last - first - 1) * stride + 1, stride) if last > first else slice(0, 0)
        taps.append((read, slice(first, last)))
    return tuple(taps)


@lru_cache(maxsize=1024)
def slabs(window: Window, size: tuple[int, ...], places: tuple[int, ...]) -> list[Any]:
    """Window.slabs, cached: computed once for each size."""
    axes = [enumerate(window.axis(i, n, p)) for i, (n, p) in enumerate(zip(size, places))]
    return [
        (tuple(t for t, _ in tap), tuple(read for _, (read, _) in tap), tuple(at for _, (_, at) in tap))
        for tap in product(*axes)
    ]


# -- batch innermost in memory --------------------------------------------------------------------


def batch_last(xp, x):
    """x (N, C, *size) as (C, *size, N), contiguous; copied unless its memory has that order already."""
    return xp.ascontiguousarray(x.transpose(*range(1, x.ndim), 0))


def batch_first(y):
    """y (C, *size, N) viewed as (N, C, *size)."""
    return y.transpose(-1, *range(y.ndim - 1))


# -- the contents of all windows, as columns -------------------------------------------------------


def blocks(x, window: Window, places: tuple[int, ...]) -> list[Any]:
    """Cut the columns of x (C, *size, N) into blocks: for each, its slice of the columns, its window and its places."""
    return cut(window, places, len(x), x.shape[-1], PER_BLOCK * device_of(x).block)


@lru_cache(maxsize=1024)
def cut(window: Window, places: tuple[int, ...], channels: int, batch: int, most: int) -> list[Any]:
    """Cut evenly along the first axis, for `blocks`: each block has at most `most` elements, or a single place."""
    if window.plain:  # the columns are x itself
        return [(slice(None), window, places)]
    width = prod(places[1:]) * batch
    pieces = -(-channels * window.taps * places[0] * width // most) or 1
    (before, after), *rest = window.padding
    parts, step = [], -(-places[0] // pieces)
    for start in range(0, places[0], step):
        stop = min(start + step, places[0])
        there = replace(window, padding=((before - start * window.stride[0], after), *rest))
        parts.append((slice(start * width, stop * width), there, (stop - start, *places[1:])))
    return parts


def columns(xp, x, window: Window, places: tuple[int, ...]):
    """The elements read by each tap: x (C, *size, N) → (C · taps, places · N); a view if the window is plain."""
    channels, *size, batch = x.shape
    shape = channels * window.taps, prod(places) * batch
    if window.plain:
        return x.reshape(shape)
    cols = (xp.zeros if window.has_padding else xp.empty)((channels, *window.kernel, *places, batch), x.dtype)
    for tap, read, at in window.slabs(tuple(size), places):
        cols[(slice(None), *tap, *at)] = x[(slice(None), *read)]
    return cols.reshape(shape)


def fold_columns(xp, columns_at, window: Window, places: tuple[int, ...], shape: tuple[int, ...], dtype):
    """The adjoint of `columns`: x of shape (C, *size, N), where each element is the sum over the taps that read it.

    columns_at    slice → the columns in this slice, (C · taps, places · N)
    """
    if window.plain:
        return columns_at(slice(None)).reshape(shape)
    x = xp.zeros(shape, dtype)
    for part, there, count in blocks(x, window, places):
        cols = columns_at(part).reshape(len(x), *there.kernel, *count, x.shape[-1])
        for tap, read, at in there.slabs(x.shape[1:-1], count):
            x[(slice(None), *read)] += cols[(slice(None), *tap, *at)]
    return x


# -- windows as columns of a matrix ---------------------------------------------------------------


class Unfold(Linear):
    """x (N, C, *size) → (N, C · taps, places): each window of x becomes a column. Known as im2col."""

    window: Window

    inline = False

    def infer(self, x):
        batch, channels, *size = x.shape
        return x.with_shape((batch, channels * self.window.taps, prod(self.window.places(self, tuple(size)))))

    def forward(self, xp, x):
        batch, channels, *size = x.shape
        places = self.window.places(self, tuple(size))
        cols = columns(xp, batch_last(xp, x), self.window, places)
        y = cols.reshape(channels * self.window.taps, prod(places), batch).transpose(2, 0, 1)
        return y.copy() if self.window.plain else y

    def adjoint(self, gy, x): return gy.apply(Fold(self.window, x.spec.shape[2:]))


class Windows(Linear):
    """y[…, o, t] = x[…, o · step + t]: the windows of `size` on the last axis. A view: it needs no memory."""

    size: int
    step: int

    inline = False
    is_view = True

    def infer(self, x): return x.with_shape((*x.shape[:-1], (x.shape[-1] - self.size) // self.step + 1, self.size))

    def forward(self, xp, x):
        if device_of(x) is not CPU:  # CuPy's sliding_window_view would wait for the device
            shape, (*outer, step) = self.infer(Spec(x.shape, x.dtype)).shape, x.strides
            return xp.lib.stride_tricks.as_strided(x, shape, (*outer, step * self.step, step))
        windows = xp.lib.stride_tricks.sliding_window_view
        if isinstance(x, np.ndarray) and self.step >= self.size:  # writeable only if no two windows share elements
            windows = partial(windows, writeable=x.flags.writeable)
        return windows(x, self.size, -1)[..., :: self.step, :]

    def adjoint(self, gy, x):
        *shape, n = x.spec.shape
        if not self.size:
            return gy.sum((-2, -1)).unsqueeze(-1).broadcast_to(x.spec.shape)
        fold = Fold(Window((self.size,), (self.step,), ((0, 0),), (1,)), (n,))
        return gy.reshape(-1, *gy.spec.shape[-2:]).mT.apply(fold).reshape(*shape, n)


class Fold(Linear):
    """y (N, C · taps, places) → (N, C, *size): each element is the sum of its copies in y. Known as col2im."""

    window: Window
    size: tuple[int, ...]

    inline = False

    def infer(self, y):
        places = self.window.places(self, self.size)
        rest = y.shape[1] % self.window.taps if y.ndim == 3 else 0
        if y.ndim != 3 or (rest and not is_unknown(rest)) or y.shape[2] != prod(places):
            wanted = f"(N, C · {self.window.taps}, {prod(places)}), a column for each of {places} windows"
            raise ShapeError(f"fold into {self.size} needs {wanted}, and got {y}")
        return y.with_shape((y.shape[0], y.shape[1] // self.window.taps, *self.size))

    def forward(self, xp, y):
        batch, rows, _ = y.shape
        cols = xp.ascontiguousarray(y.transpose(1, 2, 0)).reshape(rows, -1 if y.size else 0)
        shape, places = (rows // self.window.taps, *self.size, batch), self.window.places(self, self.size)
        x = batch_first(fold_columns(xp, lambda at: cols[:, at], self.window, places, shape, y.dtype))
        return x.copy() if self.window.plain else x

    def adjoint(self, gx, y): return gx.apply(Unfold(self.window))
    def flops(self, x, y): return y.size


class Trilinear(Op):
    """The base class of the three convolution ops: the window, and the groups into which channels are divided."""

    window: Window
    groups: int = 1

    autocast = "lower"
    is_product = True

    def spec(self, shape: tuple[int, ...], *operands: Spec) -> Spec:
        """The spec of a result of this shape, with the operands' common dtype and device."""
        return Spec(shape, result_type(*(s.dtype for s in operands)), common_device(self, *operands))

    def filters(self, xp, w):
        """w (O, C / G, *kernel) as one matrix per group: (G, O / G, C / G · taps)."""
        outputs, *fan_in = w.shape
        return xp.ascontiguousarray(w).reshape(self.groups, outputs // self.groups, prod(fan_in))

    def split_groups(self, matrix):
        """A matrix (C · …, L) with its rows divided among the groups: (G, C / G · …, L)."""
        return matrix.reshape(self.groups, matrix.shape[0] // self.groups, matrix.shape[1])

    def spread(self, xp, gy):
        """gy (N, O, *places) as one matrix per group: (G, O / G, places · N)."""
        gy = batch_last(xp, gy)
        return self.split_groups(gy.reshape(len(gy), prod(gy.shape[1:])))


class Convolution(Trilinear):
    """y[n, o, p] = Σ x[n, c, p · stride + t · dilation − padding] w[o, c, t], and + b[o] if a bias is given"""

    symbol = "⋆"

    def infer(self, x, w, *b):
        self.check(x, w, *b)
        return self.spec((x.shape[0], w.shape[0], *self.window.places(self, x.shape[2:])), x, w, *b)

    def check(self, x, w, *b):
        """Raises ShapeError if channels, filters or bias do not fit."""
        axes = len(self.window.kernel) + 2
        if x.ndim != axes or w.ndim != axes:
            raise ShapeError(f"convolution needs x (N, C, *size), w (O, C, *kernel), {axes} axes each: got {x} ⋆ {w}")
        channels, outputs, read = x.shape[1], w.shape[0], w.shape[1] * self.groups
        if channels % self.groups or outputs % self.groups:
            raise ShapeError(f"{self.groups} groups must divide both {channels} and {outputs} channels: {x} ⋆ {w}")
        if channels != read:
            each = f"{w.shape[1]} channels" + f" in each of {self.groups} groups" * (self.groups > 1)
            raise ShapeError(f"convolution: x {x} has {channels} channels, and the filters w {w} read {each}")
        if b and b[0].shape != w.shape[:1]:
            raise ShapeError(f"convolution needs one bias for each of {outputs} filters, and got {b[0]}")

    def forward(self, xp, x, w, *b):
        places, x, filters = self.window.places(self, x.shape[2:]), batch_last(xp, x), self.filters(xp, w)
        y = xp.empty((*filters.shape[:2], prod(places) * x.shape[-1]), xp.result_type(x, w))
        for at, window, part in blocks(x, self.window, places):
            xp.matmul(filters, self.split_groups(columns(xp, x, window, part)), out=y[..., at])
        y = y.reshape(len(w), *places, x.shape[-1])
        for bias in b:
            y = y.astype(xp.result_type(y, bias), copy=False)
            y += bias.reshape(-1, *[1] * (y.ndim - 1))
        return batch_first(y)

    def vjp(self, gy, y, x, w, *b):
        gx = gy.apply(ConvolutionTranspose(self.window, self.groups, x.spec.shape[2:]), w)
        gw = x.apply(ConvolutionFilter(self.window, self.groups), gy)
        return gx, gw, *(gy.sum((0, *range(2, gy.ndim))) for _ in b)

    def jvp(self, dxs, y, x, w, *b):
        dx, dw, *db = dxs
        dy = dx.apply(self, w) + x.apply(self, dw)
        return dy + db[0].reshape(-1, *[1] * (dy.ndim - 2)) if b else dy

    def flops(self, y, x, w, *b): return 2 * self.macs(y, x, w) + y.size * len(b)
    def macs(self, y, x, w, *b): return y.size * prod(w.shape[1:])


class ConvolutionTranspose(Trilinear):
    """x[n, c, i] = Σ y[n, o, p] w[o, c, t] over p · stride + t · dilation − padding = i: each y adds a copy of w to x.

    size    the spatial size of x, which must be given, since several sizes have the same number of places
    """

    size: tuple[int, ...] = ()

    symbol = "⋆ᵀ"

    def infer(self, y, w):
        if y.ndim != len(self.size) + 2 or y.ndim != w.ndim or y.shape[1] != w.shape[0] or y.shape[1] % self.groups:
            raise ShapeError(
                f"transposed convolution needs (N, O, *places) and w (O, C, *kernel), O divisible by {self.groups} "
                f"group(s), and got {y} ⋆ᵀ {w}"
            )
        if self.window.places(self, self.size) != y.shape[2:]:
            raise ShapeError(f"transposed convolution of {y} by {w} cannot have size {self.size}")
        return self.spec((y.shape[0], w.shape[1] * self.groups, *self.size), y, w)

    def forward(self, xp, y, w):
        batch, _, *places = y.shape
        filters, y = self.filters(xp, w).swapaxes(1, 2), self.spread(xp, y)
        # With one output per group, as in depthwise convolution, BLAS is 15 times slower than elementwise products.
        product = xp.multiply if filters.shape[2] == 1 else xp.matmul
        shape, dtype = (w.shape[1] * self.groups, *self.size, batch), xp.result_type(y, w)
        x = fold_columns(xp, lambda at: product(filters, y[..., at]), self.window, tuple(places), shape, dtype)
        return batch_first(x)

    def vjp(self, gx, x, y, w):
        gw = gx.apply(ConvolutionFilter(self.window, self.groups), y)
        return gx.apply(Convolution(self.window, self.groups), w), gw

    def jvp(self, dxs, x, y, w): return dxs[0].apply(self, w) + y.apply(self, dxs[1])
    def flops(self, x, y, w): return 2 * self.macs(x, y, w)
    def macs(self, x, y, w): return y.size * prod(w.shape[1:])


class ConvolutionFilter(Trilinear):
    """w[o, c, t] = Σ gy[n, o, p] x[n, c, p · stride + t · dilation − padding] over batch and places"""

    symbol = "⋆ʷ"

    def infer(self, x, gy):
        return self.spec((gy.shape[1], x.shape[1] // self.groups, *self.window.kernel), x, gy)

    def forward(self, xp, x, gy):
        shape, places = (gy.shape[1], x.shape[1] // self.groups, *self.window.kernel), gy.shape[2:]
        x, gy = batch_last(xp, x), self.spread(xp, gy)
        return sum(
            xp.matmul(gy[..., at], self.split_groups(columns(xp, x, window, part)).swapaxes(1, 2))
            for at, window, part in blocks(x, self.window, places)
        ).reshape(shape)

    def vjp(self, gw, w, x, gy):
        gx = gy.apply(ConvolutionTranspose(self.window, self.groups, x.spec.shape[2:]), gw)
        return gx, x.apply(Convolution(self.window, self.groups), gw)

    def jvp(self, dxs, w, x, gy): return dxs[0].apply(self, gy) + x.apply(self, dxs[1])
    def flops(self, w, x, gy): return 2 * self.macs(w, x, gy)
    def macs(self, w, x, gy): return gy.size * prod(w.shape[1:])
