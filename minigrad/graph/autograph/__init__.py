"""AutoGraph: Python's own `if`, `while`, `for`, `and`, `or`, `not` and `assert`, on the tensors of a graph.

    f = convert(f)      what mg.function does to a function before it traces it
    print(code(f))      what is generated for f
    print(beside(f))    the same, beside the source

What it cannot make part of a graph it refuses, with the line, the variable and the way out: ConversionError.
"""

from .convert import beside as beside
from .convert import code as code
from .convert import convert as convert
from .convert import to_code as to_code
from .scopes import do_not_convert as do_not_convert

to_graph = convert
