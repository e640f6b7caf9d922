"""A hierarchy with some groups open: as a picture, and as an outline in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from .hierarchy import NodeGroup, entries_in
from .listing import Entry, Listing
from .picture import UNKNOWN, Arrow, Box, GroupFrame, Picture
from .words import pluralize

INDENT = "  "
MOST_SWEEPS = 30  # over the arrows of a picture
FEW = 24  # boxes; if there are more, a module of one op is one box
LONGEST = 400  # lines of an outline


@dataclass(frozen=True)
class Overview:
    """A listing whose nodes are in groups."""

    listing: Listing
    root: NodeGroup

    def open_groups(self, boxes: int) -> list[NodeGroup]:
        """The groups that are open at first: from the outermost inwards, while at most `boxes` boxes are shown.

        Repetitions stay closed, since their purpose is to save boxes; and so do modules of one op, if there are many.
        """
        found, closed = [self.root], list[NodeGroup]()
        shown = len(self.root.children)
        for group in found:
            for inner in group.groups:
                more = len(inner.children) - 1
                if self.op_of(inner):
                    closed.append(inner)
                elif inner.kind in ("module", "scope", "part") and shown + more <= boxes:
                    found.append(inner)
                    shown += more
        few = shown + sum(len(group.children) - 1 for group in closed) <= min(boxes, FEW)
        return [*found[1:], *(closed if few else ())]

    def op_of(self, group: NodeGroup) -> str:
        """The symbol of the only op of a module; else ""."""
        ops = group.ops(self.listing.entries) if group.kind == "module" else []
        return self.listing.entries[ops[0]].sign if len(ops) == 1 else ""

    def picture(self, boxes: int) -> Picture:
        """Boxes for nodes and closed groups, with open_groups(boxes) open.

        Each use of a node by a node has an arrow; all uses between a group and another box have one.
        """
        opened = [self.root, *self.open_groups(boxes)]
        entries, shown, nodes = self.listing.entries, dict[int, str](), set[str]()
        drawn, around = list[Box](), dict[str, tuple[GroupFrame, ...]]()
        stack: list[tuple[int | NodeGroup, tuple[GroupFrame, ...]]] = [(self.root, ())]
        while stack:
            child, frames = stack.pop()
            if isinstance(child, NodeGroup) and child in opened:
                heading = f"{Picture.inner_name(child.label, frames).removesuffix(':')}: {self.size(child)}"
                frame = GroupFrame(f"f{opened.index(child)}", child.label, heading)
                inside = () if child is self.root else (*frames, frame)
                stack += [(each, inside) for each in reversed(child.children)]
                continue
            id = f"b{len(drawn) + 1}"
            around[id] = frames
            drawn.append(self.box_of(child, id))
            nodes |= {id} if isinstance(child, int) else set()
            shown |= dict.fromkeys(entries_in(child), id)
        uses = [(shown[x], shown[i], n) for i, entry in enumerate(entries) for n, x in enumerate(entry.inputs)]
        pairs = dict.fromkeys((a, b, n * (nodes >= {a, b})) for a, b, n in uses if a != b)
        arrows = tuple(Arrow(f"a{i}", tail, head) for i, (tail, head, _) in enumerate(pairs, 1))
        read = {tail for tail, *_ in pairs}
        return Picture(tuple(drawn), arrows, tuple(box.id for box in drawn if box.id not in read), around=around)

    def box_of(self, child: int | NodeGroup, id: str) -> Box:
        """A node, or a closed group, as a box."""
        if isinstance(child, NodeGroup):
            sign = child.label if child.kind == "repeat" else ""
            name = child.of if child.kind == "repeat" else child.label
            return Box(id, "group", name or "blocks", sign, self.size(child), "", "")
        entry = self.listing.entries[child]
        value = "" if entry.value == UNKNOWN else entry.value
        return Box(id, entry.kind, entry.name, entry.sign, entry.spec, value, "", entry.kept)

    def size(self, group: NodeGroup) -> str:
        """A group's type, and its op or the number of its ops: Linear · affine, or Sequential, 3 ops."""
        if self.op_of(group):
            return f"{group.of} · {self.op_of(group)}"
        of = "".join(inner.of for inner in group.groups[:1]) if group.kind == "repeat" else group.of
        ops = len(group.ops(self.listing.entries))
        return ", ".join(filter(None, [of, pluralize(ops, "op", "ops") * bool(ops or not of)]))

    # -- in words ---------------------------------------------------------------------------------

    def outline(self) -> str:
        """A line for every group and node, indented by nesting; for a repetition, only its first block."""
        lines: list[str] = []
        for line in self.lines():
            if len(lines) == LONGEST:
                lines.append(f"… and more: {pluralize(len(self.listing.entries), 'node', 'nodes')} in all")
                break
            lines.append(line)
        return "\n".join(lines)

    def lines(self) -> Iterator[str]:
        stack: list[tuple[int | NodeGroup | str, int]] = [(child, 0) for child in reversed(self.root.children)]
        while stack:
            child, depth = stack.pop()
            if isinstance(child, str):
                yield INDENT * depth + child
            elif isinstance(child, int):
                yield INDENT * depth + words(self.listing.entries[child])
            else:
                holds = child.of if child.kind == "repeat" else self.size(child)
                yield f"{INDENT * depth}{child.label.removesuffix(':')}: {holds}"
                inner: list[int | NodeGroup | str] = [*child.children]
                if child.kind == "repeat":
                    inner = [child.children[0], f"… {pluralize(child.times - 1, 'more', 'more')} like it"]
                stack += [(each, depth + 1) for each in reversed(inner)]


def depths(picture: Picture) -> dict[str, int]:
    """Box → the number of arrows on the longest path to it."""
    depth = dict.fromkeys(picture.box, 0)
    for arrow in picture.arrows * min(len(picture.boxes), MOST_SWEEPS):  # groups that read each other are a cycle
        depth[arrow.head] = max(depth[arrow.head], depth[arrow.tail] + 1)
    return depth


def with_tags(picture: Picture) -> Picture:
    """The picture with a small tag beside each far reader of a leaf, in place of a long arrow from the leaf."""
    depth = depths(picture)
    nearest = {arrow.tail: depth[arrow.head] for arrow in sorted(picture.arrows, key=lambda x: -depth[x.head])}
    far = [x for x in picture.arrows if picture.box[x.tail].kind == "leaf" and depth[x.head] > nearest[x.tail] + 1]
    tags = [Box(f"t{x.id}", "tag", "", "", "", picture.box[x.tail].display_name, "") for x in far]
    arrows = [replace(x, tail=f"t{x.id}") if x in far else x for x in picture.arrows]
    around = {**picture.around, **{f"t{x.id}": picture.around.get(x.head, ()) for x in far}}
    return Picture((*tags, *picture.boxes), tuple(arrows), picture.ends, around=around)


def words(entry: Entry) -> str:
    """A node in words: tanh → h, f64[3], saved for backward."""
    said = entry.headline
    if entry.value and entry.value not in said and entry.value != UNKNOWN:
        said += f" = {entry.value}"
    said += f" ({entry.trouble})" if entry.trouble else ""
    leaf, kept = ["a leaf"] * (entry.kind == "leaf"), ["saved for backward"] * entry.kept
    return ", ".join([said, *leaf, *entry.facts, *kept])
