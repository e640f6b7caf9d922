"""StaticVsDynamic of a TensorFlow function: what the film says is what TensorFlow and AutoGraph did."""

import numpy as np
import pytest

from minigrad.course.widgets import StaticVsDynamic
from minigrad.course.widgets.eager_run import EagerRun
from tests.support.films import check_static_film

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed: pip install tensorflow-cpu==2.21.0")
runs = pytest.importorskip("minigrad.draw.readers.tensorflow_runs")
W, HELD = tf.Variable([0.5, -1.0]), [tf.Variable([1.0, 1.0])]
ONE, TWO = tf.constant([1.0, 2.0]), tf.constant([3.0, 2.0])


def road(x, training):
    print("called")
    y = 1 - x * W
    if training:
        y = tf.exp(y)
    for i in range(2):
        y = y * 0.5 + i
    if y[0] > 3:
        y = y + 1
    W.assign_add(x)
    tf.print("y is", y)
    return y


def refused(x):
    y = x * 2
    if y.numpy()[0] > 3:
        return y + 1
    return y


def test_the_film_tells_what_vanishes_what_prints_and_how_often_it_is_traced():
    widget = StaticVsDynamic(tf.function(road), cases=[(ONE, True), (TWO, True), (ONE, False)])

    check_static_film(
        widget,
        ["if", "1 box", "for", "2 boxes", "for", "2 boxes", "for", "3 boxes"],
        ["without a value", "is there already", "This is trace 2: no earlier graph"],
    )
    assert widget.steps[-2]["text"]["right says"].startswith("while tracing: called\nwhile running: y is [")
    assert "false: as it is" in widget.film["panels"][2]["html"]
    assert W.numpy().tolist() == [0.5, -1]


def test_values_and_results_are_those_of_tensorflow_to_the_bit():
    traces = runs.Traces(road)
    traces.trace_for(TWO, False)
    run, left = traces.run(TWO, False), EagerRun(road, (TWO, False), runs)

    assert np.array_equal(run.results[0], left.recording.result)
    assert np.array_equal(run.results[0], [0.875, 1.75])
    assert {*left.line.values()} < {*run.lines.values()}
    assert [box.value for box in run.boxes.values() if box.op == "×"] == [
        box.value for box in left.boxes.values() if box.op == "×"
    ]


def test_what_needs_a_value_is_refused_and_its_line_is_marked():
    last = StaticVsDynamic(refused, ONE).steps[-1]

    assert last["say"].endswith("AttributeError: 'SymbolicTensor' object has no attribute 'numpy'.")
    assert last["hot"] == {"hot": [f"line {refused.__code__.co_firstlineno + 2}", "rstop"]}


def test_variables_in_a_list_are_restored_and_prints_end_as_told():
    widget = StaticVsDynamic(lambda x: [HELD[0].assign_add(x), tf.print("x is", x, end="!")][0] + 0, ONE)

    assert widget.steps[-2]["text"]["right says"] == "while running: x is [1 2]!"
    assert HELD[0].numpy().tolist() == [1, 1]
