"""The prose below a reveal is folded in the built notebook: as far as the answer goes, and no further."""

from __future__ import annotations

import sys

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tests.support.root import ROOT
from tests.support.table import table

sys.path.insert(0, str(ROOT / "scripts"))

from notebooks.answer_folding import fold_answers

ASKS, REVEALS = "Predict('five ran', 'How many?')", "y = f(x)\nreveal('five ran', y)"
BEGINS = '<details class="mg-answer mg-answer-five-ran"><summary>Locked? Then read why.</summary>\n\n'
ENDS = "\n\n</details>"


def prose(text: str, page: str = "") -> NotebookNode:
    return new_markdown_cell(text, metadata={"slideshow": {"slide_type": page}} if page else {})


def built(*cells: NotebookNode | str) -> list[str]:
    """The cells' sources when built; a string is code."""
    nodes = [new_code_cell(cell) if isinstance(cell, str) else cell for cell in cells]
    return [cell.source for cell in fold_answers(new_notebook(cells=nodes)).cells]


def folded(*cells: NotebookNode | str) -> str:
    """A letter for each cell: x where it is folded, as a whole or in part."""
    return "".join("x" if "<details" in source else "." for source in built(*cells))


def test_an_answer_is_wrapped_with_empty_lines_so_that_it_stays_markdown():
    assert built(ASKS, REVEALS, prose("Two are *missing*.\n")) == [ASKS, REVEALS, f"{BEGINS}Two are *missing*.{ENDS}"]


@table("cells, pattern", [
    ((prose("Before."), ASKS, prose("Between."), REVEALS, prose("Why.")), "....x"),
    ((REVEALS, prose("Why."), prose("And why."), "1 + 1", prose("More.")), ".xx.."),
    ((REVEALS, prose("Why."), prose("## Next"), prose("More.")), ".x.."),
    ((REVEALS, prose("## Next"), prose("More.")), "..."),
    ((REVEALS, "plot(y)", prose("Why."), "1 + 1", prose("More.")), "..x.."),
    ((REVEALS, ASKS, prose("How to find out.")), "..."),
    ((REVEALS, prose("Why.", "fragment"), prose("Next.", "slide"), prose("More.")), ".x.."),
    ((REVEALS, prose("Why.", "subslide"), prose("Next.", "subslide"), prose("More.")), ".x.."),
    ((REVEALS, prose("Next.", "slide"), prose("More.")), "..."),
    ((REVEALS, prose("Why: ```\n# no heading\n```")), ".x"),
    (("reveal_range('five ran', y, 1, 2)", prose("Why.")), ".x"),
    (("print('reveal(1)')", prose("Why.")), ".."),
    (("conceal('five ran', y)", prose("Why.")), ".."),
])  # fmt: skip
def test_an_answer_ends_where_the_next_topic_begins(cells, pattern):
    assert folded(*cells) == pattern


def test_a_heading_in_the_middle_of_a_cell_ends_the_answer():
    text = f"Why.\n\n```\n# a remark\n```\n{'*' * 3}\n### Next\n\nMore."
    (_, source) = built(REVEALS, prose(text))

    assert source == f"{BEGINS}{text[: text.index('###')].strip()}{ENDS}\n\n### Next\n\nMore."


def test_a_second_cell_of_an_answer_has_other_words_to_click_on():
    assert "<summary>Read on.</summary>" in built(REVEALS, prose("Why."), prose("And."))[2]


def test_the_class_names_the_question_that_is_revealed_last():
    (_, source) = built("reveal('a', x)\nreveal('x * x.Detach()', y)", prose("Why."))

    assert 'class="mg-answer mg-answer-x-x-detach-"' in source
