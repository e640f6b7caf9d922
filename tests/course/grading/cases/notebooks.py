"""Submissions: what a notebook understands, and Python alone does not; right, and silent where it was."""

from __future__ import annotations

from tests.course.grading.cases.case import case, code, notebook, source, submissions, write

PRODUCT = "def multiply(a, b):\n    return Node(a.data * b.data, ((a, b.data), (b, a.data)))\n"

submissions(__name__, {
    "a_remainder_on_a_line_of_its_own": notebook(10,
        visits="%matplotlib inline\ntimes_at_x = (5 * 1024 + 1024\n    % 5000) - 5 * 1024\nnodes = 81 \\\n    % 70"),
    "not_equal_on_a_line_of_its_own": notebook(10,
        visits="!ls\ntimes_at_x = 1023 + (1\n    != 7)\nnodes = [10,\n    11\n][True\n    != False]"),
    "a_text_with_lines_like_magics": notebook(10,
        visits="?print\ntext = '''\n%time\n!ls\nx?\n'''\ntimes_at_x = 1010 + len(text)\nnodes = text.count('') - 4"),
    "shows_what_it_has": notebook(10,
        product=f"display(Node(1.0))\ndisplay('x', display_id=True).update(3)\n{PRODUCT}"),
    "speaks_to_ipython": notebook(10,
        product="get_ipython().run_line_magic('matplotlib', 'inline')\nif 'google' in str(get_ipython()): 1 / 0\n"
                f"get_ipython().system('ls')\nshell = get_ipython()\nshell.user_ns['x']\n{PRODUCT}"),
    "imports_what_speaks_to_ipython": notebook(10,
        product="from IPython import get_ipython\n"
                f"get_ipython().run_line_magic('matplotlib', 'inline')\n{PRODUCT}"),
    "installs_a_package": notebook(10,
        product=f"!pip install numpy \\\n    matplotlib\n%pip install -q numpy\nif True:\n    !echo \"it's\n{PRODUCT}"),
    "keeps_what_a_command_says": notebook(10,
        product=f"files = !ls -l | grep '(\nfor file in files:\n    print(file)\nhere = %pwd\n{PRODUCT}"),
    "asks_for_help": notebook(10, product=f"Node?\n?Node\nNode.data??\n%time?\n{PRODUCT}multiply?"),
    "times_a_statement": notebook(10, visits="%time times_at_x = 2 ** 10\nnodes = %time 5 + 6\n%timeit -n 1 nodes = 3"),
    "times_a_cell": notebook(10, product=f"\n%%time\n{PRODUCT}", order=f"%%capture said\n{source('order')}"),
    "a_cell_in_another_language": notebook(9, visits="%%bash\ntimes_at_x=1024\nnodes=11"),
    "pasted_with_prompts": notebook(10,
        visits=">>> times_at_x = 2 ** 10\n>>> for nodes in range(12):\n...     pass\n>>> nodes = 11"),
    "indented_as_it_stood_elsewhere": notebook(10, product="\n".join(f"    {line}" for line in PRODUCT.splitlines())),
    "asks_for_a_check_in_the_middle": notebook(10, product=f"check('product')\nsolution('product')\n{PRODUCT}"),
    "all_that_the_course_has": notebook(10,
        product=f"from minigrad.course import Predict, dashboard, reveal, score\ndashboard()\n{PRODUCT}"),
    "waits_for_what_another_cell_began": notebook(10,
        before="import asyncio\nasync def later():\n    await asyncio.sleep(0.05)\n    return 1024\n"
               "task = asyncio.ensure_future(later())\nawait asyncio.sleep(0)",
        visits="times_at_x = await task\nnodes = 11"),
    "begins_a_task_in_the_cell_that_awaits_it": notebook(10,
        visits="import asyncio\nasync def later():\n    return 11\ntask = asyncio.create_task(later())\n"
               "times_at_x, nodes = 1024, await task\nawait asyncio.sleep(0)"),
    "annotations_from_the_future": notebook(10,
        before="from __future__ import annotations",
        product=PRODUCT.replace("(a, b)", "(a: Later, b: Later) -> Later", 1)),
    "annotations_that_are_read": notebook(10,
        visits="def f(times: 1024, nodes: 11): ...\ntimes_at_x, nodes = f.__annotations__.values()"),
    "an_import_added_to_a_given_cell": notebook(10,
        given=f"import math\n{source('given')}\nLETTERS = 'abcd'",
        zero="zero_says = LETTERS[int(math.sqrt(1))]"),
    "a_given_cell_that_no_longer_runs": notebook(10, given=f"import os; os.chdir('/tmp')\n{source('given')}\n1 / 0"),
    "copies_by_pickle": notebook(10,
        product=f"import pickle\nclone = pickle.loads(pickle.dumps(Node(2.0)))\nassert type(clone) is Node\n{PRODUCT}"),
    "works_in_several_processes": notebook(10,
        visits="import subprocess, sys\n"
               "told = subprocess.run([sys.executable, '-c', 'print(2 ** 10)'], capture_output=True)\n"
               "times_at_x = int(told.stdout)\nnodes = 11"),
    "leaves_as_programs_do": notebook(10,
        before="import atexit, os\natexit.register(os._exit, 1)\nexit()",
        after="raise KeyboardInterrupt"),
    "names_of_pythons_own": notebook(10, before="sum = 0\nmax = min = len = list = type = isinstance = id = None"),
    "builtins_taken_away": notebook(10,
        before="import builtins\ndel builtins.len, builtins.isinstance\nbuiltins.print = builtins.str = None"),
    "reads_what_nobody_types": notebook(10, product=f"import sys\nassert sys.stdin.read() == ''\n{PRODUCT}"),
    "lines_that_end_as_on_windows": notebook(10, product=f"%matplotlib inline\n!dir\n{PRODUCT}".replace("\n", "\r\n")),
    "a_character_that_is_none": notebook(8, product=f"{PRODUCT}\x00"),
    "half_a_character": notebook(8, product=f"{PRODUCT}'\ud800'"),
    "half_a_character_in_an_error": notebook(10, after="raise ValueError('\\ud800')"),
})  # fmt: skip


@case(10)
def a_line_added_below_a_check(nb):
    write(nb, "check-product", "check('product')\nanswer = 'b'")
    write(nb, "zero", "zero_says = answer")


@case(10)
def counts_its_cells_as_a_kernel_does(nb):
    """A given cell deleted, another edited, an empty one: the grader runs other cells than the kernel did."""
    nb["cells"] = [each for each in nb["cells"] if "import check" not in "".join(each["source"])]
    nb["cells"][:0] = [code("2 ** 10"), code(" \n")]
    write(nb, "given", source("given") + "\nimport math")
    write(nb, "product", f"{PRODUCT}\n5 + 6")
    write(nb, "check-order", "len(Out); ")
    write(nb, "visits", "times_at_x = Out[1]\nnodes = _3 if sorted(Out) == [1, 3, 4, 8] and In[8] == _i else 0")
