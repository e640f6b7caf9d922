"""Random numbers: the generator against its published answers, its keys against each other, and PyTorch's spelling."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import minigrad as mg
from minigrad import random
from minigrad.engine.base.device import CPU, SIMULATED
from minigrad.engine.base.errors import DTypeError, ShapeError
from minigrad.engine.core import random_bits
from tests.support.table import mistakes, table


def python_philox(counter, key):
    """The paper's definition, on Python's integers."""
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [p1 >> 32 ^ c[1] ^ k[0], p1 % 2**32, p0 >> 32 ^ c[3] ^ k[1], p0 % 2**32]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return c


def scrambled(counter, key):
    words = tuple(np.array([c], np.uint64) for c in counter)
    random_bits.scramble(np, words, random_bits.round_keys(np, np.array(key, np.uint32)))
    return [int(w[0]) for w in words]


PI = 0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0  # the first digits of its fraction


@pytest.mark.parametrize(("counter", "key", "answer"), [
    ((0, 0, 0, 0), (0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ((2**32 - 1,) * 4, (2**32 - 1,) * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    (PI[:4], PI[4:], "d16cfe09 94fdcceb 5001e420 24126ea1"),
])  # fmt: skip
def test_philox_gives_the_known_answers_of_random123(counter, key, answer):
    """https://github.com/DEShawResearch/random123, tests/kat_vectors, philox4x32 10"""
    assert " ".join(f"{n:08x}" for n in scrambled(counter, key)) == answer
    assert " ".join(f"{n:08x}" for n in python_philox(counter, key)) == answer


def test_bits_are_the_entries_of_counters_0_1_2_and_so_on():
    key = (5, 9)
    n = 4 * CPU.block + 7  # more than one piece

    bits = random.bits(mg.Tensor(np.array(key, np.uint32)), (n,)).numpy()

    for i in (0, 1, 2047, CPU.block - 1, CPU.block, CPU.block + 1):
        assert bits[4 * i : 4 * i + 4].tolist() == python_philox((i, 0, 0, 0), key)[: n - 4 * i]


DRAWS = {
    "bits": random.bits, "bytes": lambda key, shape: random.bits(key, shape, "u1"), "uniform": random.uniform,
    "uniform f4": lambda key, shape: random.uniform(key, shape, "f4"),
    "uniform f2": lambda key, shape: random.uniform(key, shape, "f2"), "normal": random.normal,
    "normal f4": lambda key, shape: random.normal(key, shape, "f4"),
    "normal f2": lambda key, shape: random.normal(key, shape, "f2"),
    "truncated normal": lambda key, shape: random.truncated_normal(key, -2, 2, shape),
    "bernoulli": lambda key, shape: random.bernoulli(key, 0.3, shape),
    "bernoulli of a tensor": lambda key, shape: random.bernoulli(key, mg.Tensor(0.3, device=key.spec.device), shape),
    "randint": lambda key, shape: random.randint(key, shape, -5, 5),
}  # fmt: skip


@table("name", DRAWS)
def test_the_same_key_gives_the_same_numbers_and_another_key_others(name):
    key, other = random.split(random.key(1))

    first, again, different = (DRAWS[name](k, (40, 5)).numpy() for k in (key, key, other))

    np.testing.assert_array_equal(first, again)
    assert (first != different).mean() > 0.2
    assert first.shape == (40, 5)


@table("name", DRAWS)
def test_numbers_do_not_depend_on_the_device_nor_on_the_size_of_its_pieces(name):
    """The simulated device works in larger pieces than the CPU."""
    key = random.key(2)
    n = 6 * CPU.block + 5
    assert SIMULATED.block > CPU.block

    there = DRAWS[name](key.to("simulated"), (n,))

    assert there.spec.device is SIMULATED
    np.testing.assert_array_equal(there.numpy(), DRAWS[name](key, (n,)).numpy())


@table("name", [n for n in DRAWS if "normal" not in n])
def test_a_longer_draw_begins_like_a_shorter_one(name):
    key = random.key(3)

    np.testing.assert_array_equal(DRAWS[name](key, (1000,)).numpy()[:17], DRAWS[name](key, (17,)).numpy())


@table("name", DRAWS)
@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (7,), (2, 3)])
def test_every_shape_can_be_drawn(name, shape):
    assert DRAWS[name](random.key(0), shape).shape == shape


# -- keys -----------------------------------------------------------------------------------------------


def test_no_two_keys_of_a_tree_are_equal_nor_do_their_streams_meet():
    root = random.key(0)
    children = random.split(root, 100).numpy()
    steps = random.fold_in(root, mg.tensor(np.arange(-50, 50))).numpy()
    grandchildren = random.split(mg.Tensor(children[0]), 100).numpy()
    mg.manual_seed(0)
    sequence = [mg.random.next_key().numpy() for _ in range(100)]
    keys = np.concatenate([root.numpy()[None], children, steps, grandchildren, sequence])

    draws = np.concatenate([random.bits(mg.Tensor(k), (50,), "u8").numpy() for k in keys])

    assert len(np.unique(keys, axis=0)) == 401
    assert len(np.unique(draws)) == len(draws)  # 20 050 of 2⁶⁴ numbers: two equal ones once in 10¹¹


def test_a_child_is_none_of_its_parents_own_numbers():
    """Had a split the counters of a draw, the children would be words that the parent gives out as numbers."""
    key = random.key(0)
    numbers = random.bits(key, (100, 2), "u8").numpy()[:, 0]

    for children in (random.split(key, 100), random.fold_in(key, mg.tensor(np.arange(100)))):
        assert not np.isin(np.ascontiguousarray(children.numpy()).view("u8").ravel(), numbers).any()


