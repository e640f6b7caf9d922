"""The laws of scripts/notebooks/lesson.py: a small lesson that keeps them all, and each of them seen to fail."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, new_raw_cell

from minigrad.course import quiz

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from notebooks.lesson import bold_in, problems, refuse_long, refuse_unfinished  # noqa: E402
from notebooks.source import BuildError  # noqa: E402

NAME = "01_small"


@pytest.fixture(autouse=True)
def a_quiz_of_the_small_lesson(tmp_path, monkeypatch):
    (tmp_path / f"{NAME}.toml").touch()
    monkeypatch.setattr(quiz, "FOLDER", tmp_path)


def said(text, page="", notes=""):
    shown = {key: value for key, value in {"slide_type": page, "notes": notes}.items() if value}
    return new_markdown_cell(text, metadata={"slideshow": shown} if shown else {})


def ran(source, *mimes):
    return new_code_cell(source, outputs=[new_output("display_data", dict.fromkeys(mimes, ""))] if mimes else [])


def lesson(*more, without="", pages=10, notes=5, terms=(("edge", "An arrow"),)):
    """A lesson that keeps every law, but for what is taken out of it or added to it."""
    cells = [
        *(said(f"Page {n}.", "slide", "Ask." if n < notes else "") for n in range(pages)),
        said("An **edge** is an arrow. **Builds on** nothing."),
        ran("Predict('n', 'How many?')"),
        ran("mg.draw(z)", "image/svg+xml"),
        said("**Where it breaks.** Here."),
        ran(f'Quiz("{NAME}")'),
        said("## The same elsewhere"),
        said("**Sources.** A paper."),
        said("**Exercise.** One."),
        said("**Next:** more."),
        *more,
    ]
    kept = [cell for cell in cells if not without or without not in cell.source]
    return new_notebook(cells=kept, metadata={"minigrad": {"terms": dict(terms)}})


def test_a_lesson_that_keeps_every_law_is_built():
    assert list(problems(lesson(), NAME)) == []
    refuse_unfinished(lesson(), f"lessons/{NAME}.ipynb")


@pytest.mark.parametrize(
    ("without", "problem"),
    [
        ("Predict(", "it lacks a prediction"),
        ("**Where it breaks.**", "it lacks a place where it breaks"),
        ("## The same elsewhere", "it lacks the spelling of other frameworks"),
        ("**Sources.**", "it lacks sources"),
        ("**Exercise.**", "it lacks an exercise"),
        ("**Next:**", "it lacks what is next"),
        ("mg.draw", "there is nothing to look at: neither a widget nor a figure"),
        ("Quiz(", f'there is no Quiz("{NAME}") with its {NAME}.toml'),
        ("**edge**", "the term 'edge' of the header is nowhere bold"),
    ],
)
def test_what_is_missing_is_named(without, problem):
    assert list(problems(lesson(without=without), NAME)) == [problem]


def test_a_quiz_without_its_questions_is_none():
    (quiz.FOLDER / f"{NAME}.toml").unlink()

    assert list(problems(lesson(), NAME)) == [f'there is no Quiz("{NAME}") with its {NAME}.toml']


def test_the_first_lesson_needs_no_exercise():
    (quiz.FOLDER / "00_start_here.toml").touch()
    first = lesson(ran('Quiz("00_start_here")'), without="**Exercise.**")

    assert list(problems(first, "00_start_here")) == []


@pytest.mark.parametrize(("pages", "well"), [(9, False), (10, True), (15, True), (16, False)])
def test_a_lecture_has_ten_to_fifteen_pages(pages, well):
    told = [] if well else [f"{pages} pages for a lecture (slide, subslide), where 10 to 15 are wanted"]

    assert list(problems(lesson(pages=pages), NAME)) == told


def test_a_subslide_is_a_page_and_a_fragment_is_none():
    assert list(problems(lesson(said("More.", "subslide"), said("And.", "fragment"), pages=9), NAME)) == []


def test_five_notes_are_the_fewest():
    assert list(problems(lesson(notes=4), NAME)) == ["4 notes for whoever speaks, where 5 are wanted"]


@pytest.mark.parametrize(("lines", "told"), [(25, []), (26, ["cell 19 has 26 lines, and 25 are the most: x = 1"])])
def test_no_cell_fills_a_screen(lines, told):
    assert list(problems(lesson(ran("x = 1\n" * (lines - 1) + "x")), NAME)) == told


@pytest.mark.parametrize(
    "words", ["*The plot: a line that rises.*", "*The plots: two lines.*", "*The picture: a box.*"]
)
def test_a_plot_is_followed_by_its_words(words):
    plot = ran("plt.show()", "image/png")
    silent = "cell 19 shows a plot, and the next one does not begin with `*The plot: …*`, its words"

    assert list(problems(lesson(plot, said(words)), NAME)) == []
    assert list(problems(lesson(plot, said("It rises.")), NAME)) == [silent]
    assert list(problems(lesson(plot), NAME)) == [silent]


def test_bold_is_a_term_or_the_opening_of_a_paragraph():
    loose = "**very much** is bold, and no term of the header: define it there, or set it in another way"

    assert list(problems(lesson(said("It is **very\nmuch** so.")), NAME)) == [loose]
    assert list(problems(lesson(said("**About 40 minutes.** **Your turn:** **Really?**")), NAME)) == []
    assert list(problems(lesson(said("An **Edge**, once more.")), NAME)) == []


def test_stars_in_code_are_not_bold():
    code = said("`x**2 + y**2` and\n\n```python\nx**2, y**2\n```")

    assert list(bold_in(new_notebook(cells=[code]))) == []


@pytest.mark.parametrize("word", ["simply", "magic", "Obviously", "of course", "powerful", "seamlessly"])
def test_hollow_words_are_refused(word):
    assert list(problems(lesson(said(f"This is {word} so.")), NAME)) == [f"cell 19 says {word!r}, which helps nobody"]


def test_all_that_is_lacking_is_told_at_once_with_the_name_of_the_lesson():
    with pytest.raises(BuildError, match=r"^lessons/01_small\.ipynb is not finished:") as refused:
        refuse_unfinished(lesson(without="**Next:**", notes=0), f"lessons/{NAME}.ipynb")

    assert "it lacks what is next" in str(refused.value)
    assert "0 notes for whoever speaks" in str(refused.value)


def test_from_90_on_nothing_is_asked():
    refuse_unfinished(new_notebook(), "lessons/90_gallery.ipynb")


def test_a_cell_of_an_exercise_may_not_fill_a_screen_and_what_is_for_authors_may():
    nb = new_notebook(cells=[new_raw_cell("\n" * 40), new_code_cell("x = 1\n" * 25)])
    refuse_long(nb, "solutions/01_short.ipynb")

    nb.cells[1].source += "x = 2\n"
    with pytest.raises(BuildError, match=r"solutions/01_short.ipynb: cell 1 has 26 lines"):
        refuse_long(nb, "solutions/01_short.ipynb")


@pytest.mark.parametrize("lesson", ["13"])
def test_a_lesson_opens_with_minigrad_and_at_most_two_imports_from_it(lesson):
    """Lessons 13 and 14 opened with walls of addresses in the engine: what they need is in mg.compiler and mg.ops."""
    (source,) = (ROOT / "lessons" / "source").glob(f"{lesson}_*.py")
    imported = re.findall(r"^(?:import|from) (minigrad.*)", source.read_text("utf-8"), re.M)

    assert imported[0] == "minigrad as mg"
    assert len(imported) <= 3
