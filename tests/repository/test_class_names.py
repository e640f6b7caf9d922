"""A class name means one class: a search for it, and an error that names it, lead to one place."""

import ast
import re
from collections import defaultdict

from tests.support.root import ROOT

OP_AND_LAYER = "an op and the layer of the same function; saved files and gradients' names hold the op's"
TWICE = {  # names that stay, and why; the list only becomes shorter
    **dict.fromkeys(["Fold", "Hardswish", "Hardtanh", "LogSigmoid", "Mish", "Sigmoid"], OP_AND_LAYER),
    **dict.fromkeys(["Softmax", "Softplus", "Tanh", "Threshold", "Unfold"], OP_AND_LAYER),
    "Linear": "PyTorch's layer, and the base class of linear ops, from which lesson 05 and exercise 03 derive",
    "Identity": "PyTorch's layer, and PyTorch's method of pruning",
    "Session": "mg.Session and mg.distributed.Session, which runs the same calls on several workers",
    "AllReduce": "a widget of lesson 22, and the op that it shows, whose name is that of its call",
    "Pipeline": "a widget of lesson 23, and the class whose run it shows",
    "Roofline": "a widget of lesson 18, and the report that it shows",
    "Schedule": "a widget of lesson 14, and the order of a pipeline's steps in lesson 23",
    "Node": "a node of the graph, and one of the small engine that lesson 03 builds, under the name of exercise 01",
    **dict.fromkeys(["Recv", "Send"], "messages of an algorithm in lesson 22, and ops that a graph shows by name"),
}


def class_names(text):
    """The public classes of a source, and the layers that it makes from functions by `layer`."""
    written = [one.name for one in ast.walk(ast.parse(text)) if isinstance(one, ast.ClassDef)]
    layers = re.findall(r'^\w+ = layer\(\s*"(\w+)"', text, re.M)
    return {name for name in written if not name.startswith("_")} | {*layers}


def test_no_public_class_has_the_name_of_another():
    homes = defaultdict(list)
    for path in sorted((ROOT / "minigrad").rglob("*.py")):
        if "_course" not in path.parts:
            for name in class_names(path.read_text("utf-8")):
                homes[name].append(str(path.relative_to(ROOT)))
    twice = {name: paths for name, paths in homes.items() if len(paths) > 1}
    new = {name: paths for name, paths in twice.items() if name not in TWICE}

    assert not new, f"rename one of each: {new}"
    assert TWICE.keys() <= twice.keys(), f"take these off the list: {TWICE.keys() - twice.keys()}"


def test_which_names_are_counted():
    assert class_names('class A:\n    class B: ...\nclass _C: ...\nD = layer(\n    "D", "d")\n') == {"A", "B", "D"}
