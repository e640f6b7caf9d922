"""Pages for people: to each student what came of their work, and to the teacher what came of the class.

Each is one file that opens without a network. What a student handed in stands in it as text, and as nothing else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from .alike import groups
from .charts import bars
from .letters import cut
from .tables import score

Result = dict[str, Any]
STATES = {
    "pass": "right", "fail": "not right yet", "todo": "not done", "died": "ended its process",
    "wait": "waits for a person", "read": "read",
}  # fmt: skip
STATUS = {
    "graded": "Every part was looked at.",
    "crashed": "Something ended its process or had to be stopped; the rest was graded.",
    "waits": "What is prose waits for a person: these are the points without it.",
    "failed": "Nothing could be looked at: please ask. This is not a 0.",
    "unreadable": "The file could not be read: please hand it in again. This is not a 0.",
}
STYLE = """
:root { color-scheme: light dark; background: Canvas; color: CanvasText; }
body { margin: 24px auto; padding: 0 16px; max-width: 880px; font: 16px/1.5 system-ui, "Segoe UI", Arial, sans-serif; }
h1 { font-size: 24px; } h2 { font-size: 19px; margin-top: 32px; } h3 { font-size: 16px; margin: 20px 0 4px; }
table { border-collapse: collapse; width: 100%; } caption { text-align: left; padding: 4px 0; }
th, td { text-align: left; padding: 4px 12px 4px 0; border-bottom: 1px solid #8888; vertical-align: top; }
td { min-width: 6em; } td.number { min-width: 0; } td.number, th.number { text-align: right; }
h1, h2, h3, p, li, td { overflow-wrap: anywhere; } .scroll { overflow-x: auto; margin: 16px 0; }
.says { white-space: pre-wrap; }
.hint { border-left: 4px solid #0072b2; padding-left: 12px; }
"""


def page(title: str, body: str) -> str:
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
{body}
</main>
</body>
</html>
"""


def rows(head: Sequence[str], body: Iterable[Sequence[Any]], caption: str = "") -> str:
    """A table; numbers stand to the right."""
    body = list(body)
    right = [any(isinstance(cell, int | float) for cell in column) for column in zip(*body)]
    lines = "".join(f"<tr>{cells('td', row, right)}</tr>" for row in body)
    about = f"<caption>{escape(caption)}</caption>" if caption else ""
    table = f"{about}<thead><tr>{cells('th', head, right)}</tr></thead><tbody>{lines}</tbody>"
    return f'<div class="scroll" tabindex="0"><table>{table}</table></div>'


def cells(tag: str, row: Sequence[Any], right: Sequence[bool]) -> str:
    kinds = (" class=number" if number else "" for number in (*right, *[False] * len(row)))
    return "".join(f"<{tag}{kind}>{escape(str(cell))}</{tag}>" for kind, cell in zip(kinds, row))


def prose(text: str) -> str:
    """A sentence, in which what stands between backticks is code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", escape(text))


# -- for a student ------------------------------------------------------------------------------------


def feedback(result: Result, title: str) -> str:
    """What came of a submission."""
    parts = result["parts"]
    is_graded = result["status"] not in ("failed", "unreadable")
    score = f"<p><strong>{result['points']} of {result['of']} points.</strong> " if is_graded else "<p>"
    body = [f"{score}{escape(STATUS[result['status']])}</p>"]
    if parts:
        each = [(name, STATES[part["state"]], "–" if part["state"] == "wait" else part["points"], part["of"])
                for name, part in parts.items()]  # fmt: skip
        body.append(rows(("part", "came out", "points", "of"), each))
    for name, part in parts.items():
        body.append(about_part(name, part))
    if result["notes"]:
        body.append(f"<h2>{'While your notebook ran' if is_graded else 'Why'}</h2><ul>")
        body += [f'<li class="says">{escape(note)}</li>' for note in result["notes"]]
        body.append("</ul>")
    return page(f"{title}: {result['name'] or result['student']}", "\n".join(body))


def about_part(name: str, part: Result) -> str:
    if part["state"] == "pass":
        return ""
    says = "".join(f'<p class="says">{prose(sentence)}</p>' for sentence in part["says"])
    hint = f'<p class="hint">{prose(part["hint"])}</p>' if part["hint"] else ""
    return f"<h3>{escape(name)}: {STATES[part['state']]}</h3>{says}{hint}" if says or hint else ""


# -- for a teacher ------------------------------------------------------------------------------------


def class_report(results: Sequence[Result], sources: dict[str, str], missing: Sequence[str] = ()) -> str:
    """What came of a class.

    sources    file of a submission → the code of its answers, for groups of similar ones
    missing    what was not enforced while they ran
    """
    body = [summary(results), *(f"<p>Not enforced while they ran: {escape(what)}.</p>" for what in missing)]
    for exercise in sorted({r["exercise"] for r in results if r["exercise"]}):
        mine = [r for r in results if r["exercise"] == exercise]
        body += [f"<h2>{escape(exercise)}</h2>", scores(mine), difficulty(mine), misconceptions(mine), times(mine)]
        body.append(similar(mine, sources))
    return page("The class", "\n".join(filter(None, body)))


def summary(results: Sequence[Result]) -> str:
    count = Counter(r["status"] for r in results)
    look = [(*(cut(r[key], 80) for key in ("student", "name")), r["exercise"] or r["file"], r["status"],
             cut(" ".join(r["notes"]), 300)) for r in results if r["status"] != "graded"]  # fmt: skip
    text = f"<p>{len(results)} submissions: {', '.join(f'{n} {status}' for status, n in count.most_common())}.</p>"
    return text + (rows(("student", "name", "exercise", "status", "why"), look, "To be looked at") if look else "")


def scores(results: Sequence[Result]) -> str:
    """How many have how many points, whole points counted; and how many have none, for they wait for a person."""
    points = [score(r) for r in results]
    count = Counter(int(n) for n in points if n != "")
    most = max((r["of"] for r in results), default=0)
    waiting = f"<p>Without a score yet: {points.count('')}.</p>" if "" in points else ""
    return bars("Points", "submissions with so many points", [(str(n), count[n]) for n in range(most + 1)]) + waiting


def difficulty(results: Sequence[Result]) -> str:
    """How many got each part, of those in which it was looked at; and how well it tells strong ones from weak ones."""
    lines = []
    for part in dict.fromkeys(part for r in results for part in r["parts"]):
        graded = [r for r in results if part in r["parts"] and r["parts"][part]["state"] != "wait"]
        mine = [r["parts"][part] for r in graded]
        right = [each["state"] == "pass" or each["points"] == each["of"] for each in mine]
        todo = sum(each["state"] == "todo" for each in mine)
        share = f"{sum(right) / len(right):.0%}" if right else "–"
        lines.append((part, share, todo, discrimination(graded, part, right)))
    caption = "Parts: how many got them, and how far those who did are ahead in the rest (−1 to 1)"
    return rows(("part", "right", "not done", "tells apart"), lines, caption)


def discrimination(results: Sequence[Result], part: str, right: Sequence[bool]) -> str:
    """The correlation between getting a part and the points for all others; "–" where all are alike."""
    rest = [r["points"] - r["parts"][part]["points"] for r in results]
    n = max(1, len(rest))
    mean, share = sum(rest) / n, sum(right) / n
    spread = (sum((x - mean) ** 2 for x in rest) * n * share * (1 - share)) ** 0.5
    if not spread:
        return "–"
    return f"{sum((x - mean) * (got - share) for x, got in zip(rest, right)) / spread:.2f}"


def misconceptions(results: Sequence[Result]) -> str:
    """Which known-wrong answers came how often."""
    shown = Counter((name, part["shows"]) for r in results for name, part in r["parts"].items() if part["shows"])
    if not shown:
        return ""
    lines = [(part, shows, n) for (part, shows), n in shown.most_common()]
    return rows(("part", "what the answer shows", "how often"), lines, "Misconceptions")


def times(results: Sequence[Result]) -> str:
    """Minutes between the first and the last run of a cell, pauses left out, where the notebooks tell."""
    minutes = sorted(r["minutes"] for r in results if r.get("minutes"))
    if not minutes:
        return "<p>Time spent: unknown. No notebook tells when its cells were run.</p>"
    middle, n, unknown = minutes[len(minutes) // 2], len(minutes), len(results) - len(minutes)
    return (
        f"<p>Time spent, of {n} who tell: {minutes[0]:.0f} to {minutes[-1]:.0f} minutes, half below {middle:.0f}"
        f"{f'; of {unknown}: unknown' if unknown else ''}.</p>"
    )


def similar(results: Sequence[Result], sources: dict[str, str]) -> str:
    """Groups of submissions whose answers are nearly the same, names aside."""
    known = {r["student"]: sources[r["where"]] for r in results if r["where"] in sources}
    lines = [(", ".join(sorted(group)), f"{share:.0%}") for group, share in groups(known)]
    if not lines:
        return ""
    caption = "Similar answers, names and remarks aside: a reason to look, and no proof"
    return rows(("students", "at least alike"), lines, caption)
