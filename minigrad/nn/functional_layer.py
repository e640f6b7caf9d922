"""Layers that store the options of a function of `functional`. Each is one line of a table."""

from __future__ import annotations

from inspect import Parameter, Signature, signature
from typing import Any, ClassVar

from ..engine.base.device import Device
from ..engine.tensor.tensor import Tensor
from . import functional
from .functional.convolution import Lengths
from .init import fill
from .module import Module
from .tree import parameter

ASKED = "training", "key"  # arguments that the mode or the caller provides: not options of a layer


class FunctionLayer(Module):
    """y = f(x, …) for a function f of `functional`. Each call passes the options that the constructor stored."""

    function: ClassVar[str]
    quiet: ClassVar[tuple[str, ...]] = ()  # options that the repr leaves out
    __signature__: ClassVar[Signature]

    def __init__(self, *given: Any, **named: Any):
        try:
            bound = self.__signature__.bind(*given, **named)
        except TypeError as error:  # the message of bind() lacks the name of the layer
            raise TypeError(f"{type(self).__name__}{self.__signature__}: {error}") from None
        bound.apply_defaults()
        for name, x in bound.arguments.items():
            setattr(self, name, x)

    def forward(self, *xs: Any, **named: Any) -> Any:
        return getattr(functional, self.function)(*xs, **self._options() | named)

    def _options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__signature__.parameters}

    def extra_repr(self) -> str:
        said = ((name, x) for name, x in self._options().items() if name not in self.quiet)
        return ", ".join(f"{name}={x!r}" for name, x in said if name != "inplace" or x)


def layer(name: str, function: str, doc: str, *told: str, base: type[FunctionLayer] = FunctionLayer) -> type[Any]:
    """A layer class for a function. Its options: the parameters in `told`, then all that have a default."""
    known = signature(getattr(functional, function)).parameters
    rest = (p for p in known.values() if p.default is not Parameter.empty and p.name not in (*told, *ASKED))
    kind = Parameter.POSITIONAL_OR_KEYWORD  # `inplace` may be positional, as in ReLU(True)
    rest = (p.replace(kind=kind) if p.name == "inplace" else p for p in rest)
    options = Signature([*(known[name] for name in told), *rest])
    return variant(base, name, doc, function=function, __signature__=options)


def variant(base: type[Module], name: str, doc: str, **inside: Any) -> type[Any]:
    """A subclass of a module that differs in the values of attributes."""
    return type(name, (base,), inside | {"__doc__": doc, "__module__": "minigrad.nn"})


def layers(function: str, base: type[FunctionLayer], *told: str) -> list[type[Any]]:
    """Layer classes for the 1d, 2d and 3d forms of a function. They take name and docstring from their base class."""
    return [layer(f"{base_name(base)}{n}d", f"{function}{n}d", base.__doc__ or "", *told, base=base) for n in (1, 2, 3)]


def nd_variants(base: type[Module], name: str = "", **inside: Any) -> list[type[Any]]:
    """Subclasses of a module for n = 1, 2 and 3 axes. They differ only in n."""
    name, doc = name or base_name(base), base.__doc__ or ""
    return [variant(base, f"{name}{n}d", doc, n=n, **inside) for n in (1, 2, 3)]


def base_name(base: type[Any]) -> str:
    """The class name without its suffix Nd: MaxPool for MaxPoolNd."""
    return base.__name__.removesuffix("Nd")


class PaddingNd(Module):
    """Pads x (N, C, *size) or (C, *size) along the axes of size: see functional.pad."""

    _shown: ClassVar[tuple[str, ...]] = ("padding",)

    n: ClassVar[int]
    mode: ClassVar[str]
    value: float | None = None

    def __init__(self, padding: Any):
        self.padding = (padding,) * (2 * self.n) if isinstance(padding, int) else tuple(padding)

    def forward(self, input: Any) -> Any:
        return functional.pad(input, self.padding, self.mode, self.value)


class ConstantPadNd(PaddingNd):
    """Pads with a constant."""

    _shown = "padding=", "value="

    def __init__(self, padding: Any, value: float):
        super().__init__(padding)
        self.value = value


ZeroPad1d, ZeroPad2d, ZeroPad3d = nd_variants(PaddingNd, "ZeroPad", mode="constant")
ConstantPad1d, ConstantPad2d, ConstantPad3d = nd_variants(ConstantPadNd, mode="constant")
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = nd_variants(PaddingNd, "ReflectionPad", mode="reflect")
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = nd_variants(PaddingNd, "ReplicationPad", mode="replicate")
CircularPad1d, CircularPad2d, CircularPad3d = nd_variants(PaddingNd, "CircularPad", mode="circular")


