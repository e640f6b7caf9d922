"""The four frameworks side by side: nothing is left out, and each answer leads to where minigrad shows it."""

import json
import re
from operator import attrgetter

import minigrad as mg
from minigrad.course.lessons import shipped_names
from tests.support.root import ROOT
from tests.support.table import table

LESSONS = ROOT / "lessons"
PAGE = (LESSONS / "COMPARISON.md").read_text("utf-8")
ROW = re.compile(r"^\| \*\*(.+?)\*\* \| (.+) \|$", re.M)
LINK = re.compile(r"\[([^]]+)\]\(([^)#\s]+)#?([^)\s]*)\)")
FRAMEWORKS = ["PyTorch", "TensorFlow 1", "TensorFlow 2", "JAX", "minigrad"]
ASPECTS = [
    "Execution model", "API feel", "Debugging", "Control flow", "Performance", "Deployment", "Visualisation",
    "Distributed training", "Mixed precision", "Use",
]  # fmt: skip
HISTORY = "What is history, and what took its place"
GONE = ["tf.Session", "tf.estimator", "TorchScript", "PyTorch Mobile", "Caffe2", "Theano", "Chainer", "MXNet"]

parts = re.split(r"^## (.+)$", PAGE, flags=re.M)[1:]
TABLES = {title: ROW.findall(body) for title, body in zip(parts[::2], parts[1::2])}
CELLS = [(title, who, said) for title, rows in TABLES.items() for who, said in rows]


def test_every_question_is_answered_for_every_framework():
    assert [*TABLES] == [*ASPECTS, HISTORY]
    for title in ASPECTS:
        assert [who for who, _ in TABLES[title]] == FRAMEWORKS, title
    assert {*GONE} <= {who for who, _ in TABLES[HISTORY]}


def headings(name):
    """The headings of a notebook that is handed out."""
    cells = json.loads((LESSONS / name).read_text("utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return {found.replace("`", "").strip() for found in re.findall(r"^#{2,3} (.+)$", text, re.M)}


@table("title, who, said", CELLS, ids=lambda value: value[:16])
def test_every_answer_leads_to_a_place_that_a_learner_has(title, who, said):
    """JupyterLab opens a notebook at a heading by its words, with - for each space."""
    assert LINK.search(said), f"{title}, {who}: no link"
    for words, name, heading in LINK.findall(said):
        assert f"lessons/{name}" in shipped_names(), name
        if name.endswith(".ipynb"):
            assert words.startswith(f"{name[:2]}: ")
            assert heading in {each.replace(" ", "-") for each in headings(name)}, heading


def test_a_link_says_the_heading_that_it_leads_to():
    said = {(words.partition(": ")[2], heading) for words, name, heading in LINK.findall(PAGE) if heading}

    assert {pair for pair in said if pair[0].replace(" ", "-") != pair[1]} <= {
        ("Stages and rings", "A-network-in-stages,-and-gradients-in-a-ring")
    }


@table("name", sorted({*re.findall(r"`mg((?:\.\w+)+)", PAGE)}))
def test_a_name_of_minigrads_is_there(name):
    # pkgutil.resolve_name would import minigrad.files.onnx.export, and put that module in the place of the function.
    attrgetter(name.removeprefix("."))(mg)


def test_the_page_is_as_narrow_as_a_telephone():
    """Two columns, whose longest word fits: what cannot be broken is code."""
    assert {line.count(" | ") for line in PAGE.splitlines() if line.startswith("| **")} == {1}
    assert max(len(word) for code in re.findall(r"`([^`]+)`", PAGE) for word in code.split()) < 40


def test_the_pages_of_the_course_lead_to_one_another():
    assert "](COMPARISON.md)" in (LESSONS / "README.md").read_text("utf-8")
    assert all(f"]({name}.md)" in PAGE for name in ("CHEATSHEET", "GLOSSARY"))
