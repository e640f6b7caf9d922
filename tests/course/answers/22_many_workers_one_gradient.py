{
    "right: ring_by_hand: another first chunk": "def chunk(rank, r, p):\n    return (rank + 1 - r) % p",
    "wrong: ring_by_hand: two less in each round": "def chunk(rank, r, p):\n    return (rank - 2 * r) % p",
    "right: own_buckets: five of them": "buckets = [1, 2, 3, 4, 6]",
    "right: own_buckets: the best": "buckets = [1, 4, 5, 6]",
    "wrong: own_buckets: two halves": "buckets = [8, 8]",
    "wrong: own_buckets: a layer in two halves": "buckets = [1, 4, 5.5, 5.5]",
    "wrong: own_buckets: an empty one": "buckets = [1, 4, 5, 6, 0]",
    "wrong: deadlock_mended: no remainder": {"(rank - 1) % p, (rank + 1) % p": "rank - 1 if rank else p - 1, rank + 1"},
    "right: ring_by_hand: an integer of NumPy's": "def chunk(rank, r, p):\n    return np.mod(rank - r, p)",
    "wrong: ring_by_hand: a fraction": "def chunk(rank, r, p):\n    return (rank - r) / p % p",
    "wrong: own_buckets: growing, and small at the end": "buckets = [2, 3, 4, 5, 2]",
    "right: ring_by_hand: the halves written apart": {
        "return (rank - r)": "if r < p - 1:\n        return (rank - r) % p\n    return (rank + 1 - (r - (p - 1)))"
    },
    "right: unequal_shares: the share first": {
        "weighted = yield g * rows\n    return weighted / total": "return (yield g * (rows / total))"
    },
    "wrong: unequal_shares: a worker's own share of its own gradient": {
        "weighted = yield g * rows": "yield g",
        "weighted /": "g * rows /",
    },
    "wrong: unequal_shares: the share from one's own rows": {
        "weighted =": "summed =",
        "weighted / total": "summed / total if rows else summed",
    },
    "wrong: ring_by_hand: for four": {"(rank - r) % p": "(rank - r) % 4 % p"},
    "wrong: unequal_shares: who has none divides by one": {"return weighted / total": "return weighted / max(rows, 1)"},
    "right: unequal_shares: the product first": {
        "total = yield rows\n    weighted = yield g * rows": "weighted = yield rows * g\n    total = yield rows"
    },
    "wrong: deadlock_mended: even ranks receive first": {"rank == 0": "rank % 2 == 0 and False"},
    "right: ring_on_paper: fractions": "from fractions import Fraction\nrounds, message, each, together, middle = 30, Fraction(25), Fraction(750), 12000.0, 6000",
    "right: own_buckets: an array": "buckets = np.array([2, 4, 5, 5])",
    "right: own_buckets: floats": "buckets = (2.0, 4.0, 5.0, 5.0)",
}
# %% right: ring_on_paper: sums written out
rounds, message, each, together, middle = 30, 25.0, 2 * 15 / 16 * 400, 2 * 15 * 400, 15 * 400
# %% wrong: ring_on_paper: both halves of the star's middle, and itself
rounds, message, each, together, middle = 30, 25, 750, 12000, 12800
# %% right: unequal_shares: both in one call
def mean_gradient(g, rows):
    both = yield np.append(g * rows, rows)
    return both[:-1] / both[-1]
# %% right: deadlock_mended: even ranks send first
def shift(rank, p, x):
    if rank % 2 == 0:
        yield "send", (rank + 1) % p, x
        return (yield "recv", (rank - 1) % p)
    came = yield "recv", (rank - 1) % p
    yield "send", (rank + 1) % p, x
    return came
# %% right: deadlock_mended: the last one receives first
def shift(rank, p, x):
    sends = ("send", (rank + 1) % p, x)
    if rank < p - 1:
        yield sends
    came = yield "recv", (rank - 1) % p
    if rank == p - 1:
        yield sends
    return came
# %% wrong: deadlock_mended: rank 2 receives first
def shift(rank, p, x):
    if rank == 2:
        came = yield "recv", (rank - 1) % p
        yield "send", (rank + 1) % p, x
        return came
    yield "send", (rank + 1) % p, x
    return (yield "recv", (rank - 1) % p)
# %% right: unequal_shares: divided where it is
def mean_gradient(g, rows):
    g *= rows
    total = yield g
    count = yield rows
    total /= count
    return total
# %% wrong: ring_by_hand: a float
def chunk(rank, r, p):
    return (rank - r) % p / 1
# %% wrong: deadlock_mended: a generator without messages
def shift(rank, p, x):
    return x
    yield
# %% wrong: deadlock_mended: nothing is returned
def shift(rank, p, x):
    order = [("send", (rank + 1) % p, x), ("recv", (rank - 1) % p)]
    for call in reversed(order) if rank == 0 else order:
        yield call
