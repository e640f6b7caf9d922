"""Collect an exercise from the students' home folders, and put feedback pages into them.

    sudo python deploy/homes.py collect 01_scalar_engine submissions
    minigrad grade submissions --out results
    sudo python deploy/homes.py give results

A home belongs to its student, who may have put links into it. So what is read or written there, a process of the
student's reads or writes: a link leads it nowhere that the student could not go.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from minigrad.course.grading.batch import label
from minigrad.course.grading.submission import LARGEST

PATIENCE = 20  # seconds, for a file that is none: a pipe, say
WRITE = 'umask 077; mkdir -p "${1%/*}" && cat > "$1"'


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--homes", type=Path, default=Path("/home"), help="where the home folders are: /home")
    parser.add_argument("--course", default="course", help="the course's folder in each: course")
    verbs = parser.add_subparsers(dest="verb", required=True)
    collected = verbs.add_parser("collect", help="from homes to submissions/STUDENT/")
    collected.add_argument("exercise")
    collected.add_argument("submissions", type=Path)
    verbs.add_parser("give", help="from results/feedback/ to homes").add_argument("results", type=Path)
    told = parser.parse_args()
    homes = {home.name: home for home in sorted(told.homes.iterdir()) if home.is_dir() and not home.is_symlink()}
    if told.verb == "collect":
        done = collect(homes, f"{told.course}/exercises/{told.exercise}.ipynb", told.submissions)
    else:
        done = give(homes, f"{told.course}/feedback", told.results)
    without = sorted(set(homes) - set(done))
    print(f"{told.verb}: {len(done)} of {len(homes)} homes" + (f"; not {', '.join(without)}" if without else ""))
    return 0 if done else 1


def collect(homes: dict[str, Path], name: str, submissions: Path) -> list[str]:
    """Copy a file of each home to a folder that is named after the student; who had one."""
    found = []
    for student, home in homes.items():
        data = as_owner(home, ["head", "-c", str(LARGEST + 1), "--", name])
        if data:
            path = submissions / student / Path(name).name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            found.append(student)
    return found


def give(homes: dict[str, Path], folder: str, results: Path) -> list[str]:
    """Write each student's pages into a folder of the home; who got one."""
    given = []
    for result in json.loads((results / "results.json").read_text("utf-8")):
        home = homes.get(result["student"])
        name = f"{folder}/{result['exercise'] or 'unreadable'}.html"
        page = (results / "feedback" / f"{label(result)}.html").read_bytes()
        if home and as_owner(home, ["sh", "-c", WRITE, "write", name], page) is not None:
            given.append(result["student"])
    return given


def as_owner(home: Path, command: list[str], data: bytes = b"") -> bytes | None:
    """What a command says that the owner of a home runs in it; None if it failed."""
    owner = home.stat()
    rights = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []} if os.geteuid() == 0 else {}
    try:
        ended = subprocess.run(
            command, input=data, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=home, timeout=PATIENCE,
            env={"PATH": os.defpath}, start_new_session=True, check=True, **rights,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return ended.stdout


if __name__ == "__main__":
    sys.exit(main())
