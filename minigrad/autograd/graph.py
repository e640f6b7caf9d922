"""Hooks that pack the tensors saved for backward, and anomaly detection, which finds the origin of a NaN.

Both are watchers, and need no support from the ops or the backward pass. Packing packs the saved arrays of each record,
and wraps the record's rule in Unpacking. Witness notes the line of each op, and stops backward at the first NaN.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from ..engine.base.errors import AnomalyError
from ..engine.core import modes
from ..engine.core.node import Node
from ..engine.core.op import Op
from ..engine.tensor.tensor import Tensor
from .function_rule import Arrivals, keeper


@dataclass(frozen=True, eq=False)
class Unpacking:
    """Wraps the rule of a record whose saved arrays are packed: unpacks them for the rule."""

    rule: Any
    unpack: Callable[[Any], Tensor]
    reads = ()  # no check for edits: packed values are not arrays

    spec = property(lambda self: self.rule.spec)

    def pull(self, gy: Any, *packed: Any) -> tuple[Any, ...]:
        return self.rule.pull(gy, *map(self.array, packed))  # type: ignore[no-any-return]

    def trace(self, node: Any, gy: Any, *packed: Any) -> tuple[Any, ...]:
        return self.rule.trace(node, gy, *map(self.array, packed))  # type: ignore[no-any-return]

    def array(self, packed: Any) -> Any:
        """The array that was packed."""
        if packed is None:
            return None
        x = self.unpack(packed)
        if not isinstance(x, Tensor):
            raise TypeError(f"saved_tensors_hooks: unpack must return a tensor; for {packed!r} it returned {x!r}")
        return x.value


class Packing:
    """The watcher that packs the saved arrays of each op."""

    def __init__(self, pack: Callable[[Tensor], Any], unpack: Callable[[Any], Tensor]):
        self.pack, self.unpack = pack, unpack

    def on_forward(self, op: Op, y: Tensor, xs: tuple[Tensor, ...]) -> None:
        if innermost() is not self or not y.tracked or y.is_leaf:
            return
        node = keeper(y)
        if node.saved and not isinstance(node.rule, Unpacking):
            node.saved = tuple(None if array is None else self.pack(Tensor(array)) for array in node.saved)
            node.rule = Unpacking(node.rule, self.unpack)

    def on_backward(self, node: Any, gy: Any, gxs: tuple[Any, ...]) -> None:
        pass


def innermost() -> Packing | None:
    """The Packing of the innermost saved_tensors_hooks block, the only one that packs; None outside such blocks."""
    return next((w for w in reversed(modes.current.mode.watchers) if isinstance(w, Packing)), None)


@contextmanager
def saved_tensors_hooks(pack: Callable[[Tensor], Any], unpack: Callable[[Any], Tensor]) -> Iterator[None]:
    """A block in which pack(tensor) is saved for backward instead of the tensor. Backward reads unpack(pack(tensor)).

    If blocks nest, the innermost applies.
    """
    with modes.watching(Packing(pack, unpack)):
        yield


@contextmanager
def save_on_cpu() -> Iterator[None]:
    """A block in which tensors saved for backward are moved to the memory of the CPU."""
    with saved_tensors_hooks(lambda x: (x.to("cpu"), x.spec.device), lambda packed: packed[0].to(packed[1])):
        yield


PACKAGE = str(Path(__file__).parents[1]) + os.sep

lines: WeakKeyDictionary[Node, str] = WeakKeyDictionary()  # node → the line of user code that ran its op


class Witness:
    """The watcher that notes the line of each op, and checks every gradient for NaN."""

    def __init__(self, check_nan: bool):
        self.check_nan = check_nan

    def on_forward(self, op: Op, y: Tensor, xs: tuple[Tensor, ...]) -> None:
        if y.tracked:
            lines[keeper(y)] = users_line()

    def on_backward(self, node: Node, gy: Any, gxs: tuple[Any, ...]) -> None:
        for i, gx in enumerate(gxs):
            if self.check_nan and gx is not None and has_nan(gx):
                where = lines.get(node, "  (recorded outside detect_anomaly, so its line was not noted)")
                came = "from a NaN that arrived" if has_nan(gy) else f"from {gy}"
                raise AnomalyError(
                    f"the backward of {node} made a NaN as the gradient of its operand {i}, {came}. "
                    f"Forward ran here:\n{where}"
                )


@contextmanager
def detect_anomaly(check_nan: bool = True) -> Iterator[None]:
    """A block in which backward raises AnomalyError at the first NaN, with the line of the op whose backward made it.

    Forward must run inside the block too, so that its lines are noted. Code in the block runs about five times slower.
    """
    with modes.watching(Witness(check_nan)):
        yield


class set_detect_anomaly:
    """Turn anomaly detection on or off: from this call on, or inside the `with` block."""

    def __init__(self, mode: bool, check_nan: bool = True):
        self.before = modes.current.mode.watchers
        others = tuple(w for w in self.before if not isinstance(w, Witness))
        watchers = (*others, Witness(check_nan)) if mode else others
        modes.current.mode = replace(modes.current.mode, watchers=watchers)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *raised: object) -> None:
        modes.current.mode = replace(modes.current.mode, watchers=self.before)


def has_nan(g: Any) -> bool:
    """Whether a gradient (an array, a tensor or Arrivals) contains NaN."""
    if isinstance(g, Arrivals):
        return any(map(has_nan, g.values()))
    array = getattr(g, "value", g)
    return bool((array != array).any())


def users_line() -> str:
    """The innermost line on the call stack that is outside minigrad, in the format of a traceback."""
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return "".join(traceback.format_stack(frame, limit=1)).rstrip()
