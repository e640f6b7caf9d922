"""Which call of which module made a node: the engine does not record this, so we watch the calls as they happen.

Within a `with` block, every module has a hook before and a hook after its forward pass. Both record the time. In eager
mode, time is the engine's clock, which also stamps each node; in a graph that is being built, it is the number of names
so far, since each node adds a name.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from weakref import ref

from ..engine.core import versions
from ..engine.core.modes import current, watching
from ..engine.core.node import Node, Place, Record, place
from ..engine.core.op import Op
from ..engine.tensor.tensor import Tensor
from ..nn.module import Module
from ..tracing.builder import GraphBuilder
from .listing import Path, Scope


class Calls:
    """Records the calls of some modules as they happen.

    names     id of a module → its name
    places    node → the line that made it
    alive     node → a weak reference to its tensor
    """

    def __init__(self, modules: Mapping[str, Module]):
        """modules    name → module; submodules get the names name.0, name.1, …, and those of "" get 0, 1, …"""
        self.names: dict[int, str] = {}
        self.modules: list[Module] = []
        for name, module in modules.items():
            for path, part in module.named_modules(prefix=name):
                if path and id(part) not in self.names:
                    self.names[id(part)] = path
                    self.modules.append(part)
        self.places: dict[Node, Place] = {}
        self.alive: dict[Node, ref[Tensor]] = {}
        self.asked = place()
        self.builder: GraphBuilder | None = None
        self.moments: list[int] = []
        self.paths: list[Path] = [()]  # the open calls before the first moment, after it, after the second, …

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Within this `with` block, record the calls of modules and the lines that make nodes."""
        with ExitStack() as hooks, watching(self):
            for module in self.modules:
                hooks.callback(module.register_forward_pre_hook(self.enter_call, prepend=True).remove)
                hooks.callback(module.register_forward_hook(self.leave_call).remove)
            yield

    def enter_call(self, module: Module, xs: Any) -> None:
        label = self.names[id(module)]
        self.note_moment((*self.paths[-1], Scope("module", label, type(module).__name__, module)))

    def leave_call(self, module: Module, xs: Any, y: Any) -> None:
        self.note_moment(self.paths[-1][:-1])

    def note_moment(self, path: Path) -> None:
        builder = current.mode.builder
        if builder is not None and builder.outer is not None:
            return  # in a branch or a loop: its nodes belong to one op of the outer graph
        self.builder = builder or self.builder
        self.moments.append(versions.now() if builder is None else len(builder.names))
        self.paths.append(path)

    def path(self, birth: int) -> Path:
        """The calls that were open at this moment, the innermost last."""
        return self.paths[bisect_left(self.moments, birth)]

    def births(self) -> dict[str, int]:
        """Name → moment, for each node of the graph that was built."""
        return {} if self.builder is None else {name: i for i, name in enumerate(self.builder.names, 1)}

    # -- as a watcher of ops ----------------------------------------------------------------------

    def on_forward(self, op: Op, y: Tensor, xs: tuple[Tensor, ...]) -> None:
        if isinstance(y.node, Record):
            self.alive[y.node] = ref(y)
            at = place()
            if at is not None and at != self.asked:
                self.places[y.node] = at

    def on_backward(self, node: Node, gy: Any, gxs: tuple[Any, ...]) -> None:
        pass
