"""The roofline: FLOPs and bytes are the engine's, and points lie where they were measured."""

import re
from dataclasses import replace
from math import log10

import numpy as np
import pytest

import minigrad as mg
from minigrad.course.widgets import Roofline
from minigrad.course.widgets.roofline import bounds, describe_bounds, verdict
from minigrad.draw.charts import BOTTOM, LEFT, RIGHT, TOP
from minigrad.draw.words import shorten, took
from minigrad.graph.compiler.passes.liveness import bytes_moved
from minigrad.graph.compiler.passes.pipeline import optimised
from minigrad.profiler import clock
from minigrad.profiler.machine import Machine, fastest
from minigrad.profiler.roofline import Point, axes, bottleneck, draw_roofline, in_cache, raise_roofs, share
from tests.support.table import table

ROOFS = "main memory", "in cache"
MACHINE = Machine(peak=1e11, memory=1e10, cache=1e11, call=1e-6)  # a ridge at 10 FLOPs a byte
W, X = mg.ones(64, 32), mg.ones(128, 64)


def f(x):
    return ((x @ W).tanh() * 2 + 1).sum()


@pytest.fixture(scope="module")
def widget():
    return Roofline(f, X, machine=MACHINE)


def test_flops_and_bytes_are_counted_as_by_hand(widget):
    written = {point.name: point for point in widget.points["as written"]}

    assert written["@"].flops == 2 * 128 * 64 * 32
    assert written["@"].nbytes == 8 * (128 * 64 + 64 * 32 + 128 * 32)
    assert written["tanh"].flops == 128 * 32
    assert written["tanh"].nbytes == 2 * 8 * 128 * 32
    assert written["×"].nbytes == 2 * 8 * 128 * 32 + 8  # and a number
    assert all(point.seconds > 0 for point in written.values())


def test_the_bytes_are_those_of_the_compilers_account_before_and_after(widget):
    graph = mg.function(f).graph_for(X)

    for found, each in zip(widget.points.values(), (graph, optimised(graph))):
        assert sum(point.nbytes for point in found) == bytes_moved(each)


def test_what_is_broadcast_is_read_at_the_size_it_is_stored_in():
    slope = mg.func.grad(lambda x: (x * x.mean(0, keepdim=True)).tanh().mean())
    found = Roofline(slope, X, machine=MACHINE).points
    graph = mg.function(slope).graph_for(X)

    assert sum(point.nbytes for point in found["as written"]) == bytes_moved(graph)
    assert any(node.op.kind == "BroadcastTo" for node in graph.nodes)


def test_fusing_moves_fewer_bytes_for_as_many_flops(widget):
    written, fused = widget.points.values()

    assert len(fused) < len(written)
    assert sum(p.nbytes for p in fused) < sum(p.nbytes for p in written)
    assert sum(p.flops for p in fused) == sum(p.flops for p in written)
    assert any(p.name == "fused tanh × +" for p in fused)
    one, three = (
        took(sum(p.seconds for p in found if p.name in names))
        for found, names in ((fused, ["fused tanh × +"]), (written, ["tanh", "×", "+"]))
    )
    for film, name, time in zip(widget.films, ("if fused", "not fused"), (one, three)):
        assert re.search(rf">{name}</text>.*>{time}: [^<]*%</text>", film["panels"][1]["html"])


def test_a_bar_is_solid_as_far_as_the_op_would_take_at_its_roof(widget):
    for film, found in zip(widget.films, widget.points.values()):
        bars = re.findall(r'mg-time (?:mg-rest)?" d="M126,[\d.]+h([\d.]+)', film["panels"][1]["html"])
        longest = max(p.seconds for p in found)
        for p, wide, solid in zip(found, bars[::2], bars[1::2], strict=True):
            assert float(wide) == pytest.approx(150 * p.seconds / longest, abs=0.06)
            assert float(solid) == pytest.approx(share(p, MACHINE) * float(wide), abs=0.1)


def test_points_lie_where_they_were_measured(widget):
    every = [point for found in widget.points.values() for point in found]
    x, y = axes(every, MACHINE)
    for film, found in zip(widget.films, widget.points.values()):
        point = r'data-id="p(\d+)"><path[^>]*><g class="mg-badge[^>]*translate\(([\d.]+) ([\d.]+)\)'
        places = re.findall(point, film["panels"][0]["html"].split("mg-down")[1])  # the narrow one
        assert [int(i) for i, *_ in places] == [i for i, p in enumerate(found) if p.flops]
        for i, cx, cy in places:
            across = log10(found[int(i)].flops / found[int(i)].nbytes / x.low) / log10(x.high / x.low)
            up = log10(found[int(i)].flops / found[int(i)].seconds / y.low) / log10(y.high / y.low)
            assert float(cx) == pytest.approx(LEFT + across * (RIGHT - LEFT), abs=0.06)
            assert float(cy) == pytest.approx(BOTTOM - up * (BOTTOM - TOP), abs=0.06)


