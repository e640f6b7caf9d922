"""What is made of a cell that is no Python; IPython's own way, which is slower to load, says what is right."""

import sysconfig
from pathlib import Path

import pytest
from grading.cases import ROOT
from IPython.core.inputtransformer2 import TransformerManager

from minigrad.grading.notebook import Silent, python_of

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
    return {name: value for name, value in names.items() if type(value) in (int, str, list, dict, bool)}


@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_defines_what_it_does_in_a_notebook(cell):
    wanted, came = {}, {}
    shell = Shell(wanted)
    wanted["get_ipython"] = lambda: shell
    try:
        shell.run(cell)
    except SyntaxError:
        with pytest.raises(SyntaxError):
            exec(python_of(cell), came)
        return

    exec(python_of(cell), came)

    assert plain(came) == plain(wanted)


@pytest.mark.parametrize("cell", CELLS)
def test_a_line_stays_where_it_is(cell):
    if not cell.startswith("%%bash"):
        assert python_of(cell).count("\n") == cell.count("\n")


FILES = [*(ROOT / "minigrad").rglob("*.py"), *Path(sysconfig.get_path("stdlib")).glob("[a-h]*.py")]


def test_nothing_in_a_python_file_is_taken_for_a_magic():
    changed = [file for file in FILES if python_of(text := file.read_text("utf-8")) != text]
    assert len(FILES) > 200
    assert changed == []


def test_what_is_silent_takes_whatever_it_is_asked():
    silent = Silent()
    assert [*silent("x", y=1).z[3]] == []
    assert "y" not in silent
