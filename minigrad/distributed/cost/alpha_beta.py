"""The cost of a collective in the alpha-beta model: a message of n bytes takes α + nβ seconds between any two workers.

A worker sends one message and receives one at a time. p workers have n bytes each; adding a byte takes γ seconds. With
alpha=1 and beta=0 the cost is the number of messages of the busiest worker, with alpha=0 and beta=1 their bytes.

    Thakur, Rabenseifner, Gropp 2005, “Optimization of collective communication operations in MPICH”, §3 and 4
    Patarasuk, Yuan 2009, “Bandwidth optimal all-reduce algorithms for clusters of workstations”, §3
"""

from __future__ import annotations

from ..algorithms import ALL_REDUCE
from .formulas import above_zero


def all_reduce(n: float, p: int, alpha: float, beta: float, gamma: float = 0.0, algorithm: str = "ring") -> float:
    """Seconds until each worker has the sum.

    ring       2(p − 1)α + 2(p − 1)/p nβ + (p − 1)/p nγ       Patarasuk & Yuan 2009, §3: the fewest bytes
    tree       2⌈log₂ p⌉(α + nβ) + ⌈log₂ p⌉nγ                 to a root and back; Thakur et al. 2005, §4
    halving    2 log₂ p α + 2(p − 1)/p nβ + (p − 1)/p nγ      Rabenseifner's; Thakur et al. 2005, §4.5

    Halving needs a power of two. Other p cost 2(α + nβ) + nγ more: ranks beyond it send their data, and get the sum.

    >>> [round(1e3 * all_reduce(1e8, 64, 20e-6, 1e-10, algorithm=each), 2) for each in ALL_REDUCE]  # of 100 MB, ms
    [22.21, 120.24, 19.93]
    """
    power = 1 << (validate_collective(n, p, alpha, beta, gamma, algorithm=algorithm) - 1)
    if algorithm == "ring":
        return reduce_scatter(n, p, alpha, beta, gamma) + all_gather(n, p, alpha, beta)
    if algorithm == "tree":
        return broadcast(n, p, alpha, beta + gamma) + broadcast(n, p, alpha, beta)
    fold = (p > power) * (2 * (alpha + n * beta) + n * gamma)
    return 2 * (power.bit_length() - 1) * alpha + reduce_scatter(n, power, 0.0, 2 * beta, gamma) + fold


def reduce_scatter(n: float, p: int, alpha: float, beta: float, gamma: float = 0.0) -> float:
    """(p − 1)α + (p − 1)/p n(β + γ): each worker gets 1/p of the sum, by a ring. Thakur et al. 2005, §4.4.

    The same cost, without γ, holds for all_gather (§4.1), and for all_to_all, which works in pairs (§4.3).
    """
    validate_collective(n, p, alpha, beta, gamma)
    return (p - 1) * alpha + (p - 1) / p * n * (beta + gamma)


all_gather = all_to_all = reduce_scatter


def broadcast(n: float, p: int, alpha: float, beta: float) -> float:
    """⌈log₂ p⌉(α + nβ), by a binomial tree. Thakur et al. 2005, §4.2."""
    validate_collective(n, p, alpha, beta)
    return (p - 1).bit_length() * (alpha + n * beta)


def bus_bandwidth(n: float, p: int, seconds: float) -> float:
    """Bytes a second of each link, for a ring all-reduce that takes `seconds`: 2(p − 1)/p n/t, as in nccl-tests."""
    above_zero(seconds=seconds)
    return all_reduce(n, p, 0.0, 1.0) / seconds


def validate_collective(n: float, p: int, *seconds: float, algorithm: str = "ring") -> int:
    """The bit length of p. Raises ValueError for an impossible collective."""
    if algorithm not in ALL_REDUCE:
        raise ValueError(f"the algorithms of all_reduce are {', '.join(ALL_REDUCE)}, and got {algorithm!r}")
    if not (n >= 0 and isinstance(p, int) and p >= 1 and min(seconds, default=0) >= 0):
        got = f"n={n}, p={p}, {seconds}"
        raise ValueError(f"a collective needs n ≥ 0 bytes, p ≥ 1 workers and α, β, γ ≥ 0, and got {got}")
    return p.bit_length()
