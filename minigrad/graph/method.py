"""Traced methods: one cache of traces for each instance, which does not keep the instance alive."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import TYPE_CHECKING, Any
from weakref import ref

from .signature import Same

if TYPE_CHECKING:
    from .function import TracedFunction


class WeakMethod:
    """A method of an instance that somebody else keeps alive."""

    def __init__(self, f: Callable[..., Any], instance: Any):
        self.f, self.instance, self.__name__ = f, ref(instance), f.__name__

    def bound(self) -> MethodType:
        """The method itself."""
        return MethodType(self.f, self.instance())

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.bound()(*args, **options)


class Bound:
    """The traced method of an instance, as `x.method` gives it: with all that a traced function has."""

    __slots__ = ("function", "instance")

    def __init__(self, function: TracedFunction, instance: Any):
        self.function, self.instance = function, instance

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.function(*args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.function, name)

    def __repr__(self) -> str:
        return f"<{self.function!r} of {type(self.instance).__name__}>"


class Instances(dict[Same, Any]):
    """Instance → its traced method, as long as the instance lives."""

    def get(self, instance: Any, default: Any = None) -> Any:
        return super().get(Same(instance), default)

    def __setitem__(self, instance: Any, method: Any) -> None:
        super().__setitem__(Same(instance, self.pop_gone), method)

    def pop_gone(self, same: Same) -> None:
        self.pop(same, None)


class Forgetting:
    """What to do when an object that a trace was made for is gone: forget the trace, if the function is still there."""

    def __init__(self, function: TracedFunction, key: Any):
        self.function, self.key = ref(function), key

    def __call__(self, gone: Any) -> None:
        function = self.function()
        if function is not None:
            forgotten = function.traces.pop(self.key, [])
            function.history = [trace for trace in function.history if trace not in forgotten]
