"""Where time, bytes and operations go. What each name is said in `__init__.pyi`, and loaded when it is first used."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
