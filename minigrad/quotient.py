"""Quotient: a number divided by a length that is not known yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Quotient:
    """A number divided by a length that is not known yet, as a mean or a variance needs it."""

    numerator: float
    divisor: Any  # a Dimension

    def __mul__(self, o: Any) -> Any:
        return Quotient(self.numerator * o, self.divisor) if is_plain(o) else self.refuse(f"({self}) * {o}", o)

    def __truediv__(self, o: Any) -> Any:
        return Quotient(self.numerator / o, self.divisor) if is_plain(o) else self.refuse(f"({self}) / {o}", o)

    def __add__(self, o: Any) -> Any:
        return self.refuse(f"({self}) + {o}", o)

    def __sub__(self, o: Any) -> Any:
        return self.refuse(f"({self}) - {o}", o)

    def __rsub__(self, o: Any) -> Any:
        return self.refuse(f"{o} - {self}", o)

    def __rtruediv__(self, o: Any) -> Any:
        return self.refuse(f"{o} / ({self})", o)

    def __pow__(self, o: Any) -> Any:
        return self.refuse(f"({self}) ** {o}", o)

    def __lt__(self, o: Any) -> Any:
        return self.refuse(f"({self}) < {o}", o)

    def __le__(self, o: Any) -> Any:
        return self.refuse(f"({self}) <= {o}", o)

    def __gt__(self, o: Any) -> Any:
        return self.refuse(f"({self}) > {o}", o)

    def __ge__(self, o: Any) -> Any:
        return self.refuse(f"({self}) >= {o}", o)

    def __neg__(self) -> Quotient:
        return Quotient(-self.numerator, self.divisor)

    def __float__(self) -> float:
        return float(self.divisor)

    def __repr__(self) -> str:
        return f"{self.numerator} / {self.divisor}"

    def refuse(self, what: str, o: Any) -> Any:
        """Raises GraphError, if the other is a number; a tensor has its own way with a quotient."""
        return self.divisor.refuse(what) if isinstance(o, int | float | Quotient) else NotImplemented

    __rmul__, __radd__ = __mul__, __add__


def is_plain(o: Any) -> bool:
    """Whether it is a number with a value."""
    return isinstance(o, float) or type(o) in (int, bool)
