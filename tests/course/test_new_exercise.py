"""`minigrad new exercise` begins one that is whole: it builds, and it passes what every exercise must."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from minigrad.course import CourseError, new
from minigrad.course.exercise import part_of, verdict
from tests.support.root import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

from notebooks import exercise as making
from notebooks.source import BuildError, notebook, text_of


@pytest.fixture
def root(tmp_path):
    """A checkout, as far as authors of exercises need one."""
    (tmp_path / "lessons" / "source").mkdir(parents=True)
    (tmp_path / "lessons" / "source" / "02_chain_rule_backwards.py").touch()
    return tmp_path


def test_what_is_begun_builds_and_is_judged_as_an_exercise_is(root):
    import json

    path = new.exercise("02_slopes_again", root)
    nb = notebook(path)

    facts = json.loads(making.answers(nb, path.stem, making.outcomes))
    made = text_of(making.exercise(making.solution(nb, path.stem)))

    parts = {name: part_of(name, said) for name, said in facts["parts"].items()}
    assert {name: (part.points, part.minutes, part.open) for name, part in parts.items()} == {
        "slopes_again_slopes": (6, 10, True), "slopes_again_count": (4, 5, False)
    }  # fmt: skip
    for part in parts.values():
        assert verdict(part, list(part.expected)).state == "pass"
        for wrong in part.wrong:
            assert verdict(part, list(wrong.outcomes)).wrong == wrong
        assert part.solution not in made
    assert nb.metadata.minigrad["lesson"] == "02_chain_rule_backwards"
    assert "NAME" not in made
    said = new.what_next(path)
    assert "`python3 start.py python scripts/build`" in said  # with the tests' Python: the learner's has no jupytext
    assert "`python3 start.py test tests/course/test_exercises.py -k 02_slopes_again`" in said


def test_what_is_begun_is_laid_out_as_it_should_be(root):
    text = new.exercise("02_slopes", root).read_text("utf-8")
    called = ["--stdin-filename", ROOT / "solutions" / "source" / "02_slopes.py", "-"]

    for command in (["check"], ["format", "--check"]):
        ran = subprocess.run(
            [sys.executable, "-m", "ruff", *command, *called], input=text, cwd=ROOT, encoding="utf-8",
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize(
    "name",
    ["", "slopes", "2_slopes", "02_Slopes", "02-slopes", "02_", "02_a__b", "02_a_", "../02_a", "02_a.py", "02_é",
     "02_" + "a" * 60, "02_a\n"],
)  # fmt: skip
def test_a_name_that_is_none_is_refused_and_nothing_is_written(root, name):
    with pytest.raises(CourseError, match="is not a valid exercise name"):
        new.exercise(name, root)

    assert not (root / "solutions").exists()


def test_an_exercise_that_is_there_is_left_as_it_is(root):
    path = new.exercise("02_slopes", root)
    path.write_text("mine", "utf-8")

    with pytest.raises(CourseError, match="left as it is"):
        new.exercise("02_slopes", root)

    assert path.read_text("utf-8") == "mine"


def test_a_lesson_that_is_not_there_is_named_with_those_that_are(root):
    with pytest.raises(CourseError, match="no lesson has the number 09: there are 02_chain_rule_backwards"):
        new.exercise("09_slopes", root)


def test_an_installed_copy_says_that_it_has_no_place_for_authors(monkeypatch):
    monkeypatch.setattr(new, "checkout", lambda: None)

    with pytest.raises(CourseError, match="installed copy"):
        new.exercise("02_slopes")


def test_the_command_begins_one_and_says_what_is_next(checkout):
    shutil.copytree(ROOT / "lessons" / "source", checkout.root / "lessons" / "source")

    said = checkout.minigrad("new", "exercise", "02_slopes").stdout

    assert (checkout.root / "solutions" / "source" / "02_slopes.py").is_file()
    assert "solutions/source/02_slopes.py is a complete exercise".replace("/", str(Path("/"))) in said
    assert "already" in checkout.refused("new", "exercise", "02_slopes")


# -- what the build refuses -----------------------------------------------------------------------


@pytest.mark.parametrize(("old", "instead", "says"), [
    (" points=6", "", "points=None"), (" minutes=10", "", "minutes=None"), ("minutes=10", "minutes=0", "minutes=0"),
    ("minutes=10", 'minutes="ten"', "minutes='ten'"), ("points=6", "points=2.5", "points=2.5"),
    ("minutes=10", "minutes=30", "take 35 minutes, but the header says 15"),
])  # fmt: skip
def test_a_part_without_points_or_minutes_is_refused(root, old, instead, says):
    path = new.exercise("02_slopes", root)
    path.write_text(path.read_text("utf-8").replace(old, instead, 1), "utf-8")

    with pytest.raises(BuildError, match=says):
        making.answers(notebook(path), path.stem, making.outcomes)


PROBE = "slopes_slopes([2.0])\n"


@pytest.mark.parametrize(("old", "instead", "says"), [
    ("    ### BEGIN SOLUTION\n", "", "BEGIN SOLUTION"),
    (PROBE, "import random\nslopes_slopes([random.random()])\n", "and in a second run"),
    (PROBE, "import time\ntime.time()\n", "and in a second run"),
    (PROBE, "slops([2.0])\n", r"`slops\(\[2.0\]\)` raises NameError: name 'slops' is not defined"),
    (PROBE, "lambda: 3\n", "`lambda: 3` gives no plain data: odd function"),
    (PROBE, "slopes_slopes([2.0)\n", "line 2 of the probes is not valid Python"),
    ("those that fit.\nslopes_count", "those that fit.\n", "there is no probe"),
    ("slopes_count", "product", "01_scalar_engine has a part 'product' already"),
    ('hints="slopes_slopes"', 'hints="slops"',
     "hints='slops' names no part; the parts are slopes_slopes, slopes_count"),
    ('answer="slopes_slopes"', "answer=slopes_slopes", "'slopes_slopes' names no part; the parts are slopes_count"),
    ("points=6", "points=six", "'slopes_slopes' names no part"),
    ('# %%\ncheck("slopes_slopes")\n', "", r"each part needs one check\("),
    ('check("slopes_slopes")', 'check("slops")', "not slops, slopes_count"),
    ("[x**3 for x in xs]", "[x**3 for x in xs", r"SyntaxError: .*return \[x\*\*3 for x in xs'$"),
])  # fmt: skip
def test_an_exercise_that_nobody_could_pass_or_learn_by_is_refused(root, old, instead, says):
    """All of these were built, or ended in a traceback that named no cell."""
    path = new.exercise("02_slopes", root)
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, instead, -1 if instead == "product" else 1), "utf-8")

    with pytest.raises(BuildError, match=says):
        making.answers(notebook(path), path.stem, making.outcomes)


def test_a_known_wrong_answer_may_name_its_misconception(root):
    path = new.exercise("02_slopes", root)
    text = path.read_text("utf-8").replace('wrong="slopes_slopes"', 'wrong="slopes_slopes" misconception="M3"', 1)
    path.write_text(text, "utf-8")

    answers = making.answers(notebook(path), path.stem, making.outcomes)
    made = text_of(making.exercise(making.solution(notebook(path), path.stem)))

    assert answers.count('"misconception": "M3"') == 1
    assert "M3" not in made
