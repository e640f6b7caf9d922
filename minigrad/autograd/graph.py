"""What a graph keeps between forward and backward, put elsewhere: packed when it is saved, unpacked when it is read.

Neither the ops nor the backward pass know of it: a watcher changes what a record has saved, and puts a
rule before its rule that changes it back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..base.spec import Spec
from ..core import modes
from ..core.op import Op
from ..tensor.tensor import Tensor
from .function_rule import keeper


@dataclass(frozen=True, eq=False)
class Unpacking:
    """A rule whose saved arrays are packed."""

    rule: Any
    unpack: Callable[[Any], Tensor]
    reads = ()  # of what is packed nobody can say whether it was edited

    @property
    def spec(self) -> Spec:
        return self.rule.spec  # type: ignore[no-any-return]

    def pull(self, gy: Any, *packed: Any) -> tuple[Any, ...]:
        return self.rule.pull(gy, *map(self.array, packed))  # type: ignore[no-any-return]

    def trace(self, node: Any, gy: Any, *packed: Any) -> tuple[Any, ...]:
        return self.rule.trace(node, gy, *map(self.array, packed))  # type: ignore[no-any-return]

    def array(self, packed: Any) -> Any:
        """What was packed."""
        if packed is None:
            return None
        x = self.unpack(packed)
        if not isinstance(x, Tensor):
            raise TypeError(f"saved_tensors_hooks: unpack gives back a tensor, and of {packed!r} it made {x!r}")
        return x.value


class Packing:
    """The watcher that packs what each op keeps."""

    def __init__(self, pack: Callable[[Tensor], Any], unpack: Callable[[Any], Tensor]):
        self.pack, self.unpack = pack, unpack

    def saw(self, op: Op, y: Tensor, xs: tuple[Tensor, ...]) -> None:
        if innermost() is not self or not y.tracked or y.is_leaf:
            return
        node = keeper(y)
        if node.saved and not isinstance(node.rule, Unpacking):
            node.saved = tuple(None if array is None else self.pack(Tensor(array)) for array in node.saved)
            node.rule = Unpacking(node.rule, self.unpack)

    def pulled(self, node: Any, gy: Any, gxs: tuple[Any, ...]) -> None:
        pass


def innermost() -> Packing | None:
    """Whose packing counts just now."""
    return next((w for w in reversed(modes.current.mode.watchers) if isinstance(w, Packing)), None)


@contextmanager
def saved_tensors_hooks(pack: Callable[[Tensor], Any], unpack: Callable[[Any], Tensor]) -> Iterator[None]:
    """A block in which each tensor kept for backward is pack(tensor), and backward reads unpack of that.

    Of nested blocks the innermost counts.
    """
    with modes.watching(Packing(pack, unpack)):
        yield


@contextmanager
def save_on_cpu() -> Iterator[None]:
    """A block in which what is kept for backward waits in the memory of the CPU."""
    with saved_tensors_hooks(lambda x: (x.to("cpu"), x.spec.device), lambda packed: packed[0].to(packed[1])):
        yield
