"""What a graph asks of a module, which is why it needs no part of nn: what it holds, and whether that has changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar


class ModuleLike:
    """What a traced function calls, and reads parameters from: nn.Module is one.

    forward             what a call of it runs, and what AutoGraph converts
    modules             itself and the modules below
    named_parameters    prefix → (name, tensor) of what it learns
    named_buffers       prefix → (name, tensor) of its other state
    replaced            how often, in any module, a tensor or a module took the place of another
    """

    replaced: ClassVar[int] = 0
    forward: Callable[..., Any]
    modules: Callable[[], Iterator[Any]]
    named_parameters: Callable[..., Iterator[tuple[str, Any]]]
    named_buffers: Callable[..., Iterator[tuple[str, Any]]]
