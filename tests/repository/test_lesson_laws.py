"""The laws of scripts/notebooks/lesson.py: a small lesson that keeps them all, and each of them seen to fail."""

from __future__ import annotations

import ast
import re
import sys

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, new_raw_cell

from minigrad.course import quiz
from tests.support.root import ROOT
from tests.support.table import table

sys.path.insert(0, str(ROOT / "scripts"))

from notebooks.folding import inside
from notebooks.lesson import MOST_CELLS, bold_in, problems, refuse_long, refuse_unfinished, told_early
from notebooks.source import BuildError, notebook

NAME = "01_small"
LESSONS = ROOT / "lessons" / "source"


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
        said("An **edge** is an arrow. **Builds on** nothing."), ran("Predict('n', 'How many?')"),
        ran("mg.draw(z)", "image/svg+xml"), said("**Where it breaks.** Here."), ran(f'Quiz("{NAME}")'),
        said("## The same elsewhere"), said("**Sources.** A paper."), said("**Exercise.** One."),
        said("**Next:** more."), *more,
    ]  # fmt: skip
    kept = [cell for cell in cells if not without or without not in cell.source]
    return new_notebook(cells=kept, metadata={"minigrad": {"terms": dict(terms)}})


def test_a_lesson_that_keeps_every_law_is_built():
    assert list(problems(lesson(), NAME)) == []
    refuse_unfinished(lesson(), f"lessons/{NAME}.ipynb")


@table("without, problem", [
    ("Predict(", "it lacks a prediction"), ("**Where it breaks.**", "it lacks a place where it breaks"),
    ("## The same elsewhere", "it lacks the spelling of other frameworks"), ("**Sources.**", "it lacks sources"),
    ("**Exercise.**", "it lacks an exercise"), ("**Next:**", "it lacks what is next"),
    ("mg.draw", "it has neither a widget nor a figure"), ("Quiz(", f'it has no Quiz("{NAME}") with {NAME}.toml'),
    ("**edge**", "the header's term 'edge' is never in bold"),
])  # fmt: skip
def test_what_is_missing_is_named(without, problem):
    assert list(problems(lesson(without=without), NAME)) == [problem]


def test_a_quiz_without_its_questions_is_none():
    (quiz.FOLDER / f"{NAME}.toml").unlink()

    assert list(problems(lesson(), NAME)) == [f'it has no Quiz("{NAME}") with {NAME}.toml']


def test_the_first_lesson_needs_no_exercise():
    (quiz.FOLDER / "00_start_here.toml").touch()
    first = lesson(ran('Quiz("00_start_here")'), without="**Exercise.**")

    assert list(problems(first, "00_start_here")) == []


@pytest.mark.parametrize(("pages", "well"), [(9, False), (10, True), (15, True), (16, False)])
def test_a_lecture_has_ten_to_fifteen_pages(pages, well):
    told = [] if well else [f"{pages} pages for a lecture (slide, subslide); it needs 10 to 15"]

    assert list(problems(lesson(pages=pages), NAME)) == told


def test_a_subslide_is_a_page_and_a_fragment_is_none():
    assert list(problems(lesson(said("More.", "subslide"), said("And.", "fragment"), pages=9), NAME)) == []


def test_five_notes_are_the_fewest():
    assert list(problems(lesson(notes=4), NAME)) == ["4 notes for the lecturer; it needs 5"]


def folded(text="### Further: more", **slideshow):
    return new_markdown_cell(text, metadata={"jp-MarkdownHeadingCollapsed": True, "slideshow": slideshow})


def test_at_most_sixty_cells_are_not_folded():
    sixty = [said("More.") for _ in range(60 - len(lesson().cells))]
    one_more = "61 cells are not folded, and 60 are allowed: shorten it, or fold side topics"

    assert list(problems(lesson(*sixty), NAME)) == []
    assert list(problems(lesson(*sixty, said("More.")), NAME)) == [one_more]
    assert list(problems(lesson(*sixty[1:], folded(), said("More."), ran("1 + 1")), NAME)) == []


def test_a_lesson_has_sixty_cells_at_most():
    most = [said("More.") for _ in range(MOST_CELLS - len(lesson().cells))]

    assert list(problems(lesson(*most), NAME)) == []
    (problem,) = problems(lesson(*most, said("")), NAME)
    assert problem.startswith("61 cells are not folded,")


def test_no_source_of_a_lesson_has_more():
    number = {path.stem: inside(notebook(path)).count(False) for path in LESSONS.glob("[0-2]*.py")}

    assert len(number) == 26
    assert {stem: n for stem, n in number.items() if n > MOST_CELLS} == {}


def test_a_fold_ends_at_the_next_heading_that_is_as_high():
    cells = [
        *(said("## Road"), folded(), said("#### Deeper"), said("```\n## no heading\n```"), ran("1"), said("### Road")),
        *(folded("## One"), said("### In it"), folded("## Two\n\n#### and more"), said("In it."), said("# Road")),
    ]

    assert "".join("x" if hidden else "." for hidden in inside(new_notebook(cells=cells))) == "..xxx..x.x."


