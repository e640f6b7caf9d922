"""Attributes of modules that a traced function assigns. Each run reads these attributes, and assigns new values.

So `self.h = self.cell(x, self.h)` in a forward pass works as in eager mode. During tracing the module holds symbols;
after tracing it gets its earlier values back, which the first run replaces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

from ..engine.base.errors import GraphError
from ..engine.base.pytree import leaves, outline
from ..engine.core.stateful import MISSING, ModuleLike
from ..engine.tensor.tensor import Tensor
from ..tracing.builder import Tracer
from .signature import IdentityRef

if TYPE_CHECKING:
    from .trace import TraceBuilder


class ModuleAttribute:
    """A tensor in an attribute of a module, captured by name: each run reads the tensor that is there at the time.

    i    the index of the tensor among the leaves of the attribute's value
    """

    def __init__(self, module: Any, name: str, value: Any, i: int):
        self.module, self.name, self.form, self.i = ref(module), name, outline(value), i

    @property
    def tensor(self) -> Any:
        value = vars(self.module()).get(self.name)
        return leaves(value)[self.i] if outline(value) == self.form else None

    def __str__(self) -> str:
        return f"{self.name} of a {type(self.module()).__name__}"

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tensor, name, None)


def assigned_values(builder: TraceBuilder) -> list[Any]:
    """The values that the trace assigned to attributes of modules, in order. Restores the modules' earlier values."""
    refuse_edited_containers(builder)
    read_slots(builder)
    values = [vars(module).get(name, MISSING) for (_, name), (module, _) in builder.assigned.items()]
    builder.restore()
    return values


def read_slots(builder: TraceBuilder) -> None:
    """Capture by attribute, not by identity, the tensors that each run replaces by an assignment."""
    for (key, name), (module, before) in builder.assigned.items():
        tensors = leaves(before)
        elsewhere = {id(x) for x in tensors if id(x) in builder.known and name not in module._buffers}
        for other, (_, value) in builder.noted.items():
            elsewhere |= {id(x()) for x in leaves(value) if type(x) is IdentityRef and other != (key, name)}
        outside = [x for x in tensors if isinstance(x, Tensor) and not builder.is_own(x)]
        ids = {id(x) for x in outside if builder.capture(x).node is builder.captured[id(x)].input} - elsewhere
        if (key, name) in builder.noted and tensors and len(ids) == len(tensors):
            del builder.noted[key, name]
            for i, x in enumerate(tensors):
                slot = ModuleAttribute(module, name, before, i)
                builder.captured[id(x)] = builder.captured[id(x)]._replace(what=slot)


def refuse_edited_containers(builder: TraceBuilder) -> None:
    """Raises GraphError if the trace put symbols into a container of a module without assigning the attribute."""
    for (key, name), (module, _) in builder.noted.items():
        is_state = isinstance(module, ModuleLike) and (key, name) not in builder.assigned
        held = vars(module).get(name) if is_state else None
        is_tree = isinstance(held, list | tuple | dict | Tracer)
        if is_tree and [x for x in leaves(held) if isinstance(x, Tracer) and x.builder is builder]:
            raise GraphError(
                f"the function stores a tensor in {name} of a {type(module).__name__}, a {type(held).__name__}, in "
                f"place. Runs of the trace do not repeat that: assign a new {type(held).__name__} to self.{name}, or "
                "return the tensor"
            )


def assign(module: Any, name: str, value: Any) -> None:
    """Set or delete an attribute as the traced function did. Does nothing if the module has been deleted."""
    if module is not None and value is not MISSING:
        setattr(module, name, value)
    elif module is not None and name in vars(module):
        delattr(module, name)
