"""Pictures of graphs that are built before they run."""

import pytest

import minigrad as mg
from minigrad.course.widgets import GraphView
from minigrad.engine.base.spec import Spec
from minigrad.tracing.builder import GraphBuilder


def built():
    builder = GraphBuilder()
    with builder.building():
        x, w = builder.argument("x", Spec((3,), "f8")), builder.argument("w", Spec((3,), "f8"))
        loss = ((x * w + 1) ** 3).sum()
        (g,) = builder.gradients([loss], [w])
    return builder, x, w, loss, g


def test_a_graph_before_its_run_has_shapes_and_no_values():
    _, x, w, loss, _ = built()

    assert mg.draw(loss, {"x": x, "w": w, "loss": loss}).text.splitlines() == [
        "loss = ·: 7 boxes, 6 arrows", "x = · f64[3], a leaf", "w = · f64[3], a leaf", "#3 = x × w = · f64[3]",
        "1, a constant", "#5 = #3 + 1 = · f64[3]", "#6 = #5^3 = · f64[3]", "loss = sum(#6) = · f64[]",
    ]  # fmt: skip


def test_forward_and_gradient_stand_in_one_drawing():
    _, x, w, loss, g = built()
    picture = mg.draw([loss, g], {"x": x, "w": w, "loss": loss, "g": g}).picture

    assert [box.name for box in picture.boxes if box.name] == ["x", "w", "loss", "g"]
    assert picture.uses[next(box.id for box in picture.boxes if box.name == "x")] == 2, "x is read forward and backward"


def test_a_finished_graph_is_drawn_whole():
    builder, _, _, loss, g = built()
    drawn = mg.draw(builder.finish_graph([loss, g]), {})

    assert len(drawn.picture.boxes) == len(mg.draw([loss, g], {}).picture.boxes)
    assert drawn.svg.startswith("<svg")


def test_what_has_no_graph_is_told_what_has():
    with pytest.raises(TypeError, match="expected a Value, a Tensor, a Graph"):
        mg.draw([])


def test_a_graph_is_drawn_with_all_that_nothing_else_reads():
    with mg.Graph().as_default() as graph:
        x, w = mg.placeholder("f8", (None, 3), name="x"), mg.Variable([1.0, 2.0, 3.0], name="w")
        loss = (x @ w).sum()
        down = w.assign_sub(0.1 * w)
    drawn = mg.draw(graph, {"loss": loss, "down": down})

    assert {"x", "w", "loss", "down"} <= {box.name for box in drawn.picture.boxes}
    assert drawn.svg.startswith("<svg")
    assert not any("3518" in box.spec for box in drawn.picture.boxes)


def test_an_empty_graph_has_no_picture():
    with pytest.raises(TypeError, match="it is still empty"):
        mg.draw(mg.Graph())


def test_a_function_that_was_traced_once_is_drawn_as_its_graph():
    f = mg.function(lambda x: (x * 2).sum())
    with pytest.raises(TypeError, match=r"was traced 0 times: .*draw\(<lambda>\.graph_for\(…\)\)"):
        mg.draw(f)

    f(mg.ones(3))

    assert mg.draw(f, {}).text == mg.draw(f.graph_for(mg.ones(3)), {}).text
    f(mg.ones(3, 3))
    with pytest.raises(TypeError, match="traced 2 times"):
        mg.draw(f)


def test_a_function_that_gives_a_value_and_what_is_made_of_it_is_drawn():
    @mg.function
    def both(x):
        y = x * 2
        return y + 1, y

    both(mg.tensor(1.0))

    assert [box.op for box in mg.draw(both, {}).picture.boxes] == ["", "", "×", "", "+"]


def test_results_of_a_traced_function_are_named_as_its_caller_reaches_them():
    @mg.function
    def pair(x):
        return x * 2, {"sum": x.sum(), "x": x}

    @mg.function
    def keys(x):
        return {"loss": x.sum(), "parts": [x * 2, x + 1]}

    pair(mg.ones(3)), keys(mg.ones(3))

    assert [box.name for box in mg.draw(pair).picture.outputs] == ["output[0]", "output[1]['sum']", "x"]
    assert [box.name for box in mg.draw(keys).picture.outputs] == ["loss", "parts[0]", "parts[1]"]
    assert mg.draw(pair).text.count("an output") == mg.draw(pair).svg.count("mg-output") - 1 == 3


def test_a_traced_training_step_names_its_gradients_and_what_it_changes():
    w = mg.tensor([1.0, 2.0], requires_grad=True)
    optimizer = mg.optim.SGD([w], lr=0.1)

    @mg.function
    def step(x):
        optimizer.zero_grad()
        loss = (w * x).sum()
        loss.backward()
        optimizer.step()
        return loss

    step(mg.ones(2))

    assert {"output", "w.grad", "w afterwards"} <= {box.name for box in mg.draw(step).picture.outputs}


def test_a_traced_function_that_returns_its_argument_is_drawn():
    """An IndexError once: a graph without outputs."""
    same = mg.function(lambda x: x)
    same(mg.ones(3))

    assert mg.draw(same).text.splitlines() == ["x = ·: 1 box, 0 arrows", "x = · f64[3], a leaf"]


@pytest.mark.parametrize("gives", ["made of it", "it", "nothing"])
def test_a_print_in_a_graph_is_a_box_and_that_it_has_happened_is_none(gives, capsys):
    @mg.function
    def told(x):
        y = x * 2
        mg.print("y is", y)
        return {"made of it": y.exp(), "it": y, "nothing": None}[gives]

    told(mg.tensor(1.0))
    boxes = mg.draw(told, {}).picture.boxes

    assert sorted(box.op for box in boxes if box.op) == sorted(["×", "print"] + ["exp"] * (gives == "made of it"))
    assert [box.value for box in boxes if not box.op] == ["·", "2"], "x, and the 2"


def test_of_a_branch_and_a_loop_is_drawn_what_was_asked_for_under_the_learners_names():
    """A loop also leaves stacks for backward, and a truth that its effects have happened: nobody asked for these."""
    with mg.Graph().as_default():
        x = mg.placeholder("float64", (), name="x")
        chosen = mg.cond(x > 0, lambda: x * x, lambda: -x)
        count, power = mg.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, 1.0))

        assert "chosen = if(#3, x) = · f64[]" in mg.draw(chosen).text
        assert "count, power = while(0, 1, x) = · i64[], f64[]" in mg.draw([count, power]).text
        assert "if → chosen, f64[]" in GraphView(chosen).text


def test_the_text_of_hlo_needs_no_jax():
    text = "HloModule f\nENTRY main {\n  x = f32[3]{0} parameter(0)\n  ROOT y = f32[3]{0} sine(x)\n}\n"

    assert mg.draw(text).text.splitlines()[1:] == ["x f32[3], a leaf", "y = sine(x) f32[3]"]
