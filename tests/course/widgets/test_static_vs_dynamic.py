"""The same function run eagerly and as a static graph: what the film says is what the engine did."""

import re
import time
from contextlib import suppress
from threading import Thread, active_count

import numpy as np
import pytest

import minigrad as mg
from minigrad.course.widgets import StaticVsDynamic, static_vs_dynamic
from minigrad.course.widgets.recording import TooLong, time_limit
from tests.support.endless_functions import endless
from tests.support.films import last_words

ONE, TWO = mg.tensor(1.0), mg.tensor(2.0)


def branching(x):
    print("called")
    y = x * 2
    if y > 3:
        z = y + 1
    else:
        z = y.exp() * x
    return z * z


def unrolled(x):
    s = x * 0
    for i in range(3):
        s = s + x * i
    return s


def looping(x):
    while x < 100:
        x = x * x
    return x


def says(widget):
    return [step["say"] for step in widget.steps]


def screen(film, n):
    """Id → words, and the hidden parts, after step n: what film.js makes of the steps."""
    hidden = set()
    for step in film["steps"][: n + 1]:
        hidden |= {*step.get("on", {}).get("hidden", ())}
        hidden -= {*step.get("off", {}).get("hidden", ())}
    return last_words(film["steps"], n), hidden


def across(film, panel):
    """What a screen shows of a panel. A phone shows the graph that stands behind it, from top to bottom."""
    return re.sub(r'<svg[^>]*"mg-picture mg-down".*?</svg>', "", film["panels"][panel]["html"], flags=re.DOTALL)


def parts(film, panel):
    return re.findall(r'data-id="([lr]b\d+)"', across(film, panel))


def test_three_inputs_are_three_runs_and_one_graph():
    widget = StaticVsDynamic(branching, cases=[(ONE,), (TWO,)])
    first, second = widget.films

    assert [">exp<" in film["panels"][1]["html"] for film in (first, second)] == [True, False]
    assert [">+ 1<" in film["panels"][1]["html"] for film in (first, second)] == [False, True]
    assert across(first, 2).count(">if<") == 1
    assert sum("adds 3 boxes" in say or "adds 2 boxes" in say for say in says(widget)) == 1
    never = [words for id, words in screen(first, 99)[0].items() if id.startswith("idle")]
    assert never == ["0"] * 6  # of the branch that was not taken too
    widget.choice = [1]
    assert "the static graph is there already" in says(widget)[0]
    assert not any("traced, it" in say for say in says(widget))
    graphs = re.findall(r'cy="(\S+)"', static_vs_dynamic.STRIPS[0])
    assert graphs[:3] == graphs[3:6] == graphs[6:]  # a function without an if seemed to have three graphs
    end = "The graph ran without Python: it printed nothing and each if in it has both branches."
    assert says(widget)[-1] == f"Both have the same result: 25. Eagerly, Python ran 5 lines of branching. {end}"


def test_results_that_differ_are_not_called_the_same():
    """The film once said "both have the same result" and named the left one, whatever the graph gave."""
    calls = []

    def counting(x):
        calls.append(x)
        return x * len(calls), x

    last = says(StaticVsDynamic(counting, mg.tensor(3.0)))[-1]

    assert last.startswith("The results differ, 3 and 3 eagerly and 6 and 3 from the graph: Python")


def test_what_runs_and_cannot_be_traced_is_shown_run_eagerly_and_the_engine_says_why():
    def halved(x):
        while x.item() > 1:
            x = x / 2
        return x

    film = StaticVsDynamic(halved, mg.tensor(4.0))
    left, right = (across(film.films[0], panel) for panel in (1, 2))

    assert left.count(">÷ 2<") == 2
    assert "lb1" not in screen(film.films[0], 0)[1]
    assert not screen(film.films[0], 99)[1]
    assert says(film)[0] == "The function is called, and runs eagerly."
    assert says(film)[-1].startswith("Run eagerly, its result is 1. It cannot be traced: line 2 needs a value, and no")
    assert "test the tensor, as in `if y > 0`, and not y.item()" in says(film)[-1]  # not the `while` itself
    assert right.count(">halved cannot be traced<") == right.count(">stopped at line 2<") == 1
    assert {"rstop", "rstopb1"} <= screen(film.films[0], 0)[1]
    assert "rstop" in film.steps[1]["hot"]["hot"]
    assert "has no value" not in right  # the reason is printed once
    assert "cannot be traced" in film.svg
    assert StaticVsDynamic(halved, cases=[(ONE,), (TWO,)]).choice == [0]


