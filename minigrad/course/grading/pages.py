"""HTML pages: feedback for each student, and a report on the class for the teacher.

Each page is one file, from a template in templates/, that opens without a network. It escapes all submitted text.
"""

from __future__ import annotations

import builtins
import io
import keyword
import re
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from itertools import chain, combinations, islice
from pathlib import Path
from statistics import StatisticsError, correlation, median_high
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from .batch import Result, label
from .letters import cut
from .tables import score

FEWEST = 4  # scores of an exercise before statistics are shown: three say nothing about a class
STATES = {
    "pass": "right", "fail": "not right yet", "todo": "not done", "died": "ended its process",
    "wait": "waits for a person", "read": "read",
}  # fmt: skip
RUN = 8  # tokens
SHORTEST = 60  # tokens; shorter answers are all alike
LONGEST = 20_000  # tokens; no real answer is longer
ALIKE = 0.85  # answers are similar from this ratio of the runs in both to the runs in either
KNOWN = {*keyword.kwlist, *dir(builtins)}
SPACE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@cache
def template(name: str) -> Template:
    loader = FileSystemLoader(Path(__file__).with_name("templates"))
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    made.filters |= {"prose": prose, "columns_of_numbers": columns_of_numbers}
    return made.get_template(name)


def prose(text: str) -> Markup:
    """A sentence with the text between backticks as code."""
    return Markup(re.sub(r"`([^`\n]+)`", r"<code>\1</code>", escape(text)))


def columns_of_numbers(rows: Sequence[Sequence[Any]]) -> list[bool]:
    return [any(isinstance(cell, int | float) for cell in column) for column in zip(*rows)]


def feedback(result: Result, title: str) -> str:
    """The page for a student: the result of a submission."""
    parts = [(name, STATES[part["state"]], "–" if part["state"] == "wait" else part["points"], part["of"])
             for name, part in result["parts"].items()]  # fmt: skip
    title = f"{title}: {result['name'] or result['student']}"
    return template("feedback.html").render(title=title, result=result, parts=parts, states=STATES)


def class_report(
    results: Sequence[Result], sources: dict[str, str], missing: Sequence[str] = (), room: Sequence[Sequence[str]] = ()
) -> str:
    """The page for the teacher: the results of a class.

    sources    path of a submission → the code of its answers, to group similar ones
    missing    the limits that were not enforced
    room       the table of an audience's answers in a lecture, its heading first
    """
    look = [(cut(r["student"], 80), cut(r["name"], 80), r["exercise"] or r["file"], r["status"],
             prose(cut(" ".join(r["notes"]), 300))) for r in results if r["status"] != "graded"]  # fmt: skip
    names = sorted({r["exercise"] for r in results if r["exercise"]})
    exercises = [report(name, [r for r in results if r["exercise"] == name], sources) for name in names]
    students = [row(r) for r in sorted(results, key=lambda r: (r["student"], r["exercise"], r["file"]))]
    count = Counter(r["status"] for r in results)
    found = {"count": count, "look": look, "students": students, "missing": missing, "exercises": exercises}
    return template("class.html").render(found, room=room, title="The class")


def row(result: Result) -> tuple[Any, ...]:
    """The row of a submission in the list of students, with a link to its page."""
    page = Markup('<a href="feedback/{}.html">{}</a>').format(label(result), cut(result["student"], 80))
    points, of = ("–", "–") if score(result) is None else (result["points"], result["of"])
    return page, cut(result["name"], 80), result["exercise"] or result["file"], points, of, result["status"]


