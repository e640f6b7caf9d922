"""A compiler's passes, one after another: the graph before and after each, what it costs, and its code.

On the left, the boxes that the pass removes have a cross, and those that it joins into one op have a thick frame; on
the right, the boxes that it adds or changes are framed. Above each graph stand its number of ops and a bar of the bytes
that it moves. A fused op is one loop in the code, and each line of code names its box. The table has the number of
ops, the bytes moved, the peak of live bytes and the time of a run. The last step compares the graph as it was written
with the one that runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from difflib import SequenceMatcher
from functools import partial
from html import escape
from io import StringIO
from itertools import dropwhile, pairwise
from typing import Any
from zlib import crc32

from ...draw.charts import picture
from ...draw.graphs import place_boxes, whole
from ...draw.rules import sign_of
from ...draw.svg import ROOM, STYLE, draw_down, natural_width, text
from ...draw.words import join_names, number, pluralize
from ...engine.core.node import NamedNode, Node
from ...graph.compiler.passes.fuse import Fused
from ...graph.compiler.passes.pipeline import FAST, STANDARD, PassResult, steps
from ...graph.compiler.program.program import Program
from ...graph.function import TracedFunction
from ...profiler.machine import fastest
from ...profiler.roofline import arrays_of
from .code import LOOKS, REMOVED, code, draw_lines, drawing
from .film import Cut, Film, Panel, Reel, refuse_large, row, table
from .widget_trace import trace_of

LARGEST = 60  # the most boxes
SMALL = 2**20  # bytes: a graph that moves fewer stays in the cache
ENDS = "As written", "After all passes"
COMMENT = re.compile(r"(?<=\S) {2,}# ")  # comments in the source are aligned too far right for a narrow screen
BOX = re.compile(r'(<rect class="mg-frame" x="(\S+)" y="(\S+)" width="(\S+)" height="(\S+)".*?)</g>')
CROSS = (
    r'\1<path class="mg-strike" d="M\2,\3m\4,0m-7,-5l12,12m-12,0l12,-12"/></g>'  # at a corner: the words stay readable
)
Part = tuple[str, str]  # title and HTML
BUFFER = re.compile(r"\b(?:buf|[a-z])\d+\b")


class PassViewer(Film):
    """The passes over the graph of a traced function, for these arguments.

    f       a traced function
    fast    include the passes that may change rounding, as jit_compile=True does

    The table on the screen has measured times too; sentences, `text` and the stored output have only exact counts.
    Raises TypeError if f is not a traced function, ValueError for a graph of no op or of more than 60 boxes, TooLong if
    f does not finish.
    """

    sheets = (*Film.sheets, "pass_viewer")
    looks = STYLE + LOOKS

    def __init__(self, f: TracedFunction, *args: Any, fast: bool = False):
        if not isinstance(f, TracedFunction):
            raise TypeError(f"PassViewer expects a traced function, mg.function(f); got {f!r}")
        trace = trace_of(f, args)
        if not any(node.inputs for node in trace.graph.nodes):
            raise ValueError(f"PassViewer shows a graph of at least 1 op, but {f.__name__} computes nothing")
        arrays = [array.copy() for array in arrays_of(f, args, trace)]  # a run may write into its inputs
        with redirect_stdout(StringIO()):  # discards the output of each run
            way = steps(trace.graph, FAST if fast else STANDARD, lambda x: fastest(partial(Program(x), *arrays)))
        moved = [step.bytes_moved for step in way if step.changed]
        scenes = [Scene(step, max(moved)) for step in way if step.changed]
        super().__init__(f"The passes over {f.__name__}", (), [reel(scenes, way.idle)])
        self.ends = halves(scenes[0], scenes[-1], *ENDS, fused_in(scenes))
        self.code = scenes[-1].still()

    @property
    def svg(self) -> str:
        graphs, code = [(title, drawing(html)) for title, html in self.ends], ("The code", self.code)
        is_wide = sum(natural_width(drawn) for _, drawn in (*graphs, code)) > ROOM
        return self.place_in_rows(*([graphs, [code]] if is_wide else [[*graphs, code]]))


def reel(scenes: Sequence[Scene], idle: Sequence[str]) -> Reel:
    """The film: each pass that changes the graph, and all of them together."""
    first, last, fused = scenes[0], scenes[-1], fused_in(scenes)
    following = scenes[min(1, len(scenes) - 1)]
    title = "No pass changes the graph" if following is first else f"Next, after {escape(following.step.name)}"
    _, coming = halves(first, following, "", title, fused)
    screens = [[("As written", first.account() + first.html), coming, first.code(first)]]
    for before, after in pairwise(scenes):
        name = escape(after.step.name)
        screens.append([*halves(before, after, f"Before {name}", f"After {name}", fused), after.code(before)])
    screens.append([*halves(first, last, *ENDS, fused), last.code(first)])
    left, right, codes = ("".join(map(scene, range(len(screens)), parts)) for parts in zip(*screens))
    costs = figures([each.step for each in scenes])
    return Reel([Panel("", left), Panel("", right), Panel("", costs + codes)], list(cuts(scenes, idle)))


def scene(n: int, part: Part) -> str:
    """One part of a panel. Each step shows one part."""
    title, html = part
    return f'<div data-scene="scene {n}"{" hidden" if n else ""}><p class="mg-title">{title}</p>{html}</div>'


def halves(before: Scene, after: Scene, first: str, second: str, fused: set[str]) -> tuple[Part, Part]:
    """Both graphs, with their differences marked. `fused` are the ops that became part of fused ops."""
    out, added, changed = compare(before, after)
    removed, joined = [key for key in out if key not in fused], [key for key in out if key in fused]
    marks = ", ".join(["✕ gone"] * bool(removed) + ["▢ fused"] * bool(joined))
    legends = f": {marks}" * bool(marks), ": ▣ new" * bool(added or changed)
    left = first + legends[0], before.account() + before.mark({"removed": removed, "fused": joined})
    return left, (second + legends[1], after.account(before) + after.mark({"added": added + changed}))


class Scene:
    """The graph after a pass.

    ops      key → node, for each op shown
    key      node → its key, the same in every scene that has the node
    html     its picture
    lines    its code
    looped   the lines of fused ops
    """

    def __init__(self, step: PassResult, most: int):
        """most    the bytes moved by the graph that moves most"""
        self.step, self.most = step, most
        self.picture, self.place = place_boxes([y for y in step.graph.outputs if y is not None], {})
        refuse_large("PassViewer", self.picture, LARGEST)
        self.key: dict[Node, str] = {}
        for node in step.graph.nodes:
            self.key[node] = key_of(node, [self.key[x] for x in node.inputs])
        boxes = [box if box.kind == "constant" else replace(box, value="") for box in self.picture.boxes]
        same = len({box.spec.partition("[")[0] for box in boxes if box.spec}) == 1  # one dtype: the inputs tell it
        specs = {x.id: x.spec[x.spec.find("[") :] if same and x.kind == "op" else x.spec for x in boxes}
        self.html = BOX.sub(CROSS, draw_down(replace(self.picture, boxes=tuple(boxes)), 1, specs))
        for node, box in self.place.items():
            key = f' data-key="{escape(self.key[node])}"' * (whole(node) is node)  # not of a result that it picks
            self.html = self.html.replace(f'data-id="{box}"', f'data-id="{box}"{key}')
        self.ops = {key: x for x, key in self.key.items() if x.inputs and x in self.place and whole(x) is x}
        signs = {x: self.signs([key]) for key, x in self.ops.items()}
        self.looped: set[str] = set()
        self.lines = list(lines_of_code(Program(step.graph), signs, self.looped))

    ops_in_words = property(lambda self: pluralize(self.step.nodes, "op", "ops"))

    def account(self, before: Scene | None = None) -> str:
        """A picture of its cost, compared with that of the graph beside it."""
        moved = self.step.bytes_moved
        return draw_account(self.ops_in_words, moved, before.step.bytes_moved if before else moved, self.most)

    def code(self, before: Scene) -> Part:
        """The code, with marks on lines that a pass has added or removed; a buffer's new name is no change."""
        known = {BUFFER.sub("", line) for line in before.lines}
        lit = [line for line in self.lines if BUFFER.sub("", line) not in known]
        lines = list(merge_removed_lines(before.lines, self.lines))
        start = next(i for i, line in enumerate(lines) if line.startswith("def "))
        once = f"<details><summary>memory and constants</summary>{code(lines[:start], 1, lit)}</details>"
        return "The code", once + code(lines[start:], start + 1, lit, self.looped)

    def still(self) -> str:
        """The code as a picture, with a bar beside fused ops."""
        lines = [*dropwhile(lambda line: not line.startswith("def "), self.lines)]
        coloured = re.findall("<span.*?>(.*?)</span>", code(lines, 1))
        bars = (f'<i class="mg-keyword">{"┃" if line in self.looped else " "}</i>' for line in lines)
        return draw_lines([*map("".join, zip(bars, coloured))])

    def mark(self, looks: dict[str, list[str]]) -> str:
        """The picture with CSS classes on some ops: `looks` maps a class to keys."""
        html = self.html
        for look, key in ((look, key) for look, keys in looks.items() for key in keys):
            box = f'" data-id="{self.place[self.ops[key]]}"'
            html = html.replace(box, f" mg-{look}{box}")
        return html

    def signs(self, keys: Sequence[str]) -> str:
        """The symbols of some ops, each with its constant operand, such as × 1."""
        return join_names([self.picture.symbol(self.picture.box[self.place[self.ops[key]]]) for key in keys])


