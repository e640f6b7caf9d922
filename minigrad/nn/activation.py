"""Functions between the layers, as modules.

Dropout, as layers: active in training, the identity after it.
"""

from __future__ import annotations

from typing import Any, ClassVar

from .. import functional
from ..base.device import Device
from .functional_layer import Held, held, numbered
from .init import fill
from .module import Module
from .tree import parameter

ReLU = held("ReLU", "relu", "y = max(x, 0)")
Tanh = held("Tanh", "tanh", "y = tanh x")
Sigmoid = held("Sigmoid", "sigmoid", "y = 1 / (1 + e⁻ˣ)")
LogSigmoid = held("LogSigmoid", "logsigmoid", "y = −ln(1 + e⁻ˣ)")
ReLU6 = held("ReLU6", "relu6", "y = min(max(x, 0), 6)")
SELU = held("SELU", "selu", "y = λ max(x, 0) + λ min(α (eˣ − 1), 0). Klambauer et al. 2017, eq. 2.")
SiLU = held("SiLU", "silu", "y = x σ(x). Hendrycks & Gimpel 2016, “Gaussian Error Linear Units”, §2.")
Mish = held("Mish", "mish", "y = x tanh ln(1 + eˣ). Misra 2019, “Mish”, eq. 1. https://arxiv.org/abs/1908.08681")
Softsign = held("Softsign", "softsign", "y = x / (1 + |x|)")
Tanhshrink = held("Tanhshrink", "tanhshrink", "y = x − tanh x")
Hardsigmoid = held("Hardsigmoid", "hardsigmoid", "y = min(max(x / 6 + 1/2, 0), 1)")
Hardswish = held("Hardswish", "hardswish", "y = x hardsigmoid(x). Howard et al. 2019, “MobileNetV3”, §5.2.")
Hardshrink = held("Hardshrink", "hardshrink", "y = x, but 0 where |x| ≤ λ")
Softshrink = held("Softshrink", "softshrink", "y = x moved towards 0 by λ, and no further than 0")
Threshold = held("Threshold", "threshold", "y = x where x > threshold, value elsewhere", "threshold", "value")
GLU = held("GLU", "glu", "y = a σ(b), a and b being the halves of x along an axis. Dauphin et al. 2016, eq. 1.")
GELU = held("GELU", "gelu", "y = x Φ(x); with approximate='tanh', nearly. Hendrycks & Gimpel 2016, §2.")
LeakyReLU = held("LeakyReLU", "leaky_relu", "y = x where x > 0, s x elsewhere. Maas et al. 2013, “Rectifier …”, eq. 2.")
ELU = held("ELU", "elu", "y = x where x > 0, α (eˣ − 1) elsewhere. Clevert et al. 2015, eq. 15.")
CELU = held(
    "CELU", "celu", "y = x where x > 0, α (e^(x/α) − 1) elsewhere. Barron 2017. https://arxiv.org/abs/1704.07483"
)
Softplus = held("Softplus", "softplus", "y = ln(1 + e^(β x)) / β, and x where β x is above the threshold.")


class Bounded(Held):
    """Two bounds, the first the lower."""

    min_val: float
    max_val: float

    def __init__(self, *given: Any, **named: Any):
        super().__init__(*given, **named)
        if not self.min_val < self.max_val:
            raise ValueError(f"Hardtanh needs min_val below max_val, and got {self.min_val} and {self.max_val}")


Hardtanh = held("Hardtanh", "hardtanh", "y = x between min_val and max_val, and those two outside.", base=Bounded)


class Random(Held):
    """What is random in training."""

    def _options(self) -> dict[str, Any]:
        return super()._options() | {"training": self.training}


RReLU = held(
    "RReLU", "rrelu", "y = x where x > 0, a x elsewhere, a drawn anew.", "lower", "upper", "inplace", base=Random
)


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


class Softmin(Softmax):
    """y = e⁻ˣ / Σ e⁻ˣ along the axis `dim`."""

    def forward(self, input: Any) -> Any:
        return functional.softmin(input, self.dim)


class Softmax2d(Softmax):
    """y = eˣ / Σ eˣ over the channels of x (N, C, H, W), or (C, H, W)."""

    def __init__(self) -> None:
        super().__init__(-3)

    def extra_repr(self) -> str:
        return ""


class Dropout(Module):
    """Each element zero with probability p, the others divided by 1 − p: see functional.dropout."""

    function: ClassVar[str] = "dropout"

    def __init__(self, p: float = 0.5, inplace: bool = False):
        if not 0 <= p <= 1:
            raise ValueError(f"{type(self).__name__} needs a probability of 0 to 1, and got p={p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Any, *, key: Any = None) -> Any:
        y = getattr(functional, self.function)(input, self.p, self.training, key=key)
        return input.copy_(y) if self.inplace and y is not input else y

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class OfChannels(Dropout):
    """Each channel of x (N, C, *size) or (C, *size) zero with probability p: see functional.dropout1d and its kin."""

    n: ClassVar[int]

    @property
    def function(self) -> str:  # type: ignore[override]
        return f"dropout{self.n}d"


Dropout1d, Dropout2d, Dropout3d = numbered(OfChannels, "Dropout")


class AlphaDropout(Dropout):
    """Dropout that keeps SELU's mean and variance: see functional.alpha_dropout."""

    function = "alpha_dropout"


class FeatureAlphaDropout(Dropout):
    """The same of whole channels."""

    function = "feature_alpha_dropout"
