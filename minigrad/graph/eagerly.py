"""Traced functions, run as the Python functions that they are: to step through one, or to see it print."""

from __future__ import annotations

import threading


class Eagerly(threading.local):
    """Whether traced functions run as the Python functions that they are, in this thread."""

    on = False


eagerly = Eagerly()


class run_functions_eagerly:
    """Whether traced functions run op by op, untraced: from this call on, or in the block that it opens."""

    def __init__(self, run_eagerly: bool = True):
        self.before, eagerly.on = eagerly.on, run_eagerly

    def __enter__(self) -> None:
        pass

    def __exit__(self, *raised: object) -> None:
        eagerly.on = self.before


def functions_run_eagerly() -> bool:
    """Whether traced functions run op by op just now."""
    return eagerly.on