def test_a_print_is_heard_on_the_right_while_tracing_alone():
    first, second = StaticVsDynamic(branching, cases=[(ONE,), (TWO,)]).films

    assert [screen(film, 99)[0]["left says"] for film in (first, second)] == ["called\n", "called\n"]
    assert [screen(film, 99)[0]["right says"] for film in (first, second)] == ["while tracing: called\n", ""]


def test_all_boxes_are_on_the_screen_at_the_end_and_only_what_is_given_at_the_beginning():
    for f, x in ((branching, ONE), (unrolled, TWO), (looping, TWO)):
        film = StaticVsDynamic(f, x).films[0]
        every = parts(film, 1) + parts(film, 2)

        assert not screen(film, 99)[1]
        assert [part for part in every if part not in screen(film, 0)[1]] == ["lb1", "rb1"]


def test_an_unrolled_loop_comes_turn_by_turn_and_a_loop_of_the_graph_at_once():
    turns = [say for say in says(StaticVsDynamic(unrolled, TWO)) if say.startswith("s = s + x * i")]
    assert [say.split("adds ")[1] for say in turns] == ["2 boxes."] * 3

    whole = StaticVsDynamic(looping, TWO)
    assert across(whole.films[0], 2).count(">while<") == 1
    assert sum(say.startswith("while x < 100") and "traced, it adds" in say for say in says(whole)) == 1
    assert across(whole.films[0], 1).count(">×<") == 3
    turns = [say.split("traced, ")[1] for say in says(whole) if "x = x * x" in say]
    assert turns == ["it is in the while already."] * 3


def doubled(x):
    print("doubling")
    return x * 2


def calling(x):
    later = lambda y: y + 1  # noqa: E731
    x = doubled(doubled(x))
    return later(x)


def test_what_another_function_builds_is_of_the_line_that_calls_it():
    """The graph named lines above the function, and the film said that the calling line adds nothing."""
    widget = StaticVsDynamic(calling, ONE)

    assert [say.split("traced, it ")[1].partition(",")[0] for say in says(widget)[1:4]] == [
        "adds nothing.", "adds 2 boxes and prints", "adds 1 box.",
    ]  # fmt: skip
    assert re.findall(r"line (.)", across(widget.films[0], 2)) == ["3", "3", "4"]


def test_the_values_on_the_right_come_when_the_graph_runs():
    film = StaticVsDynamic(unrolled, TWO).films[0]
    built = next(i for i, step in enumerate(film["steps"]) if step["phase"] == "the graph runs")

    assert {words for part, words in screen(film, built)[0].items() if part.startswith("rb")} == {"?"}
    assert "?" not in {words for part, words in screen(film, 99)[0].items() if part.startswith("rb")}


def test_each_box_names_its_line_and_the_still_shows_both_graphs_and_the_code():
    widget = StaticVsDynamic(branching, ONE)
    left, right = (across(widget.films[0], panel) for panel in (1, 2))

    lines = ["f64[], line 3", "bool[], line 4", *["f64[], line 7"] * 2, "f64[], line 8"]
    assert re.findall(r"\w+\[\], line \d", left) == lines
    assert [left.count(">y = <"), right.count(">y = <")] == [1, 1]
    assert any("z = y.exp()" in say and say.endswith("; traced, it is in the if already.") for say in says(widget))
    # Both branches are in one op, of the line of their `if`; the one that ran is lit.
    spans = re.findall(r'<tspan class="(mg-taken|)" data-id="\w+ of rb\d">(.*?)</tspan>', right)
    assert spans == [("", "true: + 1"), ("mg-taken", "false: exp, ×")]
    assert re.search(r"</tspan>, line 4<", right)
    titles = re.findall(r'class="mg-name" x="\S+" y="16.00">(.*?)<', widget.svg)
    titled = ["Eager: built again in every call", static_vs_dynamic.COUNTED, "Static graph: built once, run often"]
    assert titles == titled
    numbered = '<tspan class="mg-dim" x="44"> 4 </tspan>    <tspan class="mg-keyword">if</tspan> y &gt; '
    assert f'{numbered}<tspan class="mg-figure">3</tspan>:' in widget.svg


def test_what_nothing_uses_is_seen_as_never_built():
    def wasteful(x):
        z = x.exp()  # noqa: F841
        return x * 2

    film = StaticVsDynamic(wasteful, TWO).films[0]
    ghost, arrow = sorted(re.findall(r'mg-unused" data-id="(.*?)"', across(film, 2)), key=lambda id: "a" in id)
    assert (across(film, 2).count(">not built<"), across(film, 2).count(">unused<")) == (1, 1)
    assert arrow in screen(film, 0)[1]
    assert ghost in screen(film, 0)[1]
    assert ghost not in screen(film, 99)[1]
    assert all("mg-unused" not in across(StaticVsDynamic(f, TWO).films[0], 2) for f in (branching, unrolled, looping))


