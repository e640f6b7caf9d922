"""Modules: objects that hold parameters and run the forward pass when called; their hooks and their state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..api.functions.creation import zeros_like
from ..engine import ops
from ..engine.base.damaged_state import refuse_by_name
from ..engine.base.device import Device, device_of
from ..engine.base.dtypes import bfloat16, kind
from ..engine.base.errors import StateError
from ..engine.base.pytree import leaves, unflatten_like
from ..engine.core.calls import calling
from ..engine.core.hooks import Handle
from ..engine.core.modes import current
from ..engine.tensor.inplace import write
from ..engine.tensor.tensor import Tensor
from .tree import Parameter, Tree, dotted_name, move_to


class IncompatibleKeys(NamedTuple):
    """The names that did not match in load_state_dict; none if it was strict."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not any(self):
            return "<All keys matched successfully>"
        return f"IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


def array_of(value: Any) -> Any:
    return value.value if isinstance(value, Tensor) else np.asarray(value)


def array_faults(tensors: Mapping[str, Tensor], arrays: Mapping[str, Any]) -> list[str]:
    """A line for each array that cannot be copied into the tensor of its name, because of its shape or its dtype."""
    pairs = [(name, tensors[name], array) for name, array in arrays.items()]
    shapes = [f"{name} is {x.shape} here and {array.shape} there" for name, x, array in pairs if array.shape != x.shape]
    dtypes = [
        f"{name} has dtype {x.dtype} here and {array.dtype} in the state"
        for name, x, array in pairs
        if array.dtype.kind in "OSUMm" or "c" == array.dtype.kind != x.dtype.kind
    ]
    return shapes + dtypes


class Hook(NamedTuple):
    """A function, and when a module calls it."""

    moment: str
    function: Callable[..., Any]
    with_kwargs: bool = False


def register(hooks: dict[int, Any], hook: Hook, prepend: bool) -> Handle:
    """Add a hook after the others, or before them with `prepend`. The returned handle removes it."""
    earlier = dict(hooks)
    handle = Handle(hooks, hook)  # adds the hook to `hooks`
    if prepend:
        for ticket in earlier:
            hooks[ticket] = hooks.pop(ticket)
    return handle


class BackwardHooks:
    """Collects the gradients of inputs and outputs for one call of a module, and then calls its backward hooks.

    The inputs and outputs are copies, so only gradients of this call arrive here.
    """

    def __init__(self, module: Any, hooks: list[Callable[..., Any]]):
        self.module, self.hooks = module, hooks
        self.gxs: list[Any] = []
        self.gys: list[Any] = []
        self.awaited: set[int] = set()

    def wrap_inputs(self, xs: tuple[Any, ...]) -> tuple[Any, ...]:
        self.gxs = [None] * len(xs)
        self.awaited = {i for i, x in enumerate(xs) if isinstance(x, Tensor) and x.requires_grad}
        self.alone = len(self.awaited) == 1
        return tuple(
            copy_with_hook(x, partial(self.on_input_gradient, i)) if i in self.awaited else x for i, x in enumerate(xs)
        )

    def wrap_outputs(self, y: Any) -> Any:
        ys = y if isinstance(y, tuple) else (y,)
        self.gys = [None] * len(ys)
        wanted = [isinstance(y, Tensor) and y.requires_grad for y in ys]
        ys = tuple(copy_with_hook(y, partial(self.on_output_gradient, i)) if wanted[i] else y for i, y in enumerate(ys))
        return ys if isinstance(y, tuple) else ys[0]

    def on_output_gradient(self, i: int, gy: Any) -> None:
        self.gys[i] = gy
        if not self.awaited:
            self.call_hooks()

    def on_input_gradient(self, i: int, gx: Any) -> Any:
        self.gxs[i] = gx
        self.awaited.discard(i)
        return None if self.awaited else self.call_hooks()

    def call_hooks(self) -> Any:
        """Call the hooks. Returns the gradient that replaces the gradient of the only input, or None to keep it."""
        replaced = None
        for hook in self.hooks:
            said = hook(self.module, tuple(self.gxs), tuple(self.gys))
            if said is None:
                continue
            if not self.alone:
                raise TypeError(
                    "a backward hook can only replace the gradient if exactly one input requires a gradient; "
                    f"{type(self.module).__name__} was called with another number: hook the tensors themselves"
                )
            self.gxs = list(said) if isinstance(said, tuple) else [said]
            replaced = next(gx for gx in self.gxs if gx is not None)
        return replaced


