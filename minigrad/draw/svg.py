"""A picture as SVG: Graphviz computes the layout, this module draws.

Each box is measured here, laid out as an empty rectangle, and then drawn, so the picture is the same to the last byte
on every machine, whatever its fonts. Colours are CSS variables with a light and a dark set. No element has an id: two
pictures may share a page. Boxes and arrows have a `data-id` for animations.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

from . import heat
from .layout import layout
from .picture import Arrow, Box, Picture
from .words import shorten

ROW = 17  # height of a line of text, in pixels
PAD = 8
GAP = 6  # around a heat map
LABEL = 38  # width of the words "value" and "grad" with the space after them
ROOM = 1100  # width of a notebook's output on a screen of 1280 pixels: wider pictures are scaled down
LEAST = 0.75  # the smallest scale, at which text is 9 pixels high
BESIDE = {"LR": "0.3", "TB": "0.12"}  # inches between boxes of a rank; from top to bottom, width is scarce
CLOSE = "0.2"  # inches between ranks of short boxes
PHONE = 260  # width of a notebook's output on a phone
BOLD = 1.1  # width of bold text relative to normal: names, and numbers at the step that changes them
EMS = {
    **dict.fromkeys("ijl.,:;'|!· ", 0.34), **dict.fromkeys("ftr[]()/", 0.41),
    **dict.fromkeys("#−+×=<>→", 0.84), **dict.fromkeys("mwMW@%…", 1.0),
}  # fmt: skip
LONGEST_NAME = 24  # characters; longer names end in an ellipsis, but are complete in Drawing.text
NAMESPACE = {"svg": "http://www.w3.org/2000/svg"}

LIGHT = """--mg-ink: #1f2328; --mg-dim: #59636e; --mg-paper: #ffffff; --mg-line: #6e7781;
  --mg-op: #f3f4f6; --mg-sign: #e2e5e9; --mg-leaf: #e3f0fb;
  --mg-forward: #006ba6; --mg-backward: #b04600; --mg-kept: #7a5c00; --mg-kept-paper: #fff3c4;"""
DARK = """--mg-ink: #e6edf3; --mg-dim: #a8b1bb; --mg-paper: #111418; --mg-line: #8b949e;
  --mg-op: #22272e; --mg-sign: #343b44; --mg-leaf: #14344d;
  --mg-forward: #56b4e9; --mg-backward: #f0a13c; --mg-kept: #f5d76e; --mg-kept-paper: #3d3413;"""


def colours(light: str, dark: str, by_day: str = LIGHT, by_night: str = DARK) -> str:
    """Two sets of colours as CSS. JupyterLab's theme selects the set; elsewhere the reader's system setting does.

    light, dark    CSS selectors of the elements that get the colours
    """
    return f"""{light} {{ {by_day} }}
@media (prefers-color-scheme: dark) {{ {dark} {{ {by_night} }} }}
body[data-jp-theme-light="true"] {light} {{ {by_day} }}
body[data-jp-theme-light="false"] {light} {{ {by_night} }}"""


# `:root` matches only in an SVG that is a file or an image: inside a page, the style must not affect the page.
PLACES = (".mg-picture", "svg.mg-picture:root, .mg-widget .mg-picture")
STYLE = (
    colours(*PLACES)
    + """
svg.mg-picture:root { color-scheme: light dark; }
.mg-picture text { font: 12px Arimo, Arial, Helvetica, "Liberation Sans", sans-serif; fill: var(--mg-ink); }
.mg-picture .mg-name { font-weight: bold; font-size: 13px; }
.mg-picture .mg-sign { text-anchor: middle; }
.mg-picture .mg-dim { fill: var(--mg-dim); }
.mg-picture .mg-number { text-anchor: end; }
.mg-picture .mg-frame { fill: var(--mg-op); stroke: var(--mg-line); }
.mg-picture .mg-leaf .mg-frame { fill: var(--mg-leaf); }
.mg-picture .mg-constant .mg-frame { fill: var(--mg-paper); stroke-dasharray: 2 2; }
.mg-picture .mg-chip { fill: var(--mg-sign); }
.mg-picture .mg-output .mg-frame { stroke: var(--mg-ink); stroke-width: 3; }
.mg-picture .mg-arrow path { fill: none; stroke: var(--mg-line); stroke-width: 1.2; }
.mg-picture .mg-tip { fill: var(--mg-line); }
.mg-picture .mg-tip-back { fill: none; }
.mg-picture .mg-label { text-anchor: middle; paint-order: stroke; stroke: var(--mg-paper); stroke-width: 4px; }
.mg-picture .mg-kept rect { fill: var(--mg-kept-paper); stroke: var(--mg-kept); }
.mg-picture .mg-kept text { fill: var(--mg-kept); text-anchor: middle; }
"""
)
HEAT_STYLE = colours(*PLACES, heat.LIGHT, heat.DARK) + "\n" + heat.STYLE


