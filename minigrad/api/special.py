"""Special functions, under the names of `torch.special`."""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

from ..engine import ops
from ..engine.tensor.lift import operand
from .functions import faces
from .functions.faces import digamma as digamma
from .functions.faces import erf as erf
from .functions.faces import erfc as erfc
from .functions.faces import erfinv as erfinv
from .functions.faces import exp2 as exp2
from .functions.faces import expm1 as expm1
from .functions.faces import i0 as i0
from .functions.faces import log1p as log1p
from .functions.faces import logit as logit
from .functions.faces import round as round
from .functions.faces import sinc as sinc
from .functions.faces import xlogy as xlogy

expit = faces.sigmoid


def polygamma(n: int, input: Any) -> Any:
    """The derivative of order n + 1 of ln Γ."""
    return operand(input).polygamma(n)


def xlog1py(input: Any, other: Any) -> Any:
    """x ln(1 + y), and 0 where x is 0, for x = input and y = other."""
    x = operand(input)
    y = x.lift(other).real_valued()
    return x * y.where((x != 0) | ~((y <= -1) | (y == inf)), 0).log1p()


def entr(input: Any) -> Any:
    """−x ln x, the contribution of probability x to an entropy; 0 at x = 0, and −∞ for x < 0."""
    x = operand(input)
    return (-x.xlogy(x)).where(~(x < 0), -inf)


def ndtr(input: Any) -> Any:
    """Φ(x) = ½ erfc(−x/√2): the probability that a normal number of mean 0 and variance 1 is below x."""
    return (operand(input) * -sqrt(0.5)).erfc() / 2


def i0e(input: Any) -> Any:
    """e^(−|x|) I₀(x), which does not overflow."""
    return operand(input).apply(ops.BesselI(0, True))


def i1(input: Any) -> Any:
    """I₁(x), the modified Bessel function, the derivative of I₀."""
    return operand(input).apply(ops.BesselI(1))


def i1e(input: Any) -> Any:
    """e^(−|x|) I₁(x)"""
    return operand(input).apply(ops.BesselI(1, True))
