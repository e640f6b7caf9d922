"""Gradients in 16 bits: what becomes of each is what casting it says."""

import re

import numpy as np
import pytest

import minigrad as mg
from minigrad.course.widgets import Precision
from minigrad.course.widgets.precision import EXPONENTS, FATES, FORMATS, best, fates, power
from tests.support.table import table

FLOAT16, BFLOAT16 = FORMATS
nn = mg.nn


def spread(n=4000):
    rng = np.random.default_rng(0)
    return np.exp2(rng.normal(-20, 5, n)).astype(np.float32) * rng.choice([-1, 1], n).astype(np.float32)


@table("value, fate", [
    (2.0**-26, "zero"),
    (2.0**-25, "zero"),  # half of the smallest, to even
    (1.1 * 2.0**-25, "subnormal"), (2.0**-24, "subnormal"), (1023 * 2.0**-24, "subnormal"), (2.0**-14, "normal"),
    (65504.0, "normal"),
    (65519.0, "normal"),  # nearer to 65504 than to 65536
    (65520.0, "infinite"), (-1e6, "infinite"),
])  # fmt: skip
def test_the_ends_of_float16(value, fate):
    assert FATES[fates(FLOAT16, np.array([value], np.float64), 0)[0]] == fate


@table("value, fate", [
    (2.0**-24, "normal"), (2.0**-126, "normal"), (2.0**-127, "subnormal"), (2.0**-133, "subnormal"),
    (2.0**-135, "zero"), (3.38e38, "normal"), (3.4e38, "infinite"),
])  # fmt: skip
def test_the_ends_of_bfloat16(value, fate):
    assert FATES[fates(BFLOAT16, np.array([value], np.float32), 0)[0]] == fate


def test_bfloat16_is_the_nearest_of_its_neighbours_and_even_where_two_are():
    x = np.concatenate([spread(), np.float32([1.00390625, 1.01171875, -1.00390625, 0.0])])  # ties between 1 + n/128
    low = (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    high = ((x.view(np.uint32) & np.uint32(0xFFFF0000)) + np.uint32(0x10000)).view(np.float32)
    below, above = (np.abs(each.astype(float) - x) for each in (low, high))
    is_even = (low.view(np.uint32) >> 16) % 2 == 0

    assert np.array_equal(FORMATS[1].cast(x), np.where((below < above) | ((below == above) & is_even), low, high))


def test_the_counts_are_of_the_casts_and_of_all_gradients():
    gradients = spread()
    widget = Precision(gradients)
    for k in EXPONENTS:
        with np.errstate(over="ignore"):
            half = (gradients * np.float32(2.0**k)).astype(np.float16)
        cast = np.abs(half.astype(np.float64))
        zero, over = (cast == 0).sum(), np.isinf(cast).sum()
        sub = ((cast > 0) & (cast < 2**-14)).sum()
        assert widget.counts["float16", k] == (zero, sub, len(cast) - zero - sub - over, over)


def test_the_best_scale_lets_nothing_overflow_and_keeps_most_normal():
    widget = Precision(spread())
    table = {k: widget.counts["float16", k] for k in EXPONENTS}
    chosen = widget.best["float16"]
    safe = {k: found for k, found in table.items() if not found[3]}

    assert chosen in safe
    assert table[chosen][2] == max(found[2] for found in safe.values())
    assert widget.best["bfloat16"] == 0
    assert best([(0, 0, 9, 1)] * 6 + [(0, 10, 0, 0)]) == EXPONENTS[6]
    assert best([(5, 5, 5, 0)] * 7) == 0


def test_the_screen_says_the_counts():
    widget = Precision(spread())
    for film, format in zip(widget.films, FORMATS):
        for k, step in zip(EXPONENTS, film["steps"]):
            zero, sub, normal, over = widget.counts[format.name, k]
            assert (f"of 4,000 gradients, {zero:,} rounded to 0" in step["say"]) == (zero > 0)
            for n, what in ((sub, "subnormal with fewer bits"), (normal, "normal"), (over, "infinite")):
                assert (f" {n:,} {what}" in step["say"]) == (n > 0)
            assert step["scene"] == f"scale {k}"
            row = film["panels"][1]["html"].split(f'data-id="scale {k}"')[1].split("</tr>")[0]
            assert all(f"<td>{n:,}</td>" in row for n in (zero, sub, normal, over))
        assert film["steps"][-1]["scene"] == f"scale {widget.best[format.name]}"


def test_the_gradients_of_a_model_are_those_of_backward_and_the_model_stays_as_it_was():
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).float()
    x, y = mg.ones(5, 3).astype("float32"), mg.zeros(5, 1).astype("float32")
    widget = Precision(net, nn.functional.mse_loss, x, y)

    assert all(p.grad is None for p in net.parameters())
    nn.functional.mse_loss(net(x), y).backward()
    assert Precision(net).counts == widget.counts
    assert Precision({name: p.grad for name, p in net.named_parameters()}).counts == widget.counts
    assert repr(widget) == "Precision(8 steps; 21 gradients in half precision)"


def test_what_is_zero_or_no_number_is_left_out_and_told():
    widget = Precision([np.array([0.0, 1.0, np.nan, np.inf]), np.array([2.0])])

    assert sum(widget.counts["float16", 0]) == 2
    assert "Not counted, at any scale: 3 that are exactly 0 or not finite." in widget.steps[0]["say"]


