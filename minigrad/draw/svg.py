"""A picture as SVG: Graphviz computes the layout, this module draws.

Each box is measured here, laid out as an empty rectangle, and then drawn, so the picture is the same to the last byte
on every machine, whatever its fonts. Colours are CSS variables with a light and a dark set. No element has an id: two
pictures may share a page. Boxes and arrows have a `data-id` for animations.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil, isfinite, log2
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

from . import heat
from .layout import layout
from .picture import UNKNOWN, Arrow, Box, GroupFrame, Picture
from .words import shorten

ROW = 17  # height of a line of text, in pixels
PAD = 8
GAP = 4  # around a heat map
NARROW = 14  # height of the word above a heat map
ZERO = {"LR": 7.4, "TB": 6.4}  # pixels of estimated text that a zero has room for
LINE = 14.4  # height of a line of a label in Graphviz
LIFT = 3  # pixels between a label and the band of a gradient
LABEL = 38  # width of the words "value" and "grad" with the space after them
LAPTOP = 1024  # width of a widget's picture on a screen of 1366 pixels
MOST = {"LR": LAPTOP, "TB": 400}  # width above which a picture has no numbers in cells
ROOM = 1100  # width of a notebook's output on a screen of 1280 pixels: wider pictures are scaled down
LEAST = 0.75  # the smallest scale, at which text is 9 pixels high
BESIDE = {"LR": "0.3", "TB": "0.11"}  # inches between boxes of a rank; a picture from top to bottom has little width
CLOSE = "0.2"  # inches between ranks of short boxes
PHONE = 260  # width of a notebook's output on a phone
BOLD = 1.1  # width of bold text relative to normal: names, and numbers at the step that changes them
EMS = {
    **dict.fromkeys("ijl.,:;'|!· ", 0.34), **dict.fromkeys("ftr[]()/", 0.41),
    **dict.fromkeys("#−+×=<>→", 0.84), **dict.fromkeys("mwMW@%…", 1.0),
}  # fmt: skip
LONGEST_NAME = 24  # characters; longer names end in an ellipsis, but are complete in Drawing.text
LONGEST_SOURCE = 8  # characters of a name beside a part of a gradient
SMALL = "constant", "tag", "reference", "gate"  # kinds of boxes that have a value only
Sizes = dict[str, tuple[float, float]]  # box → width, height
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
SHEETS = {name: Path(__file__).with_name(f"{name}.css").read_text("utf-8") for name in ("picture", "heat", "flow")}
LEGEND = Path(__file__).with_name("flow_legend.svg").read_text("utf-8").split("\n\n")  # the last two are of heat maps
STYLE = f"{colours(*PLACES)}\n{SHEETS['picture']}"
HEAT_STYLE = f"{colours(*PLACES, heat.LIGHT, heat.DARK)}\n{SHEETS['heat']}"


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
    drawn = svg(Picture(tuple(boxes), arrows, picture.ends), "", "", direction="TB").replace(" mg-down", "", 1)
    return re.sub(r'(class="mg-sign" style="font-size: )\d+', r"\g<1>14", drawn)  # one font size for symbols


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
    has_flow = any(arrow.flow is not None for arrow in picture.arrows)
    for labels in ({}, room) if has_flow else (room,):  # a layout without labels tells which boxes share a column
        drawn = ElementTree.fromstring(layout(dot(picture, sizes, labels, direction)))
        graph = drawn.findall("svg:g", NAMESPACE)[0]
        places = {group.attrib["id"]: group for group in graph.findall("svg:g", NAMESPACE)}
        sizes = even_widths(sizes, places, picture, direction == "TB") if has_flow else sizes
    left, top, width, height = (float(number) for number in drawn.attrib["viewBox"].split())
    if width > MOST[direction] and (smaller := without_numbers(picture)) != picture:
        return svg(smaller, title, description, room, direction)
    width = max(width, 360 * has_flow)
    legend, more = draw_legend(picture, left + 10, top + height + 8, width) if has_flow else ("", 0)
    height += more
    boxes = draw_boxes(picture, places, sizes, direction == "LR")
    arrows = [draw_arrow(arrow, places[arrow.id]) for arrow in picture.arrows]
    move = re.search(r"translate\(.*?\)", graph.attrib["transform"])
    assert move is not None
    scale = max(LEAST, min(1, ROOM / width))
    frame = f'width="{scale * width:g}" height="{scale * height:g}" viewBox="{left:g} {top:g} {width:g} {height:g}"'
    classes = "mg-picture" + " mg-down" * (direction == "TB")
    start = f'<svg xmlns="http://www.w3.org/2000/svg" class="{classes}" role="img" {frame}>'
    words = f"<title>{escape(title)}</title>\n<desc>{escape(description)}</desc>"
    style = f"<style>{STYLE}{HEAT_STYLE * any(map(heats, picture.boxes))}{SHEETS['flow'] * has_flow}</style>"
    back, front = ((boxes, arrows), (arrows, boxes))[has_flow]  # no badge hides the tip of an arrow
    frames, headings = draw_frames(picture, places)
    body = [f'<g transform="{move[0]}">', frames, *back, *front, headings, "</g>" + legend]
    return "\n".join([*filter(None, [start, words, style, *body, "</svg>"]), ""])  # a blank line ends HTML in Markdown


def without_numbers(picture: Picture) -> Picture:
    """The picture with smaller cells that show only signs: those on arrows; if none has numbers, those in boxes."""

    def smaller(each: heat.Heat | None) -> heat.Heat | None:
        return each and each.without_numbers()

    arrows = tuple(replace(arrow, maps=tuple(map(smaller, arrow.maps))) for arrow in picture.arrows)
    if arrows != picture.arrows:
        return replace(picture, arrows=arrows)
    boxes = (replace(x, value_heat=smaller(x.value_heat), grad_heat=smaller(x.grad_heat)) for x in picture.boxes)
    return replace(picture, boxes=tuple(boxes))


def draw_legend(picture: Picture, left: float, top: float, width: float) -> tuple[str, int]:
    """The keys of a picture with gradients on its arrows, and their height."""
    keys, columns = LEGEND[: 2 + 2 * any(map(heats, picture.boxes))], 1 + (width > 700) + (width > 945)
    if any(any(arrow.maps) for arrow in picture.arrows):
        keys = [LEGEND[0], LEGEND[4] + LEGEND[2]]
    drawn = "".join(
        f'<g class="mg-legend" transform="translate({left + (0, 356, 700)[x]:g} {top + 20 * y:g})">{key}</g>'
        for i, key in enumerate(keys)
        for y, x in [divmod(i, columns)]
    )
    return drawn, 20 * -(-len(keys) // columns)


def draw_boxes(picture: Picture, places: dict[str, ElementTree.Element], sizes: Sizes, axis: int) -> list[str]:
    """The boxes, each with the parts of its gradient in the order in which the arrows arrive."""
    at = {arrow.id: corner(places[arrow.head])[axis] for arrow in picture.arrows}
    drawn = []
    for box in picture.boxes:
        parts = tuple(sorted(box.parts, key=lambda part: at[part[0]]))
        is_output, where = box in picture.outputs, corner(places[box.id])
        drawn.append(draw_box(replace(box, parts=parts), *where, *sizes[box.id], is_output))
    return drawn


def even_widths(sizes: Sizes, places: dict[str, ElementTree.Element], picture: Picture, axis: int) -> Sizes:
    """Give all boxes of a column one width; of a row, if the axis is 1."""
    boxes = [box.id for box in picture.boxes if box.kind != "constant"]
    rank = {box: round(corner(places[box])[axis] + sizes[box][axis] / 2) for box in boxes}
    widest = {r: max(sizes[box][0] for box in boxes if rank[box] == r) for r in rank.values()}
    return sizes | {box: (widest[rank[box]], sizes[box][1]) for box in boxes}


def dot(picture: Picture, sizes: Sizes, room: dict[str, str], direction: str = "LR") -> str:
    """The graph in Graphviz's language: empty boxes of the right size, and space for the labels."""
    from graphviz import Digraph

    is_short = any(box.short for box in picture.boxes)
    close, apart = CLOSE if is_short and direction == "TB" else "0.45", BESIDE["TB" if is_short else direction]
    close, apart = ("0.28", "0.15") if picture.close else (close, apart)
    between = "0.2" if any(room.values()) else close  # inches between ranks; labels come on top of it
    graph = Digraph(graph_attr={"rankdir": direction, "nodesep": apart, "ranksep": between, "pad": "0.15"})
    graph.attr("node", shape="box", label="", fixedsize="true")
    graph.attr("edge", arrowsize="0.8", fontname="Helvetica", fontsize="12")
    for box in picture.boxes:
        width, height = sizes[box.id]
        graph.node(box.id, id=box.id, width=f"{width / 72:.4f}", height=f"{height / 72:.4f}")
    graph.body.append(clusters(picture.around))
    graph.body += [f"{{rank={rank}; {'; '.join(ids)}}}\n" for rank, ids in picture.ranks.items() if ids]
    for arrow in picture.arrows:
        # Engines agree only on the width of ASCII and warn about other text, so zeros stand for the label.
        words, least = room.get(arrow.id, ""), 0 if arrow.flow is None else 8  # a short arrow shows no flow
        beside = 3 * (least > 0 and direction == "TB")  # a wide band must not touch its label
        zeros = ["0" * max(round(text_width(x, 12) / ZERO[direction]) + beside, least) for x in words.splitlines()]
        wide, tall = heat.extent(heat.on_arrow(arrow.maps, arrow.around))
        across = max(round((wide - PAD) / 6.6) + 2 * beside, least)
        zeros += ["0" * across] * ceil((tall + GAP * bool(words)) / LINE) * bool(tall)
        graph.edge(arrow.tail, arrow.head, id=arrow.id, label="\\n".join(zeros))
    return graph.source


