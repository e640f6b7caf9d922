"""Pages that are Markdown already, and the first page, which lists all pages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from book import glossary, play
from minigrad.course.lessons import ROAD_SIGN, is_on_road

ROOT = Path(__file__).resolve().parents[3]
LESSONS = sorted((ROOT / "lessons").glob("*.ipynb"))
BESIDE = ["lessons/README", glossary.HOME, "lessons/CHEATSHEET", "lessons/COMPARISON"]
TEACHING = ["docs/instructors", "docs/classroom", "docs/grading", "docs/security", "docs/publishing"]
MORE = ["docs/your_own_graphs", "docs/differences", "docs/elsewhere", "docs/saved_graphs", "docs/serving"]
PARTS = {  # the number of the first lesson of each
    "Dynamic graphs": 0, "Static graphs": 9, "Made better": 13, "What it costs": 16, "Many workers": 22,
    "Out of Python": 24, (LAST := "To look things up"): 90,
}  # fmt: skip
PICTURE = re.compile(r"!\[[^\]]*\]\((\w+\.svg)\)")
BOX = re.compile(r'<g [^>]*data-id="(\d\d_\w+)".*?</g>', re.DOTALL)


def pages(widget: str) -> dict[str, str]:
    """Name of a page → its Markdown. The first page has a playground and a widget."""
    made = {name: (ROOT / f"{name}.md").read_text("utf-8") for name in [*BESIDE, *TEACHING, *MORE]}
    made[glossary.HOME] = glossary.page()
    made["lessons/README"] = PICTURE.sub(lambda one: course_map(one[1]), made["lessons/README"])
    parts = {part: [path for path in LESSONS if part == part_of(path)] for part in PARTS}
    shown = [
        tree(f"{part}, {hours(paths):.1f} hours", map(entry, paths), ":maxdepth: 1")
        for part, paths in parts.items()
        if part != LAST
    ]
    hidden = {LAST: [*(f"lessons/{path.stem}" for path in parts[LAST]), *BESIDE]}
    hidden |= {
        "The engine": ["minigrad/engine/README", "minigrad/README", "api/index"],
        "To teach": TEACHING,
        "More": MORE,
    }
    index = (Path(__file__).with_name("text") / "index.md").read_text("utf-8")
    on_road = f"{hours([path for path in LESSONS if is_on_road(path.stem)]):.1f}"
    return made | {
        "index": index.replace("PLAY", play.of_first_page())
        .replace("WIDGET", widget)
        .replace("LESSONS", "".join(shown))
        .replace("ROAD", on_road)
        + "".join(tree(caption, names) for caption, names in hidden.items())
    }


def part_of(lesson: Path) -> str:
    return [part for part, first in PARTS.items() if int(lesson.stem[:2]) >= first][-1]


def entry(lesson: Path) -> str:
    """A lesson in the list of pages, marked if it is on the road."""
    page = f"lessons/{lesson.stem}"
    title = f"{lesson.stem[:2]} {facts(lesson)['title']} ({ROAD_SIGN})"
    return f"{title} <{page}>" if is_on_road(lesson.stem) else page


def facts(lesson: Path) -> dict[str, Any]:
    """The header of a lesson."""
    header: dict[str, Any] = json.loads(lesson.read_text("utf-8"))["metadata"]["minigrad"]
    return header


def hours(lessons: list[Path]) -> float:
    return sum(facts(path)["minutes"] for path in lessons) / 60


def tree(caption: str, names: Iterable[str], option: str = ":hidden:") -> str:
    return f"```{{toctree}}\n:caption: {caption}\n{option}\n\n{chr(10).join(names)}\n```\n\n"


def course_map(name: str) -> str:
    """The picture of the lessons, with each as a link."""
    svg = (ROOT / "lessons" / name).read_text("utf-8").replace('role="img"', 'role="group"')
    return f'<div class="scrolls">{BOX.sub(lambda box: f"""<a href="{box[1]}.html">{box[0]}</a>""", svg)}</div>'
