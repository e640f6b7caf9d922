"""States and checkpoints in files: what is written is read again, by others too; a file is whole, or it is refused."""

import json
import os
import struct
import subprocess
import sys
import time
import tracemalloc
from collections import Counter, namedtuple

import numpy as np
import pytest

import minigrad as mg
from minigrad.data import DataLoader, RandomSampler, SubsetRandomSampler, TensorDataset, WeightedRandomSampler
from minigrad.engine.base.errors import DTypeError, SavedFileError, StateError
from minigrad.files.saving.container import DTYPES
from minigrad.files.saving.values import load_values
from tests.support.other_processes import output_of
from tests.support.root import ROOT

safetensors = pytest.importorskip("safetensors.numpy")


def saved(what, path):
    mg.save(path, what)
    return mg.load(path)


def net(kit=mg.nn):
    return kit.Sequential(kit.Linear(4, 8), kit.BatchNorm1d(8), kit.Dropout(0.3), kit.Linear(8, 2))


# -- values ---------------------------------------------------------------------------------------


def test_a_state_comes_back_with_its_kinds(tmp_path):
    state = {
        "t": mg.tensor([[1, 2]], dtype=mg.int16),
        "a": np.arange(3.0), "n": np.float16(0.1), "k": (1, [2.5, None, True]),
        3: {"": "ü\ud800", (1, "b"): {}}, "whole": [2**64 - 1, -(2**63)], "f": [float("inf"), -float("inf"), -0.0],
        "empty": mg.zeros(0, 3), "bool": mg.tensor([True, False]), "one": mg.tensor(2.0), "t.x": 1, "t_1": np.array(1),
    }  # fmt: skip

    found = saved(state, tmp_path / "s")

    assert repr(found) == repr(state)
    assert [*found] == [*state]
    assert type(found["n"]) is np.float16
    assert np.isnan(saved([float("nan")], tmp_path / "s")[0])
    assert found["a"].flags.writeable
    assert found["a"].flags.aligned


@pytest.mark.parametrize("dtype", [*DTYPES.values()], ids=str)
def test_every_dtype_keeps_its_bytes_in_any_layout(tmp_path, dtype):
    x = (np.random.default_rng(0).normal(size=(4, 6)) * 9).astype(dtype).T[::2]

    found = saved({"x": mg.Tensor(x)}, tmp_path / "s")["x"]

    assert found.dtype == x.dtype
    assert found.numpy().tobytes() == x.tobytes()


def test_arrays_of_the_other_byte_order_are_turned(tmp_path):
    assert saved(np.arange(3, dtype=">i4"), tmp_path / "s").tolist() == [0, 1, 2]


def test_names_that_meet_are_kept_apart(tmp_path):
    state = {"a.b": np.array(1), "a": {"b": np.array(2)}, "__metadata__": np.array(3), "": np.array(4)}

    assert repr(saved(state, tmp_path / "s")) == repr(state)


ITSELF = []
ITSELF.append(ITSELF)


@pytest.mark.parametrize(("what", "error", "words"), [
    (ITSELF, StateError, "holds itself"), ([mg.nn.Linear(1, 1)], StateError, "state_dict"),
    ({"net": {"f": len}}, StateError, r"^net\.f is <built-in function len>"), ([Counter("a")], StateError, "a Counter"),
    ([namedtuple("P", "x")(1)], StateError, "a P, which"), ([2**64], StateError, "64-bit numbers"),
    ([np.array([None])], StateError, "a ndarray"), ([np.array([1j])], DTypeError, "0 holds complex128"),
])  # fmt: skip
def test_what_a_file_cannot_hold_is_refused_by_its_way(tmp_path, what, error, words):
    with pytest.raises(error, match=words):
        mg.save(tmp_path / "s", what)

    assert not [*tmp_path.iterdir()]


def test_arguments_in_pytorchs_order_are_told_apart(tmp_path):
    with pytest.raises(TypeError, match="the path first"):
        mg.save({"a": 1}, str(tmp_path / "s"))


def test_importing_minigrad_loads_nothing_of_it():
    code = "import sys, minigrad, minigrad.nn; print([m for m in sys.modules if 'saving' in m or 'safetensors' in m])"

    assert output_of(code) == "[]\n"


# -- with others ----------------------------------------------------------------------------------