def across_and_down(picture: Picture, title: str, description: str, room: dict[str, str] | None = None) -> str:
    """The picture from left to right; if that is too wide for a phone, followed by one from top to bottom.

    A widget contains both pictures; stepper.js shows the one that fits.
    """
    across = svg(picture, title, description, room)
    if LEAST * natural_width(across) <= PHONE:
        return across
    down = svg(picture, title, description, room, "TB")
    return across + down if natural_width(down) < natural_width(across) else across


def draw_down(picture: Picture, rows: int, specs: Mapping[str, str]) -> str:
    """The picture from top to bottom, for wide and narrow screens alike, with short boxes of 1 or 2 rows.

    Where a constant is one of two operands, it has no box: the box of the op has it, as × 2.

    specs    id of a box → the words beside or below its name and value
    """
    inside = [box for box in picture.boxes if box.op != picture.symbol(box)]
    gone = {x.id for box in inside for x in picture.operands(box) if x.kind == "constant"}
    boxes = [
        replace(box, op=picture.symbol(box), short=rows, spec=specs.get(box.id, ""))
        for box in picture.boxes
        if box.id not in gone
    ]
    arrows = tuple(arrow for arrow in picture.arrows if arrow.tail not in gone)
    return svg(Picture(tuple(boxes), arrows, picture.ends), "", "", direction="TB").replace(" mg-down", "", 1)


def natural_width(drawn: str) -> float:
    found = re.search(r'viewBox="\S+ \S+ (\S+)', drawn)
    assert found is not None
    return float(found[1])


def svg(
    picture: Picture, title: str, description: str, room: dict[str, str] | None = None, direction: str = "LR"
) -> str:
    """Draw the picture as SVG.

    title, description    for screen readers
    room                  arrow id → the longest label that an animation will write there
    direction             Graphviz's: LR is from left to right, TB from top to bottom
    """
    room = {arrow.id: arrow.label for arrow in picture.arrows} if room is None else room
    sizes = {box.id: size(box) for box in picture.boxes}
    drawn = ElementTree.fromstring(layout(dot(picture, sizes, room, direction)))
    left, top, width, height = (float(number) for number in drawn.attrib["viewBox"].split())
    graph = drawn.find("svg:g", NAMESPACE)
    assert graph is not None
    places = {group.attrib["id"]: group for group in graph.findall("svg:g", NAMESPACE)}
    boxes = [draw_box(box, *corner(places[box.id]), *sizes[box.id], box in picture.outputs) for box in picture.boxes]
    arrows = [draw_arrow(arrow, places[arrow.id]) for arrow in picture.arrows]
    move = re.search(r"translate\(.*?\)", graph.attrib["transform"])
    assert move is not None
    scale = max(LEAST, min(1, ROOM / width))
    frame = f'width="{scale * width:g}" height="{scale * height:g}" viewBox="{left:g} {top:g} {width:g} {height:g}"'
    classes = "mg-picture" + " mg-down" * (direction == "TB")
    start = f'<svg xmlns="http://www.w3.org/2000/svg" class="{classes}" role="img" {frame}>'
    words = f"<title>{escape(title)}</title>\n<desc>{escape(description)}</desc>"
    style = f"<style>{STYLE}{HEAT_STYLE if any(map(heats, picture.boxes)) else ''}</style>"
    return "\n".join([start, words, style, f'<g transform="{move[0]}">', *arrows, *boxes, "</g>", "</svg>", ""])


