"""Data sets and loaders: which samples come, in which order, and what happens when one fails."""

import io
import itertools
import os
import re
import threading
import time
from collections import namedtuple
from contextlib import redirect_stdout

import numpy as np
import pytest

import minigrad as mg
from minigrad.data import ConcatDataset, DataLoader, Dataset, RandomSampler, Subset, TensorDataset, random_split
from minigrad.engine.base.errors import DTypeError, ShapeError
from tests.support.other_processes import output_of
from tests.support.table import mistakes


class Squares(Dataset):
    """Sample i is (i, i²), after a wait that lets threads overtake each other."""

    def __init__(self, n, wait=0.0):
        self.n, self.wait = n, wait

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        time.sleep(self.wait * (i % 3))
        return i, i * i


class Failing(Squares):
    def __getitem__(self, i):
        if i == 7:
            raise KeyError("no such file")
        return super().__getitem__(i)


def numbers(loader):
    return [x.numpy().tolist() for x, _ in loader]


def threads():
    return [t for t in threading.enumerate() if t.name.startswith("DataLoader")]


# -- data sets ----------------------------------------------------------------------------------


def test_a_dataset_of_tensors_gives_rows_and_batches():
    x, y = np.arange(12.0).reshape(6, 2), np.arange(6)
    data = TensorDataset(x, mg.tensor(y))

    assert len(data) == 6
    assert [part.numpy().tolist() for part in data[2]] == [[4, 5], 2]
    batches = list(DataLoader(data, 4))
    assert [(a.shape, b.shape) for a, b in batches] == [((4, 2), (4,)), ((2, 2), (2,))]
    assert np.concatenate([a.numpy() for a, _ in batches]).tolist() == x.tolist()
    assert all(b.dtype == np.int64 for _, b in batches)


def test_the_fast_way_through_tensors_gives_what_the_slow_one_gives():
    tensors = TensorDataset(np.arange(20.0).reshape(10, 2), np.arange(10))
    subset = Subset(tensors, [9, 3, 3, 0, 5])

    for data in (tensors, subset):
        fast, slow = DataLoader(data, 3, True, generator=1), DataLoader(list(data_of(data)), 3, True, generator=1)
        for left, right in zip(fast, slow, strict=True):
            for a, b in zip(left, right, strict=True):
                np.testing.assert_array_equal(a.numpy(), b.numpy(), strict=True)


def data_of(data):
    return (data[i] for i in range(len(data)))


def test_datasets_are_joined_end_to_end():
    data = Squares(3) + Squares(2)

    assert len(data) == 5
    assert [data[i] for i in range(5)] == [(0, 0), (1, 1), (2, 4), (0, 0), (1, 1)]
    assert data[-1] == (1, 1)
    assert ConcatDataset([[], ["a"]])[0] == "a"
    with pytest.raises(IndexError, match=r"sample 5 .* 5"):
        data[5]


def test_a_random_split_deals_each_sample_once_and_the_same_for_the_same_seed():
    parts = random_split(range(10), [7, 3], generator=3)

    assert [len(p) for p in parts] == [7, 3]
    assert sorted([*data_of(parts[0]), *data_of(parts[1])]) == list(range(10))
    again = random_split(range(10), [0.7, 0.3], generator=mg.random.key(3))
    assert [p.indices for p in again] == [p.indices for p in parts]
    assert [len(p) for p in random_split(range(10), [1 / 3, 1 / 3, 1 / 3])] == [4, 3, 3]


# -- order --------------------------------------------------------------------------------------


def test_one_seed_is_one_order_on_every_machine():
    """Written down once: who changes the generator breaks every recorded run."""
    sampler = RandomSampler(range(8), generator=0)

    assert [list(sampler), list(sampler)] == RECORDED


RECORDED = [[0, 4, 3, 2, 7, 1, 6, 5], [3, 4, 0, 2, 1, 7, 5, 6]]


