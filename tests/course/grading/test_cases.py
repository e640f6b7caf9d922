"""Every kind of submission gets the points that it deserves, says how grading went, and leaves nothing behind."""

import pytest

from minigrad.course.grading.grade import grade, task
from tests.course.grading.cases import CASES, NAME, ROOT
from tests.course.grading.cases.case import notebook
from tests.course.grading.sandboxes import sandbox_here

FIRST = {case.family: name for name, case in reversed(CASES.items())}  # of each family, one that no run leaves out
ROWS = [pytest.param(name, marks=pytest.mark.share(1 if name in FIRST.values() else 8)) for name in CASES]


@pytest.fixture(scope="module")
def sandbox():
    return sandbox_here(cell=2, part=8, all=40, memory=512 << 20)


@pytest.mark.parametrize("name", ROWS)
def test_it_gets_what_it_deserves(sandbox, name):
    case = CASES[name]
    result = grade(case.data, task(NAME, ROOT / "exercises"), sandbox)
    assert result["points"] == case.points, result
    assert result["status"] in case.status.split(" or "), result


def test_the_same_bytes_get_the_same_score(sandbox):
    """What a set gives first is by the hash of a text, and by the address of an object."""
    visits = "times_at_x = 1024\nnodes = 10 + next(iter({Node(i % 2) for i in range(40)})).data"
    case = notebook(10, zero="zero_says = max({'a', 'b', 'c', 'd'}, key=len)", visits=visits)
    tries = [grade(case.data, task(NAME, ROOT / "exercises"), sandbox) for _ in range(8)]
    assert len({(each["points"], each["status"]) for each in tries}) == 1, [each["points"] for each in tries]


def test_a_given_cell_that_came_back_changed_is_told(sandbox):
    result = grade(CASES["an_import_added_to_a_given_cell"].data, task(NAME, ROOT / "exercises"), sandbox)
    (note,) = result["notes"]
    assert note.startswith("Cell 'given' belongs to the exercise but was changed")


def test_a_plot_is_no_trouble():
    """Its library is large, and takes seconds to load on a busy machine: here it has them."""
    case = notebook(10, after="import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()")
    result = grade(case.data, task(NAME, ROOT / "exercises"), sandbox_here(cell=60, all=120))
    assert (result["points"], result["status"], result["notes"]) == (10, "graded", [])


def test_the_source_of_a_cell_is_there_for_who_reads_it():
    """AutoGraph does: without the source an `if` on a tensor stays Python's, and a right answer is an error."""
    data = (ROOT / "solutions" / "11_tracing.ipynb").read_bytes()
    result = grade(data, task("11_tracing", ROOT / "exercises"), sandbox_here(cell=60, part=60, all=240))
    assert (result["points"], result["status"]) == (10, "graded"), result
