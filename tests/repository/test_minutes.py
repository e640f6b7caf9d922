"""How long a notebook takes: made-up notebooks whose minutes are counted by hand."""

from __future__ import annotations

import sys

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_raw_cell

from minigrad.course.lessons import ROAD, is_on_road
from tests.support.root import ROOT
from tests.support.table import table

sys.path.insert(0, str(ROOT / "scripts"))

from notebooks.minutes import minutes_of, problems, refuse_dishonest, report, rounded_up
from notebooks.source import BuildError

NAME = "07_small"
FOLDED = {"jp-MarkdownHeadingCollapsed": True}


def prose(words, **metadata):
    return new_markdown_cell("word " * words, metadata=metadata)


def made(*cells, minutes=5, **facts):
    """A lesson of these cells; a string is code. With lesson="…" it is an exercise."""
    nodes = [new_code_cell(cell) if isinstance(cell, str) else cell for cell in cells]
    return new_notebook(cells=nodes, metadata={"minigrad": {"minutes": minutes, **facts}})


@table("cells, minutes", [
    ((prose(360),), 2), ((new_markdown_cell("# Two\n\nwords"),), 3 / 180), (("x = 1\n\n# a remark\ny = 2\n" * 4,), 1),
    (("Predict('a', '?')", "Guess('b', '?')"), 3 + 2 / 8),
    (("ChainRule(z)", 'Quiz("07_small")', "mg.widgets.GraphView(z)"), 6 + 3 / 8),
    (("from minigrad.course import Predict, Quiz",), 1 / 8), ((new_raw_cell("for authors " * 90),), 0),
    ((prose(180, slideshow={"notes": "for the lecturer " * 90}),), 1),
    ((new_markdown_cell("## Further", metadata=FOLDED), prose(900), "ChainRule(z)"), 2 / 180),
    ((new_markdown_cell("## Further", metadata=FOLDED), prose(900), new_markdown_cell("## On"), prose(180)), 184 / 180),
])  # fmt: skip
def test_the_minutes_of_a_lesson(cells, minutes):
    assert minutes_of(made(*cells)) == pytest.approx(minutes)


def test_the_minutes_of_an_exercise():
    """The answers count by parts, and what is optional or not in the learner's notebook does not count."""
    part = {"answer": "slope", "points": 2, "minutes": 5}
    aside = [new_code_cell("f(1)\n" * 80, metadata={key: "slope"}) for key in ("probes", "wrong")]
    aside += [new_markdown_cell("word " * 900, metadata={key: "slope"}) for key in ("hints", "shows")]
    solved = made(
        *(prose(180), "x = 1\n" * 8, new_code_cell("def f(x): ...\n" * 80, metadata=part), 'check("slope")', *aside),
        *(prose(180), new_markdown_cell("word " * 900, metadata=part | {"answer": "why"})),
        *(new_markdown_cell("## More", metadata=FOLDED), prose(900), new_code_cell("g = 1", metadata=part)),
        lesson="07_small",
    )

    assert minutes_of(solved) == pytest.approx(1 + 1 + 5 + 1 / 8 + 1 + 5 + 2 / 180)


@pytest.mark.parametrize(("minutes", "stated"), [(0.1, 5), (40, 40), (40.4, 40), (40.6, 45), (44.9, 45), (45.4, 45)])
def test_a_header_states_whole_minutes_rounded_up_to_the_next_five(minutes, stated):
    assert rounded_up(minutes) == stated


@table("words, minutes, facts, problem", [
    (41 * 180, 45, {}, None), (41 * 180, 40, {}, "the header says 40 minutes, and it takes 41.0: say 45"),
    (41 * 180, 50, {}, "the header says 50 minutes, and it takes 41.0: say 45"), (60 * 180, 60, {}, None),
    (61 * 180, 65, {}, "it takes 61.0 minutes, and 60 are allowed: shorten it, or fold side topics"),
    (41 * 180, 50, {"lesson": "07_small"}, None),
    (41 * 180, 40, {"lesson": "07_small"}, "the header says 40 minutes, and it takes 41.0: say 45"),
    (61 * 180, 65, {"lesson": "07_small"}, None),
])  # fmt: skip
def test_a_header_that_states_other_minutes_is_refused(words, minutes, facts, problem):
    nb = made(prose(words), minutes=minutes, **facts)

    assert list(problems(nb, NAME)) == ([problem] if problem else [])
    if problem:
        with pytest.raises(BuildError, match=f"lessons/{NAME}.ipynb: {problem[:20]}"):
            refuse_dishonest(nb, f"lessons/{NAME}.ipynb")
    else:
        refuse_dishonest(nb, f"lessons/{NAME}.ipynb")


def test_a_text_that_states_other_minutes_than_the_header_is_refused():
    about = new_markdown_cell("What you do. About 10\nminutes, in two parts.")

    assert list(problems(made(about), NAME)) == ["the text says about 10 minutes, and the header 5"]
    assert list(problems(made(about, prose(1080), minutes=10), NAME)) == []


def test_reference_material_may_take_as_long_as_it_likes():
    assert list(problems(made(prose(180 * 90)), "90_gallery")) == []


def test_the_report_sums_the_course_and_the_road():
    lessons = {name: made(prose(180 * 30)) for name in ("00_a", "01_b", "90_gallery")}
    solutions = {f"{name[:2]}_exercise": made(prose(180 * 60), lesson=name) for name in ("00_a", "01_b")}

    assert report(lessons, solutions).splitlines() == [
        " 30.0  stated   5  00_a", " 30.0  stated   5  01_b",
        " 60.0  stated   5  00_exercise", " 60.0  stated   5  01_exercise",
        "  1.0 hours: the lessons", "  3.0 hours: the course, with exercises",
        "  0.5 hours: the road", "  1.5 hours: the road, with exercises",
    ]  # fmt: skip


def test_the_road_is_nine_lessons_of_this_course():
    names = [path.stem for path in (ROOT / "lessons" / "source").glob("[0-9]*.py") if is_on_road(path.stem)]

    assert sorted(name[:2] for name in names) == sorted(ROAD)
    assert len(names) == 9
