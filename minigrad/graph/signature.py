"""The signature of a call of a traced function: calls with equal signatures share a trace.

The signature contains the spec of a tensor or an array, and whether it requires a gradient. Every other argument is a
constant of the trace. The signature contains its value (a number, a string, a function, anything hashable) or, if it is
compared by identity, as a module is, a weak reference: neither the signature nor the cache of traces keeps it alive.
Guards detect changes in it.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pickle import dumps
from types import MethodType
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from ..engine.base.dimension import fresh_length
from ..engine.base.errors import GraphError
from ..engine.base.pytree import leaves, paths
from ..engine.base.spec import Spec
from ..engine.tensor.tensor import Tensor
from ..tracing.builder import Tracer

if TYPE_CHECKING:
    from .function import TracedFunction


Key = Any  # nested tuples that can be hashed
FLOATS = frozenset({float, complex})  # compared by repr, which tells 0.0 from −0.0, and makes all NaNs equal
BY_VALUE = frozenset({int, bool, str, bytes, type(None), type(Ellipsis)})
IMMUTABLE = BY_VALUE | FLOATS | {type}
UNKNOWN = inspect.Parameter.empty


class IdentityRef(ref[Any]):
    """A weak reference to an object, compared and hashed by the identity of the object."""

    __slots__ = ("kind", "number")

    def __init__(self, x: Any, gone: Any = None):
        super().__init__(x, gone)  # type: ignore[call-arg]
        self.kind, self.number = type(x).__name__, id(x)

    def __hash__(self) -> int:
        return self.number

    def __eq__(self, other: Any) -> bool:
        return self is other or (isinstance(other, IdentityRef) and self.number == other.number and self() is other())

    __ne__ = object.__ne__  # the __ne__ of weak references compares the referents

    def __repr__(self) -> str:
        x = self()
        return "an object that is gone" if x is None else f"this {type(x).__name__}"


def key_of(x: Any, tensors: list[Tensor]) -> Key:
    """The key of an argument. Appends the tensors in the argument to `tensors`."""
    if isinstance(x, Tensor):
        tensors.append(x)
        return x.spec, x.tracked
    kind = type(x)
    if kind in BY_VALUE:
        return kind, x
    if kind in FLOATS:
        return kind, repr(x)
    if isinstance(x, tuple | list):
        return (kind, *[key_of(each, tensors) for each in x])
    if isinstance(x, dict):
        return (kind, *x, *map(type, x), *[key_of(each, tensors) for each in x.values()])
    if kind is np.ndarray:
        return key_of(Tensor(x), tensors)
    return key_of_object(x, tensors)


def key_of_object(x: Any, tensors: list[Tensor]) -> Key:
    """The key of an argument of any other type: its value, or its identity."""
    if isinstance(x, Tracer):
        raise GraphError(
            f"{leak_message(x)}. Return it from the function that was traced, and call that to see a value"
        )
    kind: Any = type(x)
    match x:
        case slice():
            return slice, x.start, x.stop, x.step
        case set() | frozenset():
            return kind, frozenset((type(part), repr(part) if type(part) in FLOATS else part) for part in x)
        case MethodType() if type(x.__self__).__weakrefoffset__:
            return kind, IdentityRef(x.__func__), IdentityRef(x.__self__)
        case np.generic():
            return kind, x.tobytes()
        case np.random.Generator() | np.random.RandomState():
            return kind, dumps(x)
        case Iterator():  # the next call reads other values from it, so no two keys of iterators match
            return object()
        case np.ndarray():  # a subclass, such as np.matrix
            return key_of(Tensor(x), tensors)
        case bytearray():
            return kind, bytes(x)
    return key_by_identity_or_value(x, kind)


def key_by_identity_or_value(x: Any, kind: Any) -> Key:
    """Raises TypeError for an object that has neither a hash nor weak references."""
    if kind.__weakrefoffset__ and (kind.__hash__ is None or kind.__eq__ is object.__eq__):
        return IdentityRef(x)
    if kind.__hash__ is None:
        raise TypeError(
            f"an argument of a traced function is a {kind.__name__}, which has neither a hash nor weak references, so "
            "calls with it cannot be compared: pass what it holds, such as vars(x), or an object of a class of your own"
        )
    return kind, x, repr(object.__getstate__(x))


def objects_in(key: Key) -> Iterator[IdentityRef]:
    """The objects that a signature holds by weak reference."""
    parts = [key]
    for part in parts:  # grows in the loop
        if isinstance(part, IdentityRef):
            yield part
        elif type(part) is tuple:
            parts += part


def drop_lengths(key: Key) -> Key:
    """A signature without lengths of axes: equal for calls that differ only in lengths."""
    if isinstance(key, Spec):
        return "any lengths", key.ndim, key.dtype, key.device
    return tuple(map(drop_lengths, key)) if type(key) is tuple else key


def relax_specs(before: Sequence[Spec], now: Sequence[Spec]) -> list[Spec]:
    """The specs, with an unknown length for each length that changed; equal changes get the same unknown length."""
    unknown: defaultdict[tuple[int, int], Any] = defaultdict(fresh_length)
    return [
        new.with_shape(tuple(n if n == m else unknown[n, m] for n, m in zip(old.shape, new.shape)))
        for old, new in zip(before, now, strict=True)
    ]


def leak_message(x: Tracer) -> str:
    """The message about a symbol that is used after its trace is over: where it was built."""
    return (
        f"{x} has no value here: it is part of a graph, built at {x.node.place}, and was kept when the trace was over, "  # type: ignore[attr-defined]
        "in an attribute or a global variable"
    )


class Parameters:
    """The parameters of a Python function, to bind keyword arguments and defaults by position."""

    def __init__(self, f: Callable[..., Any]):
        try:
            signature: inspect.Signature | None = inspect.signature(f)
            self.signature = signature
            # vmap(f) treats keyword and positional arguments differently: bind to its own signature, not to that of f.
            if hasattr(f, "__wrapped__"):
                self.signature = inspect.signature(f, follow_wrapped=False)
        except (TypeError, ValueError):  # a function written in C may have no signature
            signature = self.signature = None
        kinds = inspect.Parameter
        listed = signature.parameters.values() if signature else ()
        self.names = [p.name for p in listed if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
        self.rest = next((p.name for p in listed if p.kind is kinds.VAR_POSITIONAL), "args")
        self.arity = len(self.names) if len(self.names) == len(listed) else -1  # −1: always bind

    def bind_arguments(
        self, args: tuple[Any, ...], options: dict[str, Any], defaults: bool = True
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments in order, with defaults if wanted. Raises TypeError if they do not match the parameters."""
        if self.signature is None:
            return args, options
        bound = self.signature.bind(*args, **options)
        if defaults:
            bound.apply_defaults()
        return bound.args, bound.kwargs

    def name(self, i: int) -> str:
        """The name of the i-th argument."""
        return self.names[i] if i < len(self.names) else f"{self.rest}[{i - len(self.names)}]"

    def leaves(self, args: tuple[Any, ...], options: dict[str, Any]) -> list[tuple[str, Any]]:
        """(name, leaf) for every leaf of the arguments."""
        named = [(self.name(i), x) for i, x in enumerate(args)] + list(options.items())
        return [leaf for name, x in named for leaf in zip(paths(x, name), leaves(x))]