@table("point, says", [
    (Point("@", 10**9, 10**7, 0.0125), "80 percent of what main memory and peak allow. Arithmetic bounds it"),
    (Point("+", 10**6, 10**7, 0.00125), "80 percent of what main memory and peak allow. Main memory bounds it"),
    (Point("+", 10**6, 10**7, 0.000125), "80 percent of what the cache and peak allow. The cache bounds it: left"),
    (Point("@", 2 * 10**6, 2 * 10**5, 4e-5), "50 percent of what the cache and peak allow. Arithmetic bounds it"),
    (Point("exp", 10**6, 10**7, 0.01), "10 percent of what main memory and peak allow. Neither roof: Python"),
    (Point("@", 10**9, 10**7, 0.04), "25 percent of what main memory and peak allow. Neither roof"),
    (Point("+", 10, 160, 1.5e-6), "the call itself is the bound"),
    (Point("gather", 0, 10**7, 0.001), "10 GB/s, 100 percent of what main memory allows. Main memory bounds it."),
    (Point("randomuniform", 0, 40, 5e-5), "percent of what the cache allows. Neither roof: Python"),
])  # fmt: skip
def test_what_bounds_an_op_is_said(point, says):
    assert says in verdict(point, MACHINE)


def test_memory_does_not_bound_a_function_if_another_op_moves_as_many_bytes_faster():
    """tanh had 80 % of main memory's roof, or 8 % of the cache's: a slow op in the cache had the lower roof."""
    tanh, times = Point("tanh", 10**6, 10**7 + 8, 0.00125), Point("×", 10**6, 10**7, 0.000125)

    for peer in (times, replace(times, nbytes=10**8, seconds=0.00125)):
        found = mg.profiler.Roofline("f", MACHINE, {"as written": [tanh, peer]})
        assert "8 percent of what the cache and peak allow. Neither roof: Python" in verdict(tanh, found.machine)
        assert {row[-1] for row in found.tables[0].rows} == {"neither   8.0%", "cache  80.0%"}


def test_an_op_of_few_flops_a_byte_does_not_measure_the_peak():
    """sum was bounded by arithmetic, at 0.125 FLOPs a byte: the peak was its own speed, as @ was slow."""
    add, total = (Point("sum", int(each * 10**6), 10**6, 1e-5) for each in (0.05, 0.125))
    roofs = raise_roofs(Machine(1e9, 1e9, 9e10, 0), [add, total, Point("@", 10**8, 10**6, 0.05)])

    assert (roofs.peak, roofs.cache) == pytest.approx((12.5e9, 1e11))
    assert "Arithmetic" not in verdict(replace(total, seconds=2e-5), replace(roofs, peak=2e10))
    assert (
        "96 percent by arithmetic (@); 3 percent by neither roof (exp); 1 percent by main memory (+)."
        in describe_bounds(
            [Point("@", 10**9, 10**7, 0.01), Point("exp", 1, 10**7, 0.000295), Point("+", 10**5, 10**6, 1.5e-4)],
            MACHINE,
        )
    )
    ops = Point("@", 10**10, 10**8, 0.0673), Point("exp", 1, 10**7, 0.01537), Point("+", 10**5, 35 * 10**6, 0.00387)
    assert [percent for _, percent, _ in bounds(ops, MACHINE)] == ["78", "18", "4"]  # it was 17, of 17.7


def test_marks_in_one_place_are_named_by_their_numbers_where_their_names_do_not_fit():
    """A mark that lay under another was nowhere in the picture."""
    found = [Point(name, flops, 1048576, s) for name, flops, s in (
        ("@", 2 * 10**7, 5e-4), ("+", 65536, 2.6e-5), ("tanh", 65536, 1.3e-4), ("×", 65536, 1.4e-5),
        ("+", 65536, 1.4e-5), ("sum", 131072, 1.2e-5),
    )]  # fmt: skip
    x, y = axes(found, machine := Machine(6.3e10, 6e9, 9.2e10, 1e-6))
    labels = re.findall(r'mg-halo"[^>]*>([^<]+)', draw_roofline(found, machine, replace(x, end=600), y))
    assert {i for i in "12345" if re.search(rf"\b{i}\b", " ".join(labels))} == set("12345")


