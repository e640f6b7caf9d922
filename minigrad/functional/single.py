"""What autocast computes in float32 and is made of several ops: losses, norms. One op says so itself, in its class."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from ..base.errors import DTypeError
from ..core.modes import current
from ..methods import Operand

F = TypeVar("F", bound=Callable[..., Any])


def in_float32(f: F) -> F:
    """f, whose operands of half precision are float32 in a block of autocast."""

    @wraps(f)
    def cast(*args: Any, **options: Any) -> Any:
        if current.mode.autocast is None:
            return f(*args, **options)
        return f(*map(single, args), **{name: single(x) for name, x in options.items()})

    return cast  # type: ignore[return-value]


def single(x: Any) -> Any:
    """x; in float32, if it is an operand of half precision."""
    return x.float() if isinstance(x, Operand) and x.spec.is_half else x


def refuse_half(loss: str, way: str, x: Any) -> None:
    """Raises DTypeError in a block of autocast for an operand of half precision."""
    if current.mode.autocast is not None and x.spec.is_half:
        raise DTypeError(f"{loss} of {x.spec} is refused under autocast: probabilities near 0 and 1 are lost. {way}")
