"""Readers: functions that turn each kind of graph into a listing."""

from __future__ import annotations

import linecache
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from math import inf
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import ref

import numpy as np

from ..autograd.graph import lines
from ..engine.base.dtypes import kind
from ..engine.base.spec import Spec
from ..engine.core import versions
from ..engine.core.modes import current, watching
from ..engine.core.node import Node, Place, Record, Source, history, place, spot, toposort
from ..engine.core.op import Op
from ..engine.ops import Const
from ..engine.tensor.grad import origin
from ..engine.tensor.symbol import Symbol
from ..engine.tensor.tensor import Tensor
from ..nn.module import Module
from ..scalar.value import Constant, Value
from ..scalar.value import history as values_before
from ..tracing.builder import GraphBuilder
from .graphs import constant, is_constant, kind_of, node_label, own_name, pieces, whole
from .listing import LONGEST, Entry, Listing, Path, Scope
from .names import names_in
from .nested import NodeReader, OpEntries
from .picture import UNKNOWN
from .rules import sign_of
from .scalars import kind_of_value, reads_of, value_names
from .tensors import brief, format_array, read_by, values_of
from .words import join_names, number, shorten

if TYPE_CHECKING:
    from ..graph import Graph as Building


N = TypeVar("N", bound=Hashable)
LONGEST_VALUE = 20  # characters; a longer value is shown by its norm
MOST_NUMBERS = 1_000_000  # in all values of a graph; larger graphs are not recomputed


# -- graphs that ran --------------------------------------------------------------------------------------------------


def listing_of_tensors(
    ys: Sequence[Tensor], namespace: Mapping[str, object], calls: Calls | None = None, given: Sequence[Node] = ()
) -> Listing:
    """The graph recorded behind some tensors.

    calls    the module calls that recorded it
    given    nodes that belong to no module: the arguments of those calls
    """
    ends = [origin(y) for y in ys]
    order = toposort(*ends)
    ops = history(*ends)
    names = names_in(namespace, lambda x: x.node if isinstance(x, Tensor) else None)
    kept = {x for node in ops if node.saved is not None for x in read_by(node)}
    values, unknown = known_values(order, ys)

    def entry(node: Node) -> Entry:
        path: Path | None = None
        if node.inputs:
            path = calls.path(node.born) if calls is not None and isinstance(node, Record) else ()
        elif node in given or node in ends:
            path = ()
        found = entry_of(node, names.get(node, ""), values.get(node), path)
        tensor = tensor_of(node, ys, calls)
        found.thing = node if tensor is None else tensor
        found.kept = node in kept
        found.line = " ".join(lines.get(node, "").split()) if calls is None else line_of(calls.places.get(node))
        return found

    entries = entries_of(ops or ends, lambda node: node.inputs, is_constant, entry)
    freed = any(node.saved is None for node in ops)
    lost = calls is not None and not unknown and any(not node.inputs and node not in values for node in order)
    notes = [alone(ys)] * (not ops) + [FREED] * freed + [LOST] * lost + [unknown] * bool(unknown)
    return Listing(output_title(entries, [tensor_of(end, ys, calls) for end in ends]), entries, notes)


FREED = "A backward() has been through this graph and has freed what it had saved."
LOST = "Leaves without a value were computed from tensors that require no gradient; such ops are not recorded."


def alone(ys: Sequence[Tensor]) -> str:
    return (
        f"{join_names([str(y.spec) for y in ys])} has no history: it was given, or computed from tensors that require "
        "no gradient, or computed under no_grad()."
    )


def tensor_of(node: Node, ys: Sequence[Tensor], calls: Calls | None) -> Tensor | None:
    """The tensor of a node, if it is still alive."""
    if isinstance(node, Source):
        return node.tensor()
    found = [y for y in ys if y.node is node]
    return found[0] if found else calls.alive[node]() if calls is not None and node in calls.alive else None


