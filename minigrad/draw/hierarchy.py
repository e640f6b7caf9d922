"""Nested groups of nodes: by calls and scopes, then by repeated blocks; large groups are split into parts.

A graph that is too large to show becomes a tree in which every level is small. Groups can be opened, and only what has
been opened is laid out and drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .listing import Entry, Listing, Path

LONGEST_BLOCK = 64  # children in one block of a repetition
WORTH = 4  # boxes that a repetition must save
CROWD = 100  # children of one group; more are split into parts


@dataclass(eq=False)
class NodeGroup:
    """Several nodes as one.

    kind        "module", "scope"; "repeat": a run of equal blocks; "block": one of them; "part": part of a large group
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
        found = []
        stack: list[int | NodeGroup] = [self]
        while stack:
            child = stack.pop()
            if isinstance(child, NodeGroup):
                stack += reversed(child.children)
            elif entries[child].kind == "op":
                found.append(child)
        return found

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
        group.children = fold_repetitions(group.children, listing.entries)
    home = homes(root)
    for i, users in enumerate(users_of(listing.entries)):
        if listing.entries[i].path is None:
            meeting(root, [home[user] for user in users]).children.append(i)
    for group in inside_out(root):
        let_out(group, listing.entries)
    for group in inside_out(root):
        group.children.sort(key=lambda child: first(child, listing.entries))
        group.children = handfuls(group.children, crowd)
        for child in group.groups:
            child.outer = group
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


def let_out(group: NodeGroup, entries: Sequence[Entry]) -> None:
    """Move a repetition's loose leaves to the outer group if they are fewer than its blocks: the blocks share them."""
    loose = [child for child in group.children if isinstance(child, int) and entries[child].kind != "op"]
    if group.kind == "repeat" and group.outer is not None and len(loose) < group.times:
        group.outer.children += loose
        group.children = [child for child in group.children if child not in loose]


def first(child: int | NodeGroup, entries: Sequence[Entry]) -> int:
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


def handfuls(children: list[int | NodeGroup], crowd: int) -> list[int | NodeGroup]:
    """Split more than `crowd` children into parts of `crowd` children. Too many parts are split in the same way."""
    total = len(children)
    size = 1
    while len(children) > crowd:
        cut = [children[i : i + crowd] for i in range(0, len(children), crowd)]
        size *= crowd
        spans = [(i * size + 1, min((i + 1) * size, total)) for i in range(len(cut))]
        children = [NodeGroup("part", f"{a}–{b} of {total}", children=part) for (a, b), part in zip(spans, cut)]
        for group in children:
            assert isinstance(group, NodeGroup)
            for child in group.groups:
                child.outer = group
    return children