@pytest.mark.parametrize("gigabytes_a_second", [5, 20, 90])
def test_a_share_is_of_the_roof_of_the_memory_that_the_arrays_are_in(gigabytes_a_second):
    """What lay in the cache had up to 2,831 % of main memory's roof, and 50 % of it where it was slow."""
    small, large = (Point("+", n // 8, n, n / gigabytes_a_second / 1e9) for n in (10**5, 10**8))
    of_memory = gigabytes_a_second / 10

    assert share(small, MACHINE) == pytest.approx(gigabytes_a_second / 100)
    assert share(large, MACHINE) == pytest.approx(of_memory if of_memory <= 1 else gigabytes_a_second / 100)
    said = str(mg.profiler.Roofline("f", MACHINE, {"as written": [small, large]}))
    assert f"{share(small, MACHINE):.1%}\n" in said
    assert all(float(each) <= 100 for each in re.findall(r"([\d.]+)%", said))


def test_the_picture_names_the_ops_the_roofs_and_what_they_wait_for(widget):
    for film, found in zip(widget.films, widget.points.values()):
        words = re.findall(r"<text[^>]*>([^<]+)</text>", film["panels"][0]["html"])
        named = ", ".join(words)
        assert {"in cache 100 GB/s", "main memory 10 GB/s", "peak 100 GFLOP/s"} <= set(words)
        assert {"memory is the limit", "arithmetic is the limit", "neither roof is the limit"} <= set(words)
        peaks = re.findall(r'data-id="main memory" points=".* [\d.]+,([\d.]+)"', film["panels"][0]["html"])
        assert all(TOP + 40 < float(y) < TOP + (BOTTOM - TOP) / 3 for y in peaks)  # a third of the plot was empty
        assert any(f"{i}. {p.name}: {100 * share(p, MACHINE):.0f} %" in named for i, p in enumerate(found))
        assert [step["hot"]["here"][-1] for step in film["steps"][2:-1]] == [ROOFS[in_cache(p, MACHINE)] for p in found]
        rows = re.findall(r'data-id="row (\d+)">.*?<text[^>]*>([^<]+)<.*?data-bound="(\w+)"', film["panels"][1]["html"])
        assert rows == [(str(i), shorten(p.name, 12), bottleneck(p, MACHINE)) for i, p in enumerate(found)]


def test_the_static_picture_has_the_roof_of_a_stated_machine(widget):
    words = re.findall(r"<text[^>]*>([^<]+)</text>", widget.svg)

    assert "Not measured: an assumed machine, 40 GFLOP/s, 20 GB/s" in words
    assert "best" not in widget.svg  # a machine that was measured was faster
    assert "main memory 20 GB/s" in words
    assert not [each for each in words if each.startswith("in cache")]
    assert {"0. @", "if fused", "main memory is the limit"} <= {re.sub(r"^\d+ %: ", "", each) for each in words}
    places = re.findall(r'p\d"><path[^>]*><g class="mg-badge[^>]* transform="translate\(([\d.]+) ([\d.]+)', widget.svg)
    found = [point for point in widget.points["as written"] if point.flops]
    x, y = axes(
        [replace(p, seconds=p.flops / min(4e10, 2e10 * p.intensity)) for p in found], Machine(4e10, 2e10, 2e10, 0)
    )
    for (cx, cy), point in zip(places, found, strict=True):
        assert float(cx) == pytest.approx(x.at(point.intensity), abs=0.06)
        assert float(cy) == pytest.approx(y.at(min(4e10, 2e10 * point.intensity)), abs=0.06)


def test_of_many_ops_those_that_take_longest_are_shown():
    """The roofline of a training step was 9,000 pixels tall."""
    found = [Point("x", int(10 ** (2 + i % 17 / 5)), 10**5, 1e-6 * (1 + i * 7 % 300)) for i in range(300)]
    roof = mg.profiler.Roofline("step", MACHINE, {"as written": found, "after the compiler's passes": found})
    first, second = roof.tables

    assert [row[0] for row in first.rows[:3]] == ["257. x", "214. x", "171. x"]  # 300, 299, 298 µs
    assert len(first.rows) == len(second.rows) == 20
    assert "The 20 slowest ops take 13% of the time" in first.note
    assert len(roof.table("as written", 300).rows) == 300
    (chart,) = roof.charts
    heights = [float(y) for y in re.findall(r'class="mg-halo" x="[-\d.]+" y="([-\d.]+)"', chart)]
    assert "scale(0.6)" in chart
    assert all(TOP < y < BOTTOM for y in heights)


def test_the_screen_says_what_was_counted_and_measured(widget):
    for film, found in zip(widget.films, widget.points.values()):
        first, second, *rest, last = film["steps"]
        assert first["say"].startswith("A mark's height is its speed; the roof above it is the most that this machine")
        assert second["say"] == MACHINE.summary
        assert f"{sum(p.nbytes for p in found):,} bytes" in first["say"]
        for point, step in zip(found, rest, strict=True):
            assert step["say"].startswith(f"{point.name}: {point.flops:,} FLOPs and {point.nbytes:,} bytes")
        assert last["say"].startswith("What bounds the time of all ops: ")


def test_what_a_notebook_keeps_was_not_measured(widget):
    assert "GFLOP/s" not in widget.fallback["text/plain"]
    assert widget.fallback["image/svg+xml"].count("mg-dot") == len([p for p in widget.points["as written"] if p.flops])


def test_what_takes_long_is_timed_less_often(monkeypatch):
    """In a browser a product of 1024 × 1024 takes seconds: seven of them were two minutes, with what else there is."""
    took = iter([0.9] * 9)
    monkeypatch.setattr(clock, "seconds", lambda run, calls=1: next(took))

    assert fastest(int) == 0.9
    assert len(list(took)) == 6


def test_this_machine_has_roofs():
    machine = Machine.measured(np.float32)

    assert machine.roof(machine.ridge) == pytest.approx(machine.peak)
    assert machine.roof(machine.ridge / 2) == pytest.approx(machine.peak / 2)
    assert machine.call > 0


@pytest.mark.parametrize(("args", "error", "match"), [
    ((3, X), TypeError, "expects a function"),
    ((lambda x: x, X), ValueError, "1 to 60 ops, not counting views; this one has 0"),
    ((lambda x: x[[1, 0]], X), ValueError, "only move elements"),
])  # fmt: skip
def test_what_has_no_roofline_is_refused_in_words(args, error, match):
    with pytest.raises(error, match=match):
        Roofline(*args, machine=MACHINE)


def test_a_machine_has_speeds():
    assert repr(MACHINE) == "Machine(peak=100 GFLOP/s, memory=10 GB/s, cache=100 GB/s, call=1 µs)"
    with pytest.raises(ValueError, match="speeds must be above 0"):
        Machine(0, 0, 0, 0)
    with pytest.raises(TypeError, match=r"as Machine\.measured"):
        mg.profiler.roofline(f, X, machine=5)


def test_several_results_of_one_group_are_measured_together():
    def two(x):
        y = x.tanh() * 2
        return y.exp(), y + 1

    fused = Roofline(two, X, machine=MACHINE).points["after the compiler's passes"]

    assert len(fused) == 1
    assert fused[0].nbytes == 3 * X.value.nbytes


def test_no_op_is_above_the_roofs_however_low_they_were_measured(monkeypatch):
    monkeypatch.setattr(Machine, "measured", classmethod(lambda cls, dtype: Machine(1e3, 1e3, 1e3, 1e-6)))
    roofline = Roofline(lambda x: (x @ x).tanh(), mg.rand(64, 64))
    for point in (point for found in roofline.points.values() for point in found):
        assert point.speed <= min(roofline.machine.peak, roofline.machine.cache * point.intensity)


def test_no_label_lies_on_another_or_on_a_dot():
    """The number of one op was written under the dot of the next, and that of a product on "peak 50 GFLOP/s"."""
    speeds = [5.2e9, 4.4e9, 5.6e9, 9e10, 9.9e10, 1e9]
    at = [0.0625, 0.0625, 0.13, 21, 60, 0.07]
    found = [Point("x", int(1e6 * x), int(1e6), 1e6 * x / speed) for x, speed in zip(at, speeds)]
    html = draw_roofline(found, MACHINE, *axes(found, MACHINE))
    circles = [(float(x), float(y)) for x, y in re.findall(r"translate\(([\d.]+) ([\d.]+)\)", html)]
    words = re.findall(r'<text class="(mg-number )?mg-[hl][^"]*" x="([\d.]+)" y="([\d.]+)">([^<]+)', html)
    boxes = [(float(x) - 6.5 * len(said) * bool(ends), float(y), 6.5 * len(said)) for ends, x, y, said in words]

    corners = re.findall(r'mg-roof[^>]*points="([\d.]+),([\d.]+) ([\d.]+),([\d.]+)', html)
    assert len(circles) == 6
    assert len(corners) == 2
    assert len(boxes) >= 5
    for i, (left, baseline, width) in enumerate(boxes):
        for start, low, ridge, y in (map(float, each) for each in corners):  # no roof strikes through it
            slope = (low - y) / (ridge - start)
            under = [baseline - 4 - y - max(ridge - x, 0) * slope for x in (left, left + width)]
            assert min(under) > 4 or max(under) < -4
        for x, y in circles:
            assert not (left < x + 9 and x - 9 < left + width and baseline - 9 < y + 9 and y - 9 < baseline)
        for other, below, wide in boxes[:i]:
            assert not (left < other + wide and other < left + width and abs(baseline - below) < 11)
