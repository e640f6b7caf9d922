"""`%%parallel` in the kernel that notebooks have."""

import os
import signal
import threading
import time

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from ranks import HERE, needs_mpi
from test_launch import alive, soon

LOAD = "%load_ext minigrad.distributed.parallel\nimport numpy as np\nx = np.arange(3.0)"
ADD = """%%parallel -n 2 -i x -o y,rank
import minigrad as mg
import minigrad.distributed as dist
dist.init_process_group()
rank = dist.get_rank()
y = mg.tensor(x) * (rank + 1)
dist.all_reduce(y)
print("step")
y.tolist()"""
FAIL = """%%parallel -n 2
import minigrad.distributed as dist
dist.init_process_group()
if dist.get_rank():
    1 / 0
dist.barrier()"""
SLEEP = """%%parallel -n 2 -i path
import os, time
open(f"{path}/{os.getpid()}.rank", "w")
time.sleep(1000)"""


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(HERE.parents[1]))

    def run(*cells, **options):
        made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in (LOAD, *cells)])
        client = NotebookClient(made, timeout=60, resources={"metadata": {"path": str(tmp_path)}}, **options)
        client.execute()
        return [cell.outputs for cell in made.cells[1:]]

    return run


def text(output):
    return output.get("text") or output["data"]["text/plain"]


@needs_mpi
def test_a_cell_runs_on_ranks_and_its_output_is_in_their_order(notebook):
    added, got, kernel = notebook(ADD, "y, rank", "import sys; 'mpi4py' in sys.modules")

    assert [*map(text, added)] == ["2 ranks", "".join(f"[{i}] step\n[{i}] [0.0, 3.0, 6.0]\n" for i in range(2))]
    assert text(got[0]) == "([tensor([0., 3., 6.]), tensor([0., 3., 6.])], [0, 1])"
    assert text(kernel[0]) == "False"


@needs_mpi
def test_what_fails_is_the_cells_error_with_its_rank_and_line(notebook):
    fails, unknown = notebook(FAIL, "%%parallel -n 1 -i nothing\n1", allow_errors=True)

    assert fails[-1].ename == "CellError"
    said = "\n".join(fails[-1].traceback)
    assert 'rank 1 failed, and all were ended\nTraceback (most recent call last):\n  File "Cell In[2]", line 5' in said
    assert "rank 0 was waiting in barrier at Cell In[2]:6" in said
    assert "\x1b" not in said
    assert unknown[-1].evalue == "%%parallel -i nothing: the notebook has no such name"


@needs_mpi
def test_the_stop_button_ends_all_ranks(notebook, tmp_path):
    pids = []

    def stop():
        while len(pids := [int(path.stem) for path in tmp_path.glob("*.rank")]) < 2:
            time.sleep(0.1)
        kernel = int((tmp_path / "kernel").read_text())
        os.kill(kernel, signal.SIGINT)
        (tmp_path / "stopped").write_text(f"{pids[0]} {pids[1]}")

    threading.Thread(target=stop, daemon=True).start()
    with pytest.raises(CellExecutionError, match="stopped, and all ranks with it"):
        notebook(
            f"import os; path = {str(tmp_path)!r}; print(os.getpid(), file=open('kernel', 'w'), flush=True)", SLEEP
        )

    pids = (tmp_path / "stopped").read_text().split()
    assert soon(lambda: not any(alive(int(pid)) for pid in pids))


MEASURE = """%%parallel -n 2 -o place
import minigrad.distributed as dist
dist.init_process_group()
print("here")
place = dist.get_rank() + 0.5"""


@needs_mpi
def test_a_lesson_shows_its_recorded_run_where_no_ranks_can_be_started(notebook, tmp_path):
    ran, _ = notebook(MEASURE, "place")
    lessons = tmp_path / "shipped" / "lessons"
    lessons.mkdir(parents=True)
    cell = nbformat.v4.new_code_cell(MEASURE, outputs=ran)
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), lessons / "22_workers.ipynb")
    without = f"""from minigrad.course import parallel
from minigrad.distributed import launcher
launcher.importlib.util.find_spec = lambda name: None
parallel.course = lambda: launcher.Path({str(lessons.parent)!r})
%load_ext minigrad.course.parallel"""
    _, shown, place, other, *_ = notebook(without, MEASURE, "place", MEASURE + " * 2", allow_errors=True)

    said, *run = "".join(map(text, shown)).splitlines()
    assert run == ["2 ranks", "[0] here", "[1] here"]
    assert said.startswith("Recorded, not run here: 2 ranks need MPI, and mpi4py is missing: python3 start.py add mpi ")
    assert text(place[0]) == "[0.5, 1.5]"
    assert "A lesson's own cells, unchanged" in other[0].evalue


@needs_mpi
def test_with_mpi_a_lesson_runs_its_cell(notebook):
    _, ran = notebook("%reload_ext minigrad.course.parallel", MEASURE)

    assert text(ran[-1]) == "[0] here\n[1] here\n"
