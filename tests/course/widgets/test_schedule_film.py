"""Ops on workers: the film is the compiler's schedule, and its sums are right."""

import re
from itertools import product

import pytest

import minigrad as mg
from minigrad.course.widgets import Schedule
from minigrad.course.widgets.recording import TooLong
from minigrad.course.widgets.schedule import END, LEFT, ROOM, TOP, WIDE
from minigrad.draw.words import took
from minigrad.graph.compiler.schedule import BANDWIDTH, HANDOVER, OVERHEAD, critical_path, estimate, schedule
from tests.support.endless_functions import endless, stubborn
from tests.support.table import table

N = 256
A, B, C = (mg.ones(N, N) for _ in range(3))


def branches(a, b, c):
    left = (a @ b).tanh()
    right = (b @ c).exp()
    return (left + right).sum()


@pytest.fixture(scope="module")
def widget():
    return Schedule(branches, A, B, C)


def test_the_slots_are_those_of_the_compilers_schedule(widget):
    graph = mg.function(branches).graph_for(A, B, C)
    for n in (1, 2, 4):
        ours, its = widget.schedules[n, "estimated"], schedule(graph, n)
        assert [(s.worker, s.start, s.end) for s in ours.slots] == [(s.worker, s.start, s.end) for s in its.slots]
        assert ours.path == its.path == pytest.approx(sum(map(estimate, critical_path(graph))))


def test_two_branches_run_at_once_on_two_workers(widget):
    plan = widget.schedules[2, "estimated"]
    products = [slot for slot in plan.slots if slot.node.op.kind == "MatMul"]
    each = 1e-6 + 2 * N**3 / 4e10  # an overhead, and FLOPs at 40 G a second

    assert [slot.worker for slot in products] == [0, 1]
    assert [slot.start for slot in products] == [0, HANDOVER]
    assert all(slot.end - slot.start == pytest.approx(each) for slot in products)


@pytest.mark.parametrize("workers", [True, [2, 2], [0], []])
def test_workers_are_numbers_each_once(workers):
    with pytest.raises(ValueError, match="distinct integers from 1 to 8"):
        Schedule(branches, A, B, C, workers=workers)


def test_the_bound_is_all_work_over_the_critical_path(widget):
    plan = widget.schedules[2, "estimated"]
    ratio = f"{plan.alone / plan.path:.3g}"

    assert widget.choice == [1, 0]  # two workers, estimated
    assert f"no number of workers is more than {ratio} times as fast" in widget.steps[0]["say"]
    assert f"the bound is {ratio}" in widget.steps[-1]["say"]
    assert f"{plan.alone / plan.seconds:.3g} times as fast as one worker alone" in widget.steps[-1]["say"]


def test_every_block_is_planned_at_first_and_filled_in_once_and_every_line_darkens_once(widget):
    for film in widget.films:
        html = film["panels"][0]["html"]
        for letter, look in (("o", "outlined"), ("d", "weak")):
            parts = set(re.findall(rf'data-id="({letter}[\d.]+)"', html))
            shown = [part for step in film["steps"] for part in step.get("off", {}).get(look, ())]
            assert sorted(shown) == sorted(set(shown)) == sorted(parts)
            assert set(film["steps"][0]["on"][look]) == parts


def test_there_is_an_arrow_where_one_worker_waits_for_another(widget):
    for plan, film in zip(widget.schedules.values(), widget.films):
        found = set(re.findall(r'class="mg-arrow mg-handover" data-id="d(\d+)\.(\d+)"', film["panels"][0]["html"]))
        slots = sorted((s for s in plan.slots if not s.node.op.is_view), key=lambda slot: (slot.start, slot.worker))
        pairs = product(enumerate(slots), repeat=2)
        needed = {(str(i), str(j)) for (i, x), (j, y) in pairs if x.node in y.node.inputs and x.worker != y.worker}
        assert found == needed
    # The sentence named √ alone: it forgot the hand-over.
    text = Schedule(lambda x: x.exp().sin().tanh() * x.cos().exp().sqrt(), mg.ones(300, 300)).text
    assert re.search(r"needed are tanh, .* by worker 0 and handed over at 239 µs, and √, done at 239 µs", text)


def test_the_table_has_what_an_op_waits_for_and_the_legend_what_a_block_means(widget):
    drawing, numbers = (panel["html"] for panel in widget.films[2]["panels"])
    needs = re.findall(r'row">(\d+)\. \S+(?: .critical.)?</th><td>([\d, ]*)</td>', numbers)
    arrows = {*re.findall(r'data-id="d(\d+)\.(\d+)"', drawing)}
    assert {(x, i) for i, each in needs for x in each.split(", ") if x} == arrows
    assert all(f">{words}</text>" in drawing for words in ("on the critical path", "other op", "not begun", "idle"))


def test_the_bound_is_a_line_in_the_picture(widget):
    for (n, _), (plan, film) in zip(widget.schedules, zip(widget.schedules.values(), widget.films)):
        html = film["panels"][0]["html"]
        at = float(re.search(r'class="mg-roof mg-second" d="M([\d.]+),', html)[1])
        bound = max(plan.path, plan.alone / n)
        wide = WIDE - END - LEFT
        whole = max(plan.alone, plan.seconds * wide / (wide - ROOM * (n > 1)))  # the time of one worker, or more
        assert at == pytest.approx(LEFT + bound / whole * wide, abs=0.1)
        why = "critical path (blue)" if bound == plan.path else f"all work / {n}"
        assert f">{why}, {took(bound)}: no plan ends before this line<" in html


