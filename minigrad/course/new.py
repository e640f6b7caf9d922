"""Write a new exercise from a template: a source that builds, with an example of every kind of cell and instructions.

scripts/notebooks/exercise.py, which makes the notebooks, explains the cells. This is for authors, in a checkout of the
course.
"""

from __future__ import annotations

import re
from pathlib import Path

from minigrad.course import CourseError
from minigrad.course.exercise import all_exercises
from minigrad.course.lessons import checkout, write

NAME = re.compile(r"\d\d_[a-z][a-z0-9]*(_[a-z0-9]+)*")
LONGEST = 40
TEMPLATE = Path(__file__).with_name("new_exercise.txt")


def exercise(name: str, root: Path | None = None) -> Path:
    """Write the source of a new exercise. Returns its path. If it raises CourseError, nothing was written.

    root    the checkout; by default the one that this package runs from
    """
    root = root or checkout()
    if root is None:
        raise CourseError("exercises are written in a checkout of the course, but this is an installed copy: clone it")
    if not NAME.fullmatch(name) or len(name) > LONGEST:
        rule = "use the two digits of its lesson, then words in lower case, as in 04_convolution"
        raise CourseError(f"{name!r} is not a valid exercise name: {rule}; {LONGEST} characters at most")
    path = root / "solutions" / "source" / f"{name}.py"
    if path.exists():
        raise CourseError(f"{path} already exists and was left as it is: choose another name")
    number, _, function = name.partition("_")
    taken = {part.name for each in all_exercises() for part in each.parts} & {f"{function}_slopes", f"{function}_count"}
    if taken:
        raise CourseError(f"the course already has a part named {taken.pop()!r}: choose another name")
    text, title = TEMPLATE.read_text("utf-8"), function.replace("_", " ").capitalize()
    for mark, word in (("NUMBER", number), ("TITLE", title), ("NAME", function), ("LESSON", lesson(number, root))):
        text = text.replace(mark, word)
    try:
        write(path, text.encode())
    except OSError as error:
        raise CourseError(f"cannot write {path} ({error.strerror})") from error
    return path


def lesson(number: str, root: Path) -> str:
    """The name of the lesson with this number. Raises CourseError if there is none."""
    sources = sorted((root / "lessons" / "source").glob("*.py"))
    found = [path.stem for path in sources if path.stem.startswith(number)]
    if not found:
        raise CourseError(f"no lesson has the number {number}: there are {', '.join(path.stem for path in sources)}")
    return found[0]


def what_next(path: Path) -> str:
    return f"""\
{path} is a complete exercise of two small parts: read it from top to bottom, and replace it with yours.
  1. Fill in the header: title, minutes, the ids of the concepts.
  2. Write each part: the task, the answer, the probes, the hints, what it shows; and the wrong answers that you have
     seen.
  3. Run `python3 start.py python scripts/build`: it makes the notebooks, and reports answers that the probes cannot
     distinguish. The start page changes too, because it lists all exercises.
  4. Run `python3 start.py test tests/course/test_exercises.py -k {path.stem}`.
  5. Solve it as a learner would: `python3 start.py`, and exercises/{path.stem}.ipynb."""