def dot(picture: Picture, sizes: dict[str, tuple[float, float]], room: dict[str, str], direction: str = "LR") -> str:
    """The graph in Graphviz's language: empty boxes of the right size, and space for the labels."""
    from graphviz import Digraph

    between = CLOSE if any(box.short for box in picture.boxes) else "0.45"
    graph = Digraph(graph_attr={"rankdir": direction, "nodesep": BESIDE[direction], "ranksep": between, "pad": "0.15"})
    graph.attr("node", shape="box", label="", fixedsize="true")
    graph.attr("edge", arrowsize="0.8", fontname="Helvetica", fontsize="12")
    for box in picture.boxes:
        width, height = sizes[box.id]
        graph.node(box.id, id=box.id, width=f"{width / 72:.4f}", height=f"{height / 72:.4f}")
    for arrow in picture.arrows:
        # Engines agree only on the width of ASCII and warn about other text, so zeros stand for the label.
        graph.edge(arrow.tail, arrow.head, id=arrow.id, label="0" * len(room.get(arrow.id, "")))
    return graph.source


def size(box: Box) -> tuple[float, float]:
    """Width and height of a box in pixels, which are Graphviz's points."""
    if box.kind == "constant":
        return text_width(box.value, 12) + 2 * PAD, ROW + PAD
    if box.short:
        parts = BOLD * text_width(box.name_and_value if box.name else box.value, 13), text_width(box.spec, 12)
        wide = max(parts) if box.short == 2 else sum(parts) + GAP * all(parts)
        return chip_width(box) + wide + 2 * PAD, (2 if box.short == 2 and all(parts) else 1) * ROW + PAD
    texts = [BOLD * text_width(shorten(box.display_name, LONGEST_NAME), 13), text_width(box.spec, 12)]
    texts += [LABEL + BOLD * text_width(row, 12) for row in (box.value, box.grad) if row]
    rows = 1 + bool(box.spec) + bool(box.value) + bool(box.grad)
    maps = heats(box)
    widths = [*texts, *(LABEL + each.width for each in maps)]
    return chip_width(box) + max(widths) + 2 * PAD, rows * ROW + PAD + sum(each.height + GAP for each in maps)


def heats(box: Box) -> list[heat.Heat]:
    """The heat maps in a box."""
    return [each for each in (box.value_heat, box.grad_heat) if each is not None]


def chip_width(box: Box) -> float:
    return max(26.0, text_width(box.op, sign_size(box.op)) + 10) if box.op else 0.0


def sign_size(op: str) -> int:
    """The font size of an operation's symbol: smaller for a word."""
    return 18 if len(op) <= 3 else 14


def text_width(text: str, font_size: float) -> float:
    """An upper bound of a text's width in any common font: the width in DejaVu Sans, the widest, or a little more."""
    return sum(ems(c) for c in text) * font_size


def ems(c: str) -> float:
    return EMS.get(c, 1.0 if ord(c) > 0x2E80 else 0.8 if c.isupper() else 0.64)


def corner(group: ElementTree.Element) -> tuple[float, float]:
    """Left and top of the rectangle that Graphviz drew for a box."""
    polygon = group.find("svg:polygon", NAMESPACE)
    assert polygon is not None
    points = [tuple(map(float, point.split(","))) for point in polygon.attrib["points"].split()]
    return min(x for x, _ in points), min(y for _, y in points)


