"""check: immediate feedback on an answer, in the notebook.

It runs the probes on the learner's names, and shows a verdict: not attempted, not yet, right. It never raises, needs
no network, and gives the same verdict on the same answer. `solution` shows a worked solution after enough attempts.
"""

from __future__ import annotations

import html
import json
import linecache
import re
import sys
from ast import PyCF_ALLOW_TOP_LEVEL_AWAIT
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from zlib import crc32

from minigrad.course import exercise
from minigrad.course.attempts import BROKEN, Attempts, AttemptSummary
from minigrad.course.comparison import CAME, WANTED, Comparison, comparison
from minigrad.course.exercise import Exercise, Part, Verdict
from minigrad.course.notebook_state import NAME, NotebookState, cell_error, state_of, watch_cells
from minigrad.course.probe import Outcome, run_limited

WORDS = {"todo": "not attempted yet", "fail": "not yet", "pass": "right", "wait": "waits for a reader"}
DEFINES = r"^(?:(?:async )?def|class) {0}\b|^{0}\b.*="  # a cell that defines this name
CODE = re.compile(r"`([^`]+)`")
MARKS = {"todo": "○", "fail": "✗", "pass": "✓", "wait": "…"}
COLOURS = {"todo": "#767676", "fail": "#c2410c", "pass": "#15803d", "wait": "#767676"}
CELL_SECONDS = 10.0  # for a cell of a notebook that is scored

watch_cells()


@dataclass(frozen=True)
class Note:
    """Sentences, displayed as text or as a box for light and dark themes. The first sentence is the headline.

    code      the code of the failed probe, to run it again
    part      the name of the part that the hints are about
    hints     hints about the whole part, each folded until the learner opens it
    picture   the plot of expected against actual numbers
    graph     a sentence on the answer's graph, and drawings as HTML
    worked    a worked solution
    """

    state: str
    sentences: tuple[str, ...]
    code: str = ""
    part: str = ""
    hints: tuple[str, ...] = ()
    picture: Comparison | None = None
    graph: tuple[str, str] | None = None
    worked: str = ""

    passed = property(lambda self: self.state == "pass")

    def __repr__(self) -> str:
        told = [*self.sentences, *(self.graph or ())[:1]]
        if self.hints:
            told.append(hint_offer(self.part, len(self.hints)))
        if self.picture:
            told.append(f"`{self.picture.of}`: {self.picture.words.replace('Of', 'of', 1)}")
        return "\n  ".join(told) + (f"\n\n{self.worked}" if self.worked else "")

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        first, *rest = map(as_html, self.sentences)
        lines = "".join(f'<div style="margin-top:.3em">{line}</div>' for line in rest)
        box = f"border-left:4px solid {COLOURS[self.state]};padding:.4em .8em;max-width:{75 if self.graph else 50}em"
        news = f'<strong><span aria-hidden="true">{MARKS[self.state]} </span>{first}</strong>'
        if self.graph:
            lines += f'<div style="margin-top:.6em">{as_html(self.graph[0])}</div>{self.graph[1]}'
        if self.picture:
            lines += figure(self.picture)
        if self.hints:
            lines += folded_hints(self.part, self.hints)
        if self.worked:
            lines += f'<pre style="margin-top:.6em;overflow-x:auto">{html.escape(self.worked)}</pre>'
        if self.code:
            lines += f"<details><summary>What was run</summary><pre>{html.escape(self.code)}</pre></details>"
        return {"text/plain": repr(self), "text/html": f'<div role="status" style="{box}">{news}{lines}</div>'}


