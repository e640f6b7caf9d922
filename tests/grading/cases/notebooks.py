"""Submissions: what a notebook understands, and Python alone does not; right, and silent where it was."""

from __future__ import annotations

from grading.cases.case import after, before, case, cell, code, write

PRODUCT = "def multiply(a, b):\n    return Node(a.data * b.data, ((a, b.data), (b, a.data)))\n"


def source(nb, name):
    return "".join(cell(nb, name)["source"])


@case(10)
def a_remainder_on_a_line_of_its_own(nb):
    write(
        nb,
        "visits",
        "%matplotlib inline\ntimes_at_x = (5 * 1024 + 1024\n    % 5000) - 5 * 1024\nnodes = 81 \\\n    % 70",
    )


@case(10)
def not_equal_on_a_line_of_its_own(nb):
    write(nb, "visits", "!ls\ntimes_at_x = 1023 + (1\n    != 7)\nnodes = [10,\n    11\n][True\n    != False]")


@case(10)
def a_text_with_lines_like_magics(nb):
    write(
        nb,
        "visits",
        "?print\ntext = '''\n%time\n!ls\nx?\n'''\ntimes_at_x = 1010 + len(text)\nnodes = text.count('') - 4",
    )


@case(10)
def shows_what_it_has(nb):
    write(nb, "product", f"display(Node(1.0))\ndisplay('x', display_id=True).update(3)\n{PRODUCT}")


@case(10)
def speaks_to_ipython(nb):
    asked = "get_ipython().run_line_magic('matplotlib', 'inline')\nif 'google' in str(get_ipython()): 1 / 0\n"
    write(nb, "product", f"{asked}get_ipython().system('ls')\nshell = get_ipython()\nshell.user_ns['x']\n{PRODUCT}")


@case(10)
def imports_what_speaks_to_ipython(nb):
    asked = "from IPython import get_ipython\nget_ipython().run_line_magic('matplotlib', 'inline')\n"
    write(nb, "product", f"{asked}{PRODUCT}")


@case(10)
def installs_a_package(nb):
    write(
        nb,
        "product",
        f"!pip install numpy \\\n    matplotlib\n%pip install -q numpy\nif True:\n    !echo \"it's\n{PRODUCT}",
    )


@case(10)
def keeps_what_a_command_says(nb):
    write(nb, "product", f"files = !ls -l | grep '(\nfor file in files:\n    print(file)\nhere = %pwd\n{PRODUCT}")


@case(10)
def asks_for_help(nb):
    write(nb, "product", f"Node?\n?Node\nNode.data??\n%time?\n{PRODUCT}multiply?")


@case(10)
def times_a_statement(nb):
    write(nb, "visits", "%time times_at_x = 2 ** 10\nnodes = %time 5 + 6\n%timeit -n 1 nodes = 3")


@case(10)
def times_a_cell(nb):
    write(nb, "product", f"\n%%time\n{PRODUCT}")
    write(nb, "order", f"%%capture said\n{source(nb, 'order')}")


@case(9)
def a_cell_in_another_language(nb):
    write(nb, "visits", "%%bash\ntimes_at_x=1024\nnodes=11")


@case(10)
def pasted_with_prompts(nb):
    write(nb, "visits", ">>> times_at_x = 2 ** 10\n>>> for nodes in range(12):\n...     pass\n>>> nodes = 11")


@case(10)
def indented_as_it_stood_elsewhere(nb):
    write(nb, "product", "\n".join(f"    {line}" for line in PRODUCT.splitlines()))


@case(10)
def asks_for_a_check_in_the_middle(nb):
    write(nb, "product", f"check('product')\nsolution('product')\n{PRODUCT}")


@case(10)
def all_that_the_course_has(nb):
    write(nb, "product", f"from minigrad.course import Predict, dashboard, reveal, score\ndashboard()\n{PRODUCT}")


@case(10)
def waits_for_what_another_cell_began(nb):
    before(
        nb,
        "import asyncio\nasync def later():\n    await asyncio.sleep(0.05)\n    return 1024\ntask = asyncio.ensure_future(later())\nawait asyncio.sleep(0)",
    )
    write(nb, "visits", "times_at_x = await task\nnodes = 11")


@case(10)
def annotations_from_the_future(nb):
    before(nb, "from __future__ import annotations")
    write(nb, "product", PRODUCT.replace("(a, b)", "(a: Later, b: Later) -> Later", 1))


@case(10)
def annotations_that_are_read(nb):
    write(nb, "visits", "def f(times: 1024, nodes: 11): ...\ntimes_at_x, nodes = f.__annotations__.values()")


@case(10)
def an_import_added_to_a_given_cell(nb):
    write(nb, "given", f"import math\n{source(nb, 'given')}\nLETTERS = 'abcd'")
    write(nb, "zero", "zero_says = LETTERS[int(math.sqrt(1))]")


@case(10)
def a_line_added_below_a_check(nb):
    write(nb, "check-product", "check('product')\nanswer = 'b'")
    write(nb, "zero", "zero_says = answer")


@case(10)
def a_given_cell_that_no_longer_runs(nb):
    write(nb, "given", f"import os; os.chdir('/tmp')\n{source(nb, 'given')}\n1 / 0")


@case(10)
def copies_by_pickle(nb):
    write(
        nb,
        "product",
        f"import pickle\nclone = pickle.loads(pickle.dumps(Node(2.0)))\nassert type(clone) is Node\n{PRODUCT}",
    )


@case(10)
def works_in_several_processes(nb):
    asked = (
        "import subprocess, sys\ntold = subprocess.run([sys.executable, '-c', 'print(2 ** 10)'], capture_output=True)"
    )
    write(nb, "visits", f"{asked}\ntimes_at_x = int(told.stdout)\nnodes = 11")


@case(10)
def leaves_as_programs_do(nb):
    before(nb, "import atexit, os\natexit.register(os._exit, 1)\nexit()")
    after(nb, "raise KeyboardInterrupt")


@case(10)
def names_of_pythons_own(nb):
    before(nb, "sum = 0\nmax = min = len = list = type = isinstance = id = None")


@case(10)
def builtins_taken_away(nb):
    before(nb, "import builtins\ndel builtins.len, builtins.isinstance\nbuiltins.print = builtins.str = None")


@case(10)
def reads_what_nobody_types(nb):
    write(nb, "product", f"import sys\nassert sys.stdin.read() == ''\n{PRODUCT}")


@case(10)
def lines_that_end_as_on_windows(nb):
    write(nb, "product", f"%matplotlib inline\n!dir\n{PRODUCT}".replace("\n", "\r\n"))


@case(8)
def a_character_that_is_none(nb):
    write(nb, "product", f"{PRODUCT}\x00")


@case(8)
def half_a_character(nb):
    write(nb, "product", f"{PRODUCT}'\ud800'")


@case(10)
def half_a_character_in_an_error(nb):
    nb["cells"].append(code("raise ValueError('\\ud800')"))
