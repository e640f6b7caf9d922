"""Specialise a graph: replace its unknown lengths by those of a run.

Each op's own `infer` computes the shapes again from the real shapes of the inputs. Unknown lengths stored in an op's
fields (the shape of a reshape, the divisor of a mean) are replaced there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from ....engine.base.dimension import Formula, Length, Unknown, fits, is_unknown, substitute_lengths
from ....engine.base.errors import GraphError, ShapeError
from ....engine.base.spec import Spec, Specs
from ....engine.core.graph import Graph
from ....engine.core.node import Node
from ....engine.ops import Const, Input, const

Lengths = Mapping[str, int]


def specialise_graph(graph: Graph, specs: Sequence[Spec], told: Lengths | None = None) -> Graph:
    """The graph for inputs of these specs. `told`: name → length, for lengths that no input has.

    Raises ShapeError if a spec does not fit, GraphError if an op needs a length that only a loop determines.
    """
    lengths = {**(told or {}), **lengths_in(graph.inputs, specs)}
    return require_known_lengths(with_lengths(graph, lengths, specs) if lengths else graph)


def require_known_lengths(graph: Graph) -> Graph:
    """The graph itself. Raises GraphError if a field of an op is an unknown length. Arrays may have unknown lengths."""
    for node in graph.nodes:
        lengths = [*unknown_lengths(node.op)]
        if lengths:
            raise GraphError(
                f"{node.op.kind}{describe_place(node)} needs the length {lengths[0]}, which no "
                "input of this run has, and no loop knows before it ends: feed a tensor of that length or pass a number"
            )
    return graph


def describe_place(node: Node) -> str:
    """Where a node was built, as a clause for an error message; empty if unknown."""
    place = getattr(node, "place", None)
    return "" if place is None else f", built at {place},"


def unknown_lengths(value: Any) -> Iterator[Length]:
    """The unknown lengths in an op's fields. A graph in a field is skipped: it has inputs of its own."""
    match value:
        case Graph():
            return
        case Length():
            yield value
        case tuple():
            for part in value:
                yield from unknown_lengths(part)
        case _ if is_dataclass(value) and not isinstance(value, type):
            for f in fields(value):
                yield from unknown_lengths(getattr(value, f.name))


def with_lengths(graph: Graph, lengths: Lengths, specs: Sequence[Any]) -> Graph:
    """The graph with these lengths in place of the unknown ones."""
    arrive = dict(zip(graph.inputs, specs, strict=True))
    inputs: dict[Node, Node] = {x: x.naming(Node(x.op, (), arrive[x])) for x in graph.inputs}

    def specialise_node(node: Node, xs: tuple[Node, ...]) -> Node:
        if node in inputs:
            return inputs[node]
        said = spec_at(node.spec, lengths)
        new = node.naming(Node(fields_at(node.op, lengths), xs, None if xs else said))
        if not matches(new.spec, said):
            taken = f"{node}{describe_place(node)} was taken to be {node.spec}"
            raise ShapeError(f"{taken}, which is {said} in this run, but it is {new.spec}")
        return new

    rebuilt = graph.rebuild(specialise_node)
    return Graph(tuple(inputs.values()), rebuilt.outputs)


def matches(new: Any, said: Any) -> bool:
    """Whether a result has the expected lengths, as far as these are known."""
    if isinstance(said, Specs):
        return all(map(matches, new, said))
    return fits(new.shape, said.shape)


def lengths_in(inputs: Sequence[Node], specs: Sequence[Spec]) -> dict[str, int]:
    """Name → length, read from the real shapes of the inputs. Raises ShapeError if they contradict the graph."""
    lengths: dict[str, int] = {}
    for x, spec in zip(inputs, specs, strict=True):
        name = x.op.name if isinstance(x.op, Input) else str(x)
        fits = len(spec.shape) == len(x.spec.shape)
        for n, real in zip(x.spec.shape, spec.shape) if fits else ():
            if is_unknown(n) and lengths.setdefault(str(n), real) != real:
                raise ShapeError(
                    f"{name} is {x.spec}, and came as {spec}: the length {n} is {lengths[str(n)]} in "
                    "another input of the same run. Lengths that may differ need different names in their shapes, as "
                    'in ("rows", 3)'
                )
            fits = fits and (is_unknown(n) or n == real)
        if not fits:
            raise ShapeError(f"{name} expects {x.spec}, got {spec}")
    for n in {n for x in inputs for n in x.spec.shape if is_unknown(n)}:
        told = substitute_lengths(n, {name: real for name, real in lengths.items() if name != str(n)})
        if not is_unknown(told) and told != lengths[str(n)]:  # a result was fed together with its operands
            raise ShapeError(f"a length that is {n} came as {lengths[str(n)]}, but other inputs make it {told}")
    return lengths


def spec_at(spec: Any, lengths: Lengths) -> Any:
    """The spec with these lengths filled in."""
    if isinstance(spec, Specs):
        return Specs(spec_at(s, lengths) for s in spec)
    return spec if spec.is_known else spec.with_shape(tuple(substitute_lengths(n, lengths) for n in spec.shape))


def fields_at(op: Any, lengths: Lengths) -> Any:
    """The op, or another dataclass, with these lengths filled in; the same object if nothing changes."""
    if not is_dataclass(op) or isinstance(op, type):
        return op
    if isinstance(op, Const):
        return const(substitute_lengths(op.value, lengths)) if isinstance(op.value, Unknown) else op
    before = {f.name: getattr(op, f.name) for f in fields(op)}
    after = {name: value_at(value, lengths) for name, value in before.items()}
    return op if all(after[name] is before[name] for name in before) else replace(op, **after)


def value_at(value: Any, lengths: Lengths) -> Any:
    """A field of an op with these lengths filled in; the same object if nothing changes."""
    match value:
        case tuple() if not isinstance(value, Specs):
            new = [value_at(v, lengths) for v in value]
            same = all(a is b for a, b in zip(new, value))
            return value if same else type(value)(*new) if hasattr(value, "_fields") else tuple(new)
        case Length() | Formula():
            return substitute_lengths(value, lengths)
        case Spec() | Specs():
            return spec_at(value, lengths)
        case Graph():
            return with_lengths(value, lengths, [spec_at(x.spec, lengths) for x in value.inputs])
    return fields_at(value, lengths)