def check(part: str | None = None, hint: int | None = None) -> Note:
    """Is what I wrote for this part of the exercise right? check() lists the parts.

    hint    the number of a general hint on the part, to show that hint instead: 1 for the first
    """
    namespace = sys._getframe(1).f_globals
    known = find_part(part, "check")
    if isinstance(known, Note):
        return known
    if hint is not None:
        return general_hint(known, hint)
    if unfinished := cell_error(known.defines, namespace):
        return Note("todo", (f"{known.name}: not checked.", unfinished))
    attempts = attempts_in(namespace)
    verdict = exercise.check_answer(known, namespace)
    trouble = attempts.add(verdict)
    said = verdict_note(verdict)
    if verdict.graph:
        from minigrad.course.graph_comparison import graph_figure  # it imports what draws

        said = replace(said, graph=graph_figure(verdict, namespace))
    news, *rest = said.sentences
    rest = [stale_answer_warning(known, namespace), *rest, *attempt_remarks(verdict, attempts.at(known.name)), trouble]
    rest += [next_step(known, attempts)] if said.passed else []
    return replace(said, sentences=(news, *filter(None, rest)))


def stale_answer_warning(part: Part, namespace: dict[str, Any]) -> str:
    """A warning if the last cell that defines the answer does not compile, so an older one was checked; else ""."""
    inputs = namespace.get("In")  # IPython's list of the sources of all cells that were run
    for cell in reversed(inputs if isinstance(inputs, list) else []):
        if name := next((name for name in part.defines if re.search(DEFINES.format(name), str(cell), re.M)), ""):
            try:
                compile(str(cell), "<cell>", "exec", PyCF_ALLOW_TOP_LEVEL_AWAIT)
            except (SyntaxError, ValueError) as error:
                where = f" in line {error.lineno}" if isinstance(error, SyntaxError) else ""
                return f"The cell of `{name}` was run last with a SyntaxError{where}, so its older version was checked."
            return ""
    return ""


def solution(part: str | None = None) -> Note:
    """Show a worked solution of a part, after it passed or after enough attempts. solution() lists the parts."""
    known = find_part(part, "solution")
    if isinstance(known, Note):
        return known
    attempts = attempts_in(sys._getframe(1).f_globals)
    tried = attempts.at(known.name)
    if not known.solution:
        return Note("todo", (f"{known.name}: this exercise has no stored solution.",))
    if tried.passed:
        return Note("pass", (f"{known.name}: one way to do it.",), worked=known.solution)
    if not tried.revealed and len(tried.different) < known.attempts_before_solution:
        return not_yet(known, tried)
    trouble = "" if tried.revealed else attempts.record(known.name, "revealed")
    news = f"{known.name}: one way to do it. It was shown, so the part counts 0 of {points(known)}."
    then = f'Close it, and write it from memory: `check("{known.name}")` still says whether it is right.'
    return Note("todo", tuple(filter(None, [news, then, trouble])), worked=known.solution)


def not_yet(part: Part, tried: AttemptSummary) -> Note:
    """Explain how many attempts are missing until the solution is shown. Asking costs nothing."""
    made = len(tried.different)
    so_far = "so far there " + {0: "was none", 1: "was one"}.get(made, f"were {made}")
    news = f"{part.name}: the solution is shown after {part.attempts_before_solution} different attempts; {so_far}."
    then = f'`check("{part.name}")` gives a hint for each that comes out differently. Asking costs nothing.'
    return Note("todo", (news, then))


def attempt_remarks(verdict: Verdict, tried: AttemptSummary) -> list[str]:
    """Sentences on an attempt that depend on earlier attempts."""
    part, made = verdict.part, len(tried.different)
    if verdict.state == "pass" and tried.revealed:
        return [f"The solution was shown before, so it counts 0 of {points(part)}. It is yours now all the same."]
    broken = [f"{part.name}: {BROKEN}."] if verdict.state == "fail" and tried.passed else []
    if verdict.state != "fail" or not part.solution:
        return broken
    if tried.passed or tried.revealed:
        return [*broken, f'`solution("{part.name}")` shows a way.']
    if made >= part.attempts_before_solution:
        return [f'{made} different attempts: `solution("{part.name}")` shows a way now, and then it counts 0 points.']
    if made == part.attempts_before_solution - 1:
        return ["One more attempt that comes out differently, and you may see a solution."]
    return []


