"""sweep: what grows how, counted and measured; and the roofline as a table."""

import re
import tracemalloc
from xml.etree import ElementTree

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.core.modes import watching
from minigrad.profiler import Machine, Scaling, roofline, sweep
from minigrad.profiler.counting import Counting
from minigrad.profiler.roofline import Point, cells
from minigrad.profiler.scaling import Sample, fit
from minigrad.utils.checkpoint import checkpoint
from tests.support.table import table

MACHINE = Machine(peak=1e11, memory=1e10, cache=1e11, call=1e-6)


def net(batch, width):
    model = mg.nn.Sequential(mg.nn.Linear(width, width), mg.nn.Tanh(), mg.nn.Linear(width, 10))
    return model, mg.ones(batch, width)


@pytest.fixture(scope="module")
def found():
    return sweep(net, batch=[64, 16, 32], width=[8, 16, 32, 64], repeat=2, progress=False)


# -- slopes ----------------------------------------------------------------------------------------


@table("power", [0, 0.5, 1, 2, 3])
def test_the_slope_of_a_power_is_its_exponent(power):
    ns = [3, 10, 40, 100, 700]
    slope, residual, _ = fit(ns, [7.0 * n**power for n in ns])

    assert slope == pytest.approx(power, abs=1e-12)
    assert residual == pytest.approx(0, abs=1e-12)


def test_the_lower_half_does_not_count():
    """At small n a run is its calls: here 1 ms, until n² outgrows it."""
    ns = [1, 2, 4, 1000, 2000, 4000]
    assert fit(ns, [max(100, n**2) for n in ns]).slope == pytest.approx(2)


def test_the_residual_is_what_points_are_off_by():
    off = fit([1, 2, 4], [1.0 * 1.1, 2.0 / 1.1**2, 4.0 * 1.1])  # off the line by 1, −2 and 1 logarithms of 1.1
    assert off.slope == pytest.approx(1)
    assert off.residual == pytest.approx(1.1 ** np.sqrt(2) - 1)


def test_two_points_have_no_slope():
    with pytest.raises(ValueError, match="3 points"):
        fit([1, 2], [1, 2])


def test_growth_has_its_name():
    names = {1: "linear (slope 1, off by 0 %)", 2: "quadratic", 0: "constant", 3: "cubic", 1.5: "n^1.5", 2.3: "n^2.3"}
    for power, name in names.items():
        assert str(fit([1, 2, 4, 8], [5 * n**power for n in (1, 2, 4, 8)])).startswith(name)


# -- what is counted -------------------------------------------------------------------------------


def test_flops_are_those_of_pytorchs_counter():
    """Of products alone, forward and backward: it counts nothing else."""
    torch = pytest.importorskip("torch")
    counter = pytest.importorskip("torch.utils.flop_counter")
    x, w, v = (np.random.default_rng(i).normal(size=size) for i, size in enumerate([(8, 5), (5, 7), (7, 3)]))
    ours, theirs = ([make(a, requires_grad=True) for a in (x, w, v)] for make in (mg.tensor, torch.tensor))
    with counter.FlopCounterMode(display=False) as mode:
        (theirs[0] @ theirs[1] @ theirs[2]).sum().backward()
    with watching(Counting()) as counting:
        y = ours[0] @ ours[1] @ ours[2]
        forward = counting.flops
        y.backward(mg.ones(8, 3))

    assert forward == 2 * 8 * 5 * 7 + 2 * 8 * 7 * 3
    assert counting.flops == mode.get_total_flops() == 3 * forward


def test_bytes_kept_are_those_that_live_between_forward_and_backward():
    x = mg.tensor(np.ones(50_000), requires_grad=True)

    def run():
        return (x.sin() * x.exp()).tanh().sum()

    run()
    tracemalloc.start()
    try:
        y = run()
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    with watching(Counting()) as counting:
        y = run()
        kept = counting.bytes_saved
        y.backward()

    assert kept == 3 * 8 * 50_000  # sin, exp and tanh; x is a parameter
    assert held == pytest.approx(kept, rel=0.02)
    assert counting.bytes_saved == kept  # backward has let it go meanwhile


