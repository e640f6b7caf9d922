"""Compile a graph to a function of tensors. A call of it is recorded as one op if a gradient is required.

The compiled code depends on which inputs require a gradient. If none does, the whole graph is compiled, and saves
nothing. If one does, the graph is partitioned (partition.py): its forward part also returns the values that backward
will read. The backward part is compiled the same way, so that derivatives can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple
from weakref import ref

from ..autograd.function_in_graph import Custom
from ..autograd.function_rule import Arrivals, Once, Output, OutputRule
from ..engine.base.dimension import is_unknown
from ..engine.base.errors import NoGradientError
from ..engine.base.spec import Spec, Specs, spec_of
from ..engine.core import modes
from ..engine.core.graph import Graph
from ..engine.core.node import Node, Record
from ..engine.core.op import Op
from ..engine.ops import StopGradient, TupleGet
from ..engine.tensor.grad import origin
from ..engine.tensor.rewrite import optimise
from ..engine.tensor.tensor import Tensor, wrap_array
from .compiler.executable import Executable, compile_graph, unalias_outputs
from .compiler.passes.pipeline import FAST, NATIVE, STANDARD, Pass
from .compiler.passes.purify import STEPS
from .compiler.passes.specialise import specialise_graph
from .eager_interpreter import on_tensors
from .partition import Partition

Arrays = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class CompiledCall(Op, metaclass=Once):
    """A run of a compiled graph, as an op.

    compiled    a weak reference to the graph
    """

    name: str
    compiled: ref[CompiledGraph] = field(repr=False)
    inline = False

    symbol = property(lambda self: self.name)
    kind = property(lambda self: self.name)

    def __str__(self) -> str:
        return self.name


MOST_VARIANTS = 64  # of one graph: each variant has its own buffers, and every call may bring new lengths


class CompileOptions(NamedTuple):
    """How a graph is compiled: the passes, the number of threads, the backend for the CPU, and when it takes over."""

    passes: tuple[Pass, ...] = STANDARD
    threads: int | None = None
    program: Callable[..., Any] | None = None
    tiered: Callable[..., Executable] | None = None

    @classmethod
    def from_jit_compile(cls, jit_compile: bool | str, threads: int | None = None) -> CompileOptions:
        """The options that jit_compile=False, True, "native" or "auto" stands for."""
        if jit_compile not in (False, True, "native", "auto"):
            raise ValueError(f'jit_compile must be False, True, "native" or "auto"; got {jit_compile!r}')
        if isinstance(jit_compile, str):
            from .backends.native import program, tiers  # imported only when used

            if jit_compile == "auto":
                return cls(STANDARD, threads, program.native, tiers.TieredExecutable)
            return cls(NATIVE, threads, program.native)
        return cls(FAST if jit_compile else STANDARD, threads)


class CompiledGraph:
    """A compiled graph, called with one tensor for each input; it returns tensors.

    graph    the graph as built; lengths in it may be unknown
    into     index of an output → index of the input whose array it overwrites, after the last read of that input
    compile_options   how it is compiled
    """

    def __init__(self, graph: Graph, name: str, into: Mapping[int, int], compile_options: CompileOptions):
        self.graph, self.name, self.into, self.compile_options = graph, name, dict(into), compile_options
        self.op = CompiledCall(name, ref(self))
        self.is_open = any(is_unknown(n) and n != STEPS for x in graph.inputs for n in x.spec.shape)
        self.variants: dict[Any, Variant] = {}

    def __call__(self, xs: Sequence[Tensor]) -> Sequence[Any]:
        mode = modes.current.mode
        if mode.builder is not None or (mode.watchers and modes.has_backward_watcher()):  # vmap, or forward mode
            return on_tensors(self.graph, xs)
        variant = self.select_variant(xs)
        arrays = variant.run(*[x.value for x in xs])
        pairs = zip(arrays, variant.specs)
        ys = [None if s is None else wrap_array(x, s if s.is_known else spec_of(x)) for x, s in pairs]
        if variant.split is not None:
            variant.connect(self.op, xs, ys, arrays)
        elif mode.tracked is None:
            for y in ys:
                if y is not None:
                    y.tracked = None
        for watcher in mode.watchers:
            for y in ys:
                watcher.on_forward(self.op, y, tuple(xs))
        return ys

    def select_variant(self, xs: Sequence[Tensor]) -> Variant:
        """The variant that a call with these tensors runs in the current mode."""
        wanted = tuple([x.tracked for x in xs]) if modes.current.mode.recording else ()
        return self.variant(wanted if True in wanted else (), xs)

    @property
    def latest(self) -> Executable:
        """The program of the newest variant."""
        if not self.variants:
            self.variant((), ())
        return [*self.variants.values()][-1].run

    def variant(self, wanted: tuple[bool | None, ...], xs: Sequence[Tensor]) -> Variant:
        """The variant for these tensors. `wanted` holds whether each requires a gradient; () means that none does."""
        key = (wanted, *[x.spec for x in xs]) if self.is_open else wanted
        return self.variants.get(key) or self.another(key, wanted, xs)

    def another(self, key: Any, wanted: tuple[bool | None, ...], xs: Sequence[Tensor]) -> Variant:
        """Make a new variant. It replaces the oldest if there are too many."""
        if None in wanted:
            raise NoGradientError(
                f"{self.name} reads {xs[wanted.index(None)].spec}, which was made in inference_mode, and no recorded "
                "op can use it: make it under no_grad() instead, or take x.clone() of it here"
            )
        graph = specialise_graph(self.graph, [x.spec for x in xs]) if self.is_open else self.graph
        if len(self.variants) >= MOST_VARIANTS:
            self.variants.pop(next(iter(self.variants)), None)
        variant = self.variants[key] = Variant(graph, tuple(map(bool, wanted)), self.into, self.compile_options)
        return variant


class Variant:
    """A graph compiled for one choice of inputs that require a gradient.

    run       arrays → arrays: the results, then the values saved for backward
    specs     the specs of the results, None for one that has no single spec
    split     the partition into forward and backward; None if no gradient is required
    pulls     indices of the results that receive gradients → the compiled backward graph for these gradients
    """

    def __init__(
        self, graph: Graph, wanted: tuple[bool, ...], into: Mapping[int, int], compile_options: CompileOptions
    ):
        self.compile_options = compile_options
        simple = optimise(graph) if any(wanted) else graph  # simplify before the partition
        split = Partition(simple, wanted, {simple.inputs[i] for i in into.values()}) if any(wanted) else None
        self.split = split if split is not None and split.results else None
        self.graph = simple if self.split is None else self.split.forward
        own = partial(unalias_outputs, written=graph, into=into)
        self.run = compile_graph(bare(self.graph), *compile_options, into, own)
        self.specs = [None if y is None or isinstance(y.spec, Specs) else y.spec for y in graph.outputs]
        self.pulls: dict[tuple[int, ...], CompiledGraph] = {}
        if self.split is not None:
            self.wanted = [i for i, want in enumerate(wanted) if want]
            self.rule = Backward(self.split.node(self.split.results[0]).spec, self)
            self.inputs = {x: i for i, x in enumerate(simple.inputs)}
            self.outputs = [(i, OutputRule(self.specs[i], i)) for i in self.split.results]  # type: ignore[arg-type]

    def connect(self, op: CompiledCall, xs: Sequence[Tensor], ys: Sequence[Any], arrays: Arrays) -> None:
        """Create one Record for the run, and connect each result to it as one of its outputs."""
        split = self.split
        assert split is not None  # a gradient is required
        inner = dict(zip(split.inner, arrays[len(ys) :]))
        saved = tuple([inner[i] if i in inner else xs[self.inputs[x]].value for i, x in enumerate(split.kept)])
        record = Record(op, tuple([xs[i].node or origin(xs[i]) for i in self.wanted]), self.rule, saved)
        for i, rule in self.outputs:
            ys[i].node, ys[i].tracked = Record(Output(i), (record,), rule, ()), True

    def pull(self, numbers: tuple[int, ...]) -> CompiledGraph:
        """The backward function for gradients that arrive at the results with these indices."""
        if numbers not in self.pulls:
            assert self.split is not None  # only Backward calls this, in a run with gradients
            self.pulls[numbers] = CompiledGraph(self.split.backward(numbers), "backward", {}, self.compile_options)
        return self.pulls[numbers]


@dataclass(frozen=True, eq=False)
class Backward:
    """The backward rule in the Record of a compiled graph: it runs the compiled backward graph.

    spec    the spec of the first result that a gradient can arrive at
    """

    spec: Spec
    variant: Variant

    @property
    def reads(self) -> tuple[None, ...]:
        return tuple(None for _ in self.variant.split.kept) if self.variant.split is not None else ()

    def pull(self, gy: Arrivals, *saved: Any) -> Arrays:
        numbers = tuple(sorted(gy))
        backward = self.variant.pull(numbers)
        return backward.variant((), ()).run(*[gy[i] for i in numbers], *saved)

    def trace(self, node: Record, gy: Arrivals, *saved: Any) -> Arrays:
        """As pull(), but on tensors, so that backward is recorded too: saved values get back their history."""
        numbers = tuple(sorted(gy))
        split = self.variant.split
        assert split is not None  # this run was recorded
        places = {x: node.inputs[i] for i, x in enumerate(split.sources)}
        n = len(split.graph.outputs)
        kept = []
        for i, (x, array) in enumerate(zip(split.kept, saved)):
            y = wrap_array(array, x.spec if x.spec.is_known else spec_of(array))
            if x.spec.is_float and x in split.reached:
                shared = Record(Output(n + i), (node,), OutputRule(x.spec, n + i), ())
                y = y.with_node(array, places.get(x, shared))
            kept.append(y)
        return tuple(self.variant.pull(numbers)([*(gy[i] for i in numbers), *kept]))


# -- arrays in, arrays out -----------------------------------------------------------------------------


def bare(graph: Graph) -> Graph:
    """The graph without the ops that matter only for gradients."""

    def plain(node: Node, xs: tuple[Node, ...]) -> Node:
        match node.op:
            case StopGradient() | Custom(results=1):
                return xs[0]
            case TupleGet(i) if isinstance(xs[0].op, Custom):
                return xs[0].inputs[i]
        return node.with_inputs(xs)

    return graph.rebuild(plain, (StopGradient, Custom, TupleGet))
