"""Pruning: a mask holds some weights at 0, through training, saving and copying. Names are PyTorch's.

Pruning renames the parameter `weight` to `weight_orig` (the optimiser still updates it) and adds the buffer
`weight_mask`. `layer.weight` is their product, computed on every access, also in a graph. Pruning again prunes the
remaining weights. Of equally large numbers, the first are pruned first.

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
from ..tree import dotted_name

NOTE = (
    "Zeros are stored and multiplied like other numbers: alone they save neither time nor bytes, and until remove() a "
    "mask takes as many bytes as its weight. To save bytes, use fewer channels, or compress the file."
)


class BasePruningMethod:
    """A rule that selects the numbers to keep: `compute_mask` returns 1 for numbers to keep, 0 for the rest.

    PRUNING_TYPE    what compute_mask sees if some numbers are pruned already: 'unstructured', the remaining numbers;
                    'structured', the remaining channels along `dim`; 'global', everything
    """

    PRUNING_TYPE: ClassVar[str] = "global"
    dim: int

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The new mask, from the importance t of each number and the mask so far, two arrays of one shape."""
        raise NotImplementedError(f"{type(self).__name__} does not select numbers to keep: define compute_mask")

    def prune_remaining(self, t: Any, mask: Any) -> Any:
        """The mask after this method has pruned the numbers that PRUNING_TYPE lets it see."""
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
        """The pruned value of the parameter."""
        return getattr(module, f"{name}_orig") * getattr(module, f"{name}_mask")

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **options: Any) -> Any:
        """Prune a parameter of a module. The pruning method sees the parameter, or importance_scores if given."""
        method, x = cls(*args, **options), prunable(module, name)
        scores, mask = array(x if importance_scores is None else importance_scores), mask_of(module, name)
        if scores.shape != x.shape:
            raise ShapeError(f"importance_scores of {name} must have its shape {x.shape}, got {scores.shape}")
        mask = method.prune_remaining(scores, mask)
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
    """(amount): prunes random numbers: a count, or, if amount is a float, a fraction. mg.manual_seed seeds them."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float):
        self.amount = check_amount(amount)

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        mask, units = default_mask.copy(), self.units(t)
        self.units(mask)[self.order(units)[: count_to_prune(self.amount, len(units))]] = 0
        return mask

    def units(self, t: Any) -> Any:
        """A view of t whose axis 0 counts the units that are pruned as a whole."""
        return t.reshape(-1)

    def order(self, units: Any) -> Any:
        """The indices of the units, in the order in which they are pruned."""
        return init.source(None).permutation(len(units))


class L1Unstructured(RandomUnstructured):
    """(amount, importance_scores=None): prunes the smallest numbers, a count or a fraction of them."""

    def order(self, units: Any) -> Any:
        return np.argsort(np.abs(units), kind="stable")


class RandomStructured(RandomUnstructured):
    """(amount, dim): prunes random channels. A channel is all numbers at one index along dim."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1):
        super().__init__(amount)
        self.dim = dim

    def units(self, t: Any) -> Any:
        return np.moveaxis(t, channel_axis(t, self.dim), 0)


class LnStructured(RandomStructured):
    """(amount, n, dim, importance_scores=None): prunes the channels with the smallest n-norm, (Σ |x|ⁿ)^(1/n)."""

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
            raise ShapeError(f"a mask for {t.shape} must have that shape, got {self.mask.shape}")
        return default_mask * (self.mask != 0)


def function(method: type[BasePruningMethod], name: str) -> Callable[..., Any]:
    """A function that applies the method to a module and returns the module."""

    def prune_parameter(module: Any, name: str, *args: Any, **options: Any) -> Any:
        method.apply(module, name, *args, **options)
        return module

    prune_parameter.__name__ = name
    prune_parameter.__doc__ = f"{name}(module, name, …). Further arguments: {method.__doc__}"
    return prune_parameter


identity = function(Identity, "identity")
random_unstructured = function(RandomUnstructured, "random_unstructured")
l1_unstructured = function(L1Unstructured, "l1_unstructured")
random_structured = function(RandomStructured, "random_structured")
ln_structured = function(LnStructured, "ln_structured")
custom_from_mask = function(CustomFromMask, "custom_from_mask")


