"""Lesson 25's gates are of use: each is green on the lesson's own step, but for the one that shows a fault, and red on
a step that is broken on purpose. It takes a minute, and runs by night."""

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell

from tests.support.root import ROOT

LESSONS = ROOT / "lessons"
PARALLEL, SERVER = "%%parallel", "server, address = start_server"

# A gate → what is broken in its cell, and in one that runs before it.
BREAKS = {
    "three ways agree": {"net.parameters(), 0.003)": "net.parameters(), 0.003 + len(losses) / 1000)"},
    "better than pairs": {"by_gpt = held_out(gpt)": "by_gpt = held_out(new_gpt())"},
    "FLOPs as on paper": {"L, C = 64, 64": "L, C = 64, 48"},
    "FLOPs as run": {"ran = sum(": "ran = 2 * sum("},
    "checkpoints: same gradient": {
        "again, twice = measure_step(gpt)": "x = x + 1; again, twice = measure_step(gpt); x = x - 1"
    },
    "sixteen bits: same learning": {"adam.step()": "enabled or adam.step()"},
    "two processes: same gradient": {"dist.DistributedDataParallel(net)": "net"},
    "ONNX: same scores": {"there(x)": "there(1 - x % 2)"},
    "int8: smaller, and as good": {"lost = held_out(tiny)": "share, lost = 1.0, held_out(tiny)"},
    "served: same scores": {"gpt(x[:2])": "gpt(x[1:3])"},
    "the server has ended": {"stop_server(server)": "server.poll() is not None"},
    "your ring: same gradient": {"workers / 4": "workers / 3"},
    "your Value: same gradient": {"- own_scores[": "+ own_scores["},
    "knows nothing yet": {"print(": "loss = mg.cross_entropy(8 * scores_of(new_gpt())(x), y); print("},
}


def first(cells, words):
    return next(cell.source for cell in cells if words in cell.source)


def before(cells, gate):
    if gate.startswith("two processes"):
        return [first(cells, PARALLEL)]
    return [first(cells, SERVER)] if "serve" in gate else []


def broken(cells, gate):
    """The cells of a gate, with what is broken in them."""
    sources = [*before(cells, gate), first(cells, f'gates("{gate}"')]
    for old, new in BREAKS[gate].items():
        assert any(old in source for source in sources), old
        sources = [source.replace(old, new) for source in sources]
    return sources


@pytest.mark.night
def test_each_gate_is_red_where_its_step_is_broken():
    notebook = nbformat.read(LESSONS / "25_a_small_gpt.ipynb", 4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    added = {gate: [new_code_cell(source) for source in broken(cells, gate)] for gate in BREAKS}
    notebook.cells = cells + [cell for each in added.values() for cell in each]

    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(LESSONS)}}).execute()

    assert [gate for line in printed(cells) if (gate := line.partition("GATE FAILED: ")[2])] == [
        "no better than a reader: wanted more than 0.4 (a good reader's loss); 0.0 came"
    ]
    for gate, each in added.items():
        assert any(line.startswith(f"GATE FAILED: {gate}: wanted ") for line in printed(each)), gate


def printed(cells):
    streams = [output for cell in cells for output in cell.outputs if output.output_type == "stream"]
    return [line for output in streams for line in output.text.splitlines()]
