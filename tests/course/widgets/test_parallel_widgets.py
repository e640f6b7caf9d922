"""The ring and the pipeline: what they show adds up."""

import re

import numpy as np
import pytest

from minigrad.course.widgets import AllReduce, Pipeline
from minigrad.course.widgets.all_reduce import WORKERS
from minigrad.course.widgets.pipeline import STACK
from minigrad.distributed.algorithms import ALL_REDUCE, messages, traffic
from minigrad.distributed.schedules import Step, Task, schedule
from tests.support.films import last_words


def played(n, algorithm):
    """The film of n workers."""
    return AllReduce().films[WORKERS.index(n) * len(ALL_REDUCE) + [*ALL_REDUCE].index(algorithm)]


def chunks(film):
    """Id → words, of the chunks that each worker holds at the end."""
    return {id: words for id, words in last_words(film["steps"]).items() if id[0] == "w"}


@pytest.mark.parametrize("algorithm", ALL_REDUCE)
@pytest.mark.parametrize("n", WORKERS)
def test_each_worker_ends_with_the_sum_of_every_chunk(n, algorithm):
    words = chunks(played(n, algorithm))

    assert words == {f"w{i}c{c}": str(c + 1) * n for i in range(n) for c in range(n)}


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

    assert "No worker sent more than 48 bytes, 1.5 times its vector" in said["ring"]
    assert "No worker sent more than 64 bytes, 2 times its vector" in said["tree"]
    assert "No worker sent more than 48 bytes, 1.5 times its vector" in said["halving"]


def test_what_is_no_number_is_passed_on_as_what_it_is():
    nan, inf = float("nan"), float("inf")
    widget = AllReduce([[nan, inf], [2, -inf]])
    words = chunks(widget.films[0])

    assert "worker 0: nan, inf; worker 1: 2, −inf" in widget.text
    assert words == {"w0c0": "nan", "w1c0": "nan", "w0c1": "nan", "w1c1": "nan"}


def test_gradients_of_ones_own_are_cut_into_chunks():
    widget = AllReduce([[1, 2, 3, 4, 5], [10, 20, 30, 40, 50]])
    words = chunks(widget.films[0])

    assert widget.steps[0]["say"].endswith("The number of a chunk is the sum of its elements.")
    assert "sum of its elements" not in AllReduce([[1, 2], [3, 4]]).text
    assert ["sum of<" in AllReduce(xs).svg for xs in ([[1, 2], [3, 4]], [[1, 2, 3], [3, 4, 5]])] == [False, True]
    assert words["w0c0"] == words["w1c0"] == "33"  # 1 + 2 + 10 + 20, as the algorithm cuts
    assert words["w0c1"] == words["w1c1"] == "132"
    numbers = re.findall("worker 0: .+; worker 1: .+", widget.text)
    assert [numbers[0], numbers[-1]] == ["worker 0: 3, 12; worker 1: 30, 120", "worker 0: 33, 132; worker 1: 33, 132"]


@pytest.mark.parametrize("algorithm", ALL_REDUCE)
def test_the_bytes_on_the_wire_are_those_that_the_algorithm_sends(algorithm):
    widget = AllReduce(np.ones((4, 65)))
    film = widget.films[[*ALL_REDUCE].index(algorithm)]
    words = last_words(film["steps"])
    sent = [8 * elements for _, elements in traffic(ALL_REDUCE[algorithm], 4, 65)]

    assert [words.get(f"b{i}", "0") for i in range(4)] == [f"{size:,}" for size in sent]
    assert words["total"] == f"{sum(sent):,} of {sum(sent):,} bytes sent"
    assert f">Each sends ≤ {max(sent):,} bytes<" in film["panels"][1]["html"]
    assert film["panels"][1]["html"].count("; naive: ≤ 1,560<") == film["panels"][1]["html"].count(">1,560<") == 1
    assert film["panels"][1]["html"].count("mg-naive") == 1  # of worker 0: other bars ran over theirs


def rectangles(drawn: str, pattern: str) -> list[list[float]]:
    return [[*map(float, each)] for each in re.findall(pattern, drawn)]


