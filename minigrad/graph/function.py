"""mg.function: trace a Python function once for each kind of call, then run the graph.

    @mg.function
    def step(x, target):
        loss = ((net(x) - target) ** 2).mean()
        ...
        return loss

The Python code runs only while it is traced: a print, an append, a counter, a branch on a Python value happen once per
trace. After `run_functions_eagerly()` the Python function runs at every call, so that a debugger can step through it.
signature.py says which calls share a trace, and trace.py what a trace is. Inside another trace the function is inlined.
Names and meaning are those of TensorFlow 2's `tf.function`.
"""

from __future__ import annotations

import inspect
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial, update_wrapper
from itertools import repeat
from operator import attrgetter
from types import MethodType
from typing import Any
from weakref import ref

import numpy as np

from ..engine.base.errors import GraphError, MinigradError
from ..engine.base.pytree import leaves, leaves_beside, outline, replace_leaves, unflatten_like
from ..engine.base.spec import Spec
from ..engine.core.graph import Graph
from ..engine.core.modes import current
from ..engine.core.stateful import ModuleLike
from ..engine.methods import Operand
from ..engine.tensor.tensor import Tensor
from . import signature
from .autograph.convert import convert
from .compiled_graph import CompileOptions
from .explain import describe_argument, explain_traces, names_of, why
from .guards import observe
from .names import NameSnapshot, is_library
from .placeholder import TensorSpec, specs_only
from .trace import Trace, build_trace, trace_fits


class Eagerly(threading.local):
    """Whether traced functions run as plain Python in this thread."""

    on = False


eagerly = Eagerly()


class run_functions_eagerly:
    """Run traced functions as plain Python: from this call on, or inside the `with` block."""

    def __init__(self, run_eagerly: bool = True):
        self.before, eagerly.on = eagerly.on, run_eagerly

    def __enter__(self) -> None:
        pass

    def __exit__(self, *raised: object) -> None:
        eagerly.on = self.before


def functions_run_eagerly() -> bool:
    """Whether traced functions run as plain Python now."""
    return eagerly.on


MOST_TRACES = 64  # of one function; the oldest is dropped
IN_A_ROW = 5  # warn when this many calls in a row had to be traced


class RetracingWarning(UserWarning):
    """Warns that several calls of a function in a row were traced."""


