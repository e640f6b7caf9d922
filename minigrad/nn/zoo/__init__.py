"""Networks of the literature, small to read and as their papers have them, without weights. Names: see `__init__.pyi`.

Each is composed of layers of mg.nn, takes `device` and `dtype` as they do, and is as its layers start. To count one
that is larger than the machine, make it without memory: `with mg.device("meta"): net = mg.zoo.gpt2("xl")`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
