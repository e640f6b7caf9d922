"""Modules that are a function of `functional` with its options held: each says its name, and the options in order."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeVar, dataclass_transform

from .. import functional
from .module import Module

M = TypeVar("M", bound="Held")


@dataclass(eq=False, repr=False)
class Held(Module):
    """y = f(x, …), f being the function of that name, which is told each time what the module was told at first."""

    function: ClassVar[str]
    quiet: ClassVar[tuple[str, ...]] = ()  # options that its repr does not say

    def forward(self, *xs: Any, **named: Any) -> Any:
        return getattr(functional, self.function)(*xs, **named, **self._options())

    def _options(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def extra_repr(self) -> str:
        said = ((name, x) for name, x in self._options().items() if name not in self.quiet)
        return ", ".join(f"{name}={x!r}" for name, x in said if name != "inplace" or x)


@dataclass_transform(eq_default=False)
def held(cls: type[M]) -> type[M]:
    """The class, made with its annotated attributes as arguments."""
    return dataclass(eq=False, repr=False)(cls)


def over_axes(base: type[M]) -> tuple[type[M], type[M], type[M]]:
    """The module over one, two and three axes, of the function over as many: Base1d, Base2d and Base3d."""

    def over(n: int) -> type[M]:
        function = base.function + f"{n}d" * (base.function != "pad")
        inside = {"n": n, "function": function, "__doc__": base.__doc__, "__module__": base.__module__}
        return type(f"{base.__name__}{n}d", (base,), inside)

    return over(1), over(2), over(3)