def test_a_key_folded_with_a_number_is_the_same_whether_the_number_is_a_tensor():
    key = random.key(4)

    for n in (0, 3, -1, 2**40):
        together = random.fold_in(key, mg.tensor([5, n])).numpy()[1]
        assert random.fold_in(key, n).numpy().tolist() == together.tolist()


def test_a_seed_has_64_bits():
    assert random.key(2**40 + 3).numpy().tolist() == [3, 2**8]
    assert random.key(-1).numpy().tolist() == [2**32 - 1, 2**32 - 1]
    with pytest.raises(ValueError, match="a seed has at most 64 bits"):
        random.key(2**64)


KEY = random.key(0)


test_what_makes_no_sense_is_refused_by_name = mistakes(
    [
        (lambda: random.normal(mg.tensor([1, 2]), (3,)), DTypeError, r"draws from a key, u32\[2\], and got i64\[2\]"),
        (lambda: random.bits(random.split(KEY), (3,)), ShapeError, r"u32\[2, 2\]"),
        (lambda: random.uniform(KEY, (3,), "i8"), DTypeError, "and got dtype int64"),
        (lambda: random.bernoulli(KEY, 1.5, (3,)), ValueError, "probability from 0 to 1"),
        (lambda: random.randint(KEY, (3,), 4, 4), ValueError, "low < high"),
        (lambda: random.randint(KEY, (3,), 0, 300, "u1"), DTypeError, "0 to 299, which do not all fit into uint8"),
        (lambda: random.uniform(KEY, (-1,)), ValueError, "lengths of 0 or more"),
        (lambda: random.choice(KEY, mg.tensor([1.0, 2.0]), 3), ShapeError, "cannot draw 3 of 2"),
        (lambda: random.fold_in(KEY, mg.tensor([1.5])), DTypeError, "takes an integer"),
        (lambda: mg.randint(5), TypeError, "needs a size"),
    ]
)


def test_no_gradient_reaches_a_key_but_it_passes_by():
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    noise = random.normal(random.key(0), (2,))

    (x * noise).sum().backward()

    assert not noise.requires_grad
    np.testing.assert_array_equal(x.grad.numpy(), noise.numpy())


# -- the sequence behind mg.rand ------------------------------------------------------------------------


def test_a_seed_starts_the_sequence_over():
    mg.manual_seed(3)
    first = [mg.rand(3).numpy(), mg.randn(2, 2).numpy(), mg.randperm(5).numpy(), mg.randint(9, (4,)).numpy()]
    mg.manual_seed(3)
    again = [mg.rand(3).numpy(), mg.randn(2, 2).numpy(), mg.randperm(5).numpy(), mg.randint(9, (4,)).numpy()]

    for x, y in zip(first, again):
        np.testing.assert_array_equal(x, y)
    assert (mg.rand(3).numpy() != first[0]).all()


def test_the_sequence_can_be_stopped_and_taken_up_anywhere():
    g = mg.Generator(1)
    for _ in range(mg.Generator.BATCH - 1):
        g.next_key()
    state = g.get_state()
    following = [g.next_key().numpy().tolist() for _ in range(3)]

    g.set_state(state)

    assert [g.next_key().numpy().tolist() for _ in range(3)] == following
    assert g.initial_seed() == 1


def test_a_fork_leaves_the_sequence_as_it_was():
    mg.manual_seed(0)
    expected = [mg.rand(2).numpy() for _ in range(2)][1]
    mg.manual_seed(0)
    mg.rand(2)

    with random.fork_rng():
        mg.rand(100)

    np.testing.assert_array_equal(mg.rand(2).numpy(), expected)


def test_threads_that_share_a_sequence_get_each_key_once():
    g = mg.Generator(0)
    with ThreadPoolExecutor(8) as pool:
        keys = list(pool.map(lambda _: tuple(g.next_key().numpy()), range(2000)))

    one_by_one = mg.Generator(0)
    assert set(keys) == {tuple(one_by_one.next_key().numpy()) for _ in range(2000)}
    assert len(set(keys)) == 2000


def test_pytorchs_functions_have_its_shapes_dtypes_and_arguments():
    x = mg.tensor(np.zeros((2, 3), "f4"))

    assert mg.rand(2, 3).spec == mg.rand((2, 3)).spec
    assert str(mg.rand_like(x).spec) == str(mg.randn_like(x).spec) == "f32[2, 3]"
    assert mg.randn(2, requires_grad=True).requires_grad
    assert str(mg.randint(3, 5, (4,)).spec) == str(mg.randint(5, size=(4,)).spec) == "i64[4]"
    assert str(mg.randint_like(x, 5).spec) == "f32[2, 3]"
    assert str(mg.bernoulli(x).spec) == "f32[2, 3]"
    assert str(mg.normal(mg.tensor([1.0, 2.0]), 3.0).spec) == str(mg.normal(0, 1, (2,)).spec) == "f64[2]"
    assert str(mg.multinomial(mg.tensor([[1.0, 2.0]] * 3), 2).spec) == "i64[3, 2]"
    assert mg.rand(3, device="simulated").spec.device is SIMULATED


def test_a_draw_with_a_key_of_its_own_takes_none_from_the_sequence():
    mg.manual_seed(0)
    before = random.default_generator.get_state()
    key = random.key(5)

    np.testing.assert_array_equal(mg.rand(3, key=key).numpy(), random.uniform(key, (3,)).numpy())
    mg.rand(3, generator=mg.Generator(1))

    assert random.default_generator.get_state() == before