@pytest.mark.parametrize(("gradients", "says"), [
    ([1e30, 1e-30], "1 rounded to 0 (50 percent) and 1 infinite."),
    ([1e-300], "1 rounded to 0 (100 percent)."),
    ([1e-5, 3e4], "1 subnormal with fewer bits and 1 normal."),
])  # fmt: skip
def test_where_no_scale_helps_it_says_what_becomes_of_the_gradients(gradients, says):
    """The film said that float16 needs no scale, "0 percent are normal"."""
    widget = Precision(np.array(gradients))

    assert widget.steps[-1]["say"] == f"None of these scales does better than 1 for float16: {says}"


def test_of_one_gradient_its_words_are_in_the_singular():
    assert "The loss as it is: of 1 gradient, 1 normal." in Precision(np.ones(1)).text


@table("args, error, match", [
    ((nn.Linear(2, 2),), TypeError, "call backward"), ((np.ones(3, int),), TypeError, "floating-point"),
    ((None,), TypeError, "floating-point"), (([],), TypeError, "floating-point"),
    ((np.zeros(3),), ValueError, "all 3 are 0"),
    ((nn.Linear(2, 2), nn.functional.mse_loss), TypeError, "needs a batch too"),
    ((3, nn.functional.mse_loss), TypeError, "expects a Module"),
])  # fmt: skip
def test_what_has_no_gradients_is_refused_in_words(args, error, match):
    with pytest.raises(error, match=match):
        Precision(*args)


def test_the_picture_shows_the_gradients_as_they_are_and_with_the_best_scale():
    widget = Precision(spread())
    found = re.findall(r">how many gradients of the loss(.*?), in float16</text>", widget.svg)

    assert found == ["", f" times {power(widget.best['float16'])}"]
    first, bits, second, *_ = widget.svg.split("</style>")[1].split("</svg>")
    assert [">size of the scaled gradient" in each for each in (first, second)] == [False, True]
    assert 'x="56.00" y="39' not in first  # "bits" was where the counts have their title
    assert ["mg-former" in first, "mg-former" in second] == [False, True]  # the unscaled gradients behind the scaled
    assert f">× {power(widget.best['float16'])}</text>" in second
    assert ">One gradient: " in bits
    assert {"0 bits", "1–10 bits", "11 bits"} <= {*re.findall(r">([^<]+)</text>", first)}
    for k in (0, widget.best["float16"]):
        assert all(f">{count:,}</text>" in widget.svg for count in widget.counts["float16", k])


def test_in_a_narrow_zone_its_bits_have_no_unit():
    """ "1–10 bits" ran into the zone beside it."""
    first = Precision([np.array([1e-30, 1e30])]).svg
    assert {"0 bits", "1–10", "11 bits"} <= {*re.findall(r">([^<]+)</text>", first)}


def test_no_bar_stands_in_a_zone_of_another_fate():
    """From 2⁻²⁵ on, float16 rounds up to 2⁻²⁴: the bar of these stood left of a border at 2⁻²⁴."""
    drawn = Precision(2.0 ** np.arange(-34, 20, dtype=np.float32) * 1.5).svg.split("</svg>")[0]
    zones = re.findall(r'mg-zone mg-s(\d)" d="M([\d.]+),\d+H([\d.]+)', drawn)
    bars = {}  # the middle of a bar → the series in front of it
    for series, start, steps in re.findall(r'data-series="(\d)" d="M([\d.]+),254((?:V[\d.]+H[\d.]+)*)', drawn):
        left = float(start)
        for top, right in re.findall(r"V([\d.]+)H([\d.]+)", steps):
            if float(top) < 254:
                bars |= {round(x): series for x in np.arange(left + 1, float(right) - 1)}
            left = float(right)
    assert len({*bars.values()}) == len(zones) == 4
    for series, left, right in zones:
        assert {its for x, its in bars.items() if float(left) + 4 < x < float(right) - 4} == {series}


def test_the_verdict_needs_no_counting_of_zeros():
    said = Precision(2.0 ** np.arange(-26, -4, dtype=np.float32)).steps[-1]["say"]
    assert "for float16: 22 normal. Without a scale: 2 rounded to 0 (9.09 percent), 10 subnormal" in said


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_the_bits_of_a_gradient_are_those_of_its_cast(format):
    gradients = spread()
    film = Precision(gradients).films[FORMATS.index(format)]
    sizes = np.frexp(np.abs(gradients))[1] - 1
    for k, row in zip(EXPONENTS, film["bits"], strict=True):
        for size, one in zip(range(sizes.min(), sizes.max() + 1), row, strict=True):
            mine = np.sort(gradients[sizes == size])
            assert (one is None) == (mine.size == 0)
            if one:
                cast = format.cast(mine[[mine.size // 2]] * np.float32(2.0**k))
                assert np.array([int(one[1], 2)], np.uint16).view(format.dtype).astype(float) == cast
                assert one[2].endswith(": lost") == (cast[0] == 0 or np.isinf(cast[0]))


def test_a_share_is_never_rounded_to_all_or_nothing():
    words = re.findall(r">([^<]* %)</text>", Precision([np.r_[np.ones(1999), np.float64(1e-20)]]).svg)
    assert {"< 0.1 %", "> 99 %"} <= {each.replace("&lt;", "<").replace("&gt;", ">") for each in words}
