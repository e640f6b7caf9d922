"""Cuts a network into stages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from ..nn.container import Sequential
from ..profiler.costs import estimate


def stages_of(model: Sequential, stages: int | Sequence[str], *inputs: Any) -> list[Sequential]:
    """Cut a model into stages, whose parameters keep their names.

    stages    names of the parts that begin the second, third, … stage; or the number of stages, to be balanced:
              the largest stage is as small as possible, in training FLOPs that `profiler.estimate` counts on these
              inputs, or in parameters if there are no inputs

    Raises ValueError if there is no such cut, or two stages would share a parameter.
    """
    names = [name for name, _ in model.named_children()]
    if not isinstance(stages, int):
        starts = [names.index(name) if name in names else 0 for name in stages]
    elif not 0 < stages <= len(names):
        raise ValueError(f"{len(names)} parts can be cut into 1 to {len(names)} stages, not {stages}")
    elif inputs:
        costs = estimate(model, *inputs).by_module
        starts = balance_stages([costs[f"{type(model).__name__}.{name}"].train_flops for name in names], stages)
    else:
        starts = balance_stages([sum(p.size for p in part.parameters()) for part in model], stages)
    if 0 in starts or starts != sorted({*starts}):
        raise ValueError(f"stages must begin with different parts, in order, among {names[1:]}: got {stages}")
    parts: list[Sequential] = [model[i:j] for i, j in pairwise([0, *starts, len(names)])]
    homes: dict[int, int] = {}  # id of a parameter → its stage
    for stage, part in enumerate(parts):
        for name, p in part.named_parameters():
            if homes.setdefault(id(p), stage) != stage:
                raise ValueError(
                    f"parameter {name} of stage {stage} is also one of stage {homes[id(p)]}, and each would learn a "
                    "copy of its own: cut where both are in one stage"
                )
    return parts


def balance_stages(costs: Sequence[int], n: int) -> list[int]:
    """The starts of the second, third, … of n consecutive runs of costs, such that the largest sum is minimal."""

    @cache
    def best(first: int, n: int) -> tuple[int, list[int]]:
        if n == 1:
            return sum(costs[first:]), []
        cuts = range(first + 1, len(costs) - n + 2)
        return min((max(sum(costs[first:cut]), best(cut, n - 1)[0]), [cut, *best(cut, n - 1)[1]]) for cut in cuts)

    return best(0, n)[1]