Upsample = layer("Upsample", "interpolate", "Resizes x (N, C, *size): see functional.interpolate.")
UpsamplingNearest2d = layer("UpsamplingNearest2d", "upsample_nearest", "Upsample with mode='nearest'.")
UpsamplingBilinear2d = layer("UpsamplingBilinear2d", "upsample_bilinear", "Bilinear Upsample with align_corners.")
PixelShuffle = layer("PixelShuffle", "pixel_shuffle", "(C r², H, W) → (C, H r, W r)", "upscale_factor")
PixelUnshuffle = layer("PixelUnshuffle", "pixel_unshuffle", "The inverse of PixelShuffle.", "downscale_factor")
ChannelShuffle = layer("ChannelShuffle", "channel_shuffle", "Interleaves groups of channels.", "groups")
Unfold = layer("Unfold", "unfold", "Each window as a column: see functional.unfold.", "kernel_size")
Fold = layer("Fold", "fold", "Adjoint of Unfold: adds columns where they were read.", "output_size", "kernel_size")
LocalResponseNorm = layer("LocalResponseNorm", "local_response_norm", "x / (k + α mean x²)^β", "size")
CosineSimilarity = layer("CosineSimilarity", "cosine_similarity", "x₁ · x₂ / (‖x₁‖ ‖x₂‖) along an axis.")
PairwiseDistance = layer("PairwiseDistance", "pairwise_distance", "‖x₁ − x₂ + ε‖ₚ over the last axis.")


ReLU = layer("ReLU", "relu", "y = max(x, 0)")
Tanh = layer("Tanh", "tanh", "y = tanh x")
Sigmoid = layer("Sigmoid", "sigmoid", "y = 1 / (1 + e⁻ˣ)")
LogSigmoid = layer("LogSigmoid", "logsigmoid", "y = −ln(1 + e⁻ˣ)")
ReLU6 = layer("ReLU6", "relu6", "y = min(max(x, 0), 6)")
SELU = layer("SELU", "selu", "y = λ max(x, 0) + λ min(α (eˣ − 1), 0). Klambauer et al. 2017, eq. 2.")
SiLU = layer("SiLU", "silu", "y = x σ(x). Hendrycks & Gimpel 2016, “Gaussian Error Linear Units”, §2.")
Mish = layer("Mish", "mish", "y = x tanh ln(1 + eˣ). Misra 2019, “Mish”, eq. 1. https://arxiv.org/abs/1908.08681")
Softsign = layer("Softsign", "softsign", "y = x / (1 + |x|)")
Tanhshrink = layer("Tanhshrink", "tanhshrink", "y = x − tanh x")
Hardsigmoid = layer("Hardsigmoid", "hardsigmoid", "y = min(max(x / 6 + 1/2, 0), 1)")
Hardswish = layer("Hardswish", "hardswish", "y = x hardsigmoid(x). Howard et al. 2019, “MobileNetV3”, §5.2.")
Hardshrink = layer("Hardshrink", "hardshrink", "y = x, but 0 where |x| ≤ λ")
Softshrink = layer("Softshrink", "softshrink", "y = x moved towards 0 by λ, and no further than 0")
Threshold = layer("Threshold", "threshold", "y = x where x > threshold, value elsewhere", "threshold", "value")
GLU = layer("GLU", "glu", "y = a σ(b), a and b being the halves of x along an axis. Dauphin et al. 2016, eq. 1.")
GELU = layer("GELU", "gelu", "y = x Φ(x); approximate='tanh' approximates it. Hendrycks & Gimpel 2016, §2.")
LeakyReLU = layer(
    "LeakyReLU", "leaky_relu", "y = x where x > 0, s x elsewhere. Maas et al. 2013, “Rectifier …”, eq. 2."
)
ELU = layer("ELU", "elu", "y = x where x > 0, α (eˣ − 1) elsewhere. Clevert et al. 2015, eq. 15.")
CELU = layer(
    "CELU", "celu", "y = x where x > 0, α (e^(x/α) − 1) elsewhere. Barron 2017. https://arxiv.org/abs/1704.07483"
)
Softplus = layer("Softplus", "softplus", "y = ln(1 + e^(β x)) / β, and x where β x is above the threshold.")


class HardtanhBase(FunctionLayer):
    """Checks that min_val is below max_val."""

    min_val: float
    max_val: float

    def __init__(self, *given: Any, **named: Any):
        super().__init__(*given, **named)
        if not self.min_val < self.max_val:
            raise ValueError(f"Hardtanh needs min_val below max_val, and got {self.min_val} and {self.max_val}")


Hardtanh = layer("Hardtanh", "hardtanh", "y = min(max(x, min_val), max_val)", base=HardtanhBase)


class RandomLayer(FunctionLayer):
    """A layer that is random in training."""

    def _options(self) -> dict[str, Any]:
        return super()._options() | {"training": self.training}


