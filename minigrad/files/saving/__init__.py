"""Saved files: mg.save and mg.load.

container    a safetensors file of named arrays and one text; an old file is replaced as a whole; lists, dictionaries,
             numbers and tensors as JSON and arrays
graphs       graphs as JSON, op by op
functions    SavedFunction, which mg.load returns for a saved function or model, or a session's run
evidence     graphs, ops and slopes as data that a grader checks in another process
files        save and load
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
