"""The chain-rule widget: its numbers are the engine's, its sentences are true, and it touches nothing."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np
import pytest
import traitlets

import minigrad as mg
from minigrad.course.widgets import ChainRule
from minigrad.draw import heat, svg
from minigrad.draw.heat import heat_of
from minigrad.draw.words import number
from minigrad.engine.core.node import toposort
from minigrad.scalar.value import Value
from tests.support.colour_contrast import contrast


def chain(x: Value | mg.Tensor, y: Value | mg.Tensor) -> Value | mg.Tensor:
    return (2 * x + x * y).tanh() * x / 3 - (1 - y) ** 2


def fan(x: Value | mg.Tensor, y: Value | mg.Tensor) -> Value | mg.Tensor:
    z = x * y
    return z * z + z.exp() * x + y.log()


def deep(x: Value | mg.Tensor, y: Value | mg.Tensor) -> Value | mg.Tensor:
    for _ in range(5):
        x = x + x
    return x * y


EXPRESSIONS = [chain, fan, deep]
ENGINES = {"Value": Value, "Tensor": lambda x: mg.tensor(x, requires_grad=True)}


def played(rule: ChainRule, upto: int) -> dict[str, dict[str, str]]:
    """What is on the screen at a step: what all steps until then wrote."""
    screen: dict[str, dict[str, str]] = {"values": {}, "grads": {}, "numbers": {}, "parts": {}, "flows": {}}
    for step in rule.steps[: upto + 1]:
        for slot, texts in screen.items():
            texts.update(step.get(slot, {}))
    return screen


def told(rule: ChainRule) -> str:
    return " ".join(step["say"] for step in rule.steps)


@pytest.mark.parametrize("f", EXPRESSIONS)
@pytest.mark.parametrize("engine", ENGINES)
def test_the_gradients_it_ends_with_are_those_of_a_real_backward(f: Callable, engine: str):
    x, y = ENGINES[engine](0.5), ENGINES[engine](1.5)
    z = f(x, y)
    rule = ChainRule(z, names={"x": x, "y": y})

    z.backward()

    boxes = {box.display_name: box.id for box in rule.replay.picture.boxes}
    grads = played(rule, len(rule.steps))["grads"]
    assert grads[boxes["x"]] == number(float(x.grad if engine == "Value" else x.grad.item()))
    assert grads[boxes["y"]] == number(float(y.grad if engine == "Value" else y.grad.item()))


@pytest.mark.parametrize("f", EXPRESSIONS)
def test_both_engines_tell_the_same_numbers(f: Callable):
    def grads(make: Callable) -> set[str]:
        x, y = make(0.5), make(1.5)
        rule = ChainRule(f(x, y), names={"x": x, "y": y})
        return set(played(rule, len(rule.steps))["grads"].values())

    assert grads(ENGINES["Value"]) == grads(ENGINES["Tensor"])


def test_the_arithmetic_on_every_arrow_and_in_every_box_is_true():
    x, y = Value(0.5), Value(1.5)
    rule = ChainRule(fan(x, y))
    screen = played(rule, len(rule.steps))
    read = lambda text: float(text.strip("×= ").replace("−", "-"))  # noqa: E731

    for id, label in screen["numbers"].items():
        incoming, slope, outgoing = map(read, label.split("\n"))
        assert incoming == pytest.approx(read(screen["grads"][rule.replay.picture.arrow[id].head]))
        assert outgoing == pytest.approx(incoming * slope, rel=2e-3)  # each is shown in four digits
    added = {}
    for id, part in screen["parts"].items():
        added.setdefault(rule.replay.picture.arrow[id].tail, []).append(read(part))
    assert len(added) > 1
    assert all(read(screen["grads"][box]) == pytest.approx(sum(parts), rel=2e-3) for box, parts in added.items())


def test_the_learners_graph_and_gradients_stay_as_they_are():
    x = Value(2.0)
    x.grad = 7.0
    z = x * x
    t = mg.tensor([1.0, 2.0], requires_grad=True)
    loss = (t * t).sum()

    ChainRule(z)
    ChainRule(loss)

    assert (x.grad, z.grad, t.grad) == (7.0, 0.0, None)
    loss.backward()  # nothing was freed
    assert t.grad.numpy().tolist() == [2.0, 4.0]


def test_a_graph_that_is_freed_can_still_be_stepped():
    t = mg.tensor([1.0, 2.0], requires_grad=True)
    loss = (t * t).sum()
    loss.backward()

    assert repr(ChainRule(loss)) == "ChainRule(9 steps; t.grad = [2, 4])"


def test_the_first_graph_of_the_course_step_by_step():
    x, y, w = Value(2.0), Value(3.0), Value(4.0)
    temp = x * y
    z = temp + w
    rule = ChainRule(z)
    say = [step["say"] for step in rule.steps]

    assert [step["phase"] for step in rule.steps] == ["built"] + ["forward"] * 3 + ["backward"] * 5 + ["done"]
    assert say[0] == "The graph of z: 3 leaves and 2 operations. We run it again, and no number is known yet."
    assert say[2] == "temp = x × y = 2 × 3 = 6. Backward will need x and y here, so they are saved."
    assert say[3] == "z = temp + w = 6 + 4 = 10. Backward needs no number from here: nothing is saved."
    assert say[4] == "Backward starts at z, with ∂z/∂z = 1: z moves exactly as much as z."
    assert "From temp back to x: 1 arrives at temp, times ∂temp/∂x = y = 3, makes 3." in say
    assert "From temp back to y: 1 arrives at temp, times ∂temp/∂y = x = 2, makes 2." in say
    assert played(rule, 0)["values"] == {}
    assert len(played(rule, 3)["values"]) == 5
    assert played(rule, 3)["grads"] == {}


def test_at_a_fan_out_the_gradients_are_seen_to_add():
    x, y, z = Value(2.0), Value(3.0), Value(4.0)
    s = x * y + x * z
    rule = ChainRule(s)

    assert "x was used twice, so its gradients add: " in told(rule)
    partial = [step["grads"] for step in rule.steps if any("…" in g for g in step.get("grads", {}).values())]
    assert len(partial) == 1
    assert {"4 + 3 = 7", "3 + 4 = 7"} & set(re.findall(r"add: (.*?)\.", told(rule)))


def test_a_value_used_twice_by_one_operation_gets_two_shares():
    x = Value(3.0)
    z = x * x

    assert "x was used twice, so its gradients add: 3 + 3 = 6." in told(ChainRule(z))


def test_only_the_engine_that_frees_says_so():
    x, t = Value(2.0), mg.tensor(2.0, requires_grad=True)

    assert "freed" not in told(ChainRule(x * x))
    assert "Backward is done with t: what is saved shrinks by 8 bytes." in told(ChainRule(t * t))


def test_a_matrix_product_tells_its_rule():
    a = mg.tensor(np.ones((2, 3)), requires_grad=True)
    b = mg.tensor(np.ones((3, 2)), requires_grad=True)
    c = a @ b
    loss = c.sum()

    say = told(ChainRule(loss))

    assert "From c back to a: g ([[1, 1], [1, 1]]) arrives at c, and the rule “g @ bᵀ” makes norm 4.899." in say
    assert "which are given: a and b." in say  # the heat maps show their numbers
    assert "a.grad has norm 4.899" in say


def test_a_graph_of_more_than_sixty_boxes_is_refused_with_the_way_out():
    y = Value(1.0)
    for _ in range(60):
        y = y.tanh()

    with pytest.raises(ValueError, match=r"up to 60 boxes, and y has 61\. Step through a part"):
        ChainRule(y)


def test_what_cannot_be_stepped_is_refused():
    with pytest.raises(TypeError, match=r"2\.0 of type float has no graph"):
        ChainRule(2.0)
    with pytest.raises(mg.errors.NoGradientError, match="requires_grad=True"):
        ChainRule(mg.tensor(2.0))
    with pytest.raises(mg.errors.NoGradientError, match="starts from one number"):
        ChainRule(mg.tensor([1.0, 2.0], requires_grad=True) * 2)


def test_of_an_operation_of_the_learners_own_only_its_numbers_are_told():
    x = Value(2.0)
    y = Value(math.sin(x.data), ((x, math.cos(x.data)),), "sin")

    say = [step["say"] for step in ChainRule(y).steps]

    assert say[2] == "y = sin(x) = sin(2) = 0.9093."
    assert say[4] == "From y back to x: 1 arrives at y, times ∂y/∂x = −0.4161, makes −0.4161."


def test_where_widgets_cannot_be_shown_the_end_of_the_run_is_a_picture():
    x, y = Value(2.0), Value(3.0)

    svg = ChainRule(x * y).svg

    assert {"1 × 3 = 3", "1 × 2 = 2"} == labels(svg)
    assert svg.count(">6<") == 1


def test_one_leaf_alone_is_a_run_too():
    x = Value(1.0)

    assert ChainRule(x).steps[-1]["say"].startswith("Done: x.grad = 1.")


def test_a_page_closes_no_tag_early():
    x = Value(2.0)

    assert ChainRule(x * x, names={"</script><b>": x}).page().count("</script>") == 2


# -- questions --------------------------------------------------------------------------------------


def questions(rule: ChainRule) -> dict[int, dict]:
    return {n: step["question"] for n, step in enumerate(rule.steps) if "question" in step}


@pytest.mark.parametrize("f", EXPRESSIONS)
@pytest.mark.parametrize("engine", ENGINES)
def test_every_step_of_the_backward_pass_has_a_question_whose_answer_it_shows(f: Callable, engine: str):
    x, y = ENGINES[engine](0.5), ENGINES[engine](1.5)
    rule = ChainRule(f(x, y), names={"x": x, "y": y})

    asked = questions(rule)

    assert list(asked) == [n for n, step in enumerate(rule.steps) if step["phase"] == "backward"]
    for n, question in asked.items():
        shown = rule.steps[n]["grads"][rule.steps[n]["box"]].removesuffix(" + …")
        assert shown.split(" = ")[-1] == question["shown"] == number(question["right"])


def test_of_a_matrix_one_entry_is_asked_for_and_it_is_the_gradients():
    a = mg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    loss = (a * a).sum()
    rule = ChainRule(loss)
    last = max(questions(rule))

    loss.backward()

    assert "The gradient of a at [0, 1] is 2 so far" in rule.steps[last]["question"]["ask"]
    assert rule.steps[last]["question"]["right"] == a.grad.numpy()[0, 1] == 4.0


def test_of_what_is_too_large_to_read_the_shape_is_asked_for_and_hidden_in_its_box():
    w = mg.tensor(np.ones((9, 3)), requires_grad=True)
    rule = ChainRule((mg.tensor(np.ones((2, 9))) @ w).sum())

    question = questions(rule)[max(questions(rule))]

    assert question["right"] == question["veil"] == "f64[9, 3]"
    assert question["choices"] == ("f64[2, 3]", "f64[3, 9]", "f64[9, 3, 1]", "f64[9, 3]", "f64[]")
    assert f">{question['veil']}<" in rule.pictures["numbers"]


def test_of_what_is_no_number_the_kind_is_asked_for():
    with np.errstate(all="ignore"):
        rule = ChainRule(mg.tensor(0.0, requires_grad=True).log())

    question = questions(rule)[max(questions(rule))]

    assert (question["right"], question["choices"]) == ("inf", ("a finite number", "inf", "−inf", "nan"))


def test_answers_are_plain_data_by_step_and_nothing_else():
    x = Value(2.0)
    rule = ChainRule(x * x, asks=True)
    answer = {"guess": 1.0, "right": 1.0, "gap": 0.0, "close": True}

    rule.answers = {"3": answer}  # as the browser writes it
    assert rule.answers == {3: answer}
    with pytest.raises(ValueError, match=r"with a question, \[3, 4, 5\]; got 0"):
        rule.answers = {0: answer}
    with pytest.raises(ValueError, match="an answer is a dict"):
        rule.answers = {3: "1"}


def test_while_it_asks_the_questions_come_before_the_answers_and_the_picture_has_none():
    x = Value(2.0)
    rule = ChainRule(x * x, asks=True)
    rule.answers = {
        3: {"guess": 3.0, "right": 1.0, "gap": 2.0, "close": False},
        4: {"guess": None, "right": 2.0, "gap": None, "close": None},
    }

    first, rest = rule.text.split("\n\n")

    assert re.findall(r"\? \((.*)\)", first) == ["you said 3: off by 2", "skipped", "not yet answered"]
    assert "makes 2" not in first
    assert "makes 2" in rest
    assert "× 2" not in rule.svg


# -- formulas, heat maps, bytes -----------------------------------------------------------------------


def test_on_the_arrows_stands_the_derivative_as_the_reader_wants_it():
    a, b = mg.tensor(np.ones((2, 3)), requires_grad=True), mg.tensor(np.full((3, 4), 0.1))
    c = a @ b
    h = c.tanh()
    rule = ChainRule(h.sum())

    def on_arrows(view: str) -> list[str]:
        return [text for step in rule.steps for text in step.get(view, {}).values()]

    assert on_arrows("formulas")[1:] == ["∂h/∂c\n= 1 − h × h", "g ↦ g @ bᵀ"]
    assert on_arrows("numbers")[1:] == ["", ""]  # the heat maps of both gradients stand around the rule
    assert [step["around"] for step in rule.steps if "around" in step][1:] == [
        {"a3": ("", "× 0.9151")},
        {"a1": ("", "@ bᵀ")},
    ]
    maps = [found for step in rule.steps for found in step.get("maps", {}).values()]
    assert [[each and each["columns"] for each in found] for found in maps[1:]] == [[4, None, 4], [4, 3, 3]]  # bᵀ
    assert "∂h/∂c = 1 − h × h" not in labels(rule.svg)
    rule.view = "formulas"
    assert "∂h/∂c = 1 − h × h" in labels(rule.svg)
    with pytest.raises(traitlets.TraitError, match="numbers"):
        rule.view = "words"


def test_heat_maps_hold_the_engines_numbers_and_mark_what_is_none():
    array = np.array([[1.0, -2.0, 0.0], [np.nan, np.inf, -np.inf]])

    heat = heat_of(array)

    assert heat.cells == (
        ("1", "1", 0.5), ("−2", "−2", -1.0), ("0", "0", 0.0), ("nan", "?", 0.0), ("inf", "∞", 0.0), ("−inf", "−∞", 0.0),
    )  # fmt: skip
    assert [mark for _, mark, _ in heat.without_numbers().cells] == ["", "−", "", "?", "∞", "−∞"]
    assert [mark for _, mark, _ in heat_of(np.array([[0.426, -1234, 3e-9], [-0.00123, 99.6, 1e7]])).cells] == [
        ".43", "−1234", "3e−9", "−1e−3", "100", "1e7",
    ]  # fmt: skip
    assert heat_of(np.ones((9, 2))) is heat_of(np.ones((2, 2, 2))) is heat_of(np.ones(())) is None
    assert heat_of(np.zeros(3)).cells == (("0", "0", 0.0),) * 3


def test_a_slope_with_nan_in_it_is_shown_entry_by_entry():
    """The arrow said "× nan", also of the entries that are numbers."""
    x = mg.tensor([1.0, 1.0], requires_grad=True)
    (share,) = [s for s in ChainRule((x * mg.tensor([2.0, np.nan])).sum()).steps if [*s.get("maps", {}).values()][-1:]][
        -1:
    ]

    ((_, slope, _),) = share["maps"].values()
    assert [text for text, _, _ in slope["cells"]] == ["2", "nan"]
    assert share["numbers"] == {share["arrows"][0]: ""}


def test_matrices_on_the_arrows_are_the_engines_and_add_up_in_the_box():
    x = mg.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
    rule = ChainRule((x * x * 3).sum())
    shares = [step for step in rule.steps if step.get("slope") == "b1"]

    def numbers(heat: dict) -> list[float]:
        return [float(text) for text, _, _ in heat["cells"]]

    arrows = [[numbers(heat) for heat in heats] for step in shares for heats in step["maps"].values()]
    assert all(passed == [g * slope for g, slope in zip(came, slopes)] for came, slopes, passed in arrows)
    so_far, now = (passed for _, _, passed in arrows)
    assert numbers(shares[-1]["grad_heats"]["b1"]) == [a + b for a, b in zip(so_far, now)]
    assert "at [0, 1], 6 + 6 = 12." in told(rule)
    order = re.findall(r'data-of="(passed|came|slope)" data', rule.svg)
    assert ["came", "slope", "passed"] in [order[k : k + 3] for k in range(len(order))]  # as for numbers


def test_in_a_product_on_an_arrow_rows_and_columns_meet_in_the_entry_that_they_make():
    a, b = (mg.tensor(np.arange(6.0).reshape(shape), requires_grad=True) for shape in ((2, 3), (3, 2)))
    for share in [share for share in ChainRule(((a @ b) ** 2).sum()).replay.shares if "@" in share.rule]:
        _, (_, left, _, y), (_, above, x, _), (*_, made, x_made, y_made) = heat.on_arrow(share.maps, share.around)
        first, second, product = (
            np.array([float(t) for t, *_ in m.cells]).reshape(-1, m.columns) for m in (left, above, made)
        )
        assert (first @ second == product).all()
        assert (x, y, left.side, above.across) == (x_made, y_made, made.side, made.across)


def test_the_summands_of_a_gradient_stand_in_its_box_and_stay():
    x, y = Value(2.0), Value(3.0)
    rule = ChainRule(x * y + (x * x))
    box = {box.display_name: box.id for box in rule.replay.picture.boxes}["x"]
    at = [n for n, step in enumerate(rule.steps) if box in step.get("grads", {}) and "parts" in step]

    assert [rule.steps[n]["grads"][box] for n in at] == ["2 + …", "4 + …", "7"]
    assert [number for n in at for number in rule.steps[n]["parts"].values()] == ["2", "2", "3"]
    rows = re.findall(r'>([^<]+)</text><text class="mg-number mg-part"[^>]*>([^<]+)', rule.svg)
    assert rows == [("via #4", "2"), ("via #4", "2"), ("via #3", "3")]  # each with where it comes from


def test_the_width_of_an_arrow_is_the_size_of_the_gradient_that_it_carried():
    x, y = Value(3.0), Value(4.0)
    rule = ChainRule(x * 8 + (-y).relu() * 100 + y / 64)
    numbers, flows = (played(rule, len(rule.steps))[slot] for slot in ("numbers", "flows"))
    widths = {label.split("= ")[1]: flows[arrow] for arrow, label in numbers.items()}

    assert widths == {"1": 5.5, "8": 8.5, "100": 9.5, "0": 0, "0.01562": 1.5}
    assert 'mg-none mg-flows" style="--mg-carries: 0"' in rule.svg
    assert rule.svg.count('mg-flows" style="--mg-carries: 8.5"') == 1


def labels(svg: str) -> set[str]:
    """What stands on the arrows of a picture, each in one line."""
    found = re.findall(r'class="mg-label"[^>]*>(.*?)</text>', svg)
    return {" ".join(re.sub("<.*?>", "", label).split()) for label in found}


def test_heat_maps_and_bytes_kept_for_backward_are_those_of_a_real_backward():
    rng = np.random.default_rng(0)
    x, w = mg.tensor(rng.normal(size=(4, 3))), mg.tensor(rng.normal(size=(3, 2)), requires_grad=True)
    h = (x @ w).tanh()
    loss = (h * h).sum()
    rule = ChainRule(loss)
    steps = rule.steps
    forward = [step for step in steps if step["phase"] == "forward"]
    arrays = {id(a): a.nbytes for node in toposort(loss.node) if node.inputs for a in node.saved or ()}

    assert forward[-1]["held"] == f"saved for backward: {sum(arrays.values())} bytes"
    assert steps[-1]["held"] == "saved for backward: 0 bytes"
    assert "Backward is done with h: what is saved shrinks by 64 bytes." in " ".join(step["say"] for step in steps)
    assert "Backward is done with x: what is saved shrinks by 96 bytes." in " ".join(step["say"] for step in steps)

    screen = {id: heat for step in steps for id, heat in step.get("grad_heats", {}).items()}
    (box,) = [box.id for box in rule.replay.picture.boxes if box.display_name == "w"]
    loss.backward()
    assert [text for text, _, _ in screen[box]["cells"]] == [number(g) for g in w.grad.numpy().ravel()]
    assert heat_of(w.grad.numpy()).text in rule.text


def test_of_several_leaves_all_stay():
    x, y = mg.ones(3, requires_grad=True), mg.ones(3, requires_grad=True)
    says = " ".join(step["say"] for step in ChainRule((x * y).sum()).steps)

    assert "Backward is done with x and y: what is saved shrinks by " in says


@pytest.mark.parametrize("colours", [heat.LIGHT, heat.DARK])
def test_marks_stand_out_from_the_darkest_cell(colours: str):
    ink = re.search(r"--mg-ink: (#\w+)", svg.LIGHT if colours == heat.LIGHT else svg.DARK)[1]

    assert all(contrast(ink, cell) >= 4.5 for cell in re.findall(r"#\w+", colours))


def test_a_graph_of_no_elements_is_stepped_through_too():
    x = mg.zeros(0, 2, requires_grad=True)
    assert ChainRule((x * 2).sum(), names={"x": x}).steps[-1]["say"] == "Done: x.grad = []."