def test_a_line_is_linked_to_its_boxes_in_both():
    film = StaticVsDynamic(unrolled, TWO).films[0]
    line = next(part for part, ids in film["links"].items() if part.startswith("line") and len(ids) > 3)

    assert {part[0] for part in film["links"][line]} == {"l", "r"}
    assert all(film["links"][part] == [line, *film["links"][line]] for part in film["links"][line])


def test_of_what_is_printed_at_great_length_the_beginning_is_shown():
    def f(x):
        print("y" * 3_000_000)
        mg.print(x)
        return x * 2

    widget = StaticVsDynamic(f, TWO)

    said = screen(widget.films[0], 99)[0]
    assert said["left says"].startswith("y" * 2000 + "… 2,998,0")
    assert said["right says"].startswith("while tracing: " + "y" * 1985 + "… 2,998,0")
    assert said["right says"].endswith(" more characters")
    assert len(widget.page()) < 200_000


def test_what_is_printed_by_a_graph_is_printed_when_it_runs():
    def f(x):
        mg.print("x is", x)
        return x * 2

    film = StaticVsDynamic(f, TWO).films[0]
    built = next(i for i, step in enumerate(film["steps"]) if step["phase"] == "the graph runs")

    assert screen(film, built)[0]["right says"] == ""
    assert screen(film, 99)[0]["left says"] == "x is 2.0\n"
    assert screen(film, 99)[0]["right says"] == "while running: x is 2.0\n"


def test_nothing_of_a_cell_runs_into_the_notebook(capsys):
    StaticVsDynamic(branching, ONE)

    assert capsys.readouterr().out == ""


def test_it_goes_back_and_forth_and_refuses_what_is_not_there():
    widget = StaticVsDynamic(branching, cases=[(ONE,), (TWO,)])
    widget.index = len(widget.steps) - 1
    widget.choice = [1]

    assert widget.index == len(widget.steps) - 1
    for nothing in ([2], [True]):
        with pytest.raises(ValueError, match="choice needs one option index for each of"):
            widget.choice = nothing
    assert repr(widget).startswith("StaticVsDynamic(")


def greeting(x):
    print("hello")


@pytest.mark.parametrize(("f", "result"), [(greeting, "None"), (lambda x: 3.0, "3.0"), (lambda x: x, "2")])
def test_a_function_that_computes_nothing_has_a_film_too(f, result):
    widget = StaticVsDynamic(f, TWO)

    ran = f"Eagerly, Python ran 1 line of {f.__name__}. The graph ran"
    assert says(widget)[-1].startswith(f"Both have the same result: {result}. {ran}")
    assert says(widget)[-1].endswith("without Python: it printed nothing." if f is greeting else "ran without Python.")
    assert any("0 ops ran. The static graph is built: 0 ops are in it" in say for say in says(widget))
    assert widget.svg.startswith("<svg")


def test_what_is_not_built_reads_an_input_only_if_it_did_so_eagerly(monkeypatch):
    """A result that was called x too was taken for the input x."""
    drawn = []
    draw_half = static_vs_dynamic.draw_half
    monkeypatch.setattr(static_vs_dynamic, "draw_half", lambda *args: drawn.append(args[0]) or draw_half(*args))

    def renaming(x):
        y = x * 2
        x = y + 1
        x.exp()
        return y

    StaticVsDynamic(renaming, TWO)
    (picture,) = drawn
    unbuilt = [(picture.box[x.tail].op, picture.box[x.head].op) for x in picture.arrows if x.id.startswith("not")]
    assert unbuilt == [("+", "exp")]  # not from x, which is not an op


def two_views(x):
    y = x * 2
    y.exp()
    return x.T, y, y[1]


@pytest.mark.parametrize("f", [lambda x: x.T, lambda x: x[0].reshape(2, 1), two_views])
def test_a_result_that_is_a_view_is_the_same_in_both_and_is_not_called_unused(f):
    """The film showed a symbol as the graph's result, and later called the eager view unused."""
    widget = StaticVsDynamic(f, mg.tensor([[1.0, 2.0], [3.0, 4.0]]))

    (built,) = [
        say for say in says(widget) if "A view in the result is not built: each call makes it at the end." in say
    ]
    assert says(widget)[-1].startswith("Both have the same result: [")
    assert ("What nothing uses is not built." in built) == (f is two_views)
    whys = ["unused", "a view", "a view"] * (f is two_views)  # a graph without a box is not drawn
    assert re.findall(r">not built<.*?>(unused|a view)<", across(widget.films[0], 2)) == whys


TOTAL = mg.tensor(1.0)


def editing(x):
    y = x * 2
    y += 1
    x.zero_()
    TOTAL.add_(y)
    while TOTAL < 30:  # the results listed the loop's stacks for backward too
        TOTAL.mul_(y)
    return x, y * TOTAL


