"""grade(data, task, sandbox) returns a result: plain data, the same for the same bytes on every machine.

The submission runs in a sandbox, and the verdict is computed here by comparing data. A status explains each score, so
that no 0 is silent:

    graded        every part was checked
    crashed       a cell or a part ended the process, was stopped, or used too much memory; the rest was graded
    failed        nothing could be checked: the submission as a whole ran out of time or memory
    unreadable    the file is not a notebook

"stopped" lists the cells and parts that were stopped or died, perhaps because the machine was busy.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from minigrad.course.exercise import Exercise, Part, load_exercise, verdict
from minigrad.course.probe import Odd, Outcome, plain
from minigrad.course.referee import inner_probes, judge

from .letters import cut, escape_unprintable
from .sandbox import Limits, Reply, Sandbox
from .submission import Cell, Release, Submission, Unreadable, is_edited, load_release, read, to_run, within

KINDS = {"gave", "raised", "odd", "todo", "endless", "stuck", "died"}
MOST_WORDS = 500  # characters of an exception's message
MOST_NAME = 100  # characters of a type's name
MOST_NOTES = 20  # notes on cells, in one result
STOPPED = {"ended the process", "was stopped: its time was up"}
ERROR = re.compile(r"(?P<kind>\w{1,40})(?:: .*?)?(?:, in line (?P<line>\d{1,6}))?", re.DOTALL)
BUILTIN = {name for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, BaseException)}
EDITED = "Cell {!r} belongs to the exercise but was changed: the changed cell ran first, and then the original."
Result = dict[str, Any]
PARSING = Lock()  # in Python 3.11, threads that use `ast` at once raise SystemError (CPython issue 106905)
ENDED = {
    "died": "Checking it ended the process: is there an exit(), or an infinite structure?",
    "memory": "Its processes together exceeded the memory limit, and the largest of them was killed.",
}


@dataclass(frozen=True)
class GradingTask:
    """What a submission is graded against.

    exercise    its parts, with their expected outcomes
    released    the notebook as it was released
    private     whether the probes are secret
    """

    exercise: Exercise
    released: Release
    private: bool = False


def task(name: str, exercises: Path, answers: Path | None = None) -> GradingTask:
    """The task of this name. Raises FileNotFoundError if there is none.

    answers    a folder of the grader's own answers: the same exercises with secret probes
    """
    with PARSING:
        return GradingTask(load_exercise(name, answers), load_release(exercises / f"{name}.ipynb"), answers is not None)


def grade(data: bytes, task: GradingTask, sandbox: Sandbox) -> Result:
    """Grade a submission. Returns its result; no content of the file makes this raise."""
    result = unseen(task)
    try:
        submission = read(data)
    except Unreadable as error:
        return result | {"status": "unreadable", "notes": [str(error)]}
    if (said := submission.exercise[:80]) not in ("", task.exercise.name):
        result["notes"] = [f"Its metadata names the exercise {said!r}, but it is graded as {task.exercise.name}."]
    result["minutes"] = submission.minutes
    changed = dict.fromkeys(cell.name for cell in submission.cells if is_edited(cell, task.released))
    result["notes"] += [EDITED.format(name) for name in changed]
    cells = to_run(submission, task.released)
    asked = [part for part in task.exercise.parts if not part.manual]
    with PARSING:
        parts = [[part.name, list(part.defines), inner_probes(part.probes)] for part in asked]
    result["parts"] |= {part.name: to_be_read(part, submission, task) for part in task.exercise.parts if part.manual}
    missing = len(task.released.given.keys() - {cell.name for cell in submission.cells})
    job = {"cells": [[cell.name, cell.source] for cell in cells], "missing": missing, "parts": parts}
    reply = sandbox.run(job)
    with PARSING:
        return grade_reply(result, task, reply, sandbox, cells)


def unseen(task: GradingTask) -> Result:
    """A result before grading: each part waits for a person, so none has a 0."""
    about = {"exercise": task.exercise.name, "status": "graded", "points": 0, "of": task.exercise.points}
    parts = {part.name: nothing(part) | {"state": "wait"} for part in task.exercise.parts}
    return about | {"notes": [], "stopped": [], "parts": parts}


def nothing(part: Part) -> Result:
    plain = {"state": "todo", "points": 0, "of": part.points, "says": [], "hint": "", "shows": ""}
    return plain | ({"manual": True} if part.manual else {})


def to_be_read(part: Part, submission: Submission, task: GradingTask) -> Result:
    """A part that a person reads: it waits, unless the student wrote nothing for it."""
    written = [cell.source.strip() for cell in submission.texts if cell.name == part.name]
    untouched = "", task.released.prose.get(part.name, "").strip()
    waits = not written or any(text not in untouched for text in written)
    return nothing(part) | {"state": "wait" if waits else "todo"}


def grade_reply(result: Result, task: GradingTask, reply: Reply, sandbox: Sandbox, run: Sequence[Cell]) -> Result:
    """The result, from the sandbox's reply. Errors that it reports for cells it was not asked to run are ignored."""
    result["seconds"] = round(reply.seconds, 2)
    cells, parts = within(reply.data, "cells"), within(reply.data, "parts")
    asked = [part for part in task.exercise.parts if not part.manual]
    if asked and not parts:
        notes = [*result["notes"], trouble(why := reply.why or "ended", sandbox.limits)]
        return result | {"status": "failed", "notes": notes, "stopped": [why]}
    errors = {cell: said for cell in run if isinstance(said := cells.get(cell.name), str) and said}
    notes = [f"Cell {cell.name[:80]!r}: {describe_cell_error(cell, said, task)}" for cell, said in errors.items()]
    rest = len(notes) - MOST_NOTES
    result["notes"] += [*notes[:MOST_NOTES], *([f"{rest} more cells raised errors."] if rest > 0 else [])]
    result["notes"] += [ENDED["memory"]] if reply.why == "memory" else []
    came = {part.name: outcomes(part, parts.get(part.name)) for part in asked}
    entries = {part.name: looked_at(part, came[part.name], task.private) for part in asked}
    points = sum(each["points"] for each in entries.values())
    ended = [cell.name[:80] for cell, said in errors.items() if said in STOPPED][:MOST_NOTES]
    ended += [name for name, each in entries.items() if each["state"] == "died"]
    status, stopped = "crashed" if ended else "graded", [*ended, *filter(None, [reply.why]), *stopped_parts(came)]
    return result | {"status": status, "points": points, "parts": result["parts"] | entries, "stopped": stopped}


