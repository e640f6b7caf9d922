"""One of several: `switch_case` by a number, `case` by the first condition that holds: branches in branches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import GraphError
from .control import cond


def switch_case(
    branch_index: Any,
    branch_fns: Sequence[Callable[[], Any]] | Mapping[int, Callable[[], Any]],
    default: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """branch_fns[branch_index](); of a number that has none, the default, which is the last if nothing else is said."""
    pairs = branch_fns.items() if isinstance(branch_fns, Mapping) else enumerate(branch_fns)
    branches = sorted(((i, f[1] if isinstance(f, tuple) else f) for i, f in pairs), key=lambda pair: pair[0])
    if not branches:
        raise GraphError("switch_case() needs at least one branch")
    otherwise = branches[-1][1] if default is None else default
    return case([(branch_index == i, f) for i, f in branches], otherwise, name=name)


def case(
    pred_fn_pairs: Sequence[tuple[Any, Callable[[], Any]]],
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    name: str | None = None,
) -> Any:
    """f() of the first (condition, f) whose condition holds; the default, where none does.

    The default is the last function, if nothing else is said.
    """
    if exclusive:
        raise GraphError("case() takes the first condition that holds, and does not look for another: exclusive=False")
    pairs = list(pred_fn_pairs)
    if not pairs:
        raise GraphError("case() needs at least one (condition, function)")
    (pred, f), *rest = pairs
    if not rest and default is None:
        return f()
    return cond(pred, f, lambda: case(rest, default) if rest else default(), name=name)  # type: ignore[misc]
