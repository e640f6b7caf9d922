"""Hooks: functions that a module calls before and after its forward pass, and after its backward."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from .. import ops
from ..hooks import Handle
from ..tensor import Tensor


class Hook(NamedTuple):
    """A function, and when a module calls it."""

    moment: str
    function: Callable[..., Any]
    with_kwargs: bool = False


def registered(hooks: dict[int, Any], hook: Hook, prepend: bool) -> Handle:
    """The hook, last or first among those there are; the handle takes it out again."""
    earlier = dict(hooks)
    handle = Handle(hooks, hook)  # type: ignore[arg-type]  # it is kept there, and called by the module
    if prepend:
        for ticket in earlier:
            hooks[ticket] = hooks.pop(ticket)
    return handle


class Crossing:
    """One call of a module that has backward hooks: the gradients at both of its ends, as they arrive.

    Each end is a copy of what came in or went out, so that only the gradients of this very call are seen.
    """

    def __init__(self, module: Any, hooks: list[Callable[..., Any]]):
        self.module, self.hooks = module, hooks
        self.gxs: list[Any] = []
        self.gys: list[Any] = []
        self.awaited: set[int] = set()

    def inputs(self, xs: tuple[Any, ...]) -> tuple[Any, ...]:
        self.gxs = [None] * len(xs)
        self.awaited = {i for i, x in enumerate(xs) if isinstance(x, Tensor) and x.requires_grad}
        self.alone = len(self.awaited) == 1
        return tuple(watched(x, partial(self.entered, i)) if i in self.awaited else x for i, x in enumerate(xs))

    def outputs(self, y: Any) -> Any:
        ys = y if isinstance(y, tuple) else (y,)
        self.gys = [None] * len(ys)
        wanted = [isinstance(y, Tensor) and y.requires_grad for y in ys]
        ys = tuple(watched(y, partial(self.left, i)) if wanted[i] else y for i, y in enumerate(ys))
        return ys if isinstance(y, tuple) else ys[0]

    def left(self, i: int, gy: Any) -> None:
        self.gys[i] = gy
        if not self.awaited:
            self.tell()

    def entered(self, i: int, gx: Any) -> Any:
        self.gxs[i] = gx
        self.awaited.discard(i)
        return None if self.awaited else self.tell()

    def tell(self) -> Any:
        """Call the hooks; what takes the place of the one input's gradient, if any."""
        replaced = None
        for hook in self.hooks:
            said = hook(self.module, tuple(self.gxs), tuple(self.gys))
            if said is None:
                continue
            if not self.alone:
                raise TypeError(
                    "a backward hook replaces the gradient of a module with one input that requires it, and "
                    f"{type(self.module).__name__} was called with another number: hook the tensors themselves"
                )
            self.gxs = list(said) if isinstance(said, tuple) else [said]
            replaced = next(gx for gx in self.gxs if gx is not None)
        return replaced


def watched(x: Tensor, hook: Callable[[Any], Any]) -> Tensor:
    """A copy of x whose gradient is told to the hook."""
    y: Tensor = x.apply(ops.Reshape(x.shape))
    y.register_hook(hook)
    return y