def known_values(order: Sequence[Node], ys: Sequence[Tensor]) -> tuple[dict[Node, Any], str]:
    """The recomputed values of a graph and "". For a large graph, the values of its leaves and a note that says so."""
    if sum(node.spec.size for node in order) <= MOST_NUMBERS:
        with np.errstate(all="ignore"):  # NumPy warned of these numbers when the graph ran first
            return values_of(order, ys), ""
    leaves = [node for node in order if not node.inputs]
    return values_of(leaves, ()), f"Its values are more than {MOST_NUMBERS:,} numbers: only those of leaves are shown."


def trouble(array: Any) -> str:
    """What is wrong with the numbers of an array: 2 NaN, 1 inf."""
    if kind(array.dtype) != "f":
        return ""
    counts = {"NaN": int((array != array).sum()), "inf": int((abs(array) == float("inf")).sum())}
    return ", ".join(f"{n} {what}" for what, n in counts.items() if n)


# -- graphs that are built before they run ----------------------------------------------------------------------------


def listing_of_nodes(
    outputs: Sequence[Node], namespace: Mapping[str, object], calls: Calls | None = None,
    given: Sequence[Node] = (), own: Mapping[Node, str] | None = None,
) -> Listing:  # fmt: skip
    """The graph behind some nodes, in the order in which it was built, if that is known.

    own    the names that the graph gives its inputs
    """
    births = {} if calls is None else calls.births()
    names = {**(own or {}), **names_in(namespace, lambda x: x.node if isinstance(x, Symbol) else None)}
    order = toposort(*outputs)
    read = pieces(order)
    ops = [node for node in order if node.inputs and whole(node) is node]
    if births:
        ops.sort(key=lambda node: births.get(name_of(node), 0))

    def entry(node: Node) -> Entry:
        path: Path | None = ()
        if not node.inputs:
            path = () if node in given or node in outputs else None
        elif calls is not None:
            path = calls.path(births.get(name_of(node), 0))
        return static(node, node_label(node, names, read), path, read.get(node, ()))

    entries = NodeReader(entry, static, names, read).entries(ops or outputs)
    return Listing(output_title(entries, [whole(y) for y in outputs]), entries)


def listing_of_session_graph(graph: Building, namespace: Mapping[str, object]) -> Listing:
    """A session graph as built so far, by name scopes."""
    scopes: dict[str, Scope] = {}
    names = names_in(namespace, lambda x: x.node if isinstance(x, Symbol) else None)
    order = [node for node in graph.order if whole(node) is node]
    read, results = {whole(x) for node in order for x in node.inputs}, pieces(list(graph.order))

    def entry(node: Node) -> Entry:
        parts = name_of(node).split("/")[:-1]
        paths = ["/".join(parts[: i + 1]) for i in range(len(parts))]
        path = tuple(scopes.setdefault(p, Scope("scope", p, "name scope", p)) for p in paths)
        found = static(node, node_label(node, names, results), path, results.get(node, ()))
        found.thing = graph.symbols[name_of(node)]
        return found

    ops = [node for node in order if node.inputs or node not in read]
    return Listing("all that was built so far", NodeReader(entry, static, names, results).entries(ops))


def static(node: Node, name: str, path: Path | None, results: Sequence[Node] = ()) -> Entry:
    """The entry of a node before a run; `results` are the results that are read, if it has several."""
    found = entry_of(node, name, None, path)
    if results:
        found.spec = " ".join(str(result.spec) for result in results)
    found.line = line_of(getattr(node, "place", None))
    return found


def name_of(node: Node) -> str:
    return getattr(node, "name", "")


# -- both kinds of graph ----------------------------------------------------------------------------------------------


