"""python -m benchmarks.grading: the submissions of tests/course/grading/cases on three graders, side by side.

Each runs in its own sandbox, made by bubblewrap; a grader that is not installed is left out, with the reason. Scores
hold anywhere; times are this machine's. With --class 300, ours alone on a class: killed halfway, resumed, rerun.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from minigrad.course.grading.batch import write
from minigrad.course.grading.sandbox import no_bubblewrap

from . import crowd, side_by_side, table
from .graders import GRADERS
from .suite import cases


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Grader → its figures, for installed ones; figures of an earlier run in --json are not measured again."""
    known = json.loads(options.json.read_text("utf-8")) if options.json and options.json.exists() else {}
    wanted = {name: each for name, each in cases().items() if options.only in name or options.only == each.family}
    right = cases()["as_it_should_be"].data
    found: dict[str, Any] = {}
    for name, grader in GRADERS.items():
        python = getattr(options, name, None) or sys.executable
        if options.graders and name not in options.graders.split(","):
            continue
        if why := grader.missing(python):
            print(f"{name} is left out: {why}", file=sys.stderr)
            continue
        mine = found[name] = known.get(name) or {"version": grader.version(python), "cases": {}, "pace": {}}

        def tell(case: str, figures: dict[str, Any], name: str = name, mine: dict[str, Any] = mine) -> None:
            print(f"{name:9} {case:45} {figures['score']!s:>5}  {figures['notes']}", file=sys.stderr, flush=True)
            mine["cases"][case] = figures
            if options.json:
                write(options.json, json.dumps({**known, **found}, indent=1))

        left = {case: each for case, each in wanted.items() if case not in mine["cases"]}
        side_by_side.suite(grader, python, left, right, options.workers, tell)
        mine["cases"] = {case: mine["cases"][case] for case in wanted}
        if options.students and "per minute" not in mine["pace"]:
            mine["pace"] = side_by_side.pace(grader, python, right, options.students)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.grading", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("--only", default="", help="a family of submissions, or a part of their names")
    parser.add_argument("--graders", default="", help="some of them, as in minigrad,otter")
    parser.add_argument("--nbgrader", help="the Python with nbgrader, if not this one")
    parser.add_argument("--otter", help="the Python with otter-grader, if not this one")
    parser.add_argument("--students", type=int, default=20, help="right submissions to measure the pace; 0 for none")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="worlds at once")
    parser.add_argument("--class", dest="crowd", type=int, default=0, help="measure ours on this many submissions")
    parser.add_argument("--out", type=Path, help="also write the tables here")
    parser.add_argument("--json", type=Path, help="keep the figures here, and continue from them")
    options = parser.parse_args()
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    if why := no_bubblewrap():
        raise SystemExit(f"submissions are hostile, and there is no sandbox for them: {why}")
    found = crowd.measured(options.crowd) if options.crowd else measure(options)
    text = crowd.told(found) if options.crowd else table.whole(found)
    print(text, end="")
    for path, written in ((options.out, text), (options.json, json.dumps(found, indent=1))):
        if path:
            write(path, written)


if __name__ == "__main__":
    main()
