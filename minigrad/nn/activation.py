"""Functions between the layers, as modules without parameters."""

from __future__ import annotations

from typing import Any

from .. import functional
from ..device import Device
from .held import Held, held
from .init import fill
from .module import Module
from .parameter import parameter


@held
class InPlace(Held):
    """y = f(x), written into x where that is asked."""

    inplace: bool = False


class ReLU(InPlace):
    """y = max(x, 0)"""

    function = "relu"


class Tanh(Held):
    """y = tanh x"""

    function = "tanh"


class Sigmoid(Held):
    """y = 1 / (1 + e⁻ˣ)"""

    function = "sigmoid"


class LogSigmoid(Held):
    """y = −ln(1 + e⁻ˣ)"""

    function = "logsigmoid"


class ReLU6(InPlace):
    """y = min(max(x, 0), 6)"""

    function = "relu6"


class SELU(InPlace):
    """y = λ max(x, 0) + λ min(α (eˣ − 1), 0). Klambauer et al. 2017, “Self-Normalizing Neural Networks”, eq. 2."""

    function = "selu"


class SiLU(InPlace):
    """y = x σ(x). Hendrycks & Gimpel 2016, “Gaussian Error Linear Units”, §2."""

    function = "silu"


class Mish(InPlace):
    """y = x tanh ln(1 + eˣ). Misra 2019, “Mish”, eq. 1. https://arxiv.org/abs/1908.08681"""

    function = "mish"


class Softsign(Held):
    """y = x / (1 + |x|)"""

    function = "softsign"


class Tanhshrink(Held):
    """y = x − tanh x"""

    function = "tanhshrink"


@held
class Hardtanh(Held):
    """y = x between min_val and max_val, and those two outside."""

    function = "hardtanh"
    min_val: float = -1.0
    max_val: float = 1.0
    inplace: bool = False

    def __post_init__(self) -> None:
        if not self.min_val < self.max_val:
            raise ValueError(f"Hardtanh needs min_val below max_val, and got {self.min_val} and {self.max_val}")


class Hardsigmoid(InPlace):
    """y = min(max(x / 6 + 1/2, 0), 1)"""

    function = "hardsigmoid"


class Hardswish(InPlace):
    """y = x min(max(x / 6 + 1/2, 0), 1). Howard et al. 2019, “Searching for MobileNetV3”, §5.2."""

    function = "hardswish"


@held
class Hardshrink(Held):
    """y = x, but 0 where |x| ≤ λ"""

    function = "hardshrink"
    lambd: float = 0.5


class Softshrink(Hardshrink):
    """y = x moved towards 0 by λ, and no further than 0"""

    function = "softshrink"


@held
class Threshold(Held):
    """y = x where x > threshold, value elsewhere"""

    function = "threshold"
    threshold: float
    value: float
    inplace: bool = False


@held
class GLU(Held):
    """y = a σ(b), a and b being the halves of x along an axis. Dauphin et al. 2016, eq. 1."""

    function = "glu"
    dim: int = -1


@held
class GELU(Held):
    """y = x Φ(x), Φ being the normal distribution function; with approximate='tanh', nearly.

    Hendrycks & Gimpel 2016, “Gaussian Error Linear Units”, §2. https://arxiv.org/abs/1606.08415
    """

    function = "gelu"
    approximate: str = "none"


@held
class LeakyReLU(Held):
    """y = x where x > 0, s x elsewhere. Maas et al. 2013, “Rectifier Nonlinearities Improve Acoustic Models”, eq. 2."""

    function = "leaky_relu"
    negative_slope: float = 0.01
    inplace: bool = False


class PReLU(Module):
    """y = x where x > 0, w x elsewhere, w being learned.

    weight    (num_parameters,): 1, or one for each channel; `init` at the start

    He et al. 2015, “Delving Deep into Rectifiers”, eq. 1. https://arxiv.org/abs/1502.01852
    """

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, *, device: Device | str | None = None, dtype: Any = None
    ):
        self.num_parameters, self.init = num_parameters, init
        self.weight = fill(parameter(num_parameters, dtype=dtype, device=device), init)

    def forward(self, input: Any) -> Any:
        return functional.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


@held
class ELU(Held):
    """y = x where x > 0, α (eˣ − 1) elsewhere. Clevert et al. 2015, “Exponential Linear Units”, eq. 15."""

    function = "elu"
    alpha: float = 1.0
    inplace: bool = False


class CELU(ELU):
    """y = x where x > 0, α (e^(x/α) − 1) elsewhere. Barron 2017. https://arxiv.org/abs/1704.07483"""

    function = "celu"


@held
class Softplus(Held):
    """y = ln(1 + e^(β x)) / β, and x where β x is above the threshold."""

    function = "softplus"
    beta: float = 1.0
    threshold: float = 20.0


@held
class Softmax(Held):
    """y = eˣ / Σ eˣ along the axis `dim`."""

    function = "softmax"
    dim: int | None = None


class LogSoftmax(Softmax):
    """y = x − ln Σ eˣ along the axis `dim`."""

    function = "log_softmax"


class Softmin(Softmax):
    """y = e⁻ˣ / Σ e⁻ˣ along the axis `dim`."""

    function = "softmin"