def next_step(part: Part, attempts: Attempts) -> str:
    """Name the next unfinished part of the exercise, after a right part, or say that only optional ones are left."""
    mine = exercise.exercise_of(part.name)
    assert mine is not None  # the part was found in it
    tried = attempts.at_each(each.name for each in mine.parts)
    earned = f"{sum(tried[each.name].earned_points(each) for each in mine.parts)} of {mine.points} points"
    at = [each.name for each in mine.parts].index(part.name)
    others = [each for each in (*mine.parts[at + 1 :], *mine.parts[:at]) if not each.manual]
    done = {name for name, past in tried.items() if past.revealed or (past.passed and not past.broken)}
    left = [each for each in others if each.name not in done]
    if needed := [each for each in left if not each.optional]:
        return f"{earned} so far. Next: `{needed[0].name}`."
    if left:
        names = ", ".join(f"`{each.name}`" for each in left)
        return f"The exercise is done: {earned}. Optional parts left: {len(left)} ({names})."
    return f"That was the last part: {earned}. Well done."


def attempts_in(namespace: dict[str, Any]) -> Attempts:
    """The attempts in the notebook whose globals are `namespace`."""
    kept = state_of(namespace)
    if kept.attempts is None:
        kept.attempts = Attempts()
    return kept.attempts


def find_part(name: Any, asker: str) -> Part | Note:
    """The part of this name; else a note that lists the parts, or says that the installation is broken."""
    try:
        mine = exercise.exercise_of(str(name))
        found = next((part for part in mine.parts if part.name == name), None) if mine else None
        return found or parts_there_are(name, asker)
    except (OSError, ValueError, KeyError, TypeError) as error:
        where = getattr(error, "filename", None) or exercise.ANSWERS
        news = f"The course's own files cannot be read: {type(error).__name__} in {where}."
        then = "Your work is unchanged. Install minigrad-course again; `minigrad doctor` says more."
        return Note("todo", (news, then))


def verdict_note(verdict: Verdict) -> Note:
    """A verdict as the note that the learner sees."""
    part = verdict.part
    earned = "" if verdict.state in ("todo", "wait") else f"{verdict.points} of "
    news = f"{part.name}: {WORDS[verdict.state]} ({earned}{points(part)})."
    says = list(verdict.says)
    if verdict.state == "todo":
        then = "run that cell until it ends without an error, and then this one."
        says.append(f"Write your answer in the cell above, {then}")
    ran = verdict.probe if verdict.probe and part.open else None
    code = f"{ran.preparation}\n{ran.expression}".strip() if ran else ""
    picture = comparison(verdict.failed) if part.open else None
    hints = part.hints if verdict.state == "fail" and not verdict.wrong else ()
    return Note(verdict.state, tuple(filter(None, [news, *says, verdict.hint])), code, part.name, hints, picture)


def as_html(sentence: str) -> str:
    return CODE.sub(r"<code>\1</code>", html.escape(sentence))


def general_hint(part: Part, number: int) -> Note:
    """One of the hints on a whole part, by its number."""
    if number not in range(1, len(part.hints) + 1):
        return Note("todo", (f"{part.name}: its general hints have the numbers 1 to {len(part.hints)}.",))
    return Note("todo", (f"{part.name}: general hint {number} of {len(part.hints)}.", part.hints[number - 1]))


def hint_offer(part: str, many: int) -> str:
    last = f" to `hint={many}`" if many > 1 else ""
    return f'General hints on {part}, the last nearly the whole answer: `check("{part}", hint=1)`{last}.'


def folded_hints(part: str, hints: tuple[str, ...]) -> str:
    """The hints on a whole part, each in a fold of its own."""
    fold, many = "<details><summary>General hint {} of {} on {}</summary>{}</details>", len(hints)
    folds = (fold.format(n, many, html.escape(part), as_html(hint)) for n, hint in enumerate(hints, 1))
    return f'<div style="margin-top:.3em">{"".join(folds)}</div>'


def figure(picture: Comparison) -> str:
    """The picture with its legend above and its text below."""
    sign = '<span style="color:{}" aria-hidden="true">{} </span>{}'
    signs = (WANTED, "○", "should be"), (CAME, "◆", "came"), (CAME, "✗", "differs")
    key = ", ".join(sign.format(*each) for each in signs)
    of = f"<code>{html.escape(picture.of)}</code>"
    return (
        f'<figure style="margin:.6em 0 0"><figcaption>{of}<br>{key}</figcaption>{picture.svg()}'
        f"<div>{html.escape(picture.words)}</div></figure>"
    )