def test_each_epoch_has_a_new_order_and_can_be_had_again():
    loader, again = (DataLoader(Squares(50), 8, shuffle=True, generator=5) for _ in range(2))
    epochs = [numbers(loader) for _ in range(3)]

    assert epochs == [numbers(again) for _ in range(3)]
    assert len({str(e) for e in epochs}) == 3
    assert all(sorted(itertools.chain(*e)) == list(range(50)) for e in epochs)
    again.sampler.epoch = 1
    assert numbers(again) == epochs[1]


def test_without_a_seed_the_order_is_that_of_manual_seed():
    loader = DataLoader(Squares(50), 8, shuffle=True)
    orders = []
    for seed in (1, 1, 2):
        mg.manual_seed(seed)
        orders.append(numbers(loader))

    assert orders[0] == orders[1] != orders[2]


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_any_number_of_workers_gives_the_same_batches(workers):
    alone = DataLoader(Squares(40, wait=0.001), 3, shuffle=True, generator=2)
    helped = DataLoader(Squares(40, wait=0.001), 3, shuffle=True, generator=2, num_workers=workers)

    assert [numbers(helped) for _ in range(2)] == [numbers(alone) for _ in range(2)]
    assert not threads()


def test_a_sampler_says_the_order():
    assert numbers(DataLoader(Squares(9), 2, sampler=[8, 1, 1])) == [[8, 1], [1]]
    endless = DataLoader(Squares(9), 2, sampler=itertools.cycle([4, 5]))
    assert next(iter(endless))[0].numpy().tolist() == [4, 5]
    with pytest.raises(TypeError, match="no length"):
        len(endless)


def test_a_last_batch_that_is_not_full_is_given_or_left_out():
    whole, full = (DataLoader(Squares(7), 3, drop_last=drop) for drop in (False, True))

    assert [len(numbers(whole)), len(numbers(full))] == [len(whole), len(full)] == [3, 2]
    assert numbers(DataLoader([], 3)) == []


# -- workers ------------------------------------------------------------------------------------


def test_workers_load_ahead_side_by_side_but_not_without_end():
    started = []

    class Slow(Squares):
        def __getitem__(self, i):
            started.append(i)
            barrier.wait(60)  # passes only if two samples are loaded at once
            return super().__getitem__(i)

    barrier = threading.Barrier(2)
    for x, _ in DataLoader(Slow(100), 1, num_workers=2, prefetch_factor=3):
        time.sleep(0.05)
        assert len(started) <= int(x.numpy()[0]) + 1 + 2 * 3 + 2
        if x.numpy()[0] == 10:
            barrier.abort()  # an odd one waits for nobody
            break
    assert not threads()


@pytest.mark.parametrize("workers", [0, 2])
def test_what_a_sample_raises_surfaces_at_the_loop_with_its_number(workers):
    batches = iter(DataLoader(Failing(20), 4, num_workers=workers))
    assert next(batches)[0].numpy().tolist() == [0, 1, 2, 3]

    with pytest.raises(KeyError, match="no such file") as raised:
        next(batches)

    assert raised.value.__notes__ == ["raised by sample 7 of Failing"]
    assert not threads()


@pytest.mark.parametrize("workers", [0, 2])
def test_a_sample_that_runs_out_does_not_end_the_epoch_in_silence(workers):
    class Empty(Squares):
        def __getitem__(self, i):
            return next(iter([]))

    with pytest.raises(RuntimeError, match="StopIteration"):
        list(DataLoader(Empty(3), num_workers=workers))


@pytest.mark.parametrize("progress", [False, True])
def test_leaving_the_loop_early_leaves_no_thread(progress):
    with redirect_stdout(io.StringIO()):
        for _ in DataLoader(Squares(100, wait=0.001), 2, num_workers=3, progress=progress):
            assert threads()
            break

    assert not threads()


