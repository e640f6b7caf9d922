"""In-place operations: the same op, its result written into the memory of its first operand.

`x.add_(y)` computes x + y, writes it where x was, and gives x the history of the sum. Others may look at
the same memory. Views of x, and what x is a view of, are told: the tensor that owns the memory becomes
`Overlay(its old self, x)`, and every view of it becomes a view of that. What backward kept is not told,
and need not be: the clock says that it was kept before the edit, and backward refuses (pullback.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from . import clock, modes, ops
from .differentiable import origin
from .errors import DTypeError, EditedError, ShapeError
from .op import Op

KINDS = {"b": 0, "u": 1, "i": 1, "f": 2}  # a number of one kind fits into its own, and into later ones


class Alias(NamedTuple):
    """What a view knows of the memory it looks at.

    root    the tensor that owns it
    ops     the way from there to the view
    """

    root: Any
    ops: tuple[Op, ...]


def view(y: Any, x: Any, op: Op) -> None:
    """Note that y = op(x) looks at x's memory, if it does."""
    if y.value.base is None or clock.owner(y.value) is not clock.owner(x.value):
        return
    root, way = getattr(x, "alias", None) or (x, ())
    y.alias = Alias(root, (*way, op))
    if root.tracked and root.is_leaf:
        return  # it is edited unrecorded or not at all, and its views keep their place
    views = root.views = getattr(root, "views", None) or []
    if len(views) & (len(views) - 1) == 0:  # at 1, 2, 4, 8, … those that died are let go
        views[:] = [v for v in views if v() is not None]
    views.append(ref(y))


def owns(x: Any) -> bool:
    """Whether x is a result, and no view nor looked at by any: its memory may be laid out anew."""
    looked_at = any(v() is not None for v in getattr(x, "views", None) or ())
    return getattr(x, "alias", None) is None and not looked_at and not (x.tracked and x.is_leaf)


def become(x: Any, y: Any) -> None:
    """x takes y's value, in its own memory, and y's history.

    Raises ShapeError or DTypeError where y does not fit, EditedError where x is a leaf that is being recorded, or was
    made in inference_mode.
    """
    stage = modes.current.mode.staging or getattr(x, "stage", None)
    if stage is not None:
        stage.become(x, y)
        return
    root = (getattr(x, "alias", None) or (x,))[0]
    if x.tracked is None and not modes.is_inference_mode_enabled():
        raise EditedError(f"{x.spec} was made in inference_mode, and is edited there or not at all: take x.clone()")
    if KINDS[y.dtype.kind] > KINDS[x.dtype.kind]:
        raise DTypeError(f"the result is {y.spec}, and does not fit into {x.spec}, edited in place: write x = …")
    if modes.current.mode.recording and root.tracked and root.is_leaf:
        what = "a view of a leaf" if root is not x else "a leaf"
        raise EditedError(
            f"{x.spec} is {what} that requires a gradient: edited in place, its old value could not be told from its "
            "new one. Edit it inside `with no_grad():`, or make a new tensor, as x = x + 1 does"
        )
    if y.tracked and y.node.saved:  # what the rule reads of x is its old value
        y.node.saved = tuple([kept.copy() if kept is x.value else kept for kept in y.node.saved])
    y = y.astype(x.dtype)
    write(x, y.value)
    settle(x, y)
    if modes.current.mode.recording or modes.followed():
        renew(root, x)


def settle(x: Any, y: Any) -> None:
    """x stands where y does, in the graph if there is one; retain_grad() goes with it, and so does its tangent."""
    is_own_leaf = x.tracked and x.is_leaf and not y.tracked  # a view that was itself asked for a gradient stays one
    if modes.current.mode.recording and not is_own_leaf:
        before = None if x.node is None else x.node.hooks
        x.node, x.tracked = (y.node, y.tracked) if y.tracked else (None, False)
        if before is not None and before.retain is not None and x.tracked:
            before.retain = None
            x.retain_grad()
    for watcher in modes.current.mode.watchers:
        watcher.saw(ops.Alias(), x, (y,))


def write(x: Any, value: Any) -> None:
    """Write a value into x's memory, unrecorded: what backward kept of it is out of date."""
    if value.shape != x.shape and np.broadcast_shapes(value.shape, x.shape) != x.shape:
        raise ShapeError(f"the result has shape {value.shape}, and {x.spec} is edited in place: its shape stays")
    try:
        x.value[...] = value
    except ValueError:
        raise EditedError(
            f"{x.spec} cannot be written to: it looks at memory in which several elements are one, or that is "
            "read-only. Edit x.clone()"
        ) from None
    clock.edit(x.value)


def renew(root: Any, x: Any) -> None:
    """After x was edited, which shares root's memory: root and all its views take their new places in the graph."""
    followed = modes.followed()
    if root is not x and (root.tracked or x.tracked or followed):
        settle(root, root.apply(ops.Overlay(x.alias.ops), x))
    for v in [held() for held in getattr(root, "views", ())]:
        if v is not None and (root.tracked or v.tracked or followed):
            y = root
            for op in v.alias.ops:
                y = y.apply(op)
            settle(v, y)


def as_it_was(x: Any) -> Any:
    """x before it is edited: in memory of its own if somebody watches, who may hold on to what a rule keeps."""
    return x.placed(x.value.copy(), origin(x)) if modes.current.mode.watchers else x


def in_place(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, its result written into the tensor itself: `add_` of `add`."""

    @wraps(method)
    def edit(self: Any, *others: Any, **options: Any) -> Any:
        old = as_it_was(self)
        become(self, method(old, *(old if o is self else o for o in others), **options))
        return self

    edit.__name__ = edit.__qualname__ = f"{method.__name__}_"
    edit.__doc__ = f"{method.__name__}, in place: {method.__doc__ or ''}".rstrip(": ")
    return edit


class Editable:
    """The part of Tensor that changes values in place."""

    __slots__ = ()

    @property
    def _version(self: Any) -> int:
        """How often this memory was edited in place."""
        return clock.edits_of(self.value)

    def copy_(self: Any, other: Any) -> Any:
        """Take the other's values."""
        become(self, self.apply(ops.Overlay(()), self.lift(other).astype(self.dtype).broadcast_to(self.shape)))
        return self

    def fill_(self: Any, value: Any) -> Any:
        """Take one number everywhere."""
        return self.copy_(value)

    def zero_(self: Any) -> Any:
        """Become 0 everywhere."""
        return self.copy_(0)

    def __setitem__(self: Any, index: Any, value: Any) -> None:
        become(self, self.index_set(index, value))
