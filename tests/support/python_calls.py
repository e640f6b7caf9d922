"""How much of Python runs: counts, which a busy machine does not change, where seconds would."""

import gc
import sys
from collections.abc import Callable
from typing import Any


def count_calls(f: Callable[..., Any], *given: Any, of: tuple[str, ...] = ("call",), within: str = "") -> int:
    """How many functions of Python f calls, generators once more for each value; with "c_call" those of C.

    within    count only functions whose file has a path that starts so
    The garbage collector waits, as it calls functions whenever it is its time.
    """
    count = 0

    def add(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in of and frame.f_code.co_filename.startswith(within)

    gc.disable()
    sys.setprofile(add)
    try:
        f(*given)
    finally:
        sys.setprofile(None)
        gc.enable()
    return count
