"""Arithmetic on one or two numbers. Each op is one line for the value and one line for the derivative.

z = f(x, y) on each element; `partials` returns (∂z/∂x, ∂z/∂y), 0 where z is constant.
"""

from __future__ import annotations

from ..base.errors import DTypeError
from ..core.op import Elementwise

# -- sum, difference, product, quotient, negation -------------------------------------------------


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

    def vjp(self, gz, z, x, y):
        gx = gz / y
        return gx.sum_to(x.shape), -(gx * z).sum_to(y.shape)


class Neg(Elementwise):
    """y = −x"""

    def forward(self, xp, x): return -x
    def partials(self, y, x): return -1,


# -- powers ---------------------------------------------------------------------------------------


class Pow(Elementwise):
    """y = xᵖ for a fixed number p; x³ is computed by two products, in a tenth of the time"""

    exponent: float

    autocast = "float32"
    symbol = property(lambda self: f"^{self.exponent:g}")

    def infer(self, x):
        if x.dtype.kind in "iub" and self.exponent < 0 and isinstance(self.exponent, int):
            raise DTypeError(
                f"{self} of {x}: an integer to a negative power is not an integer. Use x.double() ** {self.exponent}"
            )
        return super().infer(x)

    def forward(self, xp, x):
        integers = {*"biu"} if isinstance(self.exponent, float) else {"b"}  # kinds of x whose power has another dtype
        return x * x * x if self.exponent == 3 and x.dtype.kind not in integers else x ** self.exponent

    def partials(self, y, x):
        # x⁰, which is 1 everywhere, is a special case, since 0 · x⁻¹ is NaN at 0.
        return 0 if self.exponent == 0 else self.exponent * x ** (self.exponent - 1),


class Power(Elementwise):
    """z = xʸ of two tensors; 0⁰ is 1, with slope 0 in both directions"""

    autocast = "float32"
    symbol = "^"

    def forward(self, xp, x, y): return xp.power(x, y)

    def partials(self, z, x, y):
        # Where the formula would give 0 · ∞, the base is replaced by 1, so that the product is 0, not NaN.
        base = x.where((abs(x) > 0) | (y != 0), 1)
        argument = x.where((x != 0) | (y < 0), 1)
        return y * base ** (y - 1), z * argument.log()


# -- integer quotients and remainders ------------------------------------------------------------------


class FloorDivide(Elementwise):
    """z = ⌊x / y⌋"""

    symbol = "//"

    def forward(self, xp, x, y): return xp.floor_divide(x, y)
    def partials(self, z, x, y): return 0, 0


class Remainder(Elementwise):
    """z = x − y ⌊x / y⌋, with the sign of y: Python's %"""

    symbol = "%"

    def forward(self, xp, x, y): return xp.remainder(x, y)
    def partials(self, z, x, y): return 1, -(x // y)


class Fmod(Elementwise):
    """z = x − y · (x / y without its fraction), with the sign of x: C's fmod"""

    method = "fmod"

    def forward(self, xp, x, y): return xp.fmod(x, y)
    def partials(self, z, x, y): return 1, -(x / y).trunc()


# -- functions of two numbers ---------------------------------------------------------------------------


class Hypot(Elementwise):
    """z = √(x² + y²), without forming a square that could overflow"""

    method = "hypot"

    def forward(self, xp, x, y): return xp.hypot(x, y)
    def partials(self, z, x, y): return x / z, y / z


class Atan2(Elementwise):
    """z = the angle of the point (y, x), in (−π, π]: the tangent of z is x / y"""

    method = "atan2"

    def forward(self, xp, x, y): return xp.arctan2(x, y)

    def partials(self, z, x, y):
        x, y = x.astype(z.dtype), y.astype(z.dtype)  # otherwise hypot of small integers would be float16
        far = x.hypot(y)
        far = far.where(far != 0, 1)  # the origin has no angle; its slopes are defined as 0
        return y / far / far, -x / far / far


class CopySign(Elementwise):
    """z = |x| with the sign of y; 0 and NaN have signs too"""

    method = "copysign"

    def forward(self, xp, x, y): return xp.copysign(x, y)
    def partials(self, z, x, y): return x.sign() * y.lift(1).apply(self, y), 0


class LogAddExp(Elementwise):
    """z = ln(eˣ + eʸ), without forming an exponential that could overflow"""

    method = "logaddexp"

    def forward(self, xp, x, y): return xp.logaddexp(x, y)
    def partials(self, z, x, y): return (x - y).sigmoid(), (y - x).sigmoid()


class XLogY(Elementwise):
    """z = x ln y; 0 where x is 0, as is the limit of x ln x"""

    method = "xlogy"

    def forward(self, xp, x, y):
        is_zero = xp.equal(x, 0) * xp.equal(y, y)
        return xp.where(is_zero, 0, x) * xp.log(xp.where(is_zero, 1, y))  # 0, not −0, also for x = −0

    def partials(self, z, x, y):
        argument = y.where((x != 0) | ~(y <= 0), 1).astype(z.dtype)
        return argument.log(), x / y
