"""The benchmarks compute what they say: a fast wrong answer is not a figure. No time is asserted."""

import re
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import costs, engines, growth, report, rounds
from benchmarks.__main__ import chosen
from benchmarks.engines.numpy import Numpy
from benchmarks.profile import by_op
from benchmarks.reference import error, reference
from benchmarks.worker import ready
from benchmarks.workloads import WORKLOADS
from minigrad.engine.base.threads import helpers
from tests.support.workload_kernels import smaller

pytestmark = pytest.mark.tool

TRAINED = [name for name, workload in WORKLOADS.items() if workload.kind == "training" and workload.update]


WITHOUT_MORE = [  # what runs where the engine does
    (engine, name)
    for name, peers in engines.PEERS.items()
    for engine in peers
    if engines.HOMES[engine][0] in ("minigrad", "numpy")
]


def in_float64(workload):
    """The same numbers and more digits, so that agreement says more."""

    def doubled(arrays):
        return {name: a.astype("f8") if a.dtype.kind == "f" else a for name, a in arrays.items()}

    return replace(workload, data=lambda rng: tuple(doubled(arrays) for arrays in workload.data(rng)))


@pytest.mark.parametrize(("engine", "name"), WITHOUT_MORE)
def test_an_engine_answers_as_the_reference_does(engine, name):
    workload = smaller(WORKLOADS[name])
    run = engines.run(engine, workload)

    assert error(run.answer(), reference(workload)) < workload.tolerance
    for stage in run.stages.values():
        stage()
    assert workload.update or error(run.answer(), reference(workload)) < workload.tolerance


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_reference_is_pytorch_s_answer_in_float64(name):
    pytest.importorskip("torch", reason="PyTorch is not installed: python -m pip install torch adds this oracle")
    double = in_float64(smaller(WORKLOADS[name]))

    run = engines.run("torch", double)

    assert error(run.answer(), reference(double)) < 1e-8  # differences of gradients, for hvp, know ten digits


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize("engine", ["minigrad", "minigrad-compiled", "numpy"])
def test_three_steps_move_the_parameters_as_pytorch_s_do(engine, name):
    pytest.importorskip("torch", reason="PyTorch is not installed: python -m pip install torch adds this oracle")
    far = replace(in_float64(WORKLOADS[name]), lr=1e-2)
    moved = {}
    for each in (engine, "torch"):
        run = Numpy("f8").training(far) if each == "numpy" else engines.run(each, far)
        for _ in range(3):
            run.stages["step"]()
        moved[each] = run.answer()

    assert error(moved[engine], moved["torch"]) < 1e-6  # Adam divides by the root of squares near 0
    assert error(moved["torch"], engines.run("torch", far).answer()) > 1e-3


@pytest.mark.parametrize("slip", [{"h": 1.01}, {"shift": float("nan")}])
def test_a_gradient_that_is_off_is_seen(slip):
    wanted = reference(WORKLOADS["chain"])
    loss, gradients = wanted

    got = loss, {name: g * slip.get(name, 1.0) for name, g in gradients.items()}

    assert error(got, wanted) >= 0.0099


@pytest.mark.parametrize("engine", ["minigrad", "minigrad-compiled", "numpy"])
def test_a_float32_answer_is_a_float32_answer(engine):
    """An engine that computed in float64 would be timed at another task."""
    run = engines.run(engine, WORKLOADS["mlp"])

    assert {g.dtype for g in run.answer()[1].values()} == {np.dtype("f4")}


def test_engines_take_turns_in_processes_of_their_own():
    found = rounds.figures(WORKLOADS["tiny"], ["minigrad", "numpy"], rounds=2)

    assert {engine: f["status"] for engine, f in found.items()} == {"minigrad": "ok", "numpy": "ok"}
    assert all(f["stages"]["step"]["rounds"] == 2 for f in found.values())
    assert "| x minigrad | x NumPy |" in report.times("tiny", found)


def test_an_engine_without_a_function_is_said_to_lack_it():
    found = rounds.figures(WORKLOADS["hvp"], ["replayed"], rounds=1)

    assert found["replayed"]["status"] == "lacks"
    assert "hvp" in report.times("hvp", found)


