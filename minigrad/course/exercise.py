"""The data of an exercise, and the verdict on the outcomes of its probes.

Nothing here is specific to one exercise. The build of the notebooks runs the probes on the worked solution and on each
known-wrong answer, and stores their outcomes in answers/NAME.json. An answer is right if its outcomes equal
the solution's. If its outcomes equal those of a known-wrong answer, it shows the same misconception.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from itertools import starmap
from pathlib import Path
from typing import Any

from minigrad.course.fork import observe
from minigrad.course.probe import SECONDS, Outcome, ProbeSource, equal
from minigrad.course.referee import inner_probe, parse_probes

SLIPS = ("NameError", "UnboundLocalError")  # raised by a mistyped name, which costs no attempt and no hint
COMMON = ("TypeError", "AttributeError", "ValueError", "IndexError", "KeyError", "GraphError")  # have many causes each
MOST_ROWS = 4  # named in a sentence
PLACE = re.compile(r",? ?in line \d+ of the cell of `\w+`$|0x[0-9a-f]+")
SAME = "A known mistake has the same results: "  # another mistake may have them, too
ANSWERS = Path(__file__).resolve().parent / "answers"


@dataclass(frozen=True)
class Wrong:
    """A known-wrong answer: what it shows, the hint that helps, and the outcomes of the probes on it.

    misconception    the id of the misconception, if it has one
    message          what the first failing probe raises, if its exception has many causes; "" otherwise
    """

    shows: str
    hint: str
    outcomes: tuple[Outcome, ...]
    misconception: str = ""
    message: str = ""


@dataclass(frozen=True)
class Part:
    """One task of an exercise.

    name        what the learner passes to check()
    points      for a right answer
    defines     the names that an answer must define
    open        whether the learner sees the expected value: yes for a function, no where the answer is a number
    probes      the source text of the probes
    stored      `expected` and `wrong` as they are in the file, made into outcomes on first use
    expected    the outcomes of the probes on the solution
    wrong       the known-wrong answers
    hints       about the whole part, from a nudge to nearly the whole answer
    probe_hints the hint for each probe that may fail; "" for a probe without one
    graphs      for each probe the expression of a graph to draw, and the solution's graph: graph_comparison.py
    minutes     about how long it takes; 0 if unknown
    solution    the code of the worked solution; "" if it is kept elsewhere
    manual      whether the answer is prose, which a person reads: then there are no probes
    shows       what the right answer shows, in a sentence
    optional    whether the exercise is done without it; its points count all the same
    """

    name: str
    points: int
    defines: tuple[str, ...]
    open: bool
    probes: str
    stored: dict[str, Any] = field(repr=False, compare=False)
    hints: tuple[str, ...]
    probe_hints: tuple[str, ...] = ()
    graphs: Sequence[Any] = ()
    minutes: int = 0
    solution: str = ""
    manual: bool = False
    shows: str = ""
    optional: bool = False

    @cached_property
    def expected(self) -> tuple[Outcome, ...]:
        return outcomes_of(self.stored["expected"])

    @cached_property
    def wrong(self) -> tuple[Wrong, ...]:
        return tuple(Wrong(**{**w, "outcomes": outcomes_of(w["outcomes"])}) for w in self.stored["wrong"])

    @property
    def attempts_before_solution(self) -> int:
        """The number of different wrong attempts that unlock the worked solution."""
        return len(self.hints) + 1


@dataclass(frozen=True)
class Exercise:
    """An exercise. `name` is the stem of its notebook's file; the parts are in order."""

    name: str
    title: str
    parts: tuple[Part, ...]

    points = property(lambda self: sum(part.points for part in self.parts))


