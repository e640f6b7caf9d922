"""Any graph, at any level of detail: groups open and close, and nodes can be inspected and selected.

Python lists the nodes, groups and arrows. The browser lays out only the open part, so opening a group needs no kernel,
and drawing costs as much as the boxes on screen, even in a graph of 10,000 nodes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import traitlets

from ...draw.drawing import Drawing
from ...draw.hierarchy import CROWD, NodeGroup, hierarchy
from ...draw.layout import LayoutError
from ...draw.listing import Listing
from ...draw.listing_of import listing_of
from ...draw.names import variables
from ...draw.overview import Overview, with_tags
from ...draw.picture import Picture
from ...draw.rows import draw_in_rows
from ...draw.svg import STYLE
from ...draw.words import pluralize, shorten
from ...engine.base.whole_file import replace_file
from ...engine.tensor.symbol import Symbol
from ...engine.tensor.tensor import Tensor
from ...scalar.value import Value, history
from .widget import Plain, Widget, javascript

LARGEST = 50_000  # nodes; a page with this number has 5 MB
BOXES = 20  # boxes shown at first
MOST = 120  # boxes of the static picture
PARTS = "rows", "layout", "box", "save", "draw", "map", "zoom", "walk", "view"  # of its JavaScript
FIELDS = ("kind", "sign", "name", "spec", "kept", "value", "trouble", "line", "facts")  # of an Entry


class GraphView(Widget):
    """A graph to explore: drag, zoom, search, open and close groups, select a node.

    x        a Tensor, a Value, a Graph, symbols of a Graph, a function, or a Module; or an object of PyTorch,
             JAX, TensorFlow or ONNX that has a graph (draw/readers/)
    args     example arguments of x if x is a function or a Module, which is called once
    names    names of values, such as {"x": x}; by default, the variable names of the calling code
    boxes    at most how many boxes are shown at first

    A module call, a name scope and a run of equal blocks are groups; in a large graph, the ops of a line of code, too.
    The view keeps the graph alive until view.close(). Raises TypeError if x has no graph, ValueError for a graph of
    more than 50,000 nodes.
    """

    _esm = javascript(*(f"graph_{part}" for part in PARTS))
    sheets = ("graph_view",)
    looks = STYLE

    shown = (*Widget.shown, "items", "arrows", "notes", "opened", "chosen")
    items: traitlets.List[Plain] = traitlets.List().tag(sync=True)
    arrows: traitlets.List[int] = traitlets.List(traitlets.Int()).tag(sync=True)
    notes: traitlets.List[str] = traitlets.List().tag(sync=True)
    opened: traitlets.List[int] = traitlets.List(traitlets.Int()).tag(sync=True)
    chosen = traitlets.Int(-1).tag(sync=True)

    def __init__(self, x: object, *args: Any, names: Mapping[str, object] | None = None, boxes: int = BOXES):
        namespace = variables(sys._getframe(1)) if names is None else names
        if isinstance(x, Value):
            refuse_too_many(len(history(x)))  # before the listing, which takes a kilobyte per node
        listing = listing_of(x, args, namespace)
        refuse_too_many(len(listing.entries))
        self.overview = Overview(listing, hierarchy(listing, max(boxes, CROWD)))
        self.groups = groups_in(self.overview.root)
        number = {group: len(listing.entries) + i for i, group in enumerate(self.groups)}
        super().__init__(
            label=f"The graph of {listing.output}",
            items=rows(self.overview, number),
            arrows=[end for i, entry in enumerate(listing.entries) for x in entry.inputs for end in (x, i)],
            notes=[*listing.notes, *troubles(listing)],
            opened=[number[group] for group in self.overview.open_groups(boxes)],
        )

    # -- the selection ----------------------------------------------------------------------------

    @property
    def selected(self) -> Any:
        """The selection: a Tensor or its Node, a Value, a symbol, a Module; a tuple for equal blocks; or None."""
        return None if self.chosen < 0 else self.thing(self.chosen)

    def thing(self, number: int) -> Any:
        entries = self.overview.listing.entries
        return entries[number].thing if number < len(entries) else thing_of(self.groups[number - len(entries)], entries)

    def select(self, x: object) -> None:
        """Select a thing in the view, or a module, scope or value by its name; None clears the selection."""
        self.chosen = -1 if x is None else self.number(x)

    def number(self, x: object) -> int:
        entries = self.overview.listing.entries
        if isinstance(x, str):
            names = [*(entry.name for entry in entries), *(group.label for group in self.groups)]
            found = [i for i, name in enumerate(names) if name == x]
        else:
            things = [*(node_of(entry.thing) for entry in entries), *(group.thing for group in self.groups)]
            found = [i for i, thing in enumerate(things) if thing is not None and thing is node_of(x)]
        if not found:
            raise ValueError(f"{shorten(repr(x), 80)} is not in the graph: select a value that view.selected can have")
        return found[0]

    @traitlets.validate("chosen")
    def _something_there_is(self, proposal: Any) -> int:
        number: int = proposal["value"]
        if not -1 <= number < len(self.items):
            raise ValueError(f"chosen must be −1 or the index of one of {len(self.items)} items; got {number}")
        return number

    def close(self) -> None:
        """Close the view, and release the graph that it showed."""
        super().close()
        self.overview, self.groups = Overview(Listing(""), NodeGroup("graph", "")), []

    # -- without JavaScript -----------------------------------------------------------------------

    @property
    def text(self) -> str:
        """Every group and node in words, indented."""
        return "\n".join([*self.notes, self.overview.outline()])

    @property
    def svg(self) -> str:
        """The static picture, `still`, as SVG."""
        return draw_in_rows(self.still, self.label, self.text)

    @property
    def still(self) -> Picture:
        """The outermost groups, opened up to about 20 boxes. Raises ValueError if they are over 120 closed boxes."""
        picture = self.overview.picture(BOXES)
        if len(picture.boxes) > MOST:
            raise ValueError(f"{self.label} has {len(picture.boxes)} boxes with every group closed; it is not drawn")
        return with_tags(picture)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the view to an .html file, or its outermost groups to an .svg, .png or .dot file."""
        path = Path(path)
        if path.suffix == ".svg":
            replace_file(path, [self.svg.encode()])
        elif path.suffix in (".png", ".dot"):
            Drawing(self.still).save(path)
        else:
            super().save(path)

    @property
    def fallback(self) -> dict[str, str]:
        try:
            return super().fallback
        except (LayoutError, ValueError) as error:
            return {"text/plain": f"{self!r}\n{self.text}\n({error})"}

    def __repr__(self) -> str:
        nodes = pluralize(len(self.overview.listing.entries), "node", "nodes")
        return f"GraphView({nodes}, {pluralize(len(self.groups), 'group', 'groups')}; {self.label})"


