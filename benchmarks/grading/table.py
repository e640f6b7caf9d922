"""The results: Markdown tables with a column for each grader."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .suite import FAMILIES

Found = dict[str, Any]


def whole(found: dict[str, Found]) -> str:
    """All tables.

    found    grader → {"version", "cases": {case → figures}, "pace": figures}
    """
    parts = [families(found), counts(found), differing(found), paces(found)]
    return "\n\n".join(filter(None, parts)) + "\n"


def markdown(head: Sequence[Any], rows: Sequence[Sequence[Any]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def titles(found: dict[str, Found]) -> list[str]:
    return [f"{name} {each['version']}".strip() for name, each in found.items()]


def families(found: dict[str, Found]) -> str:
    """Number of submissions of each family with the right score."""
    some = next(iter(found.values()))["cases"]
    rows = []
    for family, about in FAMILIES.items():
        names = [name for name, case in some.items() if case["family"] == family]
        if names:
            rights = [sum(each["cases"][name]["right"] for name in names) for each in found.values()]
            rows.append([f"{about} ({len(names)})", *rights])
    rights = [sum(case["right"] for case in each["cases"].values()) for each in found.values()]
    return markdown(["right score", *titles(found)], [*rows, [f"**all ({len(some)})**", *rights]])


COUNTED: dict[str, Callable[[Found], Any]] = {
    "has more points than it deserves": lambda case: case["forged"],
    "runs code in the grader's own process": lambda case: "ran in the grader's own process" in case["outside"],
    "writes, asks or lives on outside": lambda case: case["outside"],
    "0 in the table, though nothing was or could be graded": lambda case: case["silent"],
    "costs the next submission its points": lambda case: case["stopped"],
    "has no score when its time is up": lambda case: case["late"] and case["score"] is None,
}


def counts(found: dict[str, Found]) -> str:
    """Number of submissions that do something forbidden."""
    rows = []
    for words, is_so in COUNTED.items():
        cells: list[Any] = []
        for each in found.values():
            cases = each["cases"].values()
            unknown = is_so is COUNTED["costs the next submission its points"] and all(
                case["stopped"] is None for case in cases
            )
            cells.append("a process for each" if unknown else sum(bool(is_so(case)) for case in cases))
        rows.append([words, *cells])
    return markdown(["a submission that …", *titles(found)], rows)


def differing(found: dict[str, Found]) -> str:
    """Each submission that a grader gets wrong, or that escapes."""
    rows = []
    for name in next(iter(found.values()))["cases"]:
        mine = [each["cases"][name] for each in found.values()]
        if not all(case["right"] and not case["notes"] for case in mine):
            rows.append([name.replace("_", " "), *map(told, mine)])
    return markdown(["submission", *titles(found)], rows) if rows else ""


def told(case: Found) -> str:
    score = "no score" if case["score"] is None else f"{case['score']:g}"
    return f"{score if case['right'] else f'**{score}**'}{', ' + case['notes'] if case['notes'] else ''}"


def paces(found: dict[str, Found]) -> str:
    """The cost of right submissions."""
    measured = {name: each for name, each in found.items() if "per minute" in each.get("pace", {})}
    if not measured:
        return ""
    rows = [
        ["submissions per minute", *(f"{each['pace']['per minute']:.0f}" for each in measured.values())],
        ["CPU seconds for each", *(f"{each['pace']['cpu']:.2f}" for each in measured.values())],
        ["MB in memory, all processes, at most", *(f"{each['pace']['peak'] / 1e6:.0f}" for each in measured.values())],
    ]
    return markdown(["right submissions", *titles(measured)], rows)