@table(
    "cells, problem",
    [
        ([folded(slide_type="subslide")],
         "cell 19 is folded but begins a page: a lecture skips folded cells"),
        ([folded("No heading.")], "cell 19 is folded, and has no heading to unfold it"),
        ([folded(), ran("Predict('m', '?')")], "cell 20 is folded, and has a Predict: questions must not be folded"),
        ([folded(), ran("h = 1"), said("### Road"), ran("def f():\n    return h")],
         "cell 22 needs 'h' of cell 20, which is folded and may not have been run"),
        ([ran("h = 1"), folded(), ran("import h"), said("### Road"), ran("h + 1")],
         "cell 23 needs 'h' of cell 21, which is folded and may not have been run"),
        ([folded(), said("A **leaf**")],
         "**leaf** is bold, but not a term of the header: define it there, or do not use bold"),
    ],
)  # fmt: skip
def test_the_road_goes_on_without_what_is_folded(cells, problem):
    assert list(problems(lesson(*cells), NAME)) == [problem]


def test_what_a_fold_makes_for_itself_or_the_road_makes_anew_is_no_trouble():
    fold = [folded(), ran("h = 1\ndef f(g):\n    return g + h"), ran("f(h)")]
    on_the_road = [said("### Road"), ran("h = 2"), ran("h, [g for g in (1, 2)]")]

    assert list(problems(lesson(*fold, *on_the_road), NAME)) == []


@pytest.mark.parametrize(("moved", "problem"), [
    ("**Where it breaks.** Here.", "it lacks a place where it breaks"),
    ("An **edge** is an arrow. **Builds on** nothing.", "the header's term 'edge' is never in bold"),
])  # fmt: skip
def test_what_every_lesson_has_is_not_folded(moved, problem):
    assert list(problems(lesson(folded(), said(moved), without=moved), NAME)) == [problem]


def test_a_page_that_is_folded_is_none_of_a_lecture():
    page = said("More.", "slide")

    assert list(problems(lesson(folded(), page, pages=10), NAME)) == []
    assert len(list(problems(lesson(folded(), page, pages=9), NAME))) == 1


@pytest.mark.parametrize(("lines", "told"), [(25, []), (26, ["cell 19 has 26 lines, and 25 are allowed: x = 1"])])
def test_no_cell_fills_a_screen(lines, told):
    assert list(problems(lesson(ran("x = 1\n" * (lines - 1) + "x")), NAME)) == told


@pytest.mark.parametrize("data", [{"image/png": ""}, {"image/svg+xml": "", "text/plain": "<Figure size 600x260>"}])
@pytest.mark.parametrize(
    "words", ["*The plot: a line that rises.*", "*The plots: two lines.*", "*The picture: a box.*"]
)
def test_a_plot_is_followed_by_its_words(words, data):
    plot = new_code_cell("plt.show()", outputs=[new_output("display_data", data)])
    silent = "cell 19 shows a plot, and the next cell does not begin with its description, `*The plot: …*`"

    assert list(problems(lesson(plot, said(words)), NAME)) == []
    assert list(problems(lesson(plot, said("It rises.")), NAME)) == [silent]
    assert list(problems(lesson(plot), NAME)) == [silent]


def test_bold_is_a_term_or_the_opening_of_a_paragraph():
    loose = "**very much** is bold, but not a term of the header: define it there, or do not use bold"

    assert list(problems(lesson(said("It is **very\nmuch** so.")), NAME)) == [loose]
    assert list(problems(lesson(said("**About 40 minutes.** **Your turn:** **Really?**")), NAME)) == []
    assert list(problems(lesson(said("An **Edge**, once more.")), NAME)) == []


def test_stars_in_code_are_not_bold():
    assert list(bold_in([said("`x**2 + y**2` and\n\n```python\nx**2, y**2\n```")])) == []


@table("word", ["simply", "magic", "Obviously", "of course", "powerful", "seamlessly"])
def test_hollow_words_are_refused(word):
    assert [*problems(lesson(said(f"This is {word} so.")), NAME)] == [f"cell 19 says {word!r}, which helps no reader"]


def test_all_that_is_lacking_is_told_at_once_with_the_name_of_the_lesson():
    with pytest.raises(BuildError, match=r"^lessons/01_small\.ipynb is not finished:") as refused:
        refuse_unfinished(lesson(without="**Next:**", notes=0), f"lessons/{NAME}.ipynb")

    assert "it lacks what is next" in str(refused.value)
    assert "0 notes for the lecturer" in str(refused.value)


def test_from_90_on_nothing_is_asked():
    refuse_unfinished(new_notebook(), "lessons/90_gallery.ipynb")


