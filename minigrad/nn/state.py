"""The state of a module as a dictionary: what is saved, and what is loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..editable import write
from ..errors import StateError
from ..tensor import Tensor
from .tree import Tree, dotted


class Loaded(NamedTuple):
    """Names that did not match, where loading was not strict."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not any(self):
            return "<All keys matched successfully>"
        return f"Loaded(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class State(Tree):
    """A tree whose tensors can be copied out, and copied in."""

    def state_dict(self, *, prefix: str = "") -> dict[str, Tensor]:
        """Dotted name → a copy, for each parameter and each persistent buffer."""
        return {prefix + name: Tensor(x.value.copy()) for name, x in self._named_state()}

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> Loaded:
        """Copy values in by name. All of them or, where an error is raised, none.

        strict    whether every name must be in both

        Raises StateError on names missing or unexpected, if strict, and on shapes that differ in any case.
        """
        mine = dict(self._named_state())
        missing = [name for name in mine if name not in state_dict]
        unexpected = [name for name in state_dict if name not in mine]
        values = {name: array_of(state_dict[name]) for name in mine if name in state_dict}
        faults = [
            f"{name} is {mine[name].shape} here and {value.shape} there"
            for name, value in values.items()
            if value.shape != mine[name].shape
        ]
        if strict and missing:
            faults.append(f"missing: {', '.join(missing)}")
        if strict and unexpected:
            faults.append(f"unexpected: {', '.join(map(str, unexpected))}")
        if faults:
            way = "; strict=False passes over names that do not match" if strict and (missing or unexpected) else ""
            raise StateError(
                f"the state does not fit {type(self).__name__}, and nothing was loaded{way}:\n  " + "\n  ".join(faults)
            )
        for name, value in values.items():
            write(mine[name], mine[name].spec.device.array(value, mine[name].dtype))
        return Loaded(missing, unexpected)

    def _named_state(self) -> Iterator[tuple[str, Tensor]]:
        for path, module in self.named_modules(remove_duplicate=False):
            for name, x in (*module._own_parameters(), *module._own_buffers()):
                if module._buffers.get(name, True):
                    yield dotted(path, name), x


def array_of(value: Any) -> Any:
    return value.value if isinstance(value, Tensor) else np.asarray(value)
