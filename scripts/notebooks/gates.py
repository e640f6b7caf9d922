"""A gate is a cell that calls reveal: nothing above it in the notebook's file may show its value.

A program can check these points, and this one does:

    - each Predict has one gate, in a later cell, and each gate has its Predict
    - Predict gets only the question, as literals: so it cannot contain the answer
    - the value at the gate is computed, by an expression that is not a literal
    - no output above the gate has the number of the gate's output, if that has three digits or more
    - the cell of a Predict or a Quiz shows it unanswered, and the file keeps no state of any widget

Small numbers are too common to search for. Only a reader can see what prose gives away.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from itertools import chain

from nbformat import NotebookNode

from notebooks.source import BuildError

ASKED = {"text", "kind", "options", "unit", "tolerance"}
UNANSWERED = re.compile(r"Not (predicted|guessed) yet[.:]")
CAME = re.compile(r": it is (.*)\. No prediction was locked\.\Z")
DIGITS = 3
REVEALS = ("reveal", "reveal_range")


def refuse_open(nb: NotebookNode, name: str) -> None:
    """Raise BuildError for the first gate that fails."""
    for problem in problems(nb):
        raise BuildError(f"{name}, {problem}")


def problems(nb: NotebookNode) -> Iterator[str]:
    """The faults of the gates in a notebook that was run without answers."""
    if nb.metadata.get("widgets"):
        yield "the metadata contains the state of widgets"
    asked: dict[str, int] = {}
    gates: dict[str, int] = {}
    for number, cell in enumerate(nb.cells):
        if cell.cell_type != "code":
            continue
        for call in calls(cell.source):
            match call:
                case ast.Call(func=ast.Name("Predict" | "Guess"), args=[ast.Constant(str(one)), *_]):
                    asked[one] = number
                    yield from (f"cell {number}: {problem}" for problem in told_too_much(call))
                    if not UNANSWERED.search(text(cell)):
                        yield f"cell {number}: {one!r} is not shown unanswered"
                case ast.Call(func=ast.Name("Quiz")) if " 0 of " not in text(cell):
                    yield f"cell {number}: the quiz is not shown unanswered"
                case ast.Call(func=ast.Name(gate), args=[ast.Constant(str(one)), value, *_]) if gate in REVEALS:
                    gates[one] = number
                    if asked.get(one, number) >= number:
                        yield f"cell {number}: {one!r} is revealed, but no cell above asks for it"
                    if not any(isinstance(part, ast.Name | ast.Call) for part in ast.walk(value)):
                        yield f"cell {number}: the answer of {one!r} is a literal; it must be computed"
                    yield from (f"cell {n}: {problem}" for n, problem in given_away(nb, number))
    yield from (f"cell {number}: no cell below reveals {one!r}" for one, number in asked.items() if one not in gates)


def calls(source: str) -> list[ast.Call]:
    """The calls of a cell, in the order of the text; none if it is not pure Python."""
    found = [node for part in parse(source) for node in ast.walk(part) if isinstance(node, ast.Call)]
    return sorted(found, key=lambda call: (call.lineno, call.col_offset))


def parse(source: str) -> list[ast.stmt]:
    """The statements of a cell; none if it is not pure Python."""
    try:
        return ast.parse(source).body
    except SyntaxError:
        return []


def told_too_much(call: ast.Call) -> Iterator[str]:
    for keyword in call.keywords:
        if keyword.arg not in ASKED:
            yield f"Predict gets {keyword.arg}, which is not part of a question"
    for value in chain(call.args, (keyword.value for keyword in call.keywords)):
        try:
            ast.literal_eval(value)
        except ValueError:
            yield f"Predict gets {ast.unparse(value)}: write the question as literals"


def given_away(nb: NotebookNode, gate: int) -> Iterator[tuple[int, str]]:
    """The cells above a gate whose text or outputs contain the gate's number."""
    came = [found[1] for line in text(nb.cells[gate]).splitlines() if (found := CAME.search(line))]
    for number in {each for said in came for each in re.findall(r"[\d.]*\d", said)}:
        if len(re.sub(r"\D", "", number).strip("0")) < DIGITS:
            continue
        for n, cell in enumerate(nb.cells[:gate]):
            if re.search(rf"(?<![\d.]){re.escape(number)}(?![\d])", text(cell) + "\n" + cell.source):
                yield n, f"{number} is what cell {gate} reveals"


def text(cell: NotebookNode) -> str:
    """The text of all outputs of a cell."""
    return "\n".join(chain.from_iterable(said(output) for output in cell.get("outputs", [])))


def said(output: NotebookNode) -> Iterator[str]:
    yield output.get("text", "")
    for mime, data in output.get("data", {}).items():
        if not mime.startswith("image/png"):
            yield data if isinstance(data, str) else json.dumps(data)