def report(name: str, results: Sequence[Result], sources: dict[str, str]) -> dict[str, Any]:
    """The statistics of an exercise: points, waiting submissions, parts, misconceptions, times, similar answers."""
    points = [score(r) for r in results]
    count = Counter(int(n) for n in points if n is not None)
    shown = Counter((part, facts["shows"]) for r in results for part, facts in r["parts"].items() if facts["shows"])
    known = {r["student"]: sources[r["where"]] for r in results if r["where"] in sources}
    return {
        "name": name,
        "few": count.total() < FEWEST,
        "points": [(n, count[n]) for n in range(max(r["of"] for r in results) + 1)],
        "waiting": points.count(None),
        "parts": [difficulty(results, p) for p in dict.fromkeys(chain.from_iterable(r["parts"] for r in results))],
        "misconceptions": [(part, prose(shows), n) for (part, shows), n in shown.most_common()],
        "times": times([r["minutes"] for r in results if r.get("minutes")], len(results)),
        "similar": [(", ".join(sorted(group)), f"{share:.0%}") for group, share in groups(known)],
    }


def difficulty(results: Sequence[Result], part: str) -> tuple[str, str, int, str]:
    """A part's share of right answers, the number not done, and how well it separates strong from weak students."""
    graded = [r for r in results if part in r["parts"] and r["parts"][part]["state"] != "wait"]
    mine = [r["parts"][part] for r in graded]
    right = [each["state"] == "pass" or each["points"] == each["of"] for each in mine]
    share = f"{sum(right) / len(right):.0%}" if right else "–"
    return part, share, sum(each["state"] == "todo" for each in mine), discrimination(graded, part, right)


def discrimination(results: Sequence[Result], part: str, right: Sequence[bool]) -> str:
    """The correlation between a right part and the points for all other parts; "–" if it is undefined."""
    rest = [r["points"] - r["parts"][part]["points"] for r in results]
    try:
        return f"{correlation(rest, right):.2f}"
    except StatisticsError:
        return "–"


def times(minutes: Sequence[float], of: int) -> str:
    """The minutes between the first and last run of a cell, without pauses, for notebooks that record these times."""
    if not minutes:
        return "Time spent: unknown. No notebook records when its cells were run."
    told = f"{min(minutes):.0f} to {max(minutes):.0f} minutes, median {median_high(minutes):.0f}"
    unknown = f"; {of - len(minutes)} do not" if of > len(minutes) else ""
    return f"Time spent, in {len(minutes)} notebooks that record it: {told}{unknown}."


# -- answers that are nearly equal, even if their names differ ---------------------------------------


def groups(sources: dict[str, str]) -> list[tuple[set[str], float]]:
    """Groups of similar answers, the largest first: (their keys, a member's least similarity to its nearest member).

    An answer is split into tokens. All names except builtins become the same word. Its fingerprint is the set of its
    runs of RUN tokens (Schleimer, Wilkerson, Aiken, "Winnowing: local algorithms for document fingerprinting", 2003,
    without the winnowing: exercises are short). The similarity of two answers is the share of runs that both have.
    """
    prints = {who: runs for who, source in sources.items() if (runs := fingerprint(source))}
    group = {who: frozenset([who]) for who in prints}
    nearest: dict[str, float] = {}
    for a, b in combinations(prints, 2):
        both = len(prints[a] & prints[b])
        share = both / (len(prints[a]) + len(prints[b]) - both)
        if share >= ALIKE:
            nearest |= {who: max(share, nearest.get(who, 0)) for who in (a, b)}
            if group[a] is not group[b]:
                group |= dict.fromkeys(union := group[a] | group[b], union)
    found = [({*each}, min(nearest[who] for who in each)) for each in dict.fromkeys(group.values()) if len(each) > 1]
    return sorted(found, key=lambda each: (-len(each[0]), -each[1]))


def fingerprint(source: str) -> set[int]:
    """The hashes of the token runs in an answer; empty if it is short or not Python."""
    try:
        words = list(islice(tokens(source.encode("utf-8", "backslashreplace").decode()), LONGEST))
    except Exception:  # Python versions raise different exceptions for invalid source
        return set()
    return {hash(tuple(words[i : i + RUN])) for i in range(len(words) - RUN + 1)} if len(words) >= SHORTEST else set()


def tokens(source: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in SPACE:
            yield "name" if token.type == tokenize.NAME and token.string not in KNOWN else token.string
