"""Ranks that are killed, leave, or have no room on their disk: an error that names the rank, its call and the lines."""

import os
import signal
import sys
import time

import pytest
from ranks import needs_mpi
from test_launch import run

import minigrad as mg
import minigrad.distributed as dist
from minigrad.distributed.collectives import groups
from minigrad.distributed.watch import WAITING

CALLS = {
    "all_reduce": dist.all_reduce, "broadcast": lambda x: dist.broadcast(x, 0),
    "all_gather": lambda x: dist.all_gather_into_tensor(mg.zeros(8), x),
    "reduce_scatter": lambda x: dist.reduce_scatter_tensor(mg.zeros(2), x),
    "all_to_all": lambda x: dist.all_to_all_single(mg.zeros(4), x), "barrier": lambda x: dist.barrier(),
    "send": lambda x: dist.send(mg.zeros(1 << 20), 0), "recv": lambda x: dist.recv(x, 0),
}  # fmt: skip


def killed_in(call):
    dist.init_process_group()
    pids = mg.zeros(2, dtype=mg.int64)
    dist.all_gather_into_tensor(pids, mg.tensor([os.getpid()]))
    board = groups["world"].board
    if dist.get_rank():
        CALLS[call](mg.zeros(4))
    while board.state[1] != WAITING or not board.last_call(1).startswith(call):
        time.sleep(0.01)
    os.kill(int(pids[1].item()), signal.SIGKILL)
    dist.barrier()


@needs_mpi
@pytest.mark.parametrize("call", CALLS)
def test_a_rank_that_is_killed_in_a_call_is_named_with_it_and_its_line(call):
    words = f"(?s)rank 1 was killed by SIGKILL.*waiting in {call} .*test_faults.py:"
    with pytest.raises(dist.RankError, match=words) as told:
        dist.launch(killed_in, 2, call, timeout=60)
    assert (told.value.rank, told.value.status) == (1, 137)
    assert "rank 0 was" in str(told.value)


def leaves(how, folder):
    if how == "before it begins" and in_rank(1):
        sys.exit(0)
    dist.init_process_group()
    if dist.get_rank() == 1:
        match how:
            case "sys.exit(3)":
                sys.exit(3)
            case "sys.exit(0)":
                sys.exit(0)
            case "os._exit(0)":
                os._exit(0)
            case "full disk":
                import resource

                resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))  # as far as write(2) can tell
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                mg.save(f"{folder}/checkpoint.mg", {"w": mg.zeros(1 << 16)})
    dist.barrier()


def in_rank(rank):
    from mpi4py import MPI

    return rank == MPI.COMM_WORLD.rank


LEAVING = {
    "sys.exit(3)": (1, 3, r"rank 1 left by sys.exit\(3\) at .*test_faults.py:"),
    "sys.exit(0)": (
        0, 1, r"rank 0 waits in barrier at .*test_faults.py:.*rank 1 has ended: sys.exit\(0\) at .*faults.py:"),
    "before it begins": (
        0, 1, r"rank 0 waits in init_process_group at .*test_faults.py:.*rank 1 has ended: sys.exit\(0\) at"),
    "os._exit(0)": (1, 1, "rank 1 ended with exit status 0 in the middle of its program"),
    "full disk": (
        1, 1,
        "rank 1 failed.*in leaves\n.*mg.save.*OSError.*checkpoint.mg was not written.*rank 0 was waiting in barrier"),
}  # fmt: skip


@needs_mpi
@pytest.mark.parametrize("how", LEAVING)
def test_a_rank_that_leaves_is_named_with_its_line(how, tmp_path):
    rank, status, words = LEAVING[how]
    with pytest.raises(dist.RankError, match=f"(?s){words}") as told:
        dist.launch(leaves, 2, how, str(tmp_path), timeout=60)
    assert (told.value.rank, told.value.status) == (rank, status)
    assert [*tmp_path.iterdir()] == []


TRAINING = """
import os, signal, sys
from pathlib import Path
import numpy as np
import minigrad as mg, minigrad.distributed as dist

killed, last = sys.argv[1:]
dist.init_process_group()
rank, p = dist.get_rank(), dist.get_world_size()
net = mg.nn.Linear(3, 2, dtype=mg.float64)
net.load_state_dict({"weight": mg.ones(*net.weight.shape), "bias": mg.zeros(2)})
optimizer = mg.optim.Adam(net.parameters(), lr=0.1)
first = 0
if Path("run.mg").exists():
    state = mg.load("run.mg")
    net.load_state_dict(state["net"])
    optimizer.load_state_dict(state["optimizer"])
    first = state["step"]
print("from step", first)
for step in range(first, 10):
    x = mg.tensor(np.random.default_rng((step, rank)).normal(size=(4, 3)))
    optimizer.zero_grad()
    (net(x) ** 2).mean().backward()
    for w in net.parameters():
        dist.all_reduce(w.grad, dist.ReduceOp.AVG)
    if step == int(killed) and rank == 1 and os.environ["MINIGRAD_RESTART"] == "0":
        os.kill(os.getpid(), signal.SIGKILL)
    optimizer.step()
    if step % 3 == 2:
        if rank == 0:
            mg.save("run.mg", {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1})
        dist.barrier()
if rank == 0:
    mg.save(last, net.state_dict())
"""


@needs_mpi
def test_a_run_that_was_killed_goes_on_from_its_checkpoint_to_the_same_bits(tmp_path):
    weights = {}
    for killed in (-1, 7):
        folder = tmp_path / str(killed)
        folder.mkdir()
        done = run(folder, TRAINING, "-n", "2", "--max-restarts", "2", arguments=[str(killed), "last.mg"])
        assert done.returncode == 0, done.stderr
        begun = sorted({line[4:] for line in done.stdout.splitlines() if "from step" in line})
        assert begun == ["from step 0"] + ["from step 6"] * (killed == 7)
        assert ("rank 1 was killed by SIGKILL" in done.stdout + done.stderr) == (killed == 7)
        weights[killed] = (folder / "last.mg").read_bytes()
    assert weights[-1] == weights[7]


def test_restarts_come_to_an_end(tmp_path):
    fails = "import os; print('time', os.environ['MINIGRAD_RESTART']); 1 / 0"
    done = run(tmp_path, fails, "-n", "1", "--max-restarts", "2")

    assert done.returncode == 1
    assert done.stdout.splitlines() == ["[0] time 0", "[0] time 1", "[0] time 2"]
    assert done.stderr.count("ZeroDivisionError") == 3
    assert "all ranks start again, for time 2 of 2" in done.stderr


def counts():
    return 3


def test_no_folder_is_left(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    assert dist.launch(counts, 1) == [3]
    assert [*tmp_path.iterdir()] == []
