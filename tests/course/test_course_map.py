"""What the course owes: each idea a lesson and an exercise, each belief a part that names it, each term a definition.

The lists are lessons/source/concepts.toml and the lessons' headers; the pages are lessons/README.md and GLOSSARY.md.
"""

from __future__ import annotations

import re
import sys
import tomllib
from functools import cache

import pytest

from minigrad.course import exercise, quiz
from minigrad.course.lessons import ROAD, shipped_names
from tests.support.root import ROOT
from tests.support.table import table

sys.path.insert(0, str(ROOT / "scripts"))

from notebooks import course_map, glossary, needs
from notebooks.source import BuildError, notebook

CONCEPTS = ROOT / "lessons" / "source" / "concepts.toml"
KNOWN = tomllib.loads(CONCEPTS.read_text("utf-8"))


@cache
def sources(folder):
    return {path.stem: notebook(path) for path in sorted((ROOT / folder / "source").glob("*.py"))}


def taught():
    """The lessons without those from 90 on, in which one looks things up."""
    return {name: nb for name, nb in sources("lessons").items() if int(name[:2]) < 90}


def terms():
    """(lesson, term, meaning) of all that the lessons define."""
    for name, nb in sources("lessons").items():
        yield from ((name, *defined) for defined in nb.metadata.minigrad.get("terms", {}).items())


@table("concept", KNOWN["concepts"])
def test_every_concept_has_a_lesson_and_an_exercise(concept):
    assert course_map.teaching(concept, taught()), "no lesson teaches it"
    assert course_map.practising(concept, sources("solutions")), "no exercise needs it"


@table("misconception", KNOWN["misconceptions"])
def test_every_misconception_is_met_by_a_part_of_an_exercise(misconception):
    assert course_map.meeting(misconception, sources("solutions")), "no part has a wrong answer that shows it"


def test_the_answers_that_learners_are_judged_by_know_the_same_misconceptions():
    written = {(name, one, part) for name, nb in sources("solutions").items() for one, part in course_map.met_in(nb)}

    judged = {(each.name, wrong.misconception, part.name) for each in exercise.all_exercises() for part in each.parts
              for wrong in part.wrong if wrong.misconception}  # fmt: skip

    assert judged == written


def test_every_lesson_has_its_quiz_and_every_quiz_its_lesson():
    assert {path.stem for path in quiz.FOLDER.glob("*.toml")} == set(taught())


def test_every_exercise_belongs_to_a_lesson_and_every_lesson_but_the_first_has_one():
    assert {nb.metadata.minigrad["lesson"] for nb in sources("solutions").values()} == set(taught()) - {"00_start_here"}


def test_a_lesson_says_in_words_what_its_header_says_it_builds_on():
    """The words may say more; what they link to is what one needs."""
    for name, nb in taught().items():
        words = next(c.source.partition("**Builds on**")[2] for c in nb.cells if "**Builds on**" in c.source)
        linked = re.findall(r"\]\((\w+)\.ipynb\)", words.partition("\n\n")[0])
        assert sorted(linked) == sorted(nb.metadata.minigrad["builds_on"]), name


@pytest.mark.parametrize(("before", "words"), [
    (["03_training"], "02_chain_rule_backwards builds on '03_training', which is no lesson; the lessons are 00_"),
    (["04_tensors"], "02_chain_rule_backwards builds on 04_tensors, which does not come before it"),
    (["02_chain_rule_backwards"], "02_chain_rule_backwards builds on 02_chain_rule_backwards, which does not come"),
])  # fmt: skip
def test_a_lesson_that_builds_on_none_on_itself_or_on_a_later_one_is_refused(before, words):
    wrong = sources("lessons") | {"02_chain_rule_backwards": with_header("02_chain_rule_backwards", builds_on=before)}

    with pytest.raises(BuildError, match=words):
        course_map.course_map(wrong, sources("solutions"), CONCEPTS)


def test_an_arrow_that_a_longer_way_makes_is_left_out():
    said = {"00": [], "01": ["00"], "02": ["00", "01"], "03": ["00", "02"], "04": ["01", "02"]}

    assert needs.nearest(said) == {"00": [], "01": ["00"], "02": ["01"], "03": ["02"], "04": ["02"]}


def test_the_lessons_are_drawn_as_the_graph_that_they_are():
    text = needs.drawing(sources("lessons"))
    before = needs.nearest(needs.needs(taught()))

    assert text == (ROOT / "lessons" / needs.FILE).read_text("utf-8")
    assert f"lessons/{needs.FILE}" in shipped_names()
    assert set(re.findall(r'data-id="(\d\w+)"', text)) == set(taught())
    arrows = {f"a{one}_{name}" for name in taught() for one in before[name]}
    assert set(re.findall(r'data-id="(a\w+)"', text)) == arrows
    drawn = {word for words in re.findall(r'class="mg-(?:name|dim)"[^>]*>([^<]+)<', text) for word in words.split()}
    assert drawn == {word for nb in taught().values() for word in nb.metadata.minigrad["title"].split()}  # none is cut


