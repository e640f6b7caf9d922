"""Checks of the options of schedules, and of the states they load."""

from __future__ import annotations

from inspect import signature
from math import inf
from numbers import Real
from typing import Any

from .optimizer import Optimizer

CHANGING = {"last_epoch", "base_lrs", "_last_lr", "best", "num_bad_epochs", "cooldown_counter"}


def refuse_stranger(schedule: object, optimizer: Any) -> None:
    """Raises TypeError unless `optimizer` is an Optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(schedule).__name__} schedules an optimiser of mg.optim, and got {optimizer!r}")


def each_group(optimizer: Optimizer, name: str, given: Any) -> list[Any]:
    """One value for each group: those of the list `given`, or else `given` for all groups."""
    n = len(optimizer.param_groups)
    if not isinstance(given, list | tuple):
        return [given] * n
    if len(given) != n:
        raise ValueError(f"{name} needs one value, or one for each of the {n} groups, and got {len(given)}")
    return list(given)


def count(schedule: object, name: str, n: Any) -> int:
    """n. Raises ValueError unless n is a positive whole number."""
    if not isinstance(n, int) or n < 1:
        raise ValueError(f"{type(schedule).__name__} needs {name} to be a positive whole number, and got {n!r}")
    return n


def plain(x: Any) -> bool:
    """Whether x is a number, a string, None, or a list of these."""
    return all(map(plain, x)) if isinstance(x, list | tuple) else isinstance(x, Real | str | type(None))


def settings(schedule: object) -> dict[str, Any]:
    """The kind of a schedule, and its options, without functions, which cannot be saved in files."""
    options = {name: x for name, x in vars(schedule).items() if name not in CHANGING and plain(x)}
    return {"schedule": type(schedule).__name__, **options}


def refuse_other(schedule: Any, state: Any, *changing: str) -> None:
    """Raises ValueError unless the state is of this kind of schedule with these options, and its values are valid."""
    own, name = settings(schedule), type(schedule).__name__
    if "schedule" not in state:  # states from PyTorch name no kind, and have the options of the constructor
        own = {option: x for option, x in own.items() if option in signature(type(schedule)).parameters}
    for option, x in own.items():
        if option not in state or (plain(state[option]) and state[option] != x):
            came = repr(state[option]) if option in state else "nothing"
            advice = "make the schedule with the saved options"
            raise ValueError(f"this {name} has {option}={x!r}, but the state has {came}: {advice}")
    if "schedule" in state and (unknown := state.keys() - own.keys() - CHANGING - {"schedulers"}):
        extra = f"it has {', '.join(sorted(unknown))}, which {name} does not have"
        raise ValueError(f"this state is of another schedule: {extra}")
    for each in changing:
        x = state.get(each)
        numbers = x if each in ("base_lrs", "_last_lr") and isinstance(x, list | tuple) else [x]
        least = -inf if each == "best" else -1 if each == "last_epoch" else 0
        whole = each in ("last_epoch", "num_bad_epochs", "cooldown_counter")
        if any(not isinstance(n, Real) or not float(n) >= least or (whole and float(n) % 1) for n in numbers):
            raise ValueError(f"{name} cannot continue from {each}={x!r}")
