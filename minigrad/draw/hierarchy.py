"""Nested groups of nodes: by calls and scopes, then by repeated blocks; large groups are split into parts.

A graph that is too large to show becomes a tree in which every level is small. Groups can be opened, and only what has
been opened is laid out and drawn.

A part holds the ops of one line of code. If lines are unknown, or one line made too many ops, a part is a stretch of
the graph: it begins and ends where few values pass, as between two layers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import accumulate, pairwise
from typing import Any

from .listing import Entry, Listing, Path

LONGEST_BLOCK = 64  # children in one block of a repetition
WORTH = 4  # boxes that a repetition must save
CROWD = 20  # most children of one group; more are split into parts
BLOCKS = 100  # most blocks of a repetition
PARTS = 12  # parts of a group
MOST_LEAVES = 8  # most leaves next to parts
MOST_LINES = 200  # most lines of code that become parts
LINE = re.compile(r"line (\d+) of (.*?, in \S+?)(?:: |$)")


@dataclass(eq=False)
class NodeGroup:
    """Several nodes as one.

    kind        "module", "scope"; "repeat": a run of equal blocks; "block": one of them; parts of a large group:
                "line": what a line of code made, "stretch": ops that follow each other, "leaves"
    times       the number of blocks of a repetition
    children    numbers of entries, and groups, in the order in which they were made
    """

    kind: str
    label: str
    of: str = ""
    thing: Any = None
    times: int = 0
    children: list[int | NodeGroup] = field(default_factory=list)
    outer: NodeGroup | None = None

    def ops(self, entries: Sequence[Entry]) -> list[int]:
        """The numbers of the ops in this group and in its inner groups, in order."""
        return ops_in(self, entries)

    groups = property(lambda self: [child for child in self.children if isinstance(child, NodeGroup)])

    @property
    def around(self) -> list[NodeGroup]:
        """The enclosing groups and this group, outermost first."""
        return [*(self.outer.around if self.outer else ()), self]


def hierarchy(listing: Listing, crowd: int = CROWD) -> NodeGroup:
    """The whole listing as one group. A leaf without a scope goes into the innermost group around all its users."""
    root = NodeGroup("graph", listing.output)
    by_scope(root, listing.entries)
    for group in inside_out(root):
        group.children = split(group.children, listing.entries, crowd)
    home = homes(root)
    for i, users in enumerate(users_of(listing.entries)):
        if listing.entries[i].path is None:
            meeting(root, [home[user] for user in users]).children.append(i)
    are_few = sum(entry.kind == "leaf" for entry in listing.entries) <= MOST_LEAVES
    for group in inside_out(root):
        let_out(group, listing.entries, are_few)
    for group in inside_out(root):
        group.children.sort(key=first)
        most = max(crowd, BLOCKS) if group.kind == "repeat" else crowd
        group.children = leave_few(group.children, listing.entries, most)
    homes(root)
    return root


def by_scope(root: NodeGroup, entries: Sequence[Entry]) -> None:
    """Put each entry into a group for its path."""
    groups: dict[Path, NodeGroup] = {(): root}
    for i, entry in enumerate(entries):
        if entry.path is None:
            continue
        for depth in range(1, len(entry.path) + 1):
            path = entry.path[:depth]
            if path not in groups:
                scope = path[-1]
                groups[path] = NodeGroup(scope.kind, scope.label, scope.of, scope.thing, outer=groups[path[:-1]])
                groups[path[:-1]].children.append(groups[path])
        groups[entry.path].children.append(i)


def inside_out(root: NodeGroup) -> list[NodeGroup]:
    """Every group, inner before outer."""
    order = [root]
    for group in order:
        order += group.groups
    return order[::-1]


def homes(root: NodeGroup) -> dict[int, NodeGroup]:
    """Entry → the group that it is in. Also sets `outer` of every group."""
    home: dict[int, NodeGroup] = {}
    for group in inside_out(root):
        for child in group.children:
            if isinstance(child, NodeGroup):
                child.outer = group
            else:
                home[child] = group
    return home


def users_of(entries: Sequence[Entry]) -> list[list[int]]:
    users: list[list[int]] = [[] for _ in entries]
    for i, entry in enumerate(entries):
        for x in entry.inputs:
            users[x].append(i)
    return users


def meeting(root: NodeGroup, groups: Sequence[NodeGroup]) -> NodeGroup:
    """The innermost group that contains all of these groups."""
    if not groups:
        return root
    shared = groups[0].around
    for group in groups[1:]:
        shared = [a for a, b in zip(shared, group.around) if a is b]
    return shared[-1]


def let_out(group: NodeGroup, entries: Sequence[Entry], are_few: bool) -> None:
    """Move loose leaves to the outer group: out of a repetition, if its blocks share them (fewer leaves than blocks);
    out of a line of code, if the graph has few leaves."""
    loose = [child for child in group.children if isinstance(child, int) and entries[child].kind != "op"]
    if group.kind == "line":
        loose = [child for child in loose if are_few and entries[child].kind == "leaf"]
    if group.outer is not None and (group.kind == "line" or (group.kind == "repeat" and len(loose) < group.times)):
        group.outer.children += loose
        group.children = [child for child in group.children if child not in loose]


def entries_in(child: int | NodeGroup) -> Iterator[int]:
    """The numbers of the entries in a child and in its inner groups, in order."""
    stack = [child]
    while stack:
        child = stack.pop()
        if isinstance(child, NodeGroup):
            stack += reversed(child.children)
        else:
            yield child


def ops_in(child: int | NodeGroup, entries: Sequence[Entry]) -> list[int]:
    return [i for i in entries_in(child) if entries[i].kind == "op"]


def first(child: int | NodeGroup) -> int:
    """The number of the first entry in a child."""
    while isinstance(child, NodeGroup):
        child = child.children[0]
    return child


# -- repetitions ------------------------------------------------------------------------------------------------------


def fold_repetitions(children: list[int | NodeGroup], entries: Sequence[Entry]) -> list[int | NodeGroup]:
    """Replace each run of equal blocks among the children by one group."""
    ops = [child.ops(entries) if isinstance(child, NodeGroup) else [child] for child in children]
    alike: dict[Any, int] = {}
    keys = [alike.setdefault(structure(each, entries), len(alike)) for each in ops]
    done: list[int | NodeGroup] = []
    at = 0
    for start, length, times in runs(keys, ops, entries):
        blocks = [children[start + i * length : start + (i + 1) * length] for i in range(times)]
        done += [*children[at:start], repetition(blocks, entries)]
        at = start + length * times
    return done + children[at:]


def structure(ops: Sequence[int], entries: Sequence[Entry]) -> Any:
    """A key of the ops and how they are connected, which is equal for equal blocks anywhere in the graph."""
    place = {op: i for i, op in enumerate(ops)}
    listed = [entries[op] for op in ops]
    return tuple((x.sign, x.spec, *(place.get(y, entries[y].spec) for y in x.inputs)) for x in listed)


def runs(keys: Sequence[int], ops: Sequence[Sequence[int]], entries: Sequence[Entry]) -> Iterator[tuple[int, int, int]]:
    """(start, block length, number of blocks) of each run worth a group, from the left; at a start, the widest run."""
    at = 0
    while at < len(keys):
        best = (0, 1, 1)
        for length in range(1, min(LONGEST_BLOCK, (len(keys) - at) // 2) + 1):
            times = repeats(keys, ops, entries, at, length, best[0]) if keys[at] == keys[at + length] else 1
            is_wider = times > 1 and times * length > best[0]
            if is_wider and (times - 1) * sum(map(len, ops[at : at + length])) >= WORTH:
                best = (times * length, length, times)
        width, length, times = best
        if width:
            yield at, length, times
        at += width or 1


def repeats(
    keys: Sequence[int], ops: Sequence[Sequence[int]], entries: Sequence[Entry], at: int, length: int, width: int
) -> int:
    """How many equal blocks of this length follow each other; 1 if together they are no wider than `width`."""

    def wiring(n: int) -> Any:
        block = ops[at + n * length : at + (n + 1) * length]
        return structure([op for child in block for op in child], entries)

    times = 1
    while keys[at : at + length] == keys[at + times * length : at + (times + 1) * length]:
        times += 1
    if times == 1 or length * times <= width:
        return 1
    if length == 1:
        return times
    pattern = wiring(0)
    return next((n for n in range(1, times) if wiring(n) != pattern), times)


def repetition(blocks: Sequence[list[int | NodeGroup]], entries: Sequence[Entry]) -> NodeGroup:
    """Group equal blocks, by the names of their modules or else of their ops; a block of one child is that child."""
    alone = len(blocks[0]) == 1
    labels = [block_name(block, entries) for block in blocks]
    of = labels[0] if len({*labels}) == 1 else f"{labels[0]} … {labels[-1]}"
    group = NodeGroup("repeat", f"×{len(blocks)}", of, times=len(blocks))
    for n, (block, label) in enumerate(zip(blocks, labels), 1):
        named = label if label != of else f"{n} of {len(blocks)}: {of}"
        group.children.append(block[0] if alone else NodeGroup("block", named, children=block))
    return group


def block_name(block: Sequence[int | NodeGroup], entries: Sequence[Entry]) -> str:
    """The names of the modules in a block; without modules, the symbols of its ops."""
    groups = [child.label for child in block if isinstance(child, NodeGroup) and child.kind != "repeat"]
    found = groups or [entries[child].sign for child in block if isinstance(child, int)]
    return ", ".join(found[:3]) + ", …" * (len(found) > 3)


# -- parts ------------------------------------------------------------------------------------------------------------


def split(children: list[int | NodeGroup], entries: Sequence[Entry], crowd: int) -> list[int | NodeGroup]:
    """Fold repetitions; if more than `crowd` children remain, group them by line of code, or else into stretches."""
    folded = fold_repetitions(children, entries)
    if len(folded) <= crowd:
        return folded
    leaves = [child for child in children if not ops_in(child, entries)]
    parts = by_line([child for child in children if ops_in(child, entries)], entries)
    if len(parts) < 2 or max(map(len, parts)) > 0.9 * len(children):
        return leaves + stretches([child for child in folded if ops_in(child, entries)], entries, crowd)
    found: list[int | NodeGroup] = []
    for part in parts:
        inner = split(part, entries, crowd)
        found += [as_part("line", part, inner, entries)] if len(part) > 1 else inner
    return leaves + stretches(found, entries, crowd)


def by_line(children: Sequence[int | NodeGroup], entries: Sequence[Entry]) -> list[list[int | NodeGroup]]:
    """The children that each line of code made; a child of several lines, or of none, is alone.

    Lines that read each other's results, as in a loop, are together. Returns [] if there would be too many parts.
    """
    if len({entry.line for entry in entries}) < 3:  # such as "" and one line
        return []
    made = [{entries[op].line for op in ops_in(child, entries)} for child in children]
    line = [str(i) if len(each) > 1 or "" in each else each.pop() for i, each in enumerate(made)]
    part = merge_cycles({(line[i], line[j]) for i, j in reads(children, entries)}, line)
    found: dict[str, list[int | NodeGroup]] = {}
    for child, each in zip(children, line):
        found.setdefault(part[each], []).append(child)
    return list(found.values()) if len(found) < min(len(children), MOST_LINES) else []


def merge_cycles(uses: Iterable[tuple[str, str]], names: Iterable[str]) -> dict[str, str]:
    """Name → name of its part. `uses` are pairs of names; all names in a cycle of uses form one part.

    Merges at most MOST_LINES cycles.
    """
    part = {each: each for each in names}
    for _ in range(MOST_LINES):
        graph: dict[str, set[str]] = {each: set() for each in part.values()}
        for reader, read in uses:
            graph[part[reader]] |= {part[read]} - {part[reader]}
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            cycle = error.args[1]
            part = {each: cycle[0] if there in cycle else there for each, there in part.items()}
        else:
            break
    return part


def reads(children: Sequence[int | NodeGroup], entries: Sequence[Entry]) -> Iterator[tuple[int, int]]:
    """Yield the positions of two children, for each value that the first child reads from the second."""
    place = {op: i for i, child in enumerate(children) for op in ops_in(child, entries)}
    for op, i in place.items():
        yield from ((i, place[x]) for x in entries[op].inputs if x in place)


def stretches(
    children: list[int | NodeGroup], entries: Sequence[Entry], crowd: int, passing: Sequence[int] = ()
) -> list[int | NodeGroup]:
    """Group more than `crowd` children into stretches, but leave out the result, and repetitions if they are few."""
    if len(children) <= crowd:
        return children
    alone = [i for i, child in enumerate(children) if isinstance(child, NodeGroup) and child.kind == "repeat"]
    result = [len(children) - 1] if not passing and isinstance(children[-1], int) else []
    fixed = [0, *(end for i in alone * (len(alone) <= PARTS // 2) + result for end in (i, i + 1)), len(children)]
    passing = passing or count_passing(children, entries)
    size = -(-len(children) // PARTS)
    found: list[int | NodeGroup] = []
    for start, end in pairwise(fixed):
        while start < end:
            middle, cut = start + size, end
            if end - start > 2 * size:
                places = range(start + (size + 1) // 2, start + 2 * size + 1)
                cut = min(places, key=lambda i: (passing[i], abs(i - middle)))
            inner = stretches(children[start:cut], entries, crowd, passing[start:cut])
            found += [as_part("stretch", children[start:cut], inner, entries)] if cut - start > 1 else inner
            start = cut
    return found


def count_passing(children: Sequence[int | NodeGroup], entries: Sequence[Entry]) -> list[int]:
    """For each child, how many earlier children are read by this child or by a later one."""
    last = list(range(len(children)))  # child → the last child that reads it
    for reader, read in reads(children, entries):
        last[read] = max(last[read], reader)
    ends = Counter(last)
    return [*accumulate((1 - ends[i] for i in range(len(last) - 1)), initial=0)]


def as_part(
    kind: str, children: Sequence[int | NodeGroup], inner: list[int | NodeGroup], entries: Sequence[Entry]
) -> NodeGroup:
    """A part made of these children, with its name; `inner`: the same children in groups."""
    ops = [op for child in children for op in ops_in(child, entries)]
    if ops:
        return NodeGroup(kind, part_name(kind, children, [entries[op] for op in ops]), children=inner)
    names = [entries[first(child)].name for child in (children[0], children[-1])]
    return NodeGroup("leaves", " … ".join(names) if all(names) else "leaves", f"{len(children)} leaves", children=inner)


def part_name(kind: str, children: Sequence[int | NodeGroup], ops: Sequence[Entry]) -> str:
    """The first of these that it has: a line of code, modules, a range of lines, frequent ops such as 5 @, 2 tanh."""
    line, *others = lines = dict.fromkeys(op.line for op in ops)
    if kind == "line" and not others:
        return line.partition(": ")[2].removeprefix("return ") or line
    modules = [child.label for child in children if isinstance(child, NodeGroup) and child.kind in ("module", "scope")]
    if modules:
        return " … ".join(dict.fromkeys([modules[0], modules[-1]]))
    places = [place.groups() for place in map(LINE.match, lines) if place]
    if len({function for _, function in places}) == 1 < len(places):
        numbers = [int(number) for number, _ in places]
        return f"lines {min(numbers)}–{max(numbers)} of {places[0][1]}"
    signs = Counter(op.sign for op in ops).most_common()
    return ", ".join(f"{n} {sign}" if n > 1 else sign for sign, n in signs[:3]) + ", …" * (len(signs) > 3)


def leave_few(children: list[int | NodeGroup], entries: Sequence[Entry], crowd: int) -> list[int | NodeGroup]:
    """Group the leaves if there are too many children, or many leaves next to parts; then make stretches if needed."""
    leaves = [child for child in children if isinstance(child, int) and entries[child].path is None]
    has_parts = any(isinstance(child, NodeGroup) and child.kind in ("line", "stretch") for child in children)
    if len(leaves) > (MOST_LEAVES if has_parts else 1 if len(children) > crowd else len(children)):
        inside = {*leaves}
        group = as_part("leaves", leaves, stretches([*leaves], entries, crowd), entries)
        children = [*(child for child in children if child not in inside), group]
        children.sort(key=first)
    return stretches(children, entries, crowd)
