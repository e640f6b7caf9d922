"""The ring and the pipeline: what they show adds up."""

import itertools

import numpy as np
import pytest

from minigrad.distributed.algorithms import ALL_REDUCE, messages
from minigrad.widgets import AllReduce, Pipeline
from minigrad.widgets.all_reduce import WORKERS
from minigrad.widgets.pipeline import BACKWARD, FORWARD, MICRO, SCHEDULES, STAGES, most_kept, scheduled

SHAPES = [*itertools.product(STAGES, MICRO, SCHEDULES)]


def last_words(film):
    words = {}
    for step in film["steps"]:
        words |= step.get("text", {})
    return words


def played(n, algorithm):
    """The film of n workers."""
    return AllReduce().films[WORKERS.index(n) * len(ALL_REDUCE) + [*ALL_REDUCE].index(algorithm)]


@pytest.mark.parametrize("algorithm", ALL_REDUCE)
@pytest.mark.parametrize("n", WORKERS)
def test_each_worker_ends_with_the_sum_of_every_chunk(n, algorithm):
    words = last_words(played(n, algorithm))

    assert words == {f"w{i}c{c}": str(n * (n + 1) // 2) for i in range(n) for c in range(n)}


@pytest.mark.parametrize("algorithm", ALL_REDUCE)
@pytest.mark.parametrize("n", WORKERS)
def test_the_messages_that_are_shown_are_those_of_the_algorithm(n, algorithm):
    _, *shown, last = played(n, algorithm)["steps"]
    rounds = [*messages(ALL_REDUCE[algorithm], n, n)]
    sent = [m for each in rounds for m in each]

    assert len(shown) == len(rounds)
    for step, messages_of_round in zip(shown, rounds):
        arrived = [f"w{m.to}c{c}" for m in messages_of_round for c in range(n)[m.part]]
        left = [f"w{m.source}c{c}" for m in messages_of_round for c in range(n)[m.part]]
        assert (step["hot"]["hot"], step["hot"]["source"]) == (arrived, left)
        assert f"{len(messages_of_round)} message" in step["say"]
    assert f"after {len(rounds)} rounds and {len(sent)} messages" in last["say"]


def test_a_ring_of_four_sends_one_and_a_half_vectors_and_a_tree_two():
    said = {name: played(4, name)["steps"][-1]["say"] for name in ALL_REDUCE}

    assert "6 messages with 6 chunks of 1/4, which is 1.5 times its vector" in said["ring"]
    assert "2 messages with 8 chunks of 1/4, which is 2 times its vector" in said["tree"]
    assert "4 messages with 6 chunks of 1/4, which is 1.5 times its vector" in said["halving"]


def test_what_is_no_number_is_passed_on_as_what_it_is():
    nan, inf = float("nan"), float("inf")
    words = last_words(AllReduce([[nan, inf], [2, -inf]]).films[0])

    assert words == {"w0c0": "nan", "w1c0": "nan", "w0c1": "nan", "w1c1": "nan"}


def test_gradients_of_ones_own_are_cut_into_chunks():
    gradients = [[1, 2, 3, 4, 5], [10, 20, 30, 40, 50]]
    words = last_words(AllReduce(gradients).films[0])

    assert words["w0c0"] == words["w1c0"] == "66"  # 1 + 2 + 3 + 10 + 20 + 30
    assert words["w0c1"] == words["w1c1"] == "99"


@pytest.mark.parametrize(
    ("gradients", "match"),
    [([[1, 2]], "2 to 6 workers"), ([[1, 2], [1]], "of one length"), ([[1], [1]], "has only 1 numbers")],
)
def test_gradients_that_make_no_ring_are_refused(gradients, match):
    with pytest.raises(ValueError, match=match):
        AllReduce(gradients)


@pytest.mark.parametrize(("stages", "micro", "schedule"), SHAPES)
def test_a_pipeline_does_everything_once_and_nothing_before_its_time(stages, micro, schedule):
    tasks = scheduled(stages, micro, schedule)
    end = {(t.stage, t.micro, t.is_forward): t.end for t in tasks}

    assert len(tasks) == len(end) == 2 * stages * micro
    for t in tasks:
        before = (t.stage - 1, t.micro, True) if t.is_forward else (t.stage + 1, t.micro, False)
        assert t.start >= end.get(before, 0)
        assert t.is_forward or t.start >= end[t.stage, t.micro, True]
    for stage in range(stages):
        mine = sorted((t for t in tasks if t.stage == stage), key=lambda t: t.start)
        assert all(a.end <= b.start for a, b in itertools.pairwise(mine))


@pytest.mark.parametrize(("stages", "micro", "schedule"), SHAPES)
def test_the_bubble_is_that_of_the_papers_and_1f1b_keeps_less(stages, micro, schedule):
    tasks = scheduled(stages, micro, schedule)

    assert max(t.end for t in tasks) == (micro + stages - 1) * (FORWARD + BACKWARD)
    assert most_kept(tasks, 0) == (micro if schedule == "GPipe" else min(micro, stages))


def test_each_choice_is_a_film_of_its_own():
    widget = Pipeline()
    assert len(widget.films) == len(SHAPES)
    widget.choice = [2, 2, 1]

    assert widget.steps[-1]["say"].startswith(
        "21 units of time, of which each stage works 12: it waits for 42.9 percent"
    )
    assert "up to 4 micro-batches" in widget.steps[-1]["say"]
    blocks = widget.films[np.ravel_multi_index(widget.choice, (3, 4, 2))]["panels"][0]["html"]
    assert blocks.count("data-id") == 2 * 4 * 4


@pytest.mark.parametrize("widget", [AllReduce, Pipeline])
def test_where_nothing_can_be_stepped_there_is_a_picture_and_every_sentence(widget):
    data, _ = widget()._repr_mimebundle_()

    assert data["image/svg+xml"].startswith("<svg")
    assert "<style>" in data["image/svg+xml"]
    assert all(step["say"] in data["text/plain"] for step in widget().steps)


def test_where_there_are_no_widgets_the_picture_and_the_words_are_of_the_same_choice():
    ring = AllReduce()

    for n, workers in enumerate(WORKERS):
        ring.choice = [n, 0]

        assert ring.svg.count(">worker ") == workers
        assert f"{workers} workers, each with" in ring.text