def points(part: Part) -> str:
    return f"{part.points} point{'' if part.points == 1 else 's'}"


def parts_there_are(asked: Any, asker: str) -> Note:
    """The list of parts that can be checked, for a call without a valid name."""
    exercises = list(exercise.all_exercises())
    names = [part.name for each in exercises for part in each.parts]
    near = get_close_matches(str(asked), [name for name in names if name[0] == str(asked)[:1]], 1, 0.75)
    news = f"{asker} takes the name of a part." if asked is None else f"There is no part {asked!r}."
    if near:
        news += f" Did you mean {near[0]!r}?"
    lists = [f"{each.name}: {', '.join(f'{p.name} ({points(p)})' for p in each.parts)}" for each in exercises]
    return Note("todo", (news, *lists))


# -- a whole notebook ---------------------------------------------------------------------------------


def score(work: str | Path | dict[str, Any], name: str | None = None) -> dict[str, Any]:
    """The points of an exercise, from its notebook or from the names that it defined, as plain data.

    The notebook runs in this process with your permissions, so score only work that you trust. minigrad.course.grading
    grades the work of others in a sandbox.

    status    "graded", or why it could not be graded: never a silent 0
    points    the points; `of` is the maximum
    parts     part → state, points, of, and the text of check
    cells     number of a cell → the error it ended with
    """
    if isinstance(work, dict):
        if name is None:
            raise ValueError("to score names, give the exercise too: score(globals(), '01_…')")
        return marks(exercise.load_exercise(name), work)
    path = Path(work)
    try:
        notebook = json.loads(path.read_text("utf-8"))
        sources = [source_of(cell) for cell in notebook["cells"] if cell["cell_type"] == "code"]
        name = name or notebook["metadata"].get("minigrad", {}).get("exercise", path.stem)
        the_exercise = exercise.load_exercise(str(name))
    except FileNotFoundError:
        return empty_score(f"there is no {path}" if not path.exists() else f"{path.name} belongs to no known exercise")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return empty_score(f"{path.name} is not a notebook: {type(error).__name__}: {error}")
    # No file stores these attempts, because the scored work is somebody else's.
    namespace: dict[str, Any] = {"__name__": "__main__", NAME: NotebookState(attempts=Attempts(path=None))}
    cells = {n: ran for n, source in enumerate(sources, 1) if (ran := run(source, namespace))}
    return {**marks(the_exercise, namespace), "cells": cells}


def marks(the_exercise: Exercise, namespace: dict[str, Any]) -> dict[str, Any]:
    verdicts = [exercise.check_answer(part, namespace) for part in the_exercise.parts]
    parts = {
        v.part.name: {"state": v.state, "points": v.points, "of": v.part.points, "says": repr(verdict_note(v))}
        for v in verdicts
    }
    earned = sum(v.points for v in verdicts)
    marked = {"exercise": the_exercise.name, "status": "graded", "points": earned, "of": the_exercise.points}
    return {**marked, "parts": parts, "cells": {}}


def empty_score(why: str) -> dict[str, Any]:
    return {"exercise": None, "status": why, "points": 0, "of": 0, "parts": {}, "cells": {}}


def source_of(cell: dict[str, Any]) -> str:
    """The Python code of a cell, without magics and shell commands."""
    lines = "".join(cell["source"]).splitlines()
    return "\n".join("" if line.lstrip().startswith(("%", "!")) else line for line in lines)


def run(source: str, namespace: dict[str, Any]) -> str:
    """Run a cell and catch any error. Returns the kind of the error, or ""."""
    file = f"<cell {crc32(source.encode()):x}>"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file  # AutoGraph reads the source

    def work() -> Outcome:
        try:
            exec(compile(source, file, "exec"), namespace)
        except BaseException as error:
            return Outcome("raised", type(error).__name__)
        return Outcome("gave")

    outcome = run_limited(work, CELL_SECONDS)
    return "" if outcome.kind == "gave" else outcome.value or outcome.kind
