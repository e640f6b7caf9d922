"""Modules that are a function of `functional`, its options held: a line of a table each.

Margins, as layers: a width for all ends, or, as for functional.pad, two for each axis, the last axis first.

Pictures in other sizes and orders, windows as columns, neighbours and likeness: functions as layers.
"""

from __future__ import annotations

from inspect import Parameter, Signature, signature
from typing import Any, ClassVar

from .. import functional
from .module import Module

ASKED = "training", "key"  # what a function is told by the module's state, or by its caller


class Held(Module):
    """y = f(x, …), f being a function of `functional`, which is told each time what the module was told at first."""

    function: ClassVar[str]
    quiet: ClassVar[tuple[str, ...]] = ()  # options that its repr does not say
    __signature__: ClassVar[Signature]

    def __init__(self, *given: Any, **named: Any):
        try:
            bound = self.__signature__.bind(*given, **named)
        except TypeError as error:  # which does not know whose arguments they are
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


def held(name: str, function: str, doc: str, *told: str, base: type[Held] = Held) -> type[Any]:
    """The module of a function: its arguments are those named, and then those of the function's that have a default."""
    known = signature(getattr(functional, function)).parameters
    rest = (p for p in known.values() if p.default is not Parameter.empty and p.name not in (*told, *ASKED))
    options = Signature([*(known[name] for name in told), *map(by_place, rest)])
    inside = {"function": function, "__signature__": options, "__doc__": doc, "__module__": "minigrad.nn"}
    return type(name, (base,), inside)


def by_place(option: Parameter) -> Parameter:
    """The option; `inplace` may be said without its name, as in ReLU(True)."""
    return option.replace(kind=Parameter.POSITIONAL_OR_KEYWORD) if option.name == "inplace" else option


def over_axes(function: str, base: type[Held], *told: str) -> list[type[Any]]:
    """The modules of a function over one, two and three axes, named after their base, which says what they do."""
    return [held(f"{base.__name__}{n}d", f"{function}{n}d", base.__doc__ or "", *told, base=base) for n in (1, 2, 3)]


def numbered(base: type[Module], name: str = "", **inside: Any) -> list[type[Any]]:
    """The module over n = 1, 2 and 3 axes, which differ in n alone."""
    inside |= {"__doc__": base.__doc__, "__module__": "minigrad.nn"}
    return [type(f"{name or base.__name__}{n}d", (base,), inside | {"n": n}) for n in (1, 2, 3)]


class Padding(Module):
    """x (N, C, *size), or (C, *size), with a margin around its places: see functional.pad."""

    n: ClassVar[int]
    mode: ClassVar[str]
    value: float | None = None

    def __init__(self, padding: Any):
        self.padding = (padding,) * (2 * self.n) if isinstance(padding, int) else tuple(padding)

    def forward(self, input: Any) -> Any:
        return functional.pad(input, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class Constant(Padding):
    """The same with a margin of one value."""

    def __init__(self, padding: Any, value: float):
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


ZeroPad1d, ZeroPad2d, ZeroPad3d = numbered(Padding, "ZeroPad", mode="constant")
ConstantPad1d, ConstantPad2d, ConstantPad3d = numbered(Constant, "ConstantPad", mode="constant")
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = numbered(Padding, "ReflectionPad", mode="reflect")
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = numbered(Padding, "ReplicationPad", mode="replicate")
CircularPad1d, CircularPad2d, CircularPad3d = numbered(Padding, "CircularPad", mode="circular")


Upsample = held("Upsample", "interpolate", "x (N, C, *size) in another size: see functional.interpolate.")
UpsamplingNearest2d = held("UpsamplingNearest2d", "upsample_nearest", "Upsample by the nearest element.")
UpsamplingBilinear2d = held("UpsamplingBilinear2d", "upsample_bilinear", "Upsample with mode='bilinear', by corners.")
PixelShuffle = held("PixelShuffle", "pixel_shuffle", "(C r², H, W) → (C, H r, W r)", "upscale_factor")
PixelUnshuffle = held("PixelUnshuffle", "pixel_unshuffle", "The inverse of PixelShuffle.", "downscale_factor")
ChannelShuffle = held("ChannelShuffle", "channel_shuffle", "Channels, in groups, dealt out.", "groups")
Unfold = held("Unfold", "unfold", "Each window as a column: see functional.unfold.", "kernel_size")
Fold = held("Fold", "fold", "Columns added up where they were read: see functional.fold.", "output_size", "kernel_size")
LocalResponseNorm = held("LocalResponseNorm", "local_response_norm", "x / (k + α mean x²)^β", "size")
CosineSimilarity = held("CosineSimilarity", "cosine_similarity", "x₁ · x₂ / (‖x₁‖ ‖x₂‖) along an axis.")
PairwiseDistance = held("PairwiseDistance", "pairwise_distance", "‖x₁ − x₂ + ε‖ₚ over the last axis.")