def test_safetensors_reads_what_is_saved(tmp_path):
    state = net().state_dict()

    mg.save(tmp_path / "s", state)

    theirs = safetensors.load_file(tmp_path / "s")
    assert {name: x.tobytes() for name, x in theirs.items()} == {n: x.numpy().tobytes() for n, x in state.items()}


def test_pytorch_takes_a_network_and_gives_it_back(tmp_path):
    torch = pytest.importorskip("torch")
    theirs = pytest.importorskip("safetensors.torch")
    mine, other = net().float(), net(torch.nn)
    mine(mg.randn(5, 4).float())

    mg.save(tmp_path / "mine", mine.state_dict())
    other.load_state_dict(theirs.load_file(tmp_path / "mine"))
    x = np.ones((2, 4), np.float32)
    np.testing.assert_allclose(other.eval()(torch.tensor(x)).detach(), mine.eval()(mg.tensor(x)).numpy(), 1e-6, 1e-6)
    other(torch.tensor(x))
    theirs.save_file(other.bfloat16().state_dict(), tmp_path / "theirs")
    back = mg.load(tmp_path / "theirs")

    assert {*back} == {*other.state_dict()}
    for name, x in other.state_dict().items():
        assert str(back[name].dtype) == str(x.dtype).removeprefix("torch.")
        assert back[name].numpy().tobytes() == x.reshape(-1).view(torch.uint8).numpy().tobytes()
    mine.load_state_dict(back)


# -- a run that goes on ---------------------------------------------------------------------------

RUN = """
import sys
import numpy as np
import minigrad as mg
from minigrad.data import DataLoader, TensorDataset

def run(kind, first, steps, source, path):
    mg.manual_seed(3)
    net = mg.nn.Sequential(mg.nn.Linear(4, 8), mg.nn.BatchNorm1d(8), mg.nn.Dropout(0.3), mg.nn.Linear(8, 2))
    if kind == "sgd":
        optimizer = mg.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        scheduler = mg.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)
    else:
        optimizer = mg.optim.Adam(net.parameters(), lr=0.01)
        scheduler = mg.optim.lr_scheduler.StepLR(optimizer, 3, 0.5)
    x = np.random.default_rng(0).normal(size=(14, 4))
    generator = {"global": None, "seed": 7, "own": mg.Generator(5)}[source]
    loader = DataLoader(TensorDataset(x, x[:, :2] ** 2), 2, shuffle=True, generator=generator, num_workers=steps % 2)
    parts = {"net": net, "optimizer": optimizer, "scheduler": scheduler, "loader": loader}
    step = 0
    if first:
        state = mg.load(path)
        for name, part in parts.items():
            part.load_state_dict(state[name])
        mg.set_rng_state(state["random"])
        step = state["step"]
    while True:
        for x, y in loader:
            optimizer.zero_grad()
            ((net(x) - y) ** 2).mean().backward()
            optimizer.step()
            scheduler.step()
            step += 1
            if step == steps:
                state = {name: part.state_dict() for name, part in parts.items()}
                mg.save(path, {**state, "random": mg.get_rng_state(), "step": step})
                return

first, *jobs = sys.argv[1:]
for job in jobs:
    kind, steps, source, path = job.split(":")
    run(kind, first == "resumed", int(steps), source, path)
"""


def test_ten_steps_are_five_and_five_in_another_process_to_the_bit(tmp_path):
    """Momentum and Adam, a schedule, dropout, batch norm, and an order that is drawn anew after seven steps."""
    kinds = [("sgd", "global"), ("adam", "seed"), ("adam", "own")]

    def ran(first, steps, name):
        jobs = [f"{kind}:{steps}:{source}:{name}{i}" for i, (kind, source) in enumerate(kinds)]
        output_of(RUN, first, *jobs, cwd=tmp_path)

    ran("new", 10, "whole")
    ran("new", 5, "part")
    halfway = [(tmp_path / f"part{i}").read_bytes() for i in range(3)]
    ran("resumed", 10, "part")

    for i in range(3):
        assert (tmp_path / f"part{i}").read_bytes() == (tmp_path / f"whole{i}").read_bytes() != halfway[i]