def global_unstructured(
    parameters: Iterable[tuple[Any, str]], pruning_method: type[BasePruningMethod],
    importance_scores: Mapping[tuple[Any, str], Any] | None = None, **options: Any,
) -> None:  # fmt: skip
    """Prune several parameters as if they were one, so layers lose different fractions: [(layer, "weight"), …]."""
    places, given = list(parameters), importance_scores or {}
    if not places or pruning_method.PRUNING_TYPE != "unstructured":
        raise ValueError(f"expected parameters and an unstructured method, got {places} and {pruning_method}")
    scores = [array(given.get(place, prunable(*place))).reshape(-1) for place in places]
    masks = [mask_of(*place) for place in places]
    rows = [mask.reshape(-1) for mask in masks]
    whole = pruning_method(**options).prune_remaining(np.concatenate(scores), np.concatenate(rows))
    for place, mask, part in zip(places, masks, np.split(whole, np.cumsum([*map(len, rows)])[:-1])):
        custom_from_mask(*place, part.reshape(mask.shape))


def remove(module: Any, name: str) -> Any:
    """Make the pruned parameter an ordinary one again, with its zeros, and return the module."""
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
    """Whether the module or a submodule has a pruned parameter."""
    return any(methods(part) for part in module.modules())


def sparsity(model: Module) -> Table:
    """A table of the number of zeros in each parameter, and in total."""
    rows: list[tuple[Any, ...]] = []
    for path, part in model.named_modules():
        for name, p in part.named_parameters(recurse=False):
            name = parameter_name(part, name)
            zeros = p.size - int(np.count_nonzero(array(getattr(part, name))))
            rows.append((dotted_name(path, name), str(p.shape), p.size, zeros, zeros / max(p.size, 1)))
    size, zeros = (sum(row[i] for row in rows) for i in (2, 3))
    rows.append(("total", "", size, zeros, zeros / max(size, 1)))
    return Table({"parameter": "", "shape": "", "numbers": ",", "zeros": ",", "share": ".1%"}, rows, NOTE)


def methods(module: Any) -> dict[str, Any]:
    """Name → the last pruning method, for each pruned parameter of the module itself."""
    computed: dict[str, Any] = vars(module).get("_computed", {})
    return {name: method for name, method in computed.items() if isinstance(method, BasePruningMethod)}


def prunable(module: Any, name: str) -> Any:
    """The parameter's value, pruned if it has a mask. Raises StateError if there is no parameter of that name."""
    there = [parameter_name(module, name) for name, _ in module.named_parameters(recurse=False)]
    if name not in there:
        raise StateError(
            f"{type(module).__name__} has no parameter {name!r} to prune; it has {', '.join(there) or 'none'}"
        )
    return getattr(module, name)


def parameter_name(module: Any, name: str) -> str:
    """The name of a parameter without the suffix _orig that pruning adds."""
    unpruned = name.removesuffix("_orig")
    return unpruned if unpruned in methods(module) else name


def mask_of(module: Any, name: str) -> Any:
    """The current mask; ones if the parameter was never pruned."""
    return array(getattr(module, f"{name}_mask")) if name in methods(module) else np.ones(getattr(module, name).shape)


def check_amount(amount: Any) -> Any:
    """The amount, if valid: an integer is a count; any other number is a fraction from 0 to 1."""
    is_number = isinstance(amount, Real) and not isinstance(amount, bool)
    if not is_number or not 0 <= float(amount) <= (inf if isinstance(amount, Integral) else 1):
        error = ValueError if is_number else TypeError
        raise error(f"amount must be a whole number from 0 on, or a fraction from 0.0 to 1.0, got {amount!r}")
    return amount


def count_to_prune(amount: Any, size: int) -> int:
    """How many of `size` units to prune for an amount. Raises ValueError on a count above `size`."""
    n = int(amount) if isinstance(amount, Integral) else round(amount * size)
    if n > size:
        raise ValueError(f"cannot prune {n}, because only {size} are left")
    return n


def channel_axis(t: Any, dim: int) -> Any:
    """The axis of the channels as a non-negative number."""
    if t.ndim < 2 or not -t.ndim <= dim < t.ndim:
        raise AxisError(f"channels need a tensor of two or more axes, and dim one of them; got dim={dim} of {t.shape}")
    return dim % t.ndim


def array(x: Any) -> Any:
    """The values as a NumPy array."""
    return np.array(x.detach().numpy() if isinstance(x, Tensor) else x)
