"""Pruning: some weights are held at 0, by a mask that survives training, saving and copying. Names are PyTorch's.

`weight` becomes the parameter `weight_orig`, the same object, which an optimiser goes on moving, and the buffer
`weight_mask`; `layer.weight` is their product, formed whenever it is asked for, in a graph too. Pruned once more, what
is left is pruned. Of numbers that are equally large, those that come first go.

Han et al. 2015, “Learning both Weights and Connections for Efficient Neural Networks”, section 3.
https://arxiv.org/abs/1506.02626
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import inf, prod
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from ...engine.base.errors import AxisError, ShapeError, StateError
from ...engine.base.table import Table
from ...engine.tensor.inplace import write
from ...engine.tensor.tensor import Tensor
from .. import init
from ..module import Module
from ..tree import dotted

NOTE = (
    "Zeros are kept and multiplied like other numbers: alone they save neither time nor bytes, and until remove() a "
    "mask takes as many bytes as its weight. Smaller is a layer with fewer channels, or a compressed file."
)


class BasePruningMethod:
    """Says which numbers stay: `compute_mask` gives 1 for those, 0 for the rest.

    PRUNING_TYPE    what it is about where some are gone already: 'unstructured', the numbers that are left;
                    'structured', the channels along `dim` that are; 'global', all
    """

    PRUNING_TYPE: ClassVar[str] = "global"
    dim: int

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """t    how much each number matters; default_mask    what there is of it: two arrays of one shape"""
        raise NotImplementedError(f"{type(self).__name__} does not say which numbers stay: write compute_mask")

    def of_what_is_left(self, t: Any, mask: Any) -> Any:
        """The mask, of which this method has taken its part."""
        left: Any = mask != 0
        if self.PRUNING_TYPE == "structured":
            dim = channel_axis(mask, self.dim)
            left = (*[slice(None)] * dim, left.any(tuple(a for a in range(mask.ndim) if a != dim)))
        elif self.PRUNING_TYPE == "global":
            left = ...
        new = mask.copy()
        new[left] = self.compute_mask(t[left], mask[left])
        return new

    def __call__(self, module: Any, name: str) -> Any:
        """What stands for the parameter."""
        return getattr(module, f"{name}_orig") * getattr(module, f"{name}_mask")

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **options: Any) -> Any:
        """Prune a parameter of a module: first what matters least, by importance_scores or else by size."""
        method, x = cls(*args, **options), prunable(module, name)
        scores, mask = array(x if importance_scores is None else importance_scores), mask_of(module, name)
        if scores.shape != x.shape:
            raise ShapeError(f"{name} is {x.shape}, and there are importance_scores of {scores.shape}")
        mask = method.of_what_is_left(scores, mask)
        if name not in methods(module):
            parameter = getattr(module, name)
            delattr(module, name)
            module.register_parameter(f"{name}_orig", parameter)
            module.register_buffer(f"{name}_mask", Tensor(mask, parameter.dtype, device=parameter.spec.device))
        else:
            kept = getattr(module, f"{name}_mask")
            write(kept, kept.spec.device.array(mask, kept.dtype))
        vars(module).setdefault("_computed", {})[name] = method
        return method


class Identity(BasePruningMethod):
    """Prunes nothing: a mask of ones."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """(amount): prunes numbers at random, so many or, if amount is a float, that share. mg.manual_seed says which."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float):
        self.amount = checked(amount)

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        mask, units = default_mask.copy(), self.units(t)
        self.units(mask)[self.order(units)[: how_many(self.amount, len(units))]] = 0
        return mask

    def units(self, t: Any) -> Any:
        """What goes or stays as one, along axis 0: a look into t."""
        return t.reshape(-1)

    def order(self, units: Any) -> Any:
        """The places of units in the order in which they go."""
        return init.source(None).permutation(len(units))


class L1Unstructured(RandomUnstructured):
    """(amount, importance_scores=None): prunes the smallest numbers, so many or that share."""

    def order(self, units: Any) -> Any:
        return np.argsort(np.abs(units), kind="stable")