def stopped_parts(came: dict[str, list[Outcome]]) -> list[str]:
    """The parts with a probe that was stopped or ended its process."""
    return [name for name, found in came.items() if any(outcome.did_not_end for outcome in found)]


def describe_cell_error(cell: Cell, said: str, task: GradingTask) -> str:
    """An error in a cell, in words. With secret probes only its kind and line: a message could reveal the probes."""
    if not task.private or said in STOPPED:
        return cut(escape_unprintable(said), MOST_WORDS)
    found = ERROR.fullmatch(said)
    kind = found["kind"] if found and found["kind"] in BUILTIN else "an error of its own kind"
    line = int(found["line"] or 0) if found else 0
    return f"{kind}, in line {line}" if 0 < line <= len(cell.source.splitlines()) else kind


def trouble(why: str, limits: Limits) -> str:
    reasons = {
        "cpu": f"it used {limits.all:g} s of processor time and was stopped",
        "late": f"it was still running after {limits.wall_factor * limits.all:g} s and was stopped",
        "asleep": f"it slept for {limits.all:g} s and was stopped",
        "memory": f"it used more than {limits.memory >> 20} MB of memory and was stopped",
        "files": f"it made more than {limits.files} files and was stopped",
        "ended": "its process ended before any part could be checked",
    }
    return f"Nothing could be checked: {reasons[why]}."


def looked_at(part: Part, came: list[Outcome], private: bool) -> Result:
    """The result of one part."""
    right, wanted = sum(map(Outcome.matches, part.expected, came)), len(part.expected)
    forged = right == min(len(came), wanted) and len(came) != wanted  # honest code answers each probe once
    if forged or any(outcome.kind == "died" for outcome in came):
        return nothing(part) | {"state": "died", "says": [ENDED["died"]]}
    judged = verdict(part, came)
    says = [f"{right} of {wanted} hidden probes give what they should."] if private else list(judged.says)
    said = {"state": judged.state, "points": judged.points, "says": says, "hint": judged.hint}
    return nothing(part) | said | {"shows": judged.wrong.shows if judged.wrong else ""}


def outcomes(part: Part, said: Any) -> list[Outcome]:
    """The outcomes of a part, from the data that the sandbox sent for it; [] if the data is malformed."""
    sent = []
    for each in said if isinstance(said, list) else []:
        match each:
            case [str(kind), value, str(words)] if kind in KINDS:
                sent.append(outcome(kind, value, words))
            case _:
                return []
    return [ours if ours is its else outcome(*ours) for ours, its in zip(judge(part.probes, sent), sent)]


def outcome(kind: str, value: Any, words: str) -> Outcome:
    """One outcome, with safe text. A value that is too long or too deep becomes `odd`, as it would in the sandbox."""
    try:
        value = plain(value)
    except Odd as odd:
        kind, value = "odd", str(odd)
    value = cut(escape_unprintable(str(value)), MOST_NAME) if kind in ("raised", "odd") else value
    return Outcome(kind, value, cut(escape_unprintable(words), MOST_WORDS))