@dataclass(frozen=True)
class Verdict:
    """The verdict on an answer.

    state    todo, fail, pass, or wait (for a person to read it)
    says     sentences on the outcomes
    hint     what to think of next, if it failed
    wrong    the known-wrong answer that the answer matches, if any
    probe    the failed probe that `says` describes
    attempt  a digest that identifies this wrong answer; "" if it is not wrong, was stopped, or only has a mistyped name
    failed   each failed probe: its expression, the expected outcome and the actual one
    graph    the graph to draw for the failed probe; None if it has none
    """

    part: Part
    state: str
    says: tuple[str, ...]
    hint: str = ""
    wrong: Wrong | None = None
    probe: ProbeSource | None = None
    attempt: str = ""
    failed: tuple[tuple[str, Outcome, Outcome], ...] = ()
    graph: Any = None

    points = property(lambda self: self.part.points if self.state == "pass" else 0)


def load_exercise(name: str, answers: Path | None = None) -> Exercise:
    """Load the exercise of this name. Raises FileNotFoundError if there is none.

    answers    the folder of its data, if not the package's own
    """
    facts = read_facts(name, answers or ANSWERS)
    return Exercise(name, facts["title"], tuple(map(part_of, facts["parts"], facts["parts"].values())))


def read_facts(name: str, answers: Path) -> dict[str, Any]:
    return json.loads((answers / f"{name}.json").read_text("utf-8"))


def exercise_of(part: str) -> Exercise | None:
    """The exercise that this part belongs to; None if there is no such part."""
    if part not in part_index(ANSWERS):
        part_index.cache_clear()  # its exercise may be new
    name = part_index(ANSWERS).get(part)
    return None if name is None else load_exercise(name)


@lru_cache(4)
def part_index(answers: Path) -> dict[str, str]:
    """Part → the name of its exercise. Only the first search reads the files of all exercises."""
    return {part: name for name in names() for part in read_facts(name, answers)["parts"]}


def names() -> list[str]:
    """The names of all exercises, in the order of the lessons."""
    return sorted(path.stem for path in ANSWERS.glob("*.json"))


def all_exercises() -> Iterator[Exercise]:
    """All exercises, in the order of the lessons."""
    return map(load_exercise, names())


def part_of(name: str, facts: dict[str, Any]) -> Part:
    read = {name: tuple(facts.get(name, ())) for name in ("defines", "hints", "probe_hints")}
    stored = {name: facts[name] for name in ("expected", "wrong")}
    return Part(name, stored=stored, **{**{key: facts[key] for key in facts.keys() - stored}, **read})


def outcomes_of(pairs: list[list[Any]]) -> tuple[Outcome, ...]:
    return tuple(starmap(Outcome, pairs))


def check_answer(part: Part, namespace: dict[str, Any]) -> Verdict:
    """Run the probes on an answer. Returns the verdict."""
    missing = [f"no `{name}`" for name in part.defines if namespace.get(name, ...) is ...]
    if missing:
        names = " and ".join(filter(None, [", ".join(missing[:-1]), missing[-1]]))
        return Verdict(part, "todo", (f"There is {names} yet.",))
    return verdict(part, observe(part.probes, namespace))


def verdict(part: Part, outcomes: list[Outcome]) -> Verdict:
    """The verdict on an answer, from the outcomes of the part's probes."""
    if part.manual:
        return Verdict(part, "wait", ("A person reads this part and awards its points.",))
    for outcome in outcomes:
        if outcome.kind == "todo":
            return Verdict(part, "todo", (f"`{outcome.told}` is not written yet.",) if outcome.told else ())
    if not alike(outcomes, part.expected):
        return explain_failure(part, outcomes)
    right = f"Probes that give what they should: {len(outcomes)} of {len(outcomes)}."
    return Verdict(part, "pass", (right, *filter(None, [part.shows])))


