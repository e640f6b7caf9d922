"""Live bytes over a training step: what is shown was counted, and counted right."""

import gc
import re
import tracemalloc

import numpy as np
import pytest

import minigrad as mg
from minigrad.course.widgets import MemoryTimeline
from minigrad.course.widgets.memory_timeline import Switches, align, run, segments
from minigrad.course.widgets.memory_timeline import size as in_words
from minigrad.course.widgets.recording import TooLong
from minigrad.profiler.ledger import Ledger
from tests.support.table import table

nn = mg.nn
MSE = nn.functional.mse_loss
WAYS = [Switches(c, n, p) for c in (False, True) for n in (1, 2, 4) for p in (False, True)]


def chain(layers, width=16):
    parts = [part for _ in range(layers) for part in (nn.Linear(width, width), nn.Tanh())]
    return nn.Sequential(*parts, nn.Linear(width, 1)).float()


def batch(rows=64, width=16):
    numbers = np.random.default_rng(0).normal(size=(rows, width + 1)).astype(np.float32)
    return mg.tensor(numbers[:, :width].copy()), mg.tensor(numbers[:, width:].copy())


@pytest.fixture(scope="module")
def widget():
    return MemoryTimeline(chain(3), MSE, *batch())


def test_a_small_run_is_what_one_counts_by_hand():
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))  # float64
    x, y = mg.ones(16, 4), mg.zeros(16, 1)
    entries = MemoryTimeline(net, lambda h, y: ((h - y) ** 2).mean(), x, y, steps=1).runs[WAYS[0]]
    parameters, inputs, hidden, out = 8 * (32 + 8 + 8 + 1), 8 * (64 + 16), 8 * 16 * 8, 8 * 16
    start, affine, tanh, second, difference, square, mean = entries[:7]

    #  parameters, optimizer state, inputs, gradients, saved, other, workspace
    assert start.live == (parameters, 0, inputs, 0, 0, 0, 0)
    assert affine.live == (parameters, 0, inputs, 0, 0, hidden, 0)
    assert tanh.live == (parameters, 0, inputs, 0, hidden, hidden, 0)  # of its result; what it read is let go after
    assert second.live == (parameters, 0, inputs, 0, hidden, out, 0)
    assert difference.live == (parameters, 0, inputs, 0, hidden, 2 * out, 0)
    assert square.live == (parameters, 0, inputs, 0, hidden + out, 2 * out, 0)  # x ** 2 reads x
    assert mean.live[4] == hidden + out
    assert [entry.phase for entry in entries] == ["start"] + 6 * ["forward"] + 7 * ["backward"] + 2 * ["update"]
    tanh_back = next(entry for entry in entries if entry.what.startswith("the derivative of tanh"))
    arrived, W, b, seed, loss = hidden, 8 * 8, 8, 8, 8
    assert tanh_back.live[3:] == (2 * arrived + W + b + seed, 0, loss, 0)  # it came, and another went on
    done, moved, cleared = entries[-3:]
    assert done.live == (parameters, 0, inputs, parameters, 0, 0, 0)
    assert moved.live == (parameters, 2 * parameters, inputs, parameters, 0, 0, 0)  # Adam has two means
    assert cleared.live == (parameters, 2 * parameters, inputs, 0, 0, 0, 0)
    last = MemoryTimeline(nn.Linear(4, 1), MSE, x[:3], y[:3]).steps[-1]["say"]  # has a choice of two runs
    assert re.match(r"The gradients are freed by .* peak of another run: [\d,]+ \(whole batch, planned\)\.$", last)


def test_the_gradients_of_micro_batches_add_up_to_those_of_the_batch():
    seen = []

    class Spy(mg.optim.SGD):
        def step(self, closure=None):
            seen.append([p.grad.numpy().copy() for p in self.parameters()])

    net, (x, y) = chain(2), batch()
    for way in WAYS:
        run(net, MSE, x, y, Spy(net.parameters(), lr=0.1), 1, way)

    assert len(seen) == len(WAYS)
    for gradients in seen[1:]:
        for g, whole in zip(gradients, seen[0], strict=True):
            np.testing.assert_allclose(g, whole, rtol=1e-4, atol=1e-6)  # float32, added up in another order


