"""Special functions, under the names of `torch.special`."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, sqrt
from typing import Any

from . import ops
from .functions.face import operand
from .functions.pointwise import digamma as digamma
from .functions.pointwise import erf as erf
from .functions.pointwise import erfc as erfc
from .functions.pointwise import erfinv as erfinv
from .functions.pointwise import exp2 as exp2
from .functions.pointwise import expit as expit
from .functions.pointwise import expm1 as expm1
from .functions.pointwise import i0 as i0
from .functions.pointwise import lgamma, mvlgamma
from .functions.pointwise import log1p as log1p
from .functions.pointwise import logit as logit
from .functions.pointwise import polygamma as polygamma
from .functions.pointwise import round as round
from .functions.pointwise import sinc as sinc
from .functions.pointwise import xlogy as xlogy
from .op import Op

psi, gammaln, multigammaln = digamma, lgamma, mvlgamma


def applied(op: Op, name: str, meaning: str) -> Callable[[Any], Any]:
    """The op as a function."""

    def called(input: Any) -> Any:
        return operand(input).apply(op)

    called.__name__, called.__doc__ = name, meaning
    return called


i0e = applied(ops.BesselI(0, True), "i0e", "e^(−|x|) I₀(x), which does not overflow.")
i1 = applied(ops.BesselI(1), "i1", "I₁(x), Bessel's modified function, the slope of I₀.")
i1e = applied(ops.BesselI(1, True), "i1e", "e^(−|x|) I₁(x), which does not overflow.")
erfcx = applied(ops.Erfcx(), "erfcx", "e^(x²) (1 − erf x), which does not underflow.")


def xlog1py(input: Any, other: Any) -> Any:
    """x ln(1 + y), and 0 where x is 0; of x the input, and y the other."""
    x = operand(input)
    y = x.lift(other)
    return x * y.where((x != 0) | ~((y <= -1) | (y == inf)), 0).log1p()


def entr(input: Any) -> Any:
    """−x ln x, what an event of probability x adds to an entropy; 0 at 0, and −∞ below."""
    x = operand(input)
    return (-x.xlogy(x)).where(~(x < 0), -inf)


def ndtr(input: Any) -> Any:
    """Φ(x) = ½ erfc(−x/√2): the probability that a normal number of mean 0 and variance 1 is below x."""
    return (operand(input) * -sqrt(0.5)).erfc() / 2


def log_ndtr(input: Any) -> Any:
    """ln Φ(x), exact where Φ(x) underflows, and where it is nearly 1."""
    x = operand(input).real_valued() * sqrt(0.5)
    below, above = x.clamp(max=0), x.clamp(min=0)
    return ((erfcx(-below) / 2).log() - below * below).where(x < 0, (-above.erfc() / 2).log1p())
