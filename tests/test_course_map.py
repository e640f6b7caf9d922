"""What the course owes: each idea a lesson and an exercise, each belief a part that names it, each term a definition.

The lists are lessons/source/concepts.toml and the lessons' headers; the pages are lessons/README.md and GLOSSARY.md.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from minigrad.course import exercise, quiz
from minigrad.course.lessons import shipped

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from notebooks import course_map, glossary  # noqa: E402
from notebooks.source import BuildError, notebook  # noqa: E402

LESSONS = {path.stem: notebook(path) for path in sorted((ROOT / "lessons" / "source").glob("*.py"))}
SOLUTIONS = {path.stem: notebook(path) for path in sorted((ROOT / "solutions" / "source").glob("*.py"))}
CONCEPTS = ROOT / "lessons" / "source" / "concepts.toml"
KNOWN = tomllib.loads(CONCEPTS.read_text("utf-8"))
TAUGHT = {name: nb for name, nb in LESSONS.items() if int(name[:2]) < 90}  # from 90 on one looks things up


@pytest.mark.parametrize("concept", KNOWN["concepts"])
def test_every_concept_has_a_lesson_and_an_exercise(concept):
    assert course_map.teaching(concept, TAUGHT), "no lesson teaches it"
    assert course_map.practising(concept, SOLUTIONS), "no exercise needs it"


@pytest.mark.parametrize("misconception", KNOWN["misconceptions"])
def test_every_misconception_is_met_by_a_part_of_an_exercise(misconception):
    assert course_map.meeting(misconception, SOLUTIONS), "no part has a wrong answer that shows it"


def test_the_answers_that_learners_are_judged_by_know_the_same_misconceptions():
    written = {(name, one, part) for name, nb in SOLUTIONS.items() for one, part in course_map.met_in(nb)}

    judged = {(each.name, wrong.misconception, part.name) for each in exercise.every() for part in each.parts
              for wrong in part.wrong if wrong.misconception}  # fmt: skip

    assert judged == written


def test_every_lesson_has_its_quiz_and_every_quiz_its_lesson():
    assert {path.stem for path in quiz.FOLDER.glob("*.toml")} == set(TAUGHT)


def test_every_exercise_belongs_to_a_lesson_and_every_lesson_but_the_first_has_one():
    assert {nb.metadata.minigrad["lesson"] for nb in SOLUTIONS.values()} == set(TAUGHT) - {"00_start_here"}


def test_a_lesson_builds_on_lessons_before_it():
    for name, nb in LESSONS.items():
        assert all(before in LESSONS and before < name for before in nb.metadata.minigrad["builds_on"]), name


def test_the_map_names_every_lesson_exercise_concept_and_misconception():
    text = course_map.course_map(LESSONS, SOLUTIONS, CONCEPTS)

    assert text == (ROOT / "lessons" / "README.md").read_text("utf-8")
    for name in LESSONS:
        assert f"({name}.ipynb)" in text
    for name in SOLUTIONS:
        assert f"(../exercises/{name}.ipynb)" in text
    for one in (*KNOWN["concepts"], *KNOWN["misconceptions"]):
        assert f"\n| {one} | " in text


def test_a_concept_or_misconception_that_is_none_is_refused():
    wrong = {"01_what_a_graph_is": with_header("01_what_a_graph_is", concepts=["A1", "Z9"])}

    with pytest.raises(BuildError, match="01_what_a_graph_is: 'Z9' is no concept"):
        course_map.course_map(wrong, {}, CONCEPTS)


def test_the_glossary_has_every_term_once_in_order_with_its_lesson():
    text = glossary.glossary(LESSONS)

    assert text == (ROOT / "lessons" / "GLOSSARY.md").read_text("utf-8")
    words = [line.split("**")[1].lower() for line in text.splitlines() if line.startswith("**")]
    assert words == sorted(words)
    assert words == sorted(term.lower() for nb in LESSONS.values() for term in nb.metadata.minigrad.get("terms", {}))
    for name, nb in LESSONS.items():
        for meaning in nb.metadata.minigrad.get("terms", {}).values():
            assert f": {meaning[0].upper()}{meaning[1:]}. [{name[:2]}]({name}.ipynb)\n" in text


def test_a_definition_is_one_sentence_without_its_full_stop():
    for name, nb in LESSONS.items():
        for term, meaning in nb.metadata.minigrad.get("terms", {}).items():
            assert not meaning.endswith("."), f"{name}: {term}"


def test_a_term_that_two_lessons_define_is_refused():
    terms = {"leaf": "A node that no operation made"}
    two = {name: with_header(name, terms=terms) for name in ("01_what_a_graph_is", "02_chain_rule_backwards")}

    with pytest.raises(BuildError, match=r"02_chain_rule_backwards: the term 'leaf' is defined in 01_what_a_graph_is"):
        glossary.glossary(two)


def with_header(name, **facts):
    """A lesson of the course with some of its header changed."""
    nb = notebook(ROOT / "lessons" / "source" / f"{name}.py")
    nb.metadata.minigrad = nb.metadata.minigrad | facts
    return nb


def test_a_learner_gets_the_pages_that_the_first_lesson_links_to():
    text = "\n".join(cell.source for cell in LESSONS["00_start_here"].cells)

    for page in ("README.md", "GLOSSARY.md"):
        assert f"]({page})" in text
        assert f"lessons/{page}" in shipped()