def test_what_a_lesson_needs_is_told_in_words_too():
    text = (ROOT / "lessons" / "README.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| \[(\d\d) [^|]*\| (?:road)? *\| ([\d, ]*)\|", text, re.M))

    assert rows["07"] == "05, 06 "
    assert {*rows} == {name[:2] for name in sources("lessons")}


def test_the_map_names_every_lesson_exercise_concept_and_misconception():
    text = course_map.course_map(sources("lessons"), sources("solutions"), CONCEPTS)

    assert text == (ROOT / "lessons" / "README.md").read_text("utf-8")
    for name in sources("lessons"):
        assert f"({name}.ipynb)" in text
    for name in sources("solutions"):
        assert f"(../exercises/{name}.ipynb)" in text
    for one in (*KNOWN["concepts"], *KNOWN["misconceptions"]):
        assert f"\n| {one} | " in text


def test_the_map_marks_the_road_and_says_how_long_it_takes():
    text = course_map.course_map(sources("lessons"), sources("solutions"), CONCEPTS)
    marked = re.findall(r"^\| \[(\d\d) [^|]+\| road \|", text, re.MULTILINE)
    minutes = [nb.metadata.minigrad["minutes"] for name, nb in sources("lessons").items() if name[:2] in ROAD]

    assert marked == list(ROAD)
    assert f"**road**: 9 lessons for a short course, in {sum(minutes) / 60:.1f} hours" in text


def test_a_concept_or_misconception_that_is_none_is_refused():
    wrong = {"01_what_a_graph_is": with_header("01_what_a_graph_is", concepts=["A1", "Z9"])}

    with pytest.raises(BuildError, match=r"01_what_a_graph_is: concepts\.toml has no concept 'Z9'"):
        course_map.course_map(wrong, {}, CONCEPTS)


def test_the_glossary_has_every_term_once_in_order_with_its_lesson():
    text = glossary.glossary(sources("lessons"))

    assert text == (ROOT / "lessons" / "GLOSSARY.md").read_text("utf-8")
    words = [line.split("**")[1].lower() for line in text.splitlines() if line.startswith("**")]
    assert words == sorted(term.lower() for _, term, _ in terms())
    for name, _, meaning in terms():
        assert f": {meaning[0].upper()}{meaning[1:]}. [{name[:2]}]({name}.ipynb)\n" in text


def test_a_definition_is_one_sentence_without_its_full_stop():
    for name, term, meaning in terms():
        assert not meaning.endswith("."), f"{name}: {term}"


def test_a_term_that_two_lessons_define_is_refused():
    terms = {"leaf": "A node that no operation made"}
    two = {name: with_header(name, terms=terms) for name in ("01_what_a_graph_is", "02_chain_rule_backwards")}

    with pytest.raises(BuildError, match=r"02_chain_rule_backwards: .* is already defined in 01_what_a_graph_is"):
        glossary.glossary(two)


def with_header(name, **facts):
    """A lesson of the course with some of its header changed."""
    nb = notebook(ROOT / "lessons" / "source" / f"{name}.py")
    nb.metadata.minigrad = nb.metadata.minigrad | facts
    return nb


def test_a_learner_gets_the_pages_that_the_first_lesson_links_to():
    text = "\n".join(cell.source for cell in sources("lessons")["00_start_here"].cells)

    for page in ("README.md", "GLOSSARY.md"):
        assert f"]({page})" in text
        assert f"lessons/{page}" in shipped_names()


def test_each_lesson_says_which_box_of_the_first_picture_it_opens():
    """The table below the GPT in lesson 00, read by its last column: "04, 16" or "09 to 15"."""
    (boxes,) = [cell.source for cell in sources("lessons")["00_start_here"].cells if "| opened in |" in cell.source]
    promised: dict[str, list[str]] = {name: [] for name in taught()}
    for box, *_, where in (line.strip("| ").split(" | ") for line in boxes.splitlines() if re.search(r"\d \|$", line)):
        for first, last in re.findall(r"(\d\d)(?: to (\d\d))?", where):
            for name in taught():
                if first <= name[:2] <= (last or first):
                    promised[name].append(box)
    line = re.compile(r"What\s+it\s+opens\s+in\s+\[.*?\]\(.*?\):\s+(.*?)\.(?:\n|$)", re.DOTALL)
    said = {name: line.search(nb.cells[0].source) for name, nb in taught().items()}

    assert sum(map(len, promised.values())) > 20
    assert {name: " ".join(found[1].split()).split("; ") if found else [] for name, found in said.items()} == promised
