"""Views in a graph that is being built. An edit of one is a new value of what owns the memory, with the view's new
value laid over it; every other view is taken again, of that new value, when it is next read.

This holds where a step from one tensor to the next is a view whatever its operand's layout is. Whether a reshape
looks or copies depends on the layout, which is followed here as far as it is simple: else the edit is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np

from .. import ops
from ..base.errors import EditedError
from ..core.modes import current, in_mode
from ..core.node import Node, toposort
from ..core.op import Elementwise, Op
from .tracer import Tracer

if TYPE_CHECKING:
    from .builder import GraphBuilder

SAME = ops.StopGradient, ops.Alias, ops.Within  # which give what they are given
LOOKS = ops.Index, ops.Transpose, ops.BroadcastTo, ops.Diagonal, ops.Windows, *SAME
BY_LAYOUT = ops.Reshape, ops.Contiguous


def way(x: Tracer) -> list[Tracer]:
    """The views by which one comes to x from what owns its memory; x is the last."""
    found = []
    while x.root is not None and x.look is not None:
        found.append(x)
        x = x.look[0]
    return found[::-1]


def is_detached(x: Tracer) -> bool:
    """Whether it shares its memory with what it was taken of, and not its history."""
    return any(view.look and isinstance(view.look[1], ops.StopGradient) for view in way(x))


def refresh(builder: GraphBuilder, x: Tracer) -> None:
    """Take x again, where what it looks at was edited since."""
    if x.root is None or x.base is x.root.node:
        return
    above = x.root
    for y in way(x):
        assert y.look is not None  # a view
        _, op, is_recorded = y.look
        if y.base is not x.root.node:
            is_plain = isinstance(y.node.op, ops.StopGradient) and len(y.node.inputs) < 2
            before = (y.node,) if isinstance(op, ops.StopGradient) and not is_plain else ()  # its edits' history
            y.node, y.base = builder.node(op, (above.node, *before)), x.root.node
            if not is_recorded and y.spec.is_float:
                y.node = builder.node(ops.StopGradient(), (y.node,))
        above = y


def write_through(builder: GraphBuilder, x: Tracer, y: Tracer) -> None:
    """The view x has y's value from here on, and so has what it looks at. Raises EditedError where x may be a copy."""
    refuse_copy(x)
    steps = way(x)
    apart = [i for i, view in enumerate(steps) if view.look and isinstance(view.look[1], ops.StopGradient)]
    start = apart[-1] + 1 if apart else 0  # the views from there on share a history with what they are taken of
    over = steps[start - 1] if apart else x.root
    assert over is not None  # the owner, or the last that was detached
    part = y
    if start < len(steps):
        part = over.apply(ops.ViewScatter(tuple(view.look[1] for view in steps[start:] if view.look)), y)
    if apart:
        over.node = part.node
        with in_mode(recording=False):
            builder.take(builder.owner(over.look[0]), part)  # type: ignore[index]
        over.base = x.memory.node
    else:
        builder.take(builder.owner(over), part)
    if current.mode.recording:
        x.node, x.base = y.node, x.memory.node


def refuse_copy(x: Tracer) -> None:
    """Raises EditedError where x cannot be written to, or may be a copy, by run, of what it was taken of."""
    links = [view.look[1] for view in way(x) if view.look]
    if any(isinstance(op, ops.BroadcastTo) or (isinstance(op, ops.Windows) and op.step < op.size) for op in links):
        raise EditedError(f"{x} looks at memory in which several elements are one, and is not edited: edit x.clone()")
    if not is_followed(x):
        raise EditedError(
            f"{x} is a view, or a copy: which of the two depends on how its operand lies in memory, and on the device, "
            "and while a graph is built that is not known here. Edit the tensor itself, by x[…] = value; or x.view(…), "
            "which is never a copy; or x.clone()"
        )


def is_followed(x: Tracer) -> bool:
    """Whether x surely looks at the memory of its root."""
    links = [view for view in way(x) if view.look and not view.is_surely]
    kinds = [view.look[1] for view in links if view.look]
    if not all(isinstance(op, LOOKS + BY_LAYOUT) for op in kinds):
        return False
    loose = [view for view in links if isinstance(view.look[1], BY_LAYOUT) and not moves_ones(view)]  # type: ignore[index]
    return not loose or lies_so(x)


def moves_ones(view: Tracer) -> bool:
    """Whether a reshape adds axes of length 1, or takes some away, and no more."""
    parent, op, _ = view.look  # type: ignore[misc]
    return isinstance(op, ops.Reshape) and [n for n in parent.shape if n != 1] == [n for n in view.shape if n != 1]


def lies_so(x: Tracer) -> bool:
    """Whether an array of the layout of x's root, as far as that is known, would be looked at all along the way."""
    root = x.memory
    if not all(isinstance(n, int) for view in (root, *way(x)) for n in view.shape):
        return False
    laid = is_laid(root.builder, root.base)
    z: Any = np.empty([n if laid else n + 1 for n in root.shape], bool)[tuple(slice(n) for n in root.shape)]
    for view in way(x):
        op: Op = view.look[1]  # type: ignore[index]
        y = z if isinstance(op, SAME) else z.reshape(op.shape) if isinstance(op, ops.Reshape) else op.forward(np, z)
        if isinstance(op, ops.Contiguous) and not laid:
            return False
        if y.size and not np.may_share_memory(y, z):
            return False
        z = y
    return True


def is_laid(builder: GraphBuilder, node: Node) -> bool:
    """Whether its elements surely lie in memory in the order of the axes, by run."""
    laid: dict[Node, bool] = {}
    given = builder.origins()
    for x in toposort(node):
        if isinstance(x.op, ops.Input):
            laid[x] = lies_in_order(builder, given.get(x))
        elif isinstance(x.op, Elementwise | ops.Reshape | ops.StopGradient | ops.ControlDep):
            laid[x] = all(laid[operand] for operand in x.inputs)
        else:
            laid[x] = isinstance(x.op, ops.Const | ops.Clone | ops.MatMul)
    return laid[node]


def lies_in_order(builder: GraphBuilder, what: Any) -> bool:
    """The same of what an input reads: as it is now, which who runs the graph looks at again."""
    if isinstance(what, Tracer):
        return what.root is None and is_laid(what.builder, what.base)
    while builder.outer is not None:
        builder = builder.outer
    builder.laid.add(id(what))
    flags = getattr(getattr(what, "value", None), "flags", None)
    return flags is not None and bool(flags.c_contiguous)


def stale(x: Tracer) -> None:
    """x was edited: what may look at its memory no longer shows it, but for its views, which are taken again."""
    views, x.views = x.views, WeakSet()
    for view in views:
        if view.root is x and is_followed(view):
            x.views.add(view)
            parent, op, is_recorded = view.look  # type: ignore[misc]
            view.look = parent, op, is_recorded or current.mode.recording
        else:
            view.edited = True
        stale(view)
