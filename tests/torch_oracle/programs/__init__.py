"""Small programs as PyTorch's users write them, which run word for word with `import minigrad as torch`.

Each is a function of the module alone, and returns what it found out: numbers, tensors, texts. ../test_programs.py
compares.
"""

import inspect


def find_programs(names, library="torch"):
    """Name in words → function, of each function in a namespace whose only parameter is the library."""
    functions = {name.replace("_", " "): f for name, f in names.items() if inspect.isfunction(f)}
    return {name: f for name, f in functions.items() if [*inspect.signature(f).parameters] == [library]}