def lines_of_code(program: Program, signs: dict[Node, str], looped: set[str]) -> Iterator[str]:
    """The lines of a program, each with the symbol of its op and its place in the user's function, such as layer:2.

    A fused op that runs in one block is shown as the loop that it is for larger arrays; `looped` gets its lines.
    """
    # Inputs have the names that the graph shows, unless the code has one of them; buffers are buf0, buf1, …
    names = {f"x{i}": x.name for i, x in enumerate(program.graph.inputs) if isinstance(x, NamedNode)}
    names = names if {*names.values()}.isdisjoint(re.findall(r"\w+", program.source)) else {}
    owner = fused_ops(program)
    indent, now, is_program = "", None, False
    for n, line in enumerate(program.source.splitlines(), 1):
        is_program |= line.startswith("def program")
        code, mark, comment = COMMENT.sub("  # ", line).partition("  # ")
        node = program.text.nodes.get(n) if mark else None
        loop = owner.get(node)
        if node is not None:
            comment = signs.get(node, sign_of(node.op)) + ("" if loop else place_of(node))
        if loop and (blocks := re.search(r" +loop\d+[(].*# (\d+ blocks)", line)):  # the loop has its own function
            comment = f"{signs[loop]}, {blocks[1]}"
        elif loop and is_program:
            if loop is not now:
                now, indent = loop, code[: -len(code.lstrip())]
                looped.add(head := f"{indent}for k in blocks:  # {signs[loop]}, 1 block")
                yield head
            code = f"{indent}    " + re.sub(cut_names(program, loop), r"\1[k]", code.strip())
        code = re.sub(r"\w+", lambda word: names.get(word[0], re.sub(r"^b(?=\d+$)", "buf", word[0])), code)
        looped |= {code + mark + comment} if loop else set()
        yield code + mark + comment