def clusters(around: Mapping[str, Sequence[GroupFrame]]) -> str:
    """Nested frames in Graphviz's language, with space for their headings."""
    inside: dict[GroupFrame, dict[str, Sequence[GroupFrame]]] = {}
    for box, frames in around.items():
        for frame in frames[:1]:
            inside.setdefault(frame, {})[box] = frames[1:]
    return "".join(
        f"subgraph cluster_{x.id} {{id={x.id}; margin=8; labeljust=l; fontsize=12; fontname=Helvetica; "
        f'label="{"0" * ceil(BOLD * text_width(x.words, 13) / ZERO["LR"])}"; {"; ".join(boxes)}; {clusters(boxes)}}}\n'
        for x, boxes in inside.items()
    )


def size(box: Box) -> tuple[float, float]:
    """Width and height of a box in pixels, which are Graphviz's points."""
    if box.kind == "gate":
        return 2, 2
    if box.kind in SMALL:
        return text_width(box.value, 12) + 2 * PAD, ROW + PAD
    if box.short:
        parts = BOLD * text_width(box.name_and_value if box.name else box.value, 13), text_width(box.spec, 12)
        wide = max(parts) if box.short == 2 else sum(parts) + GAP * all(parts)
        return chip_width(box) + wide + 2 * PAD, (2 if box.short == 2 and all(parts) else 1) * ROW + PAD
    names = name_lines(box)
    texts = [*(BOLD * text_width(name, 13) for name in names), text_width(box.spec, 12)]
    rows = len(names) + bool(box.spec)
    if heats(box):
        wide, tall = max(each[2] for each in columns(box)), sum(each[3] for each in columns(box))
        return chip_width(box) + max(*texts, wide) + 2 * PAD, rows * ROW + PAD + tall
    texts += [LABEL + BOLD * text_width(row, 12) for row in (box.value, box.grad) if row]
    texts += [max(LABEL, text_width(words, 12) + 4) + text_width(part, 12) for words, _, part in summands(box)]
    rows += bool(box.value) + len(box.parts) + bool(box.grad)
    beside = 36 * (box.kept and rows == 1)  # else the badge would cover the text
    return chip_width(box) + max(texts) + 2 * PAD + beside, rows * ROW + PAD


