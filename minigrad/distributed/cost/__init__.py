"""The cost of training on many workers, by the papers' formulas, and the best plan. Names: see `__init__.pyi`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
