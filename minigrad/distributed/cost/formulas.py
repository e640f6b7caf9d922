"""Training at scale by the papers' formulas: bytes of a worker, FLOPs of all workers, lost time, and collectives.

Collectives are in the alpha-beta model: a message of n bytes takes α + nβ seconds between any two workers.
A worker sends one message and receives one at a time. p workers have n bytes each; adding a byte takes γ seconds. With
alpha=1 and beta=0 the cost is the number of messages of the busiest worker, with alpha=0 and beta=1 their bytes.

    Thakur, Rabenseifner, Gropp 2005, “Optimization of collective communication operations in MPICH”, §3 and 4
    Patarasuk, Yuan 2009, “Bandwidth optimal all-reduce algorithms for clusters of workstations”, §3
"""

from __future__ import annotations

from math import exp, sqrt

from ..algorithms import ALL_REDUCE


def above_zero(**numbers: float) -> None:
    """Raise ValueError unless all numbers are above 0."""
    for name, x in numbers.items():
        if not x > 0:
            raise ValueError(f"{name} must be above 0, and got {x}")


def zero_bytes(
    parameters: float, workers: int = 1, stage: int = 0, weight: int = 2, gradient: int = 2, optimizer: int = 12
) -> float:
    """Bytes of a worker: 2Ψ + 2Ψ + KΨ for parameters, gradients, optimizer. ZeRO s divides the last s terms by N.

    K is 4 + 4 + 4 for Adam in mixed precision: a float32 copy, m and v. Rajbhandari et al. 2020, “ZeRO”, figure 1.

    >>> [round(zero_bytes(7.5e9, 64, stage) / 1e9, 1) for stage in (0, 1, 2, 3)]
    [120.0, 31.4, 16.6, 1.9]
    """
    above_zero(parameters=parameters, workers=workers)
    if stage not in (0, 1, 2, 3):
        raise ValueError(f"ZeRO has the stages 0, 1, 2 and 3, and got {stage!r}")
    bytes_from_stage = (weight, 3), (gradient, 2), (optimizer, 1)
    return sum(parameters * x / (workers if stage >= first else 1) for x, first in bytes_from_stage)


def activation_bytes(
    sequence: int, batch: int, hidden: int, heads: int, tensor: int = 1, split: bool = False, recompute: str = "none"
) -> float:
    """Bytes a transformer layer saves: sbh (10 + 24/t + 5as/(ht)); sbh (34 + 5as/h)/t if the sequence is split.

    recompute="selective" drops 5as/h, the attention's scores; "full" leaves 2sbh. Korthikanti et al. 2022,
    “Reducing activation recomputation in large transformer models”, table 2. arXiv:2205.05198
    """
    above_zero(sequence=sequence, batch=batch, hidden=hidden, heads=heads, tensor=tensor)
    if recompute not in ("none", "selective", "full"):
        raise ValueError(f"recompute is 'none', 'selective' or 'full', and got {recompute!r}")
    sbh, scores = sequence * batch * hidden, 5 * heads * sequence / hidden * (recompute == "none")
    return 2 * sbh if recompute == "full" else sbh * (10 / (tensor if split else 1) + (24 + scores) / tensor)


def transformer_parameters(layers: int, hidden: int, vocabulary: int, sequence: int) -> float:
    """12 l h² (1 + 13/(12h) + (V + s)/(12lh)). Narayanan et al. 2021, “Megatron-LM”, eq. 2. arXiv:2104.04473"""
    above_zero(layers=layers, hidden=hidden, vocabulary=vocabulary, sequence=sequence)
    return 12 * layers * hidden**2 * (1 + 13 / (12 * hidden) + (vocabulary + sequence) / (12 * layers * hidden))


def transformer_flops(
    batch: int, sequence: int, layers: int, hidden: int, vocabulary: int, recompute: bool = True
) -> float:
    """96 B s l h² (1 + s/(6h) + V/(16lh)); 72, and V/(12lh), if nothing is recomputed. Narayanan et al. 2021, eq. 3."""
    above_zero(batch=batch, sequence=sequence, layers=layers, hidden=hidden, vocabulary=vocabulary)
    all_layers, head = (96, 16) if recompute else (72, 12)
    each = 1 + sequence / (6 * hidden) + vocabulary / (head * layers * hidden)
    return all_layers * batch * sequence * layers * hidden**2 * each


def training_flops(parameters: float, tokens: float, recompute: bool = False) -> float:
    """6ND, by Hoffmann et al. 2022, arXiv:2203.15556; 8ND if forward is recomputed, by Narayanan et al. 2021, eq. 4."""
    above_zero(parameters=parameters, tokens=tokens)
    return (8 if recompute else 6) * parameters * tokens


def mfu(tokens_per_second: float, parameters: float, peak: float, attention: float = 0) -> float:
    """Tokens a second · (6N + 12 L (HQ) T) / peak of all workers; attention is L (HQ) T: layers, width, tokens.

    Chowdhery et al. 2022, “PaLM”, appendix B. arXiv:2204.02311
    """
    above_zero(tokens_per_second=tokens_per_second, parameters=parameters, peak=peak)
    return tokens_per_second * (6 * parameters + 12 * attention) / peak


def checkpoint_interval(checkpoint: float, mtbf: float) -> float:
    """√(2δM): seconds of work between checkpoints that take δ, with a failure every M seconds. Young 1974."""
    above_zero(checkpoint=checkpoint, mtbf=mtbf)
    return sqrt(2 * checkpoint * mtbf)


def expected_seconds(work: float, interval: float, checkpoint: float, restart: float, mtbf: float) -> float:
    """M e^(R/M) (e^((τ + δ)/M) − 1) T/τ: mean seconds for this work, with failures equally likely at any time.

    Daly 2006, “A higher order estimate of the optimum checkpoint interval for restart dumps”, §3.
    """
    above_zero(work=work, interval=interval, mtbf=mtbf)
    return mtbf * exp(restart / mtbf) * (exp((interval + checkpoint) / mtbf) - 1) * work / interval


# -- collectives, in the alpha-beta model ----------------------------------------------------------


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
