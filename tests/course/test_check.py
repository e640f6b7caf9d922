"""What `check` says, and what cannot fool or break it: a small exercise, answered in every way but the right one."""

from __future__ import annotations

import contextlib
import io
import json
import threading
from typing import Any

import pytest

from minigrad.course import exercise, feedback
from minigrad.course.attempts import FILE, KEYS
from minigrad.course.exercise import Part, Verdict, check_answer, part_of
from minigrad.course.notebook_state import record_cell
from minigrad.course.probe import observe
from minigrad.course.referee import parse_probes
from tests.support.python_calls import count_calls
from tests.support.table import table

DOUBLE = part_of("double", {
    "points": 2, "defines": ["double"], "open": True,
    "probes": "numbers = [1, 2]\ndouble(3)\ndouble(numbers)\ndouble(numbers)",
    "expected": [["gave", 6], ["gave", [1, 2, 1, 2]], ["gave", [1, 2, 1, 2]]], "hints": ["First.", "Second."],
    "probe_hints": ["", "A list is repeated.", "A list is repeated."],
    "wrong": [{
        "shows": "It squares.", "hint": "Add, do not multiply.",
        "outcomes": [["gave", 9], ["raised", "TypeError"], ["raised", "TypeError"]],
    }],
})  # fmt: skip
RIGHT = "def double(x): return x * 2"


def part(probes: str, *expected: Any, defines: str = "n", is_open: bool = False) -> Part:
    """A part of which each probe should give what is expected of it."""
    names, wanted = defines.split(), [["gave", value] for value in expected]
    facts = {"points": 1, "defines": names, "open": is_open, "probes": probes, "hints": ["."], "wrong": []}
    return part_of(names[0], facts | {"expected": wanted})


SEVEN = part("n", 7)


def answered(source: str, part: Part = DOUBLE) -> Verdict:
    return check_answer(part, names_after(source))


def names_after(source: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, "<cell>", "exec"), namespace)
    return namespace


CLAIMS = "__eq__ = lambda *_: True\n  __class__ = property(lambda _: int)\n  __float__ = lambda _: 6.0\n"
LIE = "class Lie(int):\n  __eq__ = lambda *_: True\n  __hash__ = int.__hash__\n  __int__ = lambda _: 6\n"
ANSWERS = {  # what it is → (the answer, the state of its part, what is said, its part, unless that is `double`)
    "right": (RIGHT, "pass", ""),
    "a lambda": ("double = lambda x: x + x", "pass", ""),
    "a class": ("class double:\n    def __new__(cls, x): return 2 * x", "pass", ""),
    "an engine that says what is missing":
        ("def double(x): raise NotImplementedError('write Double.infer')", "fail",
         "raised NotImplementedError (write Double.infer, in line 1"),
    **{error: (f"def double(x): raise {error}", "fail", f"and raised {error}")
       for error in ("SystemExit", "KeyboardInterrupt", "GeneratorExit")},
    "an endless recursion":
        ("def double(x): return double(x)", "fail", "raised RecursionError (maximum recursion depth exceeded"),
    "an object that claims to equal everything":
        (f"class Six:\n  {CLAIMS}def double(x): return Six()", "fail", "gave an object, of type Six"),
    "a number that lies about being right": (f"{LIE}def double(x): return Lie(7) if x == 3 else x * 2", "fail", ""),
    "a number that lies about being wrong": (f"{LIE}def double(x): return Lie(6) if x == 3 else x * 2", "pass", ""),
    "a class instead of a number": ("def double(x): return int", "fail", "of type type"),
    "names of Python with other meanings":
        ("n = 12\nsum = len = print = str = None", "pass", "", part("sum([len(str(n)), 1])", 3, is_open=True)),
    "one that changes what it is given":
        ("def double(x):\n    if x == 3: return 6\n    x += x\n    return x", "pass", ""),
    "one that changes the names of the probes":
        ("def double(x):\n    globals()['numbers'] = [0]\n    globals()['double'] = lambda x: 0\n    return 0",
         "fail", ""),
    "an error in the third line":
        ("def double(x):\n    y = x\n    return y / 0", "fail",
         "raised ZeroDivisionError (division by zero, in line 3 of the cell of `double`)."),
    "text for a truth": ("n = 'True'", "fail", "It is text, and True or False is expected", part("n", True)),
}  # fmt: skip