def test_an_edit_in_place_is_one_op_whose_values_are_those_of_its_moment():
    """Every box showed the final value of its array, and the graph ran on arguments that f had edited."""
    x = mg.tensor(2.0)
    widget = StaticVsDynamic(editing, x)

    assert re.findall(r"this line computes (\w+);", widget.text) == ["4", "5", "0", "6", "true", "30", "false", "150"]
    assert says(widget)[-1].startswith("Both have the same result: 0 and 150. ")
    assert across(widget.films[0], 1).count(' mg-leaf"') == 2  # x and TOTAL, and no copy of either
    assert [x.item(), TOTAL.item()] == [2, 1]


@pytest.mark.parametrize(
    ("f", "arg", "result"),
    [(lambda xs: xs[0] * xs[1], [TWO, TWO], "4"), (lambda xs: xs[0] * xs[1], [TWO, np.ones(2)], "[2, 2]")],
)
def test_arrays_and_lists_of_tensors_are_arguments_too(f, arg, result):
    end = "Eagerly, Python ran 1 line of <lambda>. The graph ran without Python."
    assert says(StaticVsDynamic(f, arg))[-1] == f"Both have the same result: {result}. {end}"


def test_both_runs_draw_the_same_random_numbers():
    """The results differed, and the film blamed Python that is no op."""
    assert says(StaticVsDynamic(lambda x: x * mg.rand(2), ONE))[-1].startswith("Both have the same result: [")


def test_what_other_threads_print_is_not_of_the_function(capsys):
    def printing(x):
        other = Thread(target=print, args=("of another thread",))
        other.start()
        other.join()
        return x + 1

    widget = StaticVsDynamic(printing, ONE)

    assert "of another thread" not in str([step.get("text") for step in widget.steps])
    assert "of another thread" in capsys.readouterr().out


def test_one_op_is_one_op():
    assert any(
        "7 ops ran. The static graph is built: 1 op is in it" in say for say in says(StaticVsDynamic(looping, TWO))
    )


def spinning(x):
    while True:
        pass


def raising(x):
    x = x * 2
    raise RuntimeError("the learner's own")


def many(x):
    for _ in range(200):
        x = x + 1
    return x


@pytest.mark.parametrize(("f", "sentence"), [
    (raising, "Here it ends: it raised RuntimeError: the learner's own. So it is not traced."),
    (spinning, "Here it ends: spinning has run 2000 lines, and was stopped. So it is not traced."),
])  # fmt: skip
def test_what_does_not_come_to_its_end_is_shown_as_far_as_it_came(f, sentence):
    widget = StaticVsDynamic(f, TWO)

    assert says(widget)[-1] == sentence
    assert "x = x * 2    Run eagerly, this line computes 4." in says(widget) or f is spinning


def silent(x):
    while True: pass  # fmt: skip  # noqa: E701  # on one line: Python 3.11 tells its tracers of no line


def sleeping(x):
    for _ in range(1000):
        time.sleep(0.02)


@pytest.mark.parametrize("f", [silent, sleeping])
def test_what_runs_no_lines_is_stopped_by_the_clock(f, monkeypatch):
    monkeypatch.setattr("minigrad.course.widgets.recording.SECONDS", 0.3)
    threads = active_count()

    last = says(StaticVsDynamic(f, TWO))[-1]

    assert last == f"Here it ends: {f.__name__} has run for 0.3 seconds, and was stopped. So it is not traced."
    while active_count() > threads:
        time.sleep(0.01)


def test_what_was_in_time_is_not_stopped_later():
    """The word to stop comes from another thread, here again and again in the very lines that end the block."""
    threads = active_count()
    for i in range(2000):
        with suppress(TooLong), time_limit(0.001, "too late"):
            end = time.perf_counter() + i % 100 * 1e-5
            while time.perf_counter() < end:
                pass
        for _ in range(100):  # steps at which it would be heard
            pass
    while active_count() > threads:
        time.sleep(0.01)


@pytest.mark.parametrize(("f", "match"), [
    (endless, "this run makes more: endless has run 2000 lines, and was stopped"),
    (many, "a graph of up to 60 boxes, and this run makes more: take a part"),
    (eval("lambda x: x * 2"), "source of .* cannot be read"),
])  # fmt: skip
def test_what_cannot_be_shown_is_refused_in_a_sentence(f, match):
    for cases in ([], [ONE, TWO]):
        with pytest.raises(TypeError, match="cases must be tuples of arguments, one or more"):
            StaticVsDynamic(unrolled, cases=cases)
    with pytest.raises(ValueError, match=match):
        StaticVsDynamic(f, TWO)