@pytest.mark.share(6)
@pytest.mark.parametrize("way", [way for way in WAYS if not way.planned], ids=str)
def test_the_peak_is_that_of_the_allocator_but_for_what_a_rule_makes_and_drops(way):
    rows, width = 2048, 64
    net, (x, y) = chain(6, width), batch(rows, width)
    activation = rows // way.micro * width * 4
    args = (net, MSE, x, y, mg.optim.SGD(net.parameters(), lr=0.1), 1, way)
    run(*args)  # rules are compiled once
    gc.collect()
    tracemalloc.start()
    entries = run(*args).moments
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    counted = max(entry.total for entry in entries) - x.value.nbytes - y.value.nbytes  # which were there before

    # A rule has an array or two of its own; the rest is Python's objects.
    assert counted <= peak <= counted + 2 * activation + 300_000


def test_checkpoints_lower_the_peak_of_a_deep_net_and_run_their_parts_again():
    net, (x, y) = chain(12), batch(512)
    ways = WAYS[0], Switches(True, 1, False)
    plain, kept = (run(net, MSE, x, y, mg.optim.Adam(net.parameters()), 1, way).moments for way in ways)
    again = [entry for entry in kept if entry.what.startswith("once more")]

    assert max(e.total for e in kept) < 0.75 * max(e.total for e in plain)
    assert len(again) == sum(map(len, segments(net)[:-1]))
    assert not any(entry.what.startswith("once more") for entry in plain)
    end, array, difference = [e for e in kept if e.phase == "forward"][-1], 512 * 16 * 4, 512 * 4
    assert end.live[4] == 4 * array + 2 * array + difference  # four arguments, the first being the input; the last part
    assert kept[-1].live == plain[-1].live


def test_each_micro_batch_of_several_keeps_less(widget):
    peaks = {n: max(entry.live[4] for entry in widget.runs[Switches(False, n, False)]) for n in (1, 2, 4)}

    assert peaks[1] == pytest.approx(2 * peaks[2], abs=64) == pytest.approx(4 * peaks[4], abs=64)  # and some numbers


def test_planned_buffers_are_those_of_the_programs():
    net, (x, y) = chain(2), batch()
    loss = mg.function(lambda x, y: MSE(net(x), y))
    loss(x, y).backward()
    (way,) = loss.history[-1].run.variants.values()
    (backward,) = (each.run.program for pull in way.pulls.values() for each in pull.variants.values())
    entries = run(net, MSE, x, y, mg.optim.Adam(net.parameters()), 2, Switches(False, 1, True)).moments

    sizes = [way.run.program.text.size, backward.text.size]
    assert entries[-1].live[6] == sum(sizes) > 0
    assert {entry.live[6] for entry in entries} == {0, sizes[0], sum(sizes)}


def test_what_a_program_keeps_for_backward_is_there_until_it_is_done():
    """The books were once made up with what was alive when backward had ended, and missed the worst moment."""
    net, (x, y) = chain(4), batch(512)
    entries = run(net, MSE, x, y, mg.optim.SGD(net.parameters(), lr=0.1), 2, Switches(False, 1, True)).moments
    working = [entry for entry in entries if entry.what.startswith("in the program") and entry.phase == "backward"]
    again = [entry for entry in entries if entry.what.startswith("the same program") and entry.phase == "backward"]

    assert {entry.live[4] for entry in working} == {4 * 512 * 16 * 4 + 512 * 4}  # four layers, and the difference
    assert {entry.live[4] for entry in again} == {4 * 512 * 16 * 4 + 512 * 4}


def test_a_planned_run_says_at_first_why_its_peak_may_be_higher(widget):
    for film, way in zip(widget.films, widget.runs, strict=True):
        assert ("Each program will keep its workspace" in film["steps"][0]["say"]) == way.planned


def test_the_screen_says_what_was_counted(widget):
    for film, entries in zip(widget.films, widget.runs.values(), strict=True):
        assert film["live"] == [entry.live for entry in entries]
        for step, entry in zip(film["steps"], entries, strict=True):
            assert step["phase"] == entry.phase
            assert step["say"].startswith(f"{entry.what[0].upper()}{entry.what[1:]}. Alive: {entry.total:,} bytes.")
            assert min(entry.live) >= 0
        assert f"Peak: {max(entry.total for entry in entries):,} bytes, in " in film["steps"][-1]["say"]