def fused_ops(program: Program) -> dict[Node | None, Node]:
    """A node inside a fused op → the fused op."""
    return {node: x for x in program.graph.nodes if isinstance(x.op, Fused) for node in x.op.body.nodes}


def cut_names(program: Program, loop: Node) -> str:
    """A pattern for the arrays that a loop cuts into blocks; others, such as a bias, are read whole."""
    assert isinstance(loop.op, Fused)
    shapes = dict(re.findall(r"(\w+) = \w+[(](?:\d+, )?([(][\d, ]*[)]), ", program.source))
    shapes |= {f"x{i}": str(x.spec.shape) for i, x in enumerate(program.graph.inputs)}
    sizes = {x: re.findall(r"\d+", shape) for x, shape in (shapes | {"": str(loop.op.shape)}).items()}  # "": the loop
    cut = [x for x, size in sizes.items() if x and size[:1] == sizes[""][:1] and len(size) == len(sizes[""])]
    return rf"\b({'|'.join(cut) or '(?!)'})\b"


def place_of(node: Node) -> str:
    at = node.place if isinstance(node, NamedNode) else None
    return f", {at.function}:{at.line}" if at else ""


def key_of_line(line: str) -> str:
    """A line without the names of buffers, its comment and the loop around it."""
    return BUFFER.sub("", line.partition("  #")[0].strip().replace("[k]", ""))


def merge_removed_lines(before: list[str], after: list[str]) -> Iterator[str]:
    """The lines after a pass, and those that it removed, at their old places, each with a minus sign."""
    old, new = ([*map(key_of_line, lines)] for lines in (before, after))
    for _, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone = (line for key, line in zip(old[a:b], before[a:b]) if key not in new[c:d])
        yield from (REMOVED + line.partition("  #")[0].removeprefix(" ") for line in gone)
        yield from after[c:d]


def draw_account(ops: str, moved: int, first: int, most: int) -> str:
    """Draw the number of ops and a bar of the bytes moved: full at `most`, with the percentage saved since `first`."""
    saved, end = 1 - moved / first, 240 * moved / most
    words = text("mg-number mg-saved", 234, 40, f"−{100 * saved:.0f} %") if saved > 0 and end < 190 else ""
    bars = ["mg-room", 0.5, 239], ["mg-moved", 0, end]
    drawn = [f'<rect class="{look}" x="{x}" y="27.5" width="{wide:.1f}" height="16"/>' for look, x, wide in bars]
    names = text("mg-big", 0, 20, ops), text("mg-number", 240, 20, f"{moved:,} bytes moved")
    return picture("", 240, 46, [*names, *drawn, words], "mg-account")