def test_bytes_kept_are_counted_where_the_run_itself_goes_back():
    """As backward begins, its first record has just let go of what it kept."""
    x = mg.tensor(np.ones(1000), requires_grad=True)
    with watching(Counting()) as counting:
        x.sin().exp().exp().backward(mg.ones(1000))

    assert counting.bytes_saved == 2 * 8000


def test_a_checkpoint_is_counted_as_it_runs():
    x = mg.tensor(np.ones(1000), requires_grad=True)

    def costs(call):
        with watching(Counting()) as counting:
            y = call(lambda x: x.sin().sin().sin(), -x).sin().sum()
            kept = counting.bytes_saved
            y.backward()
        return kept, counting.flops

    plain, again = costs(lambda f, x: f(x)), costs(checkpoint)
    assert plain[0] == 4 * 8000
    assert again[0] == 8000  # the operand of the last sine; the part's argument is a promise's
    assert again[1] == plain[1] + 3000


class Residual(mg.nn.Module):
    def __init__(self):
        self.linears = mg.nn.ModuleList([mg.nn.Linear(8, 8) for _ in range(3)])

    def forward(self, x):
        for linear in self.linears:
            x = x + linear(x).relu()
        return x.sum()


def test_an_estimate_a_sweep_and_a_profile_count_one_number():
    """Where gradients meet they are added: the estimate alone counted that."""
    net, x = Residual(), mg.randn(4, 8)

    def step(x):
        return lambda: net(x).backward()

    with mg.profiler.profile(with_flops=True) as prof:
        net(x).backward()
    found = mg.profiler.sweep(lambda batch: step(mg.randn(batch, 8)), batch=[2, 3, 4], repeat=1)

    told = mg.profiler.estimate(net, x).train_flops
    assert sum(event.flops for event in prof.events()) == told
    assert found["batch"].samples[-1].flops == told


def test_what_a_derivative_computes_on_tensors_is_counted_once():
    def gradient(n):
        x = mg.ones(n).requires_grad_()
        return lambda: mg.autograd.grad((x**3).sum(), x, create_graph=True)

    assert mg.profiler.sweep(gradient, n=[100, 200, 400], repeat=1)["n"].samples[-1].flops < 400 * 8


def test_what_does_not_say_what_it_costs_is_named():
    traced = mg.function(lambda x: x.sin().sum())
    found = sweep(lambda n: lambda: traced(mg.ones(n)), n=[1, 2, 3], repeat=1, progress=False)

    assert [s.flops for s in found["n"].samples] == [None] * 3
    assert found["n"].fit("flops") is None
    assert "FLOPs were not counted" in str(found)
    assert "—" in str(found)


# -- the sweep -------------------------------------------------------------------------------------


def test_one_length_varies_and_the_others_are_at_their_middle(found):
    batch, width = found["batch"], found["width"]

    assert [s.n for s in batch.samples] == [16, 32, 64]
    assert [s.n for s in width.samples] == [8, 16, 32, 64]
    assert batch.held == {"width": 32}
    assert width.held == {"batch": 32}


def test_counts_are_those_by_hand(found):
    for s in found["width"].samples:
        b, w = 32, s.n
        assert s.parameters == w * w + w + 10 * w + 10
        assert s.flops == (2 * b * w * w + b * w) + b * w + (2 * b * w * 10 + b * 10)  # affine, tanh, affine
        assert s.saved == 2 * 8 * b * w  # x, and the tanh
        assert s.peak >= 8 * b * w
        assert s.seconds > 0


def test_growth_is_said_in_words(found):
    assert found["batch"].fit("flops").word == "linear"
    assert found["batch"].fit("parameters").word == "constant"
    assert found["batch"].fit("saved").word == "linear"
    assert "FLOPs counted: linear (slope 1, off by 0 %)" in str(found)


def test_attention_is_quadratic_in_length():
    def attention(length):
        q = mg.ones(1, length, 4)
        return lambda: (q @ q.mT).softmax(-1) @ q

    found = sweep(attention, length=[32, 64, 128], repeat=1, progress=False)
    assert found["length"].fit("flops").word == "quadratic"
    assert 1.6 < found["length"].fit("peak").slope < 2.1  # with what grows as n beside it


