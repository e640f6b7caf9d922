"""A verdict is reached outside: an answer that replaces what comparisons are made of gains nothing by it."""

import json

import pytest

from minigrad.course.grading.grade import grade, task
from tests.course.grading.cases import ROOT
from tests.course.grading.cases.case import write
from tests.course.grading.cases.verdicts import REPLACED
from tests.course.grading.sandboxes import sandbox_here


@pytest.fixture(scope="module")
def sandbox():
    return sandbox_here(cell=10, part=10, all=60)


@pytest.mark.share(6)
@pytest.mark.parametrize(("exercise", "part"), REPLACED)
def test_it_loses_the_part_in_which_it_replaces_a_comparison(sandbox, exercise, part):
    nb = json.loads((ROOT / "solutions" / f"{exercise}.ipynb").read_text("utf-8"))
    write(nb, part, REPLACED[exercise, part])
    result = grade(json.dumps(nb).encode(), task(exercise, ROOT / "exercises"), sandbox)

    assert result["parts"][part]["points"] == 0, result["parts"][part]
    assert result["status"] == "graded"
