"""Submissions: cells and files that are not what they were."""

from __future__ import annotations

import json
from copy import deepcopy

from tests.course.grading.cases.case import SOLVED, Case, case, cell, submissions, write


@case(10)
def checks_deleted(nb):
    nb["cells"] = [each for each in nb["cells"] if not each["id"].startswith("check-")]


@case(8)
def checks_tampered_with(nb):
    write(nb, "product", "def multiply(a, b):\n    return 0")
    for each in nb["cells"]:
        if each["id"].startswith("check-"):
            each["source"] = ["print('10 of 10 points')"]


@case(8)
def points_edited(nb):
    write(nb, "product", "def multiply(a, b):\n    return 0")
    for each in nb["cells"]:
        if "nbgrader" in each["metadata"]:
            each["metadata"]["nbgrader"]["points"] = 1000


@case(10)
def metadata_stripped(nb):
    nb["metadata"] = {}
    for each in nb["cells"]:
        each["metadata"] = {}


@case(10)
def ids_rewritten(nb):
    for n, each in enumerate(nb["cells"]):
        each["metadata"] = {}
        each["id"] = f"x{n}"


@case(10)
def cells_duplicated(nb):
    nb["cells"] = [each for each in nb["cells"] for _ in range(2)]


@case(8)
def a_wrong_answer_pasted_below_the_right_one(nb):
    at = next(i for i, each in enumerate(nb["cells"]) if each["id"] == "product")
    second = deepcopy(nb["cells"][at])
    second["source"] = ["def multiply(a, b):\n    return 0"]
    nb["cells"].insert(at + 1, second)


@case(10)
def parts_in_another_order(nb):
    given = [each for each in nb["cells"] if each["id"] in ("given", "a85d019b")]
    rest = [each for each in nb["cells"] if each not in given]
    nb["cells"] = given + rest[::-1]


@case(8)
def a_part_deleted(nb):
    nb["cells"] = [each for each in nb["cells"] if each["id"] != "gradients"]


@case(10)
def format_3(nb):
    for each in nb["cells"]:
        each["input"] = each.pop("source")
    return json.dumps({"nbformat": 3, "metadata": {}, "worksheets": [{"cells": nb["cells"]}]}).encode()


@case(10)
def says_it_is_another_exercise(nb):
    nb["metadata"]["minigrad"]["exercise"] = "03_a_new_op"


@case(10)
def outputs_without_end(nb):
    cell(nb, "check-product")["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["x" * 5_000_000]}]


@case(10)
def cells_that_are_no_cells(nb):
    nb["cells"] += [None, 3, "x", [], {"cell_type": 7}, {"cell_type": "code", "source": {"a": 1}}]


submissions(__name__, {
    "no_cells": Case(0, "graded", json.dumps(SOLVED | {"cells": []}).encode()),
    "with_a_byte_order_mark": Case(10, "graded", b"\xef\xbb\xbf" + json.dumps(SOLVED).encode()),
    "in_utf_16": Case(10, "graded", json.dumps(SOLVED, ensure_ascii=False).encode("utf-16")),
    "an_empty_file": Case(0, "unreadable", b""),
    "no_json": Case(0, "unreadable", b"%PDF-1.7 my homework"),
    "half_a_file": Case(0, "unreadable", json.dumps(SOLVED).encode()[:3000]),
    "a_list": Case(0, "unreadable", b"[1, 2, 3]"),
    "json_without_end": Case(0, "unreadable", b"[" * 3_000_000),
    "a_file_too_large": Case(0, "unreadable", b'{"cells": "' + b"x" * (21 << 20) + b'"}'),
    "a_picture": Case(0, "unreadable", bytes(range(256)) * 100),
})  # fmt: skip
