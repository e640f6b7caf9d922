"""Containers: modules made of modules, or of parameters, in a row or by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, Self

from .module import Module
from .tree import Parameter, learned


class Row(Module):
    """Parts named '0', '1', …, as a list of them."""

    wanted = "modules"

    def _row(self) -> list[Any]:
        return [part for name, part in vars(self).items() if name.isdecimal()]

    def _fits(self, part: Any) -> Any:
        if isinstance(part, Module):
            return part
        raise TypeError(
            f"{type(self).__name__} is made of {self.wanted}, and number {len(self)} is {part!r}: "
            "write a Module that calls it"
        )

    def _renumber(self, parts: list[Any]) -> None:
        for i in range(len(self)):
            delattr(self, str(i))
        self.extend(parts)

    def append(self, part: Any) -> Self:
        """One more at the end."""
        setattr(self, str(len(self)), self._fits(part))
        return self

    def extend(self, parts: Iterable[Any]) -> Self:
        """Several more at the end."""
        for part in parts:
            self.append(part)
        return self

    def insert(self, index: int, part: Any) -> Self:
        """One more before place `index`."""
        parts = self._row()
        parts.insert(index, self._fits(part))
        self._renumber(parts)
        return self

    def __getitem__(self, index: Any) -> Any:
        return type(self)._of(self._row()[index]) if isinstance(index, slice) else self._row()[index]

    def __setitem__(self, index: int, part: Any) -> None:
        setattr(self, str(range(len(self))[index]), self._fits(part))

    def __delitem__(self, index: Any) -> None:
        parts = self._row()
        del parts[index]
        self._renumber(parts)

    def __len__(self) -> int:
        return len(self._row())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._row())

    @classmethod
    def _of(cls, parts: list[Any]) -> Self:
        return cls(parts)


class Sequential(Module):
    """Modules, one after the other."""

    def __init__(self, *modules: Module | Mapping[str, Module]):
        """The modules in order; or one dictionary of them, by name."""
        named = modules[0] if len(modules) == 1 and isinstance(modules[0], Mapping) else None
        for name, module in enumerate(modules) if named is None else named.items():
            self._add(str(name), module)

    def forward(self, input: Any) -> Any:
        for _, module in self._modules():
            input = module(input)
        return input

    def append(self, module: Module) -> Self:
        """One more module at the end."""
        self._add(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Several more modules at the end."""
        for module in modules:
            self.append(module)
        return self

    def _add(self, name: str, module: Any) -> None:
        if not isinstance(module, Module):
            raise TypeError(
                f"Sequential is made of modules, and number {name} is {module!r}: write a Module that calls it"
            )
        setattr(self, name, module)

    def __getitem__(self, index: Any) -> Any:
        parts = list(self._modules())
        return Sequential(dict(parts[index])) if isinstance(index, slice) else parts[index][1]

    def __len__(self) -> int:
        return sum(1 for _ in self._modules())

    def __iter__(self) -> Iterator[Module]:
        return (module for _, module in self._modules())


class ModuleList(Row):
    """A list of modules, for a forward pass that is written by hand."""

    def __init__(self, modules: Iterable[Module] = ()):
        self.extend(modules)

    def __repr__(self) -> str:
        """Modules that read alike, one after the other, in one line: (0-2): 3 x …"""
        lines, first = [], 0
        for text, alike in groupby(map(repr, self)):
            n = len([*alike])
            name = f"({first}): " if n == 1 else f"({first}-{first + n - 1}): {n} x "
            lines.append(f"  {name}{text}".replace("\n", "\n  "))
            first += n
        return "\n".join([f"{type(self).__name__}(", *lines, ")"]) if lines else f"{type(self).__name__}()"


class ParameterList(Row):
    """A list of parameters; tensors that are none become parameters."""

    wanted = "parameters"

    def __init__(self, values: Iterable[Any] = ()):
        self.extend(values)

    def _fits(self, part: Any) -> Any:
        return part if learned(part) else Parameter(part)

    def extra_repr(self) -> str:
        return ", ".join(f"({i}): Parameter {p.spec}" for i, p in enumerate(self))


class ModuleDict(Module):
    """Modules by name, for a forward pass that is written by hand."""

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] = ()):
        self.update(modules)

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add the modules of a dictionary, in place of those of the same name."""
        for name, module in dict(modules).items():
            self[name] = module

    def __setitem__(self, name: str, module: Module) -> None:
        if name in self:
            del self[name]
        self.register_module(name, module)

    def __getitem__(self, name: str) -> Any:
        return dict(self._modules())[name]

    def __delitem__(self, name: str) -> None:
        self[name]  # a KeyError, where there is none
        delattr(self, name)

    def pop(self, name: str) -> Any:
        """Take a module out."""
        module = self[name]
        del self[name]
        return module

    def keys(self) -> Iterable[str]:
        return dict(self._modules()).keys()

    def values(self) -> Iterable[Any]:
        return dict(self._modules()).values()

    def items(self) -> Iterable[tuple[str, Any]]:
        return dict(self._modules()).items()

    def __contains__(self, name: object) -> bool:
        return name in dict(self._modules())

    def __len__(self) -> int:
        return len(dict(self._modules()))

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())


class Identity(Module):
    """y = x, whatever it was made with."""

    def __init__(self, *_: Any, **__: Any):
        pass

    def forward(self, input: Any) -> Any:
        return input


class Flatten(Module):
    """Axes start_dim to end_dim as one: (N, C, H, W) → (N, C·H·W)."""

    _shown = "start_dim=", "end_dim="

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Any) -> Any:
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(Module):
    """Axis `dim` as several, of the lengths `unflattened_size`."""

    _shown = "dim=", "unflattened_size="

    def __init__(self, dim: int, unflattened_size: tuple[int, ...]):
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, input: Any) -> Any:
        return input.unflatten(self.dim, self.unflattened_size)