def columns(box: Box) -> list[tuple[str, str, float, float, str, heat.Heat | None]]:
    """What a box with heat maps shows: "value" and "grad", each with its label, width, height, number and heat map."""
    found: list[tuple[str, str, float, float, str, heat.Heat | None]] = []
    for of, number, each in (("value", box.value, box.value_heat), ("grad", box.grad, box.grad_heat)):
        label = "" if of == "value" and each else "Σ grad" if of == "grad" and box.parts else of
        wide = max(text_width(label, 12), BOLD * text_width(number, 12), each.width if each else 0)
        rows = NARROW * bool(label) + ROW * (number not in ("", UNKNOWN))
        found += [(of, label, wide, rows + (each.height + GAP if each else 0), number, each)] * bool(number or each)
    return found


def name_lines(box: Box) -> list[str]:
    """The name of a box; a name of several words that is longer than LONGEST_NAME has two lines."""
    parts = re.match(r"(.{8,24}) (.+)", box.display_name) if len(box.display_name) > LONGEST_NAME else None
    return [shorten(part, LONGEST_NAME) for part in (parts.groups() if parts else [box.display_name])]


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
    ems = (EMS.get(c, 1.0 if ord(c) > 0x2E80 else 0.8 if c.isupper() else 0.64) for c in text)
    return sum(ems) * font_size


