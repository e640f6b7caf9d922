"""What training on many workers costs by the papers' formulas, and which plan is best. Names: see `__init__.pyi`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
