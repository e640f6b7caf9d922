"""Pictures and replays of the scalar engine's graphs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from ..scalar.value import Constant, Value, history
from .names import names_in
from .picture import UNKNOWN, Arrow, Box, GradientEntry, GraphRun, Picture, Share
from .words import number, pluralize

# The local derivatives of the engine's operations, in symbols: y is the result, a and b are the operands. The engine
# stores only numbers; a test compares these formulas with them.
RULES: dict[str, tuple[str, ...]] = {
    "+": ("1", "1"),
    "−": ("1", "−1"),
    "×": ("{b}", "{a}"),
    "÷": ("1 ÷ {b}", "−{y} ÷ {b}"),
    "neg": ("−1",),
    "exp": ("{y}",),
    "log": ("1 ÷ {a}",),
    "tanh": ("1 − {y}²",),
    "relu": ("1 if {a} > 0 else 0",),
}
POWER = re.compile(r"\^(-?[\d.]+(?:e[+-]?\d+)?)")
GROUPS = 10  # groups into which a graph is split if it is too large to draw value by value


def rules(op: str) -> tuple[str, ...]:
    """The local derivatives of an operation, one for each operand; () for a leaf or an unknown operation."""
    if (power := POWER.fullmatch(op)) is not None:
        p = float(power[1])
        simple = {0.0: "0", 1.0: "1", 2.0: "2 × {a}"}
        return (simple.get(p, f"{number(p)} × {{a}}^{number(p - 1)}"),)
    return RULES.get(op, ())


def picture_of_values(ys: Sequence[Value], namespace: Mapping[str, object], most: int | None = None) -> Picture:
    """The picture of the graph behind some values; a graph of more than `most` values is drawn in groups.

    Gradients are unknown until a backward() has set one that is not 0.
    """
    order = [*dict.fromkeys(v for y in ys for v in history(y))]
    if most is not None and len(order) > most:
        return picture_in_groups(order, ys, namespace)
    names, ids = value_names(namespace), {v: f"b{i}" for i, v in enumerate(order, 1)}
    known = any(v.grad != 0 for v in order)
    kept = {x for v in order for x in reads_of(v)}
    boxes = tuple(box_of(v, ids[v], names.get(v, ""), known, v in kept) for v in order)
    uses = ((ids[parent], ids[v]) for v in order for parent, _ in v.parents)
    return Picture(boxes, arrows_of(uses), tuple(dict.fromkeys(ids[y] for y in ys)))


def value_names(namespace: Mapping[str, object]) -> dict[Value, str]:
    return names_in(namespace, lambda x: x if isinstance(x, Value) else None)


def kind_of_value(v: Value) -> str:
    return "op" if v.parents else "constant" if isinstance(v, Constant) else "leaf"


def box_of(v: Value, id: str, name: str, known: bool, kept: bool) -> Box:
    """The box of a value; `known` says whether the graph has gradients."""
    if isinstance(v, Constant):
        return Box(id, "constant", "", v.op, "", number(v.data), "", kept)
    return Box(id, kind_of_value(v), name, v.op, "", number(v.data), number(v.grad) if known else UNKNOWN, kept)


def arrows_of(uses: Iterable[tuple[str, str]]) -> tuple[Arrow, ...]:
    return tuple(Arrow(f"a{i}", tail, head) for i, (tail, head) in enumerate(uses, 1))


def picture_in_groups(order: Sequence[Value], ys: Sequence[Value], namespace: Mapping[str, object]) -> Picture:
    """The picture of a large graph: its leaves, groups of consecutive values, and the results."""
    read = {parent for v in order for parent, _ in v.parents}
    ends = [y for y in dict.fromkeys(ys) if y not in read]
    inner, names = [v for v in order if v not in ends], value_names(namespace)
    leaves, computed = [v for v in inner if kind_of_value(v) == "leaf"], [v for v in inner if v.parents]
    boxes = [Box("b1", "leaf", pluralize(len(leaves), "leaf", "leaves"), "", "", "", "")] * bool(leaves)
    home = dict.fromkeys(leaves, "b1")
    for start, end in pairwise(sorted({0, *cuts(computed, ends), len(computed)})):
        boxes.append(group_box(f"b{len(boxes) + 1}", computed[start:end], start))
        home |= dict.fromkeys(computed[start:end], boxes[-1].id)
    for y in ends:
        home[y] = f"b{len(boxes) + 1}"
        kind, op, spec = ("op", "group", f"of {len(order):,} values") if y.parents else ("leaf", "", "")
        boxes.append(Box(home[y], kind, names.get(y, ""), op, spec, number(y.data), ""))
    uses = ((home[parent], home[v]) for v in order for parent, _ in v.parents if parent in home)
    between = dict.fromkeys((tail, head) for tail, head in uses if tail != head)
    return Picture(tuple(boxes), arrows_of(between), tuple(dict.fromkeys(home[y] for y in ys if y in home)))


def group_box(id: str, group: Sequence[Value], start: int) -> Box:
    """The box of a group whose first value is number `start`, with its most frequent operations."""
    counts = [f"{n:,} {op}" for op, n in Counter(v.op for v in group).most_common()]
    spec = "of " + ", ".join([*counts[:3], *["…"] * (len(counts) > 3)])
    return Box(id, "op", f"{start + 1:,}–{start + len(group):,}", "group", spec, "", "")


def cuts(computed: Sequence[Value], ends: Sequence[Value]) -> list[int]:
    """Where to cut into GROUPS of similar size: near each even cut, at the place that the fewest values cross."""
    place = {v: i for i, v in enumerate(computed)}
    last = {parent: i for i, v in enumerate([*computed, *ends]) for parent, _ in v.parents if parent in place}
    changes = [1] * len(computed) + [0] * len(ends)
    for i in last.values():
        changes[i] -= 1
    passing = [0, *accumulate(changes)]
    size = len(computed) / GROUPS
    near = [(m, range(int(m - size / 2), int(m + size / 2) + 1)) for m in (size * k for k in range(1, GROUPS))]
    return [min(places, key=lambda i: (passing[i], abs(i - m))) for m, places in near]


def reads_of(v: Value) -> list[Value]:
    """The values, except constants, that the derivatives of v's operation read."""
    operands = [parent for parent, _ in v.parents]
    words = "".join(rule for rule, x in zip(rules(v.op), operands, strict=False) if not isinstance(x, Constant))
    slots = {"{a}": operands[:1], "{b}": operands[1:2], "{y}": [v]}
    return [*dict.fromkeys(x for k, xs in slots.items() if k in words for x in xs if not isinstance(x, Constant))]