@pytest.mark.parametrize("algorithm", ALL_REDUCE)
@pytest.mark.parametrize("n", [4, 5, 6])
def test_an_arrow_tells_what_its_message_does_to_the_first_chunk(algorithm, n):
    """It told the number of the chunk, and one had to look for the numbers in the table."""
    film = played(n, algorithm)
    drawn = film["panels"][0]["html"]
    held = {f"w{i}c{c}": str((c + 1) * 10**i) for i in range(n) for c in range(n)}
    for r, every in enumerate(messages(ALL_REDUCE[algorithm], n, n), 1):
        sent = [m for m in every if n == 4 or m.part.stop - m.part.start in (1, n)]
        labels = re.findall("class='mg-name'[^>]*>([^<]+)", drawn.partition(f"data-id='r{r}'")[2])[: len(sent)]
        after = held | film["steps"][r]["text"]
        for m, label in zip(sent, labels, strict=True):
            came, here = f"w{m.source}c{m.part.start or 0}", f"w{m.to}c{m.part.start or 0}"
            equation = f"{held[came]} + {held[here]} → {after[here]}" if m.add else after[here]
            assert label.removesuffix(" …") == equation
        held = after


def test_a_label_of_an_arrow_covers_no_box_no_tip_and_no_other_label():
    """With six workers, half of "chunk 3" was under a box. Labels hid the tips of arrows: nobody saw which way."""
    for film in AllReduce().films:
        drawn = film["panels"][0]["html"]
        boxes = [(x, y, x + w, y + h) for x, y, w, h in rectangles(drawn, "mg-worker' d='M(.+?),(.+?)h(.+?)v(.+?)H")]
        for each in drawn.split("mg-round")[1:]:
            names = list[tuple[float, float, float, float]]()
            for thin, *place in re.findall("mg-cargo( mg-thin)?' d='M(.+?),(.+?)h(.+?)'", each):
                half, (x, y, wide) = 9 if thin else 17, map(float, place)
                names.append((x - half, y - half, x + wide + half, y + half))
            tips = [(x - 2, y - 2, x + 2, y + 2) for x, y in rectangles(each, r"L(\d+),(\d+)L\d+,\d+'/>")]
            assert len(names) == len(tips) > 0
            for k, (left, top, right, bottom) in enumerate(names):
                assert min(left, top, 490 - right, 386 - bottom) >= 0
                for area in [*boxes, *tips, *names[:k]]:
                    assert right <= area[0] or left >= area[2] or bottom <= area[1] or top >= area[3], each


def test_the_still_of_a_ring_shows_the_round_that_completes_a_chunk_for_each():
    still = AllReduce().svg

    assert [still.count(f">{words}<") for words in ("Round 3 of 6", "24", "1110", "1110 + 1 → 1111")] == [1, 4, 2, 1]
    assert still.count("mg-round mg-on") == 1


@pytest.mark.parametrize(
    ("gradients", "match"),
    [([[1, 2]], "2 to 6 vectors"), ([[1, 2], [1]], "of equal length"), ([[1], [1]], "has only 1 elements")],
)
def test_gradients_that_make_no_ring_are_refused(gradients, match):
    with pytest.raises(ValueError, match=match):
        AllReduce(gradients)