def explain_failure(part: Part, outcomes: list[Outcome]) -> Verdict:
    """The verdict on a wrong answer: a failed probe, and the hint for its known-wrong answer, or else for the probe."""
    rows = [*zip((strip_conversions(probe.expression) for probe in parse_probes(part.probes)), part.expected, outcomes)]
    places = [i for i, (_, wanted, came) in enumerate(rows) if not wanted.matches(came)]
    place = next((i for i in places if outcomes[i].did_not_end), places[0])
    says, probe, came = (difference(part, *rows[place]),), inner_probe(part.probes, place), outcomes[place]
    failed = tuple(rows[i] for i in places)
    attempt = "" if came.kind == "raised" and came.value in SLIPS else attempt_digest(outcomes)
    graph = part.graphs[place] if part.graphs else None
    for wrong in part.wrong:
        if alike(outcomes, wrong.outcomes) and similar(wrong.message, common_message(came)):
            told, hint = (*says, f"{SAME}{wrong.shows}"), f"Hint: {wrong.hint}"
            return Verdict(part, "fail", told, hint, wrong, probe, attempt, failed, graph)
    # Where no attempt is counted, or the form of the answer is wrong, `says` is hint enough.
    hint = probe_hint(part, place) if attempt and not form(rows[place][1], came) else ""
    return Verdict(part, "fail", says, hint, None, probe, attempt, failed, graph)


def strip_conversions(expression: str) -> str:
    """A probe's expression without conversions around it, which say nothing to a learner."""
    node = ast.parse(expression, mode="eval").body
    while isinstance(node, ast.Call):
        match node:
            case ast.Call(ast.Name("float" | "round" | "str"), [inner, *_]):
                node = inner
            case ast.Call(ast.Attribute(inner, "strip" | "lower"), []):
                node = inner
            case ast.Call(ast.Attribute(ast.Name() as table, "get"), [ast.Constant() as key]):
                node = ast.Subscript(table, key, ast.Load())
            case _:
                break
    return ast.get_source_segment(expression, node) or ast.unparse(node).replace("'", '"')


def common_message(came: Outcome) -> str:
    """The message of an exception that has many causes, without the place where it was raised; else ""."""
    return PLACE.sub("", came.told) if came.kind == "raised" and came.value in COMMON else ""


def similar(message: str, other: str) -> bool:
    """Whether two messages of exceptions may have one cause; their wording differs between versions of Python."""
    return SequenceMatcher(None, message, other).ratio() > 0.6


def attempt_digest(outcomes: list[Outcome]) -> str:
    """A digest of the outcomes; "" if a probe had to be stopped, because that does not count as an attempt."""
    if any(outcome.did_not_end for outcome in outcomes):
        return ""
    came = json.dumps([(outcome.kind, outcome.value) for outcome in outcomes], sort_keys=True)
    return hashlib.sha256(came.encode(errors="replace")).hexdigest()[:16]


def probe_hint(part: Part, place: int) -> str:
    """The hint for the probe that failed; where it has none, the first hint about the part."""
    own = part.probe_hints[place] if place < len(part.probe_hints) else ""
    return f"Hint: {own}" if own else f"Hint on `{part.name}` in general: {part.hints[0]}"


def alike(outcomes: Any, others: Any) -> bool:
    return len(outcomes) == len(others) and all(a.matches(b) for a, b in zip(outcomes, others))


def difference(part: Part, probe: str, wanted: Outcome, came: Outcome) -> str:
    """The expected and the actual outcome of a probe, in words."""
    if part.open and (rows := different_rows(wanted.value, came.value, probe)):
        more = f"; and {len(rows) - MOST_ROWS} more" if len(rows) > MOST_ROWS else ""
        return f"`{probe}` differs in {'; '.join(rows[:MOST_ROWS])}{more}."
    write = repr if format_value(wanted.value) == format_value(came.value) else format_value
    asked, got = write(wanted.value), write(came.value)
    if part.open:
        should = "raise" if wanted.kind == "raised" else "give"
        return f"`{probe}` should {should} {asked}, and {describe_outcome(came, 'gave', got)}"
    if came.kind == "gave":
        return f"`{probe}` is {got}, and that is not right yet.{form(wanted, came)}"
    return f"`{probe}` {describe_outcome(came, 'is', got)}"