RReLU = layer(
    "RReLU", "rrelu", "y = x where x > 0, a x elsewhere, a random.", "lower", "upper", "inplace", base=RandomLayer
)


class PReLU(Module):
    """y = x where x > 0, w x elsewhere, with a learned w.

    weight    (num_parameters,): one number, or one for each channel; starts at `init`

    He et al. 2015, “Delving Deep into Rectifiers”, eq. 1. https://arxiv.org/abs/1502.01852
    """

    _shown = ("num_parameters=",)

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, *, device: Device | str | None = None, dtype: Any = None
    ):
        self.num_parameters, self.init = num_parameters, init
        self.weight = fill(parameter(num_parameters, dtype=dtype, device=device), init)

    def forward(self, input: Any) -> Any:
        return functional.prelu(input, self.weight)


class Softmax(Module):
    """y = eˣ / Σ eˣ along the axis `dim`."""

    _shown: ClassVar[tuple[str, ...]] = ("dim=",)

    function: ClassVar[str] = "softmax"

    def __init__(self, dim: int | None = None):
        self.dim = dim

    def forward(self, input: Any) -> Any:
        return getattr(functional, self.function)(input, self.dim)


LogSoftmax = variant(Softmax, "LogSoftmax", "y = x − ln Σ eˣ along the axis `dim`.", function="log_softmax")
Softmin = variant(Softmax, "Softmin", "y = e⁻ˣ / Σ e⁻ˣ along the axis `dim`.", function="softmin")


class Softmax2d(Softmax):
    """y = eˣ / Σ eˣ over the channels of x (N, C, H, W), or (C, H, W)."""

    _shown = ()

    def __init__(self) -> None:
        super().__init__(-3)


