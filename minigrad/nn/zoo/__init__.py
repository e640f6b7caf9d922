"""Networks from the literature, built as in their papers, without trained weights. Names: see `__init__.pyi`.

Each consists of layers of mg.nn, takes `device` and `dtype` as layers do, and has the layers' initial values. To count
the parameters of a network too large for the machine, allocate none: `with mg.device("meta"): net = mg.zoo.gpt("xl")`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
