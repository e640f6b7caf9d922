"""Turns a worked solution into an exercise, and the data by which `check` judges it.

In the source of a solution, the first line of a cell gives its kind:

    # %% answer="product" points=2 minutes=5    what the learner writes, between BEGIN SOLUTION and END SOLUTION
    # %% probes="product"                       expressions over the learner's names, after their set-up; a comment
                                                `# Hint: …` before one is shown when it, or one below it, fails first;
                                                `# Graph: …` and `# Own graph: …` say what is drawn when it fails
                                                first: minigrad/course/graph_comparison.py
    # %% [markdown] hints="product"             a numbered list about the whole part, from a nudge to nearly all of it
    # %% [markdown] shows="product"             a sentence on what the right answer shows, for learners who have it
    # %% wrong="product" misconception="M3"     in place of the answer; opens with `# Shows:` and `# Hint:`
    # %% [markdown] answer="why" points=2 minutes=5    prose, the whole cell, graded by a person

Probes send data. The outermost comparison of a probe, and a function marked `@referee`, run on these data, outside the
process of the learner's code: minigrad/course/referee.py.

A part below a heading with folded=true is optional: it has points like any other, but counts for no minutes, and the
exercise is done without it. The other parts must need nothing of it.

Probes, hints, wrong answers and `shows` are not run in the notebook, and are not in the exercise; prose has none of
them. A misconception's id is optional. A cell that only calls check("product") carries the points, and the Markdown
before an answer is its task.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_raw_cell
from traitlets.config import Config

from minigrad.course.exercise import SLIPS, alike, all_exercises, common_message
from minigrad.course.feedback import run, source_of
from minigrad.course.graph_comparison import PACK
from minigrad.course.probe import Outcome, observe
from minigrad.course.referee import inner_probes, judge, parse_probes
from notebooks import folding
from notebooks.source import BuildError

Outcomes = Callable[[NotebookNode, str, str, str, str], list[Outcome]]  # nb, part, answer, probes, where
ASIDE = ("probes", "wrong", "hints", "shows")  # cells hidden from the learner
MARKS = ("answer", "points", "minutes", "misconception")
FEWEST_WRONG = 3
PROSE = "*Your answer here.*"  # placeholder of a prose answer
CHECK = re.compile(r'check\("(\w+)"\)')
HINT = re.compile(r"^\d+\. (.*?)(?=\n\d+\. |\Z)", re.DOTALL | re.MULTILINE)
SENTENCE = re.compile(r"[A-Z`](?:(?!\. )[^!?]){20,180}\.")
WRONG = re.compile(r"# Shows: (?P<shows>.*?)\n# Hint: (?P<hint>.*?)\n(?!#)(?P<code>.*)", re.DOTALL)
REGION = re.compile(r"### BEGIN SOLUTION\n(.*?)\s*### END SOLUTION", re.DOTALL)
MARKER = re.compile(r"^ *### (BEGIN|END) SOLUTION\n?", re.MULTILINE)
COMMENT = re.compile(r"# (Hint|Graph|Own graph): (.*)")
STEPS = (
    *("LockCells", "ClearOutput", "CheckCellMetadata", "ComputeChecksums", "ClearHiddenTests", "ComputeChecksums"),
    "CheckCellMetadata",
)


def solution(nb: NotebookNode, name: str) -> NotebookNode:
    """The worked solution in nbgrader's format."""
    nb = deepcopy(nb)
    nb.metadata.minigrad["exercise"] = name
    points = {cell.metadata.answer: cell.metadata.points for cell in nb.cells if "answer" in cell.metadata}
    for i, cell in enumerate(nb.cells):
        marks = {key: cell.metadata.pop(key) for key in (*ASIDE, *MARKS) if key in cell.metadata}
        checked = CHECK.fullmatch(cell.source)
        if "answer" in marks:
            part = marks["answer"]
            task = next((before for before in reversed(nb.cells[:i]) if before.cell_type == "markdown"), None)
            if task is None or "nbgrader" in task.metadata:
                raise BuildError(f"{name}: there is no Markdown cell with the task before the answer {part!r}")
            grade(task, f"task-{part}", locked=True)
            if cell.cell_type == "markdown":  # nbgrader's form of an answer graded by a person
                grade(cell, part, solution=True, grade=True, points=marks["points"])
                continue
            grade(cell, part, solution=True)
            cell.metadata["tags"] = ["raises-exception"]  # so that Run All continues after unwritten answers
        elif checked:
            part = checked[1]
            grade(cell, f"check-{part}", grade=True, locked=True, points=points[part])
            # nbgrader's own autograder gives the points to any cell that raises nothing.
            cell.source = f"### BEGIN HIDDEN TESTS\nassert {cell.source}.passed\n### END HIDDEN TESTS\n{cell.source}"
        elif marks:
            nb.cells[i] = new_raw_cell(cell.source, id=cell.id, metadata={"minigrad": marks})
    return nb