def key_of(node: Node, operands: Sequence[str]) -> str:
    """A key for a node: its name or, if a pass made the node, a hash of its op and operands."""
    return node.name if isinstance(node, NamedNode) else f"{crc32(f'{node.op!r} of {operands}'.encode()):x}"


def compare(before: Scene, after: Scene) -> tuple[list[str], list[str], list[str]]:
    """The keys of the ops that a pass removed, added and changed. A fused op counts as added, though its key is old."""
    old, new = before.ops, after.ops
    changed = [key for key in new if key in old and new[key].op != old[key].op]
    fused = [key for key in changed if " " in sign_of(new[key].op)]
    removed = [key for key in old if key not in new or key in fused]
    return removed, [key for key in new if key not in old or key in fused], [key for key in changed if key not in fused]


def fuses(after: Scene, added: Sequence[str]) -> bool:
    """Whether a pass that added these ops has fused others."""
    return any(" " in sign_of(after.ops[key].op) for key in added)


def fused_in(scenes: Sequence[Scene]) -> set[str]:
    """The keys of the ops that a pass puts into a fused op."""
    each = ((compare(before, after), after) for before, after in pairwise(scenes))
    return {key for (removed, added, _), after in each if fuses(after, added) for key in removed}


def cuts(scenes: Sequence[Scene], idle: Sequence[str]) -> Iterator[Cut]:
    """A cut for the graph as written, one for each pass, and one that compares the first graph with the last."""
    first, last = scenes[0], scenes[-1]
    yield Cut("", f"As written: {accounts(first.step)}.", scene="scene 0", hot={"hot": ["row 0"]})
    for n, (before, after) in enumerate(pairwise(scenes), 1):
        removed, added, changed = compare(before, after)
        out = f"removes {before.signs(removed)}" if removed else ""
        put = f"adds {after.signs(added)}" if added else ""
        turn = f"turns {before.signs(changed)} into {after.signs(changed)}" if changed else ""
        if removed and fuses(after, added):
            out, put = f"joins {before.signs(removed)} into {after.signs(added)}", ""
        is_moved = [*before.ops] != [*after.ops]
        other = "puts the ops into another order" if is_moved else "changes no op, only constants"
        does = " and ".join(filter(None, [out, put, turn])) or other
        say = f"{after.step.name} {does}. Now: {accounts(after.step)}."
        yield Cut("", say, scene=f"scene {n}", hot={"hot": [f"row {n}"]})
    rest = f" {pluralize(len(idle), 'pass', 'passes')} more found nothing to change." if idle else ""
    if first.step.bytes_moved < SMALL:
        rest = f" Arrays this small stay in the cache, so their bytes say little about the time.{rest}"
    gone = {*compare(first, last)[0]} - fused_in(scenes)
    if re.search(r"\+ 0(?![.\d])", first.signs([key for key in first.ops if key not in gone])):
        rest = f" + 0 stays: −0 + 0 is 0, and not −0.{rest}"
    say = f"All passes together: {first.ops_in_words} as written, {last.step.nodes} when it runs.{rest}"
    yield Cut("", say, scene=f"scene {len(scenes)}", hot={"hot": ["row 0", f"row {len(scenes) - 1}"]})


def accounts(step: PassResult) -> str:
    """The counted costs of a graph in words."""
    nodes = pluralize(step.nodes, "op", "ops")
    return f"{nodes}, {step.bytes_moved:,} bytes moved, {step.peak_bytes:,} alive at most"


def figures(shown: Sequence[PassResult]) -> str:
    """A table of the cost of the graph after each pass."""
    rows, most = [], max(step.bytes_moved for step in shown)
    for n, step in enumerate(shown):
        time = number(1e6 * step.seconds, 3) if step.seconds is not None else ""
        cells = step.nodes, f"{step.bytes_moved:,}", f"{step.peak_bytes:,}", time
        bar = f'<td class="mg-bar" style="--share: {step.bytes_moved / most:.2f}">{cells[1]}<'
        rows.append(row(escape(step.name), cells, f"row {n}").replace(f"<td>{cells[1]}<", bar, 1))
    return table(["after", "ops", "bytes moved", "at peak", "µs a run"], rows)
