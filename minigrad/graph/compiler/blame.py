"""Find the op that failed. Compiled code knows no nodes, so a failed run is repeated op by op until an op fails.

    BoundsError: Index (…), built at model.py:12, in forward, of x: f64[2] from 1 to 2 and i: i64[] = 5 failed: …

The NaN trap works the same way: it stops at the first op that makes a NaN or an infinity out of finite numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np

from ...engine.base.dtypes import kind
from ...engine.base.errors import AnomalyError
from ...engine.base.spec import Specs
from ...engine.core.interpret import value, walk_graph
from ...engine.core.node import Node
from ...engine.ops.effect import Effect

if TYPE_CHECKING:
    from .executable import Executable

Arrays = tuple[Any, ...]
Walk = Callable[["Executable", Sequence[Any]], Arrays]

walk_now: ContextVar[Walk | None] = ContextVar("walk", default=None)  # how graphs run now; None: as compiled programs


@contextmanager
def walking(walk: Walk | None) -> Iterator[None]:
    """Within the block, `walk` runs every graph, including branches and loop bodies, for example op by op or timed."""
    before = walk_now.get()
    walk_now.set(walk)
    try:
        yield
    finally:
        walk_now.set(before)  # not reset(token): a token is valid in one context only; each notebook cell has its own


def trap_nan() -> Any:
    """Within the block, every graph runs op by op, and an error names the first op that makes a NaN or an infinity."""
    return walking(lambda executable, arrays: walk_graph(executable.graph, arrays, check_finite_result))


def find_failing_op(executable: Executable, arrays: Sequence[Any]) -> tuple[str, Exception] | None:
    """A description of the graph's first op that fails on these arrays, and its error; None if no op fails.

    This may be a different op from the one where the program stopped: the program runs its lines in its own order.

    Effects that can fail are repeated: a Python function is called again. Prints are not repeated.
    """
    with walking(walk_again):
        try:
            walk_again(executable, arrays)
        except Exception as error:
            if interrupts(error):
                raise
            return getattr(error, "failed", ""), error  # describes the innermost op, in any branch or loop
    return None


def interrupts(error: BaseException) -> bool:
    """Whether a signal handler raised the error: only a handler receives its caller's frame as an argument."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        caller, trace = trace.tb_frame, trace.tb_next
        code, values = trace.tb_frame.f_code, trace.tb_frame.f_locals
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + 1]  # + 1 for *args, if any
        given = [values[name] for name in names if name in values]
        if any(x is caller for each in given for x in (each if type(each) is tuple else (each,))):
            return True
    return False


def walk_again(executable: Executable, arrays: Sequence[Any]) -> Arrays:
    """The outputs, computed again op by op without printing."""
    return walk_graph(executable.graph, arrays, recompute_node)


def recompute_node(node: Node, xs: Sequence[Any]) -> Any:
    """Compute a node's value again. If that fails, the error names the innermost node that failed."""
    silent = isinstance(node.op, Effect) and not node.op.repeats
    try:
        return stand_in_value(node, xs) if silent else value(node, *xs)
    except Exception as error:
        if not hasattr(error, "failed"):
            error.failed = f"{description(node, xs)} failed"  # type: ignore[attr-defined]
        raise


def stand_in_value(node: Node, xs: Sequence[Any]) -> Any:
    """A stand-in for the result of an effect that is not repeated: its first operand, or zeros of its shape."""
    if xs and getattr(xs[0], "shape", ()) == getattr(node.spec, "shape", ()):
        return xs[0]
    return () if isinstance(node.spec, Specs) else np.zeros(node.spec.shape, node.spec.dtype)


def check_finite_result(node: Node, xs: Sequence[Any]) -> Any:
    """A node's value. Raises AnomalyError if it contains NaN or infinity although its inputs are finite."""
    with np.errstate(all="ignore"):
        y = value(node, *xs)
    if not finite(y) and all(map(finite, xs)):
        raise AnomalyError(f"{description(node, xs)} made {span(y)} of finite numbers")
    return y


def finite(x: Any) -> bool:
    """Whether an array, or every array of a tuple, holds finite numbers only."""
    if isinstance(x, tuple):
        return all(map(finite, x))
    return kind(x.dtype) != "f" or bool((abs(x) < np.inf).all())


def description(node: Node, xs: Sequence[Any]) -> str:
    """A node described by its name, the line that built it, and the range of each operand's values."""
    named = f"{node.name} ({node.op})" if hasattr(node, "name") and node.name != str(node.op) else str(node.op)
    where = lineage(node)
    met = " and ".join(f"{label(x)}{x.spec} {span(a)}" for x, a in zip(node.inputs, xs))
    return f"{named}{where} of {met}" if met else f"{named}{where}"


def lineage(node: Node) -> str:
    """Where a node was built; for a node of a derivative, where one of its operands was built."""
    place = getattr(node, "place", None)
    if place is not None:
        return f", built at {place},"
    near = next((x.place for x in node.inputs if getattr(x, "place", None) is not None), None)  # type: ignore[attr-defined]
    return "" if near is None else f", which reads what was built at {near},"


def label(node: Node) -> str:
    """A node's name and a colon, as a prefix for its spec."""
    return f"{node.name}: " if hasattr(node, "name") else ""


def span(x: Any) -> str:
    """The smallest and largest finite value of an array, and how many values are NaN or infinite."""
    if isinstance(x, tuple):
        return f"({', '.join(map(span, x))})"
    if not x.size:
        return "without elements"
    x = x if isinstance(x, np.ndarray | np.generic) else x.get()
    if kind(x.dtype) != "f":
        return f"from {x.min()} to {x.max()}" if x.size > 1 else f"= {x.item()}"
    ok = x[abs(x) < np.inf]
    nan, infinite = int((x != x).sum()), int((abs(x) == np.inf).sum())
    odd = [f"{count} {what}" for count, what in ((nan, "NaN"), (infinite, "infinite")) if count]
    whole = [] if not ok.size else [f"from {ok.min():.6g} to {ok.max():.6g}" if ok.size > 1 else f"= {ok.item():.6g}"]
    return ", ".join([*whole, *odd])
