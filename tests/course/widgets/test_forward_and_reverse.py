"""Forward mode beside reverse mode: both tables are the engine's Jacobian, and the passes are counted as they are."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import minigrad as mg
from minigrad.course.widgets import ForwardAndReverse
from minigrad.course.widgets.forward_and_reverse import BothModes
from minigrad.draw.words import number
from tests.support.endless_functions import endless, stubborn
from tests.support.films import last_words
from tests.support.table import table


def two_of_three(a, b, c):
    s = a * b
    y = s.tanh() + c
    z = s * c
    return y, z


def loss(x, w):
    return (x * w).tanh().sum()


def polar(t):
    return t.cos(), t.sin(), t * t


CASES = [
    (two_of_three, (2.0, 0.5, -1.0)), (loss, (mg.tensor([1.0, 2.0, -1.0]), mg.tensor([0.3, 0.5, 0.1]))),
    (polar, (0.3,)), (lambda x: x * x, (mg.tensor([1.0, 2.0, 3.0]),)),
]  # fmt: skip


def differences(f, inputs, h=1e-6) -> np.ndarray:
    """The Jacobian by central differences."""
    flat = np.concatenate([np.ravel(x.numpy() if isinstance(x, mg.Tensor) else x) for x in inputs])
    shapes = [np.shape(x.numpy() if isinstance(x, mg.Tensor) else x) for x in inputs]

    def at(numbers: np.ndarray) -> np.ndarray:
        parts = np.split(numbers, np.cumsum([int(np.prod(s)) for s in shapes])[:-1])
        ys = f(*(mg.tensor(part.reshape(s)) for part, s in zip(parts, shapes)))
        return np.concatenate([y.numpy().ravel() for y in (ys if isinstance(ys, tuple) else (ys,))])

    return np.stack([(at(flat + h * e) - at(flat - h * e)) / (2 * h) for e in np.eye(len(flat))], axis=1)


@pytest.mark.parametrize(("f", "inputs"), CASES)
def test_both_jacobians_are_the_slopes_of_the_function(f, inputs):
    both = BothModes(f, inputs)

    expected = differences(f, inputs)

    assert np.allclose(both.forward, expected, rtol=1e-6, atol=1e-8)  # h² = 1e-12, rounding 1e-10
    assert np.allclose(both.reverse, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("f", "inputs"), CASES)
def test_there_is_a_pass_for_each_column_and_for_each_row_and_the_tables_fill_up(f, inputs):
    both, film = BothModes(f, inputs), ForwardAndReverse(f, *inputs)
    m, n = both.forward.shape
    words = last_words(film.steps)

    for side, k, end in (("f", n, "input"), ("r", m, "output")):
        assert words[f"{side}count"] == f"{k} pass{'es' * (k > 1)} for {k} {end}{'s' * (k > 1)}"
    assert (len(both.pushed), len(both.pulled)) == (n, m)
    for side, jacobian in (("f", both.forward), ("r", both.reverse)):
        assert {k: v for k, v in words.items() if "J" in k and k[0] == side} == {
            f"{side}J{j},{i}": number(float(jacobian[j, i])) for j in range(m) for i in range(n)
        }
    html = "".join(panel["html"] for panel in film.films[0]["panels"])
    assert {id for step in film.steps for id in step.get("text", {})} <= set(re.findall(r'data-id="([^"]+)"', html))


def test_tangents_and_cotangents_stand_at_the_boxes():
    both = BothModes(two_of_three, (2.0, 0.5, -1.0))
    box = {box.display_name: box.id for box in both.picture.boxes}
    slope = 1 - np.tanh(1.0) ** 2

    assert {box.display_name for box in both.picture.boxes} >= {"a", "b", "c", "s", "y", "z"}
    a_moves, y_owes = both.pushed[0].moved, both.pulled[0].moved
    assert [a_moves[box[name]] for name in "abcsyz"] == ["1", "0", "0", "0.5", number(0.5 * slope), "−0.5"]
    assert [y_owes[box[name]] for name in "abcsyz"] == [*map(number, (0.5 * slope, 2 * slope, 1, slope)), "1", "0"]


@pytest.mark.parametrize(("case", "words"), [
    (0, "Forward mode took 3 passes, one for each input; reverse mode 2 passes"),
    (1, "reverse mode 1 pass, one for each output. Reverse mode is cheaper in passes;"),
    (2, ". Forward mode is cheaper in passes;"), (3, ". Neither mode is cheaper in passes;"),
])  # fmt: skip
def test_it_says_which_mode_is_cheaper(case, words):
    f, inputs = CASES[case]
    film = ForwardAndReverse(f, *inputs)

    assert film.steps[-1]["say"].startswith("Both tables are the same.")
    assert words in film.text.splitlines()[-1]


def test_parameters_of_the_learners_own_stand_still():
    w = mg.tensor(3.0, requires_grad=True)

    both = BothModes(lambda x: x * w, (2.0,))

    assert both.forward.tolist() == both.reverse.tolist() == [[3.0]]
    assert w.grad is None


def test_an_input_that_nothing_comes_of_moves_nothing():
    def twice(x, y):
        z = x * 2
        return z  # noqa: RET504  # a name

    widget = ForwardAndReverse(twice, 3.0, 4.0)

    assert "A column of the Jacobian: ∂z/∂y = 0." in widget.text
    assert "A row of the Jacobian: ∂z/∂x = 2 and ∂z/∂y = 0." in widget.text


def broken(x):
    raise IndexError(f"no {x}")


@table("f, inputs, error, match", [
    (endless, (1.0,), ValueError, "did not finish: TooLong: endless has run 2000 lines"),
    (stubborn, (1.0,), ValueError, "did not finish: TooLong: stubborn has run 2000 lines"),
    (broken, (1.0,), ValueError, "broken did not finish: IndexError"),
    (lambda x: x * 2, (mg.ones(7),), ValueError, "each input number .* 1 to 6 can be shown, but <lambda> has 7"),
    (lambda x: mg.stack([x] * 7), (1.0,), ValueError, "each output number .* has 7"),
    (lambda: mg.tensor(1.0, requires_grad=True) * 2, (), ValueError, "each input number .* has 0"),
    (lambda x: 2.0, (1.0,), TypeError, "2.0 depends on none of them"),
    (lambda x: mg.tensor(1.0), (1.0,), TypeError, "depends on none of them"),
    (lambda x: x, (mg.tensor([1, 2]),), TypeError, "floating-point tensors"),
    (lambda x: x, ("a",), TypeError, "floating-point tensors"),
    (3.0, (1.0,), TypeError, "expects a Python function of tensors, got 3.0"),
    (lambda x: sum([x * i for i in range(20)]), (1.0,), ValueError, "up to 24 boxes"),
])  # fmt: skip
def test_what_cannot_be_shown_is_refused_in_a_sentence(f, inputs, error, match):
    with pytest.raises(error, match=match):
        ForwardAndReverse(f, *inputs)


def test_what_is_no_number_is_shown_as_what_it_is():
    with np.errstate(all="ignore"):
        film = ForwardAndReverse(lambda x: (x - x).log() * x, 1.0)

    assert "nan" in last_words(film.steps)["fJ0,0"]
    assert film.steps[-1]["say"].startswith("Both tables are the same.")


def test_the_static_picture_has_both_halves_with_their_tables():
    both, film = BothModes(two_of_three, (2.0, 0.5, -1.0)), ForwardAndReverse(two_of_three, 2.0, 0.5, -1.0)
    svg = ElementTree.fromstring(film.svg)
    words = [text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")]

    assert {"3 passes for 3 inputs", "2 passes for 2 outputs"} <= {*words}
    for mode in (both.forward, both.reverse):
        assert {number(float(x)) for x in mode.ravel()} <= {*words}
    assert len(re.findall('mg-arrow[^"]* mg-pushed', film.svg)) == len(both.picture.arrows)
    assert 0 < len(re.findall('mg-arrow[^"]* mg-pulled', film.svg)) <= len(both.picture.arrows)
    strips, threads = (
        re.findall(f'<g class="mg-{look} mg-of-([fr])[^"]* mg-(?:filled|fed)', film.svg) for look in ("strip", "thread")
    )
    assert (strips, threads) == (
        [*"fffrr"],
        [*"ffrrr"],
    )  # all are filled; threads show the last column and the last row
    assert "·" not in words


def test_names_of_the_learner_are_escaped():
    film = ForwardAndReverse(lambda x: x * 2, 1.0)

    assert "<lambda>" not in film.page().split("<noscript>")[0].replace("&lt;lambda&gt;", "")


def test_a_step_on_numbers_says_its_sum():
    said = [step["say"] for step in ForwardAndReverse(lambda a, b: a * b - a, 0.5, 2.0).steps]

    assert "The tangent of y = #3 − a is 1 × 2 − 1 × 1 = 1: how fast y changes as a changes." in said
    assert "The cotangent of a is 2 × 1 − 1 × 1 = 1: how fast y changes as a changes." in said


def test_an_output_without_a_name_gets_none_of_the_inputs():
    assert "∂z/∂x = 3 and ∂z/∂y = 2." in ForwardAndReverse(lambda x, y: x * y, 2.0, 3.0).text