def copy_with_hook(x: Tensor, hook: Callable[[Any], Any]) -> Tensor:
    """A copy of x that calls the hook with its gradient."""
    y: Tensor = x.apply(ops.Reshape(x.shape))
    y.register_hook(hook)
    return y


class Module(Tree):
    """The base class of layers and networks. A subclass creates its parameters in `__init__` and defines `forward`.

    training    whether the module is in training mode: dropout and batch normalisation depend on it
    """

    _shown: ClassVar[tuple[str, ...]] = ()  # the attributes in its repr: `p=` is shown with its name, `p` is not
    training: bool
    _hooks: dict[int, Hook]

    def __new__(cls, *_: Any, **__: Any) -> Self:
        self = super().__new__(cls)
        vars(self).update(training=True, _hooks={})
        return self

    def forward(self, *xs: Any, **options: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no forward pass: define its method forward")

    def __call__(self, *xs: Any, **options: Any) -> Any:
        if current.mode.calls is None:
            return self._call_with_hooks(xs, options) if self._hooks else self.forward(*xs, **options)
        with calling(self):
            if (builder := current.mode.builder) is None:
                return self._call_with_hooks(xs, options)
            before = builder.updates()
            y = self._call_with_hooks(xs, options)
            return unflatten_like(y, iter(builder.after_updates(leaves(y), before))) if len(builder.updates()) else y

    # -- hooks ----------------------------------------------------------------------------------

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> Handle:
        """Call hook(module, args) before forward. If the hook returns a value, this replaces args.

        With with_kwargs, call hook(module, args, kwargs), which may return (args, kwargs).
        """
        return register(self._hooks, Hook("before", hook, with_kwargs), prepend)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> Handle:
        """Call hook(module, args, output) after forward. If the hook returns a value, this replaces output.

        With with_kwargs, call hook(module, args, kwargs, output).
        """
        return register(self._hooks, Hook("after", hook, with_kwargs), prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> Handle:
        """Call hook(module, grad_input, grad_output), with two tuples, once the gradients of the inputs are known.

        A value that the hook returns replaces grad_input. This needs exactly one input that requires a gradient.
        """
        return register(self._hooks, Hook("backward", hook), prepend)

    def _call_with_hooks(self, xs: tuple[Any, ...], options: dict[str, Any]) -> Any:
        for hook in self._hooks_at("before"):
            said = hook.function(self, xs, options) if hook.with_kwargs else hook.function(self, xs)
            if said is not None and hook.with_kwargs:
                xs, options = said
            elif said is not None:
                xs = said if isinstance(said, tuple) else (said,)
        backward = self._hooks_at("backward")
        told = BackwardHooks(self, [hook.function for hook in backward]) if backward else None
        y = self.forward(*(xs if told is None else told.wrap_inputs(xs)), **options)
        for hook in self._hooks_at("after"):
            said = hook.function(self, xs, options, y) if hook.with_kwargs else hook.function(self, xs, y)
            y = y if said is None else said
        return y if told is None else told.wrap_outputs(y)

    def _hooks_at(self, moment: str) -> list[Hook]:
        return [hook for hook in self._hooks.values() if hook.moment == moment]

    # -- state: what is saved, and what is loaded --------------------------------------------------

    def state_dict(self, *, prefix: str = "") -> dict[str, Tensor]:
        """Dotted name → copy of the value, for each parameter and each persistent buffer."""
        return {prefix + name: Tensor(x._read().copy()) for name, x in self._named_state()}

    @refuse_by_name
    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy values into parameters and buffers by name. If an error is raised, nothing has changed.

        strict    whether module and state must have the same names
        assign    use the tensors and arrays of the state, with their dtype and device, as new parameters and buffers.
                  Create a new optimiser afterwards: the old optimiser holds the old parameters. A parameter with
                  several names stays one if the state has equal values for them; PyTorch makes one for each name

        Raises StateError on different shapes or dtypes, and, if strict, on missing or unexpected names.
        """
        mine = dict(self._named_state())
        missing = [name for name in mine if name not in state_dict]
        unexpected = [name for name in state_dict if name not in mine]
        values = {name: array_of(state_dict[name]) for name in mine if name in state_dict}
        faults = array_faults(mine, values)
        named = {"missing": missing, "unexpected": unexpected} if strict else {}
        if faults := faults + [f"{what}: {', '.join(map(str, names))}" for what, names in named.items() if names]:
            way = "; strict=False passes over names that do not match" if strict and (missing or unexpected) else ""
            head = f"the state does not fit {type(self).__name__}, and nothing was loaded{way}:"
            raise StateError("\n  ".join([head, *faults]))
        if assign:
            self._assign({name: state_dict[name] for name in values})
        else:
            arrays = {name: mine[name].spec.device.array(x, mine[name].dtype) for name, x in values.items()}
            for name, array in arrays.items():
                write(mine[name], array)
        return IncompatibleKeys(missing, unexpected)

    def _assign(self, state: dict[str, Any]) -> None:
        """Replace each named parameter or buffer by the value in the state."""
        before, made = dict(self._named_state()), dict[str, Tensor]()
        shared: dict[int, Tensor] = {}
        places = {name: (self.get_submodule(name.rpartition(".")[0]), name.rpartition(".")[2]) for name in state}
        for name, value in state.items():
            (module, last), old, array = places[name], before[name], array_of(value)
            twin = shared.get(id(old))
            if twin is not None and twin.dtype == array.dtype and device_of(array).xp.array_equal(twin.value, array):
                made[name] = twin
            elif last in module._buffers:
                made[name] = value if isinstance(value, Tensor) else Tensor(array)
            else:
                made[name] = value if isinstance(value, Parameter) else Parameter(array, old.requires_grad)
            shared.setdefault(id(old), made[name])
        for name, x in made.items():
            if isinstance(x, Parameter):
                x.requires_grad_(before[name].requires_grad)
            setattr(*places[name], x)

    def _named_state(self) -> Iterator[tuple[str, Tensor]]:
        for path, module in self.named_modules(remove_duplicate=False):
            for name, x in (*module._own_parameters(), *module._own_buffers()):
                if module._buffers.get(name, True):
                    yield dotted_name(path, name), x

    # -- operations on the whole tree -------------------------------------------------------------

    def apply(self, fn: Callable[[Any], Any]) -> Self:
        """Call fn on each submodule, then on this module. Initialisers are applied this way."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Switch this module and all submodules to training mode, or out of it with mode=False."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        """Switch this module and all submodules to evaluation mode: train(False)."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Unfreeze every parameter, or freeze it with requires_grad=False."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradient of every parameter to None, or, with set_to_none=False, to zeros."""
        for p in self.parameters():
            p.grad = None if set_to_none or p.grad is None else zeros_like(p.grad)

    def to(self, *where: Any, dtype: Any = None, device: Device | str | None = None) -> Self:
        """Move parameters and buffers to a device, a floating dtype, or both, in any order or by keyword.

        The tensors stay the same objects, so layers keep sharing them. Integer tensors keep their dtype.
        """
        for target in where:
            if isinstance(target, Device | str):
                device = target
            else:
                dtype = target
        if dtype is not None and kind(np.dtype(dtype)) != "f":
            raise TypeError(f"a module can only be moved to a floating dtype, got {np.dtype(dtype)}")
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

    def bfloat16(self) -> Self:
        return self.to(dtype=bfloat16)

    # -- to read --------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """The text between the brackets of the repr: the attributes that `_shown` names, such as a layer's sizes."""
        values = {name: getattr(self, name.rstrip("=")) for name in self._shown}
        if "bias=" in values:
            values["bias="] = values["bias="] is not None
        return ", ".join(f"{name if name[-1] == '=' else ''}{x}" for name, x in values.items())

    def __repr__(self) -> str:
        extra = self.extra_repr()
        parts = [f"  ({name}): {part!r}".replace("\n", "\n  ") for name, part in self._modules()]
        if not parts:
            return f"{type(self).__name__}({extra})"
        return "\n".join([f"{type(self).__name__}(", *([f"  {extra}"] if extra else []), *parts, ")"])