class TracedFunction:
    """A Python function that runs as a graph. It is called like the Python function.

    python_function    the Python function
    traces             signature → traces; a call runs the first whose guards hold
    trace_count        how often the function was traced
    """

    def __init__(
        self, f: Callable[..., Any], input_signature: Sequence[Any] | None = None,
        autograph: bool = True, reduce_retracing: bool = False,
        compile_options: CompileOptions | None = None, parameters: signature.Parameters | None = None,
    ):  # fmt: skip
        if not callable(f):
            raise TypeError(f"mg.function needs something that can be called, and got {f!r}")
        code = inspect.unwrap(f.func if isinstance(f, partial) else f)
        if inspect.isgeneratorfunction(code) or inspect.iscoroutinefunction(code) or inspect.isasyncgenfunction(code):
            raise TypeError(
                f"mg.function traces a function from its call to its return, and {f!r} is "
                f"{'a generator' if inspect.isgeneratorfunction(code) else 'async'}: trace what it calls at each step"
            )
        update_wrapper(self, f, updated=())
        self.__name__ = getattr(f, "__name__", type(f).__name__)
        self.python_function = f
        self.input_signature = specs_only(input_signature)
        self.autograph, self.reduce_retracing = autograph, reduce_retracing
        self.compile_options = CompileOptions() if compile_options is None else compile_options
        called = f.forward if isinstance(f, ModuleLike) else f
        self.parameters = signature.Parameters(called) if parameters is None else parameters
        self.traces: dict[Any, list[Trace]] = {}
        self.similar: dict[Any, list[Spec]] = {}  # signature without lengths → the specs of its latest trace
        self.history: list[Trace] = []
        self.trace_count = self.in_a_row = 0
        self.lock = threading.RLock()
        self.open = threading.local()
        self.instances = signature.Instances()

    def __call__(self, *args: Any, **options: Any) -> Any:
        if eagerly.on:
            return self.python_function(*args, **options)
        if current.mode.builder is not None:
            return self.inline_call(args, options)
        tensors: list[Tensor] = []
        found, args, options = self.find_trace(args, options, tensors)
        if found is None:
            found = self.add_trace(args, options, tensors)
        else:
            self.in_a_row = 0
        return found(tensors)

    # -- finding a trace ----------------------------------------------------------------------------

    def find_trace(self, args: tuple[Any, ...], options: dict[str, Any], tensors: list[Tensor]) -> tuple[Any, Any, Any]:
        """The trace for a call, or None; and the bound arguments. Appends the argument tensors to `tensors`."""
        if options or len(args) != self.parameters.arity:
            args, options = self.parameters.bind_arguments(args, options, self.input_signature is None)
        if self.input_signature is not None:
            args = self.match_signature(args, options)
        key = self.key(args, options, tensors)
        for each in self.traces.get(key, ()):
            if each.guards.holds():
                return each, args, options
        for each in self.traces.get(signature.drop_lengths(key), ()) if self.reduce_retracing else ():
            if each.guards.holds() and trace_fits(each, tensors):
                return each, args, options
        return None, args, options

    def key(self, args: tuple[Any, ...], options: dict[str, Any], tensors: list[Tensor]) -> Any:
        """The key of a call: calls with equal keys share a trace. Appends the argument tensors to `tensors`."""
        key = [*map(signature.key_of, args, repeat(tensors))]
        cast = () if current.mode.autocast is None else (current.mode.autocast.key,)
        if options:
            key += [(name, signature.key_of(x, tensors)) for name, x in options.items()]
        return (*cast, *([x.tracked for x in tensors] if self.input_signature is not None else key))

    def match_signature(self, args: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments as tensors that match input_signature. Raises an error if they do not match."""
        said = self.input_signature
        assert said is not None  # the caller has checked
        if len(args) != len(said) or options:
            raise TypeError(
                f"{self.__name__} has {len(said)} arguments in input_signature, and was called with {outline(args)}"
            )
        specs, given = leaves(said), leaves_beside(said, args)
        names = [name for name, _ in self.parameters.leaves(said, {})]
        return unflatten_like(args, map(TensorSpec.accept, specs, given, names))  # type: ignore[no-any-return]

    # -- tracing ------------------------------------------------------------------------------------

    def add_trace(self, args: tuple[Any, ...], options: dict[str, Any], tensors: list[Tensor]) -> Trace:
        """Trace a call that has no trace yet, unless another thread did so first."""
        with self.lock:
            again: list[Tensor] = []
            found, *_ = self.find_trace(args, options, again)
            if found is not None:
                return found  # type: ignore[no-any-return]
            key = self.key(args, options, [])
            specs = [x.spec for x in tensors]
            made = None
            if self.input_signature is not None:
                specs = [s.spec() for s in leaves(self.input_signature)]
            elif self.reduce_retracing and signature.drop_lengths(key) in self.similar:
                open_specs = signature.relax_specs(self.similar[signature.drop_lengths(key)], specs)
                with suppress(MinigradError):  # some functions do not work for all lengths
                    general = self.trace_with_specs(args, options, tensors, open_specs)
                    if trace_fits(general, tensors):
                        made, key, specs = general, signature.drop_lengths(key), open_specs
            self.similar[signature.drop_lengths(key)] = specs
            made = self.trace_with_specs(args, options, tensors, specs) if made is None else made
            self.remember(key, made)
        return made

    def trace_with_specs(
        self, args: tuple[Any, ...], options: dict[str, Any], tensors: list[Tensor], specs: Sequence[Spec]
    ) -> Trace:
        """Trace the function for these arguments, with these specs for their tensors."""
        named = self.parameters.leaves(args, options)
        arguments = [(name, describe_argument(x)) for name, x in named]
        names = [name for name, x in named if is_tensor(x)]
        objects = [*signature.objects_in(self.key(args, options, []))]
        before = [(x, "contents", observe(x(), "contents")) for x in objects if is_library(type(x()))]
        made = build_trace(
            lambda symbols: self.call_converted(*replace_leaves((args, options), is_tensor, symbols)),
            list(zip(names, tensors, specs, strict=True)), names_of(self.python_function, named),
            self.__name__, why(arguments, self.history), self.compile_options,
        )  # fmt: skip
        made.arguments = arguments
        made.guards.watched += before
        made.guards.reached = reached = NameSnapshot(self.python_function, [*made.guards.classes, *objects])
        made.guards.watch_unnoted_reads(reached.read, reached.modules)
        return made

    def call_converted(self, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Call the converted Python function. To detect endless recursion, note the kind of call until it returns."""
        f = self.python_function
        f = f.bound_method() if isinstance(f, signature.WeakMethod) else f
        self.open.calls = [*getattr(self.open, "calls", ()), kind_of_call(args, options)]
        try:
            return (convert(f) if self.autograph else f)(*args, **options)
        finally:
            self.open.calls.pop()

    def inline_call(self, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Call the function inside another trace, as part of it. Raises GraphError for endless recursion."""
        if kind_of_call(args, options) in getattr(self.open, "calls", ()):
            raise GraphError(
                f"{self.__name__} calls itself while it is traced, with arguments of the same kind, which would never "
                "end: a graph unrolls recursion. Count down a Python number among the arguments, or use mg.while_loop"
            )
        return self.call_converted(args, options)

    def remember(self, key: Any, made: Trace) -> None:
        """Store a trace. Drops the oldest if there are too many, and any trace when an object in its key dies."""
        while len(self.traces) >= MOST_TRACES:
            del self.traces[next(iter(self.traces))]
        made.watched = [ref(same(), signature.Forgetting(self, key)) for same in signature.objects_in(key)]
        self.traces[key] = [made, *self.traces.get(key, ())][:MOST_TRACES]
        self.history = [*self.history, made][-MOST_TRACES:]
        self.trace_count += 1
        self.in_a_row += 1
        if self.in_a_row == IN_A_ROW:
            text = (
                f"{self.__name__} was traced {self.in_a_row} times in a row, the last time because {made.reason}. "
                "Tracing is slow: pass numbers that change as tensors, and say unknown lengths in input_signature, as "
                "in TensorSpec((None, 3))"
            )
            warnings.warn(text, RetracingWarning, stacklevel=4)

    # -- as a method, and for inspection ---------------------------------------------------------------

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else signature.TracedMethod(self.for_instance(instance), instance)

    def for_instance(self, instance: Any) -> TracedFunction:
        """The traced method of one instance. It has its own traces, which are freed with the instance."""
        known: TracedFunction | None = self.instances.get(instance)
        if known is None:
            parameters = signature.Parameters(MethodType(self.python_function, instance))
            options = (self.input_signature, self.autograph, self.reduce_retracing, self.compile_options, parameters)
            method = signature.WeakMethod(self.python_function, instance)
            known = self.instances[instance] = TracedFunction(method, *options)
        return known

    def trace_for(self, *args: Any, **options: Any) -> Trace:
        """The trace for these arguments, made if there is none. Does not run it."""
        tensors: list[Tensor] = []
        found, args, options = self.find_trace(args, options, tensors)
        return self.add_trace(args, options, tensors) if found is None else found

    def graph_for(self, *args: Any, **options: Any) -> Graph:
        """The graph for these arguments, as traced, before any pass."""
        return self.trace_for(*args, **options).graph

    def get_concrete_function(self, *args: Any) -> TracedFunction:
        """The function for tensors with these specs only, traced now. An argument may be a tensor or a TensorSpec."""
        specs = unflatten_like(args, (TensorSpec.from_tensor(Tensor(x)) if is_tensor(x) else x for x in leaves(args)))
        made = TracedFunction(self.python_function, specs, self.autograph, False, self.compile_options)
        made.trace_for(*unflatten_like(specs, (x.example() for x in leaves(specs))))
        return made

    graph = property(attrgetter("latest.graph"), doc="The graph of the latest trace.")
    source = property(attrgetter("latest.run.latest.source"), doc="The generated code of the latest trace.")
    c_source = property(attrgetter("latest.run.latest.c_source"), doc="Its part in C++, with jit_compile='native'.")

    @property
    def latest(self) -> Trace:
        """The latest trace. Raises GraphError if there is none yet."""
        if not self.history:
            raise GraphError(f"{self.__name__} was not traced yet: call it first")
        return self.history[-1]

    def explain(self) -> str:
        """Why each trace was made, what it captures and changes, and what the passes did to its graph."""
        return explain_traces(self.__name__, self.history, self.trace_count)

    def __repr__(self) -> str:
        return f"<traced function {self.__name__}, {self.trace_count} traces>"


def is_tensor(x: Any) -> bool:
    """Whether an argument is an input of the graph, and not a constant in it."""
    return isinstance(x, Tensor | np.ndarray)


def kind_of_call(args: tuple[Any, ...], options: dict[str, Any]) -> list[Any]:
    """A key by which inline_call() compares calls; the arguments may be symbols."""
    parts = leaves((args, options))
    return [x.spec if isinstance(x, Operand) else x if type(x) in signature.IMMUTABLE else id(x) for x in parts]


def function(
    func: Callable[..., Any] | None = None,
    *, input_signature: Sequence[Any] | None = None, autograph: bool = True,
    reduce_retracing: bool = False, jit_compile: bool | str = False, threads: int | None = None,
) -> Any:  # fmt: skip
    """The function, traced once for each kind of call and run as a graph. A decorator, with or without options.

    input_signature     a TensorSpec for each argument: one trace serves all calls; None in a shape is any length
    autograph           convert Python's if, while and for on tensors to control flow of the graph
    reduce_retracing    if calls differ only in lengths, trace once for all lengths
    jit_compile         True may reorder sums and replace formulas by equal ones: faster, with other rounding. False
                        gives the results of the ops run one by one, to the bit.
                        "native" is True with loops in C++, if there is a compiler (`.c_source` shows them).
                        "auto" runs as False at first, and as "native" once that pays off. The last bits of results may
                        change at that call, whose number depends on the graph alone (`.explain()` shows it)
    threads             how many threads share large loops; by default mg.get_num_threads(). Results do not depend on it
    """
    if func is None:
        return lambda f: function(
            f, input_signature=input_signature, autograph=autograph,
            reduce_retracing=reduce_retracing, jit_compile=jit_compile, threads=threads,
        )  # fmt: skip
    compile_options = CompileOptions.from_jit_compile(jit_compile, threads)
    return TracedFunction(func, input_signature, autograph, reduce_retracing, compile_options)
