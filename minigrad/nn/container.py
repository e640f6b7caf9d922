"""Containers: lists and dictionaries of modules or parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, MutableSequence
from itertools import groupby
from typing import Any, Self

import numpy as np

from ..engine.tensor.tensor import Tensor
from .module import Module
from .tree import Parameter, is_learnable


class PartList(Module, MutableSequence[Any]):
    """A list of parts, stored as attributes '0', '1', …"""

    def __init__(self, parts: Iterable[Any] = ()):
        self.extend(parts)

    def _named_parts(self) -> list[tuple[str, Any]]:
        return [(name, part) for name, part in vars(self).items() if name.isdecimal()]

    def _fitting(self, part: Any, name: str) -> Any:
        """The part, checked or converted before it is stored."""
        if isinstance(part, Module):
            return part
        kind = type(self).__name__
        raise TypeError(f"{kind} needs modules, and number {name} is {part!r}: write a Module that calls it")

    def _become(self, parts: list[Any]) -> None:
        for name, _ in self._named_parts():
            delattr(self, name)
        self.extend(parts)

    def append(self, part: Any) -> Self:  # type: ignore[override]
        """Add a part at the end."""
        name = str(len(self))
        setattr(self, name, self._fitting(part, name))
        return self

    def extend(self, parts: Iterable[Any]) -> Self:  # type: ignore[override]
        """Add several parts at the end."""
        for part in parts:
            self.append(part)
        return self

    def insert(self, index: int, part: Any) -> Self:  # type: ignore[override]
        """Insert a part before position `index`."""
        parts = list(self)
        parts.insert(index, self._fitting(part, str(len(parts))))
        self._become(parts)
        return self

    def __getitem__(self, index: Any) -> Any:
        found = self._named_parts()[index]
        return type(self)([part for _, part in found]) if isinstance(index, slice) else found[1]

    def __setitem__(self, index: Any, part: Any) -> None:
        setattr(self, self._named_parts()[index][0], self._fitting(part, str(index)))

    def __delitem__(self, index: Any) -> None:
        parts = list(self)
        del parts[index]
        self._become(parts)

    def __len__(self) -> int:
        return len(self._named_parts())

    def __iter__(self) -> Iterator[Any]:
        return (part for _, part in self._named_parts())

    def __add__(self, others: Iterable[Any]) -> Self:
        return type(self)().extend([*self, *others])


class Sequential(PartList):
    """Calls its modules in order, each on the result of the module before it."""

    def __init__(self, *modules: Module | Mapping[str, Module]):
        """Takes modules in order, or one dictionary of named modules."""
        named = modules[0] if len(modules) == 1 and isinstance(modules[0], Mapping) else None
        for name, module in enumerate(modules) if named is None else named.items():
            setattr(self, str(name), self._fitting(module, str(name)))

    def _named_parts(self) -> list[tuple[str, Any]]:
        return list(self._modules())

    def forward(self, input: Any) -> Any:
        for _, module in self._modules():
            input = module(input)
        return input

    def __mul__(self, times: int) -> Self:
        """The modules repeated `times` times. They are the same objects, so they share their parameters."""
        return type(self)().extend([*self] * times)

    __rmul__ = __mul__

    def __imul__(self, times: int) -> Self:
        return self.extend([*self] * (times - 1))

    def __getitem__(self, index: Any) -> Any:
        return Sequential(dict(self._named_parts()[index])) if isinstance(index, slice) else super().__getitem__(index)


class ModuleList(PartList):
    """A list of modules. It has no forward pass of its own."""

    def __init__(self, modules: Iterable[Module] = ()):
        super().__init__(modules)

    def __repr__(self) -> str:
        """Consecutive modules with the same repr share a line: (0-2): 3 x …"""
        lines, first = [], 0
        for text, alike in groupby(map(repr, self)):
            n = len([*alike])
            name = f"({first}): " if n == 1 else f"({first}-{first + n - 1}): {n} x "
            lines.append(f"  {name}{text}".replace("\n", "\n  "))
            first += n
        return "\n".join([f"{type(self).__name__}(", *lines, ")"]) if lines else f"{type(self).__name__}()"


def as_parameter(part: Any) -> Any:
    """A tensor or array as a parameter; anything else unchanged."""
    return Parameter(part) if isinstance(part, Tensor | np.ndarray) and not is_learnable(part) else part


def describe(parts: Iterable[tuple[Any, Any]]) -> str:
    """The parts by name: the spec of a parameter, the repr of anything else."""
    return ", ".join(f"({k}): {f'Parameter {p.spec}' if isinstance(p, Tensor) else repr(p)}" for k, p in parts)


class ParameterList(PartList):
    """A list of parameters. A tensor or array becomes a parameter; anything else is stored as it is."""

    def __init__(self, values: Iterable[Any] = ()):
        super().__init__(values)

    def _fitting(self, part: Any, name: str) -> Any:
        return as_parameter(part)

    def extra_repr(self) -> str:
        return describe(enumerate(self))


class PartDict(Module, MutableMapping[str, Any]):
    """A dictionary of parts, stored as attributes.

    _names    the names, in order
    """

    __eq__, __hash__ = object.__eq__, object.__hash__  # modules compare by identity, not by contents
    _names: Any

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return getattr(self, name)

    def __delitem__(self, name: str) -> None:
        self[name]  # raises KeyError if there is no such part
        delattr(self, name)

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._names)  # type: ignore[no-any-return]

    def popitem(self) -> tuple[str, Any]:
        """Remove the part that was added last, and return its name and the part."""
        name: Any = next(reversed(self), None)  # None makes pop raise KeyError
        return name, self.pop(name)


class ParameterDict(PartDict):
    """A dictionary of parameters. A tensor or array becomes a parameter; anything else is stored as it is.

    Each name becomes an attribute. Raises KeyError if a name has a dot or is already an attribute of the module.
    As in PyTorch, parameters from a plain dict are sorted by name; those from other sources keep their order.
    """

    _names: tuple[str, ...] = ()

    def __init__(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()):
        self.update(parameters)

    def update(self, parameters: Any = (), /, **named: Any) -> None:
        """Add parameters; they replace those with the same names."""
        super().update(sorted(parameters.items()) if type(parameters) is dict else parameters, **named)

    def __setitem__(self, name: str, value: Any) -> None:
        if name not in self._names:
            self._new_name("parameter", name)
            self._names = (*self._names, name)
        setattr(self, name, as_parameter(value))

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        self._names = tuple(n for n in self._names if n != name)

    def copy(self) -> ParameterDict:
        """A new ParameterDict with the same parameters."""
        return ParameterDict(self.items())

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new ParameterDict with the same value for each key."""
        return ParameterDict((key, default) for key in keys)

    def __or__(self, others: Mapping[str, Any]) -> ParameterDict:
        both = self.copy()
        both.update(others)
        return both

    def __ror__(self, others: Mapping[str, Any]) -> ParameterDict:
        return ParameterDict(others) | self

    def __ior__(self, others: Mapping[str, Any]) -> Self:
        self.update(others)
        return self

    def extra_repr(self) -> str:
        return describe(self.items())


class ModuleDict(PartDict):
    """A dictionary of modules. It has no forward pass of its own."""

    _names = property(lambda self: [name for name, _ in self._modules()])

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] = ()):
        self.update(modules)

    def __setitem__(self, name: str, module: Module) -> None:
        if name in self:
            delattr(self, name)
        self.register_module(name, module)


class Identity(Module):
    """y = x. It accepts and ignores any arguments."""

    def __init__(self, *_: Any, **__: Any):
        pass

    def forward(self, input: Any) -> Any:
        return input


class Flatten(Module):
    """Merges axes start_dim to end_dim into one: (N, C, H, W) → (N, C·H·W)."""

    _shown = "start_dim=", "end_dim="

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Any) -> Any:
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(Module):
    """Splits axis `dim` into axes of the lengths `unflattened_size`."""

    _shown = "dim=", "unflattened_size="

    def __init__(self, dim: int, unflattened_size: tuple[int, ...]):
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, input: Any) -> Any:
        return input.unflatten(self.dim, self.unflattened_size)
