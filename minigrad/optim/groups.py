"""Parameter groups: which parameters an optimiser updates, and with which options. Both are checked here.

A group is a dictionary, as in PyTorch: {"params": [w, b], "lr": 0.1, "weight_decay": 0.0, …}.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from math import inf
from numbers import Real
from typing import Any

import numpy as np

from ..engine.base.errors import GraphError
from ..engine.methods import Operand
from ..engine.tensor.symbol import Symbol
from ..engine.tensor.tensor import Tensor

Group = dict[str, Any]
State = dict[str, Any]
Params = Operand | Iterable[Operand] | Iterable[Group]
NOTES = {"params", "initial_lr", "name"}  # keys of a group in addition to the optimiser's options
# Options that PyTorch and its schedules store in groups and that mean nothing here: dropped when a state is loaded.
PYTORCHS = {"foreach", "capturable", "differentiable", "fused", "param_names", "swa_lr"}
PYTORCHS |= {"max_lr", "min_lr", "base_momentum", "max_momentum"}
ADDED_LATE = {"maximize", "decoupled_weight_decay"}


def is_symbol(x: Any) -> bool:
    """Whether x is a scalar symbol, a number that a graph computes when it runs."""
    return isinstance(x, Symbol) and not x.spec.shape


def nonnegative(x: Any, most: float = inf) -> bool:
    return isinstance(x, Real) and 0 <= float(x) <= most


NOT_NEGATIVE = ["momentum", "weight_decay", "alpha", "lr_decay", "initial_accumulator_value", "momentum_decay",
                "lambd", "t0"]  # fmt: skip
FLAGS = ["nesterov", "maximize", "amsgrad", "centered", "decoupled_weight_decay"]
LIMITS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "lr": (lambda x: is_symbol(x) or nonnegative(x), "a number that is not negative, or one number of a graph"),
    **dict.fromkeys(NOT_NEGATIVE, (nonnegative, "a number that is not negative")),
    "eps": (lambda x: nonnegative(x) or isinstance(x, tuple | list), "a number that is not negative"),
    **dict.fromkeys(["dampening", "beta2_decay"], (lambda x: isinstance(x, Real), "a number")),
    **dict.fromkeys(FLAGS, (lambda x: x in (True, False), "True or False")),
    "rho": (lambda x: nonnegative(x, 1), "a number from 0 to 1"),
    "d": (lambda x: isinstance(x, Real) and float(x) >= 1, "a number that is at least 1"),
    "etas": (lambda x: len(x) == 2 and 0 < x[0] < 1 < x[1], "two numbers, the first from 0 to 1, the second above 1"),
    "adjust_lr_fn": (lambda x: x in (None, "original", "match_rms_adamw"), "None, 'original' or 'match_rms_adamw'"),
    "betas": (
        lambda x: isinstance(x, Sequence) and len(x) == 2 and all(nonnegative(b) and b < 1 for b in x),
        "two numbers, each at least 0 and below 1",
    ),
}


def check_options(optimizer: str, options: Group) -> Group:
    """The options as Python numbers. Raises ValueError if one is outside its limits."""
    plain = {name: x.item() if isinstance(x, np.generic | Tensor) else x for name, x in options.items()}
    for name, x in plain.items():
        if name in LIMITS and not LIMITS[name][0](x):
            raise ValueError(f"{optimizer} needs {name} to be {LIMITS[name][1]}, and got {x!r}")
    return plain


def loaded_options(optimizer: str, group: Group, loaded: Group) -> Group:
    """The options of a saved group, checked. Raises ValueError if another kind of optimiser saved it.

    Files of older versions of PyTorch lack the options in ADDED_LATE.
    """
    options = {name: x for name, x in loaded.items() if name not in PYTORCHS | {"params"}}
    if options.keys() - group.keys() - NOTES or group.keys() - options.keys() - NOTES - ADDED_LATE:
        found = f"its options are {', '.join(group.keys() - NOTES)}, and the state has {', '.join(map(str, options))}"
        raise ValueError(f"{optimizer} cannot load the state of another kind of optimiser: {found}")
    return check_options(optimizer, options)


def groups_of(optimizer: str, params: Params) -> list[Group]:
    """The user's argument `params` as a list of groups. Raises ValueError if there are no parameters."""
    if isinstance(params, Operand):
        params = [params]
    if isinstance(params, set | frozenset):
        raise TypeError(f"{optimizer} saves parameters by their order, and a set has no order: pass a list")
    if not isinstance(params, Iterable):
        raise TypeError(f"{optimizer} needs parameters, and got {params!r}: pass model.parameters(), or a list as [w]")
    given: list[Any] = list(params)
    if not given:
        raise ValueError(f"{optimizer} got no parameters: pass model.parameters(), called again if it was used up")
    return given if all(isinstance(g, dict) for g in given) else [{"params": given}]


def members(optimizer: str, group: Group, options: Group) -> list[Any]:
    """The parameters of a group. Raises ValueError if it has none or unknown options, TypeError on a non-leaf."""
    if "params" not in group:
        raise ValueError(f'{optimizer} needs groups with the key "params", as {{"params": [w]}}, and got {group!r}')
    if unknown := group.keys() - options.keys() - NOTES:
        raise ValueError(f"{optimizer} has no option {', '.join(sorted(unknown))}; it has {', '.join(options)}")
    given = group["params"]
    params = [given] if isinstance(given, Operand) else list(given)
    if not params and isinstance(given, Iterator):
        raise ValueError(f"{optimizer} got a group whose parameters were used up: call model.parameters() again")
    for i, p in enumerate(params):
        if not (isinstance(p, Operand) and getattr(p, "is_leaf", False)):
            advice = "pass model.parameters(), or a list as in [w]"
            raise TypeError(f"{optimizer} updates leaves that require a gradient, and parameter {i} is {p!r}: {advice}")
    return params


def refuse_symbol(optimizer: str, lr: Any) -> None:
    """Raises GraphError if an eager step has a rate that only a graph computes."""
    if is_symbol(lr):
        advice = f"let the session run {optimizer}.minimize(loss), or pass a number"
        raise GraphError(f"{optimizer}'s lr={lr} has no value before a session runs, and step() needs it now: {advice}")


def refuse_twice(optimizer: str, groups: list[Group]) -> None:
    """Raises ValueError if a parameter is in the groups twice: each step would update it twice."""
    seen: dict[int, str] = {}
    places = (((f"parameter {i} of group {n}", p) for i, p in enumerate(g["params"])) for n, g in enumerate(groups))
    for place, p in chain.from_iterable(places):
        if id(p) in seen:
            raise ValueError(f"{optimizer} updates a parameter once a step, and {place} is also {seen[id(p)]}")
        seen[id(p)] = place