def grade(cell: NotebookNode, name: str, **marks: Any) -> None:
    """Set a cell's nbgrader metadata, and its name as its id."""
    plain = {"grade": False, "solution": False, "locked": False, "task": False}
    cell.metadata["nbgrader"] = {"schema_version": 3, "grade_id": name, **plain, **marks}
    cell.id = name


def exercise(solved: NotebookNode) -> NotebookNode:
    """The learner's notebook: the solution without its answers, made by nbgrader's own preprocessors."""
    from nbgrader import preprocessors  # imported here: it takes three seconds, and lessons do not need it

    nb = deepcopy(solved)
    nb.cells = [cell for cell in nb.cells if not any(key in cell.metadata.get("minigrad", {}) for key in ASIDE)]
    for i, cell in enumerate(nb.cells):
        config = Config()
        config.ClearSolutions.text_stub = PROSE
        config.ClearSolutions.code_stub = {"python": stub(cell.source)}
        preprocessors.ClearSolutions(config=config).preprocess_cell(cell, {"language": "python"}, i)
    resources: dict[str, Any] = {}
    for step in STEPS:
        nb, resources = getattr(preprocessors, step)().preprocess(nb, resources)
    return nb


def stub(source: str) -> str:
    """The placeholder of a solution: dots for numbers, otherwise a NotImplementedError."""
    found = REGION.search(source)
    statements = ast.parse(found[1]).body if found and not found[1].startswith(" ") else []
    if statements and all(isinstance(statement, ast.Assign) for statement in statements):
        return "\n".join(f"{name} = ..." for name in defined(found[1]))
    return "# Your code here.\nraise NotImplementedError"


# -- the data of `check` ------------------------------------------------------------------------


def answers(nb: NotebookNode, name: str, outcomes: Outcomes) -> str:
    """The text of answers/NAME.json: the probes' outcomes for the solution and each known-wrong answer.

    outcomes    how to get the outcomes: run the probes (`outcomes`), or read the stored ones (`Stored`)
    """
    names = [cell.metadata.answer for cell in nb.cells if "answer" in cell.metadata]
    refuse_strays(nb, names, name)
    optional = optional_parts(nb, name)
    parts = {part: facts_of(nb, part, name, outcomes) for part in names}
    minutes = sum(facts["minutes"] for part, facts in parts.items() if part not in optional)
    there_are = nb.metadata.minigrad["minutes"]
    if minutes > there_are:
        raise BuildError(f"{name}: its parts take {minutes} minutes, but the header says {there_are}")
    for part in optional:
        parts[part]["optional"] = True
    facts = {"title": nb.metadata.minigrad["title"], "digest": digest(nb), "parts": parts}
    return json.dumps(facts, indent=1, ensure_ascii=False) + "\n"


def optional_parts(nb: NotebookNode, name: str) -> list[str]:
    """The parts below a folded heading. Raises BuildError for a fold that hides what the other parts need."""
    for problem in folding.problems(nb):
        raise BuildError(f"{name}: {problem}")
    unfolded = [cell.metadata.answer for cell in folding.unfolded_cells(nb) if "answer" in cell.metadata]
    if not unfolded:
        raise BuildError(f"{name}: all its parts are folded, and at least one must not be optional")
    return [cell.metadata.answer for cell in nb.cells if cell.metadata.get("answer", unfolded[0]) not in unfolded]