def test_a_bar_on_the_standard_output_counts_the_batches_in_the_width_of_a_notebook():
    """In a Python of its own: where these tests run, bars may be switched off by the environment.

    A bar was as wide as the terminal that JupyterLab had been started in, and broke into two lines.
    """
    program = (
        "import os; os.get_terminal_size = lambda *_: os.terminal_size((200, 50))\n"
        "from minigrad.data import DataLoader\nfor _ in DataLoader(range(10), 3, progress=True): pass"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TQDM_")}
    shown = output_of(program, env=environment | {"PYTHONUTF8": "1"}, encoding="utf-8")

    assert "4/4" in shown
    assert max(map(len, re.split(r"[\r\n]", shown))) <= 72


# -- batches ------------------------------------------------------------------------------------

Pair = namedtuple("Pair", "x y")


def test_samples_of_every_kind_become_batches():
    kinds = {
        "array": np.ones((2, 3), np.float32), "tensor": mg.tensor([1, 2]), "float": 0.5, "integer": 3, "truth": True,
        "scalar": np.float16(2), "text": "cat", "pair": Pair(1.0, (2, "b")), "list": [1, 2],
    }  # fmt: skip
    batch = next(iter(DataLoader([kinds] * 4, 4)))

    shapes = {name: (part.shape, str(part.dtype)) for name, part in batch.items() if isinstance(part, mg.Tensor)}
    assert shapes == {
        "array": ((4, 2, 3), "float32"), "tensor": ((4, 2), "int64"), "float": ((4,), "float64"),
        "integer": ((4,), "int64"), "truth": ((4,), "bool"), "scalar": ((4,), "float16"),
    }  # fmt: skip
    assert batch["text"] == ["cat"] * 4
    assert type(batch["pair"]) is Pair
    assert batch["pair"].y[1] == ["b"] * 4
    assert [part.numpy().tolist() for part in batch["list"]] == [[1] * 4, [2] * 4]


def test_a_batch_of_ones_own_is_made_of_the_list_of_samples():
    padded = DataLoader(["a", "bcd", "ef"], 2, collate_fn=lambda samples: [s.ljust(3) for s in samples])

    assert list(padded) == [["a  ", "bcd"], ["ef "]]


@pytest.mark.parametrize("workers", [0, 1])
def test_samples_of_different_shapes_are_named(workers):
    data = [np.ones((2, 3)), np.ones((2, 3)), np.ones((2, 4))]

    with pytest.raises(ShapeError, match=r"number 0 has \(2, 3\), and number 2 has \(2, 4\)") as raised:
        list(DataLoader(data, 3, num_workers=workers))
    assert raised.value.__notes__ == ["raised by the batch of samples 0, 1, 2 of list"]


REFUSED = {
    "no samples in a batch": (lambda: DataLoader([1], 0), ValueError, "batch_size.*at least 1.*0"),
    "half a worker": (lambda: DataLoader([1], num_workers=0.5), ValueError, "num_workers.*0.5"),
    "two orders": (lambda: DataLoader([1], shuffle=True, sampler=[0]), ValueError, "one of them"),
    "no length": (lambda: DataLoader(iter([1])), TypeError, "__len__"),
    "no samples": (lambda: DataLoader(Dataset()).dataset[0], NotImplementedError, "__getitem__"),
    "unequal rows": (lambda: TensorDataset(np.ones((3, 2)), np.ones(2)), ShapeError, r"f64\[3, 2\].*f64\[2\]"),
    "no rows": (lambda: TensorDataset(1.0), ShapeError, "rows"),
    "no tensors": (TensorDataset, ShapeError, "rows"),
    "nothing joined": (lambda: ConcatDataset([]), ValueError, "none"),
    "a split that is short": (lambda: random_split(range(5), [2, 2]), ValueError, r"5 samples.*\[2, 2\].*4"),
    "a split that owes": (lambda: random_split(range(5), [6, -1]), ValueError, "add up"),
    "an object": (lambda: list(DataLoader([object()])), DTypeError, "collate_fn"),
    "tuples of two lengths": (lambda: list(DataLoader([(1,), (1, 2)], 2)), ShapeError, "number 1 has 2"),
}
test_a_mistake_is_said = mistakes(REFUSED)