@pytest.mark.parametrize("given", [0, 1, 3, 4])
@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_goes_on_where_it_was(given, workers):
    def loader():
        data = TensorDataset(np.arange(8))
        return DataLoader(data, 2, shuffle=True, generator=mg.Generator(1), num_workers=workers)

    first, second = loader(), loader()
    batches = iter(first)
    before = [next(batches)[0].tolist() for _ in range(given)]
    state = first.state_dict()
    rest = [x.tolist() for (x,) in batches] + [x.tolist() for (x,) in first]
    second.load_state_dict(state)

    if given:
        assert [x.tolist() for (x,) in second] + [x.tolist() for (x,) in second] == rest
    else:  # nothing was begun, and so nothing was drawn
        assert [x.tolist() for (x,) in second] == rest[:4]
    assert sorted(i for batch in before + rest[: 4 - given] for i in batch) == [*range(8)]


def test_a_loader_that_was_left_begins_a_new_epoch():
    first, second = (DataLoader(TensorDataset(np.arange(6)), 2, shuffle=True, generator=3) for _ in range(2))
    for _ in first:
        break
    second.load_state_dict(first.state_dict())

    assert [x.tolist() for (x,) in second] == [x.tolist() for (x,) in first]


def test_an_order_that_cannot_be_continued_is_refused():
    data = TensorDataset(np.arange(6))
    shuffled = DataLoader(data, shuffle=True)

    with pytest.raises(TypeError, match=r"does not save its state.*RandomSampler"):
        DataLoader(data, sampler=WeightedRandomSampler([1.0] * 6, 6)).state_dict()
    with pytest.raises(StateError, match="another kind of sampler"):
        shuffled.load_state_dict(DataLoader(data).state_dict())
    with pytest.raises(StateError, match="another kind of generator"):
        shuffled.load_state_dict(DataLoader(data, shuffle=True, generator=mg.Generator(1)).state_dict())
    assert DataLoader(data, sampler=SubsetRandomSampler([1, 2])).state_dict()["sampler"]["epoch"] == 0
    batched = mg.data.BatchSampler(RandomSampler(data, 4), 2)
    assert DataLoader(data, batch_sampler=batched).state_dict()["sampler"]["epoch"] == 0


def test_the_state_of_a_loader_with_another_order_is_refused():
    """The position was applied to other batches, or to another order, silently."""
    data = TensorDataset(np.arange(6))
    loader = DataLoader(data, 2, shuffle=True, generator=1)
    state, shares = loader.state_dict(), mg.distributed.DistributedSampler(data, 2, 0)

    for other, words in (
        (DataLoader(data, 3, shuffle=True, generator=1), "batch_size=3.*2"),
        (DataLoader(data, 2, shuffle=True, generator=2), "seed"),
        (DataLoader(data, 2, shuffle=True), "seed"),
        (DataLoader(TensorDataset(np.arange(7)), 2, shuffle=True, generator=1), "length=7.*6"),
        (DataLoader(data, 2, sampler=shares), "num_replicas"),
    ):
        with pytest.raises(StateError, match=words):
            other.load_state_dict(state)
    with pytest.raises(StateError, match="seed=1"):
        mg.distributed.DistributedSampler(data, 2, 0, seed=1).load_state_dict(shares.state_dict())
    for spoilt in ({"given": -1}, {"given": "2"}, {"sampler": {**state["sampler"], "epoch": -1, "key": [1, 2]}}):
        with pytest.raises(StateError):
            loader.load_state_dict(state | spoilt)
        assert loader.state_dict() == state


@pytest.mark.parametrize("bias", [np.full(3, 1j), np.array(["a", "b", "c"]), np.array([1, 2, None])])
def test_a_module_refuses_values_that_are_not_numbers_and_keeps_its_own(bias):
    """The weight was written before the bias failed; the imaginary part was dropped."""
    layer = mg.nn.Linear(2, 3)
    before = layer.weight.numpy().copy()

    with pytest.raises(StateError, match="bias has dtype float64 here"):
        layer.load_state_dict({"weight": np.zeros((2, 3)), "bias": bias})
    np.testing.assert_array_equal(layer.weight.numpy(), before)


# -- whatever happens meanwhile -------------------------------------------------------------------

SAVING = """
import sys
import numpy as np
import minigrad as mg
n = 0
while True:
    n += 1
    mg.save(sys.argv[1], {"n": n, "a": np.full(200_000, n), "b": np.full(50_000, n, np.float32)})
    print(n, flush=True)
"""