def refuse_strays(nb: NotebookNode, parts: list[str], name: str) -> None:
    """Raise BuildError for a cell without a part, code without its check, or a part of another exercise."""
    for key in ASIDE:
        if strays := sorted({cell.metadata[key] for cell in nb.cells if key in cell.metadata} - {*parts}):
            raise BuildError(f"{name}: {key}={strays[0]!r} names no part; the parts are {', '.join(parts)}")
    checked = [found[1] for cell in nb.cells if (found := CHECK.fullmatch(cell.source))]
    coded = [cell.metadata.answer for cell in nb.cells if "answer" in cell.metadata and cell.cell_type == "code"]
    if sorted(checked) != sorted({*coded}):
        raise BuildError(f'{name}: each part needs one check("…"): for {", ".join(coded)}, not {", ".join(checked)}')
    others = {part.name: each.name for each in all_exercises() if each.name != name for part in each.parts}
    if taken := [part for part in parts if part in others]:
        raise BuildError(f"{name}: {others[taken[0]]} has a part {taken[0]!r} already, and `check` needs unique names")


def facts_of(nb: NotebookNode, part: str, name: str, outcomes: Outcomes) -> dict[str, Any]:
    where = f"{name}, part {part!r}"
    answer = the_one(nb, "answer", part, where)
    if answer.cell_type == "markdown":
        return for_a_reader(answer, where)
    probes = the_one(nb, "probes", part, where).source
    if not REGION.search(answer.source):
        raise BuildError(
            f"{where}: its answer has no ### BEGIN SOLUTION … ### END SOLUTION: the exercise would contain all of it"
        )
    hints = HINT.findall(the_one(nb, "hints", part, where).source)
    if not hints:
        raise BuildError(f"{where}: the hints must be a numbered list, and there is none")
    expected = outcomes(nb, part, answer.source, probes, f"{where}, the solution")
    again = outcomes(nb, part, answer.source, probes, f"{where}, the solution")
    refuse_unfit(probes, expected, again, where)
    known = [
        wrong(nb, cell, probes, where, outcomes, expected) for cell in nb.cells if cell.metadata.get("wrong") == part
    ]
    drawn = graphs(nb, part, answer.source, probes, where, outcomes)
    refuse_alike([("the solution", expected), *((w["shows"], w["outcomes"]) for w in known)], where)
    if len(known) < FEWEST_WRONG:
        raise BuildError(f"{where}: {len(known)} known-wrong answers, and at least {FEWEST_WRONG} are needed")
    return {
        "points": whole(answer, "points", where),
        "minutes": whole(answer, "minutes", where),
        "defines": defined(answer.source),
        "open": any(isinstance(s, ast.FunctionDef | ast.ClassDef) for s in ast.parse(answer.source).body),
        "solution": MARKER.sub("", answer.source).strip(),
        "probes": probes,
        "expected": stored(expected),
        "hints": [" ".join(hint.split()) for hint in hints],
        "probe_hints": [above.get("Hint", "") for above in comments(probes)],
        **({"graphs": drawn} if drawn else {}),
        "shows": sentence(the_one(nb, "shows", part, where).source, where),
        "wrong": [{**w, "outcomes": stored(w["outcomes"])} for w in known],
    }


def comments(probes: str) -> list[dict[str, str]]:
    """For each probe the comments above it, by their first words: {"Hint": …, "Graph": …}.

    A hint holds for the probes below it, too, up to the next hint.
    """
    starts = {each.lineno: isinstance(each, ast.Expr) for each in ast.parse(probes).body}
    found, above, key = list[dict[str, str]](), dict[str, str](), ""
    for number, line in enumerate(probes.splitlines(), 1):
        if begins := COMMENT.match(line):
            key = begins[1]
            above[key] = begins[2].strip()
        elif key and line.startswith("# "):
            above[key] += f" {line.removeprefix('# ').strip()}"
        else:
            key = ""
        if starts.get(number):
            found.append(above)
            above = {name: text for name, text in above.items() if name == "Hint"}
    return found