class RandomStructured(RandomUnstructured):
    """(amount, dim): prunes channels at random, which are all numbers at one index along dim."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1):
        super().__init__(amount)
        self.dim = dim

    def units(self, t: Any) -> Any:
        return np.moveaxis(t, channel_axis(t, self.dim), 0)


class LnStructured(RandomStructured):
    """(amount, n, dim, importance_scores=None): prunes the channels of the smallest n-norm, (Σ |x|ⁿ)^(1/n)."""

    def __init__(self, amount: float, n: float, dim: int = -1):
        super().__init__(amount, dim)
        self.n = n

    def order(self, units: Any) -> Any:
        rows = units.reshape(len(units), prod(units.shape[1:]))
        return np.argsort(np.linalg.norm(rows, self.n, axis=1), kind="stable")


class CustomFromMask(BasePruningMethod):
    """(mask): prunes where the mask is 0."""

    def __init__(self, mask: Any):
        self.mask = array(mask)

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        if self.mask.shape != t.shape:
            raise ShapeError(f"a mask for {t.shape} has that shape, and got {self.mask.shape}")
        return default_mask * (self.mask != 0)


def function(method: type[BasePruningMethod], name: str) -> Callable[..., Any]:
    """What applies the method, and gives the module back."""

    def pruned(module: Any, name: str, *args: Any, **options: Any) -> Any:
        method.apply(module, name, *args, **options)
        return module

    pruned.__name__, pruned.__doc__ = name, f"{name}(module, name, …), and then {method.__doc__}"
    return pruned


identity = function(Identity, "identity")
random_unstructured = function(RandomUnstructured, "random_unstructured")
l1_unstructured = function(L1Unstructured, "l1_unstructured")
random_structured = function(RandomStructured, "random_structured")
ln_structured = function(LnStructured, "ln_structured")
custom_from_mask = function(CustomFromMask, "custom_from_mask")


def global_unstructured(
    parameters: Iterable[tuple[Any, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: Mapping[tuple[Any, str], Any] | None = None,
    **options: Any,
) -> None:
    """Prune several parameters as if they were one, so that layers lose different shares: [(layer, "weight"), …]."""
    places, given = list(parameters), importance_scores or {}
    if not places or pruning_method.PRUNING_TYPE != "unstructured":
        raise ValueError(f"several parameters, and an unstructured method, are wanted: got {places}, {pruning_method}")
    scores = [array(given.get(place, prunable(*place))).reshape(-1) for place in places]
    masks = [mask_of(*place) for place in places]
    rows = [mask.reshape(-1) for mask in masks]
    whole = pruning_method(**options).of_what_is_left(np.concatenate(scores), np.concatenate(rows))
    for place, mask, part in zip(places, masks, np.split(whole, np.cumsum([*map(len, rows)])[:-1])):
        custom_from_mask(*place, part.reshape(mask.shape))


def remove(module: Any, name: str) -> Any:
    """The module with its parameter as it was, but for the zeros, which are numbers like others again."""
    if name not in methods(module):
        there = ", ".join(methods(module)) or "nothing"
        raise StateError(f"{name!r} of {type(module).__name__} is not pruned; {there} is")
    parameter, masked = getattr(module, f"{name}_orig"), getattr(module, name)
    write(parameter, masked.value)
    del vars(module)["_computed"][name]
    delattr(module, f"{name}_orig")
    delattr(module, f"{name}_mask")
    module.register_parameter(name, parameter)
    return module


def is_pruned(module: Module) -> bool:
    """Whether a parameter here or below has a mask."""
    return any(methods(part) for part in module.modules())


def sparsity(model: Module) -> Table:
    """A table of how many numbers of each parameter are 0, and of all."""
    rows: list[tuple[Any, ...]] = []
    for path, part in model.named_modules():
        for name, p in part.named_parameters(recurse=False):
            name = own(part, name)
            zeros = p.size - int(np.count_nonzero(array(getattr(part, name))))
            rows.append((dotted(path, name), str(p.shape), p.size, zeros, zeros / max(p.size, 1)))
    size, zeros = (sum(row[i] for row in rows) for i in (2, 3))
    rows.append(("total", "", size, zeros, zeros / max(size, 1)))
    return Table({"parameter": "", "shape": "", "numbers": ",", "zeros": ",", "share": ".1%"}, rows, NOTE)


def methods(module: Any) -> dict[str, Any]:
    """Name → how it was pruned last, of a module's own parameters."""
    computed: dict[str, Any] = vars(module).get("_computed", {})
    return {name: method for name, method in computed.items() if isinstance(method, BasePruningMethod)}


def prunable(module: Any, name: str) -> Any:
    """The parameter as it is used. Raises StateError where there is none of that name."""
    there = [own(module, name) for name, _ in module.named_parameters(recurse=False)]
    if name not in there:
        raise StateError(
            f"{type(module).__name__} has no parameter {name!r} to prune; it has {', '.join(there) or 'none'}"
        )
    return getattr(module, name)


def own(module: Any, name: str) -> str:
    """The name that a parameter of the module has, pruned or not."""
    unpruned = name.removesuffix("_orig")
    return unpruned if unpruned in methods(module) else name


def mask_of(module: Any, name: str) -> Any:
    """The mask so far: ones before the first."""
    return array(getattr(module, f"{name}_mask")) if name in methods(module) else np.ones(getattr(module, name).shape)


def checked(amount: Any) -> Any:
    """An amount: so many, if it is a whole number, or a share from 0 to 1."""
    is_number = isinstance(amount, Real) and not isinstance(amount, bool)
    if not is_number or not 0 <= float(amount) <= (inf if isinstance(amount, Integral) else 1):
        error = ValueError if is_number else TypeError
        raise error(f"amount is a whole number from 0 on, or a share from 0.0 to 1.0, and got {amount!r}")
    return amount


def how_many(amount: Any, size: int) -> int:
    """That of so many. Raises ValueError where there are not as many left."""
    n = int(amount) if isinstance(amount, Integral) else round(amount * size)
    if n > size:
        raise ValueError(f"{n} were to be pruned, and {size} are left")
    return n


def channel_axis(t: Any, dim: int) -> Any:
    """The axis of channels, counted from the left."""
    if t.ndim < 2 or not -t.ndim <= dim < t.ndim:
        raise AxisError(f"channels are along an axis of a tensor with two axes or more, and got dim={dim} of {t.shape}")
    return dim % t.ndim


def array(x: Any) -> Any:
    """The values, as NumPy has them."""
    return np.array(x.detach().numpy() if isinstance(x, Tensor) else x)