def corner(group: ElementTree.Element) -> tuple[float, float]:
    """Left and top of the rectangle that Graphviz drew for a box."""
    polygon = group.find("svg:polygon", NAMESPACE)
    assert polygon is not None
    points = [tuple(map(float, point.split(","))) for point in polygon.attrib["points"].split()]
    return min(x for x, _ in points), min(y for _, y in points)


def draw_frames(picture: Picture, places: dict[str, ElementTree.Element]) -> tuple[str, str]:
    """The frames around open groups, and their headings, which are drawn last."""
    frames, headings = "", ""
    for frame in dict.fromkeys(frame for around in picture.around.values() for frame in around):
        group = places[frame.id]
        polygon, (x, y) = group.find("svg:polygon", NAMESPACE), corner(group)
        assert polygon is not None
        frames += f'<polygon class="mg-around" points="{polygon.attrib["points"]}"/>'
        headings += text("mg-name mg-heading", x + PAD, y + ROW, frame.words)
    return frames, headings


def draw_box(box: Box, x: float, y: float, width: float, height: float, is_output: bool) -> str:
    """One box: the operation's symbol on the left, the name and the numbers on the right."""
    classes = f"mg-box mg-{box.kind}" + " mg-output" * is_output
    round_corners = "" if box.kind in ("leaf", "constant", "tag") else ' rx="8"'
    chip = chip_width(box)
    parts = [
        f'<g class="{classes}" data-id="{box.id}">',
        f"<title>{escape(box.name)}</title>" if box.name and " ".join(name_lines(box)) != box.name else "",
        f'<rect class="mg-shade" x="{x + 4:.2f}" y="{y + 4:.2f}" width="{width:.2f}" height="{height:.2f}" rx="8"/>'
        * (box.kind == "group"),
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
    if box.kind in SMALL:
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
    css = "mg-name" if box.name else "mg-name mg-dim"
    lines = [text(css, left, baseline + ROW * n, line) for n, line in enumerate(name_lines(box))]
    baseline += ROW * (len(lines) - 1)
    if box.spec:
        baseline += ROW
        lines.append(text("mg-dim", left, baseline, box.spec))
    if heats(box):
        return lines + stack_maps(box, left, baseline)
    for label, css, number in (("value", "mg-value", box.value), *summands(box), ("grad", "mg-grad", box.grad)):
        if number:
            baseline += ROW
            lines.append(text("mg-dim", left, baseline, label))
            lines.append(text(f"mg-number {css}", right, baseline, number))
    if box.parts:
        lines.append(f'<path class="mg-total" d="M{left:.2f},{baseline - 12.5:.2f}H{right:.2f}"/>')
    return lines


def summands(box: Box) -> list[tuple[str, str, str]]:
    """A row for each part of a box's gradient: its label, its CSS class, its number."""
    return [(f"via {shorten(x, LONGEST_SOURCE)}", f'mg-part" data-part="{id}', part) for id, part, x in box.parts]


def stack_maps(box: Box, left: float, baseline: float) -> list[str]:
    """The value of an array below its spec, and its gradient below that word: a heat map, and the number below it."""
    lines = []
    for of, label, width, height, number, each in columns(box):
        top = baseline + NARROW * bool(label)
        lines.append(text("mg-dim", left, top - 1, label))
        if each is not None:
            lines.append(heat.draw_heat(each, left, top + GAP, of))
        if number:
            below = top + (each.height + GAP - 3 + ROW if each else ROW)
            lines.append(text(f"mg-number mg-{of}", left + width, below, number))
        baseline += height
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
    reserved, words = group.findall("svg:text", NAMESPACE), ""
    if reserved:
        x, y = (float(reserved[0].attrib[name]) for name in "xy")
        words = label_lines(x, y - LIFT * (arrow.flow is not None), arrow.label)
    if any(arrow.maps):
        placed = heat.on_arrow(arrow.maps, arrow.around)
        words += heat.draw_on_arrow(placed, x, float(reserved[-1].attrib["y"]) - 2 * LIFT)
    has_flow, along, points = arrow.flow is not None, path.attrib["d"], tip.attrib["points"]
    flows = " mg-maps" * any(arrow.maps)
    if arrow.flow is not None and (arrow.label or flows):
        flows += f'{" mg-none" * (not arrow.flow)} mg-flows" style="--mg-carries: {arrow.flow:g}'
    tail = "px ".join(along[1 : along.index("C")].split(","))
    origin = f' style="transform-origin: {tail}px"' * has_flow
    whole = f"{along}L{points.split()[1]}"  # a gradient begins at the box, at the point of the tip
    bands = f'<path class="mg-flow" d="{whole}"/><path class="mg-pulse" pathLength="100" d="{along}"/>' * has_flow
    return (
        f'<g class="mg-arrow{flows}" data-id="{arrow.id}">{bands}'
        f"<path d={quoteattr(along)}/>"
        f'<polygon class="mg-tip" points={quoteattr(points)}/>'
        f'<polygon class="mg-tip-back" points="{tip_back(along, 5 if has_flow else 3)}"{origin}/>{words}</g>'
    )


def label_lines(x: float, y: float, words: str) -> str:
    """The label of an arrow, in as many lines as it has."""
    lines = words.split("\n")
    if len(lines) == 1:
        return text("mg-label", x, y, words)
    spans = [f'<tspan x="{x:.2f}" dy="{14 * (i > 0)}">{escape(line)} </tspan>' for i, line in enumerate(lines)]
    return f'<text class="mg-label" x="{x:.2f}" y="{y:.2f}">{"".join(spans)}</text>'


def band(size: float) -> float:
    """The width of an arrow that carries a gradient: 5.5 pixels for size 1, one more for each doubling; 0 for none."""
    width = 0.0 if size == 0 else 5.5 + log2(size) if isfinite(size) else 9.5
    return round(min(max(width, 1.5 * (size != 0)), 9.5), 1)  # as in course/widgets/chain_run.js and on the front page


def tip_back(path: str, half: int) -> str:
    """The three corners of an arrow tip at the start of a path, pointing out of it, of twice `half` in width."""
    x, y, towards_x, towards_y = (float(number) for number in re.findall(r"-?[\d.]+", path)[:4])
    length = ((towards_x - x) ** 2 + (towards_y - y) ** 2) ** 0.5
    assert length > 0
    dx, dy = (towards_x - x) / length, (towards_y - y) / length
    corners = [(x, y), *((x + 8 * dx - side * dy, y + 8 * dy + side * dx) for side in (half, -half))]
    return " ".join(f"{cx:.2f},{cy:.2f}" for cx, cy in corners)
