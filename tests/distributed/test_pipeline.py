"""Pipelines: on two and three processes, and on one without MPI; and models cut into their stages."""

from itertools import combinations, pairwise
from runpy import run_path

import numpy as np
import pytest
from ranks import HERE, on_ranks

import minigrad as mg
from minigrad import nn
from minigrad.distributed import destroy_process_group, stages_of
from minigrad.distributed.pipeline import balance_stages

test_on_ranks = on_ranks("pipeline.py", 2, 3)


def test_alone():
    """The same program on a process that nobody started in parallel: its stages hand on by themselves."""
    try:
        for name, check in run_path(str(HERE / "programs" / "pipeline.py")).items():
            if name.startswith("check_"):
                check()
    finally:
        destroy_process_group()


def network():
    mg.manual_seed(0)
    return nn.Sequential({"a": nn.Linear(4, 64), "b": nn.Tanh(), "c": nn.Linear(64, 64), "d": nn.Linear(64, 2)})


def test_a_model_is_cut_where_parts_begin_and_keeps_its_names():
    model, x = network(), mg.ones(3, 4)
    parts = stages_of(model, ["c", "d"])

    assert [[*dict(part.named_children())] for part in parts] == [["a", "b"], ["c"], ["d"]]
    assert [name for part in parts for name in part.state_dict()] == [*model.state_dict()]
    y = x
    for part in parts:
        y = part(y)
    np.testing.assert_array_equal(y.numpy(), model(x).numpy())


def test_a_model_is_cut_by_what_there_is_to_do():
    """In parameters, of which c has 4,160 of 4,610, or in FLOPs."""
    assert [len(part) for part in stages_of(network(), 3)] == [1, 2, 1]
    wide = nn.Sequential(*(nn.Linear(8, 8) for _ in range(6)), *(nn.Tanh() for _ in range(6)))
    assert [len(part) for part in stages_of(wide, 2)] == [3, 9]
    assert [len(part) for part in stages_of(wide, 2, (5, 8))] == [3, 9]
    assert [len(part) for part in stages_of(wide, 1)] == [12]


def test_the_largest_stage_is_as_small_as_can_be():
    """Beside every other cut."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        costs = rng.integers(0, 9, rng.integers(1, 9)).tolist()
        n = int(rng.integers(1, len(costs) + 1))

        def largest(cuts, costs=costs):
            return max(sum(costs[i:j]) for i, j in pairwise([0, *cuts, len(costs)]))

        assert largest(balance_stages(costs, n)) == min(map(largest, combinations(range(1, len(costs)), n - 1)))


@pytest.mark.parametrize(("stages", "match"), [
    (5, "4 parts can be cut into 1 to 4 stages, not 5"), (0, "stages, not 0"),
    (["d", "c"], r"in order, among \['b', 'c', 'd'\]: got \['d', 'c'\]"), (["a"], "begin with different parts"),
    (["e"], "begin with different parts"),
])  # fmt: skip
def test_what_is_no_cut_is_refused(stages, match):
    with pytest.raises(ValueError, match=match):
        stages_of(network(), stages)


def test_a_parameter_of_two_stages_is_refused():
    """Each process would have a copy, with a part of its gradient."""
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))
    model[2].weight = model[0].weight

    assert len(stages_of(model, 1)) == 1
    with pytest.raises(ValueError, match=r"parameter 2.weight of stage 1 is also one of stage 0"):
        stages_of(model, ["2"])
