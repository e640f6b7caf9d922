"""Views in a graph that is being built. An edit of a view gives the owner of its memory a new value, which contains
the new value of the view. Every other view is taken again from that new value when it is next read.

This works for ops that return a view whatever the layout of their operand. Whether a reshape is a view or a copy
depends on the layout, which is tracked here in simple cases; in all others the edit is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np

from ..engine import ops
from ..engine.base.errors import EditedError
from ..engine.core.modes import current, in_mode
from ..engine.core.node import Node, toposort
from ..engine.core.op import Elementwise, Op
from .tracer import Tracer

if TYPE_CHECKING:
    from .builder import GraphBuilder

SAME = ops.StopGradient, ops.Alias, ops.Within  # ops that return their operand
LOOKS = ops.Index, ops.Transpose, ops.BroadcastTo, ops.Diagonal, ops.Windows, *SAME
BY_LAYOUT = ops.Reshape, ops.Contiguous


def views_to(x: Tracer) -> list[Tracer]:
    """The views between the owner of the memory and x, in order; x is the last."""
    found = []
    while x.root is not None and x.look is not None:
        found.append(x)
        x = x.look[0]
    return found[::-1]


def is_detached(x: Tracer) -> bool:
    """Whether x shares the memory, but not the history, of the tensor that it is a view of."""
    return any(view.look and isinstance(view.look[1], ops.StopGradient) for view in views_to(x))


def keep_history(builder: GraphBuilder, node: Node, before: Node) -> Node:
    """A node with the value of `node` and the history of `before`; a detach() has no history."""
    is_detach = isinstance(before.op, ops.StopGradient) and len(before.inputs) < 2
    return builder.node(ops.StopGradient(), (node,) if is_detach else (node, before))


def refresh(builder: GraphBuilder, x: Tracer) -> None:
    """Take the view x again if its root was edited after it was taken."""
    if x.root is None or x.base is x.root.node:
        return
    above = x.root
    for y in views_to(x):
        assert y.look is not None  # a view
        _, op, is_recorded = y.look
        if y.base is not x.root.node:
            is_detach, y.base = isinstance(op, ops.StopGradient), x.root.node
            y.node = keep_history(builder, above.node, y.node) if is_detach else builder.node(op, (above.node,))
            if not is_recorded and y.spec.is_float and not is_detach:
                y.node = builder.node(ops.StopGradient(), (y.node,))
        above = y


def write_through(builder: GraphBuilder, x: Tracer, y: Tracer) -> None:
    """Write y into the view x, and so into its root. Raises EditedError if x may be a copy."""
    refuse_copy(x)
    steps = views_to(x)
    apart = [i for i, view in enumerate(steps) if view.look and isinstance(view.look[1], ops.StopGradient)]
    start = apart[-1] + 1 if apart else 0  # from there on, each view shares the history of its operand
    over = steps[start - 1] if apart else x.root
    assert over is not None  # the owner, or the last detached view
    links = tuple(view.look[1] for view in steps[start:] if view.look)
    part = over.apply(ops.ViewScatter(links), y) if links else y
    if apart:
        over.node = part.node if current.mode.recording else keep_history(builder, part.node, over.node)
        with in_mode(recording=False):
            builder.take(builder.owner(over.look[0]), part)  # type: ignore[index]
        over.base = x.memory.node
    else:
        builder.take(builder.owner(over), part)
    refresh(builder, x)


def refuse_copy(x: Tracer) -> None:
    """Raises EditedError if x cannot be written to, or may be a copy in some run."""
    links = [view.look[1] for view in views_to(x) if view.look]
    if any(isinstance(op, ops.BroadcastTo) or (isinstance(op, ops.Windows) and op.step < op.size) for op in links):
        raise EditedError(f"cannot edit {x}, because several of its elements share memory: edit x.clone()")
    if not is_sure_view(x):
        raise EditedError(
            f"cannot edit {x}: whether it is a view or a copy depends on the memory layout of its operand and on the "
            "device, which are unknown while a graph is built. Edit the tensor itself, by x[…] = value; or x.view(…), "
            "which is never a copy; or x.clone()"
        )


def is_sure_view(x: Tracer) -> bool:
    """Whether x is a view of its root in every run."""
    links = [view for view in views_to(x) if view.look and not view.is_sure_view]
    kinds = [view.look[1] for view in links if view.look]
    if not all(isinstance(op, LOOKS + BY_LAYOUT) for op in kinds):
        return False
    loose = [view for view in links if isinstance(view.look[1], BY_LAYOUT) and not moves_ones(view)]  # type: ignore[index]
    return not loose or stays_view(x)


def moves_ones(view: Tracer) -> bool:
    """Whether a reshape only adds or removes axes of length 1."""
    parent, op, _ = view.look  # type: ignore[misc]
    return isinstance(op, ops.Reshape) and [n for n in parent.shape if n != 1] == [n for n in view.shape if n != 1]


def stays_view(x: Tracer) -> bool:
    """Whether each step to x returns a view for an array with the layout of x's root, as far as that is known."""
    root = x.memory
    if not all(isinstance(n, int) for view in (root, *views_to(x)) for n in view.shape):
        return False
    laid = is_contiguous(root.builder, root.base)
    z: Any = np.empty([n if laid else n + 1 for n in root.shape], bool)[tuple(slice(n) for n in root.shape)]
    for view in views_to(x):
        op: Op = view.look[1]  # type: ignore[index]
        y = z if isinstance(op, SAME) else z.reshape(op.shape) if isinstance(op, ops.Reshape) else op.forward(np, z)
        if isinstance(op, ops.Contiguous) and not laid:
            return False
        if y.size and not np.may_share_memory(y, z):
            return False
        z = y
    return True


def is_contiguous(builder: GraphBuilder, node: Node) -> bool:
    """Whether the array of the node is contiguous in every run."""
    laid: dict[Node, bool] = {}
    given = builder.origins
    for x in toposort(node):
        if isinstance(x.op, ops.Input):
            laid[x] = reads_contiguous(builder, given.get(x))
        elif isinstance(x.op, Elementwise | ops.Reshape | ops.StopGradient | ops.ControlDep):
            laid[x] = all(laid[operand] for operand in x.inputs)
        else:
            laid[x] = isinstance(x.op, ops.Const | ops.Clone | ops.MatMul)
    return laid[node]


def reads_contiguous(builder: GraphBuilder, what: Any) -> bool:
    """Whether the tensor that an input reads is contiguous now; each run checks it again."""
    if isinstance(what, Tracer):
        return what.root is None and is_contiguous(what.builder, what.base)
    while builder.outer is not None:
        builder = builder.outer
    builder.laid.add(id(what))
    flags = getattr(getattr(what, "value", None), "flags", None)
    return flags is not None and bool(flags.c_contiguous)


def mark_stale(x: Tracer, apart: Sequence[Tracer] = ()) -> None:
    """After an edit of x, mark as stale all symbols that may share its memory, except its sure views, which are taken
    again, and the symbols in `apart`, which share no memory with the edited part.
    """
    views, x.views = x.views, WeakSet()
    for view in views:
        if any(view is y for y in apart):
            x.views.add(view)
            continue
        if view.root is x and is_sure_view(view):
            x.views.add(view)
            parent, op, is_recorded = view.look  # type: ignore[misc]
            view.look = parent, op, is_recorded or current.mode.recording
        else:
            view.edited = True
        mark_stale(view)
