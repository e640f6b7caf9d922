"""Write a new exercise from a template: a source that builds, with an example of every kind of cell and instructions.

scripts/notebooks/exercise.py, which makes the notebooks, explains the cells. This is for authors, in a checkout of the
course.
"""

from __future__ import annotations

import re
from pathlib import Path

from minigrad.course.errors import CourseError
from minigrad.course.exercise import all_exercises
from minigrad.course.lessons import checkout, write

NAME = re.compile(r"\d\d_[a-z][a-z0-9]*(_[a-z0-9]+)*")
LONGEST = 40


def exercise(name: str, root: Path | None = None) -> Path:
    """Write the source of a new exercise. Returns its path. If it raises CourseError, nothing was written.

    root    the checkout; by default the one that this package runs from
    """
    root = root or checkout()
    if root is None:
        raise CourseError("exercises are written in a checkout of the course, but this is an installed copy: clone it")
    if not NAME.fullmatch(name) or len(name) > LONGEST:
        raise CourseError(
            f"{name!r} is not a valid exercise name: use the two digits of its lesson, then words in lower case, "
            f"as in 04_convolution; {LONGEST} characters at most"
        )
    path = root / "solutions" / "source" / f"{name}.py"
    if path.exists():
        raise CourseError(f"{path} already exists and was left as it is: choose another name")
    function = name.partition("_")[2]
    taken = {part.name for each in all_exercises() for part in each.parts} & {f"{function}_slopes", f"{function}_count"}
    if taken:
        raise CourseError(f"the course already has a part named {taken.pop()!r}: choose another name")
    text = fill_template(name, lesson(name[:2], root))
    try:
        write(path, text.encode())
    except OSError as error:
        raise CourseError(f"cannot write {path} ({error.strerror})") from error
    return path


def fill_template(name: str, lesson_name: str) -> str:
    """The source of an exercise of this name."""
    number, _, function = name.partition("_")
    text = TEMPLATE.replace("NUMBER", number).replace("TITLE", function.replace("_", " ").capitalize())
    return text.replace("NAME", function).replace("LESSON", lesson_name)


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


TEMPLATE = """\
# ---
# jupyter:
#   minigrad:
#     title: TITLE
#     minutes: 15
#     lesson: LESSON
#     concepts: [A5]
# ---

# %% [markdown]
# # NUMBER TITLE
#
# What you do here, and what you can do afterwards: two sentences. About 15 minutes, 10 points, in two parts.
#
# Write where it says *Your code here*, or in place of the dots. Run that cell, then the `check` cell below it. `check`
# says what came out, what is wrong with it, and where to look next. Check as often as you like. After some different
# attempts `solution` shows a way.

# %%
from minigrad.course import check, solution

# %% [markdown]
# ## 1. A function to write
#
# **6 points, 10 minutes.** The Markdown before an answer is its task. It states the input, the result, and in which
# form: `NAME_slopes(xs)` is the list of the slopes of x³ at the numbers `xs`.


# %% answer="NAME_slopes" points=6 minutes=10
def NAME_slopes(xs):
    ### BEGIN SOLUTION
    return [3 * x**2 for x in xs]
    ### END SOLUTION


# %%
check("NAME_slopes")

# %% probes="NAME_slopes"
# Hint: Shown when this probe, or a probe below it, is the first that fails. Name the mistake that it finds.
NAME_slopes([2.0])
# Hint: At −2 the slope of x³ is 12: the sign of x matters to x³, but not to its slope.
NAME_slopes([-2.0, -1.0, 0.0, 1.0, 2.0])
NAME_slopes([])

# %% [markdown] hints="NAME_slopes"
# 1. A nudge: where to look, but not what is there.
# 2. The rule: the slope of xⁿ is n · xⁿ⁻¹.
# 3. Nearly all of it: `[3 * x**2 for x in xs]`.

# %% [markdown] shows="NAME_slopes"
# What the right answer shows, in one sentence that applies elsewhere: learners see it when they pass.


# %% wrong="NAME_slopes"
# Shows: The exponent became a factor, but was not lowered.
# Hint: Lower the exponent by one: x³ becomes x².
def NAME_slopes(xs):
    return [3 * x**3 for x in xs]


# %% wrong="NAME_slopes"
# Shows: The exponent was lowered, but did not become a factor.
# Hint: x² is the shape. At x = 1 a nudge of x moves x³ by three nudges.
def NAME_slopes(xs):
    return [x**2 for x in xs]


# %% wrong="NAME_slopes"
# Shows: These are the values of x³, not its slopes.
# Hint: A slope says how much x³ moves for a small nudge of x.
def NAME_slopes(xs):
    return [x**3 for x in xs]


# %% [markdown]
# ## 2. A number to find
#
# **4 points, 5 minutes.** Where the answer is a number and not a function, the expected value is not shown. At how
# many numbers is the slope of x³ equal to 3? Call it `NAME_count`.

# %% answer="NAME_count" points=4 minutes=5
### BEGIN SOLUTION
NAME_count = 2
### END SOLUTION

# %%
check("NAME_count")

# %% probes="NAME_count"
# Hint: Put your numbers into 3x² = 3, and count those that fit.
NAME_count

# %% [markdown] hints="NAME_count"
# 1. Write down the equation.
# 2. 3x² = 3. Which numbers have the square 1?

# %% [markdown] shows="NAME_count"
# A square has two roots, so a curve may have the same slope in two places.

# %% wrong="NAME_count"
# Shows: The negative number is missing.
# Hint: Which numbers have the square 1?
NAME_count = 1

# %% wrong="NAME_count"
# Shows: Three is the slope that was asked about.
# Hint: Count the numbers x at which the slope is 3.
NAME_count = 3

# %% wrong="NAME_count"
# Shows: The equation x² = 1 does have solutions.
# Hint: Try x = 1: what is the slope there?
NAME_count = 0

# %% [markdown]
# ## What you have now
#
# What was learned, in one sentence that applies elsewhere.
#
# **Next**: [LESSON](../lessons/LESSON.ipynb).
"""
