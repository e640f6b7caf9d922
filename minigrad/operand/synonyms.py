"""Two spellings of one argument: the array API's `axis`, which is ours, and PyTorch's `dim`, which is heard too."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

SYNONYMS = {
    "dim": "axis",
    "dims": "axes",
    "keepdim": "keepdims",
    "dim0": "axis0",
    "dim1": "axis1",
    "dim2": "axis2",
    "start_dim": "start_axis",
    "end_dim": "end_axis",
}


def hears(**synonyms: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A method, or a function, where other words for its arguments may be used as well: other word → its own."""

    def of(method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def heard(*given: Any, **options: Any) -> Any:
            if not options:
                return method(*given)
            ours = {synonyms.get(word, word): value for word, value in options.items()}
            if len(ours) < len(options):
                raise TypeError(f"{method.__name__} takes one of two spellings, and both came: {', '.join(options)}")
            return method(*given, **ours)

        return heard

    return of


hears_dim = hears(**SYNONYMS)
