"""An icicle chart of time or FLOPs, from modules down to ops: a width is an amount, and parts are below their whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files

from ..draw.svg import STYLE, text
from ..draw.words import shorten
from .event_table import duration
from .events import FunctionEvent

WIDTH, ROW = 860, 20  # pixels
LEAST = 1.0  # pixels: narrower frames appear only in the table
LOOKS = (files(__package__) / "icicle.css").read_text("utf-8")


@dataclass
class Branch:
    """A module, or all ops of one name in a module.

    kind      module, forward or backward
    amount    nanoseconds or FLOPs
    """

    name: str
    kind: str = "module"
    amount: int = 0
    count: int = 0
    parts: dict[tuple[str, str], Branch] = field(default_factory=dict)

    def part(self, name: str, kind: str) -> Branch:
        return self.parts.setdefault((kind, name), Branch(name, kind))

    depth = property(lambda self: 1 + max((part.depth for part in self.parts.values()), default=0))


def tree(leaves: Iterable[tuple[str, str, str, int]]) -> Branch:
    """The tree of modules and their ops, from (path of the module, kind, name, amount) of each op."""
    root = Branch("all ops")
    for module, kind, name, amount in leaves:
        path = [root]
        for part in filter(None, module.split(".")):
            path.append(path[-1].part(part, "module"))
        leaf = path[-1].part(name, kind)
        leaf.count += 1
        for branch in (*path, leaf):
            branch.amount += amount
    return root


def icicle(events: Iterable[FunctionEvent]) -> str:
    """The icicle chart of a run's time, from modules down to ops; the width of an op is its self time."""
    ops = [event for event in events if event.kind in ("op", "backward", "step", "program")]
    leaves = ((e.module, "backward" if e.is_backward else "forward", e.name, e.self_ns) for e in ops)
    return icicle_svg(tree(leaves), lambda ns: duration(ns / 1000), "Time")


def icicle_svg(root: Branch, written: Callable[[int], str], what: str) -> str:
    """The picture and its caption. Each rectangle has its numbers as a title, and can be reached by the Tab key.

    written    formats an amount
    what       name of the amount: Time or FLOPs
    """
    height = root.depth * ROW
    bars = "".join(draw_frames(root, root, written, 0.0, 0))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="mg-picture" role="group" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" style="max-width: 100%" aria-label="{what} by module and op, as in the '
        f'table"><style>{STYLE}{LOOKS}</style>{bars}</svg>'
        f"<p>{what} by module and op, each as wide as its share; forward blue, backward brown and dashed.</p>"
    )


def draw_frames(branch: Branch, root: Branch, written: Callable[[int], str], left: float, row: int) -> Iterator[str]:
    """Draw a branch's rectangle, then the rectangles of its parts below it, in the order of their first calls."""
    whole = max(root.amount, 1)
    width = WIDTH * branch.amount / whole
    if width < LEAST:
        return
    calls = f", {branch.count} calls" if branch.count else ""
    words = escape(f"{branch.name}: {written(branch.amount)}, {branch.amount / whole:.1%}{calls}")
    fits = int((width - 8) / 7)
    name = text("mg-value", left + 4, row * ROW + 14, shorten(branch.name, fits)) if fits > 2 else ""
    yield (
        f'<g class="mg-bar mg-{branch.kind}" tabindex="0" role="img" aria-label="{words}"><title>{words}</title>'
        f'<rect class="mg-frame" x="{left:.2f}" y="{row * ROW}" width="{width:.2f}" height="{ROW}"/>{name}</g>'
    )
    for part in branch.parts.values():
        yield from draw_frames(part, root, written, left, row + 1)
        left += WIDTH * part.amount / whole