def graphs(
    nb: NotebookNode, part: str, answer: str, probes: str, where: str, outcomes: Outcomes
) -> list[list[Any] | None]:
    """For each probe the expression of the graph to draw, and the solution's graph, None if others are right, too."""
    asked = [(above.get("Graph") or above.get("Own graph"), "Graph" in above) for above in comments(probes)]
    drawn = [expression for expression, _ in asked if expression]
    if not drawn:
        return []
    text = "\n".join([probes, PACK, *(f"pack_graph({expression}, globals())" for expression in drawn)])
    came = iter(outcomes(nb, part, answer, text, f"{where}, its graphs")[-len(drawn) :])
    found: list[list[Any] | None] = []
    for expression, is_only in asked:
        graph = next(came) if expression else None
        if graph and graph.kind != "gave":
            raise BuildError(f"{where}: on the solution `{expression}` is not a graph: {graph.value} {graph.told}")
        found.append([expression, graph.value if is_only else None] if graph else None)
    return found


def sentence(text: str, where: str) -> str:
    words = " ".join(text.split())
    if not SENTENCE.fullmatch(words):
        raise BuildError(f"{where}: `shows` must be one sentence, not {words!r}")
    return words


def refuse_unfit(probes: str, expected: list[Outcome], again: list[Outcome], where: str) -> None:
    """Raise BuildError for probes that cannot judge an answer; `expected` and `again` are two runs of them."""
    if not expected:
        raise BuildError(f"{where}: there is no probe: an expression over what the answer defines")
    for probe, came, then in zip(parse_probes(probes), expected, again):
        asked = f"{where}: on the solution the probe `{probe.expression}`"
        if came.kind not in ("gave", "raised"):
            raise BuildError(f"{asked} gives no plain data: {came.kind} {came.value or ''}".rstrip())
        if came.kind == "raised" and came.value in SLIPS:
            raise BuildError(f"{asked} raises {came.value}: {came.told}")
        if (came.kind, repr(came.value)) != (then.kind, repr(then.value)):  # exact comparison: a clock changes slowly
            raise BuildError(f"{asked} gives {came.value!r:.40}, and in a second run {then.value!r:.40}")


def for_a_reader(answer: NotebookNode, where: str) -> dict[str, Any]:
    """The data of a prose part, which a person grades."""
    numbers = {key: whole(answer, key, where) for key in ("points", "minutes")}
    unused: dict[str, Any] = {"defines": [], "open": False, "probes": "", "expected": [], "hints": [], "wrong": []}
    return {**numbers, **unused, "solution": answer.source.strip(), "manual": True}


def the_one(nb: NotebookNode, key: str, part: str, where: str) -> NotebookNode:
    cells = [cell for cell in nb.cells if cell.metadata.get(key) == part]
    if len(cells) != 1:
        raise BuildError(f"{where}: it has {len(cells)} {key} cells, and needs one")
    return cells[0]


def whole(cell: NotebookNode, key: str, where: str) -> int:
    """A number from the first line of an answer's cell."""
    number = cell.metadata.get(key)
    if type(number) is not int or number < 1:
        raise BuildError(f"{where}: `# %% answer=…` says {key}={number!r}, and needs a whole number of at least 1")
    return number


def wrong(
    nb: NotebookNode, cell: NotebookNode, probes: str, where: str, outcomes: Outcomes, expected: list[Outcome]
) -> dict[str, Any]:
    found = WRONG.fullmatch(cell.source)
    if not found:
        raise BuildError(f"{where}: a wrong answer begins with `# Shows: …` and `# Hint: …`, not {cell.source[:60]!r}")
    shows, hint = (" ".join(found[key].replace("\n# ", " ").split()) for key in ("shows", "hint"))
    came = outcomes(nb, cell.metadata["wrong"], found["code"], probes, f"{where}: {shows}")
    named = {"misconception": cell.metadata.misconception} if "misconception" in cell.metadata else {}
    message = common_message(first_failure(expected, came))
    if message:
        named["message"] = message
    return {"shows": shows, "hint": hint, **named, "outcomes": came}