@table("answer", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_has_the_state_that_it_deserves_and_is_told_why(answer):
    source, state, words, *asked = answer

    verdict = answered(source, *asked)

    assert (verdict.state, verdict.points) == (state, (asked or [DOUBLE])[0].points if state == "pass" else 0)
    assert words in (*verdict.says, "")[0]


def test_a_function_that_gives_none_is_asked_whether_its_return_is_missing():
    (said,) = answered("def double(x): x * 2").says
    assert said == "`double(3)` should give 6, and gave None. Is a `return` missing?"


def test_a_stub_is_not_attempted_yet_and_is_named():
    verdict = answered("def double(x): return times(x)\ndef times(x): raise NotImplementedError")

    assert (verdict.state, verdict.points, verdict.says) == ("todo", 0, ("`times` is not written yet.",))


def test_a_name_that_is_missing_or_still_dots_is_not_attempted_yet():
    for source in ("", "double = ..."):
        assert answered(source).says == ("There is no `double` yet.",)
    assert answered("def double(x): return ...").state == "todo"


def test_names_that_are_missing_are_listed_and_a_cell_that_ended_in_an_error_is_thought_of():
    """Whoever had written all of an answer, with a slip in it, was told to write it."""
    three = part("a\nb\nc", 1, 1, 1, defines="a b c")

    assert answered("b = 2", three).says == ("There is no `a` and no `c` yet.",)
    assert answered("", three).says == ("There is no `a`, no `b` and no `c` yet.",)
    assert "run that cell until it ends without an error" in repr(feedback.verdict_note(answered("", three)))


def test_a_known_wrong_answer_gets_its_own_hint_and_no_points():
    verdict = answered("def double(x): return x ** 2")

    assert (verdict.state, verdict.points, verdict.hint) == ("fail", 0, "Hint: Add, do not multiply.")
    assert verdict.says == ("`double(3)` should give 6, and gave 9.", f"{exercise.SAME}It squares.")


def test_a_mistake_is_named_after_an_exception_only_if_the_exception_says_the_same():
    """Any TypeError in all probes was taken for the one known mistake that raises a TypeError."""
    facts = {"points": 1, "defines": ["f"], "open": True, "probes": "f(1)\nf([2])", "hints": ["Think."]}
    known = {
        "shows": "It adds text to numbers.", "hint": "Leave the text out.", "outcomes": [["raised", "TypeError"]] * 2,
        "message": "unsupported operand type(s) for +: 'int' and 'str'",
    }  # fmt: skip
    told = part_of("f", facts | {"expected": [["gave", 1], ["gave", 2]], "wrong": [known]})

    assert answered("def f(x): return 3 + 'x'", told).hint == "Hint: Leave the text out."
    for other in ("len(3)", "x.append(1, 2) if isinstance(x, list) else x()", "f()"):
        assert answered(f"def f(x): return {other}", told).wrong is None


def test_a_mistake_is_named_after_an_error_of_the_engine_only_if_the_error_says_the_same():
    """A learner who initialized only w was told that w and b are placeholders."""
    unfed = "this run needs the placeholder w, f64[]: say its value, as in session.run(…, {w: value})"
    facts = {"points": 1, "defines": ["f"], "open": True, "probes": "f()", "hints": ["Think."]}
    known = {"shows": "w is a placeholder.", "hint": "Take a variable.", "outcomes": [["raised", "GraphError"]]}
    told = part_of("f", facts | {"expected": [["gave", 1]], "wrong": [known | {"message": unfed}]})

    def wrong(message):
        return answered(f"import minigrad\ndef f(): raise minigrad.errors.GraphError({message!r})", told).wrong

    assert wrong(unfed.replace("w", "b"))
    assert wrong("the variable b, f64[], has no value in this session yet: run its initializer") is None


def test_a_hint_goes_by_the_probe_that_failed_and_not_by_the_number_of_attempts():
    """A third attempt was told how `second` is found, when `fourth` was wrong."""
    attempts = ["x + 3", "x + 1", "x + 3", "x + 2"]

    hints = [answered(f"def double(x): return {attempt}").hint for attempt in attempts]

    of_all = "Hint on `double` in general: First."
    assert hints == ["Hint: A list is repeated.", of_all, "Hint: A list is repeated.", of_all]


def test_general_hints_name_their_part_and_are_folded_until_they_are_asked_for():
    note = feedback.verdict_note(answered("def double(x): return x + 3"))

    text = repr(note)
    assert 'General hints on double, the last nearly the whole answer: `check("double", hint=1)` to `hint=2`.' in text
    assert "Second." not in text
    folded = note._repr_mimebundle_()["text/html"]
    assert "<details><summary>General hint 2 of 2 on double</summary>Second.</details>" in folded
    assert repr(said("said = check('visits', hint=1)")).startswith("visits: general hint 1 of ")
    assert "have the numbers 1 to" in repr(said("said = check('visits', hint=9)"))


@table("expected, gave, words", [
    ({"nodes": 3, "in order": True}, {"nodes": 4, "in order": True}, "differs in `nodes`, which should be 3 and is 4."),
    ([{"left": i} for i in (1, 2, 3)], [{"left": i} for i in (1, 0, 3)],
     "differs in entry 2: `left`, which should be 2 and is 0."),
    (["refused"] * 2, ["2 rows", "refused"], "differs in entry 1, which should be 'refused' and is '2 rows'."),
    (["refused"] * 6, ["taken"] * 6, "entry 4, which should be 'refused' and is 'taken'; and 2 more."),
])  # fmt: skip
def test_rows_that_differ_are_named(expected, gave, words):
    (told,) = answered(f"def f(): return {gave!r}", part("f()", expected, defines="f", is_open=True)).says

    assert told.startswith("`f()` differs in ")
    assert told.endswith(words)


@table("probe, named", [
    ("(f(1), f(7))", "`f(7)`"), ("[f(n) for n in (1, 7)]", "`n = 7`"), ("[f(n) for n in given]", "`n = given[1]`"),
    ("[*map(f, given)]", "entry 2"), ("dict(zip('ab', map(f, given)))", "`b`"),
])  # fmt: skip
def test_a_row_has_the_name_of_what_was_tried(probe, named):
    right = {"a": True, "b": True} if probe.startswith("dict") else [True, True]
    tried = part(probe, right, defines="f given", is_open=True)

    (told,) = answered("given = [1, 7]\ndef f(x): return x < 5", tried).says

    assert told == f"`{probe}` differs in {named}, which should be True and is False."


def test_equal_numbers_of_other_types_are_accepted():
    for number in ("Fraction(14, 2)", "Decimal(7)", "np.float32(7)", "mg.tensor(7.0)", "mg.Value(7)"):
        source = "from fractions import Fraction\nfrom decimal import Decimal\nimport numpy as np, minigrad as mg\n"
        assert answered(f"{source}n = {number}", SEVEN).state == "pass", number
    assert answered("import minigrad as mg\nn = mg.tensor(8.0)", SEVEN).state == "fail"


def test_a_cell_that_ended_in_an_error_is_reported_before_an_older_value_is_judged():
    """After a NameError in the answer's cell, the value of an older run of it was judged, without a word."""
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.events.register("post_run_cell", lambda result: record_cell(shell.user_ns, result))
    old, broken = "times_at_x, nodes = 1024, 11", "n = 2\ntimes_at_x = n ** tenn\nnodes = 11"
    ask, later = "from minigrad.course import check\nsaid = check('visits')", "times_at_x, nodes = 1024, 11\ntenn"

    with contextlib.redirect_stdout(io.StringIO()):
        for cells, begins in (
            ([old, ask], "visits: right"),
            ([broken, ask], "visits: not checked.\n  The cell of `times_at_x` ended with NameError: name 'tenn' is"),
            (["tenn = 10", broken, ask], "visits: right"),
            (["del tenn", later, ask], "visits: right"),
        ):
            for cell in cells:
                shell.run_cell(cell)
            assert repr(shell.user_ns["said"]).startswith(begins)


def test_where_a_number_is_the_answer_it_is_not_given_away():
    verdict = answered("n = 20", part("n", 1024))

    assert verdict.says == ("`n` is 20, and that is not right yet.",)
    assert "1024" not in str(feedback.verdict_note(verdict)._repr_mimebundle_())


def test_an_endless_loop_is_stopped_and_said_to_be_endless():
    before = set(threading.enumerate())

    outcomes = observe(parse_probes(DOUBLE.probes), names_after("def double(x):\n    while True: pass"), seconds=0.2)

    assert [outcome.kind for outcome in outcomes] == ["endless"]
    assert set(threading.enumerate()) == before


def test_a_probe_that_never_ended_is_told_before_one_that_gave_something_else():
    counted = part("f(1)\nf(2)", 1, 2, defines="f", is_open=True)

    verdict = exercise.verdict(counted, [exercise.Outcome("gave", 7), exercise.Outcome("endless", "")])

    assert verdict.says[0].startswith("`f(2)` should give 2, and was stopped after")


def test_a_loop_that_cannot_be_stopped_is_left_behind_and_the_learner_told():
    stubborn = "while not over:\n  try:\n   while not over: pass\n  except BaseException: pass"
    namespace = names_after(f"over = []\ndef double(x):\n {stubborn}")

    outcomes = observe(parse_probes(DOUBLE.probes), namespace, seconds=0.2)
    namespace["over"].append(True)

    assert [outcome.kind for outcome in outcomes] == ["stuck"]
    assert "restart the kernel" in exercise.verdict(DOUBLE, outcomes).says[0]


def test_an_answer_cannot_ask_whoever_sits_there(monkeypatch):
    """A notebook's `input` opens a box. The check was stopped, the box stayed, and JupyterLab ran no cell any more."""
    asked = []
    monkeypatch.setattr("builtins.input", lambda prompt="": asked.append(prompt) or "3")

    verdict = answered("def double(x):\n    return 2 * int(input('how many? '))")

    assert asked == []
    assert "raised EOFError (input() does not work in a check" in verdict.says[0]
    assert input() == "3"


def test_a_flood_of_output_is_not_shown(capsys):
    verdict = answered("def double(x):\n    for _ in range(50_000): print('spam' * 100)\n    return x * 2")

    assert verdict.state == "pass"
    assert capsys.readouterr() == ("", "")


def test_a_name_that_was_mistyped_costs_no_hint():
    verdict = answered("def double(x): return xx * 2")

    assert "raised NameError (name 'xx' is not defined, in line 1 of the cell of `double`)." in verdict.says[0]
    assert (verdict.state, verdict.hint, verdict.attempt) == ("fail", "", "")


def test_an_object_where_a_number_is_wanted_is_not_called_text():
    """The name of its type was once taken for the answer."""
    assert "text, and a number" in answered("n = '7'", SEVEN).says[0]
    assert "is an object, of type object," in answered("n = object()", SEVEN).says[0]
    assert "It is text" not in answered("n = object()", SEVEN).says[0]


def test_small_letters_are_asked_for_where_a_word_has_a_large_one_and_none_is_wanted():
    """What a probe said of an answer, "Mul reads t, …", was once told to begin with a small letter."""
    assert "lower case" in answered("n = 'Exact'", part("n", "zero")).says[0]
    assert "lower case" not in answered("n = 'Mul reads t'", part("n", "zero")).says[0]
    assert "lower case" not in answered("n = 'C'", part("n", "B")).says[0]


def test_a_number_that_cannot_be_looked_at_is_told_in_whole_sentences():
    """To a question mark was once added that this is not right yet."""
    (said,) = answered("n = None", part("n + 1", 7)).says
    assert said.startswith("`n + 1` raised TypeError (unsupported operand type(s) for +: 'NoneType' and 'int'")
    assert said.endswith("). Something is None there: is a `return` missing?")


def test_an_error_that_cannot_say_what_it_is_is_still_an_error():
    assert answered("class Bad(Exception):\n def __str__(self): 1 / 0\ndef double(x): raise Bad").state == "fail"


# -- the function the learner calls ---------------------------------------------------------------


def said(source: str) -> feedback.Note:
    note = names_after(f"from minigrad.course import check\n{source}")["said"]
    assert isinstance(note, feedback.Note)
    return note


def test_check_reads_the_names_of_the_notebook_it_is_called_in():
    assert said("times_at_x, nodes = 1024, 11\nsaid = check('visits')").passed
    assert said("times_at_x, nodes = 1024, 11\ndef ask(): return check('visits')\nsaid = ask()").passed
    assert not said("said = check('visits')").passed


def test_check_keeps_count_of_attempts_for_as_long_as_the_notebook_lives():
    loop = "for times_at_x in 1, 1, 2: said += [check('visits')]"
    first, _, second = names_after(f"from minigrad.course import check\nnodes, said = 0, []\n{loop}")["said"]

    assert "One more attempt" not in repr(first)
    assert "One more attempt" in repr(second)
    assert "One more attempt" not in repr(said("times_at_x = nodes = 3\nsaid = check('visits')"))


def test_a_right_answer_says_what_it_shows_and_a_wrong_one_does_not():
    visits = next(part for part in exercise.load_exercise("01_scalar_engine").parts if part.name == "visits")
    right, wrong = (said(f"times_at_x, nodes = {n}, 11\nsaid = check('visits')") for n in (1024, 10))

    assert right.sentences[2] == visits.shows.strip() != ""
    assert visits.shows not in repr(wrong)


def test_each_part_shows_something_of_its_own():
    parts = [part for each in exercise.all_exercises() for part in each.parts]

    assert len({part.shows for part in parts} - {""}) == len(parts)


@pytest.mark.parametrize("times", [1024, 10])
def test_a_check_builds_one_exercise_and_parses_each_line_of_the_attempts_once(times, tmp_path, monkeypatch):
    """A check built all exercises, and read the attempts once for each part: 12,300 calls for 300 lines."""
    monkeypatch.chdir(tmp_path)
    kept = feedback.Attempts(tmp_path / FILE)
    for n in range(300):
        kept.record(f"another part {n % 100}", "tried", str(n))
    here = names_after(f"from minigrad.course import check\ntimes_at_x, nodes = {times}, 11\ncheck('visits')")

    assert len(kept.lines(KEYS)) >= 300
    assert count_calls(exec, "check('visits')._repr_mimebundle_()", here) <= 450


def test_a_part_that_is_new_is_found_without_a_restart(tmp_path, monkeypatch):
    monkeypatch.setattr(exercise, "ANSWERS", tmp_path)
    assert exercise.exercise_of("double") is None
    double = {"expected": [], "wrong": [], "points": 2, "open": True, "probes": ""}
    text = json.dumps({"title": "Twice", "parts": {"double": double}})
    (tmp_path / "twice.json").write_text(text, "utf-8")
    assert exercise.exercise_of("double").points == 2


def test_a_right_answer_says_what_is_next_and_the_last_one_that_it_was_the_last():
    exercise_01 = exercise.load_exercise("01_scalar_engine")
    code = "from minigrad.course import check\ntimes_at_x, nodes = 1024, 11\nsaid = check('visits')"
    here: dict[str, Any] = {"__name__": "__main__"}
    exec(code, here)

    assert here["said"].sentences[-1] == "1 of 10 points so far. Next: `product`."
    kept = feedback.attempts_in(here)
    kept.record("product", "revealed")
    exec(code, here)
    assert here["said"].sentences[-1] == "1 of 10 points so far. Next: `order`."
    for part in exercise_01.parts:
        kept.record(part.name, "passed")
    exec(code, here)
    assert here["said"].sentences[-1] == "That was the last part: 8 of 10 points. Well done."
    exec(code.replace("1024", "1"), here)
    assert "Next" not in repr(here["said"])


def test_a_right_answer_says_that_the_exercise_is_done_and_which_optional_parts_are_left():
    parts = {part.name: part for part in exercise.load_exercise("01_scalar_engine").parts}
    kept = feedback.attempts_in({})

    def said_next(*passed, after):
        for name in passed:
            kept.record(name, "passed")
        return feedback.next_step(parts[after], kept)

    assert [name for name, part in parts.items() if part.optional] == ["visits", "zero", "eight_signs"]
    assert said_next("product", "zero", "gradients", "visits", after="zero") == "6 of 10 points so far. Next: `order`."
    done = "The exercise is done: 9 of 10 points. Optional parts left: 1 (`eight_signs`)."
    assert said_next("order", after="order") == done
    assert said_next("eight_signs", after="eight_signs") == "That was the last part: 10 of 10 points. Well done."

    kept.record("order", "broken")  # passed before, and the current answer is wrong
    assert said_next(after="gradients") == "7 of 10 points so far. Next: `order`."
    assert said_next("order", after="order") == "That was the last part: 10 of 10 points. Well done."


@pytest.mark.parametrize("call", ["check()", "check('')", "check('no such part')", "check(3)", "check(['visits'])"])
def test_check_of_no_part_lists_the_parts(call):
    note = said(f"said = {call}")

    assert "01_scalar_engine: product (2 points), order (3 points), gradients (2 points), visits (1" in repr(note)
    assert note.state == "todo"


def test_check_of_a_misspelt_part_says_which_was_meant():
    assert repr(said("said = check('visit')")).startswith("There is no part 'visit'. Did you mean 'visits'?")


def test_what_check_shows_is_the_same_each_time_and_safe_to_show():
    shown = [said("times_at_x = nodes = '<script>'\nsaid = check('visits')")._repr_mimebundle_() for _ in range(2)]

    assert shown[0] == shown[1]
    assert shown[0].keys() == {"text/plain", "text/html"}
    assert "<script>" not in shown[0]["text/html"]
    assert "visits: not yet (0 of 1 point)." in shown[0]["text/html"]


def test_a_learner_can_see_what_was_run():
    note = said("def multiply(a, b): return None\ndef add(a, b): pass\nNode = float\nsaid = check('product')")
    run = "<summary>What was run</summary><pre>a, b = (Node(3.0), Node(-2.0))\nmultiply(a, b).data</pre>"

    assert run in note._repr_mimebundle_()["text/html"]


def test_check_of_a_name_that_is_like_no_part_guesses_none():
    """Of 'corner' it was once asked whether 'horner' was meant, which is of another exercise altogether."""
    for name in ("corner", "hover", "nowhere", "other", "passes", "x"):
        assert "Did you mean" not in repr(said(f"said = check({name!r})"))


def test_after_a_syntax_error_check_says_that_it_looked_at_the_answer_before():
    """It judged the old definition, without a word."""
    cells = ["from minigrad.course import check", "def order(y): return [y]", "def order(y)\n    return [y, y]", "1 +"]
    said_now = said(f"In = {cells!r}\ndef order(y): return [y]\nNode = str\nsaid = check('order')")
    said_after = said(f"In = {[*cells, 'x = 1', 'order = list']!r}\norder = list\nNode = str\nsaid = check('order')")

    old = "The cell of `order` was run last with a SyntaxError in line 1, so its older version was checked."
    assert old in said_now.sentences
    assert "SyntaxError" not in repr(said_after)
