"""Functions of one number: y = f(x) on each element, and dy/dx.

A rule reads y if this makes the formula shorter, otherwise x; both only if it must, as each array read is saved.
"""

from __future__ import annotations

from math import log

import numpy as np

from ..core.op import Elementwise

# -- exponentials and logarithms ------------------------------------------------------------------


class Exp(Elementwise):
    """y = eˣ"""

    autocast = "float32"
    method = "exp"

    def forward(self, xp, x): return xp.exp(x)
    def partials(self, y, x): return y,


class Exp2(Elementwise):
    """y = 2ˣ"""

    method = "exp2"

    def forward(self, xp, x): return xp.exp2(x)
    def partials(self, y, x): return y * log(2),


class Expm1(Elementwise):
    """y = eˣ − 1, exact for small x"""

    autocast = "float32"
    method = "expm1"

    def forward(self, xp, x): return xp.expm1(x)
    def partials(self, y, x): return y + 1,


class Log(Elementwise):
    """y = ln x"""

    autocast = "float32"
    method = "log"

    def forward(self, xp, x): return xp.log(x)
    def partials(self, y, x): return 1 / x,


class Log2(Elementwise):
    """y = log₂ x"""

    autocast = "float32"
    method = "log2"

    def forward(self, xp, x): return xp.log2(x)
    def partials(self, y, x): return 1 / (x * log(2)),


class Log10(Elementwise):
    """y = log₁₀ x"""

    autocast = "float32"
    method = "log10"

    def forward(self, xp, x): return xp.log10(x)
    def partials(self, y, x): return 1 / (x * log(10)),


class Log1p(Elementwise):
    """y = ln(1 + x), exact for small x"""

    autocast = "float32"
    method = "log1p"

    def forward(self, xp, x): return xp.log1p(x)
    def partials(self, y, x): return 1 / (x + 1),


# -- roots ------------------------------------------------------------------------------------------


class Sqrt(Elementwise):
    """y = √x"""

    symbol, method = "√", "sqrt"

    def forward(self, xp, x): return xp.sqrt(x)
    def partials(self, y, x): return 0.5 / y,


class Rsqrt(Elementwise):
    """y = 1 / √x"""

    autocast = "float32"
    symbol, method = "1/√", "rsqrt"

    def forward(self, xp, x): return 1 / xp.sqrt(x)
    def partials(self, y, x): return -0.5 * (y * y * y),


# -- angles -----------------------------------------------------------------------------------------


class Sin(Elementwise):
    """y = sin x"""

    method = "sin"

    def forward(self, xp, x): return xp.sin(x)
    def partials(self, y, x): return x.cos(),


class Cos(Elementwise):
    """y = cos x"""

    method = "cos"

    def forward(self, xp, x): return xp.cos(x)
    def partials(self, y, x): return -x.sin(),


class Tan(Elementwise):
    """y = tan x"""

    autocast = "float32"
    method = "tan"

    def forward(self, xp, x): return xp.tan(x)
    def partials(self, y, x): return 1 + y * y,


class Asin(Elementwise):
    """y = the angle in [−π/2, π/2] whose sine is x"""

    autocast = "float32"
    method = "asin"

    def forward(self, xp, x): return xp.arcsin(x)
    def partials(self, y, x): return (1 - x * x).rsqrt(),


class Acos(Elementwise):
    """y = the angle in [0, π] whose cosine is x"""

    autocast = "float32"
    method = "acos"

    def forward(self, xp, x): return xp.arccos(x)
    def partials(self, y, x): return -(1 - x * x).rsqrt(),


class Atan(Elementwise):
    """y = the angle in (−π/2, π/2) whose tangent is x"""

    method = "atan"

    def forward(self, xp, x): return xp.arctan(x)
    def partials(self, y, x): return 1 / (1 + x * x),


# -- hyperbolas -------------------------------------------------------------------------------------


class Sinh(Elementwise):
    """y = (eˣ − e⁻ˣ) / 2"""

    autocast = "float32"
    method = "sinh"

    def forward(self, xp, x): return xp.sinh(x)
    def partials(self, y, x): return x.cosh(),


class Cosh(Elementwise):
    """y = (eˣ + e⁻ˣ) / 2"""

    autocast = "float32"
    method = "cosh"

    def forward(self, xp, x): return xp.cosh(x)
    def partials(self, y, x): return x.sinh(),


class Tanh(Elementwise):
    """y = tanh x = sinh x / cosh x"""

    method = "tanh"

    def forward(self, xp, x): return xp.tanh(x)
    def partials(self, y, x): return 1 - y * y,


class Asinh(Elementwise):
    """y = ln(x + √(x² + 1)), whose sinh is x"""

    method = "asinh"

    def forward(self, xp, x): return xp.arcsinh(x)
    def partials(self, y, x): return (x * x + 1).rsqrt(),


class Acosh(Elementwise):
    """y = ln(x + √(x² − 1)) ≥ 0, whose cosh is x"""

    method = "acosh"

    def forward(self, xp, x): return xp.arccosh(x)
    def partials(self, y, x): return (x * x - 1).rsqrt(),


class Atanh(Elementwise):
    """y = ½ ln((1 + x) / (1 − x)), whose tanh is x"""

    method = "atanh"

    def forward(self, xp, x): return xp.arctanh(x)
    def partials(self, y, x): return 1 / (1 - x * x),


# -- size and sign; flat steps ----------------------------------------------------------------------


class Abs(Elementwise):
    """y = |x|; its slope at 0 is defined as 0"""

    method = "abs"

    def forward(self, xp, x): return xp.abs(x)
    def partials(self, y, x): return x.sign(),


class Flat(Elementwise):
    """y is constant near x, wherever it is continuous: the slope is 0"""

    def partials(self, y, x): return 0,


class Sign(Flat):
    """y = −1, 0 or 1, the sign of x"""

    method = "sign"

    def forward(self, xp, x): return xp.sign(x)


class Floor(Flat):
    """y = ⌊x⌋, the largest integer that is at most x"""

    method = "floor"

    def forward(self, xp, x): return xp.floor(x)


class Ceil(Flat):
    """y = ⌈x⌉, the smallest integer that is at least x"""

    method = "ceil"

    def forward(self, xp, x): return xp.ceil(x)


class Trunc(Flat):
    """y = x without its fraction"""

    method = "trunc"

    def forward(self, xp, x): return xp.trunc(x)


class Round(Flat):
    """y = x rounded to a number of decimals; halves go to the even neighbour"""

    decimals: int = 0

    def forward(self, xp, x): return xp.round(x, self.decimals)


# -- another dtype ----------------------------------------------------------------------------------


class Cast(Elementwise):
    """y = x in another dtype"""

    dtype: np.dtype

    @property
    def symbol(self): return str(self.dtype)

    def infer(self, x): return x.with_dtype(self.dtype)
    def widens(self, y, *xs): return False
    def forward(self, xp, x): return x.astype(self.dtype)
    def partials(self, y, x): return 1,
    def flops(self, y, x): return 0  # moved, not computed