def test_each_choice_is_a_film_of_its_own():
    widget = Pipeline()
    assert len(widget.films) == 3 * 4
    widget.choice = [2, 2]

    said = widget.steps[-1]["say"]
    assert said.startswith("21 units of time, of which a stage waits for 42.9 percent, the bubble")
    assert said.endswith("kept, by stage: GPipe: 4, 4, 4, 4; 1F1B: 4, 3, 2, 1.")
    blocks = widget.films[np.ravel_multi_index(widget.choice, (3, 4))]["panels"][0]["html"]
    assert [blocks.count(f"mg-box mg-{look}'") for look in ("forward", "backward")] == [32, 32]
    assert [blocks.count(f">{words}<") for words in ("42.9 %", "≤ 4", "keeps ≤ 4", "keeps ≤ 1")] == [2, 2, 5, 1]
    assert blocks.index("mg-stack") < blocks.index("mg-cover")  # which hides the future: the stacks were full at first
    stacks = re.findall(r"mg-stack' d='M0,([\d.]+)([^']+)", blocks)
    highest = [(float(y) - min(map(float, re.findall(r"V([\d.]+)", path)))) / STACK for y, path in stacks]
    assert highest == pytest.approx([1, 1, 1, 1, 1, 3 / 4, 2 / 4, 1 / 4], abs=0.05)  # GPipe, then 1F1B
    assert widget.steps[5]["say"].startswith("Time 4. GPipe: stage 1 forward 3, stage 2 forward 2, ")
    assert widget.steps[5]["say"].endswith("stage 3 forward 1. 1F1B: stage 3 backward 0.")


def test_a_measured_run_is_drawn_as_it_ran():
    """Two processes, one microbatch, in seconds: they wait for 16 of the 30 ms of both."""
    forward, backward = Step("forward", 0), Step("backward", 0)
    tasks = [(0, forward, 5.0, 5.002), (1, forward, 5.003, 5.005)]
    tasks += [(1, backward, 5.005, 5.01), (0, backward, 5.01, 5.015)]
    widget = Pipeline([Task(*task) for task in tasks])

    assert [step["say"] for step in widget.steps[1:-1]] == [
        "Time 0 ms. measured: stage 0 forward 0.", "Time 3 ms. measured: stage 1 forward 0.",
        "Time 5 ms. measured: stage 1 backward 0.", "Time 10 ms. measured: stage 0 backward 0.",
    ]  # fmt: skip
    assert widget.steps[-1]["say"] == (
        "15 ms, of which a stage waits for 53.3 percent, the bubble; (p − 1) / (m + p − 1) is 50 percent. The most "
        "micro-batches whose activations are kept, by stage: measured: 1, 1."
    )
    assert ">53.3 %<" in widget.svg
    counted = [last_words(widget.films[0]["steps"], n) for n in (3, 4)]
    assert [words["all0"] for words in counted] == ["20 %", "36.7 %"]  # stage 0 still waits at 5 ms
    assert widget.index == len(widget.steps) - 1


def test_a_schedule_of_ones_own_is_drawn_with_its_chunks():
    widget = Pipeline(schedule("1f1b", 2, 2, 2))

    assert "worker 1 forward 1a" in widget.text
    assert "p = 1 stage, m = 2 micro-batches" in Pipeline(schedule("GPipe", 1, 2)).text
    covers = [step["hot"]["now"] for step in Pipeline(schedule("1F1B", 4, 8)).steps[1:-1]]
    assert len({id for (id,) in covers}) == len(covers)
    with pytest.raises(ValueError, match="this run has none"):
        Pipeline([])
    assert "15 units of time, of which a worker waits for 20 percent" in widget.text
    assert "in a chunk whose activations are kept, by stage: interleaved 1F1B: 4, 3" in widget.text
    assert "kept" not in Pipeline(schedule("1f1b", 2, 2).forward_only()).text


def test_a_worker_without_a_task_waits_all_the_time_and_keeps_nothing():
    forward, backward = Step("forward", 0), Step("backward", 0)
    tasks = [Task(0, forward, 0.0, 0.001), Task(2, forward, 0.001, 0.002), Task(2, backward, 0.002, 0.004)]
    for run, kept in (tasks[:2], []), (tasks, ["keeps ≤ 1", "keeps ≤ 0", "keeps ≤ 1"]):
        assert re.findall("keeps ≤ .", Pipeline(run).svg) == kept


def test_where_there_are_no_widgets_the_picture_and_the_words_are_of_the_same_choice():
    ring = AllReduce()

    for n, workers in enumerate(WORKERS):
        ring.choice = [n, 0]

        assert ring.svg.count(">worker ") == 3 * workers  # on the ring, in the table, and beside the bars
        assert f"{workers} workers, each with" in ring.text