def test_lines_never_go_back_in_time(widget):
    for film in widget.films:
        lines = re.findall(
            r'data-id="d[\d.]+"><path d="M([\d.]+),[\d.]+(?:L|C\S+ \S+ )([\d.]+),', film["panels"][0]["html"]
        )
        assert lines
        assert all(float(start) <= float(end) + 0.1 for start, end in lines)


def test_measured_times_are_of_the_same_ops(widget):
    taken = widget.schedules[2, "measured"]

    assert {slot.node for slot in taken.slots} == {slot.node for slot in widget.schedules[2, "estimated"].slots}
    assert all(slot.end > slot.start for slot in taken.slots)
    assert repr(widget) == "Schedule(8 steps; The schedule of branches)"


def test_one_worker_is_never_idle_and_four_are(widget):
    film_of = dict(zip(widget.schedules, widget.films))

    assert 'data-id="idle"' not in film_of[1, "estimated"]["panels"][0]["html"]
    assert re.search(r">idle [\d.]+ .s</text>", film_of[4, "estimated"]["panels"][0]["html"])
    two = film_of[2, "estimated"]["panels"][0]["html"]
    assert f'mg-idle" d="M{LEFT + 3:.1f},' not in two  # worker 1 was idle while it was told to start
    assert two.count('mg-handover"') == two.count('mg-handover" data-id')  # one led to what needs nothing
    (told,) = re.findall(rf'mg-begins" d="M{LEFT},{TOP + 60}H([\d.]+)v', two.split("mg-down")[0])
    (first,) = re.findall(
        rf'o1"><title>[^<]*</title><rect class="mg-frame" x="([\d.]+)" y="{TOP + 60}.0"', two.split("mg-down")[0]
    )
    assert float(told) == pytest.approx(float(first), abs=1.1)
    plan = widget.schedules[2, "estimated"]
    waits = f"is idle or spent on starting them, {took(2 * plan.seconds - plan.alone)} in all."
    assert waits in film_of[2, "estimated"]["steps"][-1]["say"]
    assert "0 percent of the workers' time is idle" in film_of[1, "estimated"]["steps"][-1]["say"]
    x = mg.ones(round((HANDOVER - OVERHEAD) * BANDWIDTH / 16))  # exp takes as long as a hand-over
    assert "Telling" not in Schedule(lambda a, b: (a.exp(), b.exp()), x, x, workers=1).text


def test_the_first_sentence_is_short(widget):
    assert all(len(film["steps"][0]["say"]) < 260 for film in widget.films)


def test_the_static_picture_has_every_worker_and_says_what_is_gained(widget):
    plan = widget.schedules[2, "estimated"]

    assert {"worker 0", "worker 1", "2. tanh", "3. exp"} <= set(re.findall(r">([^<]+)</t(?:ext|itle)>", widget.svg))
    assert f'mg-huge" x="{WIDE - END}.00" y="101.00">{plan.alone / plan.seconds:.3g}×</text>' in widget.svg
    assert f">{took(plan.alone)} → {took(plan.seconds)}</text>" in widget.svg
    assert f">at most {plan.alone / plan.path:.3g}×</text>" in widget.svg
    assert "mg-down" not in widget.svg  # which is for a phone


def test_names_of_the_learner_are_escaped():
    def tag(x):
        return x + 1

    tag.__name__ = "<b>"

    assert "<b>" not in Schedule(tag, mg.ones(2)).page().split('<script type="application/json"')[0]


def test_a_view_is_no_block_and_lines_go_through_it_to_what_it_looks_at():
    film = Schedule(lambda a, b: (a @ b).T.exp().reshape(-1).sum(), A, B).films[0]
    html = film["panels"][0]["html"]

    assert re.findall(r'data-id="(o\d+)"', html) == ["o0", "o1", "o2"] * 2  # @, exp, sum: for a notebook and a phone
    assert re.findall(r'data-id="(d[\d.]+)"', html) == ["d0.1", "d1.2"] * 2
    assert "transpose" not in film["panels"][1]["html"]


def deep(x):
    for _ in range(100):
        x = x.tanh()
    return x


@table("args, options, error, match", [
    ((3, A), {}, TypeError, "expects a function"),
    ((endless, A), {}, TooLong, "has run 2000 lines while it was traced"),
    ((stubborn, A), {}, TooLong, "has run 2000 lines while it was traced"),
    ((deep, A), {}, ValueError, "1 to 60 ops, not counting views; this one has 100"),
    ((lambda x: x, A), {}, ValueError, "; this one has 0"),
    ((branches, A, B, C), {"workers": 0}, ValueError, "from 1 to 8"),
    ((branches, A, B, C), {"workers": ()}, ValueError, "from 1 to 8"),
])  # fmt: skip
def test_what_cannot_be_scheduled_is_refused_in_words(args, options, error, match):
    with pytest.raises(error, match=match):
        Schedule(*args, **options)


def test_it_does_nothing_to_the_learners_tensors_and_prints_nothing_when_measuring(capsys):
    net, x = mg.nn.Linear(3, 2), mg.ones(4, 3)

    def loss(x):
        mg.print("once")
        y = net(x).sum()
        y.backward()
        return y

    Schedule(loss, x)

    assert net.weight.grad is None
    assert capsys.readouterr().out == ""


def tripled(x):
    while x.sum() < 100:
        x = x * 3
    return x


def test_a_loop_whose_turns_are_not_known_is_scheduled_too():
    """The loop's estimated time was a formula, which could not be compared with numbers."""
    widget = Schedule(tripled, A[:2], workers=1)

    assert widget.steps[1]["say"].startswith("At 0 µs worker 0 begins while, (f64[2, 256], ")
    assert "1 worker, by time" in widget.svg
    assert widget.steps[0]["say"].endswith(" A loop is estimated as one small op.")