def test_a_process_that_is_killed_while_it_saves_loses_nothing(tmp_path):
    """At forty moments; what is read then is whole, and not older than what was last said to be saved."""
    path = tmp_path / "s"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    wait = np.random.default_rng(0).uniform(0, 0.01, 40)
    for round_ in range(4):  # processes; each is looked at as it saves, and then killed
        process = subprocess.Popen(
            [sys.executable, "-c", SAVING, str(path)], env=environment, stdout=subprocess.PIPE, text=True
        )
        said = int(process.stdout.readline())
        for pause in wait[10 * round_ : 10 * round_ + 10]:
            time.sleep(pause)
            state = mg.load(path)
            assert {state["n"]} == {*state["a"].tolist()} == {*state["b"].tolist()}
        process.kill()
        said = int(([said, *process.communicate()[0].split()])[-1])
        state = mg.load(path)

        assert {state["n"]} == {*state["a"].tolist()} == {*state["b"].tolist()}
        assert state["n"] in (said, said + 1)


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of a file")
def test_a_disk_that_is_full_leaves_the_old_file(tmp_path):
    code = (
        "import sys, resource, signal, numpy as np, minigrad as mg\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "mg.save(sys.argv[1], {'n': 1})\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try: mg.save(sys.argv[1], {'a': np.zeros(50_000)})\n"
        "except OSError as error: print(type(error).__name__, error.__notes__[0])\n"
    )

    said = output_of(code, tmp_path / "s")

    assert said == f"OSError {tmp_path / 's'} was not written; a file that was there before is unchanged\n"
    assert mg.load(tmp_path / "s") == {"n": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["s"]


@pytest.mark.skipif(sys.platform == "win32", reason="links and modes are POSIX's")
def test_a_link_stays_a_link_and_a_file_has_the_usual_mode(tmp_path):
    (tmp_path / "real").write_text("")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "other").write_text("")

    mg.save(tmp_path / "link", 1)

    assert (tmp_path / "link").is_symlink()
    assert mg.load(tmp_path / "real") == 1
    assert (tmp_path / "real").stat().st_mode == (tmp_path / "other").stat().st_mode


# -- hostile files ----------------------------------------------------------------------------------


def container(header, data=b"", length=None):
    header = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(header) if length is None else length) + header + data


def one(dtype="F32", shape=(2,), offsets=(0, 8), **more):
    return {"a": {"dtype": dtype, "shape": [*shape], "data_offsets": [*offsets], **more}}


def ours(text, header=None):
    text = text if isinstance(text, str) else json.dumps(text)
    return container({"__metadata__": {"minigrad": text}, **(header or {})}, b"" if header is None else bytes(8))


def state(value, **more):
    return ours({"version": 1, "kind": "state", "value": value, **more}, one())


