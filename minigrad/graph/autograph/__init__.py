"""AutoGraph: Python's own `if`, `while`, `for`, `and`, `or`, `not` and `assert`, on the tensors of a graph.

    f = convert(f)      the conversion that mg.function applies before it traces f
    print(code(f))      the code generated for f
    print(beside(f))    the generated code next to the source

A branch or a loop that a graph cannot hold raises ConversionError, with the line, the variable and a way out.
"""

from .convert import beside as beside
from .convert import code as code
from .convert import convert as convert
from .convert import to_code as to_code
from .scopes import do_not_convert as do_not_convert

to_graph = convert