class WeakMethod:
    """A method that holds its instance by weak reference."""

    def __init__(self, f: Callable[..., Any], instance: Any):
        self.f, self.instance, self.__name__ = f, ref(instance), f.__name__

    def bound_method(self) -> MethodType:
        """The bound method."""
        return MethodType(self.f, self.instance())

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.bound_method()(*args, **options)


class TracedMethod:
    """The traced method that `x.method` returns. It has all attributes of its traced function."""

    __slots__ = ("function", "instance")

    def __init__(self, function: TracedFunction, instance: Any):
        self.function, self.instance = function, instance

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.function(*args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.function, name)

    def __repr__(self) -> str:
        return f"<{self.function!r} of {type(self.instance).__name__}>"


def unwrap(f: Any) -> Any:
    """The plain Python function or method behind a module, a traced method or a weak method."""
    f = getattr(f, "forward", f)
    f = f.function.python_function if isinstance(f, TracedMethod) else f
    return f.bound_method() if isinstance(f, WeakMethod) else f


class Instances(dict[IdentityRef, Any]):
    """Instance → its traced method, for as long as the instance lives."""

    def get(self, instance: Any, default: Any = None) -> Any:
        return super().get(IdentityRef(instance), default)

    def __setitem__(self, instance: Any, method: Any) -> None:
        super().__setitem__(IdentityRef(instance, self.pop_gone), method)

    def pop_gone(self, same: IdentityRef) -> None:
        self.pop(same, None)


class Forgetting:
    """The callback when an object in a signature dies: drop the traces of that signature."""

    def __init__(self, function: TracedFunction, key: Any):
        self.function, self.key = ref(function), key

    def __call__(self, gone: Any) -> None:
        function = self.function()
        if function is not None:
            forgotten = function.traces.pop(self.key, [])
            function.history = [trace for trace in function.history if trace not in forgotten]
