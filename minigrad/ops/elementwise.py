"""Elementwise ops: the value in one line, the derivative in one line.

z = f(x, y) on each element; `partials` gives (∂z/∂x, ∂z/∂y). What is no function of a real number
(a comparison, an integer) has None for a derivative; what is flat has 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..op import Elementwise

# -- arithmetic -----------------------------------------------------------------------------


class Add(Elementwise):
    """z = x + y"""

    symbol = "+"

    def forward(self, xp, x, y): return x + y
    def partials(self, z, x, y): return 1, 1


class Sub(Elementwise):
    """z = x − y"""

    symbol = "−"

    def forward(self, xp, x, y): return x - y
    def partials(self, z, x, y): return 1, -1


class Mul(Elementwise):
    """z = x · y"""

    symbol = "×"

    def forward(self, xp, x, y): return x * y
    def partials(self, z, x, y): return y, x


class Div(Elementwise):
    """z = x / y"""

    symbol = "÷"

    def forward(self, xp, x, y): return x / y
    def partials(self, z, x, y): return 1 / y, -z / y


class Neg(Elementwise):
    """y = −x"""

    symbol = "neg"

    def forward(self, xp, x): return -x
    def partials(self, y, x): return -1,


@dataclass(frozen=True)
class Pow(Elementwise):
    """y = xᵖ for a fixed number p"""

    exponent: float

    @property
    def symbol(self): return f"^{self.exponent:g}"

    def forward(self, xp, x): return xp.power(x, self.exponent)

    def partials(self, y, x):
        # x⁰ is 1 everywhere: written out, since 0 · x⁻¹ is no number at 0.
        return 0 if self.exponent == 0 else self.exponent * x ** (self.exponent - 1),


class Power(Elementwise):
    """z = xʸ, both of them tensors, for x > 0 where y's gradient is asked"""

    symbol = "^"

    def forward(self, xp, x, y): return xp.power(x, y)
    def partials(self, z, x, y): return y * x ** (y - 1), z * x.log()


# -- functions of one number ------------------------------------------------------------------


class Exp(Elementwise):
    """y = eˣ"""

    symbol = "exp"

    def forward(self, xp, x): return xp.exp(x)
    def partials(self, y, x): return y,


class Log(Elementwise):
    """y = ln x"""

    symbol = "log"

    def forward(self, xp, x): return xp.log(x)
    def partials(self, y, x): return 1 / x,


class Sqrt(Elementwise):
    """y = √x"""

    symbol = "√"

    def forward(self, xp, x): return xp.sqrt(x)
    def partials(self, y, x): return 0.5 / y,


class Sin(Elementwise):
    """y = sin x"""

    symbol = "sin"

    def forward(self, xp, x): return xp.sin(x)
    def partials(self, y, x): return x.cos(),


class Cos(Elementwise):
    """y = cos x"""

    symbol = "cos"

    def forward(self, xp, x): return xp.cos(x)
    def partials(self, y, x): return -x.sin(),


class Tanh(Elementwise):
    """y = tanh x"""

    symbol = "tanh"

    def forward(self, xp, x): return xp.tanh(x)
    def partials(self, y, x): return 1 - y * y,


class Sigmoid(Elementwise):
    """y = 1 / (1 + e⁻ˣ), written so that no large e⁻ˣ is ever formed"""

    symbol = "σ"

    def forward(self, xp, x): return xp.exp(-xp.logaddexp(0, -x))
    def partials(self, y, x): return y * (1 - y),


class Relu(Elementwise):
    """y = max(x, 0); its slope at 0 is taken as 0"""

    symbol = "relu"

    def forward(self, xp, x): return xp.maximum(x, 0)
    def partials(self, y, x): return y > 0,


class Abs(Elementwise):
    """y = |x|; its slope at 0 is taken as 0"""

    symbol = "abs"

    def forward(self, xp, x): return xp.abs(x)
    def partials(self, y, x): return x.sign(),


class Sign(Elementwise):
    """y = −1, 0 or 1, the sign of x: flat, where it is continuous"""

    symbol = "sign"

    def forward(self, xp, x): return xp.sign(x)
    def partials(self, y, x): return 0,


@dataclass(frozen=True)
class Cast(Elementwise):
    """y = x in another dtype"""

    dtype: np.dtype

    @property
    def symbol(self): return str(self.dtype)

    def forward(self, xp, x): return x.astype(self.dtype)
    def partials(self, y, x): return 1,
    def flops(self, y, x): return 0  # moved, not computed


# -- choosing and comparing ---------------------------------------------------------------------


class Maximum(Elementwise):
    """z = max(x, y); where they tie, each has half of the gradient"""

    symbol = "max"

    def forward(self, xp, x, y): return xp.maximum(x, y)
    def partials(self, z, x, y): return 0.5 * (x >= y) + 0.5 * (x > y), 0.5 * (y >= x) + 0.5 * (y > x)


class Minimum(Elementwise):
    """z = min(x, y); where they tie, each has half of the gradient"""

    symbol = "min"

    def forward(self, xp, x, y): return xp.minimum(x, y)
    def partials(self, z, x, y): return 0.5 * (x <= y) + 0.5 * (x < y), 0.5 * (y <= x) + 0.5 * (y < x)


class Where(Elementwise):
    """z = x where c holds, y elsewhere"""

    symbol = "where"

    def forward(self, xp, c, x, y): return xp.where(c, x, y)
    def partials(self, z, c, x, y): return None, c, ~c


class Comparison(Elementwise):
    """z = whether x stands in some relation to y: a boolean, and without a derivative"""

    def partials(self, z, x, y): return None, None


class Greater(Comparison):
    """z = x > y"""

    symbol = ">"

    def forward(self, xp, x, y): return x > y


class GreaterEqual(Comparison):
    """z = x ≥ y"""

    symbol = "≥"

    def forward(self, xp, x, y): return x >= y


class Less(Comparison):
    """z = x < y"""

    symbol = "<"

    def forward(self, xp, x, y): return x < y


class LessEqual(Comparison):
    """z = x ≤ y"""

    symbol = "≤"

    def forward(self, xp, x, y): return x <= y


class Equal(Comparison):
    """z = whether x equals y"""

    symbol = "="

    def forward(self, xp, x, y): return xp.equal(x, y)


class NotEqual(Comparison):
    """z = whether x differs from y"""

    symbol = "≠"

    def forward(self, xp, x, y): return xp.not_equal(x, y)


class Not(Elementwise):
    """y = not x, for booleans"""

    symbol = "not"

    def forward(self, xp, x): return ~x
    def partials(self, y, x): return None,
