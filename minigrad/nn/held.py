"""Modules that are a function of `functional`, its options held: a line of a table each."""

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
