"""Modules: objects whose tensors are parameters and whose call is the forward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from ..device import Device
from ..hooks import Handle
from ..modes import current
from ..tensor import Tensor
from .hooks import Crossing, Hook, registered
from .parameter import move_to
from .state import State


class Module(State):
    """Anything made of parameters. A subclass makes them in `__init__` and says `forward`.

    training    whether it is being trained: dropout and batch normalisation differ between the two
    """

    _hooks: dict[int, Hook]

    def __new__(cls, *_: Any, **__: Any) -> Self:
        self = super().__new__(cls)
        vars(self).update(training=True, _hooks={})
        return self

    def forward(self, *xs: Any, **options: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not say its forward pass: write its method forward")

    def __call__(self, *xs: Any, **options: Any) -> Any:
        return self._hooked(xs, options) if self._hooks else self.forward(*xs, **options)

    @property
    def training(self) -> bool:
        """Whether it is being trained. A graph that is built notes that it was asked, and is used while it stays so."""
        value: bool = vars(self)["training"]
        if current.mode.staging is not None:
            current.mode.staging.noticed(self, "training", value)
        return value

    @training.setter
    def training(self, mode: bool) -> None:
        vars(self)["training"] = mode

    # -- hooks ----------------------------------------------------------------------------------

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> Handle:
        """Call hook(module, args) before forward; what it returns, if not None, takes the place of args.

        With with_kwargs, hook(module, args, kwargs), which may return (args, kwargs).
        """
        return registered(self._hooks, Hook("before", hook, with_kwargs), prepend)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> Handle:
        """Call hook(module, args, output) after forward; what it returns, if not None, takes output's place.

        With with_kwargs, hook(module, args, kwargs, output).
        """
        return registered(self._hooks, Hook("after", hook, with_kwargs), prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> Handle:
        """Call hook(module, grad_input, grad_output), two tuples, when the gradients of the inputs have arrived.

        What it returns, if not None, takes grad_input's place: possible where one input requires a gradient.
        """
        return registered(self._hooks, Hook("backward", hook), prepend)

    def _hooked(self, xs: tuple[Any, ...], options: dict[str, Any]) -> Any:
        for hook in self._at("before"):
            said = hook.function(self, xs, options) if hook.with_kwargs else hook.function(self, xs)
            if said is not None and hook.with_kwargs:
                xs, options = said
            elif said is not None:
                xs = said if isinstance(said, tuple) else (said,)
        backward = self._at("backward")
        crossing = Crossing(self, [hook.function for hook in backward]) if backward else None
        y = self.forward(*(xs if crossing is None else crossing.inputs(xs)), **options)
        for hook in self._at("after"):
            said = hook.function(self, xs, options, y) if hook.with_kwargs else hook.function(self, xs, y)
            y = y if said is None else said
        return y if crossing is None else crossing.outputs(y)

    def _at(self, moment: str) -> list[Hook]:
        return [hook for hook in self._hooks.values() if hook.moment == moment]

    # -- all at once ----------------------------------------------------------------------------

    def apply(self, fn: Callable[[Any], Any]) -> Self:
        """Call fn on each module below, and then on this one: how initialisers are applied."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Say that training begins, here and below."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        """Say that training is over: the same as train(False)."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Freeze every parameter, or let it learn again."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget every parameter's gradient; or, with set_to_none=False, fill it with zeros."""
        for p in self.parameters():
            p.grad = None if set_to_none or p.grad is None else Tensor(p.spec.device.xp.zeros_like(p.grad.value))

    def to(self, *where: Any, dtype: Any = None, device: Device | str | None = None) -> Self:
        """Move parameters and buffers to a device, a floating dtype, or both; given by name, or in any order.

        The tensors stay the same objects, so layers that share one go on sharing it. Integers keep their dtype.
        """
        for target in where:
            if isinstance(target, Device | str):
                device = target
            else:
                dtype = target
        if dtype is not None and np.dtype(dtype).kind != "f":
            raise TypeError(f"a module is moved to a floating dtype, and {np.dtype(dtype)} was asked")
        for x in {id(x): x for x in (*self.parameters(), *self.buffers())}.values():
            move_to(x, dtype if x.spec.is_float else None, device)
        return self

    def cpu(self) -> Self:
        return self.to("cpu")

    def cuda(self) -> Self:
        return self.to("gpu")

    def type(self, dst_type: Any) -> Self:
        return self.to(dtype=dst_type)

    def float(self) -> Self:
        return self.to(dtype=np.float32)

    def double(self) -> Self:
        return self.to(dtype=np.float64)

    def half(self) -> Self:
        return self.to(dtype=np.float16)

    # -- to read --------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """What stands between the brackets of its repr: a layer's sizes, say."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        parts = [f"  ({name}): {part!r}".replace("\n", "\n  ") for name, part in self._modules()]
        if not parts:
            return f"{type(self).__name__}({extra})"
        return "\n".join([f"{type(self).__name__}(", *([f"  {extra}"] if extra else []), *parts, ")"])