NO_ELEMENTS = b'"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}'
BAD = {
    "empty": b"", "seven bytes": b"1234567", "no header": container(b""),
    "a header of gigabytes": container(b"{}", length=2**62),
    "a header of megabytes": container(b"{}", length=33_000_000),
    "a header beyond the file": container(b"{}", length=3), "no JSON": container(b"}{"),
    "no UTF-8": container(b'{"\xff": 1}'), "deep JSON": container(b"[" * 100_000),
    "deep tables": container(b'{"a":' * 100_000 + b"1" + b"}" * 100_000), "a list": container([]),
    "NaN": container(b'{"a": NaN}'), "a huge number": container(b'{"a": ' + b"9" * 5000 + b"}"),
    "a name twice": container(b"{%s,%s}" % (NO_ELEMENTS, NO_ELEMENTS)),
    "no table": container({"a": 1}), "an unknown dtype": container(one("F4"), bytes(8)),
    "another dtype": container(one("F64"), bytes(8)), "a negative length": container(one(shape=(-2,)), bytes(8)),
    "two negative lengths": container(one(shape=(-1, -2)), bytes(8)),
    "a length that is no number": container(one(shape=(True, 2)), bytes(8)),
    "a shape of terabytes": container(one(shape=(2**40,), offsets=(0, 2**42)), bytes(8)),
    "a shape that overflows": container(one(shape=(2**62, 4)), bytes(8)),
    "an empty shape that overflows": container(one(shape=(2**63, 2**63, 0), offsets=(0, 0))),
    "65 axes": container(one(shape=(1,) * 64 + (2,)), bytes(8)),
    "offsets backwards": container(one(offsets=(8, 0)), bytes(8)),
    "an offset too many": container(one(offsets=(0, 8, 8)), bytes(8)), "another key": container(one(more=1), bytes(8)),
    "a gap": container(one(offsets=(8, 16)), bytes(16)), "a rest": container(one(), bytes(9)),
    "too short": container(one(), bytes(7)), "overlapping": container(one() | {"b": one()["a"]}, bytes(8)),
    "no boolean": container(one("BOOL", (8,)), b"\x02" * 8),
    "metadata that is no table": container({"__metadata__": 3}),
    "metadata of numbers": container({"__metadata__": {"minigrad": 3}}), "no text of ours": ours("{"),
    "no version": ours({}), "a later version": ours({"version": 2, "kind": "state", "value": 1}),
    "another kind": ours({"version": 1, "kind": "code", "value": "import os"}), "more than a state": state(1, more=2),
    "an unknown value": state({"pickle": "gASV"}), "two values in one": state({"tuple": [], "dict": []}),
    "a name that is not there": state({"tensor": "../../etc/passwd"}),
    "a name that is no name": state({"tensor": ["a"]}), "a number of three axes": state({"scalar": "a"}),
    "a float that is a word": state({"float": "1e400"}), "a tuple that is none": state({"tuple": "ab"}),
    "a pair of three": state({"dict": [[1, 2, 3]]}), "a key that is a list": state({"dict": [[[1], 2]]}),
    "a key twice": state({"dict": [[1, 2], [1, 3]]}), "a number of 65 bits": state(2**64),
    "deep values": ours('{"version":1,"kind":"state","value":' + "[" * 50_000 + "]" * 50_000 + "}"),
    "values as deep as JSON goes": ours('{"version":1,"kind":"state","value":' + "[" * 900 + "]" * 900 + "}"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_not_whole_is_refused_by_name(tmp_path, name):
    (tmp_path / "s").write_bytes(BAD[name])
    tracemalloc.start()
    try:
        with pytest.raises(SavedFileError) as refused:
            mg.load(tmp_path / "s")
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()

    assert str(tmp_path / "s") in str(refused.value)
    assert len(str(refused.value)) < 400 + len(str(tmp_path))


def test_what_the_tests_call_whole_is_taken(tmp_path):
    """So that each of the bad ones is refused for what its name says."""
    for content in (container(one(), bytes(8)), state({"tensor": "a"}), state({"dict": [[1, 2]]}), container({})):
        (tmp_path / "s").write_bytes(content)
        mg.load(tmp_path / "s")


def test_a_file_that_is_cut_anywhere_is_refused(tmp_path):
    mg.save(tmp_path / "whole", {"a": np.arange(5), "b": ["x", mg.tensor([True])]})
    whole = (tmp_path / "whole").read_bytes()

    (tmp_path / "s").write_bytes(whole)
    for n in reversed(range(len(whole))):
        os.truncate(tmp_path / "s", n)
        with pytest.raises(SavedFileError):
            mg.load(tmp_path / "s")


def test_a_file_of_a_function_holds_no_values_for_a_rank(tmp_path):
    """It ended in a bare KeyError."""
    f = mg.function(lambda x: x + 1)
    f(mg.ones(2))
    mg.save(tmp_path / "f", f)

    with pytest.raises(SavedFileError, match="does not hold values"):
        load_values(tmp_path / "f")


def count_refusals(path, whole, rounds, most=1):
    """How often mg.load refuses a file in which up to `most` bytes changed; it raises no other error."""
    rng = np.random.default_rng(0)
    refused = 0
    path.write_bytes(whole)
    for _ in range(rounds):
        changed = bytearray(whole)
        for _ in range(rng.integers(1, most + 1)):
            changed[rng.integers(len(changed))] = rng.integers(256)
        with path.open("r+b") as file:
            file.write(changed)
        try:
            mg.load(path)
        except SavedFileError:
            refused += 1
    return refused


def test_a_byte_that_changed_gives_a_value_or_is_refused(tmp_path):
    mg.save(tmp_path / "s", {"a": np.arange(5), "b": ["x", mg.tensor([True]), (None, 1.5)], 3: {"c": -1}})

    refused = count_refusals(tmp_path / "s", (tmp_path / "s").read_bytes(), 3000, 3)

    assert 1500 < refused < 3000  # a changed element is a value like any other
