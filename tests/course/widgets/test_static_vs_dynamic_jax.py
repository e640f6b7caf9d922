"""StaticVsDynamic of a JAX function: what the film says is what JAX did, eagerly and by its jaxpr."""

import numpy as np
import pytest

from minigrad.course.widgets import StaticVsDynamic
from minigrad.course.widgets.eager_run import EagerRun
from tests.support.films import check_static_film

jax = pytest.importorskip("jax", reason="JAX is not installed: pip install jax==0.10.2")
runs = pytest.importorskip("minigrad.draw.readers.jax_runs")
ONE, TWO = jax.numpy.array([1.0, 2.0]), jax.numpy.array([0.25, 1.0, 4.0])


def road(x, training):
    print("called")
    y = 1 - x * 2
    if training:
        y = jax.nn.relu(y)
    for i in range(2):
        y = y * 0.5 + i
    jax.debug.print("y is {}", y)
    return jax.lax.cond(y[0] > 3, lambda y: y + 1, lambda y: y * y, y)


def refused(x):
    y = x * 2
    if y[0] > 3:
        return y + 1
    return y


def test_the_film_tells_what_vanishes_what_prints_and_how_often_it_is_traced():
    widget = StaticVsDynamic(jax.jit(road, static_argnums=1), cases=[(ONE, True), (ONE * 2, True), (TWO, False)])

    check_static_film(
        widget,
        ["if", "1 box", "for", "2 boxes", "for", "2 boxes", "for", "1 box", "5 boxes"],
        ["without a value", "is there already", "This is trace 2: no earlier graph"],
    )
    said = widget.steps[-2]["text"]["right says"]
    assert said == "while tracing: called\nwhile running: y is [1. 1.]\n"
    assert "false: ×<" in widget.film["panels"][2]["html"]


def test_values_and_results_are_those_of_jax_to_the_bit():
    traces = runs.Traces(road)
    traces.trace_for(TWO, False)
    run, left = traces.run(TWO, False), EagerRun(road, (TWO, False), runs)
    jaxpr = jax.make_jaxpr(road, static_argnums=1)(TWO, False)

    assert np.array_equal(run.results[0], jax.jit(road, static_argnums=1)(TWO, False))
    assert np.array_equal(left.recording.result, road(TWO, False))
    assert len(run.order) == len(jaxpr.eqns)
    assert {*left.line.values()} < {*run.lines.values()}
    shown = [(box.kind, box.op, box.value) for box in run.boxes.values() if box.op != "debug_print"]
    assert [(box.kind, box.op, box.value) for box in left.boxes.values()] == shown


def test_an_if_on_an_array_is_refused_and_its_line_is_marked():
    last = StaticVsDynamic(refused, ONE).steps[-1]

    why = "cannot be traced: line 3 needs a value, and no value exists while tracing. TracerBoolConversion"
    assert why in last["say"]
    assert last["say"].endswith("An if on a tensor can be traced as jax.lax.cond(condition, f, g, …).")
    assert last["hot"] == {"hot": [f"line {refused.__code__.co_firstlineno + 2}", "rstop"]}


def test_a_power_shows_its_exponent_on_both_sides():
    assert all(">^3<" in panel["html"] for panel in StaticVsDynamic(lambda x: x**3, ONE).film["panels"][1:])


def test_arguments_and_results_may_be_no_arrays():
    last = StaticVsDynamic(lambda x: x * 2, 3.0, framework="jax").steps[-1]
    assert last["say"].startswith("Both have the same result")
    assert "line 1 needs a value" in StaticVsDynamic(lambda x: x.sum().item() + int(x[0]), ONE).steps[-1]["say"]
    assert "It cannot be traced: " in StaticVsDynamic(lambda x: "text", ONE).steps[-1]["say"]