def draw_box(box: Box, x: float, y: float, width: float, height: float, is_output: bool) -> str:
    """One box: the operation's symbol on the left, the name and the numbers on the right."""
    classes = f"mg-box mg-{box.kind}" + " mg-output" * is_output
    round_corners = "" if box.kind in ("leaf", "constant") else ' rx="8"'
    chip = chip_width(box)
    parts = [
        f'<g class="{classes}" data-id="{box.id}">',
        f"<title>{escape(box.name)}</title>" if shorten(box.name, LONGEST_NAME) != box.name else "",
        f'<rect class="mg-frame" x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}"{round_corners}/>',
    ]
    if chip:
        right = x + chip
        parts.append(
            f'<path class="mg-chip" d="M{right:.2f},{y + 1:.2f}v{height - 2:.2f}h{9 - chip:.2f}'
            f'a8,8 0 0 1 -8,-8v{18 - height:.2f}a8,8 0 0 1 8,-8z"/>'
            f'<text class="mg-sign" style="font-size: {sign_size(box.op)}px" x="{x + chip / 2:.2f}" '
            f'y="{y + height / 2 + 6:.2f}">{escape(box.op)}</text>'
        )
    if box.kind == "constant":
        parts.append(text("mg-value", x + PAD, y + ROW - 1, box.value))
    else:
        parts += rows(box, x + chip + PAD, x + width - PAD, y)
    if box.kept:
        parts.append(
            f'<g class="mg-kept"><rect x="{x + width - 44:.2f}" y="{y - 8:.2f}" width="40" height="14" rx="7"/>'
            f'<text x="{x + width - 24:.2f}" y="{y + 3:.2f}">saved</text></g>'
        )
    return "".join(parts) + "</g>"


def rows(box: Box, left: float, right: float, top: float) -> list[str]:
    """The rows of a box: its name, spec, value and gradient."""
    baseline = top + PAD / 2 + 13
    if box.short:
        return short_rows(box, left, right, baseline)
    lines = [text("mg-name" if box.name else "mg-name mg-dim", left, baseline, shorten(box.display_name, LONGEST_NAME))]
    if box.spec:
        baseline += ROW
        lines.append(text("mg-dim", left, baseline, box.spec))
    for label, number, each in (("value", box.value, box.value_heat), ("grad", box.grad, box.grad_heat)):
        if number:
            baseline += ROW
            lines.append(text("mg-dim", left, baseline, label))
            lines.append(text(f"mg-number mg-{label}", right, baseline, number))
        if each is not None:
            lines.append(heat.draw_heat(each, right - each.width, baseline + GAP - 1, label))
            baseline += each.height + GAP
    return lines


def short_rows(box: Box, left: float, right: float, baseline: float) -> list[str]:
    """The rows of a short box: `name = value`, and its spec below or beside it."""
    words = box.name_and_value if box.name else box.value
    if not words:
        return [text("mg-dim", left, baseline, box.spec)]
    value = f'{escape(words.removesuffix(box.value))}<tspan class="mg-value">{escape(box.value)}</tspan>'
    first = f'<text class="mg-name" x="{left:.2f}" y="{baseline:.2f}">{value}</text>'
    below = text("mg-dim", left, baseline + ROW, box.spec)
    return [first, text("mg-dim mg-number", right, baseline, box.spec) if box.short == 1 else below]


def text(css: str, x: float, y: float, words: str) -> str:
    return f'<text class="{css}" x="{x:.2f}" y="{y:.2f}">{escape(words)}</text>'


def draw_arrow(arrow: Arrow, group: ElementTree.Element) -> str:
    """One arrow: its line, its tip, a second tip at its tail for backward, and its label."""
    path, tip = group.find("svg:path", NAMESPACE), group.find("svg:polygon", NAMESPACE)
    assert path is not None
    assert tip is not None
    label = group.find("svg:text", NAMESPACE)
    words = "" if label is None else text("mg-label", float(label.attrib["x"]), float(label.attrib["y"]), arrow.label)
    return (
        f'<g class="mg-arrow" data-id="{arrow.id}"><path d={quoteattr(path.attrib["d"])}/>'
        f'<polygon class="mg-tip" points={quoteattr(tip.attrib["points"])}/>'
        f'<polygon class="mg-tip-back" points="{tip_back(path.attrib["d"])}"/>{words}</g>'
    )


def tip_back(path: str) -> str:
    """The three corners of an arrow tip at the start of a path, pointing out of it."""
    x, y, towards_x, towards_y = (float(number) for number in re.findall(r"-?[\d.]+", path)[:4])
    length = ((towards_x - x) ** 2 + (towards_y - y) ** 2) ** 0.5
    assert length > 0
    dx, dy = (towards_x - x) / length, (towards_y - y) / length
    corners = [(x, y), (x + 8 * dx - 3 * dy, y + 8 * dy + 3 * dx), (x + 8 * dx + 3 * dy, y + 8 * dy - 3 * dx)]
    return " ".join(f"{cx:.2f},{cy:.2f}" for cx, cy in corners)
