"""Tracing, with JAX's names.

jit(f)              f as a graph: numbers among the arguments become tensors, unless they are static
eval_shape(f, x)    the specs of f's results: f is traced, not run
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..engine.base.pytree import leaves, unflatten_like
from ..engine.core.modes import current, in_mode
from ..engine.methods import Operand
from ..engine.tensor.tensor import Tensor
from .compiled_graph import CompileOptions
from .function import TracedFunction
from .graph import line_of, name_of
from .placeholder import TensorSpec
from .trace import TraceBuilder

NUMBER = bool | int | float | np.generic


class JitFunction(TracedFunction):
    """A traced function whose arguments are tensors, except the static ones, which are compared by value.

    static    positions and names of the static arguments
    """

    def __init__(
        self, f: Callable[..., Any], positions: Iterable[int], names: Iterable[str], backend: str | None = None
    ):
        super().__init__(f, autograph=False, compile_options=CompileOptions.from_jit_compile(backend or True))
        known = self.parameters.names
        at = {i % len(known) if i < 0 else i for i in positions} | {known.index(n) for n in names if n in known}
        self.static: frozenset[Any] = frozenset(at | {known[i] for i in at if i < len(known)} | set(names))

    def __call__(self, *args: Any, **options: Any) -> Any:
        if current.mode.builder is None:
            args = tuple(self.prepare_argument(i, x) for i, x in enumerate(args))
            options = {name: self.prepare_argument(name, x) for name, x in options.items()}
        return super().__call__(*args, **options)

    def prepare_argument(self, place: int | str, x: Any) -> Any:
        """An argument, with numbers as tensors unless it is static. Raises TypeError if static and unhashable."""
        if place not in self.static:
            return unflatten_like(x, (Tensor(y) if isinstance(y, NUMBER) else y for y in leaves(x)))
        try:
            hash(x)
        except TypeError:
            raise TypeError(
                f"argument {place} of {self.__name__} is static, so it is compared by value, but a "
                f"{type(x).__name__} is not hashable: pass a tuple instead of a list, or a frozen dataclass"
            ) from None
        return x


def jit(
    fun: Callable[..., Any] | None = None,
    *, static_argnums: int | Iterable[int] = (), static_argnames: str | Iterable[str] = (), backend: str | None = None,
) -> Any:  # fmt: skip
    """The function, traced once for each kind of call and run as a graph. A decorator, with or without options.

    Like XLA, it may reorder sums, so that results differ by rounding from those of the ops run one by one. mg.function
    gives the same bits as the ops, unless jit_compile=True.

    static_argnums, static_argnames    arguments that are constants of a trace; each of their values has its own trace
    backend                            "native" for loops in C++, if there is a compiler; "auto" once that pays off
    """
    if fun is None:
        return lambda f: jit(f, static_argnums=static_argnums, static_argnames=static_argnames, backend=backend)
    positions = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    return JitFunction(fun, positions, names, backend)


def make_jaxpr(fun: Callable[..., Any]) -> Callable[..., str]:
    """A function of the same arguments that returns the traced graph as text, a line for each node."""

    def text(*args: Any) -> str:
        f = jit(fun)
        graph = f.graph_for(*(f.prepare_argument(i, x) for i, x in enumerate(args)))
        results = ", ".join("None" if y is None else name_of(y) for y in graph.outputs)
        return "\n".join([*map(line_of, graph.nodes), f"return {results}"])

    return text


def eval_shape(fun: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """The result of fun for these arguments (tensors or TensorSpecs), with a TensorSpec in place of each tensor."""
    builder = TraceBuilder({})
    given = [symbol_of(builder, i, x) for i, x in enumerate(leaves((args, options)))]
    with builder.building(), in_mode(recording=True, tracked=False, watchers=()):
        args, options = unflatten_like((args, options), iter(given))
        result = builder.call(fun, *args, **options)
    builder.closed = True
    builder.restore()
    found = [
        TensorSpec(y.shape, y.dtype, device=y.spec.device) if isinstance(y, Operand) else y for y in leaves(result)
    ]
    return unflatten_like(result, iter(found))


def symbol_of(builder: TraceBuilder, i: int, x: Any) -> Any:
    """The symbol of a tensor, an array or a TensorSpec; anything else unchanged."""
    if isinstance(x, TensorSpec):
        return builder.argument(x.name or f"x{i}", x.spec())
    tensor = Tensor(x) if isinstance(x, np.ndarray) else x
    return builder.argument(f"x{i}", tensor.spec) if isinstance(tensor, Operand) else x
