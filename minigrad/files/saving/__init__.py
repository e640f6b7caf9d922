"""What stays when a process ends: mg.save and mg.load.

container    named arrays and a text in one file, safetensors, written whole
values       lists, dictionaries, numbers and tensors as JSON and arrays
graphs       graphs as JSON, op by op
functions    what mg.load gives of a function or a model
evidence     graphs, ops and slopes as data that a grader judges elsewhere
sessions     a session's run as one
files        save and load
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