def test_a_cell_of_an_exercise_may_not_fill_a_screen_and_what_is_for_authors_may():
    nb = new_notebook(cells=[new_raw_cell("\n" * 40), new_code_cell("x = 1\n" * 25)])
    refuse_long(nb, "solutions/01_short.ipynb")

    nb.cells[1].source += "x = 2\n"
    with pytest.raises(BuildError, match=r"solutions/01_short.ipynb: cell 1 has 26 lines"):
        refuse_long(nb, "solutions/01_short.ipynb")


@pytest.mark.parametrize("lesson", ["12", "13", "14", "15"])
def test_a_lesson_opens_with_minigrad_and_at_most_two_imports_from_it(lesson):
    """Lessons 13 and 14 opened with walls of addresses in the engine: what they need is in mg.compiler and mg.ops."""
    (source,) = (ROOT / "lessons" / "source").glob(f"{lesson}_*.py")
    imported = re.findall(r"^(?:import|from) (minigrad.*)", source.read_text("utf-8"), re.M)
    alone = {"minigrad.course import in_pytorch", "minigrad.course.mine import mine"}  # cells that a reader unfolds
    imported = [line for line in imported if line not in alone]

    assert imported[0] == "minigrad as mg"
    assert len(imported) <= 3


@pytest.mark.parametrize("lesson", sorted(LESSONS.glob("[0-9][0-9]_*.py")), ids=lambda path: path.stem)
def test_what_is_revealed_is_shown(lesson):
    for cell in notebook(lesson).cells:
        assert cell.cell_type != "code" or not hidden(cell.source), cell.source


@pytest.mark.parametrize(
    "source",
    ["for n in 1, 2:\n    reveal('n', n)", "reveal('n', 1)\n2", "told = reveal('n', 1)", "if y:\n    reveal('n', 1)"],
)
def test_what_is_revealed_elsewhere_is_hidden(source):
    """A loop that ended a cell once passed for its last expression."""
    assert hidden(source)
    assert not hidden(source.replace("reveal(", "display(reveal(").replace(")", "))"))


def hidden(source):
    """Calls of reveal that nobody sees: a cell shows its last expression alone, and what it displays."""
    tree = ast.parse(re.sub(r"^%.*", "", source, flags=re.M))  # what IPython alone understands
    shown = [part for part in tree.body[-1:] if isinstance(part, ast.Expr)] + calls(tree, "display")
    return {*calls(tree, "reveal")} - {call for part in shown for call in calls(part, "reveal")}


NOTE = new_output("display_data", {"text/plain": "n: it is 3. No prediction was locked."})
SHOWN = new_output("stream", text="3 boxes")


@table("source, early", [
    ("print(n)\nreveal('n', n)", True), ("reveal_range('n', n, 2)", False), ("print(n)", False),
    ("display(reveal('n', n))\nprint(n)", False), ("for n in m:\n    display(n)\nreveal('n', n)", True),
    ("count(m)\nreveal('n', n)", True), ("reveal('n', tell(m))", True),
    ("def late():\n    print(n)\nreveal('n', n)", False),
    ("display(reveal('n', n))\nprint(n)\nreveal('m', m)", True), ("fig.show()\nreveal('n', n)", True),
])  # fmt: skip
def test_nothing_is_printed_before_a_reveal_that_has_not_run_yet(source, early):
    helpers = ran("def tell(m):\n    print(m)\n\nclass Counter:\n    def count(self, m):\n        tell(m)")

    assert refuses_early(lesson(helpers, ran(source)), source) is early


@table("outputs, early", [
    ([NOTE], False), ([NOTE, SHOWN], False), ([SHOWN, NOTE], True), ([NOTE, SHOWN, NOTE], True), ([SHOWN], False),
    ([NOTE, NOTE], False), ([NOTE, NOTE, SHOWN, SHOWN], False), ([SHOWN, NOTE, SHOWN], True),
])  # fmt: skip
def test_nothing_stands_above_the_note_of_a_reveal_that_ran(outputs, early):
    """Outputs judge a cell that has any: a function of the name `step` may print in another cell."""
    helpers, cell = ran("def step():\n    print(m)"), new_code_cell("step()\nreveal('n', n)", outputs=outputs)

    assert refuses_early(lesson(helpers, cell), cell.source) is early


def refuses_early(nb, source):
    number, first = len(nb.cells) - 1, source.splitlines()[0]
    early = f"cell {number} shows something above its reveal; show it below, or in the next cell: {first}"
    return early in list(problems(nb, NAME))


@pytest.mark.parametrize("lesson", sorted(LESSONS.glob("[0-2]*.py")), ids=lambda path: path.stem)
def test_no_source_of_a_lesson_prints_before_a_reveal(lesson):
    assert list(told_early(notebook(lesson))) == []


def calls(tree, name):
    found = (part for part in ast.walk(tree) if isinstance(part, ast.Call))
    return [call for call in found if ast.unparse(call.func).rpartition(".")[2] == name]