class Dropout(Module):
    """Sets each element to 0 with probability p, and divides the others by 1 − p: see functional.dropout."""

    _shown = "p=", "inplace="

    function: ClassVar[str] = "dropout"

    def __init__(self, p: float = 0.5, inplace: bool = False):
        if not 0 <= p <= 1:
            raise ValueError(f"{type(self).__name__} needs a probability of 0 to 1, and got p={p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Any, *, key: Any = None) -> Any:
        y = getattr(functional, self.function)(input, self.p, self.training, key=key)
        return input.copy_(y) if self.inplace and y is not input else y


class DropoutNd(Dropout):
    """Sets each channel of x (N, C, *size) or (C, *size) to 0 with probability p: see functional.dropout1d to 3d."""

    n: ClassVar[int]

    function = property(lambda self: f"dropout{self.n}d")


Dropout1d, Dropout2d, Dropout3d = nd_variants(DropoutNd)


AlphaDropout = variant(
    Dropout, "AlphaDropout", "Dropout that keeps SELU's mean and variance: see functional.alpha_dropout.",
    function="alpha_dropout",
)  # fmt: skip
FeatureAlphaDropout = variant(
    Dropout, "FeatureAlphaDropout", "AlphaDropout of whole channels.", function="feature_alpha_dropout"
)


class MaxPoolNd(FunctionLayer):
    """The maximum of each window. If stride is None, it is the kernel size."""

    quiet: ClassVar[tuple[str, ...]] = ("return_indices",)
    kernel_size: Lengths
    stride: Lengths | None

    def __init__(self, *given: Any, **named: Any):
        super().__init__(*given, **named)
        self.stride = self.kernel_size if self.stride is None else self.stride


class AvgPoolNd(MaxPoolNd):
    """The mean of each window. If stride is None, it is the kernel size."""

    quiet = "ceil_mode", "count_include_pad", "divisor_override"


class MaxUnpoolNd(MaxPoolNd):
    """Puts each number where MaxPool, with return_indices, found it, and zeros elsewhere."""

    quiet = ("output_size",)


class LPPoolNd(MaxPoolNd):
    """(Σ xᵖ)^(1/p) of each window, with p = norm_type. If stride is None, it is the kernel size."""


class AdaptiveMaxPoolNd(FunctionLayer):
    """The maximum of each of output_size windows that cover the axes evenly; None keeps the length of an axis."""

    quiet = ("return_indices",)


class AdaptiveAvgPoolNd(FunctionLayer):
    """The mean of each of output_size windows that cover the axes evenly; None keeps the length of an axis."""


class FractionalMaxPoolNd(FunctionLayer):
    """The maximum of each of output_size, or output_ratio · length, windows at random positions."""

    quiet = "return_indices", "_random_samples"
    output_size: Any
    output_ratio: Any

    def __init__(self, *given: Any, **named: Any):
        super().__init__(*given, **named)
        self.register_buffer("_random_samples", self.__dict__.pop("_random_samples"))
        if (self.output_size is None) == (self.output_ratio is None):
            raise ValueError(f"{type(self).__name__} needs either output_size or output_ratio")


LENGTHS = "kernel_size", "stride", "padding", "dilation", "return_indices"
MaxPool1d, MaxPool2d, MaxPool3d = layers("max_pool", MaxPoolNd, *LENGTHS)
FractionalMaxPool2d, FractionalMaxPool3d = (
    layer(f"FractionalMaxPool{n}d", f"fractional_max_pool{n}d", FractionalMaxPoolNd.__doc__ or "", "kernel_size",
          base=FractionalMaxPoolNd) for n in (2, 3)
)  # fmt: skip
AvgPool1d, AvgPool2d, AvgPool3d = layers("avg_pool", AvgPoolNd, "kernel_size")
MaxUnpool1d, MaxUnpool2d, MaxUnpool3d = layers("max_unpool", MaxUnpoolNd, "kernel_size")
LPPool1d, LPPool2d, LPPool3d = layers("lp_pool", LPPoolNd, "norm_type", "kernel_size")
AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d = layers("adaptive_max_pool", AdaptiveMaxPoolNd, "output_size")
AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d = layers("adaptive_avg_pool", AdaptiveAvgPoolNd, "output_size")


class Loss(FunctionLayer):
    """Reduces a prediction and a target to one number, or, with reduction='none', to a number per element or row.

    Weights are buffers, so they move with the module.
    """

    def __init__(self, *given: Any, **named: Any):
        super().__init__(*given, **named)
        for name in self.__signature__.parameters.keys() & {"weight", "pos_weight"}:
            weight = vars(self).pop(name)
            self.register_buffer(name, weight if weight is None or isinstance(weight, Tensor) else Tensor(weight))

    def extra_repr(self) -> str:
        return ""


def loss(name: str, function: str, doc: str) -> type[Any]:
    return layer(name, function, doc, base=Loss)


MSELoss = loss("MSELoss", "mse_loss", "(x − t)²")
L1Loss = loss("L1Loss", "l1_loss", "|x − t|")
SmoothL1Loss = loss("SmoothL1Loss", "smooth_l1_loss", "(x − t)² / 2β where |x − t| < β, |x − t| − β/2 beyond.")
HuberLoss = loss("HuberLoss", "huber_loss", "(x − t)² / 2 where |x − t| < δ, δ (|x − t| − δ/2) beyond.")
KLDivLoss = loss("KLDivLoss", "kl_div", "t (ln t − x), for log-probabilities x.")
PoissonNLLLoss = loss("PoissonNLLLoss", "poisson_nll_loss", "eˣ − t x, for t events and x = ln of their rate.")
GaussianNLLLoss = loss("GaussianNLLLoss", "gaussian_nll_loss", "(ln v + (x − t)² / v) / 2, for a predicted variance v.")
BCELoss = loss("BCELoss", "binary_cross_entropy", "−t ln x − (1 − t) ln(1 − x), for probabilities x.")
BCEWithLogitsLoss = loss(
    "BCEWithLogitsLoss", "binary_cross_entropy_with_logits", "−p t ln σ(x) − (1 − t) ln(1 − σ(x)), for scores x."
)
NLLLoss = loss("NLLLoss", "nll_loss", "−x[t], for log-probabilities x.")
CrossEntropyLoss = loss("CrossEntropyLoss", "cross_entropy", "−ln softmax(x)[t], for scores x.")
CTCLoss = loss("CTCLoss", "ctc_loss", "−ln of the probability of a letter sequence: see functional.ctc_loss.")

SoftMarginLoss = loss("SoftMarginLoss", "soft_margin_loss", "ln(1 + e^(−t x))")
HingeEmbeddingLoss = loss("HingeEmbeddingLoss", "hinge_embedding_loss", "x for t = 1, max(0, margin − x) for t = −1.")
MarginRankingLoss = loss("MarginRankingLoss", "margin_ranking_loss", "max(0, margin − t (x₁ − x₂))")
CosineEmbeddingLoss = loss("CosineEmbeddingLoss", "cosine_embedding_loss", "1 − cos, or max(0, cos − margin).")
TripletMarginLoss = loss("TripletMarginLoss", "triplet_margin_loss", "max(0, margin + ‖a − p‖ − ‖a − n‖)")
TripletMarginWithDistanceLoss = loss(
    "TripletMarginWithDistanceLoss", "triplet_margin_with_distance_loss", "TripletMarginLoss for any distance."
)
MultiMarginLoss = loss("MultiMarginLoss", "multi_margin_loss", "Σ max(0, margin − x[t] + x[i])ᵖ / C")
MultiLabelMarginLoss = loss("MultiLabelMarginLoss", "multilabel_margin_loss", "Σ max(0, 1 − x[j] + x[i]) / C")
MultiLabelSoftMarginLoss = loss(
    "MultiLabelSoftMarginLoss", "multilabel_soft_margin_loss", "−t ln σ(x) − (1 − t) ln(1 − σ(x)), over all classes."
)
