"""The contents of a module: parameters, which are learned, buffers, and other modules, each under an attribute name.

A dotted name leads down the tree: `encoder.0.weight` is the weight of submodule 0 of submodule encoder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..api.functions.creation import place
from ..engine.base.device import Device
from ..engine.base.errors import EditedError, GraphError
from ..engine.core.modes import current
from ..engine.core.stateful import MISSING, ModuleLike, note_change
from ..engine.methods import Operand
from ..engine.tensor.symbol import Symbol
from ..engine.tensor.tensor import Tensor


class Parameter(Tensor):
    """A leaf tensor that is learned, and becomes a parameter of the module it is assigned to.

    With requires_grad=False it is frozen: it still belongs to the module and is saved, but gets no gradient.
    """

    __slots__ = ()

    def __init__(self, data: Any, requires_grad: bool = True):
        if isinstance(data, Symbol):
            raise GraphError(
                f"a Parameter needs a value, and this {data.spec} has none before the graph runs: make it in "
                "__init__, and change it in the function by p.copy_(…) inside `with no_grad():`"
            )
        super().__init__(data, requires_grad=requires_grad)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


class ComputedTensor(Tensor):
    """A tensor that a module computes on every access. Writing to it would have no effect, so it raises an error."""

    __slots__ = ()

    @property
    def data(self) -> Tensor:
        return self.detach()

    @data.setter
    def data(self, data: Any) -> None:
        raise EditedError(f"{self.spec} is computed on every access, like a pruned weight: edit weight_orig")

    @classmethod
    def from_result(cls, x: Any) -> Any:
        """x as a read-only tensor of this class if it holds a NumPy array; anything else unchanged."""
        if isinstance(x, Tensor) and isinstance(x.value, np.ndarray):
            x.__class__ = cls
            x.value.flags.writeable = False
        return x


def parameter(*shape: int, dtype: Any = None, device: Device | str | None = None) -> Parameter:
    """A parameter of this shape, filled with zeros until it is initialised."""
    return Parameter(Tensor(place(device).xp.zeros(shape, np.float64 if dtype is None else dtype)))


def move_to(x: Tensor, dtype: Any, device: Device | str | None) -> None:
    """Change the dtype or device of a leaf, and of its gradient. The leaf stays the same object."""
    grad = x.grad
    Tensor.__init__(x, x.value, dtype, x.requires_grad, device)
    if grad is not None:
        x.grad = Tensor(grad.value, dtype, device=device)


class Tree(ModuleLike):
    """Parameters, buffers and modules, held as attributes.

    parameter    a Parameter, or any leaf tensor that requires a gradient: it is learned
    buffer       a tensor registered by `register_buffer`: it is part of the state but not learned
    module       a submodule, with a tree of its own

    Other attributes, such as plain tensors and lists, are not tracked.
    """

    _parameters: set[str]
    _buffers: dict[str, bool]  # name → whether state_dict includes the buffer

    def __new__(cls, *_: Any, **__: Any) -> Self:
        # In __new__ rather than in __init__, so that a subclass may forget to call super().__init__().
        self = super().__new__(cls)
        vars(self).update(_parameters=set(), _buffers={}, _changes=0)
        if current.mode.builder is not None:
            current.mode.builder.born[id(self)] = self
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(self).get("_computed", {}):
            raise TypeError(
                f"{type(self).__name__}.{name} is computed from {name}_orig and {name}_mask: edit those, or make it "
                f"a parameter again with prune.remove(module, {name!r})"
            )
        if isinstance(value, Tree):
            self._forget(name)
        elif is_learnable(value):
            self._buffers.pop(name, None)
            self._parameters.add(name)
        elif name in self._parameters and value is not None:
            raise TypeError(
                f"{type(self).__name__}.{name} is a parameter, and got {kind_of(value)}: assign a Parameter or None, "
                f"or change its values in place"
            )
        elif name in self._buffers and not (value is None or isinstance(value, Tensor) or is_traced(value)):
            raise TypeError(f"{type(self).__name__}.{name} is a buffer, and got {kind_of(value)}: assign a tensor")
        self._hold(name, value)

    def _hold(self, name: str, value: Any) -> None:
        before = vars(self).get(name, MISSING)
        object.__setattr__(self, name, value)
        if before is not value:
            note_change(self, name, before)

    if not TYPE_CHECKING:  # a type checker that saw __getattr__ would accept every name

        def __getattr__(self, name: str) -> Any:
            """Compute an attribute that is stored nowhere, such as a pruned weight."""
            computed = vars(self).get("_computed", {})
            if name not in computed:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
            return ComputedTensor.from_result(computed[name](self, name))

    def __delattr__(self, name: str) -> None:
        before = vars(self).get(name, MISSING)
        object.__delattr__(self, name)
        self._forget(name)
        note_change(self, name, before)

    def _forget(self, name: str) -> None:
        self._parameters.discard(name)
        self._buffers.pop(name, None)

    # -- registration ---------------------------------------------------------------------------

    def register_parameter(self, name: str, param: Tensor | None) -> None:
        """Add a parameter under a name. None reserves the name, for a layer without bias."""
        self._new_name("parameter", name)
        if not (param is None or is_learnable(param)):
            raise TypeError(f"parameter {name!r} must be a Parameter or None, got {kind_of(param)}")
        self._parameters.add(name)
        setattr(self, name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is part of the state but not learned, such as a running mean.

        persistent    whether it is in state_dict
        """
        self._new_name("buffer", name)
        if not (tensor is None or isinstance(tensor, Tensor) or is_traced(tensor)):
            raise TypeError(f"buffer {name!r} must be a tensor or None, got {kind_of(tensor)}: wrap it in mg.tensor")
        self._buffers[name] = persistent
        self._hold(name, tensor)

    def register_module(self, name: str, module: Tree | None) -> None:
        """Add a submodule under a name, which need not be a Python identifier: '0' is allowed."""
        self._new_name("module", name)
        if not (module is None or isinstance(module, Tree)):
            raise TypeError(f"module {name!r} must be a Module or None, got {kind_of(module)}")
        setattr(self, name, module)

    add_module = register_module

    def _new_name(self, what: str, name: str) -> None:
        if not isinstance(name, str) or not name or "." in name:
            raise KeyError(f"the name of a {what} must be a non-empty string without a dot, got {name!r}")
        if hasattr(self, name) and name not in self._parameters | self._buffers.keys():
            raise KeyError(f"{type(self).__name__} has an attribute {name!r} already: choose another name")

    # -- walking --------------------------------------------------------------------------------

    def named_children(self) -> Iterator[tuple[str, Self]]:
        """(name, module) for each direct submodule. A submodule with several names appears once."""
        seen = set()
        for name, part in self._modules():
            if id(part) not in seen:
                seen.add(id(part))
                yield name, part

    def children(self) -> Iterator[Self]:
        """Each direct submodule."""
        return (part for _, part in self.named_children())

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Self]]:
        """(dotted name, module) for this module, whose name is '', and for each submodule at any depth."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, part in self._modules():
            yield from part.named_modules(memo, dotted_name(prefix, name), remove_duplicate)

    def modules(self) -> Iterator[Self]:
        """This module and each submodule at any depth."""
        return (module for _, module in self.named_modules())

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """(dotted name, parameter) for each parameter, also of submodules. A shared parameter appears once."""
        return self._walk_tensors("_own_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Tensor]:
        """Each parameter, also of submodules."""
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """(dotted name, buffer) for each buffer, also of submodules."""
        return self._walk_tensors("_own_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Each buffer, also of submodules."""
        return (b for _, b in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Any:
        """The submodule, parameter or buffer with this dotted name. Raises AttributeError if there is none."""
        part: Any = self
        for name in target.split(".") if target else ():
            part = getattr(part, name)
        return part

    get_parameter = get_buffer = get_submodule

    def _walk_tensors(
        self, own: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Tensor]]:
        seen = set()
        modules = self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, x in getattr(module, own)():
                if not remove_duplicate or id(x) not in seen:
                    seen.add(id(x))
                    yield dotted_name(path, name), x

    def _modules(self) -> Iterable[tuple[str, Any]]:
        return [(name, part) for name, part in list(vars(self).items()) if isinstance(part, Tree)]

    def _own_parameters(self) -> Iterator[tuple[str, Tensor]]:
        for name, x in list(vars(self).items()):
            # requires_grad_() may have been called on a plain tensor after it was assigned.
            if isinstance(x, Tensor) and name not in self._buffers and (name in self._parameters or is_learnable(x)):
                yield name, x

    def _own_buffers(self) -> Iterator[tuple[str, Tensor]]:
        return ((name, getattr(self, name)) for name in list(self._buffers) if getattr(self, name) is not None)


def is_learnable(x: Any) -> bool:
    """Whether x becomes a parameter when it is assigned to a module."""
    return isinstance(x, Parameter) or (isinstance(x, Tensor) and bool(x.tracked) and x.is_leaf)


def is_traced(x: Any) -> bool:
    """Whether x is a symbol in a function that is being traced. Each run computes a value for it."""
    return current.mode.is_traced and isinstance(x, Operand)


def dotted_name(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def kind_of(x: Any) -> str:
    """A description of x for error messages."""
    if not isinstance(x, Tensor):
        return f"a {type(x).__name__}"
    return f"{x.spec}, which {'requires no gradient' if x.is_leaf else 'is the result of an op'}"
