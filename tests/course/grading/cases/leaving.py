"""Submissions: what they say is long, is a program to who reads it, or is none of the kinds of what is said."""

from __future__ import annotations

import json

from tests.course.grading.cases.case import Case, case, cell, code, notebook, submissions

IMG = "<img src=x onerror=alert(1)>"
ESCAPES = "\x1b[2J\x1b]0;title\x07\r\u202e"

submissions(__name__, {
    "more_lists_than_fit": Case(0, "unreadable", b'{"cells":[' + b"{}," * 300_000 + b"{}]}"),
    "lists_in_lists": Case(0, "unreadable", b'{"cells":[' + b'{"a":[' * 100_000),
    "an_error_that_is_a_program": notebook(10, after=f"raise type({IMG!r}, (Exception,), {{}})({ESCAPES!r})"),
    "an_error_of_a_megabyte": notebook(10, after="raise ValueError('x' * 10**6)"),
    "an_error_without_words": notebook(10, after="class E(Exception):\n    def __str__(self): raise E\nraise E"),
    "an_error_without_a_place": notebook(10,
        after="class E(Exception):\n    __traceback__ = property(lambda self: 1 / 0)\nraise E"),
    "an_error_whose_kind_has_no_name": notebook(10,
        after="class M(type):\n    __name__ = property(lambda self: 1 / 0)\nclass E(Exception, metaclass=M): pass\n"
              "raise E"),
    "an_error_from_deep_inside": notebook(10,
        after="import json\ndef f(n): return f(n - 1) if n else json.loads('{')\nf(100)"),
    "an_answer_that_raises_a_program": notebook(8,
        product=f"def multiply(a, b):\n    raise type({IMG!r}, (Exception,), {{}})({ESCAPES!r} * 1000)"),
    "an_answer_of_escapes": notebook(9, zero=f"zero_says = {ESCAPES * 100!r}"),
    "an_answer_of_ten_megabytes": notebook(8, product="def multiply(a, b):\n    return 'x' * 10_000_000"),
    "an_answer_that_is_deep": notebook(8,
        product="def multiply(a, b):\n    x = []\n    for _ in range(5000): x = [x]\n    return x"),
    "a_name_that_turns_the_direction": notebook(10, before=f"{'x' * 1000} = {ESCAPES!r}  # \u202e\u2066"),
})  # fmt: skip


@case(0, "unreadable")
def more_lists_than_fit_in_an_output(nb):
    nb["cells"][1]["outputs"] = [[]] * 300_000


@case(10)
def brackets_in_a_text(nb):
    nb["cells"][1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": '[{"' * 300_000}]


@case(10)
def prose_that_is_a_program(nb):
    source = [IMG, "[x](javascript:alert(1))"]
    nb["cells"].append({"cell_type": "markdown", "id": "p", "metadata": {}, "source": source})


@case(10)
def names_of_cells_that_move_the_cursor(nb):
    nb["cells"].append(code("1 / 0", ESCAPES))
    nb["cells"].append(code("1 / 0", IMG))


@case(10)
def an_exercise_of_another_name(nb):
    nb["metadata"]["minigrad"] = {"exercise": f"{IMG}{ESCAPES}" * 1000}


@case(10)
def an_error_in_each_of_many_cells(nb):
    nb["cells"] += [code("1 / 0", f"extra {i}") for i in range(300)]


@case(10)
def metadata_that_is_a_program(nb):
    kernelspec = {"name": IMG, "display_name": IMG}
    nb["metadata"] |= {"kernelspec": kernelspec, "title": IMG, "widgets": {IMG: json.dumps(IMG)}}
    cell(nb, "product")["metadata"]["tags"] = [IMG]
