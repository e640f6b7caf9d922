"""x.at[i].set(v): JAX's words for a new tensor that differs from x in some places."""

from __future__ import annotations

from typing import Any, NoReturn


class At:
    """Places of x; what is said of them gives a new tensor, and x stays as it is."""

    def __init__(self, x: Any, index: Any = None):
        self.x, self.index = x, index

    def __getitem__(self, index: Any) -> At:
        return At(self.x, index)

    def get(self) -> Any:
        """x[i]"""
        return self.x[self.index]

    def set(self, values: Any) -> Any:
        """x with these values there."""
        return self.x.index_set(self.index, values)

    def add(self, values: Any) -> Any:
        """x with these added there; a place named twice receives twice."""
        places = self.index if isinstance(self.index, tuple) else (self.index,)
        return self.x.index_put(places, values, accumulate=True)

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"x.at[i] has get, set and add, and no {name}: write x.at[i].set(…) of what x[i] becomes")