def test_where_theory_and_measurement_part_is_said():
    seconds = [5e-5, 6e-5, 1e-4, 4e-4]
    samples = [Sample(n, n**2, 8 * n, None, t, 8 * n) for n, t in zip((8, 16, 32, 64), seconds)]
    scaling = Scaling("width", {}, samples)

    assert scaling.apart == {"seconds": [8, 16], "peak": []}
    assert "Time and FLOPs part by more than 2x at width = 8, 16" in scaling.summary
    assert "Time and FLOPs part by more than 2x at width = 8, 16." in str(scaling.table)


def test_a_function_may_be_the_run_itself():
    runs = []

    def f(n):
        runs.append(n)
        return mg.ones(n).sum()

    assert [s.flops for s in sweep(f, n=[4, 5, 6], repeat=2, progress=False)["n"].samples] == [3, 4, 5]
    assert set(runs) == {4, 5, 6}


def test_an_interrupt_keeps_what_was_measured():
    def f(batch, width):
        if (batch, width) == (4, 3):
            raise KeyboardInterrupt
        return mg.ones(batch, width).sum()

    found = sweep(f, batch=[1, 2, 3], width=[1, 4, 5], repeat=1, progress=False)
    assert found.whole
    found = sweep(f, width=[1, 3, 2], batch=[3, 4, 5], repeat=1, progress=False)

    assert not found.whole
    assert [len(each.samples) for each in found.scalings.values()] == [2, 0]
    assert found["width"].fit("flops") is None
    assert "stopped before its end" in str(found)
    assert "<svg" in found._repr_html_()


def test_progress_is_shown_where_it_is_wanted(capsys):
    sweep(lambda n: mg.ones(n).sum(), n=[4, 5, 6], repeat=1, progress=False)
    assert capsys.readouterr() == ("", "")
    sweep(lambda n: mg.ones(n).sum(), n=[4, 5, 6], repeat=1)
    assert "n=6" in capsys.readouterr().err


@table("lengths", [
    *({"n": 5}, {"n": [1, 2]}, {"n": [2, 2, 2]}, {"n": [0, 1, 2]}, {"n": [1, 2, "3"]}),
    *({"n": [1, 2, 3], "m": [1]}, {"n": [1, 2, 3], "repeat": 0}, {}),
])  # fmt: skip
def test_nonsense_is_refused_before_anything_runs(lengths):
    with pytest.raises(ValueError, match=r"3 values|a length to vary|1 or more, and got 0"):
        sweep(lambda **_: pytest.fail("it ran"), progress=False, **lengths)


@pytest.mark.parametrize("f", [mg.nn.Linear(2, 2), 3])
def test_what_is_no_function_of_lengths_is_refused(f):
    with pytest.raises(TypeError, match="a function of the lengths"):
        sweep(f, n=[1, 2, 3])


# -- to look at ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "error", "match"), [
    (lambda net, x: [net, x], TypeError, r"the tuple \(model, \*inputs\), and f gave \[Linear"),
    (lambda net, x: (x, net), TypeError, r"the tuple \(model, \*inputs\), and f gave \(tensor"),
    (lambda net, x: net, TypeError, "and f gave Linear"),
    (lambda net, x: None, ValueError, r"none did in .* at \{'batch': 2\}"),
])  # fmt: skip
def test_a_model_that_would_not_run_is_refused(given, error, match):
    """0 FLOPs were counted, and the time of making the batch was measured."""
    net, batches = mg.nn.Linear(4, 3), [mg.ones(n, 4) for n in range(5)]
    with pytest.raises(error, match=match):
        sweep(lambda batch: given(net, batches[batch]), batch=[2, 3, 4], progress=False)


