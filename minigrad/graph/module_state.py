"""What a traced function assigns to modules: each run assigns it again, and reads what is there by then.

So `self.h = self.cell(x, self.h)` in a forward pass is state, as it is eagerly. While the function is traced the module
holds symbols; afterwards it holds what it held before, until the first run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

from ..base.errors import GraphError
from ..base.pytree import leaves, outline
from ..tensor.tensor import Tensor
from ..tracing.builder import Tracer
from ..tracing.module import MISSING, ModuleLike
from .signature import Same

if TYPE_CHECKING:
    from .trace import Tracing


class ModuleAttribute:
    """A tensor that a module holds under a name, as something that a graph reads: whatever tensor it is by then.

    i    its number among what the attribute consists of
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


def read_slots(builder: Tracing) -> None:
    """Read tensors that each run replaces by assignment where they are then, and not as those that they were."""
    for (key, name), (module, before) in builder.assigned.items():
        tensors = leaves(before)
        elsewhere = {id(x) for x in tensors if id(x) in builder.known and name not in module._buffers}
        for other, (_, value) in builder.noted.items():
            elsewhere |= {id(x()) for x in leaves(value) if type(x) is Same and other != (key, name)}
        ids = {id(x) for x in tensors if is_unedited(builder, x)} - elsewhere
        if (key, name) in builder.noted and tensors and len(ids) == len(tensors):
            del builder.noted[key, name]
            for i, x in enumerate(tensors):
                slot = ModuleAttribute(module, name, before, i)
                builder.captured[id(x)] = builder.captured[id(x)]._replace(what=slot)


def is_unedited(builder: Tracing, x: Any) -> bool:
    """Whether x is a tensor from outside that has its value still."""
    return isinstance(x, Tensor) and not builder.is_own(x) and builder.capture(x).node is builder.captured[id(x)].input


def refuse_kept(builder: Tracing) -> None:
    """Raises GraphError where a container that a module holds was given symbols, and no assignment says so."""
    for (key, name), (module, _) in builder.noted.items():
        held = vars(module).get(name) if isinstance(module, ModuleLike) and (key, name) not in builder.assigned else ()
        if any(isinstance(x, Tracer) and x.builder is builder for x in leaves(held)):
            raise GraphError(
                f"{name} of a {type(module).__name__}, a {type(held).__name__}, was given a tensor in place, which a "
                f"run of the trace does not repeat: assign a new {type(held).__name__} to self.{name}, or return the "
                "tensor"
            )


def assign(module: Any, name: str, value: Any) -> None:
    """Do to a module what the Python function did; unless the module is gone."""
    if module is not None and value is not MISSING:
        setattr(module, name, value)
    elif module is not None and name in vars(module):
        delattr(module, name)