def different_rows(wanted: Any, came: Any, probe: str = "") -> list[str]:
    """What differs between two dictionaries with the same keys, or two lists of verdicts; empty for other values.

    A list of verdicts has two or more dictionaries, texts or truth values: numbers are drawn instead.
    """
    rows: Iterable[tuple[str, Any, Any]] = []
    match wanted, came:
        case dict(), dict() if wanted.keys() == came.keys():
            rows = [(f"`{key}`", wanted[key], came[key]) for key in wanted]
        case [_, _, *_], list() if all(isinstance(row, dict | str | bool) for row in wanted + came):
            rows = zip(row_names(probe, len(wanted)), wanted, came) if len(wanted) == len(came) else []
    found = []
    for name, a, b in rows:
        whole = f"{name}, which should be {format_value(a)} and is {format_value(b)}"
        found += [] if equal(a, b) else [f"{name}: {row}" for row in different_rows(a, b)] or [whole]
    return found


def row_names(probe: str, count: int) -> list[str]:
    """What each row of a list was tried with, by the source of the probe; "entry 2" where the source does not say."""
    match ast.parse(probe or "0", mode="eval").body:
        case ast.List(each) | ast.Tuple(each):
            names = [*map(ast.unparse, each)]
        case ast.ListComp(_, [ast.comprehension(target, ast.List(each) | ast.Tuple(each))]):
            names = [f"{ast.unparse(target)} = {ast.unparse(value)}" for value in each]
        case ast.ListComp(_, [ast.comprehension(target, ast.Name(values))]):
            names = [f"{ast.unparse(target)} = {values}[{i}]" for i in range(count)]
        case _:
            names = []
    return [f"`{name}`" for name in names] if len(names) == count else [f"entry {i + 1}" for i in range(count)]


def describe_outcome(came: Outcome, gave: str, got: str) -> str:
    """The outcome of a probe as the end of a sentence, with its likely cause; `gave` is the verb, "gave" or "is"."""
    match came.kind:
        case "gave":
            return f"{gave} {got}." + (" Is a `return` missing?" if came.value is None else "")
        case "odd":
            wanted = "where plain numbers, text or lists of them are expected"
            return f"{gave} an object, of type {came.value}, {wanted}."
        case "endless":
            return f"was stopped after {SECONDS:g} seconds of computing: it is too slow, or a loop in it never ends."
        case "stuck":
            return "is still running, and could not be stopped: restart the kernel, and look for an endless loop."
        case "died":
            return "ended the process it ran in: is there an exit(), or an infinite structure?"
        case "raised" if came.value.endswith("MemoryError"):
            return "needed more memory than a check has: does something grow without limit?"
    told = f" ({came.told})" if came.told else ""
    missing = " Something is None there: is a `return` missing?" if "'NoneType'" in came.told else ""
    return f"raised {came.value}{told}.{missing}"


def form(wanted: Outcome, came: Outcome) -> str:
    """What is wrong with the form of a value, such as text instead of a number; "" if the form is right."""
    if isinstance(came.value, str) and isinstance(wanted.value, int | float):
        kind = "True or False" if isinstance(wanted.value, bool) else "a number"
        return f" It is text, and {kind} is expected: no quotation marks."
    if isinstance(came.value, list) and len(came.value) == 1 and isinstance(wanted.value, int | float):
        return " It is a list of one number: give the number."
    if not (isinstance(came.value, str) and isinstance(wanted.value, str)):
        return ""
    if " " not in came.value and came.value != came.value.lower() and wanted.value == wanted.value.lower():
        return " Write it as the question does, in lower case."
    return ""


def format_value(value: Any) -> str:
    """Plain data as short text: floats to six digits, cut at 160 characters."""
    match value:
        case bool() | None | str():
            text = repr(value)
        case float():
            text = f"{value:.6g}"
        case list():
            text = f"[{', '.join(map(format_value, value))}]"
        case dict():
            text = f"{{{', '.join(f'{key!r}: {format_value(entry)}' for key, entry in value.items())}}}"
        case _:
            text = str(value)
    return text if len(text) <= 160 else f"{text[:150]} …"
