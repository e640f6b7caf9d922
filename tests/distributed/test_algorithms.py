"""The reference algorithms, stepped for up to nine ranks in one process, and on two and three real ones."""

from math import log2

import numpy as np
import pytest
from ranks import on_ranks

from minigrad.distributed import algorithms
from minigrad.distributed.algorithms import ALL_REDUCE, messages, stepped, traffic

RANKS = range(1, 10)


@pytest.mark.parametrize("name", ALL_REDUCE)
@pytest.mark.parametrize("p", RANKS)
def test_every_rank_has_the_sum_in_the_same_bits(name, p):
    for n in (0, 1, 2, p - 1, p, 100):
        xs = [np.random.default_rng(rank).normal(size=n) for rank in range(p)]
        total = sum(xs)
        [*stepped(ALL_REDUCE[name], xs)]

        assert len({x.tobytes() for x in xs}) == 1
        np.testing.assert_allclose(xs[0], total, rtol=0, atol=1e-14)  # p roundings of terms near 1, in another order


@pytest.mark.parametrize("name", ALL_REDUCE)
@pytest.mark.parametrize("p", RANKS)
def test_integers_are_exact(name, p):
    xs = [np.arange(7) * 10**r for r in range(p)]
    total = sum(xs)
    [*stepped(ALL_REDUCE[name], xs)]

    assert all((x == total).all() for x in xs)


@pytest.mark.parametrize("p", RANKS)
def test_each_rank_of_a_ring_sends_as_patarasuk_and_yuan_say(p):
    n = 840  # which all p divide, but 9
    for sent, elements in traffic(ALL_REDUCE["ring"], p, n):
        assert sent == 2 * (p - 1)
        assert elements == pytest.approx(2 * n * (p - 1) / p, abs=2)


@pytest.mark.parametrize("p", [2, 4, 8, 16])
def test_halving_sends_as_little_in_fewer_messages(p):
    assert traffic(ALL_REDUCE["halving"], p, 16 * p) == [(2 * log2(p), 2 * 16 * (p - 1))] * p


@pytest.mark.parametrize("p", RANKS)
def test_a_tree_moves_whole_vectors_up_and_down_once(p):
    height = len(algorithms.powers(p))
    rounds = [*messages(ALL_REDUCE["tree"], p, 10)]

    assert len(rounds) == 2 * height
    assert 2 ** (height - 1) < p <= 2**height or p == 1
    assert [m.size for each in rounds for m in each] == [10] * 2 * (p - 1)
    assert traffic(ALL_REDUCE["tree"], p, 10)[0] == (height, 10 * height)


@pytest.mark.parametrize("p", RANKS)
def test_no_rank_is_in_two_messages_of_a_round_in_one_direction(p):
    for algorithm in ALL_REDUCE.values():
        for sent in messages(algorithm, p, 10):
            for end in ("source", "to"):
                assert len({getattr(m, end) for m in sent}) == len(sent)


@pytest.mark.parametrize("p", RANKS)
def test_a_broadcast_comes_from_any_root(p):
    for root in range(p):
        xs = [np.full(3, rank) for rank in range(p)]
        [*stepped(lambda rank, p, n, root=root: algorithms.tree_broadcast(rank, p, n, root), xs)]

        assert all((x == root).all() for x in xs)


@pytest.mark.parametrize("p", RANKS)
def test_rank_i_has_part_i_of_what_was_scattered(p):
    ways = [algorithms.ring_reduce_scatter, *[algorithms.halving_reduce_scatter] * (p in (1, 2, 4, 8))]
    for scatter in ways:
        xs = [np.arange(20.0) + rank for rank in range(p)]
        total = sum(xs)
        [*stepped(scatter, xs)]

        for rank, x in enumerate(xs):
            part = algorithms.parts(20, p, rank)
            assert (x[part] == total[part]).all()


def test_what_is_sent_and_not_received_is_an_error():
    def deaf(rank, p, n):
        yield (algorithms.Send(1, slice(0, n)),) if rank == 0 else ()

    with pytest.raises(AssertionError, match="received"):
        [*messages(deaf, 2, 3)]


test_on_ranks = on_ranks("algorithms.py", 2, 3)