def test_the_line_that_is_fitted_is_drawn_and_named():
    scaling = Scaling("n", {}, [Sample(n, n, n, None, 1e-6 * n, 8 * n * n) for n in (10, 100, 1000)])
    time, peak = scaling.charts
    points = [
        re.search(rf'<polyline class="{look}" points="([^"]*)"', peak)[1] for look in ("mg-roof", "mg-roof mg-second")
    ]

    assert ">time measured; line, linear; dashed, as FLOPs counted<" in time
    assert ">peak bytes measured; line, quadratic; dashed, as saved for backward<" in peak
    dots = [f"{x},{y}" for x, y in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', peak)]
    assert points[0].split() == [dots[0], dots[-1]] != points[1].split()[::2]


def test_the_page_has_tables_with_heads_and_pictures_with_titles(found):
    html = found._repr_html_()

    assert html.count('<th scope="col"') == 12
    assert html.count('<th scope="row"') == 7
    assert html.count("<svg") == html.count("<title>") == 4
    ElementTree.fromstring(found.svg)
    assert found.svg.count('class="mg-point"') == 14


def test_names_are_escaped():
    found = sweep(lambda n: mg.ones(n).sum(), n=[4, 5, 6], repeat=1, progress=False)
    assert "&lt;lambda&gt;" in found._repr_html_()
    assert "<lambda>" not in found._repr_html_()
    html = roofline(lambda x: (x < x * 2) * x, mg.ones(3), machine=MACHINE)._repr_html_()
    assert ">&lt;lambda&gt;, as written. The roof" in html
    assert ">1. &lt;</th>" in html


def test_measured_points_lie_on_the_line_where_theory_holds():
    samples = [Sample(n, n, n, None, 1e-6 * n, 8 * n) for n in (10, 100, 1000)]
    (time, _) = Scaling("n", {}, samples).charts
    dots = [(float(x), float(y)) for x, y in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', time)]
    (polyline,) = re.findall(r'mg-second" points="([^"]+)"', time)

    np.testing.assert_allclose(dots, [[float(a) for a in p.split(",")] for p in polyline.split()], atol=0.1)


# -- the roofline ----------------------------------------------------------------------------------


def f(x):
    return ((x @ mg.ones(64, 32)).tanh() * 2 + 1).sum()


def test_the_roofline_is_a_table_and_a_picture():
    found = roofline(f, mg.ones(128, 64), machine=MACHINE)
    rows = {line.split()[1]: line.split() for line in str(found).splitlines() if line[:1].isdigit()}

    assert rows["@"][2:4] == [f"{2 * 128 * 64 * 32:,}", f"{8 * (128 * 64 + 64 * 32 + 128 * 32):,}"]
    assert "computes at 100 GFLOP/s" in str(found)
    assert "after the compiler's passes" in str(found)
    assert found._repr_html_().count('<th scope="col"') == 14
    ElementTree.fromstring(found.svg)


@table("seconds, says", [
    (1.5e-6, "call"), (1e-2, "neither 10.0%"), (1.25e-3, "memory 80.0%"), (2e-4, "cache 50.0%"),
    (6e-4, "neither 16.7%"),
])  # fmt: skip
def test_the_table_says_what_bounds_an_op_and_how_near_it_is(seconds, says):
    """What is quicker than main memory was said to have a thousand per cent of its roof."""
    row = cells(0, Point("+", 10**6, 10**7, seconds), MACHINE)
    assert row[-1].startswith(says.split()[0])
    assert says.split()[-1] in row[-1]


def test_the_widget_has_the_same_accounts():
    table, widget = (of(f, mg.ones(128, 64), machine=MACHINE) for of in (roofline, mg.widgets.Roofline))
    told, shown = (
        {form: [(p.name, p.flops, p.nbytes) for p in points] for form, points in each.points.items()}
        for each in (table, widget)
    )
    assert told == shown
    again = mg.widgets.Roofline(table)
    assert again.points == table.points
    assert "The roofline of f" in again._repr_mimebundle_()[0]["text/plain"]
    with pytest.raises(ValueError, match="1 to 60 ops, and this graph has 0"):
        mg.widgets.Roofline(roofline(machine=MACHINE))


def test_the_roofs_stand_alone_and_what_only_moves_is_refused():
    assert "computes at 100 GFLOP/s" in str(roofline(machine=MACHINE))
    assert "<svg" in roofline(machine=MACHINE)._repr_html_()
    with pytest.raises(ValueError, match="only move"):
        roofline(lambda x: x.clone(), mg.ones(3), machine=MACHINE)


def test_who_takes_a_length_for_a_tensor_is_told():
    with pytest.raises(TypeError) as refused:
        sweep(lambda x: (x @ x).sum(), x=[16, 32, 64], progress=False)
    assert refused.value.__notes__ == ["sweep called f(x=16): the lengths are integers, from which f makes its tensors"]