def refuse_too_many(nodes: int) -> None:
    """Raises ValueError for a graph that is too large to view."""
    if nodes > LARGEST:
        advice = "View a part: any value on the way there has a smaller graph of its own, and so has each module"
        raise ValueError(f"GraphView shows a graph of up to {LARGEST:,} nodes, and this one has {nodes:,}. {advice}")


# -- from a listing to plain data -------------------------------------------------------------------------------------


def groups_in(root: NodeGroup) -> list[NodeGroup]:
    """Every group below the root, outer before inner."""
    order = [root]
    for group in order:
        order += group.groups
    return order[1:]


def rows(overview: Overview, number: Mapping[NodeGroup, int]) -> list[Plain]:
    """Each entry, then each group, without empty fields. Field `in` is the number of the enclosing group, or −1."""
    entries = overview.listing.entries
    around = {child: number.get(group, -1) for group in [overview.root, *number] for child in group.children}
    fields, found = attrgetter(*FIELDS), list[Plain]()
    for i, entry in enumerate(entries):
        nbytes = -1 if entry.nbytes is None else entry.nbytes
        found.append({"in": around[i], **dict(zip(FIELDS, fields(entry))), "bytes": nbytes})
    for group in number:
        sign, name = (group.label, group.of) if group.kind == "repeat" else ("", group.label)
        about = {"in": around[group], "kind": group.kind, "sign": sign, "name": name}
        found.append({**about, "spec": overview.size(group), "ops": len(group.ops(entries))})
    return [{key: x for key, x in row.items() if x is not False and x not in ("", ())} for row in found]


def thing_of(group: NodeGroup, entries: Sequence[Any]) -> Any:
    """The Python object of a group: its module or its scope, else a tuple of its contents."""
    if group.thing is not None:
        return group.thing
    return tuple(thing_of(x, entries) if isinstance(x, NodeGroup) else entries[x].thing for x in group.children)


def node_of(thing: Any) -> Any:
    return thing.node if isinstance(thing, Tensor | Symbol) else thing


def troubles(listing: Listing) -> list[str]:
    """A sentence about NaN and infinity among the values, if there are any."""
    first = next((entry for entry in listing.entries if entry.trouble), None)
    if first is None:
        return []
    count = sum(bool(entry.trouble) for entry in listing.entries)
    return [f"NaN or inf is in {pluralize(count, 'value', 'values')}, first in {first.headline}: {first.trouble}."]
