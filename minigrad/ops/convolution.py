"""Convolution: one form in three variables, seen from each of them.

    T(x, w, gy) = Σ gy · (x ⋆ w)        x (N, C, *size)   w (O, C / groups, *kernel)   y (N, O, *places)

is linear in x, in w and in gy. Its gradient in gy is the convolution y = x ⋆ w; its gradient in x is
transposed convolution; its gradient in w is the filter's. So each op's derivatives are the other two, of every order.

Each is one matrix product (one per group) with the windows of x as columns: Chellapilla, Puri and Simard 2006,
“High Performance Convolutional Neural Networks for Document Processing”. As everywhere in deep learning, the kernel is
not mirrored.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from ..errors import ShapeError
from ..op import Op
from ..spec import Spec, common_device
from .window import Window, batch_first, batch_last, blocks, columns, folded


@dataclass(frozen=True)
class Trilinear(Op):
    """What the three have in common: the window, and the groups that channels are divided into."""

    window: Window
    groups: int = 1

    inline = False

    def spec(self, shape: tuple[int, ...], *operands: Spec) -> Spec:
        """The result of that shape."""
        return Spec(shape, np.result_type(*(s.dtype for s in operands)), common_device(self, *operands))

    def filters(self, xp, w):
        """w (O, C / G, *kernel) as one matrix per group: (G, O / G, C / G · taps)."""
        outputs, *fan_in = w.shape
        return xp.ascontiguousarray(w).reshape(self.groups, outputs // self.groups, prod(fan_in))

    def grouped(self, matrix):
        """Rows (C · …, L) divided among the groups: (G, C / G · …, L)."""
        return matrix.reshape(self.groups, matrix.shape[0] // self.groups, matrix.shape[1])

    def spread(self, xp, gy):
        """gy (N, O, *places) as one matrix per group: (G, O / G, places · N)."""
        gy = batch_last(xp, gy)
        return self.grouped(gy.reshape(len(gy), prod(gy.shape[1:])))


@dataclass(frozen=True)
class Convolution(Trilinear):
    """y[n, o, p] = Σ x[n, c, p · stride + t · dilation − padding] w[o, c, t], and + b[o] where a bias is given"""

    symbol = "⋆"

    def infer(self, x, w, *b):
        self.check(x, w, *b)
        places = self.window.places(self, x.shape[2:])
        return self.spec((x.shape[0], w.shape[0], *places), x, w, *b)

    def check(self, x, w, *b):
        """Raises ShapeError where channels, filters or bias do not fit."""
        axes = len(self.window.kernel) + 2
        if x.ndim != axes or w.ndim != axes:
            raise ShapeError(f"convolution needs x (N, C, *size), w (O, C, *kernel), {axes} axes each: got {x} ⋆ {w}")
        channels, outputs, read = x.shape[1], w.shape[0], w.shape[1] * self.groups
        if channels % self.groups or outputs % self.groups:
            raise ShapeError(f"{self.groups} groups divide neither {channels} into {outputs} channels: {x} ⋆ {w}")
        if channels != read:
            each = f"{w.shape[1]} channels" + f" in each of {self.groups} groups" * (self.groups > 1)
            raise ShapeError(f"convolution: x {x} has {channels} channels, and the filters w {w} read {each}")
        if b and b[0].shape != w.shape[:1]:
            raise ShapeError(f"convolution needs one bias for each of {outputs} filters, and got {b[0]}")

    def forward(self, xp, x, w, *b):
        places, x, filters = self.window.places(self, x.shape[2:]), batch_last(xp, x), self.filters(xp, w)
        y = xp.empty((*filters.shape[:2], prod(places) * x.shape[-1]), xp.result_type(x, w))
        for at, window, part in blocks(x, self.window, places):
            xp.matmul(filters, self.grouped(columns(xp, x, window, part)), out=y[..., at])
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

    def flops(self, y, x, w, *b): return 2 * y.size * prod(w.shape[1:]) + y.size * len(b)


@dataclass(frozen=True)
class ConvolutionTranspose(Trilinear):
    """x[n, c, i] = Σ y[n, o, p] w[o, c, t] over all p · stride + t · dilation − padding = i: y's elements stamp w on x.

    size    of the result: several sizes have windows at the same places
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
        # One output of each group, as in depthwise convolution: BLAS is 15 times slower than a product of elements.
        product = xp.multiply if filters.shape[2] == 1 else xp.matmul
        shape, dtype = (w.shape[1] * self.groups, *self.size, batch), xp.result_type(y, w)
        x = folded(xp, lambda at: product(filters, y[..., at]), self.window, tuple(places), shape, dtype)
        return batch_first(x)

    def vjp(self, gx, x, y, w):
        gw = gx.apply(ConvolutionFilter(self.window, self.groups), y)
        return gx.apply(Convolution(self.window, self.groups), w), gw

    def jvp(self, dxs, x, y, w): return dxs[0].apply(self, w) + y.apply(self, dxs[1])
    def flops(self, x, y, w): return 2 * y.size * prod(w.shape[1:])


@dataclass(frozen=True)
class ConvolutionFilter(Trilinear):
    """w[o, c, t] = Σ gy[n, o, p] x[n, c, p · stride + t · dilation − padding] over batch and places"""

    symbol = "⋆ʷ"

    def infer(self, x, gy):
        return self.spec((gy.shape[1], x.shape[1] // self.groups, *self.window.kernel), x, gy)

    def forward(self, xp, x, gy):
        shape, places = (gy.shape[1], x.shape[1] // self.groups, *self.window.kernel), gy.shape[2:]
        x, gy = batch_last(xp, x), self.spread(xp, gy)
        return sum(
            xp.matmul(gy[..., at], self.grouped(columns(xp, x, window, part)).swapaxes(1, 2))
            for at, window, part in blocks(x, self.window, places)
        ).reshape(shape)

    def vjp(self, gw, w, x, gy):
        gx = gy.apply(ConvolutionTranspose(self.window, self.groups, x.spec.shape[2:]), gw)
        return gx, x.apply(Convolution(self.window, self.groups), gw)

    def jvp(self, dxs, w, x, gy): return dxs[0].apply(self, gy) + x.apply(self, dxs[1])
    def flops(self, w, x, gy): return 2 * gy.size * prod(w.shape[1:])