def entry_of(node: Node, name: str, value: Any, path: Path | None) -> Entry:
    """The entry of a node of the tensor engine."""
    if isinstance(node.op, Const):
        return Entry("constant", "", name, "", node, value=constant(node.op.value), path=path)
    text = UNKNOWN if value is None else format_array(value)
    return Entry(
        kind=kind_of(node), sign=sign_of(node.op) if node.inputs else "", name=name or own_name(node),
        spec=str(node.spec) if isinstance(node.spec, Spec) else " ".join(map(str, node.spec)),
        thing=node, nbytes=bytes_of(node.spec), value=text if len(text) <= LONGEST_VALUE else brief(value),
        trouble="" if value is None else trouble(value), path=path,
    )  # fmt: skip


def bytes_of(spec: Any) -> int | None:
    """The bytes of values of these specs; None if a length is not known before a run."""
    specs = [spec] if isinstance(spec, Spec) else list(spec)
    return sum(s.nbytes for s in specs) if all(s.is_known for s in specs) else None


def line_of(at: Place | None) -> str:
    """A place in the user's code, with the source line."""
    if at is None:
        return ""
    is_file = spot(at.file, at.line).startswith(at.file)  # not a notebook cell, whose file name depends on the kernel
    where = f"of {PurePath(at.file).name}" if is_file else "of a cell"
    source = shorten(linecache.getline(at.file, at.line).strip(), LONGEST)
    return f"line {at.line} {where}, in {at.function}" + (f": {source}" if source else "")


def entries_of(
    ops: Iterable[N], operands: Callable[[N], Sequence[N]], is_constant: Callable[[N], bool],
    entry: Callable[[N], Entry],
) -> list[Entry]:  # fmt: skip
    """Entries of ops and of all they read. A leaf precedes its first user; a constant is repeated for each user.

    ops    inputs before users; or a single leaf
    """
    listed, made = OpEntries(inf), dict[N, Entry]()
    for node in ops:
        xs = [entry(x) if is_constant(x) else made.get(x) or made.setdefault(x, entry(x)) for x in operands(node)]
        made[node] = entry(node)
        listed.add(made[node], xs)
    return listed.entries


def output_title(entries: Sequence[Entry], ends: Sequence[Any]) -> str:
    """The names of the outputs, or descriptions if they have none."""
    found = [entry.name or entry.headline for entry in entries if any(entry.thing is end for end in ends)]
    return shorten(join_names(found), LONGEST) if found else "a graph"


# -- the scalar engine ------------------------------------------------------------------------------------------------


def listing_of_value(y: Value, namespace: Mapping[str, object]) -> Listing:
    """The graph of a Value."""
    order = values_before(y)
    names = value_names(namespace)
    kept = {x for v in order for x in reads_of(v)}

    def entry(v: Value) -> Entry:
        bad = {"nan": "1 NaN", "inf": "1 inf"}.get(str(abs(v.data)), "")
        name = "" if isinstance(v, Constant) else names.get(v, "")
        path = () if v.parents or v is y else None
        return Entry(kind_of_value(v), v.op, name, "", v, None, v in kept, number(v.data), bad, path=path)

    ops = [v for v in order if v.parents] or [y]
    entries = entries_of(ops, lambda v: [parent for parent, _ in v.parents], lambda v: isinstance(v, Constant), entry)
    note = f"{names.get(y, 'This Value')} has no history: it was given, and not computed"
    return Listing(output_title(entries, [y]), entries, [note] * (not y.parents))


# -- calls of modules -------------------------------------------------------------------------------------------------


class Calls:
    """Records which call of which module made a node, as the calls happen: the engine does not record this.

    Within a `with` block, every module has a hook before and a hook after its forward pass. Both record the time. In
    eager mode, time is the engine's clock, which also stamps each node; in a graph that is being built, it is the
    number of names so far, since each node adds a name.

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

    def on_forward(self, op: Op, y: Tensor, xs: tuple[Tensor, ...]) -> None:
        if isinstance(y.node, Record):
            self.alive[y.node] = ref(y)
            at = place()
            if at is not None and at != self.asked:
                self.places[y.node] = at

    def on_backward(self, node: Node, gy: Any, gxs: tuple[Any, ...]) -> None:
        pass
