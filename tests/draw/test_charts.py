"""Charts: pixels are where the numbers say."""

import pytest

from minigrad.draw.charts import BOTTOM, LEFT, RIGHT, TOP, across, area, chart, compact, upwards
from tests.support.table import table


@pytest.mark.parametrize(("low", "high", "ticks"), [
    (0, 10, [0, 2, 4, 6, 8, 10]), (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1.0]), (3, 17, [5, 10, 15]),
    (0, 449_192, [0, 1e5, 2e5, 3e5, 4e5]),
])  # fmt: skip
def test_ticks_are_round_numbers(low, high, ticks):
    assert across(low, high, "").ticks == pytest.approx(ticks)


def test_powers_of_ten_are_equally_far_apart():
    axis = upwards(1, 1e4, "", log=True)

    assert axis.ticks == [1, 10, 100, 1000, 10000]
    assert [axis.at(tick) for tick in axis.ticks] == pytest.approx([BOTTOM - n * (BOTTOM - TOP) / 4 for n in range(5)])


def test_the_ends_of_an_axis_are_the_ends_of_the_field():
    axis = across(-3, 7, "")

    assert (axis.at(-3), axis.at(7)) == (LEFT, RIGHT)
    assert across(2, 2, "").at(2) == LEFT


def test_an_area_has_a_step_for_each_change_and_none_where_nothing_changes():
    drawn = area(1, [100, 110, 120, 130], [150, 150, 120])

    assert f'd="M100.0,{BOTTOM}V150H120V120H130V{BOTTOM}z"' in drawn
    assert 'class="mg-area mg-s1"' in drawn


def test_titles_and_labels_are_escaped():
    drawn = chart("<b>", across(0, 1, "<i>"), upwards(0, 1, "a & b"))

    assert "<b>" not in drawn
    assert "&lt;i&gt;" in drawn
    assert "a &amp; b" in drawn


@table("x, words", [(0, "0"), (999, "999"), (1000, "1k"), (2_097_152, "2.1M"), (1e12, "1T")])
def test_large_numbers_are_short(x, words):
    assert compact(x) == words
