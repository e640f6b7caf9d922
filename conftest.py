"""What holds for tests and for notebooks that are run as tests."""

from __future__ import annotations

from functools import wraps
from typing import Any

import nbval.kernel


def pytest_configure() -> None:
    """A kernel of nbval's that ends as it begins is begun once more: two that begin at once may choose one port."""
    start = nbval.kernel.start_new_kernel

    @wraps(start)
    def started(*arguments: Any, **options: Any) -> Any:
        try:
            return start(*arguments, **options)
        except RuntimeError:
            return start(*arguments, **options)

    nbval.kernel.start_new_kernel = started
