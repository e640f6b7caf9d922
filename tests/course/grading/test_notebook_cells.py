"""What is made of a cell that is no Python: the same as in IPython."""

import builtins

import pytest
from IPython.core.inputtransformer2 import TransformerManager
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from minigrad.course import probe
from minigrad.course.grading.inside import Silent
from minigrad.course.referee import parse_probes
from tests.course.grading.sandboxes import sandbox_here

CELLS = [
    "x = 40\n%matplotlib inline\nx += 2",
    "x = (40\n  % 7\n  != 7)\n!ls",
    "x = 40 \\\n  % 7\n%pwd",
    "text = '''\n%time x\n!ls\n'''\n?text",
    'text = """it\'s (\n%x"""\n!echo "it\'s (\ny = 2',
    "for i in range(3):\n    !ls {i}\n    %cd ..\nelse:\n    x = i",
    "if True:\n    %time x = 2\n    y = 3",
    "x = 1  # (what?\n!ls\ny = {'a': [1,\n% 3] for _ in ()} if False else 2" + "\n",
    "files = !ls | grep '('\nx = len(files)",
    "a.b = 3\n!ls" if False else "a = [0]\na[0] = !ls\nx = 3",
    "x = %pwd\ny = x is None",
    "x = %time 3 + 4",
    "len?\nlen??\n?len\nx = 3",
    "!ls \\\n  -l (\nx = 3",
    "%%time\nx = 3\n!ls",
    "\n\n%%capture\nx = 3",
    "%%bash\nx=3",
    "    x = 3\n    !ls\n    y = x",
    ">>> x = 3\n>>> for i in range(3):\n...     y = i\n>>> !ls",
    "@staticmethod\ndef f(): return '%'\n%time x = f.__func__()\nf = None",
]


class Shell:
    """What IPython's way leaves to its shell: commands say nothing, and time is not taken."""

    def __init__(self, names):
        self.names = names

    def run_line_magic(self, name, line):
        if name == "time":
            exec(f"timed = {line}" if "=" not in line else line, self.names)
            return self.names.pop("timed", None)
        return None

    def run_cell_magic(self, name, line, cell):
        if name in ("time", "capture"):
            self.run(cell)

    def system(self, command): ...

    def getoutput(self, command):
        return []

    def run(self, cell):
        exec(TransformerManager().transform_cell(cell), self.names)


def plain(names):
    kinds = (int, str, list, dict, bool)
    return {name: x for name, x in names.items() if type(x) in kinds and not name.startswith("__")}


def meant(cell):
    """What a cell defines by IPython's own way; nothing if it is no Python there either."""
    names = {}
    shell = Shell(names)
    names["get_ipython"] = lambda: shell
    try:
        shell.run(cell)
    except SyntaxError:
        return {}
    return plain(names)


TELL = """
told = vars().get("told", [])
told += [{name: x for name, x in vars().items() if type(x) in (int, str, list, dict, bool) and name in NAMES}]
for name in NAMES: vars().pop(name, None)
"""


@pytest.fixture(scope="module")
def came():
    """Cell → what it defines in a sandbox, and what is said of it; all in one run."""
    box = sandbox_here(cell=60, part=60, all=240)
    names = f"NAMES = {sorted({name for cell in CELLS for name in meant(cell)})}"
    cells = [["names", names]]
    for i, cell in enumerate(CELLS):
        cells += [[f"cell {i}", cell], [f"tell {i}", TELL]]
    said = box.run({"cells": cells, "parts": [["told", ["told"], parse_probes("told")]]}).data
    (kind, told, words) = said["parts"]["told"][0]
    assert kind == "gave", (kind, told, words, said["cells"])
    return {cell: (told[i], said["cells"].get(f"cell {i}", "")) for i, cell in enumerate(CELLS)}


@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_defines_what_it_does_in_a_notebook(came, cell):
    assert came[cell][0] == meant(cell)


def test_an_error_under_a_magic_has_its_line():
    box = sandbox_here(cell=60, part=60, all=240)
    cells = [["below", "%%time\nx = 1\n1 / 0"], ["beside", "x = 1\n%time 1 / 0"], ["none", "x = 1\n!ls\n%nothing 1"]]
    said = box.run({"cells": cells, "parts": [["x", ["x"], parse_probes("x")]]}).data["cells"]
    assert said == {
        "below": "ZeroDivisionError: division by zero, in line 3",
        "beside": "ZeroDivisionError: division by zero, in line 2",
    }


def test_what_is_silent_takes_whatever_it_is_asked():
    silent = Silent()
    assert [*silent("x", y=1).z[3]] == []
    assert "y" not in silent


HISTORY = [  # cells, run one after another
    "40 + 2", "Out[2], _2, _, _i, In[2], _ih[-2]", "", "6 * 7;", "x = 8", "None", "_",
    "[7]  # a comment", "'quiet' ;  # a comment", "1 / 0", "len(Out), sorted(_oh), In[-1], _i10, _ii, _iii", "   ",
    "_ = 5", "'hidden from _'", "_, __, ___", "del _\n'there again'", "___, __",
    "if True:\n    3", "x\n2; 3", "(\n 4\n)", "Out", "not Python", "\n\nfirst = 1\nfirst\n", "Out[99]",
    "%time 5 * 5", "%time   3 * 4", "%%time\n9 * 9;", "%time 3 * 3;", "    x = 3\n    x",
]  # fmt: skip
TOLD = "[[_, __, ___, _i, _ii, _iii, In[:-1], {n: x for n, x in Out.items() if n < 99}, '_8' in globals()]]"


def test_history_is_that_of_a_kernel(monkeypatch):
    """`Out`, `In`, `_1` and `_i` did not exist, and a cell that ends in a semicolon changed `_`."""
    monkeypatch.delattr(builtins, "_", raising=False)  # where another test has set it, IPython leaves `_` alone
    keep = f"told = globals().get('told', [])\nif '_' in globals(): told += copy.deepcopy({TOLD})"
    cells = ["import copy"] + [each for cell in HISTORY for each in (cell, keep)]
    config = Config({"HistoryManager": {"enabled": False}})
    shell = InteractiveShell(config=config, user_ns={})
    for cell in cells:
        shell.run_cell(cell, store_history=True)
    kernel = shell.user_ns["told"]
    job = {
        "cells": [[f"cell {i}", cell] for i, cell in enumerate(cells)],
        "parts": [["told", [], parse_probes("told")]],
    }

    ((kind, told, words),) = sandbox_here(cell=60, part=60, all=240).run(job).data["parts"]["told"]

    assert kind == "gave", words
    assert told == probe.plain(kernel)
