"""What networks are trained with: stable losses, data, batches, and digits that are read."""

import string
from collections import Counter

import numpy as np

import minigrad as mg


def test_softmax_of_large_scores_stays_finite_and_sums_to_one():
    x = mg.tensor([[1000.0, 1001.0, 999.0], [-1000.0, -1000.0, -1000.0]], requires_grad=True)
    mg.log_softmax(x, -1).sum().backward()

    np.testing.assert_allclose(mg.softmax(x, -1).numpy().sum(1), 1)
    np.testing.assert_allclose(mg.softmax(x, -1).numpy()[1], 1 / 3)
    assert np.isfinite(x.grad.numpy()).all()


def test_logsumexp_of_impossible_scores_is_minus_infinity_without_a_warning():
    assert mg.tensor([-np.inf, -np.inf]).logsumexp().item() == -np.inf
    assert mg.tensor([-np.inf, 2.0]).logsumexp().item() == 2


def test_batches_give_each_row_once_with_its_own_label():
    x = np.arange(10)
    pieces = list(mg.data.batches(x, x * x, 4, np.random.default_rng(0)))

    assert [len(piece) for piece, _ in pieces] == [4, 4, 2]
    assert sorted(np.concatenate([piece for piece, _ in pieces])) == x.tolist()
    assert all((labels == piece * piece).all() for piece, labels in pieces)


def test_digits_are_pixels_from_0_to_1_and_the_split_is_fixed():
    digits = mg.data.digits()

    assert (digits.train_x.shape, digits.test_x.shape) == ((1437, 64), (360, 64))
    assert (digits.train_x.min(), digits.train_x.max()) == (0, 1)
    assert np.bincount(digits.test_y).tolist() == np.bincount(mg.data.digits().test_y).tolist()
    assert np.bincount(np.concatenate([digits.train_y, digits.test_y])).sum() == 1797


def test_moons_are_two_halves_of_one_size():
    x, y = mg.data.moons(100, noise=0.0)

    np.testing.assert_allclose(np.hypot(*x[y == 0].T), 1)
    np.testing.assert_allclose(np.hypot(x[y == 1, 0] - 1, x[y == 1, 1] - 0.5), 1)
    assert np.bincount(y).tolist() == [50, 50]


def test_names_are_in_one_language_each_in_plain_letters_and_as_many_of_each():
    names = mg.data.names()

    assert len(names.languages) == 7
    assert Counter(n for _, n in names.train) == dict.fromkeys(range(7), 100)
    assert Counter(n for _, n in names.test) == dict.fromkeys(range(7), 20)
    every = [name for name, _ in [*names.train, *names.test]]
    assert len(set(every)) == len(every) == 840
    assert set("".join(every)) <= set(string.ascii_lowercase)
    assert {("malgorzata", 4), ("aysegul", 5), ("sian", 6)} <= {*names.train, *names.test}
    assert set("".join(n for n, _ in names.test)) <= set("".join(n for n, _ in names.train)), "no letter is new in test"
    assert mg.data.names() == names


def test_the_text_is_alice_from_her_boredom_to_the_caterpillar():
    text = mg.data.text()

    assert text.startswith("CHAPTER I\n\nDown the Rabbit-Hole\n\nAlice was beginning to get very tired")
    assert text.endswith("not the smallest notice of her or of anything else.\n")
    assert (len(text), len(set(text)), text.count("CHAPTER ")) == (45_225, 65, 4)
    assert text.isascii()
    assert not any(left in text for left in ("Gutenberg", "  ", "\r", "*"))


def test_a_small_network_reads_over_95_percent_of_unseen_digits():
    digits, rng = mg.data.digits(), np.random.default_rng(0)
    net = mg.nn.Sequential(mg.nn.Linear(64, 32, rng=rng), mg.nn.ReLU(), mg.nn.Linear(32, 10, rng=rng))
    optimizer = mg.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)

    for _ in range(15):
        for x, y in mg.data.batches(digits.train_x, digits.train_y, 32, rng):
            loss = mg.cross_entropy(net(mg.tensor(x)), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    with mg.no_grad():
        read = net(mg.tensor(digits.test_x)).numpy().argmax(1)
    assert (read == digits.test_y).mean() > 0.95


def test_a_module_names_its_parameters_and_forgets_their_gradients():
    net = mg.nn.Sequential(mg.nn.Linear(2, 3), mg.nn.Tanh(), mg.nn.Linear(3, 1, bias=False))
    net(mg.tensor(np.ones((4, 2)))).sum().backward()

    assert [name for name, _ in net.named_parameters()] == ["0.weight", "0.bias", "2.weight"]
    assert all(p.grad is not None for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    assert repr(net).splitlines()[1] == "  (0): Linear(in_features=2, out_features=3, bias=True)"