def test_a_wrong_engine_is_called_wrong_and_not_timed():
    """As float32 is, where twelve digits are asked for."""
    status, run = ready("numpy", replace(WORKLOADS["tiny"], tolerance=1e-12))

    assert status["status"] == "wrong"
    assert run is None


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_the_peak_of_a_step_holds_what_backward_needs(engine):
    if not engines.installed(engine):
        pytest.skip("PyTorch is not installed: python -m pip install torch adds this oracle")

    peak = rounds.answers(WORKLOADS["cnn"], [engine], "bytes")[engine]["bytes"]

    assert peak >= 4 * 64 * (8 * 26 * 26 + 16 * 11 * 11)  # both convolutions' results, for relu or for pooling
    assert peak <= 20e6  # a few times as much: no step before it is counted with it


def test_a_first_call_is_timed_with_what_it_makes():
    found = rounds.answers(WORKLOADS["tiny"], ["minigrad-compiled"], "first")["minigrad-compiled"]
    stages = [found["seconds"][stage] for stage in ("trace", "passes", "code", "run")]

    assert found["status"] == "ok"
    assert min(stages) > 0
    assert sum(stages) <= found["seconds"]["CPU"]


def test_threads_are_timed_by_the_clock_on_the_wall():
    assert rounds.figures(WORKLOADS["tiny"], ["numpy"], 1, "wall")["numpy"]["stages"]["step"]["best"] > 0


def test_two_threads_get_equal_shares():
    """It gave its task to an executor, and the engine's threads are no executor: `--only cores` raised an error."""
    seen = []
    costs.share_equally(lambda first, stop, slot: seen.append((first, stop, slot)), 80, 2, helpers(1))
    assert sorted(seen) == [(10 * i, 10 * (i + 1), i % 2) for i in range(8)]


def test_a_target_is_met_or_missed():
    assert "met" in report.target("tiny", "torch", {"minigrad": 0.6, "torch": 1.0})
    assert "missed" in report.target("tiny", "torch", {"minigrad": 0.8, "torch": 1.0})


def test_the_profile_counts_every_op():
    table = by_op(engines.run("minigrad", WORKLOADS["chain"]).stages["step"], repeats=2)
    counts = {row[0]: int(row[-1]) for row in re.findall(r"^ *(\w+)(?: +[\d.]+(?:%|us|ms|s)){5} +(\d+)", table, re.M)}

    forward = {"mul": 2 * 334, "add": 2 * 333, "tanh": 2 * 333, "sum": 2}
    backward = {f"{name.title()}Backward": count for name, count in forward.items()}
    assert counts == forward | backward


def test_only_names_workloads_engines_and_costs():
    assert chosen("mlp,torch") == (["mlp"], ["torch"], [])
    assert chosen("bytes") == ([], [*engines.HOMES], ["bytes"])
    assert chosen("")[0] == [*WORKLOADS]
    assert chosen("numpy")[2] == [*costs.COSTS]
    with pytest.raises(SystemExit, match="lstm"):
        chosen("lstm")


@pytest.mark.parametrize(("name", "batch"), [("mlp", 64), ("cnn", 64), ("transformer", 8)])
def test_a_batch_of_twice_the_size_repeats_the_samples(name, batch):
    """The loss is a mean, so the same samples twice have the same loss and gradients."""
    twice = engines.run("minigrad", growth.workload_of(name, 2 * batch)).answer()

    assert error(twice, engines.run("minigrad", WORKLOADS[name]).answer()) < 1e-4


def test_growth_is_shown_as_exponents_and_written_between_markers(tmp_path, monkeypatch):
    monkeypatch.setattr(growth, "DOCS", tmp_path)
    (tmp_path / "pictures").mkdir()
    (tmp_path / "growth.md").write_text("# Growth\n<!-- nodes -->\nold\n<!-- end -->\nafter", "utf-8")
    columns = {"build, µs": {10: 1e-5, 100: 1e-3}, "build, bytes": {10: 5000, 100: 50_000}}

    tables = growth.table("nodes", "Value", columns)
    growth.write("nodes", tables, growth.picture("nodes", {"Value": columns}))

    assert "10 (2.00)" in tables  # µs a node: a hundred times the seconds for ten times the nodes
    assert "500 (1.00)" in tables
    page = (tmp_path / "growth.md").read_text("utf-8")
    assert page.startswith("# Growth\n<!-- nodes -->\n\nValue:")
    assert page.endswith("(pictures/growth_nodes.svg)\n\n<!-- end -->\nafter")


@pytest.mark.parametrize("kind", growth.STAGES)
def test_a_graph_of_four_times_the_nodes_takes_four_times_the_bytes(kind):
    figures = {(column, n): figure for column, n, figure in growth.measure_graphs(kind, [1000, 4000])}

    for stage in growth.STAGES[kind]:
        assert figures[f"{stage}, bytes", 4000] < 5 * figures[f"{stage}, bytes", 1000]
