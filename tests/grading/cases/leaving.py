"""Submissions: what they say is long, is a program to who reads it, or is none of the kinds of what is said."""

from __future__ import annotations

import json

from grading.cases.case import after, before, case, cell, code, write

IMG = "<img src=x onerror=alert(1)>"
ESCAPES = "\x1b[2J\x1b]0;title\x07\r\u202e"


@case(0, "unreadable")
def more_lists_than_fit(nb):
    return b'{"cells":[' + b"{}," * 300_000 + b"{}]}"


@case(0, "unreadable")
def more_lists_than_fit_in_an_output(nb):
    nb["cells"][1]["outputs"] = [[]] * 300_000


@case(0, "unreadable")
def lists_in_lists(nb):
    return b'{"cells":[' + b'{"a":[' * 100_000


@case(10)
def brackets_in_a_text(nb):
    nb["cells"][1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": '[{"' * 300_000}]


@case(10)
def prose_that_is_a_program(nb):
    nb["cells"].append(
        {"cell_type": "markdown", "id": "p", "metadata": {}, "source": [IMG, "[x](javascript:alert(1))"]}
    )


@case(10)
def names_of_cells_that_move_the_cursor(nb):
    nb["cells"].append(code("1 / 0", ESCAPES))
    nb["cells"].append(code("1 / 0", IMG))


@case(10)
def an_exercise_of_another_name(nb):
    nb["metadata"]["minigrad"] = {"exercise": f"{IMG}{ESCAPES}" * 1000}


@case(10)
def an_error_that_is_a_program(nb):
    after(nb, f"raise type({IMG!r}, (Exception,), {{}})({ESCAPES!r})")


@case(10)
def an_error_of_a_megabyte(nb):
    after(nb, "raise ValueError('x' * 10**6)")


@case(10)
def an_error_in_each_of_many_cells(nb):
    nb["cells"] += [code("1 / 0", f"extra {i}") for i in range(300)]


@case(10)
def an_error_without_words(nb):
    after(nb, "class E(Exception):\n    def __str__(self): raise E\nraise E")


@case(10)
def an_error_without_a_place(nb):
    after(nb, "class E(Exception):\n    __traceback__ = property(lambda self: 1 / 0)\nraise E")


@case(10)
def an_error_whose_kind_has_no_name(nb):
    after(
        nb,
        "class M(type):\n    __name__ = property(lambda self: 1 / 0)\nclass E(Exception, metaclass=M): pass\nraise E",
    )


@case(10)
def an_error_from_deep_inside(nb):
    after(nb, "import json\ndef f(n): return f(n - 1) if n else json.loads('{')\nf(100)")


@case(8)
def an_answer_that_raises_a_program(nb):
    write(nb, "product", f"def multiply(a, b):\n    raise type({IMG!r}, (Exception,), {{}})({ESCAPES!r} * 1000)")


@case(9)
def an_answer_of_escapes(nb):
    write(nb, "zero", f"zero_says = {ESCAPES * 100!r}")


@case(8)
def an_answer_of_ten_megabytes(nb):
    write(nb, "product", "def multiply(a, b):\n    return 'x' * 10_000_000")


@case(8)
def an_answer_that_is_deep(nb):
    write(nb, "product", "def multiply(a, b):\n    x = []\n    for _ in range(5000): x = [x]\n    return x")


@case(10)
def a_name_that_turns_the_direction(nb):
    before(nb, f"{'x' * 1000} = {ESCAPES!r}  # \u202e\u2066")


@case(10)
def metadata_that_is_a_program(nb):
    nb["metadata"] |= {
        "kernelspec": {"name": IMG, "display_name": IMG},
        "title": IMG,
        "widgets": {IMG: json.dumps(IMG)},
    }
    cell(nb, "product")["metadata"]["tags"] = [IMG]