def test_whose_the_bytes_are_adds_up_to_what_is_alive(widget):
    """A run that is compiled has moments inside its programs, which the books do not see."""
    for film, (way, entries) in zip(widget.films, widget.runs.items(), strict=True):
        for k, entry in enumerate(entries):
            alive = [0] * len(entry.live)
            for _, size, died, story in film["held"]:
                before = [consumer for moment, consumer in story if moment <= k]
                if before and (died is None or k < died):
                    alive[before[-1]] += size
            if not way.planned:
                assert all(0 <= live - held <= 0.02 * entry.total for live, held in zip(entry.live, alive)), (way, k)


def test_the_text_says_whose_the_bytes_at_the_peak_are(widget):
    """Only the picture showed it, and only when the pointer was over an area."""
    entries = widget.runs[WAYS[0]]
    k = max(range(len(entries)), key=lambda k: entries[k].total)
    lines = [line for line in widget.text.splitlines() if line.startswith(f"Moment {k}, ")]
    numbers = [[int(n.replace(",", "")) for n in re.findall(r"([\d,]+) (?:bytes|of)", line)] for line in lines]

    assert [whole for whole, *_ in numbers] == [n for n in entries[k].live if n]
    assert all(whole == sum(parts) for whole, *parts in numbers if parts)
    assert sum(len(parts) > 0 for _, *parts in numbers) >= 5
    assert re.search(r"saved for backward: .* of tanh at test_memory_timeline\.py:\d+ \(\d arrays\)", widget.text)
    assert re.search(r"inputs: [\d,]+ bytes = [\d,]+ of data from before \(2 arrays\)\.", widget.text)
    widget.choice = [1, 0, 1]
    assert f"Moment {k}, " not in widget.text
    widget.choice = [0, 0, 0]


def test_a_model_that_edits_its_batch_edits_a_copy():
    x = mg.ones(4, 2)
    MemoryTimeline(nn.Linear(2, 1), lambda output, y: (output + y.add_(1)).sum(), x, x[:, :1], steps=1)

    assert (x == 1).all()


def test_an_array_has_the_op_and_the_line_that_made_it(widget):
    makers = widget.films[0]["makers"]

    assert "module Sequential.0" in makers
    assert any(re.fullmatch(r"tanh at test_memory_timeline\.py:\d+", maker) for maker in makers)


def test_the_picture_alone_says_whose_the_areas_are(widget):
    """A page without a kernel shows the picture and no table: in the dark nobody could tell the areas apart."""
    legend = re.findall("<tspan[^>]*>([a-z ]+)</tspan>", widget.svg)
    peak = max(widget.runs[WAYS[0]], key=lambda entry: entry.total)
    column = re.findall(r'class="mg-area mg-s(\d)" d="M454,([\d.]+)h16V([\d.]+)', widget.svg)

    assert repr(widget) == f"MemoryTimeline({len(widget.steps)} steps; Memory of 2 training steps)"
    assert "mg-area" in widget.svg
    assert {"parameters", "gradients", "saved for backward"} <= set(legend)
    assert re.findall(r'"mg-peak"[^>]*><[^>]*>([^<]+)', widget.svg) == [in_words(peak.total)]
    high = [float(low) - float(top) for _, low, top in column]
    share = [peak.live[int(i)] / peak.total for i, *_ in column]
    assert high == pytest.approx([each * sum(high) for each in share], abs=0.2)  # the peak, beside the plot
    thin = MemoryTimeline(chain(3, 8), MSE, *batch(256, 8))
    assert thin.runs[WAYS[0]][0].live[0] < 0.025 * thin.peaks[WAYS[0]]
    assert ">parameters<" in thin.svg  # the labels did not add up to the peak
    assert re.search(">saved( for backward| for)?<", widget.films[0]["panels"][0]["html"])


def test_runs_with_the_same_memory_share_an_axis_and_it_says_so(widget):
    """The first run filled half of the chart: the axis also had to fit a planned run, which needs twice as much."""
    for film, (way, peak) in zip(widget.films, widget.peaks.items()):
        most = max(other for each, other in widget.peaks.items() if each.planned == way.planned)
        words = f"one axis for 6 of the runs; their largest has {in_words(most)}"
        assert (words in film["panels"][0]["html"]) == (1.1 * peak < most)
        assert film["plot"][-1] < 1.2 * most


