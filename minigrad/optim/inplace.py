"""Arithmetic that makes no arrays: an update writes over its operands, and over scratch that is used again.

The words are PyTorch's: a name that ends in _ changes its first operand.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import ops
from ..operand import Operand
from .groups import Group

WORKING = {np.dtype(np.float16): np.dtype(np.float32)}  # the precision of the update, where it is not the parameter's


class Pad(NamedTuple):
    """Three scratch arrays as large as the operands, and the words that write on them.

    xp          the module that computes
    term        where every word works, and leaves what it gives back: until the next word
    second      for a rule that needs two things at once
    gradient    the gradient, where it is not the one that backward left
    """

    xp: Any
    term: Any
    second: Any
    gradient: Any

    def add_(self, y: Any, x: Any, alpha: float) -> None:
        """y ← y + α x"""
        y += self.xp.multiply(x, alpha, out=self.term)

    def lerp_(self, y: Any, x: Any, weight: float) -> None:
        """y ← y + w (x − y), which is (1 − w) y + w x: a running mean takes in x."""
        step = self.xp.subtract(x, y, out=self.term)
        step *= weight
        y += step

    def mean_square_(self, y: Any, x: Any, weight: float) -> None:
        """y ← (1 − w) y + w x², so written that an overflow stays ∞, where ∞ − ∞ would be no number for ever."""
        y *= 1 - weight
        step = self.xp.multiply(x, weight, out=self.term)
        step *= x
        y += step

    def addcdiv_(self, y: Any, x: Any, z: Any, value: float) -> None:
        """y ← y + c x / z"""
        step = self.xp.divide(x, z, out=self.term)
        step *= value
        y += step

    def square(self, x: Any) -> Any:
        """x²"""
        return self.xp.multiply(x, x, out=self.term)

    def root(self, x: Any, eps: float) -> Any:
        """√x + ε"""
        y = self.xp.sqrt(x, out=self.term)
        y += eps
        return y

    def plus(self, x: Any, y: Any, alpha: float) -> Any:
        """x + α y, written where the gradient may be changed."""
        return self.xp.add(x, self.xp.multiply(y, alpha, out=self.term), out=self.gradient)


# -- numbers that are the same for all elements: Python's own, or, while a step is written down, symbols -----------


def power(beta: float, t: Any) -> Any:
    """βᵗ, of a number, or of a symbol: of both with the same last bit, which Python's own ** has otherwise."""
    return beta**t if isinstance(t, Operand) or isinstance(beta, Operand) else powers(beta, t)


@lru_cache(maxsize=64)
def powers(beta: float, t: float) -> float:
    """βᵗ as NumPy has it. Every parameter of a step asks for the same one."""
    return float(np.power(beta, t))


def sqrt(x: Any) -> Any:
    """√x"""
    return x.sqrt() if isinstance(x, Operand) else math.sqrt(x)


def where(condition: Any, x: Any, y: Any) -> Any:
    """x where the condition holds, else y."""
    if isinstance(condition, Operand):
        return condition.apply(ops.Where(), *(getattr(v, "symbol", v) for v in (x, y)))
    return x if condition else y


def wanted(p: Any, g: Any, pad: Pad, options: Group) -> Any:
    """The gradient of what is minimised: of −f to maximise f, and of f + λ/2 |p|² to decay the weights.

    Decoupled, p shrinks by itself and the gradient stays as it is:
    Loshchilov & Hutter 2019, “Decoupled Weight Decay Regularization”, algorithm 2. https://arxiv.org/abs/1711.05101
    """
    if options.get("maximize"):
        g = pad.xp.negative(g, out=pad.gradient)
    if rate := options.get("weight_decay"):
        if options.get("decoupled_weight_decay"):
            p *= 1 - options["lr"] * rate
        else:
            g = pad.plus(g, p, rate)
    return g