def first_failure(expected: list[Outcome], came: list[Outcome]) -> Outcome:
    """The outcome that `check` tells: the first that differs, or one that never ended."""
    unlike = [outcome for wanted, outcome in zip(expected, came) if not wanted.matches(outcome)]
    return next((outcome for outcome in unlike if outcome.did_not_end), unlike[0] if unlike else Outcome("gave"))


def digest(nb: NotebookNode) -> str:
    """A hash of the source's code. If answers/NAME.json has another one, its outcomes are out of date."""
    return hashlib.sha256("\0".join(cell.source for cell in nb.cells if cell.cell_type == "code").encode()).hexdigest()[
        :8
    ]


class Stored:
    """The outcomes stored in answers/NAME.json by its last build."""

    def __init__(self, path: Path) -> None:
        self.parts = json.loads(path.read_text("utf-8"))["parts"] if path.exists() else {}

    def __call__(self, nb: NotebookNode, part: str, answer: str, probes: str, where: str) -> list[Outcome]:
        wrong = [WRONG.fullmatch(cell.source) for cell in nb.cells if cell.metadata.get("wrong") == part]
        number = next((i for i, found in enumerate(wrong) if found and found["code"] == answer), None)
        try:
            facts = self.parts[part]
            if PACK in probes:
                return [Outcome("gave", graph[1]) for graph in facts["graphs"] if graph]
            kept = facts["expected"] if number is None else facts["wrong"][number]["outcomes"]
            message = "" if number is None else facts["wrong"][number].get("message", "")
        except (KeyError, IndexError):
            raise BuildError(f"{where}: its outcomes are not stored yet: run `python scripts/build`") from None
        return [Outcome(kind, value, message) for kind, value in kept]


def outcomes(nb: NotebookNode, part: str, answer: str, probes: str, where: str) -> list[Outcome]:
    """The probes' outcomes with this answer to the part, and all earlier parts solved."""
    namespace = names_after(nb, part, answer, where)
    try:
        return judge(probes, observe(inner_probes(probes), namespace))
    except SyntaxError as error:
        raise BuildError(f"{where}: line {error.lineno} of the probes is not valid Python: {error.msg}") from error


def names_after(nb: NotebookNode, part: str, answer: str, where: str) -> dict[str, Any]:
    """The names that a notebook defines with this answer to the part, and all earlier parts solved."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for cell in nb.cells:
        mine = cell.metadata.get("answer") == part
        aside = CHECK.fullmatch(cell.source) or any(key in cell.metadata for key in ASIDE)
        if cell.cell_type == "code" and not aside:
            source = answer if mine else source_of(cell)
            error = run(source, namespace)
            if error:
                raise BuildError(f"{where}: a cell ends with {error}: {source[:80]!r}")
        if mine:
            break
    return namespace


def refuse_alike(known: list[tuple[str, list[Outcome]]], where: str) -> None:
    """Raise BuildError if the probes cannot tell two answers apart."""
    for i, (shows, came) in enumerate(known):
        for other, others in known[:i]:
            if alike(came, others):
                raise BuildError(f"{where}: the probes cannot tell apart {other!r} and {shows!r}: add one that does")


def defined(source: str) -> list[str]:
    """The public names that a cell defines."""
    return [name for name in dict.fromkeys(named(ast.parse(source).body)) if not name.startswith("_")]


def named(body: list[ast.stmt]) -> Iterator[str]:
    """The names that statements define, including those inside a `with`."""
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Assign(targets=targets):
                yield from (node.id for t in targets for node in ast.walk(t) if isinstance(node, ast.Name))
            case ast.With(body=inner):
                yield from named(inner)


def stored(came: list[Outcome]) -> list[list[Any]]:
    return [[outcome.kind, rounded(outcome.value)] for outcome in came]


def rounded(x: Any) -> Any:
    """Plain data with nine digits of each number, as processors differ in the last ones."""
    match x:
        case float():
            return float(f"{x:.9g}") if abs(x) > 1e-12 or x != x else 0.0
        case list():
            return list(map(rounded, x))
        case dict():
            return {key: rounded(value) for key, value in x.items()}
    return x