def replay_of_value(y: Value, namespace: Mapping[str, object]) -> GraphRun:
    """The forward and backward pass over y's graph, run by the engine on a copy: the learner's .grad stays as it is."""
    picture = picture_of_values([y], namespace)
    order = history(y)
    twin: dict[Value, Value] = {}
    for v in order:
        twin[v] = Value(v.data, tuple((twin[parent], slope) for parent, slope in v.parents), v.op)
    twin[y].backward()
    box = dict(zip(order, picture.boxes, strict=True))
    collected: dict[Value, float] = {}
    shares = [share for v in reversed(order) for share in shares_of(v, twin[v].grad, picture, box, collected)]
    boxes = tuple(replace(box[v], grad=box[v].grad and number(twin[v].grad)) for v in order)
    reads = {box[v].id: tuple(box[x].id for x in reads_of(v)) for v in order if rules(v.op)}
    return GraphRun(Picture(boxes, picture.arrows), seed="1", shares=tuple(shares), reads=reads, frees=False)


def shares_of(
    v: Value, incoming: float, picture: Picture, box: Mapping[Value, Box], collected: dict[Value, float]
) -> Iterator[Share]:
    """What v passes back to each of its operands; adds it to `collected`."""
    names = [box[parent].display_name for parent, _ in v.parents]
    symbols = dict(zip("ab", names, strict=False), y=box[v].display_name)
    words = [rule.format(**symbols) for rule in rules(v.op)]
    if len(words) != len(v.parents):  # the learner's own operation, whose rule we do not know
        words = [""] * len(v.parents)
    for arrow, (parent, slope), rule in zip(picture.arrows_into[box[v].id], v.parents, words, strict=True):
        if isinstance(parent, Constant):
            continue
        outgoing = incoming * slope
        before = collected.get(parent)
        after = collected[parent] = outgoing if before is None else before + outgoing
        yield Share(
            arrow=arrow.id, incoming=number(incoming), rule=rule, is_whole=False, slope=number(slope),
            outgoing=number(outgoing), before="" if before is None else number(before),
            after=number(after), entry=GradientEntry("", before, outgoing, after), size=abs(outgoing),
            lines=(number(incoming), f"× {number(slope)}", f"= {number(outgoing)}"),
        )  # fmt: skip
