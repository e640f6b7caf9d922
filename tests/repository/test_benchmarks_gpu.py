"""`python -m benchmarks gpu` where there is none: on the simulated device, and with kernels executed on the CPU."""

import json
import os
import re
from dataclasses import replace

import pytest

import minigrad as mg
from benchmarks import engines, gpu, rounds
from benchmarks.engines.numpy import Numpy
from benchmarks.reference import error, reference
from benchmarks.workloads import WORKLOADS
from minigrad.graph.backends.cuda.machine import machine_of
from tests.support import shim
from tests.support.workload_kernels import kernels_of, small, smaller, stepped

pytestmark = pytest.mark.tool

THERE = [(f"{engine}@simulated", name) for engine in gpu.ENGINES if "minigrad" in engine for name in gpu.TIMED]


@pytest.fixture(autouse=True)
def recording(monkeypatch):
    """An engine that launches kernels one by one takes recording from the device, in a process of its own else."""
    machine = machine_of(mg.device("simulated"))
    monkeypatch.setattr(machine, "record", machine.record)


@pytest.mark.parametrize(("engine", "name"), THERE)
def test_an_engine_on_a_device_answers_as_the_reference_does(engine, name):
    workload = smaller(WORKLOADS[name])
    run = engines.run(engine, workload)

    assert error(run.answer(), reference(workload)) < workload.tolerance
    for _ in range(2):
        for stage in run.stages.values():
            stage()
    run.finish()
    assert error(run.answer(), two_steps_of_numpy(workload)) < workload.tolerance


def test_on_a_device_figures_are_checked_and_written_and_who_is_missing_is_a_row(tmp_path, capsys):
    only = "mlp,minigrad-compiled,torch"

    assert not gpu.main(["--device", "simulated", "--only", only, "--rounds", "1", "--results", str(tmp_path)])
    found = json.loads((tmp_path / "simulated.json").read_text("utf-8"))
    assert (found["device"], [*found["workloads"]]) == ("simulated", ["mlp"])
    ours, theirs = found["workloads"]["mlp"].values()
    assert (ours["status"], ours["error"] < 1e-3, ours["stages"]["step"]["rounds"]) == ("ok", True, 1)
    assert theirs["status"] in ("lacks", "not installed")
    written = (tmp_path / "simulated.md").read_text("utf-8")
    assert "\n| minigrad-compiled | " in written
    assert "\n| torch | " in written
    assert written.endswith(f"{gpu.table('mlp', found['workloads']['mlp'])}\n")
    assert "minigrad-compiled" in capsys.readouterr().out


def test_without_time_rows_say_so_and_are_written_all_the_same(tmp_path):
    options = ["--device", "simulated", "--only", "mlp,fused,minigrad", "--seconds", "0", "--results", str(tmp_path)]

    assert gpu.main(options) == 1
    assert (tmp_path / "simulated.md").read_text("utf-8").count("| minigrad | not run: out of time |") == 2


def test_without_a_gpu_the_error_says_what_is_missing(capsys):
    if gpu.mg.gpu_status()[0]:
        pytest.skip("there is a GPU here")
    with pytest.raises(SystemExit):
        gpu.main([])

    assert f"no GPU: {gpu.mg.gpu_status()[1]}" in capsys.readouterr().err


def test_an_engine_that_takes_too_long_is_ended_and_one_that_dies_says_why():
    late = rounds.Worker("minigrad", "tiny", until=0.0)
    dead = rounds.Worker("minigrad", "nothing")

    assert (late.status["status"], late.status["why"]) == ("failed", "out of time")
    assert dead.status["why"] == "its process ended with 1"
    assert "KeyError: 'nothing'" in dead.status["stderr"]
    late.close()
    dead.close()


def test_the_tests_of_a_gpu_are_told_part_by_part_and_one_without_end_is_interrupted(tmp_path, capsys):
    endless = tmp_path / "test_endless.py"
    endless.write_text("def test_one():\n    pass\n\n\ndef test_two():\n    while True:\n        pass\n", "utf-8")

    assert gpu.tested([["test_gpu_limits.py", "1/5"]], 100, tmp_path / "fine.txt")
    assert not gpu.tested([[str(endless), "0/1"]], 4, tmp_path / "new" / "endless.txt")

    said = capsys.readouterr().out
    assert "== tests/gpu/test_gpu_limits.py 1/5" in said
    assert (tmp_path / "fine.txt").read_text("utf-8") in said
    assert (tmp_path / "new" / "endless.txt").exists()
    assert re.search(r"\b[34] passed", said)
    assert os.name == "nt" or "KeyboardInterrupt" in said


def test_every_part_of_the_tests_of_a_gpu_is_run():
    files = sorted(path.name for path in (gpu.ROOT / "tests" / "gpu").glob("test_*.py"))

    assert sorted({file for file, _ in gpu.PARTS}) == files
    assert sum(1 / int(share.partition("/")[2]) for _, share in gpu.PARTS) == pytest.approx(len(files))


@pytest.mark.parametrize("name", gpu.TIMED)
def test_the_kernels_of_a_workload_executed_on_the_cpu_give_its_gradients(name, monkeypatch):
    workload = replace(small(name), lr=1e-3)
    kernels = kernels_of(workload, monkeypatch)
    library = shim.Library(kernels)

    def compute(kernel, fused, *arrays):
        library.launch(kernel, *([x.host for x in xs] for xs in arrays))

    assert error(stepped(workload, compute, monkeypatch), two_steps_of_numpy(workload)) < workload.tolerance
    assert kernels


def two_steps_of_numpy(workload):
    """By hand, in float64."""
    if workload.kind == "large":
        return reference(workload)
    run = Numpy("f8").training(workload)
    for _ in range(2):
        run.stages["step"]()
    return run.answer()
