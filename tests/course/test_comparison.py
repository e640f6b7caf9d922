"""Numbers that should be others, drawn: what is drawn is what came, and the words say the same."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from test_check import part

from minigrad.course import feedback
from minigrad.course.comparison import Comparison, compare_values, comparison
from minigrad.course.exercise import verdict
from minigrad.course.probe import Outcome
from tests.support.table import table

SVG = "{http://www.w3.org/2000/svg}"
NAN, INF = float("nan"), float("inf")


def the(wanted: object, came: object) -> Comparison:
    found = compare_values("f(x)", wanted, came)
    assert found is not None
    return found


def heights(picture: Comparison, shape: str) -> list[float]:
    """How high above the lowest of its kind each ring or diamond is, in pixels."""
    pattern = r'<circle cx="[\d.]+" cy="([\d.]+)"' if shape == "ring" else r"M[\d.]+,([\d.]+)m0,-4l4,4"
    return [float(y) for y in re.findall(pattern, picture.svg())]


def test_each_number_is_drawn_where_it_is():
    picture = the([0.0, 1.0, 2.0, 4.0], [0.0, 1.0, 3.0, 4.0])

    zero, one, two, four = heights(picture, "ring")
    assert zero > one > two > four > 0  # pixels are counted from the top
    assert zero - one == pytest.approx(one - two, abs=0.2)
    assert zero - four == pytest.approx(4 * (zero - one), abs=0.5)
    assert heights(picture, "diamond") == pytest.approx([zero, one, (two + four) / 2, four], abs=0.2)
    assert picture.svg().count("✗") == len(picture.wrong) == 1


def test_the_words_name_the_place_what_came_and_what_should_have():
    assert the([1.0, 2.0, 3.0, 4.0], [1.0, -2.5, 3.0]).words == (
        "Of 4 numbers 2 differ: at 1: −2.5 instead of 2; at 3: nothing instead of 4."
    )
    assert the([[1, 2], [3, 4]], [[1, 2], [3, NAN]]).words == "Of 4 numbers 1 differs: at [1, 1]: nan instead of 4."
    assert the([0] * 9, [1] * 9).words.endswith("at 4: 1 instead of 0; and 4 more.")


def test_pairs_whose_first_numbers_rise_are_a_curve():
    wanted = [[x / 10, x * x] for x in range(-20, 21)]

    picture = the(wanted, [[x, abs(y)] if x else [x, 7] for x, y in wanted])

    assert picture.wrong == [20]
    assert "at x = 0: 7 instead of 0" in picture.words
    assert ">−2</text>" in picture.svg()


@table("wanted, came", [
    ([1, 2, 3], [1, 2, 4]), ([1, 2, 3, 4], [1, 2, 3, 4]), ([1.0, 2.0, 3.0, 4.0], [1.0 + 1e-9, 2.0, 3.0, 4.0]),
    ([1, 2, 3, 4], [1, 2, 3, "4"]), ([1, 2, 3, True], [1, 2, 3, 4]), ([1, 2, 3, 4], 7), ([1, 2, 3, 4], []),
    ([[1, 2], [3, 4]], [[1, 2, 3], [4]]), ([[[1, 2], [3, 4]]], [[[1, 2], [3, 5]]]), (list(range(300)), [0] * 300),
    ("abcd", "abce"), ({"a": 1}, {"a": 2}),
], ids=str)  # fmt: skip
def test_what_a_picture_says_no_better_is_not_drawn(wanted, came):
    assert compare_values("f(x)", wanted, came) is None


@table("came", [
    [NAN] * 4, [INF, -INF, 0.0, 1.0], [10**400, -(10**400), 0, 0], [1.7e308, -1.7e308, 1.7e308, 0], [5e-324, 0, 0, 0],
    [7.0] * 4, [0.0] * 200,
], ids=lambda came: str(came)[:20])  # fmt: skip
def test_whatever_the_numbers_are_the_picture_is_well_formed_and_in_its_frame(came):
    picture = the([1.0, 2.0, 3.0, 4.0], came)

    root = ElementTree.fromstring(picture.svg())
    width, height = (float(root.attrib[side]) for side in ("width", "height"))
    for circle in root.iter(f"{SVG}circle"):
        assert 0 <= float(circle.attrib["cx"]) <= width
        assert 0 <= float(circle.attrib["cy"]) <= height
    without_words = re.sub(r"<text.*?</text>|aria-label=\"[^\"]*\"", "", picture.svg())
    assert not re.search(r'(?:="|[MLV ,])(nan|inf)\b', without_words)
    assert picture.svg() == picture.svg()


def test_what_is_shown_is_escaped():
    picture = compare_values('f("<b>")', [1, 2, 3, 4], [1, 2, 3, 5])
    assert picture is not None

    assert "<b>" not in picture.svg() + feedback.figure(picture)
    ElementTree.fromstring(picture.svg())


# -- in check -------------------------------------------------------------------------------------


EXPECTED = 1, [1, 2, 3, 4], [5, 6, 7, 8]
OPEN, CLOSED = (part("f(1)\nf(2)\nf(3)", *EXPECTED, defines="f", is_open=is_open) for is_open in (True, False))


def outcomes(*values: object) -> list[Outcome]:
    return [Outcome("gave", value) for value in values]


def test_check_draws_the_first_list_that_differs_and_says_it_in_words():
    note = feedback.verdict_note(verdict(OPEN, outcomes(0, [1, 2, 3, 4], [5, 6, 7, 9])))

    assert note.picture is not None
    assert (note.picture.of, note.picture.came) == ("f(3)", (5, 6, 7, 9))
    assert repr(note).endswith("`f(3)`: of 4 numbers 1 differs: at 3: 9 instead of 8.")
    assert note._repr_mimebundle_()["text/html"].count("<svg") == 1


def test_where_the_numbers_are_the_answer_nothing_is_drawn():
    note = feedback.verdict_note(verdict(CLOSED, outcomes(1, [1, 2, 3, 9], [0, 0, 0, 0])))

    assert note.picture is None
    assert "svg" not in note._repr_mimebundle_()["text/html"]


def test_what_raised_is_not_drawn():
    came = [Outcome("gave", 1), Outcome("raised", "ValueError"), Outcome("gave", [1, 1, 1, 1])]

    assert comparison(verdict(OPEN, came).failed).of == "f(3)"
    assert comparison(verdict(OPEN, came[:2]).failed) is None
