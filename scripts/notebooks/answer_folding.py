"""Folds the answer of each question, so that nobody reads it before locking: the prose below a cell that calls reveal.

A browser shows `<details>` closed, and a click opens it: in JupyterLab, in Notebook 7, on GitHub and in the book,
without an extension and without JavaScript. Sources have ordinary cells; only built notebooks have the fold.

The answer is the first Markdown cell below the reveal, and those after it up to a code cell, a heading or a page of a
lecture. Code between the reveal and that cell, such as a plot, is passed over, but not another question. A first cell
that begins a slide, or has a heading, is no answer.

The second class of a fold names its question. So the question's form can open the fold, once an answer is locked and
the result is shown (widgets/predict.js).
"""

from __future__ import annotations

import ast
import re

from nbformat import NotebookNode

from notebooks.folding import ASKS, FENCED, HEADING
from notebooks.gates import REVEALS, calls

SUMMARY, AGAIN = "Locked? Then read why.", "Read on."
ENDS_AT_ONCE, ENDS_LATER = ("slide",), ("slide", "subslide")  # pages that end an answer


def fold_answers(nb: NotebookNode) -> NotebookNode:
    """The notebook, with each answer folded."""
    question = ""  # the one revealed by the code cell above; "" where no answer can follow
    ends = ENDS_AT_ONCE
    for cell in nb.cells:
        if cell.cell_type == "code":
            waits = question if ends is ENDS_AT_ONCE and not ASKS.search(cell.source) else ""
            question, ends = (revealed(cell.source) or [waits])[-1], ENDS_AT_ONCE
            continue
        if cell.metadata.get("slideshow", {}).get("slide_type") in ends:
            question = ""
        if not question or cell.cell_type != "markdown":
            continue
        start = heading_start(cell.source)
        answer, rest = cell.source[:start].strip(), cell.source[start:]
        if answer:
            cell.source = f"{fold(answer, question, SUMMARY if ends is ENDS_AT_ONCE else AGAIN)}\n\n{rest}".rstrip()
        question, ends = "" if rest else question, ENDS_LATER
    return nb


def revealed(source: str) -> list[str]:
    """The names of the questions that a cell reveals, in the order of its text."""
    found = (call.args[0] for call in calls(source) if called(call) in REVEALS and call.args)
    return [one.value for one in found if isinstance(one, ast.Constant) and isinstance(one.value, str)]


def called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def heading_start(source: str) -> int:
    """Where the first heading of a Markdown cell begins; its length if there is none."""
    blank = FENCED.sub(lambda fence: " " * len(fence[0]), source)
    found = HEADING.search(blank)
    return found.start() if found else len(source)


def fold(answer: str, question: str, summary: str) -> str:
    """The Markdown, folded. Empty lines are needed: without them it would be shown as plain HTML."""
    kind = f"mg-answer mg-answer-{slug(question)}"
    return f'<details class="{kind}"><summary>{summary}</summary>\n\n{answer}\n\n</details>'


def slug(question: str) -> str:
    """The name of a question as part of a class; widgets/predict.js has the same rule."""
    return re.sub(r"[^a-z0-9]+", "-", question.lower())
