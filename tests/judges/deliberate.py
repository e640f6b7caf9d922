"""Where minigrad differs from PyTorch's databases on purpose: the entry, and the row of `docs/differences.md`."""

OPS: dict[str, str] = {}
MODULES: dict[str, str] = {}
OPTIMISERS: dict[str, str] = {}
