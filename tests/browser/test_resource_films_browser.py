"""What a run costs, on the screen: every control of four widgets, and what is shown against what was counted."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import minigrad as mg
from minigrad.course.widgets import MemoryTimeline, Precision, Roofline, Schedule
from minigrad.course.widgets.memory_timeline import WIDE, change, size
from minigrad.course.widgets.precision import power
from minigrad.draw.charts import BOTTOM, LEFT, TOP, WIDTH
from minigrad.draw.words import took
from minigrad.profiler.machine import Machine
from tests.browser.conftest import press

nn = mg.nn
MACHINE = Machine(peak=1e11, memory=1e10, cache=1e11, call=1e-6)


def memory():
    net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1)).float()
    x, y = mg.ones(32, 8).astype("float32"), mg.zeros(32, 1).astype("float32")
    return MemoryTimeline(net, nn.functional.mse_loss, x, y)


def branches(a, b):
    left = (a @ b).tanh()
    right = (b @ a).exp() * 2
    return (left + right).sum()


def schedule():
    return Schedule(branches, mg.ones(128, 128), mg.ones(128, 128))


def roofline():
    return Roofline(branches, mg.ones(128, 128), mg.ones(128, 128), machine=MACHINE)


def precision():
    rng = np.random.default_rng(0)
    return Precision(np.exp2(rng.normal(-20, 5, 2000)).astype(np.float32))


SCALE = "svg => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width"
BOXES = """parts => parts.map(part => part.getBBox()).map(({ x, y, width, height }) => ({ x, y, width, height }))"""
SEEN = "all => all.filter((part) => getComputedStyle(part).visibility === 'visible').map(({ dataset }) => dataset.id)"
FILMS = {"memory": memory, "schedule": schedule, "roofline": roofline, "precision": precision}


@pytest.fixture(scope="module")
def films():
    return {name: make() for name, make in FILMS.items()}


@pytest.fixture(scope="module")
def saved(films, tmp_path_factory):
    folder = tmp_path_factory.mktemp("films")
    for name, film in films.items():
        film.save(folder / f"{name}.html")
    return folder


@pytest.fixture
def opened(saved, visit):
    return lambda name, **context: visit(saved / f"{name}.html", **context)


def choose(page: Page, *options: int) -> None:
    for i, option in enumerate(options):
        page.locator(f'[data-choice="{i}"]').select_option(index=int(option))


def words(page: Page, of: str) -> str:
    return page.locator(f'[data-now="{of}"]').first.text_content()


def cursor(page: Page) -> float:
    return page.locator(".mg-cursor").evaluate("part => new DOMMatrix(part.style.transform).e")


@pytest.mark.daily
def test_memory_shows_the_bytes_of_each_moment_of_each_run(opened, films):
    page, widget = opened("memory").page, films["memory"]
    for n, (way, entries) in enumerate(widget.runs.items()):
        page.locator(f'[data-run="{n}"]').click()
        expect(page.locator("[data-run][aria-current=true]")).to_have_attribute("data-run", str(n))
        expect(page.locator("[data-run][aria-current=true]")).to_be_focused()
        assert page.locator("[data-choice]").first.input_value() == str(int(way.checkpointing))
        peak = max(entries, key=lambda entry: entry.total)
        cells = page.locator(".mg-numbers td:last-child").all_text_contents()
        assert cells == [
            *(f"{n:,}" for i, n in reversed([*enumerate(peak.live)]) if any(e.live[i] for e in entries)),
            f"{peak.total:,}",
        ]
        page.locator(".mg-widget").focus()
        for key, at in (("Home", 0), ("ArrowRight", 1), ("End", len(entries) - 1), ("ArrowLeft", len(entries) - 2)):
            page.keyboard.press(key)
            assert cursor(page) == pytest.approx(LEFT + (WIDE - LEFT) * (at + 0.5) / len(entries), abs=0.1)
            assert words(page, "total") == f"{entries[at].total:,}"
            assert words(page, "3") == f"{entries[at].live[3]:,}"
            expect(page.locator(".mg-say")).to_have_text(widget.films[n]["steps"][at]["say"])


def test_the_areas_of_memory_are_as_high_as_the_bytes_are_many(opened, films):
    page, widget = opened("memory").page, films["memory"]
    entries = next(iter(widget.runs.values()))
    boxes = page.locator(".mg-chart path.mg-area").evaluate_all(BOXES)
    top = min(box["y"] for box in boxes)
    share = max(e.total for e in entries) / (1.05 * max(n for way, n in widget.peaks.items() if not way.planned))

    assert (BOTTOM - top) / (BOTTOM - TOP) == pytest.approx(share, abs=0.01)


def test_memory_outlines_the_run_without_switches_and_the_chart_has_most_of_the_width(opened, films):
    """The chart had a third of the width, and nothing in it said what a switch changes, or by how much."""
    page = opened("memory", viewport={"width": 1074, "height": 768}).page
    chart, *tables = (page.locator(part).bounding_box() for part in ("svg.mg-chart", ".mg-numbers", ".mg-runs"))
    assert chart["width"] >= 0.57 * 1050
    assert tables[0]["x"] == tables[1]["x"] > chart["x"] + chart["width"]
    peaks = {str(way): peak for way, peak in films["memory"].peaks.items()}
    plain, kept, both = "whole batch, eager", "whole batch, eager, checkpoints", "2 micro-batches, eager, checkpoints"
    for chosen, other, words in ((), kept, "with checkpoints"), ((1, 1), plain, "no checkpoints whole batch"):
        choose(page, *chosen)
        than = change(peaks[other], peaks[both if chosen else plain])
        expect(page.locator("svg text", has_text="%")).to_have_text(f"{size(peaks[other])} ({than}) {words}")
        expect(page.locator(".mg-peak")).to_have_text(f"{size(peaks[both if chosen else plain])} peak")


@pytest.mark.parametrize("viewport", [{"width": 1074, "height": 768}, {"width": 420, "height": 800}])
def test_no_words_of_memory_meet_the_peak_or_each_other(opened, viewport):
    """The words "other activations" hid the peak, and the cursor struck the last letter of "peak 247k"."""
    page = opened("memory", viewport=viewport).page
    boxes, peak = (page.locator(f"svg.mg-chart {part}").evaluate_all(BOXES) for part in ("text", ".mg-crest"))
    x, y = peak[0]["x"], peak[0]["y"]
    assert not [b for b in boxes if b["x"] < x < b["x"] + b["width"] and b["y"] < y < b["y"] + b["height"]]
    assert min(box["y"] for box in boxes) >= 0
    for n, a in enumerate(boxes):
        for b in boxes[:n]:
            wide = min(a["x"] + a["width"], b["x"] + b["width"]) - max(a["x"], b["x"])
            assert wide <= 1 or min(a["y"] + a["height"], b["y"] + b["height"]) - max(a["y"], b["y"]) <= 4, (a, b)


@pytest.mark.parametrize("name", FILMS)
def test_sentence_picture_and_controls_are_seen_together(opened, name):
    """A JupyterLab of 1366 × 768 leaves 1,050 × 600 pixels to a widget."""
    page = opened(name, viewport={"width": 1074, "height": 768}).page
    for key in ("Home", "End"):
        page.locator(".mg-widget").focus()
        page.keyboard.press(key)
        assert page.locator(".mg-widget").bounding_box()["height"] <= 600
        scale = page.locator("svg.mg-chart:visible").first.evaluate(SCALE)
        assert scale >= (1.25 if name == "precision" else 0.99)  # type of 12 pixels
    assert page.locator("[data-scrolls]").count() == 0


@pytest.mark.daily
def test_schedule_brings_in_block_after_block_and_takes_them_back(opened, films):
    page, widget = opened("schedule").page, films["schedule"]
    begun = "parts => parts.filter(part => !part.matches('.mg-outlined')).length"
    for n, plan in enumerate(widget.schedules.values()):
        choose(page, *np.unravel_index(n, [len(each["options"]) for each in widget.choices]))
        page.locator(".mg-widget").focus()
        page.keyboard.press("Home")
        blocks = page.locator('.mg-box[data-id^="o"]')
        assert blocks.evaluate_all(begun) == 0
        for k in range(1, len(plan.slots) + 1):
            page.keyboard.press("ArrowRight")
            assert blocks.evaluate_all(begun) == k
            needs = page.locator("tr.mg-hot td").first.text_content()
            arrows = page.locator(".mg-arrow.mg-hot, .mg-moment.mg-hot").evaluate_all(SEEN)
            assert {*arrows} == {*[f"d{x}.{k - 1}" for x in needs.split(", ") if x], f"at {k - 1}"}
        idle = page.locator(".mg-handover, [data-id=idle]")  # is_visible() is false for a line, which has no height
        assert idle.evaluate_all("parts => parts.every(part => part.checkVisibility())")
        page.keyboard.press("ArrowRight")
        expect(page.locator(".mg-say")).to_contain_text(f"{plan.alone / plan.seconds:.3g} times as fast as one worker")
        press(page, "ArrowLeft", "ArrowLeft")
        assert blocks.evaluate_all(begun) == len(plan.slots) - 1


def test_blocks_of_one_worker_never_lie_on_each_other(opened, films):
    page, widget = opened("schedule").page, films["schedule"]
    for n in range(len(widget.schedules)):
        choose(page, *np.unravel_index(n, [len(each["options"]) for each in widget.choices]))
        rects = page.locator('.mg-box[data-id^="o"] rect').evaluate_all(BOXES)
        for lane in {rect["y"] for rect in rects}:
            mine = sorted((r["x"], r["x"] + r["width"]) for r in rects if r["y"] == lane)
            assert all(end <= start + 2 for (_, end), (start, _) in pairwise(mine))


@pytest.mark.daily
def test_roofline_walks_through_the_points_of_both_graphs(opened, films):
    page, widget = opened("roofline").page, films["roofline"]
    for n, found in enumerate(widget.points.values()):
        choose(page, n)
        page.locator(".mg-widget").focus()
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")  # the speeds of the machine
        for i, point in enumerate(found):
            page.keyboard.press("ArrowRight")
            expect(page.locator(".mg-say")).to_contain_text(f"{point.flops:,} FLOPs and {point.nbytes:,} bytes")
            expect(page.locator(".mg-dot.mg-here")).to_have_attribute("data-id", f"p{i}")
            row = page.locator(".mg-times .mg-here")
            expect(row).to_have_attribute("data-id", f"row {i}")
            expect(row.locator("text", has_text=took(point.seconds))).to_have_count(1)
            gaps = page.locator(".mg-gap").evaluate_all("all => all.map(gap => getComputedStyle(gap).strokeWidth)")
            assert gaps == ["3px" if j == i else "1.2px" for j in range(len(found))]  # from each op to its roof


@pytest.mark.daily
def test_precision_shows_one_histogram_for_each_scale(opened, films):
    page, widget = opened("precision").page, films["precision"]
    for n, format in enumerate(("float16", "bfloat16")):
        choose(page, n)
        page.locator(".mg-widget").focus()
        page.keyboard.press("Home")
        for k in (0, 4, 8, 12, 16, 20, 24):
            shown = page.locator("[data-panel='0'] [data-scene]:not([hidden])")
            expect(shown).to_have_count(1)
            assert shown.get_attribute("data-scene") == f"scale {k}"
            cells = page.locator("tr.mg-hot td").all_text_contents()
            assert cells == [f"{count:,}" for count in widget.counts[format, k]]
            page.keyboard.press("ArrowRight")
        assert shown.get_attribute("data-scene") == f"scale {widget.best[format]}"
        expect(page.locator("tr.mg-hot th")).to_contain_text("(best)")


def test_the_slider_of_precision_moves_the_heap_and_the_words(opened, films):
    page, widget = opened("precision", reduced_motion="reduce").page, films["precision"]
    slider = page.get_by_role("slider", name="Scale of the loss")
    lefts = []
    for n, k in enumerate((0, 4, 8, 12)):
        shown = page.locator("[data-panel='0'] [data-scene]:not([hidden])")
        expect(shown).to_have_attribute("data-scene", f"scale {k}")
        expect(slider).to_have_attribute("aria-valuetext", f"2 to the power of {k}")
        expect(page.locator(".mg-scale output")).to_have_text(power(k))
        assert [text for text in shown.locator("text").all_text_contents() if text in ("become 0", "normal")]
        for count in widget.counts["float16", k]:
            expect(shown.locator("text", has_text=re.compile(f"^{count:,}$"))).not_to_have_count(0)
        lefts.append(shown.locator('[data-key="heap"]').bounding_box()["x"])
        expect(page.locator(".mg-count")).to_have_text(f"step {n} of 7")
        slider.press("ArrowRight")
    assert lefts == sorted(set(lefts))
    page.locator(".mg-widget").focus()
    page.keyboard.press("End")
    expect(slider).to_have_value(str(widget.films[0]["best"]))


def test_pointing_at_a_bar_shows_the_bits_of_a_gradient(opened, films):
    page, film = opened("precision").page, films["precision"].films[0]
    start, wide = film["axis"]
    chart = page.locator(".mg-chart:visible").bounding_box()
    scale = chart["width"] / WIDTH
    for i in (film["typical"], 20, 25):
        if i != film["typical"]:
            page.mouse.move(chart["x"] + scale * (start + wide * (i + 0.5)), chart["y"] + scale * 200)
        head, bits, said, _ = film["bits"][0][i]
        expect(page.locator(".mg-one:visible")).to_have_text(head)
        expect(page.locator(".mg-fate:visible")).to_have_text(said)
        assert "".join(page.locator(".mg-bit:visible text").all_text_contents()) == bits
    page.get_by_role("slider", name="gradient", exact=True).press("ArrowLeft")  # without a mouse
    expect(page.locator(".mg-one:visible")).to_have_text(film["bits"][0][24][0])
    page.get_by_role("slider", name="scale of the loss").press("ArrowRight")
    expect(page.locator(".mg-fate:visible")).to_have_text(film["bits"][1][24][2])


@pytest.mark.parametrize("name", FILMS)
def test_a_phone_shows_the_whole_chart_with_a_name_in_type_that_can_be_read(name, opened):
    page = opened(name, viewport={"width": 420, "height": 800}).page
    chart = page.locator(".mg-chart").first
    view = page.locator(".mg-view").first

    assert chart.bounding_box()["width"] <= view.bounding_box()["width"]
    assert chart.evaluate("svg => 12 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width") > 10  # pixels
    assert chart.get_attribute("aria-label") == page.locator(".mg-say").text_content()
    assert not re.search(r"\bid=", chart.evaluate("svg => svg.outerHTML").replace("data-id=", ""))
