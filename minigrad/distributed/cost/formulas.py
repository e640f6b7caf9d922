"""Training at scale by the papers' formulas: bytes of a worker, FLOPs of all workers, and lost time."""

from __future__ import annotations

from math import exp, sqrt


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
