"""Make load_state_dict raise a StateError for a damaged state, instead of a KeyError or TypeError from its own code."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from .errors import MinigradError, StateError

P = ParamSpec("P")
R = TypeVar("R")


def refuse_by_name(load: Callable[P, R]) -> Callable[P, R]:
    """Decorate a load_state_dict so that every failure raises a MinigradError."""

    @wraps(load)
    def loading(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return load(*args, **kwargs)
        except MinigradError:
            raise
        except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            name = type(args[0]).__name__
            raise StateError(
                f"{name} cannot load this state, which was not made by {name}.state_dict(): {error}"
            ) from error

    return loading
