"""Every kind of submission gets the points that it deserves, says how grading went, and leaves nothing behind."""

import json
from copy import deepcopy

import pytest
from grading.cases import CASES, NAME, ROOT
from grading.cases.case import SOLVED, after

from minigrad.grading.grade import grade, task
from minigrad.grading.sandbox import Limits, NoSandbox, found

LIMITS = Limits(cell=2, part=8, all=40)


@pytest.fixture(scope="module")
def sandbox():
    try:
        return found(limits=LIMITS)
    except NoSandbox as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", CASES)
def test_it_gets_what_it_deserves(sandbox, name):
    case = CASES[name]
    result = grade(case.data, task(NAME, ROOT / "exercises"), sandbox)
    assert (result["points"], result["status"]) == (case.points, case.status), result


def test_a_plot_is_no_trouble():
    """Its library is large, and takes seconds to load on a busy machine: here it has them."""
    try:
        patient = found(limits=Limits(cell=60, all=120))
    except NoSandbox as error:
        pytest.skip(str(error))
    nb = deepcopy(SOLVED)
    after(nb, "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()")
    result = grade(json.dumps(nb).encode(), task(NAME, ROOT / "exercises"), patient)
    assert (result["points"], result["status"], result["notes"]) == (10, "graded", [])


def test_the_source_of_a_cell_is_there_for_who_reads_it():
    """AutoGraph does: without the source an `if` on a tensor stays Python's, and a right answer is an error."""
    try:
        patient = found(limits=Limits(cell=60, part=60, all=240))
    except NoSandbox as error:
        pytest.skip(str(error))
    data = (ROOT / "solutions" / "11_tracing.ipynb").read_bytes()
    result = grade(data, task("11_tracing", ROOT / "exercises"), patient)
    assert (result["points"], result["status"]) == (10, "graded"), result