def test_the_dashed_run_has_its_training_steps_where_this_run_has_them(widget):
    """The other run was stretched as a whole: its valley between two steps lay inside a backward pass of this run."""
    for way, entries in widget.runs.items():
        other = widget.reference_run(way)[1]
        ours, theirs = ([k for k, m in enumerate(each) if m.phase == "update"] for each in (entries, other))
        assert [at for k, at in enumerate(align(other, entries)) if k in theirs] == ours
        assert align(other, entries)[-1] == len(entries)


def test_the_peak_of_every_run_is_told(widget):
    for film, peak in zip(widget.films, widget.peaks.values(), strict=True):
        assert f"peak {peak:,} bytes" in film["panels"][0]["html"]
        assert film["runs"] == [[str(way), *way, each] for way, each in widget.peaks.items()]


def test_the_page_of_twelve_runs_is_small():
    net, (x, y) = chain(5), batch(256)

    assert len(MemoryTimeline(net, MSE, x, y).page().encode()) < 300_000


def test_the_model_and_the_optimiser_stay_as_they_were():
    net, (x, y) = chain(2), batch()
    optimizer = mg.optim.Adam(net.parameters())
    before = [p.numpy().copy() for p in net.parameters()]
    state = mg.random.default_generator.get_state()
    MemoryTimeline(net, MSE, x, y, optimizer)

    assert all(np.array_equal(old, p.numpy()) for old, p in zip(before, net.parameters()))
    assert all(p.grad is None for p in net.parameters())
    assert not optimizer.state
    assert repr(state) == repr(mg.random.default_generator.get_state())


def test_nothing_of_the_runs_is_left():
    widget = MemoryTimeline(chain(2), MSE, *batch())
    gc.collect()

    assert widget.runs
    assert not [each for each in gc.get_objects() if type(each) is Ledger]  # isinstance asks torch's proxies


def test_a_module_that_is_no_sequential_has_no_parts_to_checkpoint():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(16, 1)

        def forward(self, x):
            return self.layer(x).tanh()

    widget = MemoryTimeline(Net(), lambda h, y: ((h - y) ** 2).mean(), mg.ones(3, 16), mg.zeros(3, 1))

    assert [choice["options"] for choice in widget.choices[:2]] == [["off"], ["1"]]  # 3 rows are not cut in equal parts


class Endless(nn.Linear):
    def forward(self, x):
        while True:
            x = (x + super().forward(x)).tanh()


@table("change, error, match", [
    ({"model": lambda x: x}, TypeError, "trains a Module"),
    ({"x": np.ones((64, 16))}, TypeError, r"got ndarray and f32\[64, 1\]"),
    ({"y": mg.zeros(3, 1)}, TypeError, "one row for each example"),
    ({"optimizer": 3}, TypeError, "optimizer must be one of mg.optim"),
    ({"steps": 0}, ValueError, "an integer, 1 or more; got steps=0"),
    ({"steps": 1.5}, ValueError, r"1 or more; got steps=1\.5"),
    ({"optimizer": mg.optim.SGD(mg.nn.Linear(2, 1).parameters(), lr=0.1)}, ValueError, "belongs to another model"),
    ({"model": Endless(16, 16).float()}, ValueError, "up to 400 moments"),
    ({"loss_fn": lambda h, y: h - y}, mg.errors.NoGradientError, "starts from one number"),
])  # fmt: skip
def test_what_cannot_be_run_is_refused_in_words(change, error, match):
    x, y = batch()
    given = {"model": chain(1), "loss_fn": MSE, "x": x, "y": y} | change
    with pytest.raises(error, match=match):
        MemoryTimeline(**given)


def test_a_loss_that_never_ends_is_stopped(monkeypatch):
    monkeypatch.setattr("minigrad.course.widgets.memory_timeline.SECONDS", 0.3)
    with pytest.raises(TooLong, match=r"has taken 0\.3 seconds, and was stopped"):
        MemoryTimeline(mg.nn.Linear(2, 1), lambda output, y: [0 for _ in iter(int, 1)], mg.ones(4, 2), mg.ones(4, 1))


def test_every_run_counts_the_same():
    """Also where Python looked for cycles, at another moment each time."""
    before = gc.get_threshold()
    peaks = []
    for often in (1, 50, 10_000):
        gc.set_threshold(often)
        runs = MemoryTimeline(chain(3), MSE, *batch()).runs
        peaks.append([max(entry.total for entry in entries) for entries in runs.values()])
    gc.set_threshold(*before)
    assert peaks[0] == peaks[1] == peaks[2]
