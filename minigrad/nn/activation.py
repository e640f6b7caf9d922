"""Functions between the layers, as modules without parameters."""

from __future__ import annotations

from typing import Any, ClassVar

from .. import functional
from ..device import Device
from .init import fill
from .module import Module
from .parameter import parameter


class Activation(Module):
    """y = f(x), f being the function of that name."""

    name: ClassVar[str]

    def forward(self, input: Any) -> Any:
        return getattr(functional, self.name)(input)


class InPlaceActivation(Activation):
    """The same, which with inplace=True writes y into x."""

    def __init__(self, inplace: bool = False):
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        return getattr(functional, self.name)(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class ReLU(InPlaceActivation):
    """y = max(x, 0)"""

    name = "relu"


class Tanh(Activation):
    """y = tanh x"""

    name = "tanh"


class Sigmoid(Activation):
    """y = 1 / (1 + e⁻ˣ)"""

    name = "sigmoid"


class LogSigmoid(Activation):
    """y = −ln(1 + e⁻ˣ)"""

    name = "logsigmoid"


class ReLU6(InPlaceActivation):
    """y = min(max(x, 0), 6)"""

    name = "relu6"


class SELU(InPlaceActivation):
    """y = λ max(x, 0) + λ min(α (eˣ − 1), 0). Klambauer et al. 2017, “Self-Normalizing Neural Networks”, eq. 2."""

    name = "selu"


class SiLU(InPlaceActivation):
    """y = x σ(x). Hendrycks & Gimpel 2016, “Gaussian Error Linear Units”, §2."""

    name = "silu"


class Mish(InPlaceActivation):
    """y = x tanh ln(1 + eˣ). Misra 2019, “Mish”, eq. 1. https://arxiv.org/abs/1908.08681"""

    name = "mish"


class Softsign(Activation):
    """y = x / (1 + |x|)"""

    name = "softsign"


class Hardtanh(Module):
    """y = x between min_val and max_val, and those two outside."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False):
        if not min_val < max_val:
            raise ValueError(f"Hardtanh needs min_val below max_val, and got {min_val} and {max_val}")
        self.min_val, self.max_val, self.inplace = min_val, max_val, inplace

    def forward(self, input: Any) -> Any:
        return functional.hardtanh(input, self.min_val, self.max_val, inplace=self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}{', inplace=True' * self.inplace}"


class Hardsigmoid(InPlaceActivation):
    """y = min(max(x / 6 + 1/2, 0), 1)"""

    name = "hardsigmoid"


class Hardswish(InPlaceActivation):
    """y = x min(max(x / 6 + 1/2, 0), 1). Howard et al. 2019, “Searching for MobileNetV3”, §5.2."""

    name = "hardswish"


class GELU(Module):
    """y = x Φ(x), Φ being the normal distribution function; with approximate='tanh', nearly.

    Hendrycks & Gimpel 2016, “Gaussian Error Linear Units”, §2. https://arxiv.org/abs/1606.08415
    """

    def __init__(self, approximate: str = "none"):
        self.approximate = approximate

    def forward(self, input: Any) -> Any:
        return functional.gelu(input, self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class LeakyReLU(Module):
    """y = x where x > 0, s x elsewhere. Maas et al. 2013, “Rectifier Nonlinearities Improve Acoustic Models”, eq. 2."""

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False):
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input: Any) -> Any:
        return functional.leaky_relu(input, self.negative_slope, inplace=self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}{', inplace=True' * self.inplace}"


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


class ELU(Module):
    """y = x where x > 0, α (eˣ − 1) elsewhere. Clevert et al. 2015, “Exponential Linear Units”, eq. 15."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False):
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Any) -> Any:
        return functional.elu(input, self.alpha, inplace=self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}{', inplace=True' * self.inplace}"


class Softplus(Module):
    """y = ln(1 + e^(β x)) / β, and x where β x is above the threshold."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0):
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Any) -> Any:
        return functional.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class Softmax(Module):
    """y = eˣ / Σ eˣ along the axis `dim`."""

    def __init__(self, dim: int | None = None):
        self.dim = dim

    def forward(self, input: Any) -> Any:
        return functional.softmax(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class LogSoftmax(Softmax):
    """y = x − ln Σ eˣ along the axis `dim`."""

    def forward(self, input: Any) -> Any:
        return functional.log_softmax(input, self.dim)
